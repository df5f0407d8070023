"""
What every reader of a log or an export gets, and what it yields: a record of each message, with the fields of JSON lines.

These are `role` and `content`, and may be `id`, `timestamp`, `session`, `channel`, `chat`, `name` and `project`
(docs/how-to/import-what-you-have.md).
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, Final, TypeAlias

from ..context.render import spoken
from ..protocol.message import UNSAID, is_thought, role_of
from ..storage.clock import read_instant
from ..text.foreign_text import printable_line
from .source import Source

#: Who has said what nobody is named for: it is not the owner.
SOMEONE: Final = "someone"
#: Fields that a message may have its time in.
TIMES: Final = ("createdAt", "created_at", "timestamp", "time", "date")
#: Characters of the name of a kind of entries: it comes from a file.
_KIND_CHARS: Final = 40
#: Characters of a message; what is longer is a file that was pasted, and is cut with an ellipsis.
_MOST_CHARS: Final = 1_000_000

#: What a reader yields, in the order of the log.
Talk: TypeAlias = Iterator[dict[str, Any]]


@dataclass(kw_only=True, slots=True)
class Reading:
    """
    What a reader gets: the *source*, and the *zone* of times without one; and where it counts what it does not take.

    No time after *latest* is believed, but where another workspace has filed it. *dates* is the order of day and month, "" to
    find it. *sessions* returns the conversations that the workspace has, *is_known* whether it has a message of this id,
    *is_wanted* whether a message is taken. A file that may not be whole yet is passed over, and put into *waits*, but for those
    in *settled*. `unread` counts the entries that could not be read, by their kind; `left_out` counts those that are no talk,
    by the name that their program gives to their kind. *placed* are the ids that messages have by their place alone.
    """

    source: Source
    zone: tzinfo
    latest: datetime
    dates: str = ""
    sessions: Callable[[], Iterable[str]] = tuple
    is_known: Callable[[str], bool] = bool
    is_wanted: Callable[[Mapping[str, Any]], object] = bool
    settled: Container[str] | None = None
    placed: set[str] = field(default_factory=set)
    waits: set[str] = field(default_factory=set)
    unread: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def leave_out(self, kind: str) -> None:
        """Count an entry that is no talk."""
        self.left_out[printable_line(kind)[:_KIND_CHARS]] += 1

    def leave_out_tools(self, content: object) -> None:
        """Count the calls of tools among the parts of a message."""
        for part in objects_in(content):
            if part.get("type") in ("tool_use", "toolCall", "function_call"):
                self.leave_out(part["type"])

    def may_wait(self, name: str) -> bool:
        """Return whether the file is passed over for now; it is then in `waits`."""
        if self.settled is None or name in self.settled:
            return False
        self.waits.add(name)
        return True

    def message_of(self, record: object, channel: str) -> dict[str, Any] | None:
        """
        Return the message of a record as history.json has it, its time as `createdAt`, None where it says none.

        None for one in which nobody has said anything: a prompt of the system, the call of a tool and what it returned, and
        what is no message are counted.
        """
        if not (isinstance(record, dict) and isinstance(record.get("role"), str) and record["role"]):
            self.unread["message"] += 1
            return None
        if record["role"].lower() in UNSAID:
            self.leave_out(record["role"])
            return None
        content = record.get("content") or record.get("text")
        self.leave_out_tools(content)
        text = words(content)
        if not text and ("tool_calls" in record or "function_call" in record):
            self.leave_out("tool_calls")
        elif not (text or isinstance(record.get("content"), list)):
            self.unread["message"] += 1
        if not (text := spoken(text)):
            return None
        at = next((t for name in TIMES if (t := read_instant(record.get(name), self.zone))), None)
        fields = {
            "id": text_of(record, "id"),
            "role": role_of(record["role"]),
            "text": text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…",
            "channel": text_of(record, "channel") or channel,
            "session": text_of(record, "session"),
            "chat": text_of(record, "chat"),
            "name": _speaker(record),
            "project": text_of(record, "project"),
        }
        given = {name: value for name, value in fields.items() if value}
        return {**given, "createdAt": at if at and at <= self.latest else None}


def _speaker(record: Mapping[str, Any]) -> str:
    """Return who has said a message, "" for the owner: the role is the only thing that names them."""
    author = record.get("author", "")
    by = author if isinstance(author, str) else text_of(author, "name", "username") if isinstance(author, dict) else SOMEONE
    return text_of(record, "name") or by


def objects_in(values: object) -> Iterator[dict[str, Any]]:
    """Yield the objects in a list of any values; none of what is no list."""
    yield from (value for value in (values if isinstance(values, Iterable) else ()) if isinstance(value, dict))


def words(content: object) -> str:
    r"""
    Return what is said in the content of a message: a string, a part, or a list of parts; thoughts and tools are left out.

    >>> words([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}, {"type": "image"}])
    'Yes.\n[image]'
    """
    pieces = (_words(part) for part in (content if isinstance(content, list) else [content]))
    return "\n".join(piece for piece in pieces if piece)


def _words(part: object) -> str:
    if isinstance(part, str):
        return part.strip("\n")
    if not isinstance(part, dict) or is_thought(part):
        return ""
    kind, text = part.get("type"), part.get("text")
    if isinstance(text, str):
        return text.strip("\n")
    if kind in ("image", "input_image", "image_url", "document", "file", "input_audio", "audio"):
        return f"[{part.get('filename') or part.get('title') or kind}]"
    return ""


def text_of(fields: Mapping[str, Any], *names: str) -> str:
    """Return the first of the fields that is a string with anything in it; "" if none is."""
    return next((value for name in names if isinstance(value := fields.get(name), str) and value), "")
