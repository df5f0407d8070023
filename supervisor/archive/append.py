"""
Adding messages: into history.json under its lock, and into the seen journal, before the id is given back.

So a message whose id was printed survives a crash, and another program's rewrite without the lock. While history.json is
damaged, or rewritten by somebody again and again, the message waits in the drop-box instead (docs/protocol.md, 5).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from supervisor.protocol.clock import to_wire
from supervisor.protocol.errors import BadFile, BadRequest, Busy, Conflict
from supervisor.protocol.files import digest_of
from supervisor.protocol.lenient_json import parse_json, render_json
from supervisor.protocol.message import History, InvalidEntry, Message, read_message, with_timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from supervisor.workspace import Workspace

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_id(now: datetime, entropy: bytes) -> str:
    """Return a ULID: 26 characters that sort by time, from *now* and 10 random bytes."""
    number = int(now.timestamp() * 1000) << 80 | int.from_bytes(entropy[:10])
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


def read_lines(lines: Iterable[bytes], ws: Workspace, first: int) -> tuple[list[dict[str, Any]], str]:
    """Return the JSON objects of *lines* up to the first bad one, and a sentence on that one, "" where all are good."""
    found: list[dict[str, Any]] = []
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            raw = parse_json(line)
        except ValueError as error:
            return found, f"line {number} can't be read: {error}"
        entry = read_message(raw, ws.zone)
        if isinstance(entry, InvalidEntry):
            return found, f"line {number} is no message: {entry.why}"
        found.append(raw)
    return found, ""


def append(ws: Workspace, raws: Sequence[dict[str, Any]], now: datetime, entropy: bytes) -> list[str]:
    """
    Add the messages, durably, and return their ids; those without id or time get one.

    *entropy* holds 10 random bytes for each message. BadRequest when one is no message, NewerFormat when a newer recalld keeps
    the journal.
    """
    if not raws:
        return []
    messages = [_message(ws, raw, now, entropy[10 * n : 10 * n + 10]) for n, raw in enumerate(raws)]
    ws.journal.refuse_newer()
    try:
        ws.history.change(partial(_with, new=tuple(messages)), then=lambda _: ws.journal.note(messages))
    except (BadFile, Busy, Conflict):
        for folder in (ws.paths.drop_box.parent, ws.paths.drop_box):
            ws.files.make_folder(folder, lasting=True)
        data = render_json([message.raw for message in messages])
        path = ws.paths.drop_box / f"append-{digest_of(data)[:16]}.json"
        try:
            ws.files.create(path, data)
        except FileExistsError:  # the same messages wait there already
            ws.files.ensure_durable(path)
    return [message.id for message in messages]


def _message(ws: Workspace, raw: dict[str, Any], now: datetime, entropy: bytes) -> Message:
    fields = {"id": raw.get("id") or new_id(now, entropy), **{k: v for k, v in raw.items() if k != "id"}}
    fields.setdefault("createdAt", to_wire(now))
    fields.setdefault("archived", False)
    entry = read_message(fields, ws.zone)
    if isinstance(entry, InvalidEntry):
        raise BadRequest("message", entry.why)
    possible = entry.created_at is not None and entry.created_at - now <= ws.config.archive.future_limit
    return entry if possible else with_timestamp(entry, now)


def _with(history: History, new: Sequence[Message]) -> History:
    """Return the history with what it does not hold yet at its end: the same id and words are the same message."""
    keys = {entry.key for entry in history if isinstance(entry, Message)}
    return (*history, *(message for message in new if message.key not in keys))
