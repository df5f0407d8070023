"""
The supervisor's round as protocol.md words it, one `yield` after each single durable write.

Whoever walks the generator may stop at any `yield`: that is a crash, and the next round is the recovery, for there is
no other. Between two yields other programs and people may act; within one nothing can (a lock, or one rename).
The order of the writes is the whole point: durable before flagged, result deleted last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.model.archiving import Archiving
from tests.model.state import Result, Summary, Wait

if TYPE_CHECKING:
    from collections.abc import Iterator


class Supervisor(Archiving):
    """One process; `round` is a poll."""

    def round(self, *, until_settled: bool = False) -> Iterator[str]:
        """One poll; yields the name of each durable write after it was made."""
        yield from self.note_written()
        yield from self.look()
        yield from self.put_back()
        yield from self.reclaim()
        yield from self.harvest()
        yield from self.settle()
        unwritten = self.unwritten()
        if unwritten and (until_settled or self.due(unwritten)) and self.disk.uptime >= self.run_not_before:
            yield from self.run(unwritten)
            yield from self.settle()
        yield from self.roll_up()
        yield from self.move_covered()
        yield from self.trim()

    def roll_up(self) -> Iterator[str]:
        """Clear failures without material, then submit: mark the group's written `false` messages, write the task."""
        alive, busy = self.alive(), self.in_flight()
        for group in [group for group in self.disk.failed if group not in alive and group not in busy]:
            del self.disk.failed[group]
            yield "failure cleared"
        if self.disk.provider and not alive and not busy and self.may_try(self.disk.provider):
            self.disk.provider = None  # nothing to probe with
            yield "provider back"
        provider = self.disk.provider
        for group in self.wanted():
            room = 1 if provider else self.limits.queued  # after a fault of the provider one task is the probe
            spool = len(self.disk.running) + len(self.disk.results) if provider else 0
            if not self.may_try(provider) or len(self.disk.queue) + spool >= room:
                return
            task = self.task(group)
            if self.mark({key for file in self.files_of(group) for key in file.blocks}):
                yield "mark"
            self.room()
            self.disk.queue[task.id] = task
            yield "submit"

    def reclaim(self) -> Iterator[str]:
        """A running task whose worker is silent goes back, unless its result is there."""
        for name in [name for name, entry in self.disk.running.items() if entry.silent]:
            entry = self.disk.running.pop(name, None)
            if entry and name not in self.disk.results:
                self.disk.queue[name] = entry.task
            yield "reclaim"

    def harvest(self) -> Iterator[str]:
        """Take in each result: summary, flags, failure, spool, and the result itself last."""
        for result in list(self.disk.results.values()):
            group, verdict = result.task.group, self.judge(result)
            if verdict == "accept":
                self.room()
                self.take_in(result)
                yield "summary"
            if verdict in ("accept", "drop") and self.disk.provider:
                self.disk.provider = None
                yield "provider back"
            if verdict == "accept":
                yield from self.settle()
                if self.disk.failed.pop(group, None):
                    yield "failure cleared"
            if verdict in ("failed", "provider") and self.count(result, verdict):
                yield "failure"
            if self.disk.queue.pop(result.task.id, None) or self.disk.running.pop(result.task.id, None):
                yield "task gone"
            self.disk.results.pop(result.task.id, None)
            yield "result gone"

    def take_in(self, result: Result) -> None:
        """Write the summary; into one that a person edited, below their words."""
        group, old = result.task.group, self.disk.summaries.get(result.task.group)
        new = Summary(dict(result.sources), result.text, result.extract, [], result.task.read, result.task.knows)
        if old is not None and old.notes:
            if new.extract or not old.extract:  # a model's part does not vouch for what an extract alone has read
                new.sources = {**old.sources, **new.sources}
            new.notes, new.read, new.knows = old.notes, old.read | new.read, old.knows | new.knows
        self.disk.summaries[group] = new

    def count(self, result: Result, verdict: str) -> bool:
        """Count a failure, once an attempt; one of the provider, once an outage. Whether it was new."""
        disk, task = self.disk, result.task
        old = disk.provider if verdict == "provider" else disk.failed.get(task.group)
        attempts = task.attempt
        if verdict == "provider":
            if old and result.started < old.failed_at <= disk.now:
                return False
            attempts = old.attempts + 1 if old else 1
        if old and attempts <= old.attempts:
            return False
        self.room()
        wait = Wait(attempts, disk.now, disk.now + self.delay_after(attempts))
        if verdict == "provider":
            disk.provider = wait
        else:
            disk.failed[task.group] = wait
        return True

    def move_covered(self) -> Iterator[str]:
        """What a summary covers moves to originals/, one rename a file."""
        for file in [file for file in self.disk.dated.values() if not file.moved and self.covered(file)]:
            file.moved = True
            yield "move"
