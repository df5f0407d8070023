"""
`recalld fleet`: the process of the parent, which has the fleet's socket, and that of a shard, which answers what is passed on.

A request names its workspace by its folder, as always; so the commands of a workspace in a fleet are those of any other.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from recalld.supervisor.events import EventLog
from recalld.supervisor.fleet.passing import give_sign, take_connections
from recalld.supervisor.fleet.settings import VARIABLES, FleetPaths, load, moment_of, shards_of
from recalld.supervisor.host.config_watch import ConfigWatch
from recalld.supervisor.host.couriers import Couriers, name_of
from recalld.supervisor.interfaces.cli.output import event_printer
from recalld.supervisor.interfaces.locate import PROTOCOL, exchange, socket_in
from recalld.supervisor.interfaces.socket_server import (
    Answering,
    CommandRequest,
    Connections,
    OperationRequest,
    read_request,
    serve_socket,
)
from recalld.supervisor.protocol.config_keys import Log
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.clock import utc_now
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import AlreadyRuns, Busy, SupervisorError
from recalld.supervisor.storage.files import Files
from recalld.supervisor.storage.signals import on_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from recalld.supervisor.fleet.parent import Parent
    from recalld.supervisor.fleet.settings import Fleet
    from recalld.supervisor.fleet.shard import FewWorkers, Shard
    from recalld.supervisor.host.daemon import Supervisor
    from recalld.supervisor.host.jobs import Threads
    from recalld.supervisor.interfaces.serve import Answers
    from recalld.supervisor.interfaces.socket_server import Request
    from recalld.supervisor.workspace import Workspace

#: The `op` of a request for the state of a fleet or a shard, which is no operation.
STATUS: Final = "fleet"
_ASKS_STATUS: Final = json.dumps({"version": PROTOCOL, "op": STATUS, "folder": []}).encode() + b"\n"
#: Seconds that a shard has for its state, and seconds in which a shard before this one must have ended.
_STATUS_S: Final = 3.0
_BEFORE_S: Final = 20.0
#: Seconds after which a thread of a shard gives way. The loop makes hundreds of short system calls, and after each it waits
#: for the thread that computes: with Python's 5 ms a look at 300 open workspaces took over a minute.
_SWITCH_S: Final = 0.0005


# ── the parent ───────────────────────────────────────────────────────────────


def serve_fleet(root: Path, *, json: bool) -> None:
    """Run the fleet until it is stopped; AlreadyRuns if another one runs on the same root."""
    from recalld.supervisor.fleet.parent import LOOK_S, Parent
    from recalld.supervisor.host.notify import ServiceManager

    paths, files = FleetPaths(root), Files(RealDisk())
    settings = settings_of(paths, files, os.environ)
    for folder in (paths.folder, paths.drained, paths.sick):
        files.make_folder(folder)
    environ = {name: value for name, value in os.environ.items() if name != "NOTIFY_SOCKET"}
    stopping, count = threading.Event(), shards_of(settings)
    with _locked(files, paths), event_printer(utc_now, json=json) as print_event:
        events = EventLog(paths.log, utc_now, Log(), print_event)
        shard_command = partial(_shard_command, root, count, json=json)
        parent = Parent(paths, count, shard_command, _own_command, environ, files.disk, events)
        on_signals(stopping.set)
        signal.signal(signal.SIGHUP, lambda *_: parent.replace_all())
        events.emit("started")
        connections = Connections(
            partial(_route, parent), lambda why: events.transition("error", why, what="the socket", why=why)
        )
        manager = ServiceManager(os.environ.get("NOTIFY_SOCKET", ""))
        with serve_socket(paths.folder, files, connections):
            while not stopping.is_set():
                parent.look()
                manager.work_done()
                if manager.awaits_index and all(one.passer for one in parent.shards):
                    manager.round_done(f"{count} shards", has_index=True)
                stopping.wait(LOOK_S)
        manager.stopping()
        parent.end()
        events.emit("stopped")


def settings_of(paths: FleetPaths, files: Files, environ: Mapping[str, str]) -> Fleet:
    """Return the settings of the fleet; BadConfig for the first fault."""
    version = files.read_stable(paths.config)
    return load(version.data if version else None, environ)


@contextlib.contextmanager
def _locked(files: Files, paths: FleetPaths) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(files.lock_for_life(paths.lock, wait_s=1.0))
        except Busy:
            raise AlreadyRuns(paths.root, Text("fleet.a_fleet")) from None
        yield


def _shard_command(root: Path, count: int, number: int, *, json: bool) -> list[str]:
    words = [str(root), str(number), str(count), *(["--json"] if json else [])]
    return [sys.executable, "-P", "-m", "recalld.supervisor.interfaces.fleet", *words]


def _own_command(root: Path) -> list[str]:
    return [sys.executable, "-P", "-m", "recalld", "--workspace", str(root), "run"]


def _route(parent: Parent, line: socket.socket) -> None:
    """Pass a connection on to the shard of its workspace, or answer for the fleet."""
    data = read_request(line)
    if not data:
        return  # the client only checked whether there is a fleet
    try:
        found = json.loads(data)
        if found.get("op") == STATUS:
            line.sendall(json.dumps({"within": _STATUS_S * (1 + len(parent.shards))}).encode() + b"\n")
            line.sendall(json.dumps(_status(parent)).encode())
        elif "folder" in found:
            device, inode = found["folder"]
            parent.pass_on(line, data, (device, inode))
        elif parent.shards:  # for the version, or what is no request: any shard answers that as a supervisor does
            parent.pass_to(0, line, data)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return  # no answer: the client runs the command itself


def _status(parent: Parent) -> dict[str, Any]:
    """Return what `recalld fleet status` shows."""
    shards = []
    for n, child in enumerate(parent.shards):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.settimeout(_STATUS_S)
            try:
                parent.pass_to(n, theirs, _ASKS_STATUS)
                theirs.close()
                _, _, data = b"".join(iter(lambda line=ours: line.recv(1 << 16), b"")).partition(b"\n")  # type: ignore[misc]
                shards.append({**json.loads(data)["answer"], "restarts": child.ends})
            except (OSError, ValueError, KeyError):
                # one that runs and is silent has let nothing go; one that is started later sees what is drained by then
                kept: dict[str, Any] = {"drained": []} if child.process else {}
                shards.append({"shard": n, "pid": 0, **kept, "restarts": child.ends})
    sick = [{"name": name, "pid": child.process.pid if child.process else 0} for name, child in sorted(parent.sick.items())]
    return {"root": str(parent.root), "pid": os.getpid(), "shards": shards, "sick": sick, "drained": parent.drained()}


def ask_fleet(paths: FleetPaths) -> dict[str, Any] | None:
    """Return what the fleet says of its state; None if none answers."""
    path = socket_in(str(paths.folder))
    try:
        return exchange(path, _ASKS_STATUS, _STATUS_S) if path else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


# ── a shard ──────────────────────────────────────────────────────────────────


def serve_shard(root: Path, number: int, count: int, *, json: bool) -> None:
    """Look after the workspaces of one shard until the line at standard input is closed."""
    from recalld.supervisor.fleet.shard import Shard
    from recalld.supervisor.host.jobs import Threads
    from recalld.supervisor.storage.heap import limit_malloc_arenas

    limit_malloc_arenas()
    sys.setswitchinterval(_SWITCH_S)
    line = _line_to_parent()
    paths, files = FleetPaths(root), Files(RealDisk())
    settings = settings_of(paths, files, os.environ)
    for name in [name for name in os.environ if name.startswith(VARIABLES)]:
        del os.environ[name]  # they are no workspace's
    with event_printer(utc_now, json=json) as print_event, files.lock_for_life(paths.shard_lock(number), wait_s=_BEFORE_S):
        events = EventLog(paths.log, utc_now, Log(), print_event)
        threads = Threads(settings.round_threads)
        couriers = Couriers(f"{name_of(root)}-{number}")
        opener = partial(_supervised, print_event, threads, settings, WeakSet(), couriers)
        shard = Shard(paths, settings, (number, count), opener, utc_now, threads, events)
        shard.sign = partial(give_sign, line)
        on_signals(shard.host.stop)
        threading.Thread(target=_answer_all, args=(line, shard, events), name="line", daemon=True).start()
        shard.run()
    os._exit(0)  # a step that hangs ends with the process


def _line_to_parent() -> socket.socket:
    """Return the line at standard input, where no process that this one starts finds it."""
    line = socket.socket(fileno=os.dup(0))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return line


def _supervised(
    print_event: Callable[[Mapping[str, object]], None],
    threads: Threads,
    settings: Fleet,
    workers: WeakSet[FewWorkers],
    couriers: Couriers,
    root: Path,
    before: Supervisor | None,
    reopened: Workspace | None,
) -> Supervisor:
    """Return the supervisor of a workspace, as `recalld run` has it, but for the limits of a fleet."""
    from recalld.supervisor.fleet.shard import DISK, FewWorkers
    from recalld.supervisor.host.background import Background
    from recalld.supervisor.host.daemon import Supervisor
    from recalld.supervisor.interfaces.serve import file_turns
    from recalld.supervisor.protocol.making import check_made
    from recalld.supervisor.workspace import open_workspace

    def report(event: Mapping[str, object]) -> None:
        when, what, *fields = event.items()
        print_event(dict([when, what, ("workspace", root.name), *fields]))

    def reopen() -> Workspace:
        return open_workspace(root, os.environ, utc_now, report, lasting=True, disk=DISK)

    check_made(root)  # it may have been deleted: opening it would begin a new one
    ws = reopened or reopen()
    is_pooled = bool(ws.config.pool.url)
    own = couriers.workers_of(ws, utc_now) if is_pooled else FewWorkers(ws, utc_now, workers, settings.workers)
    background = Background(ws, utc_now, threads, turns=file_turns(ws, utc_now, has_worker=True))
    if before:
        before.use(ws, own, background)
        return before
    for name in ("socket", "socket.path"):  # of a supervisor that was killed: a client would look there first
        ws.files.remove(ws.paths.state / name)
    spread = moment_of(root.name, settings.spread)
    return Supervisor(ws, utc_now, own, background=background, config=ConfigWatch(ws, reopen), spread=spread)


class FleetAnswers:
    """Runs the requests of a shard, each in its workspace, which is opened if it is dormant."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._answers: dict[Path, Answers] = {}
        self._making = threading.Lock()

    def answer(self, request: Request) -> dict[str, Any]:
        """Return the answer as JSON; ValueError for a request that can't run here."""
        if isinstance(request, OperationRequest) and request.name == STATUS:
            return {"answer": self._shard.status()}
        return self._of(request).answer(request)

    def within_s(self, request: Request) -> float:
        """Return how long the answer may take, in seconds."""
        if isinstance(request, OperationRequest) and request.name == STATUS:
            return _STATUS_S
        try:
            return self._of(request).within_s(request)
        except (SupervisorError, OSError, KeyError) as error:
            raise ConnectionError("its workspace can't be opened here") from error

    def _of(self, request: CommandRequest | OperationRequest) -> Answers:
        from recalld.supervisor.interfaces.serve import Answers

        root = self._shard.roots.get(tuple(request.folder))  # type: ignore[arg-type]
        if root is None:
            raise ConnectionError("no workspace of this shard")
        with self._making:
            if root not in self._answers:
                self._answers = {one: found for one, found in self._answers.items() if one in self._shard.host.hosted}
                self._answers[root] = Answers(partial(self._shard.host.workspace, root))
            return self._answers[root]


def _answer_all(line: socket.socket, shard: Shard, events: EventLog) -> None:
    answers = FleetAnswers(shard)
    report = partial(_report_request, events)
    connections = Connections(Answering(answers.answer, report, answers.within_s).handle, report)
    with contextlib.suppress(OSError):
        take_connections(line, lambda connection, data: connections.serve(lambda: connection, data))
    shard.host.stop()  # the parent has gone


def _report_request(events: EventLog, why: str) -> None:
    events.transition("error", why, what="the socket", why=why)


if __name__ == "__main__":
    os.umask(0o077)  # the index engine creates files itself, and they contain messages
    serve_shard(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), json="--json" in sys.argv)
