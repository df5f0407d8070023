"""The commands of a chat: what a line that begins with a slash does (docs/reference/cli.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from recalld.supervisor.interfaces.chat.talk import CHANNEL
from recalld.supervisor.operations.operation import perform
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import SupervisorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from recalld.supervisor.interfaces.chat.talk import Talk
    from recalld.supervisor.interfaces.cli.call import Call

COMMANDS: Final = ("/why", "/remember", "/forget", "/search", "/session", "/help", "/quit")
_MOST_HITS: Final = 8
_EVERY: Final = 1 << 31


def run(talk: Talk, call: Call, line: str, confirm: Callable[[str], bool]) -> bool:
    """Do what the line says, and return whether the chat goes on. *confirm* asks the user a question."""
    name, _, given = line.partition(" ")
    command = _COMMANDS.get(name)
    if name == "/quit":
        return False
    if command is None:
        call.say(Text("chat.no_command", name=name, names=", ".join(COMMANDS)), 0)
        return True
    try:
        command(talk, call, given.strip(), confirm)
    except SupervisorError as error:
        call.say(error, 0)
    return True


def _help(_talk: Talk, call: Call, _given: str, _confirm: object) -> None:
    call.show(call.render(Text("chat.help")))


def _why(talk: Talk, call: Call, given: str, _confirm: object) -> None:
    from recalld.supervisor.interfaces.cli.output import receipt_text
    from recalld.supervisor.operations.recall import WhyRequest, why

    receipt = perform(why, talk.ws, WhyRequest(turn=given or talk.last_turn or None), talk.caller)
    call.show(receipt_text(receipt, call.renderer()))


def _remember(talk: Talk, call: Call, given: str, _confirm: object) -> None:
    from recalld.supervisor.operations.long_term import WriteRequest, write

    if not given:
        call.say(Text("chat.needs_words", name="/remember"), 0)
        return
    made = perform(write, talk.ws, WriteRequest(content=given, source=CHANNEL), talk.caller)
    code = "longterm.written" if made.is_new else "longterm.known"
    call.show(call.render(Text(code, line=made.line, total=made.total)))


def _forget(talk: Talk, call: Call, given: str, confirm: Callable[[str], bool]) -> None:
    """Delete the one line of the long-term memory that has the words; of several, or of none, say so."""
    from recalld.supervisor.operations.long_term import DeleteRequest, ReadRequest, delete, read

    if not given:
        call.say(Text("chat.needs_words", name="/forget"), 0)
        return
    lines = perform(read, talk.ws, ReadRequest(start=1, end=_EVERY), talk.caller).lines
    found = [one for one in lines if given.casefold() in one.text.casefold() or given == str(one.number)]
    if len(found) != 1:
        for one in found:
            call.show(f"[{one.number}] {one.text}")
        call.say(Text("chat.forget_one" if found else "chat.forget_none", words=given), 0)
        return
    call.show(f"[{found[0].number}] {found[0].text}")
    if confirm(call.render(Text("chat.forget_sure"))):
        perform(delete, talk.ws, DeleteRequest(lines=[f"{found[0].number}@{found[0].digest}"]), talk.caller)
        call.show(call.render(Text("chat.forgotten")))


def _search(talk: Talk, call: Call, given: str, _confirm: object) -> None:
    from recalld.supervisor.operations.recall import SearchRequest, search

    if not given:
        call.say(Text("chat.needs_words", name="/search"), 0)
        return
    hits = perform(search, talk.ws, SearchRequest(query=given, limit=_MOST_HITS), talk.caller).hits
    for hit in hits:
        call.show(f"{hit.unit.citation}  {' '.join(hit.unit.text.split())[:160]}")
    if not hits:
        call.say(Text("reply.nothing_found"), 0)


def _session(talk: Talk, call: Call, given: str, _confirm: object) -> None:
    if given:
        talk.session = given
        talk.last_turn = ""
    call.show(call.render(Text("chat.session", session=talk.session)))


_COMMANDS: Final = {
    "/help": _help,
    "/why": _why,
    "/remember": _remember,
    "/forget": _forget,
    "/search": _search,
    "/session": _session,
}
