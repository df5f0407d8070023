"""
The clockwork, watched from outside: no try before its time, no more calls than the day's cap, no storm of events.

It has the waits of docs/reference/protocol.md, 3 as a table of its own and goes by events and calls alone.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

#: Minutes; then a day.
_WAITS = (10, 30, 120, 360, 720)
_JITTER = 0.1
_SECOND = timedelta(seconds=1)
#: What may last, and is told when it begins: how often a day where nothing gave cause anew.
_LASTING = (
    *("degraded", "recovered", "history_invalid", "history_overflow", "provider_paused", "provider_back", "calls_spent"),
    *("quarantine_full", "archive_backlog", "index_damaged", "history_restored", "put_back", "file_quarantined"),
)
_QUIET = 6


def wait_after(attempts: int) -> timedelta:
    return timedelta(minutes=_WAITS[attempts - 1]) if attempts <= len(_WAITS) else timedelta(days=1)


class Watch:
    """Is told of everything; *wrong* says what was against the rules."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.failed: dict[str, tuple[int, datetime]] = {}
        self.paused: tuple[datetime, datetime] | None = None
        self._taken_at: datetime | None = None
        self.events: Counter[str] = Counter()
        self.causes = 0
        self._causes_before = 0  # of the day before: what begins at 23:59 is told after midnight
        self.spent: Counter[str] = Counter()  # calls by local day
        self.total: Counter[str] = Counter()

    def told(self, event: str, fields: Mapping[str, Any], now: datetime) -> None:
        self.events[event] += 1
        self.total[event] += 1
        match event:
            case "summary_failed":
                self.failed[fields["group"]] = (int(fields["attempts"]), now)
            case "summarised" | "dropped":
                self.failed.pop(fields["group"], None)
            case "provider_paused":
                self.paused = (now, datetime.fromisoformat(fields["until"]))
            case "provider_back":
                self.paused = None
            case "submitted":
                self._submitted(fields["groups"], now)
            case "error":
                self.wrong.append(f"a bug: {fields}")

    def _submitted(self, groups: list[str], now: datetime) -> None:
        if self.paused and self.paused[0] <= now < self.paused[1]:
            self.wrong.append(f"{groups} are asked while the provider is paused until {self.paused[1]}")
        for group in groups:
            attempts, at = self.failed.pop(group, (0, now))
            if attempts and not self._is_taken(now) and at <= now < at + wait_after(attempts) * (1 - _JITTER) - _SECOND:
                self.wrong.append(f"{group} failed {attempts} times, the last at {at}, and is tried again at {now}")

    def _is_taken(self, now: datetime) -> bool:
        """Whether a person took material away today."""
        return self._taken_at is not None and abs(now - self._taken_at) < timedelta(days=1)

    def paid(self, day: str) -> None:
        """A call was made, whatever became of it."""
        self.spent[day] += 1

    def jumped(self) -> None:
        """The clock was set: what lies ahead of it is no wait any more, and a pause may be over."""
        self.failed.clear()
        self.paused = None
        self.spent.clear()
        self.causes += 2

    def taken(self, now: datetime) -> None:
        """A person took material away: a group that has nothing left forgets its failure, and begins anew with what comes."""
        self._taken_at = now

    def cause(self) -> None:
        """Something happened that may be told of."""
        self.causes += 1

    def end_of_step(self) -> list[str]:
        """Return what was wrong since the last step."""
        wrong, self.wrong = self.wrong, []
        return wrong

    def end_of_day(self, cap: int) -> list[str]:
        """Return what was wrong, and begin a new day."""
        wrong = self.end_of_step()
        most = _QUIET + 3 * (self.causes + self._causes_before)
        wrong += [f"{event} is told {n} times in a day" for event in _LASTING if (n := self.events[event]) > most]
        wrong += [f"{n} calls were paid on {day}, and {cap} are allowed" for day, n in self.spent.items() if n > cap]
        for day in sorted(self.spent)[:-2]:
            del self.spent[day]
        self.events.clear()
        self.causes, self._causes_before = 0, self.causes
        return wrong
