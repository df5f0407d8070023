"""
A session as one long-term line, and what overflows its history; after a crash at any point each line is there once.

A model answers differently each time. So its answer and the new place of the marker are written down before the line is. The
next process writes that line, if it is not there yet, and moves the marker. A lock of the session is held from reading to
moving the marker, so that two processes neither pay twice nor write two lines. Source: docs/reference/protocol.md, 11.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from ..events import Events
from ..longterm.lines import one_line
from ..longterm.long_term_file import LongTermFile, Written
from ..protocol.config import Config
from ..protocol.dated_file import Block
from ..protocol.llm import without_secrets
from ..protocol.marks import without_marks
from ..protocol.parts import said_as
from ..storage.errors import BadRequest, Busy, NoSummary
from ..storage.texts import Text
from ..summaries.llm_state import waits_of
from ..text.language import is_small_talk, language_of
from ..text.lazy_re import lazy_re
from .asking import in_one_line
from .session_files import SessionFiles, SessionTalk
from .sessions import OVERFLOW, Intent, Progress, is_spoken, overflowing, past_threshold, session_digest, source_of

#: Why a model was not asked at all; what comes back by itself costs a session no attempt.
_NOT_ASKED: Final = frozenset({"paused", "spent"})
#: Seconds to wait for a session that another process sums up; then the turn goes on. A worker that checks whether somebody
#: waits for a task shares the lock for a moment.
_OVERFLOW_WAIT_S: Final = 0.1
#: What comes before the words in a line of an extract: the time of a day, which the long-term line has no use for, or the date;
#: the speaker, and who answers behind a question.
_ANSWERED: Final = lazy_re(r" → ([^：:\n→]{1,40}[：:][ \t]*)")
_ANSWERED_AT: Final = lazy_re(r"(?<= → )\d\d[:-]\d\d ")
_LINE_HEAD: Final = lazy_re(r"- (?:\d\d:\d\d |(?P<date>\d\d-\d\d ))?(?P<who>[^：:\n]{1,40}[：:][ \t]*)?")


def extract_line(extract: str) -> str:
    r"""
    Return the words of an extract as one line, without its headings, what it says of itself, and greetings; "" for none.

    Who says several things in a row is named once.

    >>> extract_line("> 摘录（未用模型）：从 3 条消息里摘了 2 条原话。\n\n- 18:55 用户：改到周五。\n- 19:20 用户：报价 860。")
    '用户：改到周五；报价 860'
    >>> extract_line("> …\n\n- 18:55 助手：几点？ → 19:02 用户：八点。\n- 19:20 用户：报价 860。")
    '助手：几点？ → 用户：八点；报价 860'
    """
    words = [line for line in extract.splitlines() if line.strip() and not line.startswith(("#", ">"))]
    lines, speaker = list[str](), ("", "")
    for line in words:
        head = _LINE_HEAD.match(line)
        text = _ANSWERED_AT.sub("", line[head.end() :] if head else line)
        if is_small_talk(text):
            continue
        date, who = (head["date"] or "", head["who"] or "") if head else ("", "")
        lines.append(text if who and (date, who) == speaker else f"{date}{who}{text}")
        answered = _ANSWERED.findall(text)
        speaker = (date, answered[-1] if answered else who)
    return in_one_line("\n".join(lines))


def substantial(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    Return the messages without those in which a person only greets or thanks.

    None where there is no other of a person's: what an assistant says in such a talk is no fact.
    """
    kept = [message for message in messages if message["role"] != "user" or not is_small_talk(str(message["content"]))]
    return kept if len(kept) == len(messages) or any(message["role"] == "user" for message in kept) else []


class SessionLines:
    """
    Writes long-term lines about sessions.

    What is given to each method as *write* gets chat-completions messages without secrets, and returns the line, "" if there
    is nothing to record; it may raise NoSummary.
    """

    def __init__(self, files: SessionFiles, talk: SessionTalk, long_term: LongTermFile, config: Config, events: Events) -> None:
        self._files, self._talk, self._long_term, self._config, self._events = files, talk, long_term, config, events

    def summarize(
        self, session: str, write: Callable[[Sequence[dict[str, Any]]], str], now: datetime, *, again: bool = False
    ) -> Written | None:
        """
        Write what is new in the session since it was summed up last, with *again* all of it, as one line, and return that.

        None if nothing is new, or nothing of it worth a line. BadRequest if no message names the session, Busy if another
        process sums it up now.
        """
        if not self._talk.messages(session, now, newest=1):  # asked first: a session that is not there gets no lock file
            raise BadRequest("session", Text("no message names {session!r}; give it as the messages have it", session=session))
        with self._files.locked(session):
            progress = self._settled(session, now)
            part = self._talk.read(session, now, None if again else progress.markers.get("summary"))
            fresh = part.fresh(part.blocks)
            if not fresh:
                return None
            text = write(self._shown(fresh))
            return self._write(
                session, progress, Intent("summary", source_of(session, fresh), text, part.past(fresh)), len(fresh), now
            )

    def summarize_overflow(
        self,
        session: str,
        write: Callable[[Sequence[dict[str, Any]]], str],
        now: datetime,
        *,
        since: datetime | None = None,
        in_turn: bool = False,
    ) -> Written | None:
        """
        Write what newly left the last `conversation.max_history` messages of the session as one line, and return that.

        With *since*, the time of the oldest message that a turn shows, all before it has left. *in_turn* a session that has
        grown past `summarize.message_threshold` or `summarize.char_threshold` is summed up but for its newest. None if too
        little left, if it is not worth a line, or if another process does it now. A model that fails is asked again after a
        while, and nothing is raised: the turn goes on, and what left is in the next line.
        """
        try:
            with self._files.locked(session, _OVERFLOW_WAIT_S):
                return self._overflow(session, write, now, since, in_turn=in_turn)
        except Busy:
            return None

    def history(self, session: str, now: datetime) -> list[dict[str, Any]]:
        """Return what people and the assistant said in the last `conversation.max_history` messages of the session."""
        most = self._config.conversation.max_history
        newest = self._talk.messages(session, now, newest=most)[-most:]
        messages = (said_as(block.role, block.words) for block in newest if is_spoken(block) and block.words.strip())
        return [{"role": role, "content": words} for role, words in messages]

    # ── steps ────────────────────────────────────────────────────────────────

    def _overflow(
        self,
        session: str,
        write: Callable[[Sequence[dict[str, Any]]], str],
        now: datetime,
        since: datetime | None,
        *,
        in_turn: bool,
    ) -> Written | None:
        progress = self._settled(session, now)
        if not progress.failure.is_over(now):
            return None
        rule, line = self._config.conversation, self._config.summarize
        part = self._talk.read(session, now, progress.markers.get("overflow"))
        left = overflowing(part, rule.max_history, rule.overflow_min, since)
        grown = past_threshold(part, line.message_threshold, line.char_threshold, line.keep_recent) if in_turn else []
        source = OVERFLOW
        if len(grown) > len(left):
            left, source = grown, source_of(session, grown) or OVERFLOW
        if not left:
            return None
        try:
            text = write(self._shown([block for block in left if is_spoken(block)]))
        except NoSummary as error:
            if error.reason not in _NOT_ASKED:
                self._note_failure(session, progress, error, now)
            return None
        return self._write(session, progress, Intent("overflow", source, text, part.past(left)), len(left), now)

    def _write(self, session: str, progress: Progress, intent: Intent, messages: int, now: datetime) -> Written | None:
        """Write the line of so many *messages* and move the marker past them; the marker alone where the text is blank."""
        if not one_line(without_marks(intent.text)):
            self._files.keep(session, progress.past(intent.kind, intent.marker))
            return None
        self._files.keep(session, replace(progress, intent=intent))
        written = self._fulfil(session, progress, intent, now)
        self._events.emit("session_summarised", kind=intent.kind, messages=messages, line=written.line)
        return written

    def _settled(self, session: str, now: datetime) -> Progress:
        """Return the progress of the session, after the line that a process left unwritten when it was killed is written."""
        progress = self._files.read(session)
        if progress.intent:
            self._files.ensure_durable(session)  # else a crash may keep the line, and lose the record that it is written
            self._fulfil(session, progress, progress.intent, now)
            progress = self._files.read(session)
        return progress

    def _fulfil(self, session: str, progress: Progress, intent: Intent, now: datetime) -> Written:
        # once, since it recognises its words; without a mark, which only a person sets, whatever the conversation has
        written = self._long_term.append(intent.source, without_marks(intent.text), now)
        self._files.keep(session, progress.past(intent.kind, intent.marker))
        return written

    def _note_failure(self, session: str, progress: Progress, error: NoSummary, now: datetime) -> None:
        failure = progress.failure.again(now, waits_of(self._config), session_digest(session))
        self._files.keep(session, replace(progress, failure=failure))
        self._events.emit("conversation_failed", reason=error.reason, attempts=failure.attempts)

    def _shown(self, blocks: Sequence[Block]) -> list[dict[str, Any]]:
        """Return the messages that are news as a model may read them, with names and times, and without secrets."""
        privacy = self._config.privacy
        shown = []
        for block in self._files.said_back.without(blocks):
            text = without_secrets(block.shown, language_of(block.shown), privacy)
            name = {"name": block.speaker} if block.speaker else {}
            shown.append({"role": block.role, "content": text, **name, "createdAt": block.created_at.isoformat()})
        return shown
