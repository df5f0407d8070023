"""
The checker: what must hold after every move, at every write, and once all is calm.

It reads the disk and asks the supervisor two things only: what the ordinary search would read, and how it groups days.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.model.state import Dated, Group, Message, Summary
    from tests.model.world import World

LEGAL = {("false", "pending"), ("pending", "true"), ("pending", "false")}


class Broken(AssertionError):
    """An invariant does not hold."""


def hold(claim: object, sentence: str) -> None:
    """Raise `Broken` with the sentence unless the claim is true."""
    if not claim:
        raise Broken(sentence)


class Checker:
    """Watches a world: `write` after each write of the supervisor, `move` after each move, `calm` at the end."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.names: set[str] = set()  # ever listed by the journal or a summary
        self.files: dict[str, None] = {}
        self.returned: set[str] = set()
        self.texts: set[int] = set()
        self.listed: list[dict[str, int]] = []
        self.before: list[tuple[Message, str | None, str, str]] = []
        self.remember()

    def remember(self) -> None:
        """Take note of what the next write starts from."""
        disk = self.world.disk
        self.before = [(m, m.id, m.text, m.flag) for m in disk.history]
        self.files = dict.fromkeys(disk.dated)
        self.texts = {s.text for s in disk.summaries.values()}
        self.listed = [s.sources for s in disk.summaries.values()]

    def settled_words(self, text: str) -> bool:
        """Whether words are in a dated file, or were taken out of one that the journal knew to hold them."""
        files = self.world.disk.dated.values()
        return text in self.world.gone or any(text in file.blocks.values() for file in files)

    def safe(self, text: str) -> bool:
        """Whether words are in a dated file, or were taken out of one by a person."""
        files = self.world.disk.dated.values()
        return text in self.world.taken_out or any(text in file.blocks.values() for file in files)

    def write(self, label: str) -> None:
        """The write just made was allowed."""
        disk = self.world.disk
        for message, _, text, flag in self.before:
            if message.flag != flag:
                legal = (flag, message.flag) in LEGAL or (label == "settle" and (flag, message.flag) == ("false", "true"))
                hold(legal, f"{text} went from {flag} to {message.flag} at {label}")
                hold(message.flag != "true" or self.safe(text), f"{text} is true and was never written")
        present = {id(message) for message in disk.history}
        for place, (message, _, text, _flag) in enumerate(self.before):
            if id(message) not in present:
                hold(label == "trim", f"{text} left history at {label}")
                hold(self.safe(text), f"{text} was trimmed un-written")
                newest = place >= len(self.before) - self.world.limits.newest
                hold(not newest, f"{text} was trimmed, one of the newest {self.world.limits.newest}")
        self.put_back(label)
        for name in disk.dated:
            hold(name in self.files or name not in self.names, f"{name} was given twice")
        for summary in disk.summaries.values():
            hold(summary.text in self.texts or summary.text not in self.world.deleted_texts, "a deleted text came back")
        if label == "summary":
            lost = self.covered(self.listed) - self.covered([s.sources for s in disk.summaries.values()])
            hold(not lost, f"{sorted(lost)} lost their summary to a narrower one")
        self.names |= {seen.file for seen in disk.journal.values()}
        self.names.update(*(summary.sources for summary in disk.summaries.values()))
        self.remember()

    def covered(self, lists: list[dict[str, int]]) -> set[str]:
        """The existing files in lists of sources."""
        files = self.world.disk.dated.values()
        return {file.name for file in files if any(sources.get(file.name) == file.digest for sources in lists)}

    def put_back(self, label: str) -> None:
        """Words come back into history once, and only while they are un-written."""
        if label == "put back":
            known = {id(message) for message, *_ in self.before}
            for message in self.world.disk.history:
                if id(message) not in known:
                    hold(not self.settled_words(message.text), f"{message.text} was put back though it had only been trimmed")
                    hold(message.text not in self.returned, f"{message.text} was put back twice")
                    self.returned.add(message.text)

    def move(self) -> None:
        """What must hold at any time."""
        self.words_are_kept()
        self.summaries_are_true()
        self.words_are_found()
        disk = self.world.disk
        spool = [*disk.queue.values(), *(entry.task for entry in disk.running.values())]
        groups = [task.group for task in spool]
        hold(len(groups) == len(set(groups)), "two tasks for one group")
        for group, wait in disk.failed.items():
            hold(wait.attempts <= self.world.failures.get(group, 0), f"{group} counts more failures than it had")
        self.remember()

    def words_are_kept(self) -> None:
        """All live words are somewhere, none in two dated files, none that a person took out in one."""
        world, disk = self.world, self.world.disk
        filed = [text for file in disk.dated.values() for text in file.blocks.values()]
        places = {m.text for m in disk.history}.union(filed, (s.text for s in disk.journal.values() if not s.written))
        places.update(note for summary in disk.summaries.values() for note in summary.notes)
        lost = [text for text in world.live if text not in places]
        hold(not lost, f"{lost} are nowhere")
        hold(len(filed) == len(set(filed)), f"{sorted({t for t in filed if filed.count(t) > 1})} were written twice")
        back = sorted(world.gone.intersection(filed))
        hold(not back, f"{back} were deleted by a person and written again")

    def summaries_are_true(self) -> None:
        """A summary names only what it was made from; a model's, only what a model has read."""
        for group, summary in self.world.disk.summaries.items():
            named = set(summary.sources.items())
            hold(named <= summary.read, f"{group} names files that its task did not read")
            hold(summary.extract or named <= summary.knows, f"{group} names files that only an extract was made of")

    def words_are_found(self) -> None:
        """Every dated file, and every word a person wrote into a summary, is in the ordinary search, itself or summarised."""
        disk, shown = self.world.disk, self.world.supervisor.shown()
        searched = {file.name for file in self.world.supervisor.searched()}
        for file in disk.dated.values():
            found = file.name in searched or any(knows(summary, file) for summary in shown)
            hold(found, f"{file.name} is in no search")
        for group, summary in disk.summaries.items():
            hold(not summary.notes or any(summary is other for other in shown), f"the notes in {group} are in no search")

    def calm(self) -> None:
        """Nothing is left to do, and nothing was forgotten."""
        world, disk, rules = self.world, self.world.disk, self.world.supervisor
        hold(not (disk.queue or disk.running or disk.results), "a task or a result is left")
        hold(not (disk.failed or disk.provider), f"a failure is left: {disk.failed} {disk.provider}")
        homes = {key: file for file in disk.dated.values() for key in file.blocks}
        for message in disk.history:
            hold(self.safe(message.text), f"{message.text} was never written")
            hold(message.flag == "true", f"{message.text} is {message.flag}")
        for text in world.live:
            inside = any(text in summary.notes for summary in disk.summaries.values())
            hold(self.safe(text) or inside, f"{text} is in no file")
        for file in homes.values():
            if rules.old(file.day):
                group = rules.group(file.day)
                self.named_by_its_period(file, group)
        capped = disk.history[: max(0, len(disk.history) - world.limits.newest)]
        hold(len(disk.history) <= max(world.limits.soft, world.limits.newest) or not capped, "history is beyond its cap")

    def named_by_its_period(self, file: Dated, group: Group) -> None:
        """An old file is named by the one summary of its period, which a model wrote if there is one, and has moved."""
        standing = self.world.disk.summaries
        over = [standing.get(group), standing.get(("month", file.day // self.world.limits.month_days))]
        naming = [s for s in over if s is not None and s.sources.get(file.name) == file.digest]
        hold(naming, f"{file.name} is named by no summary of {group}")
        hold(any(not s.extract for s in naming) or not self.world.disk.model, f"{file.name} has an extract only")
        hold(file.moved, f"{file.name} was not moved to originals")


def knows(summary: Summary, file: Dated) -> bool:
    """Whether a model's summary names the file as it is, and was made from it."""
    own = (file.name, file.digest)
    return not summary.extract and summary.sources.get(file.name) == file.digest and own in summary.knows
