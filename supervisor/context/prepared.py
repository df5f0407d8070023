"""
Prepared contexts: turns/ has the context of a waiting input before the assistant asks for it (docs/reference/protocol.md, 7).

inbox.json belongs to the assistant: it is only read. Its newest open input names the turn. A context is made once for each
version of the inbox. A failure costs this one context, and an event reports it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..faults import attempt
from ..protocol.turn import prepared_turn_id
from ..recall.audience import Audience
from ..storage.errors import BadFile
from .build import context
from .inbox_file import InboxFile
from .request import resolve_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..archive.deletions import ShownHistory
    from ..conversation.groups import Groups
    from ..conversation.sessions import RunningSummary
    from ..events import Events
    from ..protocol.config import Config
    from ..protocol.message import History
    from ..protocol.paths import WorkspacePaths
    from ..storage.clock import Clock
    from ..storage.disk import Stat
    from ..storage.files import Files
    from .build import Recall
    from .receipts import ReceiptStore


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
        made = None
        if request.inputs and inbox.digest != self._digest:
            now = self.clock()
            turn = prepared_turn_id(request.inputs[-1], inbox.written, now + self.config.archive.future_limit)
            if self.receipts.inbox_of(turn) != inbox.digest:
                audience = Audience(chat=request.chat, in_groups=self.config.recall.in_groups)
                result = self.recall(request.question, now, request.before, audience)
                kept = self.summary_of(request.chat.session)
                whole = context(request, now, result, kept=kept, config=self.config, paths=self.paths, events=self.events)
                self.receipts.put(replace(whole.receipt, id=turn, inbox=inbox.digest))
                made = turn
        self._stat, self._digest = inbox.stat, inbox.digest
        return made

    def _read_history(self) -> History:
        """Return the history, empty if it is damaged: the supervisor's round reports that."""
        try:
            return self.history.read()
        except BadFile:
            return ()
