"""
Passages of the messages that no dated file holds yet, or whose file is gone, so that a message is found once it is accepted.

They come from history.json, from the seen journal (if another program has just lost them) and from the drop-box; the messages
of a file that is gone come from history.json or a copy of it (`archive/deletions`). They are scored with the files, as one
memory (`index/snapshot`), in the group of the day that they will be filed under. Their path has the id in place of lines, since
their place in history.json changes. This module writes nothing.
"""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from ..archive.append import DropBox, as_stored
from ..archive.deletions import Deletions
from ..archive.history import HistoryStore
from ..archive.identity import assign_ids
from ..archive.journal import SeenJournal
from ..archive.memory_folder import MemoryFolder
from ..index.chunking import Chunk, chunk_message, neighbours
from ..index.documents import beginning, talk_documents
from ..index.hit import BY_ID, Passage
from ..index.view import NOTHING, Overlay, OverlayGroup
from ..protocol.config_keys import Archive
from ..protocol.dated_file import Block, block_of
from ..protocol.message import Archived, History, Message
from ..protocol.paths import WorkspacePaths
from ..storage.clock import NEVER, Deadline
from ..storage.errors import SupervisorError, as_supervisor_error
from ..storage.files import Files
from ..text.foreign_text import printable
from ..text.language import HAN
from ..text.lazy_re import lazy_re
from ..text.tokenizer import tokens
from .neighbours import is_asked_again

if TYPE_CHECKING:
    from ..text.redact import Mark

#: Messages of one group, which is made without a look at the clock.
_GROUP: Final = 16
#: How long a search waits for a history.json that can't be read, in seconds.
_PATIENCE_S: Final = 0.1
_HAN: Final = lazy_re(f"[{HAN}]")


@dataclass(frozen=True, slots=True)
class UnfiledPassages:
    """
    The passages, as an overlay of the index and one by one; *left* messages are missing, since time was up.

    *skipped* are left out as the question itself.
    """

    overlay: Overlay = NOTHING
    passages: tuple[Passage, ...] = ()
    left: int = 0
    skipped: tuple[Passage, ...] = ()


class Unfiled:
    """The messages of a workspace that no dated file holds yet; their passages are kept until a message is another."""

    def __init__(
        self,
        files: Files,
        paths: WorkspacePaths,
        history: HistoryStore,
        drop_box: DropBox,
        deletions: Deletions,
        settings: Archive,
        mark: Mark | None,
    ) -> None:
        self._history, self._drop_box, self._deletions, self._settings = history, drop_box, deletions, settings
        self._files, self._paths, self._mark = files, paths, mark
        self._journal = SeenJournal(files, paths, settings.zone, only_unwritten=True)
        self._present: tuple[History, tuple[int, int], list[Message]] = ((), (0, 0), [])
        self._last: tuple[Sequence[Message], UnfiledPassages] = (), UnfiledPassages()
        self._unread: dict[str, str] = {}
        self._lock, self._is_loaded = threading.RLock(), False

    @property
    def written_names(self) -> Collection[str]:
        """The names of the dated files that were written since the oldest of these messages was seen."""
        return self._journal.names

    @property
    def unread(self) -> Mapping[str, str]:
        """The files that could not be read last time, by their path in the workspace, with the reason."""
        return self._unread

    def messages(self, now: datetime) -> list[Message]:
        """
        Return the messages, oldest first; those of one time in the order of history.json, in which they will be filed.

        A message without an id gets the one that it will be filed under.
        """
        stored = (as_stored(message, self._mark, self._journal, self._settings.zone) for message in self.with_forgotten(now))
        return [message for message in stored if message]

    def with_forgotten(self, now: datetime) -> list[Message]:
        """Return the same, with those that were forgotten and that a program has put back."""
        with self._lock:
            self._journal.refresh()
            self._unread = {}
            journal, present = self._journal, self._present_messages(now)
            ids = {message.id for message in present}
            # the journal's copies have the names of pictures in place of their bytes
            messages = {
                message.key: journal.unwritten.get(message.key, message) for message in present if _is_unfiled(message, journal)
            }
            # messages that another program has lost, or that wait in the drop-box
            dropped, why = self._drop_box.read()
            self._unread |= {printable(f"inbox.d/new/{name}"): reason for name, reason in why.items()}
            others = [*journal.unwritten.values(), *dropped]
            messages |= {
                message.key: message for message in others if message.id not in ids and journal.file_of(message.key) is None
            }
            return sorted(messages.values(), key=lambda message: message.created_at or now)

    def searched(self, now: datetime) -> list[Message]:
        """Return the messages and those whose dated file is gone, oldest first."""
        with self._lock:
            messages, lost = self.messages(now), []
            with contextlib.suppress(SupervisorError, OSError):  # the supervisor reports it
                lost = self._deletions.lost_messages(self._present_messages(now))
            present = {message.key: message for message in (*lost, *messages)}
            return sorted(present.values(), key=lambda message: message.created_at or now) if lost else messages

    def load_dictionary(self, now: datetime) -> None:
        """Load what cuts Chinese words, if a message has any, before the time of the first search begins."""
        if not self._is_loaded:
            self._is_loaded = True
            if any(_HAN.search(message.text) for message in self.searched(now)):
                tokens("漢字")

    def passages(
        self, now: datetime, deadline: Deadline = NEVER, skip: Callable[[Message], bool] = lambda _: False
    ) -> UnfiledPassages:
        """Return the passages of the messages, except those to *skip*; the newest are made first, until the *deadline*."""
        with self._lock:  # what is made is kept for the next search, which another thread may be beginning
            messages = self.searched(now)
            skipped = [message for message in messages if skip(message)]
            searched = [message for message in messages if message not in skipped]
            if self._last[0] != searched or self._last[1].left:
                self._last = searched, self._indexed(searched, deadline)
            return replace(self._last[1], skipped=tuple(self._chunk(message).passage for message in skipped))

    def _indexed(self, messages: Sequence[Message], deadline: Deadline) -> UnfiledPassages:
        chunks, half = list[Chunk](), deadline.part(0.5)  # the other half is for their words
        for message in reversed(messages):
            if half.is_over:
                break
            chunks.append(self._chunk(message))
        days: defaultdict[str, list[Chunk]] = defaultdict(list)
        for chunk in reversed(chunks):
            days[f"day {chunk.passage.day}"].append(chunk)
        groups: list[OverlayGroup] = []
        for day in sorted(days, reverse=True):
            for talk in neighbours(days[day]):
                paths = {chunk.passage.path: chunk.passage.path for chunk in talk}
                for start in reversed(range(0, len(talk), _GROUP)):
                    places = range(start, min(start + _GROUP, len(talk)))
                    if not deadline.is_over:
                        keys = tuple(talk[n].passage.path for n in places)
                        groups.append(OverlayGroup(keys, tuple(talk_documents(day, paths, talk, places))))
        passages = tuple(chunk.passage for day in days.values() for chunk in day if chunk.passage.text.strip())
        overlay = Overlay({f"unfiled {n}": group for n, group in enumerate(groups)})
        return UnfiledPassages(overlay, passages, len(messages) - sum(len(group.keys) for group in groups))

    def _chunk(self, message: Message) -> Chunk:
        return beginning(chunk_message(path_by_id(message.id), block_of(message), self._settings.zone))

    def blocks_of(self, identity: str, now: datetime, journal: SeenJournal, memory: MemoryFolder) -> Iterator[Block]:
        """
        Yield the texts of the message whose path ends with *identity*, the newest first; none if there is no such message.

        A message that was filed meanwhile is found in its dated file, which *journal* has recorded.
        """
        wanted = unquote(identity, errors="surrogatepass")
        unfiled = [block_of(message) for message in self.searched(now) if message.id in {wanted, identity}]
        journal.refresh()
        filed = [block for name in journal.files_of([wanted]) for block in memory.blocks(name) if block.key[0] == wanted]
        yield from reversed([*filed, *unfiled])

    def _present_messages(self, now: datetime) -> list[Message]:
        """
        Return the messages of history.json; none while it can't be read, which `unread` says and the supervisor reports.

        While the file does not change they are the same objects: a message without a time keeps the time when it was first
        read.
        """
        try:
            history, version = self._history.read(_PATIENCE_S), self._journal.version
        except (SupervisorError, OSError) as error:
            refused = as_supervisor_error(error, "recall", self._paths.history)
            # without the remedy, which `status` shows
            self._unread = {"history.json": getattr(refused, "why", refused.sentence)}
            return []
        known, at, messages = self._present
        if history is not known or version != at:
            entries = assign_ids(history, self._journal.known, now, self._settings.future_limit)
            messages = [entry for entry in entries if isinstance(entry, Message)]
            self._present = history, version, messages
        return messages


def _is_unfiled(message: Message, journal: SeenJournal) -> bool:
    """Return whether no file holds the message; its flag decides, unless the journal has its words."""
    if message.key in journal.unwritten:
        return True
    return message.archived is Archived.NO and journal.file_of(message.key) is None


def path_by_id(identity: str) -> str:
    """Return the path of a message by its id; characters other than letters, digits and harmless marks are encoded."""
    return BY_ID + quote(identity, safe="-_.:@+", errors="surrogatepass")


def is_asked_by(question: str, now: datetime) -> Callable[[Message], bool]:
    """Return the test whether a message is the *question*, asked at *now*, or a line of it; what was told before is not."""
    question_lines = f"\n{question.strip()}\n"
    lines = frozenset(question_lines.split("\n"))  # most messages have none of them, and a question may be a pasted file

    def is_asked(message: Message) -> bool:
        text = message.text.strip()
        is_same = bool(text) and text.partition("\n")[0] in lines and f"\n{text}\n" in question_lines
        return is_same and is_asked_again(text, message.created_at or now, now)

    return is_asked
