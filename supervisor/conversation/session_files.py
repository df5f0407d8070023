"""
What the files say of a session: its messages, wherever they are by now, and how far it is summed up.

Source: docs/reference/protocol.md, 11.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from recalld.supervisor.archive.identity import assign_ids
from recalld.supervisor.conversation.sessions import Progress, progress_from_wire, progress_to_wire, session_digest
from recalld.supervisor.protocol.dated_file import block_of
from recalld.supervisor.protocol.message import Message
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.clock import local_day, truncate_to_ms
from recalld.supervisor.storage.errors import BadFile, from_os_error
from recalld.supervisor.storage.lenient_json import parse_json, render_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date, datetime
    from pathlib import Path

    from recalld.supervisor.archive.coverage import MemoryFile
    from recalld.supervisor.archive.history import HistoryStore
    from recalld.supervisor.archive.journal import SeenJournal
    from recalld.supervisor.archive.memory_folder import MemoryFolder
    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.protocol.dated_file import Block
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.recall.unfiled import Unfiled
    from recalld.supervisor.storage.files import Files

#: Files that stay parsed from one call to the next: those of the newest days, to which a running conversation returns.
_MOST_PARSED: Final = 16


class SessionTalk:
    """The messages of a session, wherever they are by now: in history.json, in dated files, in the journal or the drop-box."""

    def __init__(
        self, history: HistoryStore, journal: SeenJournal, memory: MemoryFolder, unfiled: Unfiled, config: Config
    ) -> None:
        self._history, self._journal, self._memory, self._unfiled = history, journal, memory, unfiled
        self._settings = config.archive
        self._parsed: dict[tuple[str, str], tuple[Block, ...]] = {}

    def messages(self, session: str, now: datetime, since: datetime | None = None, newest: int | None = None) -> list[Block]:
        """
        Return them oldest first, each once with its newest words; "" has the messages that name no session.

        Of the dated files only those are read that hold the session: with *since* those of the days from then on, with *newest*
        those of the last days that have so many messages. BadFile if history.json can't be read.
        """
        recent = [block for block in self._undated(now) if block.session == session]
        dated: list[Block] = []
        parsed: dict[tuple[str, str], tuple[Block, ...]] = {}
        for day, files in self._days(session, since):
            if newest is not None and self._count_after(day, [*dated, *recent]) >= newest:
                break
            found = {(file.name, file.digest): self._blocks(file) for file in files}
            dated = [*(block for blocks in found.values() for block in blocks if block.session == session), *dated]
            parsed |= found
        self._parsed = dict(list(parsed.items())[:_MOST_PARSED])
        self._memory.keep_table()
        return sorted(_each_once([*dated, *recent]).values(), key=lambda block: block.created_at)

    def _undated(self, now: datetime) -> Iterator[Block]:
        """Yield the messages of the journal and the drop-box, then those of history.json, which have the newest words."""
        entries = self._history.read()
        self._journal.refresh()
        present = assign_ids(entries, self._journal.known, now, self._settings.future_limit)
        for one in (*self._unfiled.messages(now), *present):
            if isinstance(one, Message) and one.created_at:
                yield block_of(one)

    def _days(self, session: str, since: datetime | None) -> list[tuple[date, list[MemoryFile]]]:
        """Return the dated files that hold the session, by day, the newest day first."""
        first = local_day(since, self._settings.zone) if since else None
        files = [file for file in self._memory.dated() if session in file.sessions and (first is None or file.day >= first)]
        return [(day, list(of_day)) for day, of_day in groupby(files, key=lambda file: file.day)][::-1]

    def _blocks(self, file: MemoryFile) -> tuple[Block, ...]:
        """Return the messages of the file, which is parsed again only in another version."""
        return self._parsed.get((file.name, file.digest)) or self._memory.blocks(file.name)

    def _count_after(self, day: date, blocks: Iterable[Block]) -> int:
        zone = self._settings.zone
        return len(_each_once(block for block in blocks if local_day(block.created_at, zone) > day))


def _each_once(blocks: Iterable[Block]) -> dict[tuple[str, datetime], Block]:
    """Return the last text of each message, with its time to the millisecond, which is what a dated file has."""
    found = {}
    for block in blocks:
        at = truncate_to_ms(block.created_at)
        found[block.revision_of or block.id, at] = replace(block, created_at=at)
    return found


class SessionFiles:
    """The file of each session, which says how far it is summed up; changed by who holds the session's lock."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files, self._paths = files, paths

    @contextmanager
    def locked(self, session: str, wait_s: float | None = None) -> Iterator[None]:
        """Hold the session's lock, which is waited for at most *wait_s* seconds, else as long as any lock; Busy after that."""
        path = self._paths.session_lock(session_digest(session))
        try:
            self._files.make_folder(path.parent, lasting=True)
            how = {} if wait_s is None else {"wait_s": wait_s}
            with self._files.lock_for_life(path, **how):
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
            return progress_from_wire(parse_json(version.data))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            why = Text("file.no_progress", kind=type(error).__name__)
            raise BadFile(path, why, Text("file.delete_session")) from None

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
