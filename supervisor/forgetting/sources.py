"""
Where the words themselves stand: history.json and its backup, the drop-box, dated files, the journal, the long-term file.

Each function goes through one place, and doing it again is harmless. A dated file is made anew first, then the journal names
it, then the old one is deleted: whoever is killed between finds the old file, and does it again.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from ..archive.run import taken_names
from ..archive.slug import free_name, short_id
from ..archive.tombstones import cut
from ..longterm.lines import cut as cut_lines
from ..longterm.lines import filled, without_lines
from ..protocol.attachments import attachments_of, named
from ..protocol.dated_file import Block
from ..protocol.message import Message
from ..protocol.paths import dated_name, day_of_name
from ..storage.lenient_json import render_json
from .wanted import blocks_at, standing_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..archive.tombstones import Act
    from ..protocol.message import Entry, History
    from .aim import Aim


def forget_sources(aim: Aim, act: Act | None) -> None:
    """Take the words out of the places where they stand themselves."""
    _empty_drop_box(aim)
    _clean_history(aim)
    _forget_dated(aim, act)
    _forget_lines(aim)
    _forget_attachments(aim)
    for name in aim.files:
        if aim.ws.files.disk.stat(aim.ws.paths.root / name):
            aim.remove(aim.ws.paths.root / name)


def _is_left(aim: Aim, entry: Entry) -> bool:
    return not isinstance(entry, Message) or entry.key not in aim.messages


def _clean_history(aim: Aim) -> None:
    store, paths = aim.ws.history, aim.ws.paths

    def rule(history: History) -> History:
        return tuple(entry for entry in history if _is_left(aim, entry))

    history = store.read()
    if rule(history) != history and aim.note(paths.history):
        store.change(rule)
    before = store.backup()
    was_changed = aim.applies and "history" in aim.touched  # then the backup is the version before
    if (was_changed or rule(before) != before) and aim.note(paths.history_backup):
        store.change_backup(rule)


def _empty_drop_box(aim: Aim) -> None:
    box = aim.ws.drop_box
    for path in list(box.finished()):
        version = box.read(path)
        with suppress(ValueError):  # what can't be understood is no message; its copy in quarantine is looked at
            messages = box.parse(path, version) if version else []
            left = [message.raw for message in messages if message.key not in aim.messages]
            if len(left) == len(messages):
                continue
            if left:
                aim.replace(path, render_json(left))
            else:
                aim.remove(path)


# ── dated files ──────────────────────────────────────────────────────────────


def _forget_dated(aim: Aim, act: Act | None) -> None:
    """Make each dated file anew without the messages, under a name of what is left; then the old ones are deleted."""
    ws = aim.ws
    paths = {path for message in aim.messages.values() for path in message.files}
    paths |= {ws.memory.path_of(name) for name in filter(None, map(ws.journal.file_of, aim.messages))}
    present = [path for path in sorted(paths) if ws.files.disk.stat(path)]
    if not aim.applies:
        for path in present:
            aim.note(path)
        return
    versions = {path: version for path in present if (version := ws.files.read_stable(path))}
    if act and versions:
        ws.journal.tombstones.add_versions(act, [(path.name, version.digest[:16]) for path, version in versions.items()])
    cuts = {path: _without(aim, path, version.data) for path, version in versions.items()}
    for (path, (after, kept)), slug in zip(cuts.items(), _slugs(aim, [kept for _, kept in cuts.values()]), strict=True):
        aim.note(path)
        aim.renamed[path.name] = _made_anew(aim, path, after, kept, slug)
    ws.journal.forget(lambda key: key in aim.messages or ws.journal.tombstones.has_key(key), aim.renamed)
    for path in versions:
        ws.files.remove(path)


def _without(aim: Aim, path: Path, data: bytes) -> tuple[bytes, Sequence[Block]]:
    """Return the file without the messages, and the blocks that are left."""
    held = {block.key[0] for block in blocks_at(aim.ws, path)}  # one that a person changed is still there
    gone = sum(aim.ws.journal.file_of(key) == path.name and key[0] not in held for key in aim.messages)
    return cut(data, path, lambda block: block.key in aim.messages, gone)


def _slugs(aim: Aim, files: Sequence[Sequence[Block]]) -> list[str]:
    """Return words for the names of the files; those of all at once, since a supervisor starts a process for them."""
    named = [kept for kept in files if kept]
    words = [[(block.role, block.words) for block in kept] for kept in named]
    names = iter(aim.ws.slugs(words) if words else ())
    return [(next(names) or f"mem-{short_id(kept[0].id)}") if kept else "mem-left" for kept in files]


def _made_anew(aim: Aim, path: Path, after: bytes, kept: Sequence[Block], slug: str) -> str:
    """Write the file without the messages and return its name, "" where nothing is left of it."""
    ws = aim.ws
    is_copy = ws.paths.relative(path) in ws.memory.copies() or day_of_name(path.name) is None
    if is_copy or not (kept or _has_other_words(after)):
        return "" if (is_copy and _stand_elsewhere(aim, path, kept)) or not kept else _moved(aim, path, after, kept, slug)
    return _moved(aim, path, after, kept, slug)


def _moved(aim: Aim, path: Path, data: bytes, kept: Sequence[Block], slug: str) -> str:
    """Create the file under a new name in memory/ and return that; one that an earlier try has made is used."""
    ws, day = aim.ws, day_of_name(path.name[:10] + ".md")
    if day is None:
        day = kept[0].created_at.astimezone(ws.zone).date()
    for name in sorted(ws.files.disk.names(ws.paths.memory)):
        if name[:10] == day.isoformat() and name != path.name and ws.files.disk.read(ws.paths.dated(name)) == data:
            return name
    name = free_name(partial(dated_name, day), slug, taken_names(ws.memory, ws.journal))
    ws.memory.write_dated(name, data)
    return name


def _has_other_words(data: bytes) -> bool:
    """Return whether a file without messages has anything below its head: what a person wrote into it."""
    return bool(data.split(b"\n---\n", 1)[-1].strip())


def _stand_elsewhere(aim: Aim, path: Path, kept: Sequence[Block]) -> bool:
    held = {block.key for file in aim.ws.memory.dated() if file.name != path.name for block in aim.ws.memory.blocks(file.name)}
    return all(block.key in held for block in kept)


# ── lines, pictures ──────────────────────────────────────────────────────────


def _forget_lines(aim: Aim) -> None:
    store = aim.ws.long_term
    stand = any(line.text in aim.lines for line in standing_lines(aim.ws))
    if stand and aim.note(aim.ws.paths.root / store.path):

        def rule(text: str) -> str:
            return without_lines(text, [line.number for line in filled(cut_lines(text)) if line.text in aim.lines])[0]

        store.change(rule)


def _forget_attachments(aim: Aim) -> None:
    """Delete the pictures and files that no other message names."""
    ws = aim.ws
    identities = [message.said for message in aim.messages.values()]
    mine = {
        name
        for message in identities
        for name in attachments_of(message.fields if isinstance(message, Block) else named(message.raw))
    }
    if not mine:
        return
    left = {
        name
        for file in ws.memory.dated()
        for block in ws.memory.blocks(file.name)
        if block.key not in aim.messages
        for name in attachments_of(block.fields)
    }
    messages = [entry for entry in (*ws.history.read(), *ws.journal.unwritten.values()) if isinstance(entry, Message)]
    left |= {name for message in messages if message.key not in aim.messages for name in attachments_of(named(message.raw))}
    for name in ws.files.disk.names(ws.paths.attachments):
        whole = f"{ws.paths.attachments.name}/{name.partition('.aside')[0]}"
        if (whole in mine or name in mine) and whole not in left and name not in left:
            aim.remove(ws.paths.attachments / name)
