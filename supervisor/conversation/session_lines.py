"""
A session as one long-term line, and what overflows its history; after a crash at any point each line is there once.

A model answers differently each time. So its answer is written down, with where the marker will be, before the line is; whoever
comes next writes that line, if it is not there yet, and moves the marker. A lock of the session is held from reading to
moving the marker, so that two processes neither pay twice nor write two lines. Source: docs/reference/protocol.md, 11.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from supervisor.archive.identity import assign_ids
from supervisor.conversation.sessions import (
    OVERFLOW,
    Intent,
    Progress,
    is_spoken,
    marker_after,
    not_summed_up,
    overflowing,
    progress_from_wire,
    progress_to_wire,
    session_digest,
    source_of,
)
from supervisor.longterm.lines import one_line
from supervisor.protocol.clock import local_day, truncate_to_ms
from supervisor.protocol.dated_file import block_of
from supervisor.protocol.errors import BadFile, BadRequest, Busy, NoSummary, from_os_error
from supervisor.protocol.lenient_json import parse_json, render_json
from supervisor.protocol.message import Message
from supervisor.summaries.retry import delay_after, is_due, jittered
from supervisor.text.language import language_of
from supervisor.text.redact import HIDDEN, redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from supervisor.archive.history import HistoryStore
    from supervisor.archive.journal import SeenJournal
    from supervisor.archive.memory_folder import MemoryFolder
    from supervisor.conversation.sessions import Kind
    from supervisor.events import Events
    from supervisor.longterm.long_term_file import LongTermFile, Written
    from supervisor.protocol.config import Config
    from supervisor.protocol.dated_file import Block
    from supervisor.protocol.files import Files, FileVersion
    from supervisor.protocol.paths import WorkspacePaths
    from supervisor.recall.unfiled import Unfiled

#: What an overflow that is being summed up by another process is waited for, in seconds: the turn goes on.
_OVERFLOW_WAIT_S: Final = 0.0


def extract_line(extract: str) -> str:
    r"""
    Return an extract as one line, which begins by saying that it is one; "" for none.

    >>> extract_line("> 摘录：没有用模型，从 2 条消息里挑出 1 条的原话。\n\n## 部署\n\n- 18:55 用户：改到周五。")
    '摘录：没有用模型，从 2 条消息里挑出 1 条的原话；18:55 用户：改到周五'
    """
    lines = [line.removeprefix("> ").removeprefix("- ").rstrip("。") for line in extract.splitlines()]
    return "；".join(line for line in lines if line.strip() and not line.startswith("#"))


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


class SessionLines:
    """
    Writes long-term lines about sessions.

    What is given to each method as *write* gets chat-completions messages without secrets, and returns the line, "" if there
    is nothing to record; it may raise NoSummary.
    """

    def __init__(
        self, files: Files, paths: WorkspacePaths, talk: SessionTalk, long_term: LongTermFile, config: Config, events: Events
    ) -> None:
        self._files, self._paths, self._talk, self._long_term, self._events = files, paths, talk, long_term, events
        self._config = config

    def summarize(
        self, session: str, write: Callable[[Sequence[dict[str, Any]]], str], now: datetime, *, again: bool = False
    ) -> Written | None:
        """
        Write what was said in the session since it was summed up last, with *again* all of it, as one line, and return that.

        None if nothing is new, or nothing of it worth a line. BadRequest if no message names the session, Busy if another
        process sums it up now.
        """
        with self._locked(session):
            progress = self._settled(session, now)
            talk = self._talk.messages(session, now)
            if not talk:
                raise BadRequest("session", f"no message names {session!r}; give it as the messages have it")
            fresh = talk if again else not_summed_up(talk, progress.markers.get("summary"))
            if not fresh:
                return None
            text = write(self._shown(fresh))
            return self._write(session, progress, "summary", source_of(session, talk), text, fresh, now)

    def summarize_overflow(
        self, session: str, write: Callable[[Sequence[dict[str, Any]]], str], now: datetime
    ) -> Written | None:
        """
        Write what newly left the last `conversation.max_history` messages of the session as one line, and return that.

        None if too little left, if it is not worth a line, or if another process does it now. A model that fails is asked again
        after a while, and nothing is raised: the turn goes on, and what left is in the next line.
        """
        try:
            with self._locked(session, _OVERFLOW_WAIT_S):
                return self._overflow(session, write, now)
        except Busy:
            return None

    def history(self, session: str, now: datetime) -> list[dict[str, Any]]:
        """Return the user's and the assistant's among the last `conversation.max_history` messages of the session."""
        newest = self._talk.messages(session, now)[-self._config.conversation.max_history :]
        return [{"role": block.role, "content": block.words} for block in newest if is_spoken(block) and block.words.strip()]

    # ── steps ────────────────────────────────────────────────────────────────

    def _overflow(self, session: str, write: Callable[[Sequence[dict[str, Any]]], str], now: datetime) -> Written | None:
        progress = self._settled(session, now)
        if progress.failed_at and progress.next_at and not is_due(progress.failed_at, progress.next_at, now):
            return None
        rule, marker = self._config.conversation, progress.markers.get("overflow")
        talk = self._talk.messages(session, now, marker.at if marker else None)
        left = overflowing(talk, marker, rule.max_history, rule.overflow_min)
        if not left:
            return None
        try:
            text = write(self._shown([block for block in left if is_spoken(block)]))
        except NoSummary as error:
            self._note_failure(session, progress, error, now)
            return None
        return self._write(session, progress, "overflow", OVERFLOW, text, left, now)

    def _write(
        self, session: str, progress: Progress, kind: Kind, source: str, text: str, blocks: Sequence[Block], now: datetime
    ) -> Written | None:
        """Write the line of these messages and move the marker past them; the marker alone where the text is blank."""
        marker = marker_after(blocks, progress.markers.get(kind))
        if not one_line(text):
            self._keep(session, progress.past(kind, marker))
            return None
        intent = Intent(kind, source, text, marker)
        self._keep(session, progress.intending(intent))
        written = self._fulfil(session, progress, intent, now)
        self._events.emit("session_summarised", kind=kind, messages=len(blocks), line=written.line)
        return written

    def _settled(self, session: str, now: datetime) -> Progress:
        """Return the progress of the session, after the line that a process left unwritten when it was killed is written."""
        progress, _ = self._read(session)
        if progress.intent:
            self._files.ensure_durable(self._place(session))  # else the line may outlive what tells that it is written
            self._fulfil(session, progress, progress.intent, now)
            progress, _ = self._read(session)
        return progress

    def _fulfil(self, session: str, progress: Progress, intent: Intent, now: datetime) -> Written:
        written = self._long_term.append(intent.source, intent.text, now)  # once, since it knows its words again
        self._keep(session, progress.past(intent.kind, intent.marker))
        return written

    def _note_failure(self, session: str, progress: Progress, error: NoSummary, now: datetime) -> None:
        rule = self._config.archive
        attempts = progress.attempts + 1
        wait = jittered(
            delay_after(attempts, rule.backoff, rule.backlog_interval), rule.jitter, f"{session_digest(session)}-{attempts}"
        )
        self._keep(session, replace(progress, attempts=attempts, failed_at=now, next_at=now + wait))
        self._events.emit("conversation_failed", reason=error.reason, attempts=attempts)

    def _shown(self, blocks: Sequence[Block]) -> list[dict[str, Any]]:
        """Return the messages as a model may read them, with speakers' names and times, and without secrets."""
        privacy = self._config.privacy
        shown = []
        for block in blocks:
            text = block.shown
            if privacy.redact != "off":
                text = redacted(text, HIDDEN[language_of(text)], privacy.patterns)
            name = {"name": block.speaker} if block.speaker else {}
            shown.append({"role": block.role, "content": text, **name, "createdAt": block.created_at.isoformat()})
        return shown

    # ── the file ─────────────────────────────────────────────────────────────

    @contextmanager
    def _locked(self, session: str, wait_s: float | None = None) -> Iterator[None]:
        path = self._paths.session_lock(session_digest(session))
        try:
            self._files.make_folder(path.parent, lasting=True)
            how = {} if wait_s is None else {"wait_s": wait_s}
            with self._files.lock_for_life(path, **how):
                yield
        except OSError as error:
            raise from_os_error(error, error.filename or path) from error

    def _place(self, session: str) -> Path:
        return self._paths.session(session_digest(session))

    def _read(self, session: str) -> tuple[Progress, FileVersion | None]:
        path = self._place(session)
        version = self._files.read_stable(path)
        if version is None:
            return Progress(), None
        try:
            return progress_from_wire(parse_json(version.data)), version
        except (ValueError, TypeError, LookupError) as error:
            why = f"it does not say how far the session is summed up ({type(error).__name__})"
            raise BadFile(path, why, "delete it, and all of the session is summed up again") from None

    def _keep(self, session: str, progress: Progress) -> None:
        path = self._place(session)
        data = render_json(progress_to_wire(session, progress)) + b"\n"
        self._files.replace(path, data, self._files.read_stable(path))
