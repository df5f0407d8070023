"""The commands of a chat: what a line that begins with a slash does (docs/reference/cli.md)."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Final

from recalld.supervisor.operations.operation import perform
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest, SupervisorError
from recalld.supervisor.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from recalld.supervisor.interfaces.chat.talk import Talk
    from recalld.supervisor.interfaces.cli.call import Call

COMMANDS: Final = ("/why", "/remember", "/forget", "/search", "/session", "/help", "/quit")
_NEED_WORDS: Final = ("/remember", "/forget", "/search")
_MOST_HITS: Final = 8
#: Characters of the name of a command that there is not, as it is told.
MOST_NAME: Final = 40


def run(talk: Talk, call: Call, line: str, confirm: Callable[[str], bool]) -> bool:
    """Do what the line says, and return whether the chat goes on. *confirm* asks the user a question."""
    try:
        return run_one(talk, call, line, confirm)
    except SupervisorError as error:
        call.say(error, 0)
    return True


def is_command(text: str) -> bool:
    r"""
    Return whether a message is a command, there or not: one line whose first word is a slash and a name, which is no path.

    >>> is_command("/forget 茶"), is_command("/nosuch"), is_command("/etc/hosts 在哪？"), is_command("/help\n/why")
    (True, True, False, False)
    """
    name = text.strip().partition(" ")[0]
    return name.startswith("/") and "/" not in name[1:] and "\n" not in text.strip()


def commands_in(text: str) -> list[str]:
    r"""
    Return the commands of a message, one a line, there or not; none where any other line of it is no command.

    >>> commands_in("/remember 茶\n\n/why\n"), commands_in("/why\nand this?"), commands_in("茶")
    (['/remember 茶', '/why'], [], [])
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines if all(map(is_command, lines)) else []


def slashed(text: str) -> str:
    """Return the first line of the words of a message that begins with the name of a command; "" if none does."""
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in lines if line.partition(" ")[0] in COMMANDS), "")


def run_one(talk: Talk, call: Call, line: str, confirm: Callable[[str], bool] | None = None) -> bool:
    """Do what the line of a command says, and return whether the chat goes on; without *confirm* nobody can be asked."""
    name, _, given = line.partition(" ")
    if name == "/quit":
        return False
    if name not in _COMMANDS:
        raise BadRequest(printable(name[:MOST_NAME]), Text("chat.no_command", names=COMMANDS))
    if name in _NEED_WORDS and not given.strip():
        raise BadRequest(name, Text("chat.needs_words"))
    _COMMANDS[name](talk, call, given.strip(), confirm)
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

    made = perform(write, talk.ws, WriteRequest(content=given, source=talk.channel), talk.caller)
    call.show(call.render(made.told()))


def _forget(talk: Talk, call: Call, given: str, confirm: Callable[[str], bool] | None) -> None:
    """Take back the messages and lines with these words, or the line of this number, as `recalld forget` does."""
    from recalld.supervisor.interfaces.cli.forget import show_forgetting, show_forgotten
    from recalld.supervisor.operations.forget import ForgetRequest, forget

    by, value = ("line", _ref(talk, int(given))) if given.isdecimal() and given.isascii() else ("match", given)
    shown = perform(forget, talk.ws, ForgetRequest(by=by, value=value), talk.caller)
    show_forgetting(call, shown, Text("forget.nothing"))
    if confirm is None and not shown.is_empty:
        call.say(Text("chat.forget_elsewhere", by=by, value=quote(value)), 0)
    if shown.is_empty or confirm is None or not confirm(call.render(Text("chat.forget_sure"))):
        return
    show_forgotten(call, perform(forget, talk.ws, ForgetRequest(by=by, value=value, yes=True, shown=shown.digest), talk.caller))


def _ref(talk: Talk, number: int) -> str:
    """Return the line of this number with its digest, as it is now."""
    from recalld.supervisor.operations.long_term import ReadRequest, read

    lines = perform(read, talk.ws, ReadRequest(start=number), talk.caller).lines
    if number < 1 or not lines:
        raise BadRequest("/forget", Text("chat.no_line", number=number))
    return f"{lines[0].number}@{lines[0].digest}"


def _search(talk: Talk, call: Call, given: str, _confirm: object) -> None:
    from recalld.supervisor.operations.recall import SearchRequest, search

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
