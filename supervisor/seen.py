"""
The seen journal, `.recalld/seen.jsonl`: what recalld has met, and where its words stand (docs/protocol.md, 5).

It answers three questions that history.json alone can't: are these words written (even where a person has since deleted
them from their file), whose message is this without an id, and which un-written words has another program lost. It holds
the words of un-written messages alone. It can be deleted: what is written is then read from the dated files again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from supervisor.policy.met import Met, line
from supervisor.protocol.errors import NewerFormat
from supervisor.protocol.json_text import parse_json, render_json
from supervisor.protocol.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import tzinfo

    from supervisor.protocol.dated import Block
    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout
    from supervisor.protocol.message import Key

FORMAT: Final = 1
_HEAD: Final[Mapping[str, Any]] = {"recalld": FORMAT}


class SeenJournal(Met):
    """The journal, and in memory what it says; times without an offset are of *zone*."""

    def __init__(self, files: Files, layout: Layout, zone: tzinfo) -> None:
        super().__init__(zone)
        self._files = files
        self._layout = layout
        self._inode, self._offset = 0, 0
        #: An append failed: what it wrote can be read, yet no later fsync of this file makes it durable.
        self.is_doubtful = False

    def _forget(self) -> None:
        super().__init__(self._zone)
        self._inode, self._offset = 0, 0

    # ── reading ──────────────────────────────────────────────────────────────

    def refresh(self) -> None:
        """Read what was added since the last look, by whatever process. NewerFormat where a newer recalld wrote it."""
        stat = self._files.disk.stat(self._layout.seen)
        if stat is None or stat.inode != self._inode or stat.size < self._offset:
            self._forget()
            if stat is None:
                return
        data = self._files.disk.read(self._layout.seen, self._offset) if stat.size > self._offset else b""
        whole = data[: data.rfind(b"\n") + 1]  # a line that a crash left unfinished says nothing
        self._inode, self._offset = stat.inode, self._offset + len(whole)
        for one in whole.split(b"\n"):
            if one:
                self.take(one)
        self._refuse(self.format)

    # ── writing ──────────────────────────────────────────────────────────────

    def refuse_newer(self) -> None:
        """Raise NewerFormat where a newer recalld wrote the journal: nothing is added to it. For who does not read it."""
        if self._files.disk.stat(self._layout.seen) is None:
            return
        first = self._files.disk.read(self._layout.seen).partition(b"\n")[0]
        with suppress(ValueError, TypeError, AttributeError):  # a line that a crash or a person broke says nothing
            self._refuse(parse_json(first).get("recalld", 0))

    def _refuse(self, made_by: int) -> None:
        if made_by > FORMAT:
            raise NewerFormat(self._layout.seen, made_by)

    def note(self, messages: Sequence[Message]) -> None:
        """Write down un-written words without reading the journal: for a command that only appends."""
        self._append([{"seen": message.raw} for message in messages])

    def saw(self, messages: Sequence[Message]) -> None:
        """Remember un-written words, durably, before anything else is done with them."""
        self._record([{"seen": message.raw} for message in messages])

    def wrote(self, file: str, blocks: Sequence[Block]) -> None:
        """Remember that a dated file holds these messages."""
        self._record([{"written": [[*block.key, *block.bases] for block in blocks], "file": file}])

    def adopted(self, file: str, messages: Sequence[Message]) -> None:
        """Remember that another program had written these messages to *file* before recalld came."""
        written = [[*message.key, *message.bases] for message in messages]
        by = {} if file in self.names else {"by": "another"}
        self._record([{"written": written, "file": file, **by}, {"here": [message.id for message in messages]}])

    def looked(self, history: Iterable[object]) -> None:
        """Remember which messages history.json holds, and which have left it."""
        ids = dict.fromkeys(entry.id for entry in history if isinstance(entry, Message))
        kept = {identity for identity, _ in self.unwritten}
        left = [identity for identity in self.here if identity not in ids and identity not in kept]
        came = [identity for identity in ids if identity not in self.here]
        self._record([*line("left", left), *line("here", came)])
        self.here = ids

    def put_back(self, keys: Sequence[Key]) -> None:
        """Remember, before it is done, that these words are put back: it happens once."""
        self._record(line("back", [list(key) for key in keys]))

    def drop(self, keys: Sequence[Key]) -> None:
        """Remember that these un-written words were replaced by newer ones of the same message."""
        self._record(line("dropped", [list(key) for key in keys]))

    def found_again(self, messages: Sequence[Message]) -> None:
        """Remember that these words stand in no file any more, and what they are: they are to be written again."""
        if messages:
            lost = [list(message.key) for message in messages]
            self._record([{"lost": lost}, *({"seen": message.raw} for message in messages)])

    def _record(self, lines: Sequence[Mapping[str, Any]]) -> None:
        if not lines:
            return
        self._append(lines)
        self.refresh()

    def _append(self, lines: Sequence[Mapping[str, Any]]) -> None:
        head = [] if self._files.disk.stat(self._layout.seen) else [_HEAD]
        try:
            self._files.append(self._layout.seen, _rendered([*head, *lines]))
        except OSError:
            self.is_doubtful = True
            raise

    # ── keeping it small ─────────────────────────────────────────────────────

    def compact(self) -> None:
        """Write the journal anew, as short as it can be; the caller holds the history's lock, under which others append."""
        self.refresh()
        look = self._files.look(self._layout.seen)
        self._files.replace(self._layout.seen, _rendered([_HEAD, *self.lines()]), look)
        self.is_doubtful = False
        self._forget()
        self.refresh()


def _rendered(lines: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(render_json(one) + b"\n" for one in lines)
