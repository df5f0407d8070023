"""
One wrong rule each, about summaries: sources, coverage, tasks, failures: what the walks must be able to tell from the protocol.

Random walks find most; a few need the scene that `cases_summaries` plays for them. A mutant that is not found is a rule
that nothing proves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.model.coverage import GIVES_UP_ON_A_DAY, Verdict
from tests.model.protocol_model import Supervisor
from tests.model.state import DAY, Dated, Group, Result, Summary, Task, Wait, task_id

if TYPE_CHECKING:
    from collections.abc import Iterator


class SourcesAtHarvest(Supervisor):
    """4H.3: the summary names what lies there when its result comes."""

    def take_in(self, result: Result) -> None:
        now = {file.name: file.digest for file in self.files_of(result.task.group)}
        super().take_in(replace(result, sources={**result.sources, **now}))


class ExtractAsPrevious(Supervisor):
    """4H.4: a model carries on from an extract, and its text counts as a model's."""

    def task(self, group: Group, *, redo: bool = False) -> Task:
        model, self.disk.model = self.disk.model, False
        task = super().task(group, redo=redo)
        self.disk.model = model
        return replace(task, extract_inside=False)


class MonthNamesDailies(Supervisor):
    """4H.5: a month lists dailies, and so whatever these list later."""

    def names(self, summary: Summary | Result | None, file: Dated) -> bool:
        if super().names(summary, file):
            return True
        months = [("month", self.month(file.day))]
        is_month = any(summary is self.disk.summaries.get(("month", number)) for _, number in months)
        daily = self.disk.summaries.get(("day", file.day))
        if not is_month or summary is None or daily is None or not super().names(daily, file):
            return False
        return bool(set(daily.sources) & set(summary.sources))


class NamesWithoutDigest(Supervisor):
    """4H.6, the other half: a listed name is enough."""

    def names(self, summary: Summary | Result | None, file: Dated) -> bool:
        return summary is not None and file.name in summary.sources


class NarrowerIsAccepted(Supervisor):
    """4H.8: the last result wins."""

    def judge(self, result: Result) -> Verdict:
        verdict = super().judge(result)
        return "accept" if verdict == "drop" and self.present(result.sources) else verdict


class OverwritesInsteadOfMerging(Supervisor):
    """A4, B3: a task carries what is new, its result replaces what stood there and is said to stand for all of it."""

    def task(self, group: Group, *, redo: bool = False) -> Task:
        task = super().task(group, redo=redo)
        if task.previous is None:
            return task
        own = {file.name: file.digest for file in self.material(group)}
        read = frozenset(own.items())
        return replace(task, sources=own, id=task_id(group, own, task.attempt), read=read, knows=read, previous=None)


class EditedExtractIsRedone(Supervisor):
    """4H.9: what a person edited keeps saying `extract`, whatever was written below."""

    def take_in(self, result: Result) -> None:
        old = self.disk.summaries.get(result.task.group)
        super().take_in(result)
        if old is not None and old.notes and old.extract:
            self.disk.summaries[result.task.group].extract = True


class FailureOutlivesItsGroup(Supervisor):
    """4H.9: only a success takes a failure away."""

    def roll_up(self) -> Iterator[str]:
        kept = dict(self.disk.failed)
        yield from super().roll_up()
        self.disk.failed.update({group: wait for group, wait in kept.items() if group not in self.disk.failed})


class DeletedFilesAreWaitedFor(Supervisor):
    """4H.9: a result must list all that the standing summary lists, deleted files too."""

    def judge(self, result: Result) -> Verdict:
        standing = self.disk.summaries.get(result.task.group)
        verdict = super().judge(result)
        lacks = standing is not None and not set(standing.sources) <= set(result.sources)
        return "drop" if verdict == "accept" and lacks else verdict


class RawLeavesByAge(Supervisor):
    """A1: a dated file older than five days is not searched."""

    def searched(self) -> list[Dated]:
        return [file for file in super().searched() if not self.old(file.day)]


class MonthHidesDailies(Supervisor):
    """A3: a month hides all dailies of its days."""

    def hides(self, month: Summary, daily: Summary) -> bool:
        return month is not daily


class ExtractHidesOriginals(Supervisor):
    """An extract stands for its files as a model's summary does."""

    def searched(self) -> list[Dated]:
        return [file for file in self.disk.dated.values() if not any(self.names(text, file) for text in self.shown())]


class ExtractMonthHidesDailies(Supervisor):
    """A month's extract hides the dailies that a model wrote, whose files it does not bring back."""

    def hides(self, month: Summary, daily: Summary) -> bool:
        return super().hides(replace(month, extract=False), daily)

    def searched(self) -> list[Dated]:
        texts = [summary for summary in self.disk.summaries.values() if not summary.extract]
        return [file for file in self.disk.dated.values() if not any(self.names(text, file) for text in texts)]


class EditedDailyIsHidden(Supervisor):
    """A month hides a daily that a person has written into."""

    def hides(self, month: Summary, daily: Summary) -> bool:
        return super().hides(month, replace(daily, notes=[]))


class NotesAreOverwritten(Supervisor):
    """Rule 8: a summary that a person edited is replaced."""

    def take_in(self, result: Result) -> None:
        if standing := self.disk.summaries.get(result.task.group):
            standing.notes = []
        super().take_in(result)


class ExtractPartVouches(Supervisor):
    """The sources of an edited file are the union of all its parts, an extract's counted as a model's."""

    def take_in(self, result: Result) -> None:
        old = self.disk.summaries.get(result.task.group)
        super().take_in(result)
        if old is not None and old.notes:
            new = self.disk.summaries[result.task.group]
            new.sources = {**old.sources, **new.sources}


class DeletedSummaryReturns(Supervisor):
    """A result that carries on from a deleted summary is taken in."""

    def judge(self, result: Result) -> Verdict:
        return super().judge(replace(result, task=replace(result.task, previous=None)))

    def take_in(self, result: Result) -> None:
        if result.task.previous is not None and result.task.group not in self.disk.summaries:
            result = replace(result, text=result.task.previous)
        super().take_in(result)


class InventionsAreTaken(Supervisor):
    """The list of a result is not compared with its task."""

    def judge(self, result: Result) -> Verdict:
        task = replace(result.task, id=task_id(result.task.group, result.sources, result.task.attempt))
        return super().judge(replace(result, task=task))


class FailureCountsTwice(Supervisor):
    """A failure harvested twice counts twice."""

    def count(self, result: Result, verdict: str) -> bool:
        group = result.task.group
        if verdict == "failed" and group in self.disk.failed:
            result = replace(result, task=replace(result.task, attempt=self.disk.failed[group].attempts + 1))
        return super().count(result, verdict)


class ProviderFaultCounts(Supervisor):
    """The provider's fault is the group's."""

    def count(self, result: Result, verdict: str) -> bool:
        return super().count(result, "failed" if verdict == "provider" else verdict)


class WaitsAreBelieved(Supervisor):
    """A12: a wait that a clock set back has made endless is waited for."""

    def may_try(self, wait: Wait | None) -> bool:
        return wait is None or wait.next_at <= self.disk.now


class LostTaskIsWaitedFor(Supervisor):
    """A claim is for ever."""

    def reclaim(self) -> Iterator[str]:
        yield from ()


class MonthWaitsForItsDays(Supervisor):
    """A large month waits for all its days, those too that fail for ever."""

    def wanted(self) -> list[Group]:
        groups = super().wanted()
        stuck = {self.month(g[1]) for g, w in self.disk.failed.items() if w.attempts >= GIVES_UP_ON_A_DAY and g[0] == "day"}
        return [group for group in groups if group[0] == "day" or group[1] not in stuck]


class DaysAreUtc(Supervisor):
    """B15: the day of a file is not the day of its messages; here, the run's."""

    def files_of(self, group: Group) -> list[Dated]:
        kind, number = group
        return [f for f in self.disk.dated.values() if number == (f.created // DAY if kind == "day" else self.month(f.day))]


class MonthOnlyLate(Supervisor):
    """A2: nothing merges a closed month whose dailies cover it."""

    def alive(self) -> list[Group]:
        return [
            group
            for group in super().alive()
            if group[0] == "day" or any(not self.covered(file) for file in self.files_of(group))
        ]


class NothingMoves(Supervisor):
    """Covered files stay where they were."""

    def move_covered(self) -> Iterator[str]:
        yield from ()


class ProviderIsHammered(Supervisor):
    """A dead provider is asked again at every poll, by every group."""

    def may_try(self, wait: Wait | None) -> bool:
        return wait is self.disk.provider or super().may_try(wait)

    def count(self, result: Result, verdict: str) -> bool:
        counted = super().count(result, verdict)
        self.disk.provider = None
        return counted


class OutageCountsManyTimes(Supervisor):
    """Each task that met the same outage makes the pause longer."""

    def count(self, result: Result, verdict: str) -> bool:
        return super().count(replace(result, started=self.disk.now), verdict)
