"""
One conversation of a chat, turn by turn, without a terminal: the words are kept, the model is asked, its answer is kept.

The user's words are in history.json before the model is asked. An answer that was ended stands there as far as it was seen,
with the field `cut`. What memory quotes where no model is set is shown and not kept: it would be remembered again as new.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from recalld.supervisor.host.reply_turn import note_reply, reply_language, reply_turn
from recalld.supervisor.interfaces.chat.model_process import Stopped
from recalld.supervisor.interfaces.chat.stream import Seen
from recalld.supervisor.operations.history import AppendRequest, append
from recalld.supervisor.operations.looking import LookingUp
from recalld.supervisor.operations.operation import Visible
from recalld.supervisor.protocol.inbox import chat_of
from recalld.supervisor.protocol.lookup_request import looks_further, mark_of
from recalld.supervisor.protocol.message import Message, read_message
from recalld.supervisor.protocol.task import AskedTask
from recalld.supervisor.replies.remember import asked_to_remember
from recalld.supervisor.replies.talk import MOST_CALLS, after_looking, from_memory, with_mark
from recalld.supervisor.replies.waiting import Conversation, Input, answer_message, second_message
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.control import UNLIMITED
from recalld.supervisor.storage.errors import NoSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recalld.supervisor.context.build import Injection
    from recalld.supervisor.interfaces.chat.model_process import ModelProcess
    from recalld.supervisor.operations.operation import Caller, Operation
    from recalld.supervisor.protocol.message import History
    from recalld.supervisor.protocol.task import Result
    from recalld.supervisor.text.language import Language
    from recalld.supervisor.workspace import Workspace

#: Returns the answer of an operation for a caller, or raises SupervisorError.
Do: TypeAlias = "Callable[[Operation[Any, Any], Any, Caller], Any]"


@dataclass(slots=True)
class Turn:
    """What became of one message: the *answer*, a *second* one, the id of the turn, and a *fault* in place of an answer."""

    question: str
    answer: str = ""
    second: str = ""
    turn: str = ""
    model: str = ""
    cut: bool = False
    fault: str = ""
    words: list[str] = field(default_factory=list)  # of recalld: what was remembered

    def wire(self) -> dict[str, Any]:
        """Return the turn for a program."""
        told = {"question": self.question, "answer": self.answer, "second": self.second, "cut": self.cut}
        return {**told, "turn": self.turn, "model": self.model, "error": str(self.fault)}


class Talk:
    """
    The conversation of a *session*, as *caller* performs its operations with *do*.

    *shows* gets what a person sees of an answer as it comes in; *channel* is where the words come from.
    """

    def __init__(
        self, ws: Workspace, caller: Caller, do: Do, model: ModelProcess, shows: Callable[[str], None], channel: str
    ) -> None:
        self.ws, self.session, self.channel = ws, caller.session, channel
        self._caller, self._clock, self._do = caller, caller.clock, do
        self._model, self._shows = model, shows
        #: The id of the newest turn of this chat, "" before the first.
        self.last_turn = ""

    @property
    def caller(self) -> Caller:
        """Who asks: the user, in this session."""
        return replace(self._caller, session=self.session)

    def said_before(self) -> Iterator[str]:
        """Yield what the user has said in this session and history.json still has, oldest first."""
        nothing: History = ()
        for one in self.ws.attempt("history", self.ws.shown_history.read, nothing):
            if isinstance(one, Message) and one.role == "user" and chat_of(one.raw).session == self.session:
                yield one.text

    def turn(self, text: str) -> Turn:
        """Keep the words, ask, and keep the answer; KeyboardInterrupt and Stopped end the answer alone."""
        asked = self._kept(text)
        made = self._context(asked)
        turn = Turn(question=asked.id, turn=made.id)
        self.last_turn = made.id
        language = reply_language(self.ws, [asked.message], asked.chat)
        if self.ws.extracting:
            turn.answer = from_memory(made, language)
            self._shows(turn.answer)
            return turn
        mark = mark_of(os.urandom(5))
        told = with_mark(made.messages, mark, language)
        turn.answer, first = self._ask(turn, "reply", told, mark, asked.digest)
        if first is None and not turn.answer:
            return turn
        answer = answer_message(Conversation((asked,)), turn.answer, self._clock())
        if first and first.request:
            self._go_on(turn, first, answer, asked, language)
        else:
            self._keep({**answer, **({"cut": True} if turn.cut else {})})
        return turn

    def _go_on(self, turn: Turn, first: Result, answer: dict[str, Any], asked: Input, language: Language) -> None:
        """Keep the first message, do what it asked for, and keep the second."""
        operations = LookingUp(lambda: self.ws, self._clock, keep_fresh=self._caller.keep_fresh)
        if not looks_further(first.request):
            wanted = asked_to_remember([asked.message.text])
            if wanted:
                operations.remember(wanted, self.channel, asked.chat)
            note = Text("reply.remembered_line", line=wanted) if wanted else Text("reply.not_remembered")
            turn.words.append(note)
            self._keep({**answer, "text": turn.answer or note.in_language(language)})
            return
        looking = Text("reply.looking").in_language(language)
        if not turn.answer:
            self._shows(looking)
        turn.answer = turn.answer or looking
        self._keep({**answer, "text": turn.answer})
        self._shows("\n\n")
        result = first
        for step in range(MOST_CALLS):
            results = operations.look(result.request, asked.chat, language)
            turns = after_looking(result.turns, results, step, language, self.ws.files, self.ws.paths)
            turn.second, further = self._ask(turn, "lookup", turns, result.mark, asked.digest, step)
            if further is None or not looks_further(further.request):
                break
            result = further
        if turn.second:
            second = second_message(answer, asked.digest, turn.second, self._clock())
            self._keep({**second, **({"cut": True} if turn.cut else {})})

    def _ask(
        self, turn: Turn, kind: Any, turns: tuple[dict[str, str], ...], mark: str, digest: str, step: int = 0
    ) -> tuple[str, Result | None]:
        """Ask the model and show its answer as it comes in; without a result it was ended, or failed, which *turn* says."""
        group = f"{kind}-{digest}"
        task = AskedTask(id=f"{group}-{digest[:10]}-{step}", kind=kind, group=group, turns=turns, mark=mark, attempt=step)
        seen = Seen()

        def said(piece: str) -> None:
            if now := seen.add(piece):
                self._shows(now)

        try:
            result = self._model.ask(task, said)
        except (KeyboardInterrupt, Stopped):
            turn.cut = True
            return seen.text, None
        except NoSummary as error:
            turn.cut, turn.fault = bool(seen.text), error.why
            return seen.text, None
        note_reply(self.ws, result, self._clock())
        turn.model = result.model
        if result.status == "failed":
            turn.cut, turn.fault = bool(seen.text), result.error
            return seen.text, None
        self._shows(seen.rest(result.text))
        return result.text, result

    def _kept(self, text: str) -> Input:
        """Keep the user's words, and return them as an input with the id that they got."""
        raw = {"role": "user", "text": text, "session": self.session, "channel": self.channel}
        (identity,) = self._keep(raw)
        message = cast("Message", read_message({**raw, "id": identity}, self.ws.zone))
        return Input(message, identity, self._clock())

    def _keep(self, raw: dict[str, Any]) -> list[str]:
        found: list[str] = self._do(append, AppendRequest(messages=[raw]), self.caller)
        return found

    def _context(self, asked: Input) -> Injection:
        from recalld.supervisor.context.build import save_receipt

        ws = self.ws
        Visible(ws, self.caller, UNLIMITED).refresh()
        made = reply_turn(ws, [asked.message], asked.chat, self._clock())
        save_receipt(made, receipts=ws.receipts, paths=ws.paths, events=ws.events)
        return made
