"""The command that talks: a chat in the terminal, or one turn in a pipe (docs/reference/cli.md)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recalld.supervisor.interfaces.cli.app import Context, Folder, Json, Now  # noqa: TC001 - typer reads the annotations
from recalld.supervisor.interfaces.cli.output import as_json
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.clock import fixed_clock, utc_now
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.storage.noting import acting
from recalld.supervisor.text.printable import printable, shortened

if TYPE_CHECKING:
    from recalld.supervisor.interfaces.chat.talk import Talk, Turn
    from recalld.supervisor.interfaces.cli.call import Call
    from recalld.supervisor.operations.operation import Operation

#: Where the words of this chat come from, as the source of a long-term line names it.
_CHANNEL: Final = "terminal"
#: A paste of more characters than this is asked about before it is sent.
_MUCH: Final = 100_000
#: The most bytes of one message.
_MOST_BYTES: Final = 4 << 20
#: The exit code where the model gave no answer.
_NO_ANSWER: Final = 69


def chat(
    ctx: Context,
    message: Annotated[str | None, typer.Option("--message", help="one message; - reads standard input")] = None,
    session: Annotated[str, typer.Option("--session", help="the conversation that goes on")] = "chat",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> int:
    """Talk with the model over memory; in a pipe one turn, or commands, one a line."""
    call: Call = ctx.obj
    from recalld.supervisor.interfaces.chat.commands import commands_in, run_one
    from recalld.supervisor.interfaces.chat.model_process import ModelProcess
    from recalld.supervisor.interfaces.chat.talk import Talk
    from recalld.supervisor.operations.operation import Caller, perform

    ws, at = call.opened_made(workspace, now)
    clock = fixed_clock(at) if call.moment(now) else utc_now
    is_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    text = _read() if message == "-" or (message is None and not is_terminal) else message
    ws.prepare()
    caller = Caller(session=session, interface="command", clock=clock)

    def do(operation: Operation[Any, Any], asked: Any, caller: Caller) -> Any:
        return perform(operation, ws, asked, caller)

    with acting("command", "chat"), ModelProcess(ws, call.language) as model:
        talk = Talk(ws, caller, do, model, (lambda _: None) if json else _show, _CHANNEL)
        if text is None:
            return _converse(talk, call)
        if not text.strip():
            raise (
                BadRequest("--message", Text("chat.empty"))
                if message is not None
                else BadRequest("chat", Text("chat.no_input"))
            )
        if commands := commands_in(text):
            if json:
                raise BadRequest("--json", Text("chat.no_json"))
            all(run_one(talk, call, line) for line in commands)
            return 0
        _tell_slashes(call, text)
        return _one(talk, call, text, json=json)


def _read() -> str:
    """Return the message at standard input; BadRequest where it is no UTF-8, or too long."""
    data = sys.stdin.buffer.read(_MOST_BYTES + 1) if sys.stdin else b""
    if len(data) > _MOST_BYTES:
        raise BadRequest("--message", Text("chat.too_long", most=_MOST_BYTES >> 20))
    try:
        return data.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise BadRequest("--message", Text("chat.not_utf8")) from None


def _one(talk: Talk, call: Call, text: str, *, json: bool) -> int:
    """Do one turn, print it, and return the exit code."""
    turn = talk.turn(text)
    if json:
        call.show(as_json({"session": talk.session, **turn.wire(), "notes": [str(one) for one in turn.words]}))
    return _told(call, turn, json=json)


def _told(call: Call, turn: Turn, *, json: bool = False) -> int:
    """Print what follows an answer, and return the exit code of a single turn."""
    if not json and (turn.answer or turn.second):
        _show("…\n" if turn.cut else "\n")
    for note in () if json else turn.words:
        call.show(call.render(note))
    if turn.fault:
        return call.say(Text("model.no_answer", why=turn.fault), _NO_ANSWER)
    return 0


def _converse(talk: Talk, call: Call) -> int:
    """Talk until the user ends it."""
    from recalld.supervisor.interfaces.chat.commands import COMMANDS, commands_in, run
    from recalld.supervisor.interfaces.chat.terminal import Editor

    editor = Editor(talk.said_before(), COMMANDS, _MUCH)
    call.show(call.render(Text("chat.begins", session=talk.session)))
    if talk.ws.extracting:
        call.show(call.render(Text("chat.no_model")))
    while True:
        try:
            line = editor.read().strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        if not line:
            continue
        if commands := commands_in(line):
            if not all(run(talk, call, command, editor.confirm) for command in commands):
                return 0
        elif len(line) <= _MUCH or editor.confirm(call.render(Text("chat.much", count=len(line)))):
            _tell_slashes(call, line)
            _told(call, talk.turn(line.encode("utf-8", "replace").decode()))


def _tell_slashes(call: Call, text: str) -> None:
    """Say that a line which looks like a command is sent as words, since others beside it are none."""
    from recalld.supervisor.interfaces.chat.commands import slashed

    if line := slashed(text):
        call.say(Text("chat.slashed", line=shortened(line)), 0)


def _show(piece: str) -> None:
    """Print a piece of an answer at once."""
    sys.stdout.write(printable(piece))
    sys.stdout.flush()


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    app.command()(chat)
