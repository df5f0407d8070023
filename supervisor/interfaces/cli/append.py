"""`recalld append`: add a message, or many from standard input (docs/reference/cli.md). It loads no more than it uses."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from ...storage.clock import fixed_clock, utc_now, why_not_said_at
from ...storage.errors import BadConfig, BadFile, BadRequest, StorageError
from ...storage.texts import Text
from ...text.foreign_text import printable_line
from ..output import as_json
from .call import Call, refuse_plain_folder, unprinted
from .parser import CHATS, Option, command

if TYPE_CHECKING:
    from ...workspace import Workspace

_BATCH: Final = 8_000_000  # bytes of --jsonl input that are appended in one write


@command("append")
def append(
    call: Call,
    role: Annotated[str | None, Option("--role", "user, assistant, system or tool")] = None,
    text: Annotated[str | None, Option("--text", "the words; - reads standard input")] = None,
    at: Annotated[str | None, Option("--at", "the time of the message, ISO 8601")] = None,
    session: Annotated[str | None, Option("--session", "the key of its conversation")] = None,
    channel: Annotated[str | None, Option("--channel", "through which it came, such as telegram")] = None,
    chat: Annotated[str | None, Option("--chat", "direct, group or channel", choices=CHATS)] = None,
    jsonl: Annotated[bool, Option("--jsonl", "many on standard input, a JSON object a line: role, text, createdAt, …")] = False,
) -> int:
    """Add a message, or many; prints each id once the message is safe."""
    from ...protocol.message import is_role

    if sys.stdin is None and (jsonl or text == "-"):  # descriptor 0 may be some other file then
        raise BadRequest("--jsonl" if jsonl else "--text", Text("standard input is closed"))
    # where the configuration is wrong, the messages are left in the drop-box
    try:
        ws, began = call.opened()
        add: Callable[..., list[str]] = partial(_append, call, ws)
    except BadConfig as error:
        ws, began = _opened_with_defaults(call)
        call.say(
            Text(
                "the configuration is wrong, so what you give waits in inbox.d/new for a supervisor whose configuration is right: {why}.",
                why=error.sentence,
            )
        )
        add = partial(_leave, ws)
    if jsonl:
        return _append_lines(call, ws, began, add)
    if not role or text is None:
        raise BadRequest("append", Text("it needs --role and --text, or --jsonl"))
    if not is_role(role):
        raise BadRequest("--role", Text("{role!r} is no role; give user, assistant, system or tool", role=role))
    if at is not None and (why := why_not_said_at(at, ws.zone, began + ws.config.archive.future_limit)):
        raise BadRequest("--at", why)
    words = _in_utf8(sys.stdin.buffer.read() if text == "-" else os.fsencode(text))
    if not words.strip():
        raise BadRequest("--text", Text("it is empty, and nothing was added; give the words of the message"))
    fields = {"role": role, "text": words, "createdAt": at, "channel": channel, "session": session, "chat": chat}
    raw = {key: value for key, value in fields.items() if value is not None}
    ids = add([raw], began, as_found=False)
    if not all(ids):
        call.say(Text("this message was forgotten, and was not stored."))
    return _acknowledge(call, ids)


def _in_utf8(words: bytes) -> str:
    from ...storage.lenient_json import not_utf8

    try:
        return words.decode()
    except UnicodeDecodeError as error:
        raise BadRequest("--text", not_utf8(words) or Text("it is not UTF-8 at byte {at}", at=error.start)) from None


def _acknowledge(call: Call, ids: list[str]) -> int:
    """
    Print the ids of what is stored; return 74 if they can't be printed, since 0 would confirm ids that the caller never got.

    One that was forgotten has none.
    """
    if not (ids := [*filter(None, ids)]):
        return 0
    if sys.stdout is None:
        return call.say(Text("standard output is closed: the ids of what was added can't be printed."), StorageError.exit_code)
    try:
        for identity in ids:
            call.show(as_json({"id": identity}) if call.json else printable_line(identity))
        sys.stdout.flush()
    except OSError as error:
        return unprinted(call, error) or StorageError.exit_code
    return 0


def _append(call: Call, ws: Workspace, raws: list[dict[str, Any]], now: datetime, *, as_found: bool) -> list[str]:
    from ...operations.history import append as append_operation
    from ...operations.operation import perform

    return perform(append_operation, ws, {"messages": raws, "as_found": as_found}, call.caller(now))


def _opened_with_defaults(call: Call) -> tuple[Workspace, datetime]:
    """
    Return the workspace, whatever its configuration says; BadRequest if the folder is none.

    No time is too far ahead for it: the intake knows the limit.
    """
    from ...protocol.config import Config
    from ...protocol.config_keys import Archive
    from ...workspace import open_workspace

    root, given = call.root(), call.moment()
    refuse_plain_folder(root)
    began = given or utc_now()
    config = Config(archive=Archive(future_limit=datetime.max.replace(tzinfo=UTC) - began))
    return open_workspace(root, call.environ, fixed_clock(began), config=config), began


def _leave(ws: Workspace, raws: list[dict[str, Any]], now: datetime, *, as_found: bool) -> list[str]:
    from ...archive.append import leave, refuse_odd

    if not as_found:
        refuse_odd(raws, ws.zone, now + ws.config.archive.future_limit)
    return leave(raws, now, os.urandom(10 * len(raws)), drop_box=ws.drop_box, settings=ws.config.archive)


def _append_lines(call: Call, ws: Workspace, now: datetime, add: Callable[..., list[str]]) -> int:
    """Append the lines of standard input; lines that can be read at once are one write. Return 65 if a line was no message."""
    rest, number, code, forgotten = b"", 1, 0, 0
    while True:
        data, ended = _read_available()
        lines = (rest + data).split(b"\n")
        rest = b"" if ended else lines.pop()
        raws, faults, odd_times = read_lines(lines, ws.zone, number, now, ws.config.archive.future_limit)
        number += len(lines)
        ids = add(raws, now, as_found=True)
        forgotten += ids.count("")
        if unprinted_ids := _acknowledge(call, ids):
            return unprinted_ids
        for odd_time in odd_times:
            call.say(odd_time)
        for fault in faults:
            code = call.say(fault, BadFile.exit_code)
        if ended:
            if forgotten:
                call.say(Text("messages that were forgotten, and were not stored: {count}.", count=forgotten))
            return code


def read_lines(
    lines: Iterable[bytes], zone: tzinfo, first: int, now: datetime, future_limit: timedelta
) -> tuple[list[dict[str, Any]], list[str], list[str]]:
    """
    Return the messages of *lines*, a sentence about each line that is none, and one about each createdAt that is not believed.

    Each line is a JSON object; *first* is the number of the first line. No time is believed that is further ahead of *now* than
    *future_limit*. An empty line is passed over.
    """
    from ...protocol.message import InvalidEntry, read_message
    from ...protocol.parts import file_lines, result_ids, tool_lines
    from ...storage.lenient_json import parse_json

    raws: list[dict[str, Any]] = []
    faults: list[str] = []
    odd_times: list[str] = []
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            raw = parse_json(line)
            entry = read_message(raw, zone)
            if isinstance(entry, InvalidEntry):
                why = entry.why
            else:
                is_empty = not (entry.text.strip() or file_lines(raw) or tool_lines(raw) or result_ids(raw))
                why = Text("it is empty; give the words of the message") if is_empty else ""
        except ValueError as error:
            why = error.args[0]
            if isinstance(why, Text) and "line" in why.fields:  # it is one line, and has a number of its own
                why = Text("it is not JSON at column {column}", column=why.fields["column"])
        if why:
            faults.append(Text("line {number} was left out: {why}.", number=number, why=why))
            continue
        raws.append(raw)
        given = raw.get("createdAt")
        if given is not None and (why := why_not_said_at(given, zone, now + future_limit)):
            odd_times.append(Text("line {number} was added with the present time: {why}.", number=number, why=why))
    return raws, faults, odd_times


def _read_available() -> tuple[bytes, bool]:
    """Wait for input; return all that standard input has by then, and whether it has ended."""
    data = os.read(0, 1 << 20)
    ended = not data
    while not ended and len(data) < _BATCH and select.select([0], [], [], 0.02)[0]:
        more = os.read(0, 1 << 20)
        data, ended = data + more, not more
    return data, ended
