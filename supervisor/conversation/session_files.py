"""
What the files say of a session: its messages, wherever they are by now, and how far it is summed up.

Source: docs/reference/protocol.md, 11.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from recalld.supervisor.archive.identity import assign_ids
from recalld.supervisor.conversation.sessions import Progress, progress_from_wire, progress_to_wire, session_digest
from recalld.supervisor.protocol.dated_file import block_of
from recalld.supervisor.protocol.message import Message
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.clock import local_day, truncate_to_ms
from recalld.supervisor.storage.errors import BadFile, from_os_error
from recalld.supervisor.storage.lenient_json import parse_json, render_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from recalld.supervisor.archive.history import HistoryStore
    from recalld.supervisor.archive.journal import SeenJournal
    from recalld.supervisor.archive.memory_folder import MemoryFolder
    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.protocol.dated_file import Block
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.recall.unfiled import Unfiled
    from recalld.supervisor.storage.files import Files


class SessionTalk:
    """The messages of a session, wherever they are by now: in history.json, in dated files, in the journal or the drop-box."""

    def __init__(
        self, history: HistoryStore, journal: SeenJournal, memory: MemoryFolder, unfiled: Unfiled, config: Config
    ) -> None:
        self._history, self._journal, self._memory, self._unfiled = history, journal, memory, unfiled
        self._settings = config.archive

    def messages(self, session: str, now: datetime, since: datetime | None = None) -> list[Block]:
        """
        Return them oldest first, each once with its newest words; "" has the messages that name no session.

        Dated files of days before *since* are not read. BadFile if history.json can't be read.
        """
        entries = self._history.read()
        self._journal.refresh()
        present = assign_ids(entries, self._journal.known, now, self._settings.future_limit)
        first_day = local_day(since, self._settings.zone) if since else None
        names = [file.name for file in self._memory.dated() if file.ours and (first_day is None or file.day >= first_day)]
        blocks = [block for name in names for block in self._memory.blocks(name)]
        blocks += [block_of(one) for one in self._unfiled.messages(now) if one.created_at]
        blocks += [block_of(one) for one in present if isinstance(one, Message) and one.created_at]
        found: dict[tuple[str, datetime], Block] = {}
        for block in blocks:
            named = block.fields.get("session")
            if session == (named if isinstance(named, str) else ""):
                # a dated file has the time to the millisecond
                at = truncate_to_ms(block.created_at)
                found[block.revision_of or block.id, at] = replace(block, created_at=at)
        return sorted(found.values(), key=lambda block: block.created_at)


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
