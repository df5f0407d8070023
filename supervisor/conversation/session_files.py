"""
What the files hold of a session: its messages, wherever they are by now, and how far it is summed up.

Source: docs/reference/protocol.md, 11.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Final

from ..archive.coverage import MemoryFile
from ..archive.deletions import ShownHistory
from ..archive.identity import assign_ids
from ..archive.journal import SeenJournal
from ..archive.memory_folder import MemoryFolder
from ..protocol.config import Config
from ..protocol.dated_file import Block, block_of
from ..protocol.message import Message
from ..protocol.paths import WorkspacePaths
from ..protocol.task_material import SaidBack
from ..recall.unfiled import Unfiled
from ..storage.clock import local_day, truncate_to_ms
from ..storage.errors import BadFile, from_os_error
from ..storage.files import LOCK_WAIT_S, Files
from ..storage.lenient_json import parse_json, render_json
from ..storage.texts import Text
from .sessions import (
    Marker,
    Progress,
    RunningSummary,
    SessionPart,
    id_of,
    number_of,
    progress_from_wire,
    progress_to_wire,
    session_digest,
)

#: Seconds to wait for a session that another process sums up; then the turn goes on. A worker that checks whether somebody
#: waits for a task shares the lock for a moment.
TURN_WAIT_S: Final = 0.1


class SessionTalk:
    """The messages of a session, wherever they are by now: in history.json, in dated files, in the journal or the drop-box."""

    def __init__(
        self, history: ShownHistory, journal: SeenJournal, memory: MemoryFolder, unfiled: Unfiled, config: Config
    ) -> None:
        self._history, self._journal, self._memory, self._unfiled = history, journal, memory, unfiled
        self._settings = config.archive

    def messages(self, session: str, now: datetime, newest: int | None = None) -> tuple[Block, ...]:
        """Return the messages of the session, oldest first, each once in its newest words; "" means those that name none."""
        return self.read(session, now, newest=newest).blocks

    def read(self, session: str, now: datetime, marker: Marker | None = None, newest: int | None = None) -> SessionPart:
        """
        Return the session's messages, without those of dated files that the *marker* has whole.

        Of the dated files only those are read that hold the session, and with *newest* only the last days that have so many
        messages. BadFile if history.json can't be read.
        """
        undated = list(self._undated(now))
        if marker:
            marker = replace(marker, files=marker.files.intersection(file.digest for file in self._memory.dated()))
        recent = [block for block in undated if block.session == session]
        dated: list[Block] = []
        parsed: dict[str, tuple[Block, ...]] = {}
        days = self._days(session, marker.files if marker else frozenset())
        passed = len(days)
        for number, (day, files) in enumerate(days):
            if newest is not None and self._count_after(day, [*dated, *recent]) >= newest:
                passed = number
                break
            blocks_of = {file.digest: self._memory.blocks(file.name) for file in files}
            dated = [*(block for blocks in blocks_of.values() for block in blocks if block.session == session), *dated]
            parsed |= blocks_of
        filed = {block.key for block in dated}  # a person may have put the time right in the file: that is when it was said
        recent = [block for block in recent if block.key not in filed]
        blocks = tuple(sorted(_each_once([*dated, *recent]).values(), key=lambda block: block.created_at))
        return SessionPart(
            blocks,
            marker,
            {
                digest: frozenset(number_of(id_of(block), block.created_at) for block in entries if block.session == session)
                for digest, entries in parsed.items()
            },
            frozenset(file.digest for _, files in days[passed:] for file in files),
        )

    def _undated(self, now: datetime) -> Iterator[Block]:
        """Yield the messages of the journal and the drop-box, then those of history.json, which have the newest words."""
        entries = self._history.read()
        self._journal.refresh()
        present = assign_ids(entries, self._journal.known, now, self._settings.future_limit)
        for message in (*self._unfiled.messages(now), *present):
            if isinstance(message, Message) and message.created_at:
                yield block_of(message)

    def _days(self, session: str, covered: frozenset[str]) -> list[tuple[date, list[MemoryFile]]]:
        """Return the dated files that hold the session and are not *covered*, by day, the newest day first."""
        files = [file for file in self._memory.dated() if session in file.sessions and file.digest not in covered]
        return [(day, list(of_day)) for day, of_day in groupby(files, key=lambda file: file.day)][::-1]

    def _count_after(self, day: date, blocks: Iterable[Block]) -> int:
        zone = self._settings.zone
        return len(_each_once(block for block in blocks if local_day(block.created_at, zone) > day))


def _each_once(blocks: Iterable[Block]) -> dict[tuple[str, datetime], Block]:
    """Return the last text of each message, with its time to the millisecond, which is what a dated file has."""
    unique = {}
    for block in blocks:
        at = truncate_to_ms(block.created_at)
        unique[block.revision_of or block.id, at] = replace(block, created_at=at)
    return unique


class SessionFiles:
    """The file of each session: how far it is summed up, if it is a group's, what failed; changed under the session's lock."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files, self._paths = files, paths

    @cached_property
    def said_back(self) -> SaidBack:
        """The receipts, by which answers that are no news are known."""
        from ..protocol.task_material import SaidBack  # here: it loads the tokeniser, which a turn may not need

        return SaidBack(self._files, self._paths)

    @contextmanager
    def locked(self, session: str, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
        """Hold the session's lock; Busy after *wait_s* seconds."""
        path = self._paths.session_lock(session_digest(session))
        try:
            self._files.make_folder(path.parent, lasting=True)
            with self._files.disk.lock_for_life(path, wait_s):
                yield
        except OSError as error:
            raise from_os_error(error, error.filename or path) from error

    def read(self, session: str) -> Progress:
        """Return how far the session is summed up; BadFile if its file can't be read."""
        path = self._place(session)
        version = self._files.read_stable(path)
        if version is None:
            return Progress()
        try:
            progress = progress_from_wire(parse_json(version.data))
            is_old = self._files.shown(path, version.data) is None  # a forgotten summary, put back
            return replace(progress, running=RunningSummary(), intent=None) if is_old else progress
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            why = Text("it does not say how far the session is summed up ({kind})", kind=type(error).__name__)
            raise BadFile(path, why, Text("delete it, and all of the session is summed up again")) from None

    def keep(self, session: str, progress: Progress) -> None:
        """Write how far the session is summed up, durably and in one write."""
        path = self._place(session)
        data = render_json(progress_to_wire(session, progress)) + b"\n"
        self._files.replace(path, data, self._files.read_stable(path))

    def ensure_durable(self, session: str) -> None:
        """Make what was read durable: another process may have been killed before it had."""
        self._files.ensure_durable(self._place(session))

    def _place(self, session: str) -> Path:
        return self._paths.session(session_digest(session))
