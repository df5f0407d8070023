"""
inbox.json as recalld answers it, and prepared contexts: turns/ has that of a waiting input before the assistant asks for it.

The file belongs to the assistant: it is read once it stands still, and rid of what is answered, unless another program has
changed it since. A program that takes `inbox.json.lock` while it writes excludes recalld (docs/reference/protocol.md, 7). The
newest open input names the turn. A context is made once for each version of the inbox. A failure costs this one context, and an
event reports it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from ..archive.deletions import ShownHistory
from ..conversation.groups import Groups
from ..conversation.sessions import RunningSummary
from ..events import Events, attempt
from ..protocol.config import Config
from ..protocol.inbox import parse_inbox, without_inputs
from ..protocol.message import History, Message
from ..protocol.paths import WorkspacePaths
from ..protocol.turn import prepared_turn_id
from ..recall.audience import Audience
from ..storage.clock import Clock
from ..storage.disk import Stat
from ..storage.errors import BadFile, Conflict
from ..storage.files import Files, FileVersion
from ..text.record import record
from .build import Recall, context
from .receipts import ReceiptStore
from .request import resolve_input

_SECOND_NS: Final = 1e9
#: How many times a changed inbox.json is read again for one write.
_TRIES: Final = 5


@record
class Inbox:
    """What was in inbox.json: its inputs, the *digest* of its bytes, and when it was *written*."""

    messages: tuple[Message, ...]
    digest: str
    written: datetime
    stat: Stat


class InboxFile:
    """The inbox of one workspace."""

    def __init__(self, files: Files, paths: WorkspacePaths, config: Config, events: Events) -> None:
        self._files, self._paths, self._config, self._events = files, paths, config, events
        self._broken: tuple[Stat, float] | None = None

    def stat(self) -> Stat | None:
        """Return the stat of the file, None where there is none."""
        return self._files.disk.stat(self._paths.inbox)

    def read(self) -> Inbox | None:
        """Return what waits; None without a file, and while it can't be read, which is reported once it stands still."""
        version = self._files.read_stable(self._paths.inbox)
        if version is None:
            return None
        try:
            messages = parse_inbox(version.data, self._config.archive.zone)
        except ValueError as error:
            self._report_broken(version, str(error))
            return None
        self._events.transition("inbox_invalid", "")
        written = datetime.fromtimestamp(version.stat.mtime_ns / _SECOND_NS, UTC)
        return Inbox(messages, version.digest, written, version.stat)

    def take_out(self, taken: Collection[tuple[str, str]]) -> None:
        """Take the inputs with these ids and words out. Conflict where other programs write the file again and again."""
        with self._files.lock(self._paths.inbox_lock):
            for is_last in (False,) * (_TRIES - 1) + (True,):
                version = self._files.read_stable(self._paths.inbox)
                left = version and without_inputs(version.data, taken, self._config.archive.zone)
                if not left:
                    break
                try:
                    self._files.replace(self._paths.inbox, left, version)
                    break
                except Conflict:
                    if is_last:
                        raise

    def _report_broken(self, inbox: FileVersion, why: str) -> None:
        """Report an unreadable inbox if it has not changed since the last poll; before that, somebody may be writing it."""
        if self._broken is None or self._broken[0] != inbox.stat:
            self._broken = (inbox.stat, time.monotonic())
        if time.monotonic() - self._broken[1] >= self._config.care.poll.total_seconds():
            self._events.transition("inbox_invalid", inbox.digest, why=str(BadFile(self._paths.inbox, why)))


@dataclass(kw_only=True, eq=False)
class PreparedContexts:
    """
    Writes the context of each new version of inbox.json, and remembers the last version that it has handled.

    *summary_of* returns the running summary of a session, None if it can't be read.
    """

    history: ShownHistory
    groups: Groups
    files: Files
    paths: WorkspacePaths
    config: Config
    events: Events
    clock: Clock
    recall: Recall
    summary_of: Callable[[str], RunningSummary | None]
    receipts: ReceiptStore
    _stat: Stat | None = None
    _digest: str = ""

    @cached_property
    def _inbox(self) -> InboxFile:
        return InboxFile(self.files, self.paths, self.config, self.events)

    def update(self) -> str | None:
        """Write the context of the waiting input if inbox.json has changed; return the turn's id, None if nothing was made."""
        if not self.is_pending:
            return None
        return attempt("context of inbox.json", self._prepare, None, self.paths, self.events)

    @property
    def is_pending(self) -> bool:
        """Whether inbox.json is not the version that was handled last: its context failed, or somebody is writing it."""
        stat = self._inbox.stat()
        return stat is not None and stat != self._stat

    def _prepare(self) -> str | None:
        inbox = self._inbox.read()
        if inbox is None:
            return None
        waiting = self.groups.mark(inbox.messages, self.clock(), are_asking=True)
        request = resolve_input(None, waiting, self.groups.mark(self._read_history(), self.clock()))
        prepared_turn = None
        if request.inputs and inbox.digest != self._digest:
            now = self.clock()
            turn = prepared_turn_id(request.inputs[-1], inbox.written, now + self.config.archive.future_limit)
            if self.receipts.inbox_of(turn) != inbox.digest:
                audience = Audience(chat=request.chat, in_groups=self.config.recall.in_groups)
                result = self.recall(request.question, now, request.before, audience)
                kept = self.summary_of(request.chat.session)
                whole = context(request, now, result, kept=kept, config=self.config, paths=self.paths, events=self.events)
                self.receipts.put(replace(whole.receipt, id=turn, inbox=inbox.digest))
                prepared_turn = turn
        self._stat, self._digest = inbox.stat, inbox.digest
        return prepared_turn

    def _read_history(self) -> History:
        """Return the history, empty if it is damaged: the supervisor's round reports that."""
        try:
            return self.history.read()
        except BadFile:
            return ()
