"""The whole world around a disk: the supervisor and its crashes, workers and their LLM, the clock."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from tests.model.archiving import DiskFullError
from tests.model.people import People
from tests.model.state import DAY, Result, Running

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.model.state import Status, Task


class World(People):
    """All moves there are."""

    def poll(
        self,
        *,
        crash_after: int | str | None = None,
        between: Callable[[int], None] | None = None,
        until_settled: bool = False,
    ) -> list[str]:
        """One round; it may die after its nth write, or after the first write of that name. Returns the writes made."""
        writes: list[str] = []
        try:
            for label in self.supervisor.round(until_settled=until_settled):
                writes.append(label)
                if label == "note":
                    self.take_out(sorted((self.taken_out & self.noted()) - self.filed_words()))  # between file and note
                self.on_write(label)
                if crash_after in (len(writes), label):
                    self.supervisor = self.make(self.disk, self.limits)
                    writes.append("† crash")
                    break
                if between:
                    between(len(writes))
        except DiskFullError:
            writes.append("† disk full")
        self.log.append(f"    {self.clock()} round: {', '.join(writes) or '–'}")
        return writes

    def clock(self) -> str:
        """The time for the log."""
        return f"d{self.disk.today} {self.disk.now % DAY // 60:02}:{self.disk.now % 60:02}"

    def claim(self) -> Task | None:
        """A worker takes the first task."""
        if not self.disk.queue:
            return None
        name = next(iter(self.disk.queue))
        task = self.disk.queue.pop(name)
        self.disk.running[name] = Running(task)
        return task

    def work(self, status: Status = "done", *, invents: bool = False, dies: bool = False) -> None:
        """A worker does one task; it may name sources it never had, or die before it takes its claim away."""
        if task := self.claim():
            self.deliver(task, self.disk.now, status, invents=invents, dies=dies)

    def suspend(self) -> None:
        """A worker claims a task and falls silent (laptop closed, SIGSTOP, a very slow model)."""
        if task := self.claim():
            self.disk.running[task.id].silent = True
            self.held.append((task, self.disk.now))

    def wake(self, index: int, status: Status = "done") -> None:
        """A suspended worker goes on as if nothing had happened."""
        if self.held:
            self.deliver(*self.held.pop(index % len(self.held)), status)

    def deliver(self, task: Task, started: int, status: Status, *, invents: bool = False, dies: bool = False) -> None:
        """The result, then the end of the claim; on a full disk the worker can only die."""
        if self.disk.full:
            if task.id in self.disk.running:
                self.disk.running[task.id].silent = True
            return
        self.serial += 1
        extract = not self.disk.model or task.extract_inside
        sources = {**task.sources, **{name: file.digest for name, file in self.disk.dated.items()}}
        if status == "failed" or (status == "done" and invents and sources != task.sources):
            self.failures[task.group] = self.failures.get(task.group, 0) + 1
        listed = sources if invents else task.sources
        self.disk.results[task.id] = Result(task, status, deepcopy(listed), extract, self.serial, started)
        if not dies:
            self.disk.running.pop(task.id, None)
        elif task.id in self.disk.running:
            self.disk.running[task.id].silent = True

    def wait(self, minutes: int) -> None:
        """Time passes."""
        self.disk.now += minutes
        self.disk.uptime += minutes

    def jump(self, minutes: int) -> None:
        """The wall clock is set, forwards or back."""
        self.disk.now += minutes

    def over_month_end(self) -> None:
        """To the first morning of the next month."""
        month = self.limits.month_days
        self.wait((self.disk.today // month + 1) * month * DAY + 540 - self.disk.now)
