"""
`recalld fsck --repair`, `--accept` and `--accept-times`: what a person lets be mended, or lets be.

`repair` restores a damaged history.json. It searches history.json, its backup, the quarantine and the rest of the file for
messages whose dated file is missing or damaged. Those that it finds count as unwritten again, except those that a person has
deleted, and the next run writes them. A dated file whose messages are in an earlier file, too, is set aside. Nothing is deleted
without a copy (docs/explanation/durability.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ..archive.history import history_copies
from ..archive.intake import restore_history, update_journal
from ..forgetting.wanted import blocks_at
from ..protocol.attachments import attachments_of, separated
from ..protocol.dated_file import Block, parse_dated
from ..protocol.message import Key, Message, read_message
from ..storage.clock import to_wire
from ..storage.errors import BadRequest
from ..storage.texts import Text
from ..text.record import record
from ..workspace import Workspace
from .fsck import is_accepted, is_whole


@record(kw_only=True)
class Repairs:
    """
    What was repaired: *restored* and *saved* messages, files *set_aside*, *doubles* in memory/ and originals/ made one file.

    *pictures* are files of attachments/ that were written again.
    """

    restored: int = 0
    saved: int = 0
    set_aside: tuple[str, ...] = ()
    doubles: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()


def repair(ws: Workspace, now: datetime) -> Repairs:
    """Repair what can be repaired and return what was; the caller holds the supervisor's lock. OSError if the disk refuses."""
    restored = restore_history(ws, now)
    update_journal(ws.journal, ws.memory)
    # first, since of two files with one name the folders show only one
    doubles = tuple(name for name in sorted(ws.journal.names) if _delete_double(ws, name))
    # gather
    accepted = {file.name for file in ws.memory.dated() if is_accepted(ws, file)}
    broken = [name for name in sorted(ws.journal.names - accepted) if not is_whole(ws, name)]
    twice = _written_twice(ws)
    aside = [*broken, *(name for name in twice if name not in broken)]
    held = {file.name: ws.memory.blocks(file.name) for file in ws.memory.dated() if file.name not in aside}
    homeless = {key for key, name in [*ws.journal.written.items()] if name in aside or _is_gone(ws, name)}
    gone = ws.deletions.absences()
    homeless.update(key for keys in gone.cut.values() for key in keys)
    homeless -= ws.journal.removed | {key for key, now in gone.removed.items() if now is None}
    held |= {name: blocks_at(ws, path) for name, path in gone.moved.items()}
    missing = homeless - {block.key for blocks in held.values() for block in blocks}
    for name in doubles:  # the file that stays may hold less than the journal says
        held_keys = {block.key for block in held.get(name, ())}
        homeless |= {key for key, file in [*ws.journal.written.items()] if file == name and key not in held_keys}
    saved: dict[Key, Message] = {}
    if missing:
        saved = {message.key: message for message in _copies(ws, aside) if message.key in missing}
    # apply: a copy first, then the journal, then the file that is set aside
    kept = tuple(name for name in aside if _keep_copy(ws, name))
    with ws.files.lock(ws.paths.history_lock):
        ws.journal.record_lost(list(saved.values()))
        for name, keys in gone.cut.items():
            if keys and saved.keys() >= {*keys}:
                ws.journal.record_accepted([], name)  # the file no longer counts as short: another file has the rest
        for name, blocks in held.items():
            if moved := [block for block in blocks if block.key in homeless]:
                ws.journal.record_written(name, moved, moved=True)
    for name in kept:
        ws.files.remove(ws.memory.path_of(name))
    done = Repairs(restored=restored, saved=len(saved), set_aside=kept, doubles=doubles, pictures=bring_pictures_back(ws))
    if done != Repairs():
        counts = {"set_aside": len(kept), "doubles": len(doubles), "pictures": len(done.pictures)}
        ws.events.emit("repaired", restored=restored, saved=len(saved), **counts)
    return done


def accept(ws: Workspace, name: str) -> int:
    """
    Record that the missing messages of a dated file are not wanted; return how many. BadRequest if none are missing.

    A damaged file stays as it is: what is left of it is the person's.
    """
    with ws.files.lock(ws.paths.history_lock):
        ws.journal.refresh()
        gone = ws.deletions.absences()
        missing = gone.of(name)
        if missing is None:
            raise BadRequest(
                "--accept",
                Text("nothing is missing of {name}; `recalld status` names the dated files of which something is", name=name),
            )
        digests = {file.name: file.digest for file in ws.memory.dated() if file.name in gone.damaged}
        ws.journal.record_accepted(missing, name, digests.get(name, ""))
    ws.events.emit("accepted", file=name, messages=len(missing))
    return len(missing)


def accept_times(ws: Workspace) -> int:
    """Record that messages whose time can't be read belong to the days of their dated files; return how many."""
    with ws.files.lock(ws.paths.history_lock):
        ws.journal.refresh()
        files = [file for file in ws.memory.dated() if file.undated and file.name not in ws.journal.dated]
        ws.journal.record("dated", sorted(file.name for file in files))
    return sum(file.undated for file in files)


def _is_gone(ws: Workspace, name: str) -> bool:
    return name not in ws.journal.pruned and ws.files.disk.stat(ws.memory.path_of(name)) is None


def bring_pictures_back(ws: Workspace) -> tuple[str, ...]:
    """
    Write pictures and files again that are gone or were changed, if a copy of their message has the bytes.

    A changed file is set aside first. No lock is needed: a file is only made where there is no right one.
    """
    messages = [message.raw for message in [*ws.journal.unwritten.values()]]
    messages += [block.fields for file in ws.memory.dated() for block in ws.memory.blocks(file.name)]
    named = {name for raw in messages for name in attachments_of(raw)}
    missing = {name for name in named if ws.attachments.read(name) is None}
    copies = _copies(ws, []) if missing else ()
    raws = {name: message.raw for message in copies for name in missing.intersection(separated(message.raw)[1])}
    for raw in raws.values():
        ws.attachments.keep(raw)
    return tuple(sorted(name for name in raws if ws.attachments.read(name) is not None))


def _written_twice(ws: Workspace) -> list[str]:
    """
    Return the dated files that repeat messages of other dated files.

    Of the files with the same message the last one that was made is returned; a file in which a person wrote never is.
    """
    files = sorted(ws.memory.dated(), key=lambda file: (to_wire(file.created) if file.created else "", file.name), reverse=True)
    parsed = {file.name: dated for file in files if (dated := ws.memory.parsed(file.name))}
    keys = {name: {block.key for block in dated.blocks} for name, dated in parsed.items()}
    times = Counter(key for held in keys.values() for key in held)
    names: list[str] = []
    for name, dated in parsed.items():
        if not dated.has_more and any(times[key] > 1 for key in keys[name]):
            names.append(name)
            times.subtract(keys[name])
    return names


def _copies(ws: Workspace, aside: list[str]) -> Iterator[Message]:
    yield from history_copies(ws.files, ws.paths, ws.zone)
    for name in aside:
        path = ws.memory.path_of(name)
        version = ws.files.read_stable(path)
        # with zeros or half a character at its end it would look like another program's file
        rest = version.data.replace(b"\0", b"").decode("utf-8", "ignore").encode() if version else b""
        parsed = parse_dated(rest, path)
        for block in parsed.blocks if parsed else ():
            message = read_message(raw_of(block), ws.zone)
            if isinstance(message, Message):
                yield message


def raw_of(block: Block) -> dict[str, Any]:
    """Return the JSON object from which the block was made."""
    words = {"role": block.role, block.text_field: block.text, "createdAt": to_wire(block.created_at)}
    return {"id": block.revision_of or block.id, **words, **block.fields}


def _keep_copy(ws: Workspace, name: str) -> bool:
    version = ws.files.read_stable(ws.memory.path_of(name))
    return version is not None and ws.quarantine.keep(name, version.data) != "full"


def _delete_double(ws: Workspace, name: str) -> bool:
    """
    Delete one of the files *name* in memory/ and originals/ if all its messages are in other files; return whether it was.

    If their bytes differ, a copy is kept in quarantine, and the file that was made first stays.
    """
    memory, original = ws.paths.dated(name), ws.paths.original(name)
    versions = {path: version for path in (memory, original) if (version := ws.files.read_stable(path))}
    if len(versions) < 2:
        return False
    spare = original
    if versions[memory].data != versions[original].data:
        others = {block.key for file in ws.memory.dated() if file.name != name for block in ws.memory.blocks(file.name)}
        parsed = {path: dated for path, version in versions.items() if (dated := parse_dated(version.data, path))}
        keys = {path: {block.key for block in dated.blocks} for path, dated in parsed.items()}
        spares = [
            path
            for path, dated in parsed.items()
            if not dated.has_more and keys[path] <= others.union(*(keys[other] for other in keys if other != path))
        ]
        if not spares:
            return False
        spare = max(spares, key=lambda path: parsed[path].created)
        if ws.quarantine.keep(name, versions[spare].data) == "full":
            return False
    ws.files.ensure_durable(memory if spare == original else original)  # a person may have made this copy a moment ago
    ws.files.remove(spare)
    return True
