"""
The folder turns/: receipts and prepared contexts, the newest 200 or 20 MB of them (docs/reference/protocol.md, 7).

Only files whose name is a turn's are ever deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ..protocol.paths import WorkspacePaths
from ..protocol.turn import Receipt, newest_turn_id, parse_receipt, render_receipt, turn_ids
from ..storage.errors import BadFile, NewerFormat, NotFound
from ..storage.files import Files
from ..storage.texts import msgid

if TYPE_CHECKING:
    from ..text.redact import Mark

KEPT: Final = 200  # files
KEPT_BYTES: Final = 20_000_000


class NothingAsked(NotFound):
    """No turn was given memory yet, or none of those is kept: there is nothing to explain."""

    code = "error.nothing_asked"
    english = msgid("no question to memory is kept, so there is none to explain; `recalld inject --query` asks one.")


@dataclass(eq=False, repr=False)
class NoTurn(NotFound):
    """No turn that is kept has this id; *newest* is one that is."""

    code = "error.no_turn"
    english = msgid(
        "there is no turn {path}; the newest is {newest}, and `recalld why` alone explains it. The folder turns/ has a file for each turn that is kept."
    )
    newest: str


class ReceiptStore:
    """The receipts of a workspace, at most *kept* files and *kept_bytes* bytes; *mark* is applied to all words in them."""

    def __init__(
        self,
        files: Files,
        paths: WorkspacePaths,
        kept: int = KEPT,
        kept_bytes: int = KEPT_BYTES,
        mark: Mark | None = None,
    ) -> None:
        self._files = files
        self._folder = paths.turns
        self._kept, self._kept_bytes = kept, kept_bytes
        self._mark = mark

    def write(self, receipt: Receipt) -> None:
        """Write the receipt durably and delete the oldest beyond the limits. Writing it twice is harmless."""
        self._files.make_folder(self._folder)
        try:
            self._files.create(self._folder / f"{receipt.id}.json", render_receipt(self._marked(receipt)))
        except FileExistsError:
            return  # the same turn: the id is made of the content
        self._rotate(receipt.id)

    def put(self, context: Receipt) -> None:
        """Write a prepared context durably; it replaces the one of the same turn that was made for an earlier inbox."""
        self._files.make_folder(self._folder)
        path = self._folder / f"{context.id}.json"
        self._files.replace(path, render_receipt(self._marked(context)), self._files.read_stable(path))
        self._rotate(context.id)

    def inbox_of(self, turn: str) -> str:
        """Return the digest of the inbox that the context of *turn* was made for; "" if there is no such context."""
        try:
            return self.read(turn).inbox
        except (NotFound, BadFile, NewerFormat):
            return ""

    def turns(self) -> list[str]:
        """Return the ids of the turns, oldest first."""
        return turn_ids(self._files.disk.names(self._folder))

    def read(self, turn: str | None = None, now: datetime | None = None) -> Receipt:
        """
        Return the receipt of *turn* (an id, or the beginning of one); None: of the newest turn that is not ahead of *now*.

        NotFound if there is none, BadFile if it can't be read.
        """
        identity = newest_turn_id([f"{name}.json" for name in self.turns() if name.startswith(turn or "")], now)
        if identity is None:
            kept = self.turns()
            raise NoTurn(f"turns/{turn}", kept[-1]) if turn and kept else NothingAsked("turns/")
        path = self._folder / f"{identity}.json"
        version = self._files.read_shown(path)
        if version is None:
            raise NotFound(f"turns/{identity}.json")
        return parse_receipt(version.data, path)

    def _marked(self, receipt: Receipt) -> Receipt:
        """Return the receipt with marks in the place of secrets, where these are not to be stored."""
        mark = self._mark
        if mark is None:
            return receipt

        def in_content(entry: Mapping[str, Any]) -> dict[str, Any]:
            return {**entry, "content": mark(str(entry.get("content") or ""))}

        question, folded = mark(receipt.question), receipt.question.casefold()
        words = map(str.casefold, (*receipt.terms, *receipt.miss.get("lacks", ()), *receipt.miss.get("nowhere", ())))
        gone = {word for word in words if word in folded and word not in question.casefold()}
        return replace(
            receipt,
            question=question,
            terms=tuple(term for term in receipt.terms if term.casefold() not in gone),
            miss={} if gone else receipt.miss,
            memory=mark(receipt.memory),
            history=tuple(map(in_content, receipt.history)),
            messages=tuple(map(in_content, receipt.messages)),
        )

    def _rotate(self, written: str) -> None:
        """Delete the receipts written longest ago beyond the limits; that of the turn *written* just now always stays."""
        stats = self._files.disk.stats(self._folder)
        stats = {identity: stats[f"{identity}.json"] for identity in turn_ids(stats)}
        # by the time of writing, since the context of an old input has an old id; a file that seems to be later than the newest
        # was written before the clock was set back
        last = stats.pop(written)
        size = last.size
        order = {identity: (stat.mtime_ns <= last.mtime_ns, stat.mtime_ns, identity) for identity, stat in stats.items()}
        newest = sorted(stats, key=order.__getitem__, reverse=True)
        for count, identity in enumerate(newest, 2):
            size += stats[identity].size
            if count > self._kept or size > self._kept_bytes:
                self._files.remove(self._folder / f"{identity}.json")
