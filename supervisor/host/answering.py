"""
The file turn: what waits in inbox.json is answered by a worker, and stands in history.json behind its question.

A step looks at the files and does what is next for each conversation: its task is made, its result is written, its inputs are
taken out of the inbox. This order, and ids that come from the inputs, leave nothing to repair after a crash: the next step
finds the task, the result or the answer (docs/decisions/0104). Source: docs/reference/protocol.md, 7.8.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from ..context.build import Injection, context
from ..context.prepared import Inbox, InboxFile
from ..context.request import resolve_waiting
from ..context.secrets import turn_language
from ..protocol.inbox import Chat
from ..protocol.message import Message
from ..protocol.task import AskedTask, Result
from ..protocol.turn import mark_of, prepared_turn_id
from ..recall.audience import Audience
from ..replies.failures import FailedInputs
from ..replies.talk import from_memory, system_prompt, with_mark
from ..replies.waiting import Conversation, Input, answer_message, answered, asked_anew, conversations, is_standing, read_inputs
from ..storage.clock import Clock, from_wire, local_day, to_wire
from ..storage.control import UNLIMITED, Control
from ..storage.disk import Stat
from ..storage.errors import BadFile
from ..storage.texts import Text
from ..summaries.llm_state import configured_state, note_result
from ..text.language import Language
from .conversations import kept_summary
from .jobs import NEVER_S

if TYPE_CHECKING:
    from ..workspace import Workspace
    from .further_looks import FurtherLooks
    from .workers import AskedWorker

#: Seconds between two looks while an answer is in the making: an event of a result comes sooner.
_POLL_S: Final = 0.05
#: Seconds between two looks while an input waits for the model, or for tomorrow.
_WAIT_S: Final = 5.0
#: Seconds until a worker that could not work is started again.
_REST_S: Final = 30.0
#: How long after a fault of the model an answer may try it again.
_PROBE_AFTER: Final = timedelta(seconds=60)


class FileTurns:
    """
    Answers what waits in the inbox of *ws*.

    *append* adds messages in one write. *looks* does what an answer asked for besides; without *worker* none is started here.
    """

    def __init__(
        self,
        ws: Workspace,
        clock: Clock,
        append: Callable[[Sequence[dict[str, Any]]], object],
        looks: FurtherLooks,
        worker: AskedWorker | None = None,
    ) -> None:
        self._ws, self._clock, self._append, self._looks, self._worker = ws, clock, append, looks, worker
        self._inbox = InboxFile(ws.files, ws.paths, ws.config, ws.events)
        self._failed = FailedInputs(ws.files, ws.task_queue)
        self._seen: tuple[Stat | None, Stat | None, dict[str, str]] | None = None
        #: When inputs without an id and a time were first seen, by their words.
        self._first_seen: dict[str, datetime] = {}
        self._waits = False
        self._probed_at: datetime | None = None
        self._rests_until_s = 0.0

    def step(self, until_end: Control = UNLIMITED) -> float:
        """Do what is next, and return the seconds until there may be more to do."""
        seen = self._look()
        if seen != self._seen or self._waits:
            self._waits = self._ws.attempt("answers", lambda: self._answer_all(until_end), True)
            self._seen = seen
        if self._look() != seen:
            return 0.0
        places = self._ws.task_queue.replies().values()
        if any(place in {"queue", "running"} for place in places):
            return _POLL_S if self._keep_a_worker(is_claimed="running" in places) else _WAIT_S
        return _WAIT_S if self._waits else NEVER_S

    def _look(self) -> tuple[Stat | None, Stat | None, dict[str, str]]:
        """Return what changes where there is something to do; costs a few stats and lists."""
        ws = self._ws
        return self._inbox.stat(), ws.files.disk.stat(ws.paths.history), ws.task_queue.replies()

    def end(self) -> None:
        """End the worker that was started for answers; what it did goes back into the queue."""
        if self._worker:
            self._worker.stop()

    def _keep_a_worker(self, *, is_claimed: bool) -> bool:
        """Start a worker where none does the tasks; False for a while after one could not work, which an event says."""
        worker = self._worker
        if worker is None:
            return True
        if time.monotonic() < self._rests_until_s:
            return False

        def ensure() -> bool:
            worker.ensure(is_claimed=is_claimed)
            return True

        works = self._ws.attempt("worker for answers", ensure, False)
        self._rests_until_s = 0.0 if works else time.monotonic() + _REST_S
        return works

    # ── all that waits ───────────────────────────────────────────────────────

    def _answer_all(self, until_end: Control) -> bool:
        """Do what is next for each conversation; return whether one waits for something that no file will tell."""
        self._waits = False
        inbox = self._inbox.read()
        try:
            history = self._ws.history.read()
        except BadFile:  # a round reports it; without the history nothing says what has an answer
            return True
        if inbox is None and self._inbox.stat() is not None:
            return True  # somebody may be writing it
        self._ws.journal.refresh()
        marked = self._ws.groups.mark(history, self._clock())
        messages = [entry for entry in marked if isinstance(entry, Message)]
        inputs = [asked_anew(entry, messages, self._is_known, self._ws.journal.holds) for entry in self._inputs(inbox)]
        waiting = self._without_answered(inputs, messages)
        asked_for: set[str] = set()
        for conversation in conversations(waiting):
            if until_end.should_stop():
                return True
            asked_for.add(self._serve(conversation, inbox, messages))
        self._clear(asked_for, waiting, messages)
        return self._waits

    def _inputs(self, inbox: Inbox | None) -> list[Input]:
        if inbox is None:
            self._first_seen.clear()
            return []
        texts = {message.text for message in inbox.messages}
        self._first_seen = {text: at for text, at in self._first_seen.items() if text in texts}
        now = self._clock()
        written = min(inbox.written, now)
        latest = now + self._ws.config.archive.future_limit
        waiting = self._ws.groups.mark(inbox.messages, now, are_asking=True)
        return read_inputs(waiting, lambda entry: self._first_seen.setdefault(entry.text, written), latest)

    def _without_answered(self, inputs: list[Input], messages: Sequence[Message]) -> list[Input]:
        """Take the inputs that have an answer out of the inbox, and return the others."""
        done = [entry for each in conversations(inputs) for entry in answered(each.inputs, messages, self._is_known)]
        self._take_out(done)
        return [entry for entry in inputs if entry not in done]

    def _is_known(self, identity: str) -> bool:
        journal = self._ws.journal
        return journal.has_written(identity) or any(key[0] == identity for key in list(journal.unwritten))

    def _take_out(self, inputs: Sequence[Input]) -> None:
        if inputs:
            self._inbox.take_out({entry for given in inputs for entry in given.entries})

    # ── one conversation ─────────────────────────────────────────────────────

    def _serve(self, conversation: Conversation, inbox: Inbox | None, messages: Sequence[Message]) -> str:
        """Do what is next for the conversation, and return the id of its task, "" without one."""
        running = self._ws.task_queue.replies()
        for part in conversation.begins():
            failure = self._failed.read(part)
            if failure.gave_up:
                self._take_out(part.inputs)
                return ""
            identity = part.task_id(failure.attempts)
            if running.get(identity) == "results":
                return self._take_in(part, identity, messages)
            if identity in running:
                return identity
        return self._begin(conversation, inbox, messages)

    def _begin(self, conversation: Conversation, inbox: Inbox | None, messages: Sequence[Message]) -> str:
        """Make the task of the answer, or answer from memory where no model is set."""
        ws, now = self._ws, self._clock()
        if not ws.extracting and not self._may_ask(now):
            self._waits = True
            return ""
        made = self._context(conversation, inbox, now)
        if ws.extracting:
            self._write(conversation, from_memory(made, self._language(conversation)), now, messages)
            return ""
        attempt, mark = self._failed.read(conversation).attempts, mark_of(os.urandom(5))
        task = AskedTask(
            id=conversation.task_id(attempt),
            kind="reply",
            group=conversation.group,
            turns=with_mark(made.messages, mark, self._language(conversation)),
            mark=mark,
            created_at=to_wire(now),
            attempt=attempt,
        )
        ws.task_queue.submit(task)
        return task.id

    def _may_ask(self, now: datetime) -> bool:
        """Return whether a call for an answer may be made now; a pause of the model lets one through from time to time."""
        ws = self._ws
        calls, most = ws.calls.today(now, "replies"), ws.config.turns.max_calls_per_day
        is_spent = calls >= most
        day = is_spent and local_day(now, ws.zone).isoformat()
        ws.events.transition("replies_spent", day, calls=calls)
        if is_spent:
            return False
        state = configured_state(ws.task_queue, ws.endpoint)
        if not state.is_failing or state.failed_at is None or state.failed_at > now:
            return True
        if ws.task_queue.replies() or now - max(state.failed_at, self._probed_at or state.failed_at) < _PROBE_AFTER:
            return False
        self._probed_at = now
        return True

    def _context(self, conversation: Conversation, inbox: Inbox | None, now: datetime) -> Injection:
        """Return the turn of the conversation; its context is kept as that of an assistant is (7.1)."""
        ws = self._ws
        made = _reply_turn(ws, conversation.messages, conversation.last.chat, now)
        if inbox:
            turn = prepared_turn_id(conversation.last.message, inbox.written, now + ws.config.archive.future_limit)
            receipt = replace(made.receipt, id=turn, inbox=inbox.digest)
            ws.attempt("receipt", lambda: ws.receipts.put(receipt), None)
        return made

    def _language(self, conversation: Conversation) -> Language:
        return _reply_language(self._ws, conversation.messages, conversation.last.chat)

    # ── results ──────────────────────────────────────────────────────────────

    def _take_in(self, conversation: Conversation, identity: str, messages: Sequence[Message]) -> str:
        """Write the answer, or note that there is none; return the id of its task if that is still there."""
        ws, now = self._ws, self._clock()
        result = self._read(identity)
        if result is None:
            return ""
        if result.status == "done":
            _note_reply(ws, result, now)
            self._write(conversation, self._said(conversation, result), _ended(result, now), messages)
        elif result.reason == "provider":  # it costs the input nothing: the item waits for the model
            _note_reply(ws, result, now)
            self._waits = True
        elif result.reason == "spent":
            self._waits = True
        else:
            _note_reply(ws, result, now)
            self._fail(conversation, result)
        ws.task_queue.withdraw(identity)
        return ""

    def _read(self, identity: str) -> Result | None:
        """Return the result; one that can't be read is deleted, and asked for again."""
        try:
            return self._ws.task_queue.reply(identity)
        except ValueError:
            self._ws.task_queue.withdraw(identity)
            self._waits = True
            return None

    def _said(self, conversation: Conversation, result: Result) -> str:
        """Return the words of the answer, after what its request needs before the answer stands in history.json."""
        language = self._language(conversation)
        look = self._looks.begin(conversation, result, language) if result.request else Text("Let me look that up.")
        return result.text or look.in_language(language)

    def _write(self, conversation: Conversation, text: str, at: datetime, messages: Sequence[Message]) -> None:
        """Write questions and answer in one, then take the inputs out of the inbox."""
        ids = {message.id for message in messages if message.role == "user"}
        questions = [
            entry.question for entry in conversation.inputs if entry.id not in ids and not is_standing(entry, messages)
        ]
        self._append([*questions, answer_message(conversation, text, at)])
        self._failed.clear(conversation)
        self._take_out(conversation.inputs)
        waited = max(0, round((self._clock() - conversation.last.at).total_seconds() * 1000))
        self._ws.events.emit("replied", inputs=len(conversation.inputs), ms=waited)

    def _fail(self, conversation: Conversation, result: Result) -> None:
        """Note the failure; after `turns.tries` of them the inputs are set aside, and never answered."""
        why = result.reason or "refused"
        failure = self._failed.add(conversation, why, self._clock(), self._ws.config.turns.tries)
        if failure.gave_up:
            self._ws.events.emit("reply_failed", group=conversation.group, reason=why, attempts=failure.attempts)
            self._take_out(conversation.inputs)

    # ── what nobody asks for any more ────────────────────────────────────────

    def _clear(self, asked_for: set[str], waiting: Sequence[Input], messages: Sequence[Message]) -> None:
        """Finish looks further; delete tasks whose question is gone, unless it stands in history.json without an answer."""
        queue, wanted = self._ws.task_queue, {entry.digest for entry in waiting}
        for identity, place in queue.replies().items():
            if identity in asked_for:
                continue
            kind, digest, *_ = identity.split("-")
            if kind == "lookup":
                if place == "results":
                    self._looks.go_on(identity, digest, messages, self._is_known)
                continue
            question = None if digest in wanted else self._standing(digest, messages)
            if question is None:
                queue.withdraw(identity)
            elif place == "results":
                self._take_in(question, identity, messages)

    def _standing(self, digest: str, messages: Sequence[Message]) -> Conversation | None:
        """Return the question of this digest that another program has put into history.json, if it has no answer."""
        for message in messages:
            if message.role == "user" and message.id and message.created_at:
                entry = Input(message, message.id, message.created_at)
                if entry.digest == digest and is_standing(entry, messages):
                    return Conversation((entry,))
        return None


def _reply_turn(ws: Workspace, inputs: Sequence[Message], chat: Chat, now: datetime) -> Injection:
    """
    Return the turn of these inputs for the configured model, with the system message of an answer.

    Where none is set nothing reads the history, so that memory leaves nothing out for standing there.
    """
    given = resolve_waiting(inputs, ws.groups.mark(ws.shown_history.read(), now), chat)
    audience = Audience(chat=chat, in_groups=ws.config.recall.in_groups)
    result = ws.searcher.for_input(given.question, now, given.before, audience)
    if ws.extracting:
        given = replace(given, before=())
    kept = kept_summary(ws, chat.session) if chat.session and not ws.extracting else None
    window = ws.config.context.window_tokens or ws.config.llm.context_tokens
    config = replace(ws.config, context=replace(ws.config.context, window_tokens=window))
    system = system_prompt(turn_language(given, ws.config), ws.files, ws.paths)
    return context(given, now, result, system, kept=kept, config=config, paths=ws.paths, events=ws.events)


def _reply_language(ws: Workspace, inputs: Sequence[Message], chat: Chat) -> Language:
    return turn_language(resolve_waiting(inputs, (), chat), ws.config)


def _note_reply(ws: Workspace, result: Result, now: datetime) -> None:
    """Note what an answer cost, and a fault of the model; while the model is paused, a probe makes no pause longer."""
    state = configured_state(ws.task_queue, ws.endpoint)
    if result.reason == "provider" and state.is_failing and not state.is_over(now):
        return
    note_result(result, now, ws.model_use)


def _ended(result: Result, now: datetime) -> datetime:
    """Return when the result was made: the same, whoever writes it."""
    with suppress(ValueError):
        return from_wire(result.completed_at).astimezone(UTC)
    return now
