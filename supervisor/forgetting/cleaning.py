"""
How a forgetting cleans each place: what was made from the words is deleted, and where they stand themselves they are taken out.

Doing it again is harmless. A dated file is made anew first, then the journal names it, then the old one is deleted: whoever is
killed between finds the old file, and does it again. What only the words lead to, names in logs and pictures, is known by the
act from then on (`Tombstones.has_name`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from ..archive.history import messages_of
from ..archive.places import LEFT, place_of
from ..archive.run import taken_names
from ..archive.slug import free_name, short_id
from ..archive.tombstones import cut as cut_dated
from ..conversation.sessions import RunningSummary, session_digest
from ..longterm.lines import cut, filled, parse_entry, without_lines
from ..protocol.attachments import attachments_of, separated
from ..protocol.dated_file import Block
from ..protocol.message import History, Key, Message
from ..protocol.paths import dated_name, day_of_name
from ..storage.errors import TEMPORARY, Conflict
from ..storage.lenient_json import parse_json, render_json
from ..workspace import Workspace
from .logs import DATED, TORN, named_files, without_names
from .wanted import Trace, Wanted, blocks_at, changed_lines, copies, decoded, files_below, standing, standing_lines, text_at

#: How often a file that another program changes meanwhile is read again.
_TIMES: Final = 3


class Aim:
    """
    The messages, *lines* and *files* to forget; without *applies* it is only looked what would be done.

    *touched* has the paths of the files that were changed or deleted, by place, and *removed* of those that were deleted.
    """

    def __init__(self, ws: Workspace, wanted: Wanted, now: datetime, *, applies: bool) -> None:
        self.ws, self.now, self.applies = ws, now, applies
        self.messages, self.files = wanted.messages, wanted.files
        self.lines = tuple(line.text for line in wanted.lines)
        self.touched: dict[str, list[str]] = {}
        self.removed: set[str] = set()
        entries = [message.entry for message in wanted.messages.values()]
        recorded = map(ws.memory.path_of, filter(None, map(ws.journal.file_of, wanted.messages)))
        #: The dated files that have the messages, or had them, and their names.
        self.dated = frozenset(recorded).union(*(message.files for message in wanted.messages.values()))
        self.names = frozenset(path.name for path in self.dated)
        logged = {ws.paths.relative(path) for path in self.dated}.union(
            match[0] for match in map(DATED.match, self.names) if match
        )
        #: What nothing leads to once the words are gone: pictures by their names, files by the names that logs have of them.
        self.leaving = frozenset((*logged, *self.files, *_attachments(entries)))
        contents = [entry.content if (entry := parse_entry(line)) else line for line in self.lines]
        begun = (message for act in ws.journal.tombstones.unfinished() for message in act.messages)
        ids = {*(key[0] for key in wanted.messages), *(message[0] for message in begun)}
        #: The words, and what stands for them: ids of messages and names of dated files.
        self.trace = Trace([*(entry.text for entry in entries), *contents], ids | self.names)
        notes = (name for name in self.files if name.endswith(".md") and ws.paths.memory in (ws.paths.root / name).parents)
        #: The words of those *files* that are notes: a receipt may have them under an earlier name.
        self.notes = Trace(line for name in notes for line in text_at(ws, ws.paths.root / name).splitlines())
        #: The summaries that name the dated files, or have the words.
        self.summaries = tuple(
            period
            for period, summary in sorted(ws.memory.summaries().items(), key=lambda item: item[0].label)
            if any(source.name in self.names for source in summary.sources) or self.trace.is_in(summary.text)
        )

    def leaves(self, name: str) -> bool:
        """True if this picture goes, or this name of a file, by what stands or by an act that is not finished."""
        return name in self.leaving or self.ws.journal.tombstones.has_name(name)

    def note(self, path: Path) -> bool:
        """Note that this file is changed or deleted; return whether that is to be done, not only shown."""
        relative = self.ws.paths.relative(path)
        place = place_of(relative)
        known = self.touched.setdefault(place.what if place else "others", [])
        if relative not in known:
            known.append(relative)
        return self.applies

    def remove(self, path: Path) -> None:
        """Delete the file, or show that it would be."""
        self.removed.add(self.ws.paths.relative(path))
        if self.note(path):
            self.ws.files.remove(path)

    def clean(self, path: Path, rule: Callable[[bytes], bytes]) -> None:
        """
        Replace the file by what the *rule* leaves of it, or show that it would be.

        What another program writes meanwhile is read, too, a few times; after that the words go, and what it wrote with them.
        """
        for _ in range(_TIMES):
            version = self.ws.files.read_stable(path)
            after = rule(version.data) if version else b""
            if version is None or after == version.data or not self.note(path):
                return
            with suppress(Conflict):
                self.ws.files.replace(path, after, version)
                return
        self.ws.files.replace(path, after, self.ws.files.read_stable(path))


def go_through(aim: Aim) -> None:
    """Clean all places: first what was made from the words, then these, then what was made of them meanwhile."""
    _clean_made(aim)
    _clean_sources(aim)
    if aim.applies:
        _clean_made(aim)
        aim.ws.files.sweep(aim.ws.paths.memory)
    _clean_tables(aim)


# ── what was made from the words ─────────────────────────────────────────────


def _clean_made(aim: Aim) -> None:
    _drop_files(aim)
    _drop_unfinished(aim)
    _drop_running_summaries(aim)
    _clean_lines(aim)
    _clean_inbox(aim)


def _drop_files(aim: Aim) -> None:
    """Delete the tasks, summaries, receipts and copies that have the words, or are made of a file that goes."""
    ws, paths, queue = aim.ws, aim.ws.paths, aim.ws.task_queue
    gone = [*(paths.relative(paths.summary(period)) for period in aim.summaries), *aim.files]
    naming = re.compile("|".join(rf"(?<![\w./-]){re.escape(name)}(?![\w~-]|\.\w)" for name in gone)) if gone else None
    folders = (queue.queue, queue.running, queue.results, queue.failed, paths.pieces, paths.summaries)
    derived = [path for folder in folders for path in files_below(ws, folder)]
    for path, is_copy in (*((path, False) for path in derived), *((path, True) for path in copies(ws))):
        text = text_at(ws, path)
        names_it = is_copy and naming and paths.drop_box not in path.parents and naming.search(text)
        shows_note = path.parent == paths.turns and aim.notes.is_in(text)
        if names_it or shows_note or _is_of_day(aim, path) or aim.trace.is_in(path.name) or aim.trace.is_in(text):
            aim.remove(path)


def _drop_unfinished(aim: Aim) -> None:
    """Delete what a killed program has not finished writing; one that keeps a message holds the lock, or uses the drop-box."""
    ws, paths = aim.ws, aim.ws.paths
    places = [paths.root / name for name in ws.files.disk.names(paths.root)]
    for folder in (paths.memory, paths.trash, paths.state, paths.turns, paths.attachments):
        places += files_below(ws, folder)
    unfinished = [(path, path.with_name(match["name"])) for path in places if (match := TEMPORARY.fullmatch(path.name))]
    for path, whole in unfinished:
        with ws.history.lock() if aim.applies else nullcontext():
            if ws.files.disk.stat(path) and (aim.leaves(paths.relative(whole)) or aim.trace.is_in(text_at(ws, path))):
                aim.remove(path)


def _is_of_day(aim: Aim, path: Path) -> bool:
    """True if the name says that it is made of a day or month whose files or summaries go."""
    labels = {name[:length] for name in aim.names for length in (len("2026-01-28"), len("2026-01"))}
    place = place_of(aim.ws.paths.relative(path))
    match place and place.what:
        case "tasks" | "pieces":
            return any(label in path.name for label in labels)
        case "summaries" | "previous":
            return path.name.partition(".")[0] in {period.label for period in aim.summaries}
    return False


def _drop_running_summaries(aim: Aim) -> None:
    store, paths = aim.ws.session_files, aim.ws.paths
    for session in sorted({message.session for message in aim.messages.values()}):
        path = paths.session(session_digest(session))
        if aim.ws.files.disk.stat(path) is None:
            continue
        with store.locked(session):
            progress = store.read(session)
            intent = None if progress.intent and aim.trace.is_in(progress.intent.text) else progress.intent
            after = replace(progress, running=RunningSummary(), intent=intent)
            if after != progress and aim.note(path):
                store.keep(session, after)


def _clean_lines(aim: Aim) -> None:
    """Take the lines with the words out of the chats of LlamaIndex, of what is no longer true, and of what could be undone."""
    ws = aim.ws
    for path in files_below(ws, ws.paths.sessions):
        if path.name.startswith("chat-") and path.suffix == ".jsonl" and aim.trace.is_in(text_at(ws, path)):
            with ws.files.lock(path.with_suffix(".lock")):
                aim.clean(path, partial(_without_lines, aim, head=1))
    aim.clean(ws.paths.acts, partial(_without_names, aim))
    for path in (ws.paths.ended, ws.paths.acts):
        aim.clean(path, partial(_without_lines, aim))


def _without_lines(aim: Aim, data: bytes, head: int = 0) -> bytes:
    return b"\n".join(
        line
        for number, line in enumerate(data.split(b"\n"))
        if number < head or not (aim.trace.is_in(decoded(line)) or _changed_line(line, aim.lines))
    )


def _without_names(aim: Aim, data: bytes) -> bytes:
    """Take the names of the dated files out of the acts that moved others, too: these can still be brought back."""
    lines = data.split(b"\n")
    for number, line in enumerate(lines):
        with suppress(ValueError, LookupError, TypeError):
            act = parse_json(line)
            left = [name for name in act["files"] if not aim.trace.is_in(name)]
            if left and left != act["files"]:
                lines[number] = render_json({**act, "files": left, "count": len(left)})
    return b"\n".join(lines)


def _changed_line(act: bytes, lines: Sequence[str]) -> bool:
    """Return whether the act, a line of acts.jsonl, wrote or took away one of the lines: one is too short for a trace."""
    try:
        return any(text in lines for text in changed_lines(parse_json(act)["hunks"] if lines else ()))
    except (ValueError, LookupError, TypeError):
        return False


def _clean_inbox(aim: Aim) -> None:
    paths, files = aim.ws.paths, aim.ws.files
    if not aim.trace.is_in(text_at(aim.ws, paths.inbox)):
        return
    with files.lock(paths.inbox_lock), suppress(ValueError):  # what can't be read is reported, and stays
        aim.clean(paths.inbox, partial(_without_inputs, aim))


def _without_inputs(aim: Aim, data: bytes) -> bytes:
    inputs: Any = parse_json(data)
    if not (isinstance(inputs, list) and aim.trace.is_in(decoded(data))):
        return data
    return render_json([entry for entry in inputs if not aim.trace.is_in(decoded(render_json(entry)))]) + b"\n"


def _clean_tables(aim: Aim) -> None:
    """Delete the index, the vectors and the tables, which are made again, and take the names of files out of the logs."""
    paths, files = aim.ws.paths, aim.ws.files
    for folder, lock in ((paths.state / "index", "index.lock"), (paths.vectors, "vectors.lock")):
        if any(files_below(aim.ws, folder)) and aim.note(folder):
            with files.lock(paths.state / lock):  # listed under it: its writer deletes what it has merged
                listed = files_below(aim.ws, folder)
                for path in sorted(listed, key=lambda path: path.name != "meta.json"):  # the list before what it names
                    with suppress(FileNotFoundError):  # an engine that is still open deletes files of its own, too
                        files.disk.unlink(path)
                files.disk.sync_folder(folder)
    if aim.applies:
        aim.ws.index.close()  # it is opened again when it is made
    for table in (paths.root / name for name in LEFT):
        if files.disk.stat(table):
            aim.remove(table)
    for path in named_files(aim.ws):
        try:
            aim.clean(path, partial(without_names, aim.names, aim.leaves, path.suffix == ".gz"))
        except TORN:  # nobody can read which names it has
            aim.remove(path)


# ── where the words stand themselves ─────────────────────────────────────────


def _clean_sources(aim: Aim) -> None:
    _clean_drop_box(aim)
    _clean_history(aim)
    _forget_dated(aim)
    _forget_lines(aim)
    _forget_attachments(aim)
    for name in aim.files:
        if aim.ws.files.disk.stat(aim.ws.paths.root / name):
            aim.remove(aim.ws.paths.root / name)


def _clean_drop_box(aim: Aim) -> None:
    box = aim.ws.drop_box
    for path in list(box.finished()):
        version = box.read(path)
        with suppress(ValueError):  # what can't be understood is no message; its copy in quarantine is looked at
            messages = box.parse(path, version) if version else []
            left = [message.raw for message in messages if message.key not in aim.messages]
            if not left and messages:
                aim.remove(path)
            elif len(left) < len(messages) and aim.note(path):
                aim.ws.files.replace(path, render_json(left), version)


def _clean_history(aim: Aim) -> None:
    store, paths = aim.ws.history, aim.ws.paths
    nameless = {("", message.entry.key[1]) for message in aim.messages.values()}  # as they were before they got an id
    rule = partial(_without_keys, keys=aim.messages.keys())
    of_backup = partial(_without_keys, keys=aim.messages.keys() | nameless)

    history = store.read()
    if rule(history) != history and aim.note(paths.history):
        store.change(rule)
    before = store.backup()
    cut_off = () if before else tuple(messages_of(aim.ws.files, paths.history_backup, aim.ws.zone))
    if rule(cut_off) != cut_off:
        aim.remove(paths.history_backup)
    was_changed = aim.applies and "history" in aim.touched  # then the backup is the version before
    if (was_changed or of_backup(before) != before) and aim.note(paths.history_backup):
        store.change_backup(of_backup)


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
    renamed: dict[str, str] = {}
    for (path, (after, kept)), slug in zip(cuts.items(), _slugs(aim, [kept for _, kept in cuts.values()]), strict=True):
        renamed[path.name] = _made_anew(aim, path, after, kept, slug)
    ws.journal.forget(lambda key: key in aim.messages or ws.journal.tombstones.has_key(key), renamed)
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


def _made_anew(aim: Aim, path: Path, after: bytes, kept: Sequence[Block], slug: str) -> str:
    """Write the file without the messages under a new name in memory/ and return that; "" where nothing of it is worth it."""
    ws, day = aim.ws, day_of_name(path.name[:10] + ".md")
    is_copy = ws.paths.relative(path) in ws.memory.copies() or day_of_name(path.name) is None
    has_other_words = bool(after.split(b"\n---\n", 1)[-1].strip())  # what a person wrote into it
    stays = kept or (has_other_words and not is_copy)
    if not stays or (is_copy and _stand_elsewhere(aim, path, kept)):
        return ""
    day = day or kept[0].created_at.astimezone(ws.zone).date()
    for name in sorted(ws.files.disk.names(ws.paths.memory)):  # an earlier try may have made it
        if name[:10] == day.isoformat() and name != path.name and ws.files.disk.read(ws.paths.dated(name)) == after:
            return name
    name = free_name(partial(dated_name, day), slug, taken_names(ws.memory, ws.journal))
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
    names = {name: f"{folder.name}/{name.partition('.aside')[0]}" for name in ws.files.disk.names(folder)}
    going = [name for name, whole in names.items() if aim.leaves(whole)]
    others = standing(ws, aim.now).items() if going else ()
    left = _attachments(message.entry for key, message in others if key not in aim.messages)
    for name in (name for name in going if names[name] not in left):
        aim.remove(folder / name)


def _attachments(messages: Iterable[Message | Block]) -> set[str]:
    fields = (message.fields if isinstance(message, Block) else separated(message.raw)[0] for message in messages)
    return {name for content in fields for name in attachments_of(content)}
