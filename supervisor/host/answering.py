"""
The file turn: what waits in inbox.json is answered by a worker, and stands in history.json behind its question.

An answer may ask for one look further, which is done, and a second message follows (003; protocol.md, 7.9). Its talk goes from
its result into the next task. What fails, or takes too long, ends with the first message standing.

A step looks at the files and does what is next for each conversation: its task is made, its result is written, its inputs are
taken out of the inbox. This order, and ids that come from the inputs, leave nothing to repair after a crash: the next step
finds the task, the result or the answer (docs/decisions/0104). Source: docs/reference/protocol.md, 7.8.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from ..context.build import Injection
from ..context.turns import Inbox, InboxFile
from ..protocol.inbox import Chat, chat_of
from ..protocol.llm import load_template
from ..protocol.message import Message
from ..protocol.task import AskedTask, Result
from ..protocol.turn import looks_further, mark_of, prepared_turn_id
from ..replies.answer import (
    Conversation,
    Input,
    answer_id,
    answer_message,
    answered,
    asked_anew,
    asked_to_remember,
    conversations,
    from_memory,
    is_standing,
    read_inputs,
    second_message,
    with_mark,
)
from ..replies.failures import FailedInputs
from ..storage.clock import Clock, local_day, steady_s, to_wire
from ..storage.control import UNLIMITED, Control
from ..storage.disk import Stat
from ..storage.errors import BadFile
from ..storage.texts import Text
from ..summaries.llm_state import configured_state, note_result
from ..text.language import Language, language_of
from ..workspace import Workspace
from .conversations import reply_language, reply_turn
from .workers import AskedWorker

#: Seconds between two looks while an answer is in the making: an event of a result comes sooner.
_POLL_S: Final = 0.05
#: Seconds between two looks while an input waits for the model, or for tomorrow.
_WAIT_S: Final = 5.0
#: Seconds until the model is asked again after a fault of it, and a worker that could not work is started again.
_REST_S: Final = 60.0
#: Calls of the model in one look further, at most.
_MOST_CALLS: Final = 5


class FileTurns:
    """
    Answers what waits in the inbox of *ws*.

    *append* adds messages in one write. An answer may *look* up what those who read a chat may see, which returns a sentence
    where the request is wrong, and *remember* a line for the long-term file. Without *worker* none is started here.
    """

    def __init__(
        self,
        ws: Workspace,
        clock: Clock,
        append: Callable[[Sequence[dict[str, Any]]], object],
        look: Callable[[str, Chat, Language], str],
        remember: Callable[[str, str, Chat], None],
        worker: AskedWorker | None = None,
        steady: Callable[[], float] = steady_s,
    ) -> None:
        self._ws, self._clock, self._worker, self._steady_s = ws, clock, worker, steady
        self._append, self._look_up, self._remember = append, look, remember
        self._inbox = InboxFile(ws.files, ws.paths, ws.config, ws.events)
        self._failed = FailedInputs(ws.task_queue)
        self._seen: tuple[Stat | None, Stat | None, dict[str, str]] | None = None
        #: When inputs without an id and a time were first seen, by their words.
        self._first_seen: dict[str, datetime] = {}
        self._waits = False
        self._rests_until_s = float("-inf")

    def step(self, until_end: Control = UNLIMITED) -> float:
        """Do what is next, and return the seconds until there may be more to do."""
        seen = self._look()
        if seen != self._seen or self._waits:
            self._waits = self._ws.events.attempt("answers", lambda: self._answer_all(until_end), True, once=False)
            self._seen = seen
        if self._look() != seen:
            return 0.0
        places = self._ws.task_queue.replies().values()
        if any(place in {"queue", "running"} for place in places):
            return _POLL_S if self._keep_a_worker(is_claimed="running" in places) else _WAIT_S
        return _WAIT_S if self._waits else math.inf

    def _look(self) -> tuple[Stat | None, Stat | None, dict[str, str]]:
        """Return what changes where there is something to do; costs a few stats and lists."""
        ws = self._ws
        return self._inbox.stat(), ws.files.disk.stat(ws.paths.history), ws.task_queue.replies()

    def end(self) -> None:
        """End the worker that was started for answers; what it did goes back into the queue."""
        if self._worker:
            self._worker.stop()

    def _keep_a_worker(self, *, is_claimed: bool) -> bool:
        """Start a worker where none does the tasks; False for a while after one could not work, and where none is ours."""
        if self._worker is None or self._rests:
            return False
        start = partial(self._ensure_worker, is_claimed=is_claimed)
        if not (works := self._ws.events.attempt("worker for answers", start, False, once=False)):
            self._rest()
        return works

    def _ensure_worker(self, *, is_claimed: bool) -> bool:
        if self._worker:
            self._worker.ensure(is_claimed=is_claimed)
        return True

    def _rest(self) -> None:
        self._rests_until_s = self._steady_s() + _REST_S

    @property
    def _rests(self) -> bool:
        return self._steady_s() < self._rests_until_s

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
        done = [entry for each in conversations(inputs) for entry in answered(each.inputs, messages, self._is_known)]
        self._take_out(done)
        waiting = [entry for entry in inputs if entry not in done]
        asked_for: set[str] = set()
        for conversation in conversations(waiting):
            if until_end.should_stop():
                return True
            asked_for.add(self._serve(conversation, inbox, messages))
        self._clear(asked_for, messages)
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
                self._take_in(part, identity, messages)
                return ""
            if identity in running:
                return identity
        return self._begin(conversation, inbox, messages)

    def _begin(self, conversation: Conversation, inbox: Inbox | None, messages: Sequence[Message]) -> str:
        """Make the task of the answer, or answer from memory where no model is set."""
        ws, now = self._ws, self._clock()
        if not ws.extracting and not self._may_ask(now):
            self._waits = True
            return ""
        injection = self._context(conversation, inbox, now)
        language = reply_language(ws, conversation.messages, conversation.last.chat)
        if ws.extracting:
            self._write(conversation, from_memory(injection.shown, injection.receipt.question, language), now, messages)
            return ""
        attempt, mark = self._failed.read(conversation).attempts, mark_of(os.urandom(5))
        task = AskedTask(
            id=conversation.task_id(attempt),
            kind="reply",
            group=conversation.group,
            turns=with_mark(injection.messages, mark, language),
            mark=mark,
            created_at=to_wire(now),
            attempt=attempt,
        )
        ws.task_queue.submit(task)
        return task.id

    def _may_ask(self, now: datetime) -> bool:
        """Return whether the model may be asked for an answer now, whether summaries wait for it or not."""
        ws = self._ws
        calls, most = ws.calls.today(now, "replies"), ws.config.turns.max_calls_per_day
        is_spent = calls >= most
        ws.events.transition("replies_spent", is_spent and local_day(now, ws.zone).isoformat(), calls=calls)
        return not (is_spent or self._rests)

    def _context(self, conversation: Conversation, inbox: Inbox | None, now: datetime) -> Injection:
        """Return the turn of the conversation; its context is kept as that of an assistant is (7.1)."""
        ws = self._ws
        injection = reply_turn(ws, conversation.messages, conversation.last.chat, now)
        if inbox:
            turn = prepared_turn_id(conversation.last.message, inbox.written, now + ws.config.archive.future_limit)
            receipt = replace(injection.receipt, id=turn, inbox=inbox.digest)
            ws.events.attempt("receipt", lambda: ws.receipts.put(receipt), None)
        return injection

    # ── results ──────────────────────────────────────────────────────────────

    def _take_in(self, conversation: Conversation, identity: str, messages: Sequence[Message]) -> None:
        """Write the answer, or note that there is none, and delete the result."""
        ws, now = self._ws, self._clock()
        result = self._read(identity)
        if result is None:  # it is asked for again
            return
        if result.reason != "spent":
            _note_reply(ws, result, now)
        if result.status == "done":
            self._write(conversation, self._reply_text(conversation, result), now, messages)
        elif result.reason in {"provider", "spent"}:  # it costs the input nothing: the item waits for the model
            self._rest()
        else:
            why = result.reason or "refused"
            failure = self._failed.add(conversation, why, now, ws.config.turns.tries)
            if failure.gave_up:  # its inputs are set aside, and never answered
                ws.events.emit("reply_failed", group=conversation.group, reason=why, attempts=failure.attempts)
                self._take_out(conversation.inputs)
        ws.task_queue.withdraw(identity)

    def _read(self, identity: str) -> Result | None:
        """Return the result; one that can't be read is deleted."""
        try:
            return self._ws.task_queue.answer(identity)
        except ValueError:
            self._ws.task_queue.withdraw(identity)
            return None

    def _reply_text(self, conversation: Conversation, result: Result) -> str:
        """Return the words of the answer, after what its request needs before the answer stands in history.json."""
        language = reply_language(self._ws, conversation.messages, conversation.last.chat)
        look = self._look_further(conversation, result, language) if result.request else Text("Let me look that up.")
        return result.text or look.in_language(language)

    def _write(self, conversation: Conversation, text: str, now: datetime, messages: Sequence[Message]) -> None:
        """Write questions and answer in one, then take the inputs out of the inbox."""
        ids = {message.id for message in messages if message.role == "user"}
        questions = [
            entry.question for entry in conversation.inputs if entry.id not in ids and not is_standing(entry, messages)
        ]
        self._append([*questions, answer_message(conversation, text, now)])
        self._ws.task_queue.clear(conversation.group)
        self._take_out(conversation.inputs)
        waited = max(0, round((now - conversation.last.at).total_seconds() * 1000))
        self._ws.events.emit("replied", inputs=len(conversation.inputs), ms=waited)

    # ── one look further ─────────────────────────────────────────────────────

    def _look_further(self, conversation: Conversation, result: Result, language: Language) -> Text:
        """Do what the answer asked for, before it stands in history.json; return words of ours for one that has none."""
        chat, raw = conversation.last.chat, conversation.last.message.raw
        if looks_further(result.request):
            self._submit_look(conversation.last.digest, result, 0, chat, language)
            return Text("Let me look that up.")
        wanted = asked_to_remember(entry.message.text for entry in conversation.inputs)
        if wanted:
            source = raw.get("channel")
            self._remember(wanted, source if isinstance(source, str) else "", chat)
        return Text("Remembered.") if wanted else Text("There is nothing in your message that I was asked to remember.")

    def _go_on_looking(self, identity: str, digest: str, messages: Sequence[Message]) -> None:
        """Take in the result of a look further: another request is done, an answer is the second message, if there is none."""
        ws, now = self._ws, self._clock()
        first = next((message for message in messages if message.id == answer_id(digest)), None)
        result = self._read(identity)
        if result is None:
            return
        if first is not None and not self._is_known(answer_id(digest, 2)):
            note_result(result, now, ws.model_use)
            in_time = now - (first.created_at or now) <= max(ws.config.llm.timeout, timedelta(seconds=1))
            step = result.attempt + 1
            if looks_further(result.request) and step < _MOST_CALLS and in_time:
                self._submit_look(digest, result, step, chat_of(first.raw), language_of(first.text))
            elif result.status == "done" and result.text:
                self._append([second_message(first.raw, digest, result.text, now)])
                ws.events.emit("looked_further", calls=step)
        ws.task_queue.withdraw(identity)

    def _submit_look(self, digest: str, result: Result, step: int, chat: Chat, language: Language) -> None:
        ws = self._ws
        results = self._look_up(result.request, chat, language)
        template = load_template("lookup", language, ws.files, ws.paths)
        text = template.fill(results=results, calls_left=str(_MOST_CALLS - 1 - step)).strip()
        ws.task_queue.submit(
            AskedTask(
                id=f"lookup-{digest}-{digest[:10]}-{step}",
                kind="lookup",
                group=f"lookup-{digest}",
                turns=(*result.turns, {"role": "user", "content": text}),
                mark=result.mark,
                created_at=to_wire(self._clock()),
                attempt=step,
            )
        )

    # ── what nobody asks for any more ────────────────────────────────────────

    def _clear(self, asked_for: set[str], messages: Sequence[Message]) -> None:
        """Finish looks further; delete tasks whose question is gone."""
        queue = self._ws.task_queue
        for identity, place in queue.replies().items():
            kind, digest, *_ = identity.split("-")
            if kind == "lookup" and place == "results":
                self._go_on_looking(identity, digest, messages)
            elif kind != "lookup" and identity not in asked_for:
                queue.withdraw(identity)


def _note_reply(ws: Workspace, result: Result, now: datetime) -> None:
    """Note what an answer cost, and a fault of the model; while the model is paused, a probe makes no pause longer."""
    state = configured_state(ws.task_queue, ws.endpoint)
    if result.reason == "provider" and state.is_failing and not state.is_over(now):
        return
    note_result(result, now, ws.model_use)
