"""
The made-up year: `year.en.txt` and `year.zh.txt` as messages, lines of memory.md and questions, up to a given day.

A block is a head and its lines. Days are counted back from the day of *now*; a moment that is still to come is a day earlier.

* `talk DAY TIME SESSION`, then `SPEAKER: words`. On day 0 the time may be hours before *now*: `-1:50`.
* `often EVERY FIRST LAST TIME SESSION`: the same, each so many days. `[3.0>16.0]` grows over the year, `[a|b]` takes turns.
* `keep DAY SOURCE: words` is a line of memory.md, `ask DAY TIME SESSION: words` a question that is asked.
* `{+14}` is the date that many days after the block's own.
"""

from __future__ import annotations

from calendar import month_name
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.storage.clock import to_wire
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recalld.supervisor.text.language import Language

_GROWS: Final = lazy_re(r"\[(?P<first>[0-9.]+)>(?P<last>[0-9.]+)\]")
_TURNS: Final = lazy_re(r"\[(?P<choices>[^\]|]+(?:\|[^\]|]+)+)\]")
_DATE: Final = lazy_re(r"\{\+(?P<days>[0-9]+)\}")
#: Between two messages of a talk.
_PACE: Final = timedelta(seconds=40)
_ROLES: Final = frozenset({"user", "assistant"})


@record
class Question:
    """What is asked, when, and in which session."""

    at: datetime
    session: str
    text: str


@dataclass(slots=True)
class Year:
    """The year: messages and questions in the order of time, and the lines of memory.md."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


def made_up_year(language: Language, now: datetime) -> Year:
    """Return the year in *language* that ends at *now*, a time in the zone of the workspace."""
    text = resources.files(__package__).joinpath(f"year.{language}.txt").read_text(encoding="utf-8")
    year, writer = Year(), _Writer(language, now)
    for head, lines in _blocks(text):
        kind, _, rest = head.partition(" ")
        if kind == "talk":
            day, time, session = rest.split(" ", 2)
            year.messages += writer.talk(int(day), time, session, lines)
        elif kind == "often":
            every, first, last, time, session = rest.split(" ", 4)
            year.messages += writer.often(range(int(first), int(last) - 1, -int(every)), time, session, lines)
        elif kind == "keep":
            day, source, words = rest.split(" ", 2)
            year.lines.append(f"{writer.moment(int(day), '12:00'):%Y-%m-%d}|{source.removesuffix(':')}|{words}")
        else:
            day, time, rest = rest.split(" ", 2)
            session, _, words = rest.partition(": ")
            year.questions.append(Question(writer.moment(int(day), time), session, words))
    year.messages.sort(key=lambda one: str(one["createdAt"]))
    year.questions.sort(key=lambda one: one.at)
    for number, one in enumerate(year.messages):
        one["id"] = f"demo-{number:04d}"
    return year


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each head with its lines; the heads of `keep` and `ask` have none."""
    for block in text.split("\n\n"):
        head, *lines = [line for line in block.splitlines() if line and not line.startswith("#")] or [""]
        if head.startswith(("keep ", "ask ")):
            yield from ((line, []) for line in (head, *lines))
        elif head:
            yield head, lines


class _Writer:
    """Writes the messages of a block with their times."""

    def __init__(self, language: Language, now: datetime) -> None:
        self._language, self._now = language, now

    def moment(self, day: int, time: str) -> datetime:
        hours, _, minutes = time.removeprefix("-").partition(":")
        if time.startswith("-"):
            return self._now - timedelta(hours=int(hours), minutes=int(minutes))
        date = self._now - timedelta(days=day)
        found = date.replace(hour=int(hours), minute=int(minutes), second=0, microsecond=0)
        return found if found <= self._now else found - timedelta(days=1)

    def talk(self, day: int, time: str, session: str, lines: list[str]) -> Iterator[dict[str, Any]]:
        at = self.moment(day, time)
        for line in lines:
            speaker, _, words = line.partition(": ")
            said = {"role": speaker} if speaker in _ROLES else {"role": "user", "name": speaker}
            yield {**said, "text": self._dated(words, at), "createdAt": to_wire(at), "session": session, "archived": False}
            at = min(at + _PACE, self._now)

    def often(self, days: range, time: str, session: str, lines: list[str]) -> Iterator[dict[str, Any]]:
        for turn, day in enumerate(days):
            filled = [_filled(line, turn, turn / max(1, len(days) - 1)) for line in lines]
            yield from self.talk(day - turn * turn % 3, time, session, filled)

    def _dated(self, words: str, at: datetime) -> str:
        def date(found: Any) -> str:
            day = at + timedelta(days=int(found["days"]))
            return f"{day.month}月{day.day}日" if self._language == "zh" else f"{day.day} {month_name[day.month]}"

        return _DATE.sub(date, words)


def _filled(line: str, turn: int, share: float) -> str:
    """Return the line as it is said the *turn*th time, after this *share* of the year."""
    grown = _GROWS.sub(lambda found: _between(found["first"], found["last"], turn, share), line)

    def choice(found: Any) -> str:
        choices = found["choices"].split("|")
        return str(choices[(turn + turn // len(choices)) % len(choices)])

    return _TURNS.sub(choice, grown)


def _between(first: str, last: str, turn: int, share: float) -> str:
    """Return the number at this *share* of the way, a little more or less each time, with as many decimals as *first*."""
    low, high = float(first), float(last)
    found = low + (high - low) * min(1.0, max(0.0, share + (turn * 7 % 5 - 2) / 25))
    return f"{found:.{len(first.partition('.')[2])}f}"
