"""A person at work in the folder: deleting, editing, restoring dated files and summaries, asking for one anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.model.state import Summary
from tests.model.writers import Writers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.model.state import Dated, Group


class People(Writers):
    """The world with its writers and its people."""

    def take_out(self, texts: Sequence[str]) -> None:
        """A person's will: these words need be nowhere; once the journal knows them written, they may not come back."""
        for text in texts:
            self.taken_out.add(text)
            self.gone |= self.noted() & {text}
            self.live.pop(text, None)

    def noted(self) -> set[str]:
        """All words that the journal knows to be written."""
        return {seen.text for seen in self.disk.journal.values() if seen.written}

    def delete_file(self, index: int) -> None:
        """A person deletes a dated file."""
        if file := self.pick(index):
            del self.disk.dated[file.name]
            self.trash.append(file)
            self.take_out(list(file.blocks.values()))

    def pick(self, index: int) -> Dated | None:
        """Some dated file."""
        files = list(self.disk.dated.values())
        return files[index % len(files)] if files else None

    def delete_block(self, index: int) -> None:
        """A person deletes one message from a dated file."""
        if (file := self.pick(index)) and file.blocks:
            key = list(file.blocks)[index % len(file.blocks)]
            self.take_out([file.blocks.pop(key)])
            file.seal()

    def edit_block(self, index: int) -> None:
        """A person writes other words into a dated file."""
        if (file := self.pick(index)) and file.blocks:
            key = list(file.blocks)[index % len(file.blocks)]
            self.take_out([file.blocks[key]])
            file.blocks[key] = self.words("人改")
            self.live[file.blocks[key]] = None
            file.seal()

    def restore_file(self) -> None:
        """A person takes the last deleted file out of the trash, if its words were not written anew."""
        if self.trash and not self.filed_words() & set(self.trash[-1].blocks.values()):
            file = self.trash.pop()
            if file.name in self.disk.dated:
                return
            self.disk.dated[file.name] = file
            for text in file.blocks.values():
                self.gone.discard(text)
                self.taken_out.discard(text)
                self.live[text] = None

    def delete_summary(self, index: int) -> None:
        """A person deletes a summary."""
        if self.disk.summaries:
            group = list(self.disk.summaries)[index % len(self.disk.summaries)]
            summary = self.disk.summaries.pop(group)
            if summary.text not in {result.text for result in self.disk.results.values()}:
                self.deleted_texts.add(summary.text)  # else a crash left its result: it is taken in once more
            for note in summary.notes:
                self.live.pop(note, None)

    def edit_summary(self, index: int) -> None:
        """A person writes into a summary."""
        if self.disk.summaries:
            summary = list(self.disk.summaries.values())[index % len(self.disk.summaries)]
            summary.notes.append(self.words("批注"))
            self.live[summary.notes[-1]] = None

    def write_summary(self, group: Group) -> None:
        """A person writes a summary of their own, without our front matter."""
        if group not in self.disk.summaries:
            note = self.words("自写")
            self.disk.summaries[group] = Summary({}, 0, notes=[note])
            self.live[note] = None

    def redo(self, index: int) -> None:
        """A person wants a summary made anew."""
        if not self.disk.summaries or self.disk.full:
            return
        group = list(self.disk.summaries)[index % len(self.disk.summaries)]
        if group not in self.supervisor.in_flight() and self.supervisor.files_of(group):
            task = self.supervisor.task(group, redo=True)
            self.disk.queue[task.id] = task
