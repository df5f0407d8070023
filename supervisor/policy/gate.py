"""What of a worker's text may become a summary (docs/protocol.md, 6). Text of a model is input like any other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from supervisor.protocol.task import Reason

LONGEST: Final = 8_000  # characters of one summary
#: What a model says when the material held nothing worth keeping (000, 无需记录).
_NOTHING: Final = re.compile(r"[\s\W]*(?:无需记录|無需記錄|nothing to record)[\s\W]*", re.IGNORECASE)
_FORGED: Final = re.compile(r"\A---\s*$|^<!-- recalld", re.MULTILINE)


def says_nothing(text: str) -> bool:
    """Tell whether the text is one of the spellings of "nothing to record"."""
    return bool(_NOTHING.fullmatch(text))


def fault(text: str, longest: int = LONGEST) -> Reason | None:
    """Return why the text can't stand as a summary; None when it can."""
    if not re.search(r"\w", text):
        return "empty"
    if len(text) > longest or _FORGED.search(text) or "\0" in text:
        return "refused"
    return None
