"""`recalld status` and `plan`: the state of a workspace (docs/reference/cli.md). They load no more than they use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...operations import upkeep
from ...storage.errors import BadFile
from ...text.printable import printable_line
from .output import as_json, as_text, in_local_times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .call import Call


def status(
    call: Call,
    *,
    workspace: Path | None = None,
    now: str | None = None,
    json: bool = False,
) -> int:
    """Show the state of the workspace, what is wrong first, and return the exit code: 65 when something is wrong."""
    ws, _ = call.opened_made(workspace, now)
    ask, version = supervisor_of(ws.paths.root, call)
    found = call.perform(upkeep.status, upkeep.StatusRequest(ask=ask, version=version), workspace, now)
    facts = as_text(in_local_times(found.facts, ws.zone), call.renderer())
    sentences = (printable_line(call.render(sentence)) for sentence in found.sentences)
    call.show(as_json(found.facts) if json else "\n".join([*sentences, "", facts]))
    return 0 if found.is_well else BadFile.exit_code


def plan(
    call: Call,
    *,
    at: str | None = None,
    workspace: Path | None = None,
    now: str | None = None,
    json: bool = False,
) -> int:
    """Show what the next run would do, and return the exit code."""
    ws, _ = call.opened(workspace, at or now, "--at" if at else "--now")
    found = call.perform(upkeep.plan, upkeep.StateRequest(), workspace, at or now)
    call.show(as_json(found) if json else as_text(in_local_times(found, ws.zone), call.renderer()))
    return 0


def supervisor_of(root: Path, call: Call) -> tuple[Callable[[], str | None], Callable[[], str]]:
    """Return two functions: one asks the supervisor of the workspace for its version, one returns the installed version."""
    from ..locate import version

    def ask() -> str | None:
        from ..socket_server import running_version

        if call.is_mute:
            raise TimeoutError  # this command has asked before, and has waited long enough
        return running_version(str(root))

    return ask, version
