"""The operation that shows how a memory is: every check with its remedy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..text.record import record
from .operation import Request, Visible, operation

if TYPE_CHECKING:
    from ..checks.check import Finding


@record(kw_only=True)
class ExamineRequest(Request):
    """With *slow* the slow checks run now; without, what they found last is shown."""

    slow: bool = False


@record(kw_only=True)
class CheckAnswer:
    """What a *check* found: "good", "odd" or "bad"; *why* is a sentence, *mend* the command in it."""

    check: str
    state: str
    why: str
    mend: str | None


@operation("examine", ExamineRequest, reads=True, owner=True, within_s=60.0)
def examine(memory: Visible, request: ExamineRequest) -> list[CheckAnswer]:
    """Return what each check finds, in the order of `doctor`; a check without a fault is "good"."""
    from ..checks.check import Look
    from ..checks.table import examine as examine_all
    from ..checks.table import look_over

    look = Look(memory.ws, memory.caller.clock(), os.environ)
    return [_answer(finding) for finding in (examine_all(look, None) if request.slow else look_over(look))]


def _answer(finding: Finding) -> CheckAnswer:
    return CheckAnswer(check=finding.check, state=finding.state, why=finding.why, mend=finding.mend)
