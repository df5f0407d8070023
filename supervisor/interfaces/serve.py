"""
Memory that a service of months gives back: glibc's allocator, told to keep one pool of what threads have freed.

`recalld run` in the foreground: the supervisor, recall kept ready beside it, and the door at which commands are answered.
"""

from __future__ import annotations

import contextlib
import os
import sys
from io import StringIO
from typing import TYPE_CHECKING, Any

from supervisor.interfaces.cli.app import CALL, GIVEN, Call, run_command
from supervisor.interfaces.cli.output import as_json, as_line
from supervisor.interfaces.cli.turn import commands
from supervisor.interfaces.locate import named
from supervisor.interfaces.socket_server import open_door
from supervisor.protocol.clock import utc_now
from supervisor.protocol.signals import on_signals
from supervisor.service.background import BackgroundThreads
from supervisor.service.daemon import Supervisor
from supervisor.service.lock import alone
from supervisor.service.workers import Workers
from supervisor.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from supervisor.interfaces.socket_server import Request
    from supervisor.protocol.clock import Clock
    from supervisor.workspace import Workspace

#: glibc's M_ARENA_MAX. By its own choice it has eight pools a core, and each keeps what an update of the index once needed.
_ARENA_MAX = -8
_POOLS = 1


def limit_malloc_arenas() -> None:
    """Have all threads of this process share one pool; nothing happens where the C library is another."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _POOLS)


def serve(root: Path, clock: Clock, *, json: bool, has_worker: bool) -> None:
    """Run the supervisor, with its door open once it has the workspace; recall is kept ready over workspaces of its own."""
    limit_malloc_arenas()
    tell = _teller(json=json)
    ws = open_workspace(root, os.environ, clock, tell)
    served = open_workspace(root, os.environ, utc_now)
    keeper = BackgroundThreads(lambda: open_workspace(root, os.environ, clock, tell), clock)
    served.index_lost = keeper.memory_changed
    supervisor = Supervisor(ws, clock, Workers(ws, clock) if has_worker else None, keeper=keeper)
    on_signals(supervisor.stop)

    def told(why: str) -> None:
        served.events.transition("error", why, what="the socket", why=why)

    with alone(ws) as held, open_door(ws.paths, ws.files, lambda request: _answer(request, served), told):
        supervisor.run(held)


def _answer(request: Request, served: Workspace) -> dict[str, Any]:
    """Run the command of a request here; ValueError when it can't be honoured, so that the asker does the work itself."""
    argv, given = request.argv, request.environ
    ours = {key: value for key, value in os.environ.items() if key.startswith("RECALLD_")}
    for passing in ("RECALLD_NOW", "RECALLD_WORKSPACE"):
        ours.pop(passing, None)
    if {key: value for key, value in given.items() if key not in {"RECALLD_NOW", "RECALLD_WORKSPACE"}} != ours:
        raise ValueError("another configuration")
    out, err = StringIO(), StringIO()
    token = CALL.set(Call(named(argv), given, served))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_command(commands(), argv)
    finally:
        CALL.reset(token)
        GIVEN.clear()
    return {"out": out.getvalue(), "err": err.getvalue(), "code": code}


def _teller(*, json: bool) -> Callable[[Mapping[str, object]], None]:
    """Return what prints an event: as the log has it, or as a line to read."""
    out = sys.stdout  # this one, whatever an answer at the door is printed to meanwhile
    return lambda event: print(as_json(event) if json else as_line(event), flush=True, file=out)
