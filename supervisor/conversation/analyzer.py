"""
`MessageAnalyzer`: which messages of a conversation are summed up, and how a model reads them; as in 000, without its losses.

000 drops every short message that begins like a courtesy (对花生过敏), stops at its limit without saying so, and separates a
question from the "好的" that decides it. Names, thresholds and forms are its own.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..storage.clock import from_wire, local_day
from ..text.language import language_of
from ..text.small_talk import SKIP_PREFIXES
from ..text.snippet import snippet_span
from .turns import answers_question, dialogue, read_said, whole_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, tzinfo

    from ..text.quoting import Entry
    from .turns import Said

#: Of 000: characters of a message and of all that are shown, and what is more than enough to sum up.
_MESSAGE_CHARS: Final = 300
MAX_CHARS: Final = 4_000
MESSAGE_THRESHOLD: Final = 20
CHAR_THRESHOLD: Final = 10_000
KEEP_RECENT: Final = 10

_MORE: Final = {"zh": "（还有 {} 条没有列出）", "en": "({} more messages are not shown)"}


class MessageAnalyzer:
    """Decides which messages are summed up, and formats them; an element that is no message is passed over."""

    _SKIP_PREFIXES: ClassVar[tuple[str, ...]] = SKIP_PREFIXES

    def format_messages_for_summary(self, messages: Sequence[Mapping[str, Any]], max_chars: int = MAX_CHARS) -> str:
        """
        Return the messages as lines `ROLE: text`, oldest first, at most *max_chars* characters, without courtesies.

        A message of more than 300 characters is cut. Where not all fit, the last line says how many are missing;
        `ConversationSummarizer` leaves none out.

        >>> messages = [{"role": "user", "content": "对花生过敏"}, {"role": "assistant", "content": "好的"}]
        >>> MessageAnalyzer().format_messages_for_summary(messages)
        'USER: 对花生过敏'
        """
        lines = [_shortened(entry, _MESSAGE_CHARS) for entry in entries_of(messages)]
        whole = "\n".join(lines)
        if len(whole) <= max_chars:
            return whole
        more = _MORE[language_of(whole)]
        shown: list[str] = []
        room = max_chars - len(more.format(len(lines)))
        for line in lines:
            room -= len(line) + 1
            if room < 0:
                break
            shown.append(line)
        return "\n".join([*shown, more.format(len(lines) - len(shown))])[: max(0, max_chars)]

    def should_summarize(
        self,
        messages: Sequence[Mapping[str, Any]],
        message_threshold: int = MESSAGE_THRESHOLD,
        char_threshold: int = CHAR_THRESHOLD,
    ) -> bool:
        """Return whether there are more messages, or more characters in them, than these."""
        return len(messages) > message_threshold or sum(len(one.text) for _, one in _read_all(messages)) > char_threshold

    def split_messages(
        self, messages: Sequence[Mapping[str, Any]], keep_recent: int = KEEP_RECENT
    ) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
        """
        Return the messages to sum up and those to keep, the *keep_recent* newest.

        A call of a tool and its results stay together, and so do a question and the courtesy that answers it.
        """
        if keep_recent < 0:
            raise ValueError(f"keep_recent is {keep_recent}, and must be 0 or more")
        at = max(0, len(messages) - keep_recent)
        found = _read_all(messages)
        may_divide = whole_pairs([one for _, one in found]).may_divide
        inside = {place for (place, _), may in zip(found, may_divide, strict=True) if not may}
        inside |= {place for (_, before), (place, one) in pairwise(found) if answers_question(one, before)}
        while 0 < at < len(messages) and at in inside:
            at -= 1
        return list(messages[:at]), list(messages[at:])


def entries_of(messages: Sequence[Mapping[str, Any]], zone: tzinfo | None = None) -> list[Entry]:
    """Return what people, assistants and tools say as lines `ROLE: text`, without courtesies; with days in a *zone*."""
    found = [one for _, one in _read_all(messages) if one.role != "system"]
    days = [_day_of(one, zone) if zone else None for one in found]
    return [replace(entry, head=found[n].role.upper(), day=days[n]) for n, entry in dialogue(found, "en")]


def _day_of(said: Said, zone: tzinfo) -> date | None:
    with suppress(ValueError, TypeError):
        return local_day(from_wire(said.raw["createdAt"]), zone) if said.raw.get("createdAt") else None
    return None


def _read_all(messages: Sequence[Mapping[str, Any]]) -> list[tuple[int, Said]]:
    """Return the messages among the elements, each with its place."""
    found = []
    for n, raw in enumerate(messages):
        with suppress(ValueError):
            found.append((n, read_said(raw)))
    return found


def _shortened(entry: Entry, chars: int) -> str:
    if len(entry.text) > chars:
        entry = replace(entry, text=f"{entry.text[: snippet_span(entry.text, chars)[1]]}...")
    return entry.shown("en")
