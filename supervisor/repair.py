"""
What `recalld fsck --repair` mends; nothing goes of which no copy is kept.

A history.json that can't be read is put together again. Words whose dated file is gone or no longer whole are looked for in
history.json, its backup, the quarantine and what is left of the file; those that are found count as un-written again, and
the next run files them anew. Source: docs/protocol.md, 5; docs/durability.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from supervisor.fsck import is_whole
from supervisor.protocol.clock import to_wire
from supervisor.protocol.dated import parse_dated
from supervisor.protocol.json_text import parse_json, salvage
from supervisor.protocol.message import Key, Message, read_message
from supervisor.recover import restore_history

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from supervisor.protocol.dated import Block
    from supervisor.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """What was mended: *restored* messages of history.json, *saved* words, *set_aside* broken files, *doubles* taken away."""

    restored: int = 0
    saved: int = 0
    set_aside: tuple[str, ...] = ()
    doubles: tuple[str, ...] = ()


def repair(ws: Workspace, now: datetime) -> Repairs:
    """Mend what can be mended, and return what was; the caller holds the supervisor's lock. OSError where the disk refuses."""
    restored = restore_history(ws, now, unknown=True)
    # gather
    ws.seen.refresh()
    broken = [name for name in sorted(ws.seen.names) if not is_whole(ws, name)]
    gone = {key for key, name in ws.seen.written.items() if name in broken or not ws.files.disk.stat(ws.memory.path_of(name))}
    found: dict[Key, Message] = {}
    if gone:
        found = {message.key: message for message in _copies(ws, broken) if message.key in gone}
    # apply: a copy first, then the journal, then the broken file
    kept = tuple(name for name in broken if _keep(ws, name))
    with ws.files.lock(ws.layout.history_lock):
        ws.seen.found_again(list(found.values()))
    for name in kept:
        ws.files.remove(ws.memory.path_of(name))
    doubles = tuple(name for name in sorted(ws.seen.names) if _take_double_away(ws, name))
    done = Repairs(restored=restored, saved=len(found), set_aside=kept, doubles=doubles)
    if done != Repairs():
        ws.events.emit("repaired", restored=restored, saved=len(found), set_aside=len(kept), doubles=len(doubles))
    return done


def _copies(ws: Workspace, broken: list[str]) -> Iterator[Message]:
    """Yield every message of which a copy lies somewhere, the newest copies last."""
    layout, disk = ws.layout, ws.files.disk
    for name in disk.names(layout.quarantine):
        if name.startswith("history.json."):
            yield from _messages(ws, layout.quarantine / name)
    yield from _messages(ws, layout.history_backup)
    yield from _messages(ws, layout.history)
    for name in broken:
        path = ws.memory.path_of(name)
        look = ws.files.look(path)
        # zeros and half a character at the end would make it a file of somebody else
        rest = look.data.replace(b"\0", b"").decode("utf-8", "ignore").encode() if look else b""
        parsed = parse_dated(rest, path)
        for block in parsed.blocks if parsed else ():
            message = read_message(_raw(block), ws.zone)
            if isinstance(message, Message):
                yield message


def _messages(ws: Workspace, path: Path) -> Iterator[Message]:
    look = ws.files.look(path)
    if look is None:
        return
    try:
        raws = parse_json(look.data)
    except ValueError:
        raws = salvage(look.data)
    for raw in raws if isinstance(raws, list) else ():
        message = read_message(raw, ws.zone)
        if isinstance(message, Message) and message.id and message.created_at:
            yield message


def _raw(block: Block) -> dict[str, Any]:
    """Return the JSON object that the block was made from."""
    words = {"role": block.role, block.words_in: block.text, "createdAt": to_wire(block.created_at)}
    return {"id": block.of or block.id, **words, **block.fields}


def _keep(ws: Workspace, name: str) -> bool:
    """Keep a copy of a broken dated file in quarantine; tell whether there is one."""
    look = ws.files.look(ws.memory.path_of(name))
    return look is not None and ws.quarantine.keep(name, look.data) != "full"


def _take_double_away(ws: Workspace, name: str) -> bool:
    """Take the file in originals/ away where memory/ shows the same bytes under the same name."""
    here, there = (ws.files.look(path) for path in (ws.layout.dated(name), ws.layout.original(name)))
    if here is None or there is None or here.data != there.data:
        return False
    ws.files.settle(ws.layout.dated(name))  # it may be a person's copy of a moment ago
    ws.files.remove(ws.layout.original(name))
    return True
