"""
What a forgetting does to each place: what was made from the words is deleted, where they stand themselves they are taken out.

Each function yields the changes one by one: a preview lists them, a sweep applies each before it asks for the next. Doing it
again is harmless. A dated file is made anew first, then the journal names it, then the old one is deleted: whoever is
killed between finds the old file, and does it again.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..archive.places import LEFT
from ..archive.run import taken_names
from ..archive.slug import free_name, short_id
from ..archive.tombstones import cut as cut_dated
from ..conversation.sessions import RunningSummary, session_digest
from ..longterm.lines import cut, filled, parse_entry, without_lines
from ..protocol.attachments import attachments_of, separated
from ..protocol.dated_file import Block
from ..protocol.message import History, Key, Message
from ..protocol.paths import dated_name, day_of_name
from ..protocol.period import Period
from ..storage.lenient_json import parse_json, render_json
from ..text.lazy_re import lazy_re
from .wanted import Standing, Trace, blocks_at, decoded, files_below, standing_lines

if TYPE_CHECKING:
    from ..archive.tombstones import Act
    from ..storage.files import FileVersion
    from ..workspace import Workspace


#: The day or month in the name of what is made of it; a digest may follow.
_PERIOD: Final = lazy_re(r"\d{4}-\d\d(?:-\d\d(?![0-9a-f]))?")


class Change(NamedTuple):
    """What a forgetting does to files, by their *paths*: `apply` deletes them, or writes them again without the words."""

    paths: tuple[Path, ...]
    apply: Callable[[], object]


@dataclass
class Aim:
    """
    The *messages*, *lines* and *files* to forget, for an *act*; None: for none that is written down.

    *renamed* has the dated files that were made anew.
    """

    ws: Workspace
    now: datetime
    messages: Mapping[Key, Standing]
    lines: tuple[str, ...]
    files: tuple[str, ...]
    act: Act | None = None
    renamed: dict[str, str] = field(default_factory=dict)
    #: The words, and what stands for them: ids of messages and names of dated files.
    trace: Trace = field(init=False)
    #: The words of those *files* that are notes: a receipt may have them under an earlier name.
    notes: Trace = field(init=False)
    names: frozenset[str] = field(init=False)
    #: The summaries that name the dated files, or have the words.
    summaries: tuple[Period, ...] = field(init=False)

    def __post_init__(self) -> None:
        recorded = filter(None, map(self.ws.journal.file_of, self.messages))
        self.names = frozenset(recorded) | {path.name for message in self.messages.values() for path in message.files}
        contents = [entry.content if (entry := parse_entry(line)) else line for line in self.lines]
        ids = {key[0] for key in self.messages}
        self.trace = Trace([*(message.entry.text for message in self.messages.values()), *contents], {*ids, *self.names})
        self.notes = Trace(line for name in self.files for line in self._lines_of_note(name))
        self.summaries = tuple(
            period
            for period, summary in self.ws.memory.summaries().items()
            if any(source.name in self.names for source in summary.sources) or self.trace.is_in(summary.text)
        )

    def _lines_of_note(self, name: str) -> list[str]:
        path = self.ws.paths.root / name
        is_note = path.suffix == ".md" and self.ws.paths.memory in path.parents
        return _text_at(self.ws, path).splitlines() if is_note else []

    def removal(self, path: Path) -> Change:
        """Return the deletion of the file."""
        return Change((path,), partial(self.ws.files.remove, path))

    def rewriting(self, path: Path, data: bytes, version: FileVersion | None) -> Change:
        """Return the replacement of this *version* of the file by *data*: Conflict if another program has written it since."""
        return Change((path,), partial(self.ws.files.replace, path, data, version))


# ── what was made from the words ─────────────────────────────────────────────


def derived(aim: Aim) -> Iterator[Change]:
    """Yield what is done to that which was made from the words."""
    yield from _files(aim)
    yield from _running_summaries(aim)
    yield from _lines(aim)
    yield from _inbox(aim)


def _files(aim: Aim) -> Iterator[Change]:
    """Yield the tasks, summaries, receipts and copies that have the words, or are made of a file that goes."""
    ws, paths, queue = aim.ws, aim.ws.paths, aim.ws.task_queue
    gone = [*(paths.relative(paths.summary(period)) for period in aim.summaries), *aim.files]
    naming = re.compile("|".join(rf"(?<![\w./-]){re.escape(name)}(?![\w~-]|\.\w)" for name in gone)) if gone else None
    copies = (paths.turns, paths.quarantine, paths.replaced, paths.previous)
    of_days = {name[:length] for name in aim.names for length in (len("2026-01-28"), len("2026-01"))}
    of_summaries = {period.label for period in aim.summaries}
    made_of_days = (queue.queue, queue.running, queue.results, paths.pieces)
    for folder in (*made_of_days, queue.failed, paths.summaries, *copies):
        for path in files_below(ws, folder):
            text, stem, day = _text_at(ws, path), path.name.partition(".")[0], _PERIOD.search(path.name)
            is_of_day = (day and day[0] in of_days) if folder in made_of_days else stem in of_summaries
            names_it = folder in copies and naming and naming.search(text)
            shows_note = folder == paths.turns and aim.notes.is_in(text)
            if is_of_day or names_it or shows_note or aim.trace.is_in(path.name) or aim.trace.is_in(text):
                yield aim.removal(path)


def _text_at(ws: Workspace, path: Path) -> str:
    version = ws.files.read_stable(path)
    return decoded(version.data) if version else ""


def _running_summaries(aim: Aim) -> Iterator[Change]:
    store, paths = aim.ws.session_files, aim.ws.paths
    for session in sorted({message.session for message in aim.messages.values()}):
        path = paths.session(session_digest(session))
        if aim.ws.files.disk.stat(path) is None:
            continue
        with store.locked(session):
            progress = store.read(session)
            intent = None if progress.intent and aim.trace.is_in(progress.intent.text) else progress.intent
            after = replace(progress, running=RunningSummary(), intent=intent)
            if after != progress:
                yield Change((path,), partial(store.keep, session, after))


def _lines(aim: Aim) -> Iterator[Change]:
    """Yield the chats of LlamaIndex, what is no longer true and what could be undone, without the lines with the words."""
    ws = aim.ws
    for path in files_below(ws, ws.paths.sessions):
        if path.name.startswith("chat-") and path.suffix == ".jsonl" and aim.trace.is_in(_text_at(ws, path)):
            with ws.files.lock(path.with_suffix(".lock")):
                yield from _without_lines(aim, path, head=1)
    for path in (ws.paths.ended, ws.paths.acts):
        yield from _without_lines(aim, path)


def _without_lines(aim: Aim, path: Path, head: int = 0) -> Iterator[Change]:
    version = aim.ws.files.read_stable(path)
    lines = version.data.split(b"\n") if version else []
    left = [
        line
        for number, line in enumerate(lines)
        if number < head or not (aim.trace.is_in(decoded(line)) or _changed_line(line, aim.lines))
    ]
    if len(left) < len(lines):
        yield aim.rewriting(path, b"\n".join(left), version)


def _changed_line(act: bytes, lines: Sequence[str]) -> bool:
    """Return whether the act, a line of acts.jsonl, wrote or took away one of the lines: one is too short for a trace."""
    try:
        hunks = parse_json(act)["hunks"] if lines else ()
        return any(line.text in lines for hunk in hunks for text in hunk[1:] for line in filled(cut(str(text))))
    except (ValueError, LookupError, TypeError):
        return False


def _inbox(aim: Aim) -> Iterator[Change]:
    paths, files = aim.ws.paths, aim.ws.files
    if not aim.trace.is_in(_text_at(aim.ws, paths.inbox)):
        return
    with files.lock(paths.inbox_lock), suppress(ValueError):  # what can't be read is reported, and stays
        version = files.read_stable(paths.inbox)
        inputs: Any = parse_json(version.data) if version else None
        if isinstance(inputs, list):
            left = [entry for entry in inputs if not aim.trace.is_in(decoded(render_json(entry)))]
            yield aim.rewriting(paths.inbox, render_json(left) + b"\n", version)


def tables(aim: Aim) -> Iterator[Change]:
    """Yield the index, the vectors and the tables, which are made again, and the logs with the new names of files."""
    paths, files = aim.ws.paths, aim.ws.files
    for folder, lock in ((paths.state / "index", "index.lock"), (paths.vectors, "vectors.lock")):
        if any(files_below(aim.ws, folder)):
            yield Change((folder,), partial(_empty, aim.ws, folder, paths.state / lock))
    for table in (paths.files, *(paths.root / name for name in LEFT)):
        if files.disk.stat(table):
            yield aim.removal(table)
    logs = (name for name in sorted(files.disk.names(paths.root)) if name.startswith("log"))
    for path in (
        *(paths.root / name for name in logs if name.endswith((".jsonl", ".jsonl.gz"))),
        *(paths.fsck, paths.backup, paths.diary),
    ):
        yield from _with_new_names(aim, path)


def _empty(ws: Workspace, folder: Path, lock: Path) -> None:
    with ws.files.lock(lock):  # listed under it: its writer deletes what it has merged
        for path in sorted(files_below(ws, folder), key=lambda path: path.name != "meta.json"):  # the list before what it names
            with suppress(FileNotFoundError):  # an engine that is still open deletes files of its own, too
                ws.files.disk.unlink(path)
        ws.files.disk.sync_folder(folder)


def _with_new_names(aim: Aim, path: Path) -> Iterator[Change]:
    version = aim.ws.files.read_stable(path)
    if version is None:
        return
    is_packed = path.suffix == ".gz"
    before = gzip.decompress(version.data) if is_packed else version.data
    after = before
    for name in sorted(aim.names):
        after = after.replace(name.encode(), (aim.renamed.get(name) or f"{name[:10]}-forgotten.md").encode())
    if after != before:
        yield aim.rewriting(path, gzip.compress(after, mtime=0) if is_packed else after, version)


# ── where the words stand themselves ─────────────────────────────────────────


def sources(aim: Aim) -> Iterator[Change]:
    """Yield what is done where the words stand themselves."""
    yield from _drop_box(aim)
    yield from _history(aim)
    yield _dated(aim)
    yield from _long_term(aim)
    yield from _attachments(aim)
    for path in (aim.ws.paths.root / name for name in aim.files):
        if aim.ws.files.disk.stat(path):
            yield aim.removal(path)


def _drop_box(aim: Aim) -> Iterator[Change]:
    box = aim.ws.drop_box
    for path in list(box.finished()):
        version = box.read(path)
        with suppress(ValueError):  # what can't be understood is no message; its copy in quarantine is looked at
            messages = box.parse(path, version) if version else []
            left = [message.raw for message in messages if message.key not in aim.messages]
            if len(left) < len(messages):
                yield aim.rewriting(path, render_json(left), version) if left else aim.removal(path)


def _history(aim: Aim) -> Iterator[Change]:
    store, paths = aim.ws.history, aim.ws.paths

    def rule(history: History) -> History:
        return tuple(entry for entry in history if not isinstance(entry, Message) or entry.key not in aim.messages)

    if rule(history := store.read()) != history:
        yield Change((paths.history,), partial(store.change, rule))
    if rule(backup := store.backup()) != backup:  # the version before, once the other is changed
        yield Change((paths.history_backup,), partial(store.change_backup, rule))


def _dated(aim: Aim) -> Change:
    ws = aim.ws
    paths = {path for message in aim.messages.values() for path in message.files}
    paths |= {ws.memory.path_of(name) for name in filter(None, map(ws.journal.file_of, aim.messages))}
    present = tuple(path for path in sorted(paths) if ws.files.disk.stat(path))
    return Change(present, partial(_make_anew, aim, present))


def _make_anew(aim: Aim, paths: Sequence[Path]) -> None:
    """Make each dated file anew without the messages, under a name of what is left; then the old ones are deleted."""
    ws = aim.ws
    versions = {path: version for path in paths if (version := ws.files.read_stable(path))}
    if aim.act and versions:
        ws.journal.tombstones.add_versions(aim.act, [(path.name, version.digest[:16]) for path, version in versions.items()])
    cuts = {path: _without(aim, path, version.data) for path, version in versions.items()}
    for (path, (after, kept)), slug in zip(cuts.items(), _slugs(aim, [kept for _, kept in cuts.values()]), strict=True):
        aim.renamed[path.name] = _made_anew(aim, path, after, kept, slug)
    ws.journal.forget(lambda key: key in aim.messages or ws.journal.tombstones.has_key(key), aim.renamed)
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
    memory = aim.ws.memory
    held = {block.key for file in memory.dated() if file.name != path.name for block in memory.blocks(file.name)}
    return all(block.key in held for block in kept)


def _long_term(aim: Aim) -> Iterator[Change]:
    store = aim.ws.long_term

    def rule(text: str) -> str:
        return without_lines(text, [line.number for line in filled(cut(text)) if line.text in aim.lines])[0]

    if any(line.text in aim.lines for line in standing_lines(aim.ws)):
        yield Change((aim.ws.paths.root / store.path,), partial(store.change, rule))


def _attachments(aim: Aim) -> Iterator[Change]:
    ws = aim.ws
    mine = _attachments_of(message.entry for message in aim.messages.values())
    if not mine:
        return
    others: list[Message | Block] = [block for file in ws.memory.dated() for block in ws.memory.blocks(file.name)]
    others += [entry for entry in (*ws.history.read(), *ws.journal.unwritten.values()) if isinstance(entry, Message)]
    left = _attachments_of(message for message in others if message.key not in aim.messages)
    for name in ws.files.disk.names(ws.paths.attachments):
        whole = f"{ws.paths.attachments.name}/{name.partition('.aside')[0]}"
        if (whole in mine or name in mine) and whole not in left and name not in left:
            yield aim.removal(ws.paths.attachments / name)


def _attachments_of(messages: Iterable[Message | Block]) -> set[str]:
    fields = (message.fields if isinstance(message, Block) else separated(message.raw)[0] for message in messages)
    return {name for named_files in fields for name in attachments_of(named_files)}
