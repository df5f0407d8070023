"""
The folder turns/: receipts, and contexts prepared for what waits in inbox.json (docs/reference/protocol.md, 7).

The newest 200 or 20 MB of them are kept; only files whose name is a turn's are ever deleted. A context is made once for each
version of the inbox, before the assistant asks for it; the newest open input names the turn. A failure costs this one context,
and an event reports it.

The inbox belongs to the assistant: it is read once it stands still, and rid of what is answered, unless another program has
changed it since. A program that takes `inbox.json.lock` while it writes excludes recalld.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ..archive.deletions import ShownHistory
from ..conversation.groups import Groups
from ..events import Events
from ..protocol.config import Config
from ..protocol.inbox import parse_inbox, without_inputs
from ..protocol.message import History, Message
from ..protocol.paths import WorkspacePaths
from ..protocol.turn import Receipt, newest_turn_id, parse_receipt, prepared_turn_id, render_receipt, turn_ids
from ..recall.audience import Audience
from ..storage.clock import Clock
from ..storage.disk import Stat
from ..storage.errors import BadFile, Conflict, NewerFormat, NotFound
from ..storage.files import Files, FileVersion
from ..storage.texts import msgid
from ..text.tokenizer import tokens
from .request import resolve_input

if TYPE_CHECKING:
    from ..conversation.sessions import RunningSummary
    from ..text.redact import Mark
    from .build import Injection, Recall

KEPT: Final = 200  # files
KEPT_BYTES: Final = 20_000_000
#: How many times a changed inbox.json is read again for one write.
_TRIES: Final = 5
_SECOND_NS: Final = 1e9


class NoTurn(NotFound):
    """No turn that is kept has the id that *path* is, or one that begins so."""

    code = "error.not_found"
    english = msgid("no turn that is kept has the id {path}; without an id, `recalld why` shows the newest.")


class NothingAsked(NotFound):
    """No turn was given memory yet, or none of those is kept: there is nothing to explain."""

    code = "error.nothing_asked"
    english = msgid("no question to memory is kept, so there is none to explain; `recalld inject --query` asks one.")


class ReceiptStore:
    """The receipts of a workspace, at most *kept* files and *kept_bytes* bytes; *mark* is applied to all words in them."""

    def __init__(
        self, files: Files, paths: WorkspacePaths, kept: int = KEPT, kept_bytes: int = KEPT_BYTES, mark: Mark | None = None
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
            raise NoTurn(turn) if turn and self.turns() else NothingAsked("turns/")
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

        question = mark(receipt.question)
        gone = {*tokens(receipt.question)} - {*tokens(question)}
        return replace(
            receipt,
            question=question,
            terms=tuple(term for term in receipt.terms if term not in gone),
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


def save_receipt(injection: Injection, *, receipts: ReceiptStore, events: Events) -> bool:
    """Write the receipt; return False if it can't be written. A turn goes on without one."""

    def write() -> bool:
        receipts.write(injection.receipt)
        return True

    return events.attempt("receipt", write, False)


# ── inbox.json, and the contexts made for it ─────────────────────────────────


@dataclass(frozen=True, slots=True)
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
    inbox: InboxFile
    config: Config
    events: Events
    clock: Clock
    recall: Recall
    summary_of: Callable[[str], RunningSummary | None]
    receipts: ReceiptStore
    _stat: Stat | None = None
    _digest: str = ""

    def update(self) -> str | None:
        """Write the context of the waiting input if inbox.json has changed; return the turn's id, None if nothing was made."""
        if not self.is_pending:
            return None
        return self.events.attempt("context of inbox.json", self._prepare, None)

    @property
    def is_pending(self) -> bool:
        """Whether inbox.json is not the version that was handled last: its context failed, or somebody is writing it."""
        stat = self.inbox.stat()
        return stat is not None and stat != self._stat

    def _prepare(self) -> str | None:
        from .build import context  # here: who only reads a receipt builds no turn

        inbox = self.inbox.read()
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
                whole = context(request, now, result, kept=kept, config=self.config, events=self.events)
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
