"""
The questions about summaries: what is covered, searched, wanted, carried by a task, and which result is acceptable.

Coverage is computed from standing summaries, by name and digest, never from where a file lies. Nothing here changes
the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from tests.model.messages import Messages
from tests.model.state import Dated, Group, Result, Summary, Task, Wait, task_id

if TYPE_CHECKING:
    from collections.abc import Iterable

DELAYS: Final = (10, 30, 120, 360, 720)  # minutes; 003, 失败与退避
DELAY_AFTERWARDS: Final = 1440
GIVES_UP_ON_A_DAY: Final = 5  # failures, after which a month takes the day's files as they are

Verdict = Literal["accept", "drop", "failed", "provider"]


class Coverage(Messages):
    """What the supervisor reads off the disk about summaries and tasks."""

    def old(self, day: int) -> bool:
        """Whether a day is a summary's matter."""
        return self.disk.today - day > self.limits.young_days

    def month(self, day: int) -> int:
        """The month of a day."""
        return day // self.limits.month_days

    def group(self, day: int) -> Group:
        """Whose matter an old day is: its own, or its month's from the month before last on."""
        if self.month(day) <= self.month(self.disk.today) - 2:
            return ("month", self.month(day))
        return ("day", day)

    def names(self, summary: Summary | Result | None, file: Dated) -> bool:
        """Whether a summary lists this very file: its name with the digest it has now."""
        return summary is not None and summary.sources.get(file.name) == file.digest

    def above(self, group: Group) -> Summary | None:
        """The monthly summary over a day."""
        return self.disk.summaries.get(("month", self.month(group[1]))) if group[0] == "day" else None

    def covered(self, file: Dated) -> bool:
        """Whether a standing summary names the file."""
        day: Group = ("day", file.day)
        return self.names(self.disk.summaries.get(day), file) or self.names(self.above(day), file)

    def hides(self, month: Summary, daily: Summary) -> bool:
        """Whether a monthly file stands for a daily: it lists all the daily's files that still exist, and is no poorer."""
        if daily.notes or (month.extract and not daily.extract):
            return False  # subtle: a person's words in a daily are in no file that the month could list
        files = [f for name in daily.sources if (f := self.disk.dated.get(name)) is not None and self.names(daily, f)]
        return bool(files) and all(self.names(month, file) for file in files)

    def shown(self) -> list[Summary]:
        """The summaries of the ordinary search."""
        found = []
        for group, summary in self.disk.summaries.items():
            month = self.above(group)
            if month is None or not self.hides(month, summary):
                found.append(summary)
        return found

    def searched(self) -> list[Dated]:
        """The dated files of the ordinary search: those that no model's summary in it names."""
        texts = [summary for summary in self.shown() if not summary.extract]
        return [file for file in self.disk.dated.values() if not any(self.names(text, file) for text in texts)]

    def in_flight(self) -> set[Group]:
        """The groups with a task that has not been taken in."""
        spool: Iterable[Task] = (
            *self.disk.queue.values(),
            *(entry.task for entry in self.disk.running.values()),
            *(result.task for result in self.disk.results.values()),
        )
        return {task.group for task in spool}

    def files_of(self, group: Group) -> list[Dated]:
        """The dated files of a period, wherever they lie."""
        kind, number = group
        return [f for f in self.disk.dated.values() if (f.day if kind == "day" else self.month(f.day)) == number]

    def outdated(self, summary: Summary | None) -> bool:
        """Whether a summary is an extract that a model can better."""
        return summary is not None and summary.extract and self.disk.model

    def material(self, group: Group) -> list[Dated]:
        """The files that the period's summary has still to take in."""
        files, standing = self.files_of(group), self.disk.summaries.get(group)
        return files if self.outdated(standing) else [file for file in files if not self.names(standing, file)]

    def raw(self, files: list[Dated]) -> list[Dated]:
        """The files that a month must read themselves, because no usable daily names them."""
        dailies = self.disk.summaries
        return [f for f in files if not self.names(d := dailies.get(("day", f.day)), f) or self.outdated(d)]

    def alive(self) -> list[Group]:
        """Every group with material, the newest days first; a month too large for one task brings its days before it."""
        groups: dict[Group, None] = {}
        for day in sorted({file.day for file in self.disk.dated.values() if self.old(file.day)}, reverse=True):
            group = self.group(day)
            missing = self.material(group)
            if group[0] == "day" and (above := self.above(group)) is not None and not self.outdated(above):
                missing = [file for file in missing if not self.names(above, file)]
            if not missing:
                continue
            if group[0] == "month" and len(raw := self.raw(missing)) > self.limits.context:
                groups.update({("day", file.day): None for file in sorted(raw, key=lambda f: -f.day)})
            groups[group] = None
        return list(groups)

    def wanted(self) -> list[Group]:
        """The groups to submit now."""
        groups, busy = self.alive(), self.in_flight()
        tried = {g for g, wait in self.disk.failed.items() if g[0] == "day" and wait.attempts >= GIVES_UP_ON_A_DAY}
        hopeful = {g for g in groups if g not in tried}
        found = []
        for group in groups:
            days_first = group[0] == "month" and any(g[0] == "day" and self.month(g[1]) == group[1] for g in hopeful)
            if group not in busy and not days_first and self.may_try(self.disk.failed.get(group)):
                found.append(group)
        return found

    def may_try(self, wait: Wait | None) -> bool:
        """Whether a wait is over, or can't be meant: one that ends later than it could have begun."""
        if wait is None or wait.next_at <= self.disk.now:
            return True
        return wait.next_at - self.disk.now > self.delay_after(wait.attempts)

    def delay_after(self, attempts: int) -> int:
        """Minutes to wait after so many failures; counts from 1."""
        return DELAYS[attempts - 1] if attempts <= len(DELAYS) else DELAY_AFTERWARDS

    def task(self, group: Group, *, redo: bool = False) -> Task:
        """The task of a group: the previous text with what is new, or everything anew where that text can't be used."""
        standing = self.disk.summaries.get(group)
        keeps = standing is not None and standing.text > 0 and not redo and not self.outdated(standing)
        base = standing if keeps and standing is not None else Summary({}, 0)
        files = self.material(group) if keeps else self.files_of(group)
        raw = self.raw(files) if group[0] == "month" else files
        texts = [base, *(self.disk.summaries["day", day] for day in sorted({f.day for f in files if f not in raw}))]
        own = frozenset((file.name, file.digest) for file in raw)
        sources = {**base.sources, **{file.name: file.digest for file in files}}
        failed = self.disk.failed.get(group)
        attempt = failed.attempts + 1 if failed else 1
        return Task(
            id=task_id(group, sources, attempt),
            group=group,
            sources=sources,
            attempt=attempt,
            previous=base.text or None,
            redo=redo,
            extract_inside=any(text.extract for text in texts),
            read=own.union(*(text.read for text in texts)),
            knows=own.union(*(text.knows for text in texts if not text.extract)),
        )

    def present(self, sources: dict[str, int]) -> set[str]:
        """The files of a list that exist as listed."""
        dated = self.disk.dated
        return {name for name, digest in sources.items() if name in dated and dated[name].digest == digest}

    def judge(self, result: Result) -> Verdict:
        """What becomes of a result."""
        task, standing = result.task, self.disk.summaries.get(result.task.group)
        if result.status != "done":
            return result.status
        if task.id != task_id(task.group, result.sources, task.attempt):
            return "failed"  # it does not echo what the task was about
        mine = self.present(result.sources)
        if standing is None:
            return "accept" if mine and task.previous is None else "drop"  # a person deleted what it carries on from
        theirs = self.present(standing.sources)
        betters = mine > theirs or (mine == theirs and (task.redo or (standing.extract and not result.extract)))
        return "accept" if mine and betters else "drop"
