"""The commands that make and run a workspace: init, run, worker, pool, mcp, open, summary redo (docs/reference/cli.md)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...storage.clock import clock_from, fixed_clock, to_wire, utc_now
from ...storage.errors import BadConfig, BadFile, BadRequest, Busy, NoService, SupervisorError
from ...storage.texts import Text, msgid
from ..output import in_local_times
from .call import Call
from .parser import CHATS, Argument, Option, command

if TYPE_CHECKING:
    from ...host.round import Round
    from ...pool.redis_pool import Broker
    from ...workspace import Workspace


@command("init")
def init(call: Call, path: Annotated[Path | None, Argument("the folder; the same as -w")] = None) -> None:
    """Make a workspace; existing files are never changed."""
    from ...protocol.config import make_workspace
    from ...workspace import open_workspace

    call.moment()
    root = call.root(path)
    is_new = make_workspace(root, os.environ, call.language)
    call.workspace = ws = open_workspace(root, os.environ, utc_now)
    ws.prepare()
    begun = msgid(
        "{root} is a workspace now: `recalld append` adds a message, `recalld connect` connects a client, `recalld run` starts the supervisor."
    )
    sentence = Text(begun if is_new else msgid("{root} is a workspace already; nothing was changed."), root=root)
    call.answer({"workspace": str(root), "new": is_new, "timezone": ws.config.archive.timezone}, sentence)


@command("run")
def run(
    call: Call,
    once: Annotated[bool, Option("--once", "write every message to its dated file now, and end")] = False,
    until_settled: Annotated[bool, Option("--until-settled", "do all that is due, and end")] = False,
    no_worker: Annotated[bool, Option("--no-worker", "never start a worker")] = False,
) -> int:
    """Run the supervisor in the foreground."""
    if once:
        if until_settled:
            raise BadRequest("run", Text("it takes --once or --until-settled, not both"))
        return _archive(call)
    from ...host.service import Alarm
    from ...protocol.config import check_made
    from ..serve import serve

    at, root = call.moment(), call.root()
    if not until_settled:
        with Alarm(os.environ).last_words(call.render):
            if os.environ.get("NOTIFY_SOCKET"):  # a service manager started this process
                check_made(root)
            _make(call, root)
            serve(root, utc_now if at is None else clock_from(at), call.render, json=call.json, has_worker=not no_worker)
        return 0
    return _settle(call, root, at, has_worker=not no_worker)


def _settle(call: Call, root: Path, at: datetime | None, *, has_worker: bool) -> int:
    from ...host.jobs import LOCK_WAIT_S
    from ...host.round import until_settled
    from ...host.workers import workers_of
    from ...importing.sources import take_in
    from ...workspace import open_workspace

    _make(call, root)
    clock = utc_now if at is None else fixed_clock(at)
    events = list[Mapping[str, object]]()
    call.workspace = ws = open_workspace(root, os.environ, clock, events.append)
    with call.control(stops=True) as control:
        workers = workers_of(ws, clock, idle_s=1.0) if has_worker else None
        list(take_in(ws, clock, control))
        total = until_settled(ws, clock(), workers, control)
        if not control.should_stop():  # without a prepared backend the first question would have to build the index
            ws.events.attempt("index", lambda: ws.searcher.refresh_whole(LOCK_WAIT_S, control), None)
    failed = sorted({str(event["reason"]) for event in events if event["event"] == "summary_failed"})
    return _print_total(call, ws, total, failed, has_worker=has_worker)


def _make(call: Call, root: Path) -> None:
    """Make the workspace if there is none, and say so: the folder may be another than was meant."""
    from ...protocol.config import is_made, make_workspace

    is_new = not is_made(root)
    make_workspace(root, os.environ, call.language)
    if is_new:
        call.say(Text("there was no workspace at {root}; a new one was made.", root=root))
    from ...workspace import open_workspace
    from ..wording import keep_language

    with suppress(SupervisorError, OSError):  # it is said when it is opened for good
        keep_language(open_workspace(root, os.environ, utc_now), os.environ)


def _print_total(call: Call, ws: Workspace, total: Round, failed: Sequence[str], *, has_worker: bool) -> int:
    """Print the counts, return the exit code: 69 if summaries are left, or each *failed* for these reasons; raise an error."""
    from ...summaries.llm_state import configured_state, why_failed

    counts = {
        "archived": total.archived,
        "summaries": total.summaries,
        "trimmed": total.trimmed,
        "waitingForRetry": len(ws.failures()),
        "unfinished": total.unfinished,
    }
    # people do not get "seen 0", which would look wrong: the journal already has what `append` added
    call.answer({"seen": total.seen, **counts}, counts)
    if total.errors:
        raise next(iter(total.errors.values()))
    provider = configured_state(ws.task_queue, ws.endpoint)
    if provider.is_failing and provider.next_at and not total.summaries:
        until = in_local_times(to_wire(provider.next_at), ws.zone)
        left = Text(
            "no summary was written: {reason}; the model is not asked again before {time}.", reason=provider.reason, time=until
        )
    elif failed and not total.summaries:
        left = Text(
            "no summary was written: {reasons}; `recalld status --all` says what waits.", reasons=[*map(why_failed, failed)]
        )
    elif total.unfinished and has_worker:
        left = Text(
            "summaries are unfinished ({count}): the worker ended without a result; `recalld worker` shows why.",
            count=total.unfinished,
        )
    else:
        return 0
    return call.say(left, 69)


@command("worker")
def worker(
    call: Call,
    idle: Annotated[float | None, Option("--idle", "end after so many seconds without work")] = None,
    broker: Annotated[str, Option("--broker", "work for a pool: the address of its Redis, such as rediss://…")] = "",
    pool_file: Annotated[Path, Option("--pool-file", "what names the models of the pool")] = Path("pool.toml"),
) -> None:
    """Run a worker alone; any number may run. With --broker it is one of a pool's, and has no workspace."""
    from ...host.workers import check_installed, crew_command, worker_command

    options = [*(["--json"] if call.json else []), "--language"]
    if broker:
        check_installed()
        options += [call.language]
        environ = {**os.environ, "RECALLD_POOL_URL": broker}  # an address may have a password: others could read arguments
        os.execve(sys.executable, [*crew_command(pool_file), *options], environ)  # noqa: S606 - itself
    ws, _ = call.opened()
    options += [call.language, *([] if idle is None else ["--idle", str(idle)])]
    os.execv(sys.executable, [*worker_command(ws.paths.root), *options])  # noqa: S606 - itself


def _archive(call: Call) -> int:
    done = call.perform("archive")
    call.answer({"archived": len(done.files), "files": sorted(set(done.files.values()))})
    if not done.left:
        return 0
    return call.say(Text("messages are not filed yet ({count}); `recalld status` says why.", count=done.left), Busy.exit_code)


@command("summary redo")
def summary_redo(call: Call, period: Annotated[str, Argument("a day like 2026-01-28, or a month like 2026-01")]) -> None:
    """Have a summary written again; the old one is kept until the new one is there."""
    group = call.perform("redo", period=period)
    call.answer({"group": group, "queued": True}, Text("{group} is queued; a supervisor takes it in.", group=group))


@command("mcp", common=("workspace", "now"))
def mcp(
    call: Call,
    session: Annotated[str, Option("--session", "the key of the conversation that the client serves")] = "",
    chat: Annotated[str, Option("--chat", "who reads it: direct, group or channel; else as the key says", choices=CHATS)] = "",
    channel: Annotated[str, Option("--channel", "the source of what is written")] = "web-chat",
    read_only: Annotated[bool, Option("--read-only", "offer no tool that writes")] = False,
    allow_delete: Annotated[bool, Option("--allow-delete", "offer a tool that deletes lines, too")] = False,
) -> None:
    """Serve the tools of memory to an MCP client at standard input and output."""
    from ..api import Memory
    from ..locate import TOOL, ask_supervisor
    from ..mcp import serve as serve_mcp
    from ..tools.registry import register_all_tools

    at = call.moment()
    ws, _ = call.opened()
    language = call.language
    registry = register_all_tools(
        Memory(ws, clock=utc_now if at is None else fixed_clock(at)),
        session=session,
        chat=chat,
        channel=channel,
        read_only=read_only,
        allow_delete=allow_delete,
        language=language,
    )
    caller = {"session": session, "chat": chat, "language": language}

    def ask(request: dict[str, Any]) -> dict[str, Any] | None:
        fields = {"op": TOOL, "request": request, "caller": caller}
        return ask_supervisor(str(ws.paths.root), fields) if at is None else None  # it has a clock of its own

    if registry.tools:
        serve_mcp(registry, registry.tools, ask)


@command("open")
def open_page(call: Call, no_browser: Annotated[bool, Option("--no-browser", "print the address alone")] = False) -> None:
    """Print the address of the page, with the token of the workspace in it, and open it in the browser."""
    from ..locate import page_address

    ws, _ = call.opened()
    serve = ws.config.serve
    if not serve.port:
        raise NoService(Text("`serve.port` is 0"), Text("set `port = 8377` below `[serve]` in recalld.toml"))
    version = ws.files.read_stable(ws.paths.token)
    if version is None or not ws.files.disk.is_locked(ws.paths.supervisor_lock):
        raise NoService(
            Text("no supervisor serves this workspace"),
            Text("start it with `recalld run`; `recalld status` says what is wrong"),
        )
    address = f"{page_address(serve.host, serve.port)}/#token={version.data.decode('ascii', 'replace').strip()}"
    call.answer({"address": address}, [address])
    if call.json or no_browser or not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    import webbrowser
    from html import escape

    place = ws.paths.state / "open.html"  # a file, since others could read the arguments of a process
    page = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(address)}">\n'
    ws.files.replace(place, page.encode(), ws.files.read_stable(place))
    webbrowser.open(place.as_uri())


# ── a pool of workers ────────────────────────────────────────────────────────

Address = Annotated[str, Option("--broker", "the address of its Redis; else pool.url of the workspace")]


@command("pool key", common=())
def pool_key(call: Call) -> None:
    """Print a new key for RECALLD_POOL_KEY, which hosts and workers of a pool share."""
    from ...host.workers import check_installed

    check_installed()
    from ...pool.cargo import new_key

    call.show(new_key())


@command("pool status", common=("workspace", "json"))
def pool_status(call: Call, broker: Address = "") -> int:
    """Show who is there, what waits, and what is wrong; 65 then."""
    from ...host.workers import check_installed

    check_installed()
    from ...pool.cargo import PoolAway
    from ...pool.redis_pool import standing_of

    try:
        pool = _pool_of(call, broker)
        stands, wrong = standing_of(pool), [*pool.unfit()]
    except PoolAway as away:
        return call.say(Text("{why}.", why=away.args[0]), NoService.exit_code)
    call.answer(asdict(stands))
    if not stands.slots:
        no_worker = Text(
            "no worker is there; start one with `recalld worker --broker URL`, the whole address of {server}", server=pool.name
        )
        wrong.append(no_worker)
    for why in wrong:
        call.say(Text("{why}.", why=why))
    return BadFile.exit_code if wrong else 0


def _pool_of(call: Call, address: str) -> Broker:
    """Return the pool at the address, else that of the variables or the workspace, whose key has to be there."""
    from ...pool.cargo import Seal
    from ...pool.redis_pool import Broker

    url, prefix = address or os.environ.get("RECALLD_POOL_URL", ""), os.environ.get("RECALLD_POOL_PREFIX", "recalld")
    if not address and (call.given_workspace or not url):
        keys = call.opened()[0].config.pool
        url, prefix = keys.url, keys.prefix
        if url:
            Seal.of(keys.key_env, os.environ)
    if not url:
        raise BadConfig("pool.url", Text("no pool is configured; set pool.url, or give --broker"))
    return Broker(url, prefix)
