"""
A forgetting from the preview to the end: what would be done, the act that is written down, the sweep that finishes it.

The sweep takes the words out of what was made from them, then out of the places where they stand themselves, and then again
out of what was made: a program may have made something of them meanwhile. Only then the act is finished. Whoever is killed
leaves an unfinished act, and its words where they still stand; the next round goes on from there. A dated file is made anew
first, then the journal names it, then the old one is deleted. Source: protocol.md, 13.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from ..archive.history import messages_of
from ..archive.journal import SeenJournal
from ..archive.places import OTHERS, PLACES
from ..archive.run import taken_names
from ..archive.slug import free_name, short_id
from ..archive.tombstones import Act
from ..archive.tombstones import cut as cut_dated
from ..longterm.lines import Line, cut, filled, without_lines
from ..protocol.dated_file import Block
from ..protocol.message import History, Key, Message
from ..protocol.paths import WorkspacePaths, day_of_name
from ..storage.clock import Clock
from ..storage.control import note, noting
from ..storage.errors import TEMPORARY
from ..storage.files import Files
from ..storage.lenient_json import render_json
from ..storage.texts import Text, msgid
from ..workspace import Workspace, open_workspace
from .cleaning import Aim, attachments_in, clean_made, clean_tables
from .wanted import Spot, Wanted, blocks_at, copies, every_line, files_below, standing, standing_lines

#: Those of files that are deleted whole.
_MADE: Final = ("summaries", "turns", "previous", "quarantine", "replaced", "sessions")
#: What happens in a place, by its way.
_AGAIN: Final = msgid("written again without the words, or deleted with them: {files}")
_DELETED: Final = msgid("deleted: {files}")
_MADE_AGAIN: Final = msgid("deleted, and if need be made again from what stays: {files}")
_REMADE: Final = msgid("deleted, with what you may have written into it, and if need be made again from what stays: {files}")
#: The most files of a place that are named.
_MOST_NAMED: Final = 4


def preview(ws: Workspace, wanted: Wanted, now: datetime) -> tuple[Spot, ...]:
    """Return place by place what forgetting these would do; nothing is changed."""
    aim = Aim(ws, wanted, now, applies=False)
    go_through(aim)
    spots = []
    for what, way in {place.what: place.way for place in (*PLACES, OTHERS)}.items():
        if files := aim.touched.get(what):
            sentence = _AGAIN if way in ("messages", "lines", "names") else _MADE_AGAIN if way == "remade" else _DELETED
            sentence = _REMADE if what == "summaries" else sentence  # a person may edit these
            more = [Text("{count} more", count=len(files) - _MOST_NAMED)] if len(files) > _MOST_NAMED else []
            spots.append(Spot(what, Text(sentence, files=[*files[:_MOST_NAMED], *more]), tuple(files)))
    return tuple(spots)


def begin(ws: Workspace, wanted: Wanted, now: datetime, entropy: bytes, by: str = "") -> Act:
    """Write down what is to be forgotten, before anything is deleted; *by* is who asks for it, since a supervisor may do it."""
    ws.groups.keep(now)
    files = [(name, version.digest[:16]) for name in wanted.files if (version := ws.files.read_stable(ws.paths.root / name))]
    messages, lines = (message.entry for message in wanted.messages.values()), (line.text for line in wanted.lines)
    return ws.journal.tombstones.begin(messages, lines, files, now, entropy, by)


def sweep(ws: Workspace, now: datetime) -> int:
    """
    Take out what was forgotten and stands anywhere, and finish the acts; return how many acts were finished.

    The caller holds the supervisor's lock: nothing is filed, summarised or moved meanwhile.
    """
    unfinished = ws.journal.tombstones.unfinished()
    for path in _returned(ws):
        ws.files.remove(path)
    forgotten = _forgotten(ws, now)
    if unfinished:
        _record(unfinished[-1], Aim(ws, forgotten, now, applies=False))
    with noting():  # what it changes has the words, and is not to be undone
        go_through(Aim(ws, forgotten, now, applies=True))
    if _forgotten(ws, now):
        return 0  # a program has written the words again: the next round goes on
    for stone in unfinished:
        ws.journal.tombstones.finish(stone, now)
        ws.events.emit("forgotten", **stone.counts)
        edited = [file.digest for file in ws.memory.dated() if file.edited]  # nobody has edited them now
        note("forgotten", **stone.counts, digests=edited, **({"by": stone.by} if stone.by else {}))
    return len(unfinished)


def forget_in(folder: Path, known: Path, files: Files, environ: Mapping[str, str], clock: Clock) -> bool:
    """
    Take out of the unpacked *folder* what was forgotten in the workspace *known*.

    Return whether that is known at all: False where *known* is no workspace, or that of another memory.
    """
    mine, theirs = (SeenJournal(files, WorkspacePaths(root), UTC) for root in (folder, known))
    is_known = files.disk.stat(WorkspacePaths(known).state) and mine.tombstones.is_of(theirs.tombstones)
    if not is_known or not _are_one(mine, theirs):
        return False
    if mine.tombstones.merge(theirs.tombstones):
        ws = open_workspace(folder, environ, clock)
        ws.prepare()
        ws.journal.refresh()
        sweep(ws, clock())
    return True


def _are_one(mine: SeenJournal, theirs: SeenJournal) -> bool:
    """True if *mine* holds no message, or one that *theirs* knows or has forgotten: it is a state of that memory."""
    mine.refresh()
    theirs.refresh()
    keys_there, keys = theirs.written.keys() | theirs.unwritten.keys(), mine.written.keys() | mine.unwritten.keys()
    return not keys or not keys.isdisjoint(keys_there) or any(map(theirs.tombstones.has_key, keys))


def go_through(aim: Aim) -> None:
    """Clean all places: first what was made from the words, then these, then what was made of them meanwhile."""
    clean_made(aim)
    _clean_sources(aim)
    if aim.applies:
        clean_made(aim)
        aim.ws.files.sweep(aim.ws.paths.memory)
    clean_tables(aim)


def has_returned(ws: Workspace) -> bool:
    """Return whether forgotten words stand in a dated file, in the long-term file or in what was made of them again."""
    stones = ws.journal.tombstones
    if not stones.acts():
        return False
    for path in (ws.memory.path_of(file.name) for file in ws.memory.dated()):
        stat = ws.files.disk.stat(path)
        if stat != stones.clean.get(path):
            if any(map(stones.has, blocks_at(ws, path))):
                return True
            if stat:
                stones.clean[path] = stat
    return bool(_forgotten_lines(ws)) or any(_returned(ws))


def _returned(ws: Workspace) -> Iterator[Path]:
    """Yield the summaries, notes, receipts, copies and pictures that were deleted, and put back by another program."""
    stones, paths = ws.journal.tombstones, ws.paths
    notes = (path for path in files_below(ws, paths.memory, paths.summaries) if day_of_name(path.name) is None)
    for path in (*notes, *files_below(ws, paths.summaries), *files_below(ws, paths.attachments), *copies(ws)):
        stat = ws.files.disk.stat(path)
        if stat == stones.clean.get(path) or (version := ws.files.read_stable(path)) is None:
            continue
        if stones.shown(path, version.data) is None and not blocks_at(ws, path):
            yield path
        else:
            stones.clean[path] = version.stat


def _record(act: Act, look: Aim) -> None:
    """Write down the versions of the dated files and of what was made from them: no such file is taken for memory again."""
    ws = look.ws
    go_through(look)
    derived = [("", ws.paths.root / name) for place in _MADE for name in look.touched.get(place, ())]
    places = [*derived, *((path.name, path) for path in look.dated)]
    versions = [(name, version.digest[:16]) for name, path in places if (version := ws.files.read_stable(path))]
    ws.journal.tombstones.add(act, versions)


def _forgotten(ws: Workspace, now: datetime) -> Wanted:
    stones = ws.journal.tombstones
    messages = {key: message for key, message in standing(ws, now).items() if stones.has(message.entry)}
    return Wanted(messages, _forgotten_lines(ws), tuple(_forgotten_files(ws)))


def _forgotten_lines(ws: Workspace) -> tuple[Line, ...]:
    return tuple(line for line in every_line(ws) if ws.journal.tombstones.has_line(line.text))


def _forgotten_files(ws: Workspace) -> Iterator[str]:
    stones = ws.journal.tombstones
    if any(act.files for act in stones.acts()):
        for path in (*files_below(ws, ws.paths.memory), *files_below(ws, ws.paths.attachments), *copies(ws)):
            version, relative = ws.files.read_stable(path), ws.paths.relative(path)
            if version and stones.has_file(relative, version.digest[:16]):
                yield relative


# ── where the words stand themselves ─────────────────────────────────────────


def _clean_sources(aim: Aim) -> None:
    # pictures first: only the words lead to them
    for step in (_forget_attachments, _clean_drop_box, _clean_history, _forget_dated, _forget_lines):
        step(aim)
    for name in aim.files:
        if aim.ws.files.disk.stat(aim.ws.paths.root / name):
            aim.remove(aim.ws.paths.root / name)


def _clean_drop_box(aim: Aim) -> None:
    box = aim.ws.drop_box
    for path in list(box.finished()):
        version = aim.ws.files.read_stable(path)
        with suppress(ValueError):  # what can't be understood is no message; its copy in quarantine is looked at
            messages = box.parse(path, version) if version else []
            left = [message.raw for message in messages if message.key not in aim.messages]
            if not left and messages:
                aim.remove(path)
            elif len(left) < len(messages) and aim.note(path):
                aim.ws.files.replace(path, render_json(left), version)


def _clean_history(aim: Aim) -> None:
    store, paths = aim.ws.history, aim.ws.paths
    rule = partial(_without_keys, keys=aim.messages.keys())
    of_backup = partial(_without_keys, keys=aim.keys)

    history = store.read()
    if rule(history) != history and aim.note(paths.history):
        store.change(rule)
    if aim.applies:
        store.change_backup(of_backup)
    elif any(message.key in aim.messages for message in messages_of(aim.ws.files, paths.history_backup, aim.ws.zone)):
        aim.note(paths.history_backup)


def _without_keys(history: History, keys: Collection[Key]) -> History:
    return tuple(entry for entry in history if not isinstance(entry, Message) or entry.key not in keys)


def _forget_dated(aim: Aim) -> None:
    """Make each dated file anew without the messages, under a name of what is left; then the old ones are deleted."""
    ws = aim.ws
    present = [path for path in sorted(aim.dated) if ws.files.disk.stat(path)]
    for path in present:
        aim.note(path)
    if not aim.applies:
        return
    versions = {path: version for path in present if (version := ws.files.read_stable(path))}
    cuts = {path: _without(aim, path, version.data) for path, version in versions.items()}
    journal, renamed = ws.journal, dict[str, str]()

    def goes(key: Key) -> bool:
        return key in aim.messages or journal.tombstones.has_key(key)

    # what a person has deleted by hand is known by its file, without which it would come back from history.json
    holding = {name for key, name in journal.written.items() if not goes(key)}
    for (path, (after, kept)), slug in zip(cuts.items(), _slugs(aim, [kept for _, kept in cuts.values()]), strict=True):
        renamed[path.name] = _made_anew(aim, path, after, kept, slug, holds=path.name in holding)
    journal.compact(lambda: journal.drop(goes, renamed))
    for path in versions:
        ws.files.remove(path)


def _without(aim: Aim, path: Path, data: bytes) -> tuple[bytes, Sequence[Block]]:
    held = {block.key[0] for block in blocks_at(aim.ws, path)}  # one that a person changed is still there
    gone = sum(aim.ws.journal.file_of(key) == path.name and key[0] not in held for key in aim.messages)
    return cut_dated(data, path, lambda block: block.key in aim.messages, gone)


def _slugs(aim: Aim, files: Sequence[Sequence[Block]]) -> list[str]:
    """Return words for the names of the files; those of all at once, since a supervisor starts a process for them."""
    words = [[(block.role, block.words) for block in kept] for kept in files if kept]
    names = iter(aim.ws.slugs(words) if words else ())
    return [(next(names) or f"mem-{short_id(kept[0].id)}") if kept else "mem-left" for kept in files]


def _made_anew(aim: Aim, path: Path, after: bytes, kept: Sequence[Block], slug: str, *, holds: bool) -> str:
    """Write the file without the messages under a new name in memory/ and return that; "" where nothing of it is worth it."""
    ws, day = aim.ws, day_of_name(path.name[:10] + ".md")
    is_copy = ws.paths.relative(path) in ws.memory.copies() or day_of_name(path.name) is None
    has_other_words = bool(after.split(b"\n---\n", 1)[-1].strip())  # what a person wrote into it
    stays = kept or ((has_other_words or holds) and not is_copy)
    if not stays or (is_copy and _stand_elsewhere(aim, path, kept)):
        return ""
    day = day or kept[0].created_at.astimezone(ws.zone).date()
    for name in sorted(ws.files.disk.names(ws.paths.memory)):  # an earlier try may have made it
        if name[:10] == day.isoformat() and name != path.name and ws.files.disk.read(ws.paths.dated(name)) == after:
            return name
    name = free_name(day, slug, taken_names(ws.memory, ws.journal))
    ws.memory.write_dated(name, after)
    return name


def _stand_elsewhere(aim: Aim, path: Path, kept: Sequence[Block]) -> bool:
    others = (file.name for file in aim.ws.memory.dated() if file.name != path.name)
    return {block.key for block in kept} <= {block.key for name in others for block in aim.ws.memory.blocks(name)}


def _forget_lines(aim: Aim) -> None:
    def rule(text: str) -> str:
        return without_lines(text, [line.number for line in filled(cut(text)) if line.text in aim.lines])[0]

    stand = any(line.text in aim.lines for line in standing_lines(aim.ws))
    if stand and aim.note(aim.ws.paths.root / aim.ws.long_term.path):
        aim.ws.long_term.change(rule)


def _forget_attachments(aim: Aim) -> None:
    ws, folder = aim.ws, aim.ws.paths.attachments
    kept = {name: TEMPORARY.fullmatch(name) for name in ws.files.disk.names(folder)}
    names = {name: f"{folder.name}/{(half['name'] if half else name).partition('.aside')[0]}" for name, half in kept.items()}
    going = [name for name, whole in names.items() if whole in aim.leaving]
    others = standing(ws, aim.now).items() if going else ()
    left = attachments_in(message.entry for key, message in others if key not in aim.keys)
    for name in (name for name in going if names[name] not in left):
        aim.remove(folder / name)
