"""What every reader of a log or an export gets, and what it returns: what was said, message by message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, Final, TypeAlias

from ..protocol.message import is_thought
from ..text.foreign_text import printable_line
from .source import Source

#: Who has said what nobody is named for: it is not the owner.
SOMEONE: Final = "someone"
#: Characters of the name of a kind of entries: it comes from a file.
_KIND_CHARS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """
    A message: its *id* and its *session* in the program that kept it, and the *channel*, which is that program's name.

    *at* is when it was said, None where the log does not say; *name* who spoke, where that is no role. *chat* is "group" or
    "channel" where others read it (protocol.md, 2.9); *project* is the folder it was about. *raw* are all fields of a message
    of recalld's own, which is added word for word; its time was judged by who read it.
    """

    id: str
    at: datetime | None
    role: str
    text: str
    session: str
    channel: str
    chat: str = ""
    project: str = ""
    name: str = ""
    raw: Mapping[str, Any] | None = None


#: What a reader yields, in the order of the log.
Talk: TypeAlias = "Iterator[Said]"


@dataclass(kw_only=True, slots=True)
class Reading:
    """
    What a reader gets: the *source*, and the *zone* of times without one; and where it counts what it does not take.

    No time after *latest* is believed, but where another workspace has filed it. *dates* is the order of day and month, "" to
    find it. *sessions* returns the conversations that the workspace has, *is_known* whether it has a message of this id. A file
    that may not be whole yet is passed over, and put into *waits*, but for those in *settled*. `unread` counts the entries that
    could not be read, by their kind; `left_out` counts those that are no talk, by the name that their program gives to their
    kind. Only what *wanted* accepts is taken.
    """

    source: Source
    zone: tzinfo
    latest: datetime
    dates: str = ""
    sessions: Callable[[], Iterable[str]] = tuple
    is_known: Callable[[str], bool] = bool
    wanted: Callable[[Said], object] = bool
    settled: Container[str] | None = None
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
