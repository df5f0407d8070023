"""`recalld run`: the supervisor, its socket and HTTP service, and what they answer to commands, hooks and tools."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..host.daemon import Supervisor
from ..host.jobs import Background
from ..host.lock import supervisor_lock
from ..host.service import Alarm, ServiceManager
from ..host.watcher import ConfigWatch
from ..host.workers import workers_of
from ..operations.operation import NAMES, Caller, Operation, find, perform
from ..protocol.config import OTHER_VARIABLES
from ..storage.clock import Clock, fixed_clock, read_instant, utc_now
from ..storage.control import Step, acting
from ..storage.errors import SupervisorError
from ..storage.process import limit_malloc_arenas, on_signals
from ..text.language import Language
from ..workspace import Workspace, open_workspace, read_config
from .cli.call import ServedCall
from .cli.main import run_command
from .entry import SERVED_COMMANDS
from .locate import COMMAND, HOOK, TOOL, VERSION, command_of, folder_id, split_workspace, version
from .output import Render, event_printer
from .socket_server import Answering, Request, serve_socket

if TYPE_CHECKING:
    from ..host.answering import FileTurns
    from .http.server import HttpThread

#: The type of an answer.
A = TypeVar("A")
#: Seconds that a command without an operation may take.
_WITHIN_S: Final = 2.0


def serve(root: Path, clock: Clock, render: Render, *, json: bool, has_worker: bool) -> None:
    """
    Run the supervisor until it is stopped; this process also answers at the socket.

    Once recalld.toml has changed, another supervisor goes on, with the workspace opened anew. The lock, the socket and an HTTP
    service whose address is the same stay, so that no answer is cut off.
    """
    limit_malloc_arenas()
    manager, alarm, http = ServiceManager(os.environ.get("NOTIFY_SOCKET", "")), Alarm(os.environ), HttpService(clock)
    is_ended, supervisor = threading.Event(), None
    with event_printer(render, json=json) as print_event:

        def report(why: str) -> None:
            ws.events.transition("error", why, what="the socket", why=why)

        def end() -> None:
            is_ended.set()
            if supervisor:
                supervisor.stop()

        ws = open_workspace(root, os.environ, clock, print_event, lasting=True)
        alarm.keep(ws)
        answers = Answers(lambda: ws)
        answering = Answering(answers.answer, report, answers.within_s)
        on_signals(end)
        with (
            supervisor_lock(ws) as check_lock,
            serve_socket(ws.paths.state, ws.files, answering) as keep,
            contextlib.closing(http),
        ):
            while not is_ended.is_set():
                http.use(answers)
                watch = ConfigWatch(ws, partial(read_config, ws.files, ws.paths, os.environ))
                supervisor = _supervisor(ws, clock, manager, watch, keep, check_lock, has_worker=has_worker)
                with supervisor:
                    if not is_ended.is_set():  # a signal that came before there was this supervisor
                        supervisor.run()
                if supervisor.is_outdated:
                    # as it was read when the change was seen: the file may be wrong by now
                    ws = open_workspace(root, os.environ, clock, print_event, config=watch.valid, lasting=True)
                    alarm.keep(ws)


def _supervisor(
    ws: Workspace,
    clock: Clock,
    manager: ServiceManager,
    watch: ConfigWatch,
    keep_socket: Step,
    check_lock: Callable[[], None],
    *,
    has_worker: bool,
) -> Supervisor:
    workers, turns = workers_of(ws, clock) if has_worker else None, file_turns(ws, clock, has_worker=has_worker)
    steps = {"socket": keep_socket}
    if ws.config.sources.take:
        from ..importing.sources import step_of

        steps["sources"] = step_of(ws, clock)
    background = Background(ws, clock, turns, steps)
    return Supervisor(ws, clock, workers, background=background, config=watch, manager=manager, check_lock=check_lock)


def file_turns(ws: Workspace, clock: Clock, *, has_worker: bool) -> FileTurns | None:
    """Return what answers the inputs of inbox.json; None where the assistant does."""
    if ws.config.turns.reply == "off":
        return None
    from ..host.answering import FileTurns
    from ..host.workers import AskedWorker
    from ..operations.assistant import LookingUp
    from ..operations.history import adder
    from ..protocol.queue import IDLE_S

    looking = LookingUp(lambda: ws, clock)
    worker = AskedWorker(ws, IDLE_S) if has_worker and not ws.config.pool.url else None
    return FileTurns(ws, clock, adder(ws, clock), looking.look, looking.remember, worker)


class HttpService:
    """The HTTP service of a supervisor, while `[serve] port` is set; its modules are loaded then, by its own thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._thread: HttpThread | None = None

    def close(self) -> None:
        """End the service, if there is one."""
        thread, self._thread = self._thread, None
        if thread:
            thread.end()

    def use(self, answers: Answers) -> None:
        """Serve what *answers* at the address of its configuration; a service that is there already stays."""
        serve = answers.workspace.config.serve
        place = (serve.host, serve.port, serve.allow_remote)
        if self._thread and self._thread.place == place:
            return
        self.close()
        if serve.port:
            from .http.server import HttpThread, Place

            fields: dict[str, Any] = {"host": serve.host, "port": serve.port}

            def report(why: str) -> None:
                events = answers.workspace.events
                events.transition("port_refused", why, reason=why, **fields)
                if not why:
                    events.emit("port_open", **fields)

            self._thread = HttpThread(Place(*place), answers, self._clock, report)
            self._thread.start()


class Answers:
    """Runs the requests of the socket in the present workspace, several at once: each store locks what it writes."""

    def __init__(self, served: Callable[[], Workspace]) -> None:
        self._served = served
        began = version()  # now, since an update of the package would change it
        #: What is no operation, by its name in a request.
        self._ways: Mapping[str, Callable[[Request, Workspace], dict[str, Any]]] = {
            HOOK: _answer_hook,
            TOOL: _call_tool,
            COMMAND: _run,
            VERSION: lambda *_: {"answer": began},
        }

    @property
    def workspace(self) -> Workspace:
        """The present workspace."""
        return self._served()

    def perform(self, operation: Operation[A], arguments: Mapping[str, Any], caller: Caller) -> A:
        """Return the answer of an operation for an interface of this process; SupervisorError if there is none."""
        return perform(operation, self._served(), arguments, caller)

    def within_s(self, request: Request) -> float:
        """Return how long the answer may take, in seconds."""
        name = "inject" if request.name == COMMAND else request.name  # of the commands some may ask the model, as `inject` does
        return find(name).patience_s(self._served().config) if name in NAMES else _WITHIN_S

    def answer(self, request: Request) -> dict[str, Any]:
        """Return the answer as JSON; ValueError for a request that can't run here, so that the client runs it itself."""
        served = self._served()
        if list(request.folder) != folder_id(str(served.paths.root)):
            raise ValueError("another workspace")
        return self._ways.get(request.name, _perform)(request, served)


def _answer_hook(request: Request, served: Workspace) -> dict[str, Any]:
    """Return what a client's hook prints."""
    from .hooks.turn import answer

    fields = request.request if isinstance(request.request, dict) else {}
    return {"answer": answer(served, fields, utc_now, keep_fresh=False)}


def _run(request: Request, served: Workspace) -> dict[str, Any]:
    """Return what a command prints, and its exit code."""
    match request.request:
        case {"argv": [*words], "env": {**given}}:
            argv, environ = [*map(str, words)], {str(name): str(value) for name, value in given.items()}
        case _:
            raise ValueError("its arguments are missing")
    if command_of(argv) not in SERVED_COMMANDS:
        raise ValueError("no command of a supervisor")
    if _settings(environ) != _settings(os.environ):
        raise ValueError("another configuration")
    call = ServedCall(argv, environ, split_workspace(argv)[0], served)
    code = run_command(call)
    return {"out": "".join(call.out), "err": "".join(call.err), "code": code}


def _call_tool(request: Request, served: Workspace) -> dict[str, Any]:
    """Return a tool's answer to a model, {text, data, is_error}, for a `recalld mcp` that passes its calls on."""
    from .api import Memory
    from .tools.registry import register_all_tools

    given: dict[str, Any] = request.request if isinstance(request.request, dict) else {}
    tools = register_all_tools(
        Memory(served, keep_fresh=False),
        **{name: str(request.caller.get(name, "")) for name in ("session", "chat")},  # type: ignore[arg-type]
        channel=str(given.get("channel", "")),
        read_only=given.get("read_only") is not False,
        allow_delete=given.get("allow_delete") is True,
        language="zh" if request.caller.get("language") == "zh" else "en",
    )
    with acting("tool", str(given.get("client", ""))):
        return {"answer": asdict(tools.call(str(given.get("name")), given.get("arguments")))}


def _perform(request: Request, served: Workspace) -> dict[str, Any]:
    """Return the answer of the operation, or its error in the language of the caller."""
    from ..operations.codec import from_json, to_json

    language: Language = "zh" if request.caller.get("language") == "zh" else "en"
    try:
        operation = find(request.name)
        session, chat = (str(request.caller.get(name, "")) for name in ("session", "chat"))
        now = read_instant(str(request.caller.get("now", "")), UTC)
        clock = fixed_clock(now) if now else utc_now
        caller = Caller(session=session, chat=chat, language=language, interface="socket", clock=clock, keep_fresh=False)
        return {"answer": to_json(perform(operation, served, from_json(operation, request.request), caller))}
    except SupervisorError as error:
        fields = {"code": error.code, "field": getattr(error, "field", None), "exitCode": error.exit_code}
        return {"error": {**fields, "httpStatus": error.http_status, "sentence": error.in_language(language)}}


def _settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that change an answer; clock, workspace, locale and where HTTP is served may differ from ours."""
    others = {*OTHER_VARIABLES, *(key for key in environ if key.startswith("RECALLD_SERVE_"))}
    return {key: value for key, value in environ.items() if key.startswith("RECALLD_") and key not in others}
