"""
The one request that an answer may end with: to look further, or to remember a line (003; docs/reference/protocol.md, 7.9).

It is a fence of its own at the end of the answer, with the mark of this turn, which was drawn by lot when the turn was made: no
text that was stored before has it, so none can make a request by being repeated.

    ```recalld k7f3a9c2e51
    search_memory nginx backup
    ```
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..text.lazy_re import lazy_re
from ..text.llm_output import outside_code

if TYPE_CHECKING:
    from ..text.language import Language

#: What looks further, and reads only.
LOOKUPS: Final = ("search_memory", "get_recent_history", "get_history_by_time")
#: What writes a line, at the user's word alone.
REMEMBER: Final = "remember"
_MOST_CHARS: Final = 500
#: How a model is told the mark of its turn.
MARK_LINES: Final = {"zh": "（本轮的标记：{mark}）", "en": "(The mark of this turn: {mark})"}
_ANY_MARK: Final = lazy_re(
    r"^[ \t]*[（(]?(?:本轮的标记：|The mark of this turn: )k[0-9a-f]{10}[)）]?[ \t]*(?:\n|\Z)", re.MULTILINE
)


def mark_of(entropy: bytes) -> str:
    """Return a mark: a letter and ten hex digits, as small models copy them without a fault."""
    return f"k{entropy.hex()[:10]}"


def mark_line(mark: str, language: Language) -> str:
    """Return the line that tells a model the mark of the turn."""
    return MARK_LINES[language].format(mark=mark)


def split_request(answer: str, mark: str) -> tuple[str, str]:
    r"""
    Return the answer without the requests at its end, and the first of them, "" without one.

    A request inside other code, behind a sign of quotation, or with words after it is text like any other. A line that repeats
    the mark is no part of the answer.

    >>> split_request("Let me see.\n\n```recalld k1\nsearch_memory nginx\n```", "k1")
    ('Let me see.', 'search_memory nginx')
    >>> split_request("> ```recalld k1\n> search_memory nginx\n> ```", "k1")[1]
    ''
    """
    if not mark:
        return answer, ""
    answer = _ANY_MARK.sub("", answer).strip("\n")
    fence = rf"^```recalld[ \t]+{re.escape(mark)}[ \t]*\n([^\n`]*)\n```[ \t]*$"
    found = re.search(rf"{fence}(?:\s*{fence})*\s*\Z", answer, re.MULTILINE)
    if found is None or outside_code(answer[: found.start()])[1]:
        return answer, ""
    return answer[: found.start()].rstrip(), " ".join(found[1].split())[:_MOST_CHARS]


def looks_further(request: str) -> bool:
    """Return whether a request is one to look further: there is one, and it is not to remember a line."""
    return bool(request) and read_request(request)[0] != REMEMBER


def read_request(request: str) -> tuple[str, str]:
    """
    Return the operation that a request names, and what it is given; an unknown operation as it is named.

    >>> read_request("search_memory: nginx backup"), read_request("get_recent_history(5)")
    (('search_memory', 'nginx backup'), ('get_recent_history', '5'))
    """
    found = re.match(r"(\w+)[ \t]*[:：(]?[ \t]*(.*?)[)\s]*\Z", request, re.DOTALL)
    if found is None:
        return request, ""
    given = found[2].strip()
    return found[1], given[1:-1] if len(given) > 1 and given[0] == given[-1] and given[0] in "\"'" else given
