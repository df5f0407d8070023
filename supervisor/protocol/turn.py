"""
The format of a turn, turns/<id>.json: what was put before the assistant, what was left out, and why (protocol.md, 7).

The file is the receipt of a command that made a turn, or the context that the supervisor prepared for inbox.json; the latter
states the digest of that inbox. It contains texts of the user, so its mode is 0600.

An answer may end with one request: to look further, or to remember a line (003; protocol.md, 7.9). It is a fence of its own at
the end of the answer, with the mark of this turn, which was drawn by lot when the turn was made: no text that was stored before
has it, so none can make a request by being repeated.

    ```recalld k7f3a9c2e51
    search_memory nginx backup
    ```
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..storage.clock import SMALL, to_wire
from ..storage.errors import BadFile, NewerFormat
from ..storage.lenient_json import parse_json, read_record, record_fields, render_json
from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from ..text.llm_output import outside_code

if TYPE_CHECKING:
    from .message import Message

VERSION: Final = 1
TURN_ID: Final = lazy_re(r"\d{8}T\d{9}Z-[0-9a-f]{12}")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One passage that was found: its place, its score and the *parts* of it, whether it was shown, and if not, why not."""

    path: str
    start: int
    end: int
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)  # {words, meaning, days, who}; none of what has no score
    because: tuple[str, ...] = ()
    shown: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """
    One turn. *history* and *messages* are as they were sent; *config* holds the settings that were used, by their names.

    *inbox* is the sha256 of the inbox.json that a context was prepared for, "" in the receipt of a command.
    """

    id: str
    at: datetime
    question: str
    inbox: str = ""
    chat: str = "direct"
    session: str = ""
    client: str = ""  # the program whose hook asked, such as "claude-code"; "" for a command or a program
    project: str = ""  # the folder of the project in which it asked
    known: tuple[str, ...] = ()  # ids of messages that the client itself puts before the assistant
    terms: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    how: str = ""
    files: int = 0
    ms: float = 0.0
    candidates: tuple[Candidate, ...] = field(default=(), repr=False)
    miss: Mapping[str, Any] = field(default_factory=dict)  # why nothing was found: {nowhere}
    memory: str = field(default="", repr=False)
    unsent: bool = False  # the question went to the model without the block, which came too late
    history: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)  # {id, role, content, whole}
    messages: tuple[Mapping[str, str], ...] = field(default=(), repr=False)  # chat-completions
    tokens: Mapping[str, int]
    budgets: Mapping[str, int]
    config: Mapping[str, Any] = field(repr=False)


def turn_id(at: datetime, *parts: str) -> str:
    """
    Return the id of a turn: it sorts by time and depends on *at* and *parts* only.

    >>> from datetime import UTC, datetime
    >>> turn_id(datetime(2026, 1, 31, 8, tzinfo=UTC), "花生呢？")
    '20260131T080000000Z-c47dd6eede93'
    """
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{re.sub('[-:.]', '', to_wire(at))}-{digest}"


def prepared_turn_id(message: Message, written: datetime, latest: datetime) -> str:
    """
    Return the id of the turn that answers the input *message*; an assistant can compute the same id.

    The time is the input's createdAt; if that is missing or after *latest*, it is when inbox.json was *written*. The digest is
    of the input's id, or of its text if it has no id.
    """
    at = message.created_at if message.created_at and message.created_at <= latest else written
    return turn_id(at, message.id or message.text)


def render_receipt(receipt: Receipt) -> bytes:
    """Return the bytes of a receipt's file."""
    return render_json({"version": VERSION, **record_fields(receipt)}) + b"\n"


def parse_receipt(data: bytes, path: Path | str) -> Receipt:
    """Return the parsed receipt without unknown keys; BadFile when *data* is not one, NewerFormat from a newer recalld."""
    try:
        raw = parse_json(data)
        version = raw["version"]
        if isinstance(version, int) and version > VERSION:
            raise NewerFormat(path, version)
        return read_record(Receipt, raw)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadFile(path, Text("it is not the receipt of a turn")) from None


def newest_turn_id(names: Iterable[str], now: datetime | None = None) -> str | None:
    """
    Return the id of the newest turn in a list of file names; None when there is none.

    A turn that is ahead of *now* is of a clock that was set back since, and counts only where there is no other.
    """
    ids = turn_ids(names)
    latest = turn_id(now + SMALL, "") if now else "9"
    return max([identity for identity in ids if identity <= latest] or ids, default=None)


def turn_ids(names: Iterable[str]) -> list[str]:
    """Return the ids of the turns in a list of file names, oldest first."""
    return sorted(name[:-5] for name in names if name.endswith(".json") and TURN_ID.fullmatch(name[:-5]))


def mark_of(entropy: bytes) -> str:
    """Return a mark: a letter and ten hex digits, as small models copy them without a fault."""
    return f"k{entropy.hex()[:10]}"


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
    match = re.search(rf"{fence}(?:\s*{fence})*\s*\Z", answer, re.MULTILINE)
    if match is None or outside_code(answer[: match.start()])[1]:
        return answer, ""
    return answer[: match.start()].rstrip(), " ".join(match[1].split())[:_MOST_CHARS]


def looks_further(request: str) -> bool:
    """Return whether a request is one to look further: there is one, and it is not to remember a line."""
    return bool(request) and read_request(request)[0] != REMEMBER


def read_request(request: str) -> tuple[str, str]:
    """
    Return the operation that a request names, and what it is given; an unknown operation as it is named.

    >>> read_request("search_memory: nginx backup"), read_request("get_recent_history(5)")
    (('search_memory', 'nginx backup'), ('get_recent_history', '5'))
    """
    match = re.match(r"(\w+)[ \t]*[:：(]?[ \t]*(.*?)[)\s]*\Z", request, re.DOTALL)
    if match is None:
        return request, ""
    given = match[2].strip()
    return match[1], given[1:-1] if len(given) > 1 and given[0] == given[-1] and given[0] in "\"'" else given
