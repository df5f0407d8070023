"""
Chat: the conversation of `recalld chat`, in a browser: ask, see why, remember, search, forget.

A browser with scripts gets the answer line by line: {"said": a piece}, and at the end {"html": the turn} or {"error": why}; it
ends the answer by closing the connection. Without scripts the page comes when the answer is whole.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from starlette.responses import StreamingResponse

from recalld.supervisor.interfaces.chat.commands import MOST_NAME, is_command
from recalld.supervisor.interfaces.chat.model_process import ModelProcess
from recalld.supervisor.interfaces.chat.talk import Talk
from recalld.supervisor.interfaces.http.problem import RETRY_AFTER, Refused
from recalld.supervisor.interfaces.page.views import View, go
from recalld.supervisor.operations import history, long_term, recall, sessions, turns
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from recalld.supervisor.interfaces.chat.talk import Turn
    from recalld.supervisor.interfaces.http.site import Site
    from recalld.supervisor.operations.operation import Caller

#: The session that goes on where none is named: that of `recalld chat`.
SESSION: Final = "chat"
#: Where the words of this chat come from, as the source of a long-term line names it.
_CHANNEL: Final = "page"
#: Answers that are waited for at once: each has a process.
_MOST_AT_ONCE: Final = 4
_LIVE: Final = "application/x-ndjson"
#: What a form, or a line that begins with a slash, may ask for; those that do nothing without words.
COMMANDS: Final = ("ask", "why", "remember", "forget", "search", "session", "help")
_NEED_WORDS: Final = ("ask", "remember", "forget", "search")


class Answer:
    """One answer that is waited for in a thread; `model.end` ends it."""

    running = 0

    def __init__(self, site: Site, caller: Caller) -> None:
        self._site, self._caller = site, caller
        self.model = ModelProcess(site.workspace, caller.language)

    def turn(self, words: str, shows: Callable[[str], None]) -> Turn:
        """Return what became of the words; *shows* gets the pieces of the answer."""
        if Answer.running >= _MOST_AT_ONCE:
            raise Refused(503, Text("http.many"), {"Retry-After": str(RETRY_AFTER)})
        Answer.running += 1
        try:
            with self.model:
                talk = Talk(self._site.workspace, self._caller, self._site.answers.perform, self.model, shows, _CHANNEL)
                return talk.turn(words)
        finally:
            Answer.running -= 1


async def chat(site: Site, request: Request) -> Response:
    """Show the conversation, or do what its form asks for."""
    view = await View.of(site, request)
    if request.method == "GET":
        return await _shown(view, view.query("session") or SESSION)
    form = await site.form(request)
    session, given = form.get("session", "") or SESSION, form.get("words", "")
    try:
        command, words = command_of(form.get("do", "ask"), given)
    except BadRequest as error:
        if _LIVE in request.headers.get("accept", ""):
            raise
        return await _shown(view, session, refused=error, given=given)
    if command == "ask":
        return await _ask(view, session, words)
    if command == "remember":
        made = await view.ask(long_term.write, long_term.WriteRequest(content=words, source=_CHANNEL))
        return go(_here(session, line=made.line, total=made.total, known="" if made.is_new else "1"))
    if command == "why":
        return go(f"/turns/{words or (await view.ask(recall.why, recall.WhyRequest())).id}")
    return go(_place(command, session, words))


def command_of(command: str, words: str) -> tuple[str, str]:
    """
    Return what is asked for, and with which words; a line that begins with a slash says it itself.

    BadRequest for what there is not, and where words are missing. What is a command is the same in the terminal.

    >>> command_of("ask", "  备份在哪？ "), command_of("ask", "/remember 护照在保险柜")
    (('ask', '备份在哪？'), ('remember', '护照在保险柜'))
    """
    words = words.strip()
    if is_command(words):
        command, _, words = words[1:].partition(" ")
        words = words.strip()
    if command not in COMMANDS:
        names = ", ".join(f"/{name}" for name in COMMANDS[1:])
        raise BadRequest(f"/{printable(command[:MOST_NAME])}", Text("chat.no_command", names=names))
    if not words and command in _NEED_WORDS:
        raise (
            BadRequest("words", Text("chat.empty")) if command == "ask" else BadRequest(f"/{command}", Text("chat.needs_words"))
        )
    return command, words


def _here(session: str, **more: object) -> str:
    about = {"session": "" if session == SESSION else session, **more}
    query = urlencode({name: value for name, value in about.items() if value != ""})
    return f"/chat?{query}" if query else "/chat"


def _place(command: str, session: str, words: str) -> str:
    """Return the address of the page that does what is asked for."""
    if command == "search":
        return f"/search?{urlencode({'q': words})}"
    if command == "forget" and words.isdecimal() and words.isascii():
        return f"/long-term?line={words}#line-{words}"  # where the line stands with its button
    if command == "forget":
        return f"/forget?{urlencode({'by': 'match', 'value': words, 'back': _here(session)})}"
    return _here(session, help=1) if command == "help" else _here(words or session)


async def _shown(
    view: View, session: str, asked: str = "", made: Turn | None = None, refused: BadRequest | None = None, given: str = ""
) -> Response:
    """Show the conversation, at its end the turn *made* of what was *asked* now, or why what is *given* is refused."""
    said = await view.ask(history.recent, history.HistoryRequest(session=session))
    known = await view.ask(turns.turns, turns.TurnsRequest(limit=turns.MOST_TURNS))
    talked_in = await view.ask(sessions.sessions, sessions.SessionsRequest(limit=50))
    return await view.show(
        "chat.html",
        "chat",
        400 if refused else 200,
        session=session,
        said=_before(said, asked),
        asked=asked,
        why={one.question: one.id for one in reversed(known.turns) if one.session == session},
        made=made,
        refused=refused,
        given=given,
        known=[one.session for one in talked_in.sessions if one.session and one.chat == "direct"],
        line=view.number("line"),
        total=view.number("total"),
        is_known=bool(view.query("known")),
        has_help=bool(view.query("help")),
        has_model=not view.site.workspace.extracting,
    )


def _before(said: list[dict[str, Any]], asked: str) -> list[dict[str, Any]]:
    """Return the messages before the newest question, which is shown with its answer."""
    places = [number for number, one in enumerate(said) if asked and (one["role"], one["content"]) == ("user", asked)]
    return said[: places[-1]] if places else said


async def _ask(view: View, session: str, words: str) -> Response:
    """Have the question answered: piece by piece where the browser takes that, else as a page."""
    caller = replace(await view.site.run(view.site.caller, view.request), session=session)
    answer = Answer(view.site, caller)
    if _LIVE in view.request.headers.get("accept", ""):
        return StreamingResponse(_pieces(view, answer, words), media_type=_LIVE)
    return await _shown(view, session, words, await view.site.run(answer.turn, words, lambda _: None))


async def _pieces(view: View, answer: Answer, words: str) -> AsyncIterator[str]:
    """Yield the answer as it comes in, and at its end the turn; it ends with the connection."""
    loop, said = asyncio.get_running_loop(), asyncio.Queue[str | None]()
    turn = asyncio.ensure_future(
        view.site.run(answer.turn, words, lambda piece: loop.call_soon_threadsafe(said.put_nowait, piece))
    )
    turn.add_done_callback(lambda _: said.put_nowait(None))
    try:
        yield "\n"  # the answer has begun
        while (piece := await said.get()) is not None:
            yield _line({"said": printable(piece)})
        made = await view.site.run(partial(view.rendered, "chat_turn.html", made=turn.result(), asked=words))
        yield _line({"html": made})
    except Exception as error:  # noqa: BLE001 - the answer has begun, so that its end says what failed
        _, sentence, _, _ = await view.site.run(view.site.told, error, view.language)
        yield _line({"error": sentence})
    finally:
        answer.model.end()


def _line(told: Mapping[str, str]) -> str:
    return json.dumps(told, ensure_ascii=False) + "\n"
