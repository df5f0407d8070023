"""`recalld status`: the state of a workspace (docs/reference/cli.md). It loads no more than it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from ...storage.errors import BadFile, BadRequest
from ...storage.texts import Text
from ...text.printable import printable_line
from .output import as_json, as_text, in_local_times
from .parser import Option, command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from .call import Call


@command("status")
def status(
    call: Call,
    everything: Annotated[bool, Option("--all", meaning="every figure, not only five")] = False,
    plan: Annotated[bool, Option("--plan", meaning="what the next run would do, in place of the state")] = False,
    at: Annotated[str | None, Option("--at", meaning="the moment to plan for, ISO 8601")] = None,
) -> int:
    """Show what is wrong, and the state in five figures; 65 when something is wrong."""
    from ...operations import upkeep

    if plan:
        return _show_plan(call, at)
    if at:
        raise BadRequest("--at", Text("it is only understood with {option}", option="--plan"))
    ws, _ = call.opened_made()
    ask, version = supervisor_of(ws.paths.root, call)
    found = call.perform(upkeep.status, upkeep.StatusRequest(ask=ask, version=version))
    if call.json:
        call.show(as_json(found.facts))
    else:
        sentences = (printable_line(call.render(sentence)) for sentence in found.sentences)
        facts = in_local_times(found.facts, ws.zone) if everything else _figures(found.facts)
        call.show("\n".join([*sentences, "", as_text(facts, call.renderer())]))
    return 0 if found.is_well else BadFile.exit_code


def _figures(facts: Mapping[str, Any]) -> dict[str, object]:
    """Return the five figures of the state that people look at."""
    return {
        "recentMessages": facts["history"]["messages"],
        "unwritten": facts["unwritten"],
        "datedFiles": facts["datedFiles"],
        "covered": facts["covered"],
        "modelCallsToday": facts["today"]["calls"],
    }


def _show_plan(call: Call, at: str | None) -> int:
    """Show what the next run would do."""
    from ...operations import upkeep

    if at:
        call.moment(at, "--at")
        call.take(now=at)
    ws, _ = call.opened()
    found = call.perform(upkeep.plan, upkeep.StateRequest())
    call.answer(found, in_local_times(found, ws.zone))
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
