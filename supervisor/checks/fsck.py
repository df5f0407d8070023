"""
`recalld fsck`: account for every message that was ever seen (docs/reference/protocol.md, 5).

It reads everything and changes nothing; what mends is in repair.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..archive.coverage import MemoryFile, covered
from ..archive.memory_folder import MemoryFolder
from ..forgetting.wanted import blocks_at
from ..protocol.attachments import attachments_of, digest_in_name
from ..protocol.dated_file import Block, DatedFile, is_broken, parse_dated
from ..protocol.message import Archived, InvalidEntry, Key, Message
from ..storage.errors import SupervisorError
from ..storage.keeping import is_aside
from ..storage.lenient_json import not_utf8
from ..storage.texts import Text
from ..text.foreign_text import printable
from ..workspace import Workspace


@dataclass(slots=True, kw_only=True)
class Ledger:
    """
    Where all messages are. *seen* = *in_files* + *in_history* + *in_journal* + *set_aside* + *removed* + *pruned* + *lost*.

    A message that is in a dated file and in history.json counts as in a file. *removed* counts messages that a person took out
    of a file that still exists, or whose file a person accepted as gone (`archive/deletions`), wherever else their words are.
    *lost* has ids, *damage* has sentences; both are empty in a sound workspace. *copies* has a sentence for each copy of one of
    recalld's files: no copy is memory, and each can be deleted. *moved* says where files are that a person has moved or
    renamed. *attachments* counts the pictures and files that messages name; *unnamed* has the paths of the others.
    *faults* has a sentence for each other fault (checks/table.py), *advice* one that offers to forget what was deleted by hand.
    """

    seen: int = 0
    in_files: int = 0
    in_history: int = 0
    in_journal: int = 0
    set_aside: int = 0
    removed: int = 0
    removed_ids: list[str] = field(default_factory=list)
    pruned: int = 0
    forgotten: int = 0
    lost: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    dated_files: int = 0
    edited_files: int = 0
    summaries: int = 0
    covered_files: int = 0
    copies: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    attachments: int = 0
    unnamed: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is lost and nothing damaged."""
        return not self.lost and not self.damage

    @property
    def is_well(self) -> bool:
        """Whether nothing at all is wrong with the memory."""
        return self.is_sound and not self.faults


def fsck(ws: Workspace) -> Ledger:
    """Return the account of every message of the workspace, and of the damage."""
    ledger = Ledger()
    ws.journal.refresh()
    named = {name: ws.paths.relative(ws.paths.seen) for m in [*ws.journal.unwritten.values()] for name in attachments_of(m.raw)}
    in_files = _read_files(ws, ledger, named)
    _check_attachments(ws, named, ledger)
    in_history = _read_history(ws, in_files, ledger)
    present = {file.name: file.broken for file in ws.memory.dated()}
    gone = ws.deletions.absences()
    met = {*in_files, *in_history, *ws.journal.written, *ws.journal.unwritten}
    # the words of one that a person changed stand in its file under another key; that of a broken file may be lost
    edited = {key for key, block in gone.removed.items() if block and block.key in in_files}
    edited = {key for key in edited if not present.get(ws.journal.file_of(key) or "")}
    # a program has given another id to a message whose file has the first
    texts = {(name, key[1]) for key, names in in_files.items() for name in names}
    again = {key for key in met - in_files.keys() if key in edited or (ws.journal.file_of(key), key[1]) in texts}
    for key in sorted(met - again):
        if key in in_files:
            ledger.in_files += 1
        elif key in gone.removed:
            ledger.removed += 1
            ledger.removed_ids.append(key[0])
        elif key in in_history:
            ledger.in_history += 1
        elif key in ws.journal.unwritten:
            ledger.in_journal += 1
        elif (file := ws.journal.file_of(key)) in ws.journal.pruned and file not in present:
            ledger.pruned += 1
        elif file in present and file in ws.journal.notes:
            ledger.in_files += 1  # in a file that another program wrote
        elif file in present and key not in gone.kept:
            ledger.removed += 1
            ledger.removed_ids.append(key[0])
        else:
            ledger.lost.append(Text("{id} (was in {name})", id=key[0], name=ws.journal.file_of(key)))
    ledger.seen = len(met - again) + ledger.set_aside
    ledger.forgotten = sum(sum(act.counts.values()) for act in ws.journal.tombstones.acts())
    return ledger


def _check_attachments(ws: Workspace, named: Mapping[str, str], ledger: Ledger) -> None:
    ledger.attachments = len(named)
    kept = (ws.paths.relative(ws.paths.attachments / name) for name in ws.files.disk.names(ws.paths.attachments))
    ledger.unnamed = [name for name in kept if is_aside(name) or (digest_in_name(name) and name not in named)]
    for name, by in sorted(named.items()):
        if ws.attachments.read(name) is None:
            state = Text("holds other bytes than it did") if ws.files.disk.stat(ws.paths.root / name) else Text("is gone")
            ledger.damage.append(
                Text(
                    "{name} {state}, and {by} names it: put a copy of it back, or delete the message",
                    name=name,
                    state=state,
                    by=by,
                )
            )


def is_whole(ws: Workspace, name: str) -> bool:
    """Return whether the dated file *name*, which recalld made, has its head and its end; also true if it does not exist."""
    path = ws.memory.path_of(name)
    version = ws.files.read_stable(path)
    return version is None or (parse_dated(version.data, path) is not None and not is_broken(version.data, path))


def is_accepted(ws: Workspace, file: MemoryFile) -> bool:
    """True if a person has accepted the damage of the file as it is now."""
    return ws.journal.accepted.get(file.name) == file.digest


def _read_files(ws: Workspace, ledger: Ledger, named: dict[str, str]) -> Mapping[Key, list[str]]:
    """
    Read every dated file and summary; return the names of the files in which each message is, one for each of its blocks.

    The pictures and files that messages name are added to *named*.
    """
    where: defaultdict[Key, list[str]] = defaultdict(list)
    gone = ws.deletions.absences()
    memory = MemoryFolder(ws.files, ws.paths)
    files = memory.dated()

    def count(name: str, blocks: Iterable[Block]) -> None:
        for block in blocks:
            where[block.key].append(name)
            named.update(dict.fromkeys(attachments_of(block.fields), name))

    for file in files:
        path = memory.path_of(file.name)
        version = ws.files.read_stable(path)
        if version is None:
            continue
        parsed = parse_dated(version.data, path)
        is_damaged = parsed is None or is_broken(version.data, path)
        if is_damaged and file.name in ws.journal.names and not is_accepted(ws, file):
            ledger.damage.append(_why_damaged(path, version.data))
        if parsed is None:
            continue
        ledger.dated_files += 1
        ledger.edited_files += parsed.is_edited
        if file.name in gone.cut:
            ledger.damage.append(_why_short(file.name, parsed))
        count(file.name, parsed.blocks)
    for name, path in gone.moved.items():
        ledger.moved.append(Text("{name} is now {path}, and is read there", name=name, path=printable(ws.paths.relative(path))))
        count(name, blocks_at(ws, path))
    for key, names in where.items():
        if len(names) > 1:
            ledger.damage.append(Text("message {id} is there {count} times: {names}", id=key[0], count=len(names), names=names))
    for name in sorted({file.name for file in files if file.ours and not file.original}):
        if ws.files.disk.stat(ws.paths.original(name)):
            ledger.damage.append(Text("{name} is in memory/ and in originals/", name=name))
    ledger.copies = [Text("{copy} is a copy of {kept}", copy=copy, kept=kept) for copy, kept in sorted(memory.copies().items())]
    summaries = memory.summaries()
    ledger.summaries, ledger.covered_files = len(summaries), len(covered(files, summaries))
    return where


def _why_damaged(path: Path, data: bytes) -> Text:
    if why := not_utf8(data, path):
        return Text("{name}: {why}", name=path.name, why=why)
    return Text(
        "{name} is no longer whole: its head or its end is missing, or it holds zeros; `recalld fsck --repair`, with the supervisor stopped, has the next run write its messages again",
        name=path.name,
    )


def _why_short(name: str, parsed: DatedFile) -> Text:
    return Text(
        "{name} ends after {found} of its {count} messages: put a whole copy of it back, or `recalld fsck --repair` with the supervisor stopped; if you deleted the others, `recalld fsck --accept {name}`",
        name=name,
        found=len(parsed.blocks),
        count=parsed.count,
    )


def _read_history(ws: Workspace, in_files: Container[Key], ledger: Ledger) -> set[Key]:
    try:
        history = ws.history.read()
    except SupervisorError as error:
        ledger.damage.append(error.sentence)
        return set()
    messages = [entry for entry in history if isinstance(entry, Message)]
    ledger.set_aside = sum(isinstance(entry, InvalidEntry) for entry in history)
    for message in (message for message in messages if message.archived is Archived.YES):
        # a message that was lost from its file and found elsewhere is unwritten, and the next run writes it again
        if not (message.key in in_files or message.key in ws.journal.unwritten or ws.journal.file_of(message.key)):
            ledger.damage.append(Text("message {id} is flagged true, but no dated file was ever made of it", id=message.id))
    return {message.key for message in messages}
