"""Whether a question asks what is true now, or what was. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from recalld.supervisor.query.calendar import Days

_WAS = lazy_re(
    r"以前|之前|从前|先前|此前|早先|过去|曾经|原来|原先|原本|本来|起初|最初|最早|最开始|一开始|刚开始|当初|当时|那时"
    r"|上一[个家任位次版]|前一[个家任位版]|旧的|老的"
    r"|\b(?:did|was|were|had|first|before|original(?:ly)?|used to|initial(?:ly)?|previous\w*|former\w*|earlier|old|back then"
    r"|at the time|in the past)\b",
    re.IGNORECASE,
)
_NOW = lazy_re(
    r"现在|目前|如今|眼下|当前|最新|这会儿"
    r"|\b(?:now|currently|current|latest|newest|these days|at the moment|nowadays|any ?more|still)\b",
    re.IGNORECASE,
)


def asks_now(text: str) -> bool:
    """Return whether the question asks for what is true now: 现在, "currently"."""
    return bool(_NOW.search(text))


def asks_past(text: str, days: Iterable[Days] = (), today: date | None = None) -> bool:
    """Return whether the question asks for what was: 以前, "used to", or by a day that is over."""
    is_over = today is not None and any(one.last < today for one in days)
    return not asks_now(text) and (bool(_WAS.search(text)) or is_over)
