"""
Memory that was kept elsewhere: a folder of Markdown notes, and another workspace, read only.

A person's notes are copied unchanged into `memory/notes/<name of the folder>/`. Of a workspace there are its messages, its
long-term lines, its notes, and what was forgotten there: an import reads its messages alone, a source of [sources] all of it.
An entry of its long-term file becomes one here, with the name of the source behind its own: `2026-02-15|web-chat@laptop|…`.
Notes, and what else stands in that file, become notes in memory/from/NAME/, which nobody takes from here. Only what is said
there changes anything here: a line or note that is gone there stays.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Final

from ..archive.history import raw_of
from ..archive.tombstones import Tombstones, foreign_lists, keep_foreign
from ..forgetting.sweep import begin
from ..forgetting.wanted import Wanted, every_line, files_below, standing, standing_lines
from ..host.lock import supervisor_lock
from ..host.round import forget
from ..longterm.lines import Entry, cut, filled, line_with, parse_entry, with_line
from ..protocol.attachments import attachments_of, digest_in_name, holds, joined
from ..protocol.connections import State
from ..protocol.dated_file import parse_dated
from ..protocol.marks import Struck, read_struck, without_marks
from ..protocol.message import OUR_FIELDS, Message, digest_of_text, parse_history
from ..protocol.paths import LONG_TERM, is_foreign, is_unfinished
from ..storage.clock import to_wire
from ..storage.control import noting
from ..storage.disk import place_below
from ..storage.errors import AlreadyRuns
from ..storage.files import digest_of
from ..storage.texts import Text
from ..text.foreign_text import decoded
from ..workspace import Workspace
from .source import Source, names_below
from .talk import Reading, Talk

#: Bytes of a note that is searched (docs/reference/protocol.md, 10.7).
MOST_BYTES: Final = 20_000_000
#: The folder below memory/ with the notes of other workspaces.
FROM: Final = "from"
#: Where a workspace has what was forgotten in it.
LIST: Final = ".recalld/forgotten.jsonl"
#: What became of a note.
NEW: Final = "new"
SAME: Final = "same"
DIFFERENT: Final = Text("the note was changed or deleted here, and stays as it is")
NO_NOTE: Final = Text("its name leads elsewhere, or can't be that of a note")
TOO_LARGE: Final = Text("it is larger than 20 MB")
#: How a dated file begins.
_HEAD: Final = b"---\nrecalld:"
#: What is more than so many messages, lines and notes within a day waits until a person has it forgotten.
_MOST_A_DAY: Final = 50
_DAY: Final = timedelta(days=1)


# ── a person's notes ─────────────────────────────────────────────────────────


def notes_of(source: Source) -> list[str]:
    """Return the members that are notes: Markdown in UTF-8, with no part of its path hidden."""
    names = (name for name in sorted(source.names) if name.endswith(".md") and "/." not in f"/{name}")
    return [name for name in names if not any(map(is_unfinished, name.split("/")))]


def notes_folder(ws: Workspace, source: Source) -> Path:
    """Return the folder of the notes of a source; one that is hidden would never be read."""
    return ws.paths.memory / "notes" / (source.path.stem.lstrip(".") or "imported")


def copy_notes(ws: Workspace, source: Source, known: dict[str, str], *, dry_run: bool = False) -> dict[str, str]:
    """Copy the notes of a source into their folder, and return what became of each, as `_write_notes` does."""
    folder, notes = notes_folder(ws, source), _read_notes(source, notes_of(source))
    return _write_notes(ws, folder, notes, known, base=ws.paths.memory, dry_run=dry_run)


def _read_notes(source: Source, names: Iterable[str]) -> dict[str, bytes]:
    """Return these notes of a source; no dated files, and one that is no text is left out."""
    notes: dict[str, bytes] = {}
    for name in names:
        with source.sparing(name):
            data = source.read(name)
            data.decode()
            notes |= {} if data.startswith(_HEAD) else {name: data}
    return notes


def _write_notes(
    ws: Workspace, folder: Path, notes: Mapping[str, bytes], known: dict[str, str], *, base: Path, dry_run: bool = False
) -> dict[str, str]:
    """
    Write notes of a source as they are there, and return what became of each: `NEW`, `SAME`, or why it is not written.

    *known* has what was written before, and grows: what somebody has changed or deleted here since stays so. One that was
    forgotten here does not come back. A name may lead anywhere below *base*.
    """
    done: dict[str, str] = {}
    for name, data in notes.items():
        place = place_below(base, "/".join([*folder.relative_to(base).parts, name]), from_here=True)
        if place is None or is_foreign(name) or any(above.is_file() for above in place.parents):
            done[name] = NO_NOTE
            continue
        version, key, digest = ws.files.read_stable(place), digest_of_text(name), digest_of(data)
        here = version.digest if version else None
        if len(data) > MOST_BYTES:
            done[name] = TOO_LARGE
        elif here == digest:
            done[name], known[key] = SAME, digest
        elif ws.journal.tombstones.has_file(ws.paths.relative(place), digest[:16]):
            done[name] = SAME
        elif here != known.get(key):
            done[name] = DIFFERENT
        else:
            done[name] = NEW
            if not dry_run:
                ws.files.make_folder(place.parent)
                ws.files.replace(place, data, version)
                known[key] = digest
    return done


# ── the messages of a workspace ──────────────────────────────────────────────


def files_of(root: Path) -> Iterable[str]:
    """Return the paths of what may be taken of the workspace there, one after another, whether they are there or not."""
    return chain((LIST, "history.json", *LONG_TERM[:2]), names_below(root, root / "memory"))


def is_taken(name: str) -> bool:
    """
    True if a file of a workspace, by its path there, is one that is read.

    >>> is_taken("memory/2026-01-28-deploy.md"), is_taken("memory/from/laptop/garden.md"), is_taken("turns/a.json")
    (True, False, False)
    """
    if name in (LIST, "history.json", *LONG_TERM):
        return True
    top, *folders = name.split("/")
    return (
        top == "memory" and name.endswith(".md") and folders[0] not in ("summary", FROM) and not any(map(is_foreign, folders))
    )


def has_messages(source: Source, name: str) -> bool:
    """True if a file is the history of a workspace, or a dated file with recalld's head."""
    path = PurePosixPath(name)
    if path.match("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]-*.md"):
        return source.beginning(name, len(_HEAD)) == _HEAD
    return path.name == "history.json"


def messages_of(log: Reading, name: str) -> Talk:
    """
    Yield the messages of a workspace word for word, as `Reading.message_of` returns those of a record.

    The clock there has judged the times of dated files; these alone are believed when they are after `latest`.
    """
    if name.endswith(".json"):
        yield from _of_history(log, name)
        return
    dated = parse_dated(log.source.read(name), Path(name))
    if dated is None:
        log.unread["file"] += 1
    elif not dated.is_edited or not log.may_wait(name):  # it is edited, or cut off: it is read when it stays so
        for block in dated.blocks:
            raw = raw_of(block)
            is_whole = all(_bytes_at(log.source, path) is not None for path in attachments_of(raw))
            if not is_whole and log.may_wait(name):  # a picture is not there yet
                break
            yield raw | {"createdAt": block.created_at}


def _of_history(log: Reading, name: str) -> Talk:
    try:
        history = parse_history(log.source.read(name), log.zone)
    except ValueError:  # it is cut off, or no history
        if not log.may_wait(name):
            log.unread["file"] += 1
        return
    for n, entry in enumerate(history):
        if not isinstance(entry, Message):
            log.unread["message"] += 1
            continue
        at = entry.created_at if entry.created_at and entry.created_at <= log.latest else None
        if log.settled is not None and not (entry.id and at):
            continue  # the supervisor there gives it both, or files it as it is, and it comes then
        raw = {field: value for field, value in entry.raw.items() if field not in OUR_FIELDS}
        raw["id"] = entry.id or f"{name}#{n}-{entry.fingerprint}"
        yield raw | {"createdAt": at}


def whole(raw: dict[str, Any], source: Source) -> dict[str, Any]:
    """Return a message with the bytes of its pictures and files, as far as its source has them."""
    return {**joined(raw, lambda path: _bytes_at(source, path))}


def _bytes_at(source: Source, path: str) -> bytes | None:
    """Return the bytes of a picture or file that a message of a workspace names; None where it is not there, or not whole."""
    data = source.beside(path) if digest_in_name(path) else None
    return data if data is not None and holds(path, data) else None


# ── what was forgotten there ─────────────────────────────────────────────────


def forget_theirs(ws: Workspace, root: Path, name: str, now: datetime, *, yes: bool | None = None) -> Wanted:
    """
    Forget what was forgotten there and stands here, and return what is left of it: all with *yes*, none with False.

    Else it is nothing, where it is too much with what was forgotten for this source within a day: a source that is somebody
    else's takes little at a time, however often it is looked at.
    """
    by, most = f"source {name}", _MOST_A_DAY if yes is None else 10**9 if yes else -1
    with closing(Source(root, [LIST])) as source:
        data = source.beside(LIST)
    stones = keep_foreign(ws.files, ws.paths, data) if data else None
    if stones is None or not stones.unfinished():
        return Wanted()
    unwanted = _unwanted(ws, stones, name, now)
    since = to_wire(now - _DAY)
    today = (act.counts for act in ws.journal.tombstones.acts() if act.by == by and act.begun > since)
    if len(unwanted) + sum(sum(counts.values()) for counts in today) > most:
        return unwanted
    if unwanted:
        begin(ws, unwanted, now, os.urandom(32), by=by)
        with noting() as noted, suppress(AlreadyRuns):  # else the supervisor does it in its next round
            with supervisor_lock(ws), ws.journal.held():
                forget(ws, now)
            ws.diary.keep(noted, now)
    for act in stones.unfinished():
        stones.finish(act, now)
    return Wanted()


def _unwanted(ws: Workspace, stones: Tombstones, name: str, now: datetime) -> Wanted:
    ws.journal.refresh()
    messages = {key: message for key, message in standing(ws, now).items() if stones.has(message.entry)}
    lines = tuple(line for line in standing_lines(ws) if stones.has_line(line.text))
    folder = ws.paths.memory / FROM / name
    notes = (
        ws.paths.relative(path)
        for path in files_below(ws, folder)
        if (version := ws.files.read_stable(path))
        and stones.has_file(f"memory/{path.relative_to(folder).as_posix()}", version.digest[:16])
    )
    return Wanted(messages, lines, tuple(notes))


# ── its long-term lines and notes ────────────────────────────────────────────


def take_texts(ws: Workspace, source: Source, name: str, now: datetime, state: State) -> dict[str, str]:
    """
    Take in the long-term lines and notes of another workspace, and return what became of the notes, by their paths there.

    The *state* has what was taken before. A line that was known before stays as it is here: whoever has deleted it meanwhile
    does not get it again.
    """
    texts = _read_notes(source, (path for path in source.names if path.endswith(".md") and is_taken(path)))
    first = next((path for path in LONG_TERM if path in texts or source.beside(path) is not None), "")
    written = {path.removeprefix("memory/"): data for path, data in texts.items() if path not in LONG_TERM}
    if first in texts:
        text = decoded(texts[first]).removeprefix("\ufeff")
        state.lines = _take_lines(ws, name, text, now, {*state.lines})
        rest = "\n".join(line for line in cut(text) if not parse_entry(line))
        if any(line.strip() and not line.startswith("#") for line in rest.split("\n")):
            written["memory.md"] = f"{rest.strip()}\n".encode()
    folder = ws.paths.memory / FROM / name
    became = _write_notes(ws, folder, written, state.notes, base=folder)
    return {f"memory/{path}": what for path, what in became.items()}


def _take_lines(ws: Workspace, name: str, text: str, now: datetime, known: set[str]) -> tuple[str, ...]:
    """Add the entries of the long-term file there, end those that ended there, and return what is *known* with them."""
    entries = [entry for line in filled(cut(text)) if (entry := parse_entry(line.text))]
    known |= {_name_of(entry) for line in every_line(ws) if (entry := parse_entry(line.text))}
    new = [entry for entry in entries if _name_of(entry) not in known]
    stones = (ws.journal.tombstones, *foreign_lists(ws.files, ws.paths))

    def rule(before: str) -> str:
        after = before
        for entry in new:
            changed = _with_entry(after, entry, name)
            if not any(stone.has_line(line) for stone in stones for line in {*cut(changed)} - {*cut(after)}):
                after = changed
        return after

    if new:
        with noting() as noted:
            ws.long_term.change(rule, kind="written")
        ws.diary.keep(noted, now, f"source {name}")
    return tuple(sorted(known.union(map(_name_of, entries))))


def _name_of(entry: Entry) -> str:
    return digest_of_text(f"{entry.day}|{entry.content}")


def _with_entry(text: str, entry: Entry, name: str) -> str:
    """
    Return the text with the entry of another workspace: with its line, or with one here that says the same, struck.

    What ended here is said once more only by an entry of a later day, and such an entry is not ended by an earlier end.
    """
    words, struck = _words_of(entry), read_struck(entry.content)
    same = [(line, mine) for line in filled(cut(text)) if (mine := parse_entry(line.text)) and _words_of(mine) == words]
    for line, mine in same:
        if struck and not read_struck(mine.content) and not _is_after(mine, struck):
            lines, shown = text.split("\n"), line.text.removesuffix(mine.content) + entry.content
            lines[line.number - 1] = lines[line.number - 1].replace(line.text, shown)
            return "\n".join(lines)
    ends = [end for _, mine in same if (end := read_struck(mine.content))]
    if line_with(text, words) or not all(_is_after(entry, end) for end in ends):
        return text
    home = entry.source if "@" in entry.source else f"{entry.source}@{name}"
    return with_line(text, f"{entry.day}|{home}|{entry.content}")


def _words_of(entry: Entry) -> str:
    struck = read_struck(entry.content)
    return without_marks(struck.words if struck else entry.content)


def _is_after(entry: Entry, ended: Struck) -> bool:
    """True if the entry stands, and is of a day after the one on which its words ended."""
    return not read_struck(entry.content) and ended.until is not None and entry.day > ended.until
