"""
`recalld fsck`: account for every message that was ever seen, and repair damage (docs/reference/protocol.md, 5).

`fsck` reads everything and changes nothing. `repair` restores a damaged history.json. It searches history.json, its backup, the
quarantine and the rest of the file for messages whose dated file is missing or damaged. Those that it finds count as unwritten
again, except those that a person has deleted, and the next run writes them. A dated file whose messages are in an earlier file,
too, is set aside. Nothing is deleted without a copy (docs/explanation/durability.md).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..archive.copies import contents, copies, is_named_like_ours
from ..archive.coverage import covered
from ..archive.deletions import history_copies, same_words
from ..archive.intake import update_journal
from ..archive.memory_folder import MemoryFolder
from ..forgetting.wanted import blocks_at
from ..host.round import restore_history
from ..protocol.attachments import attachments_of, digest_in_name, separated
from ..protocol.dated_file import is_broken, parse_dated
from ..protocol.message import Archived, InvalidEntry, Key, Message, read_message
from ..storage.by_content import is_aside
from ..storage.catalogue import Text
from ..storage.clock import to_wire
from ..storage.errors import BadRequest, SupervisorError
from ..storage.lenient_json import not_utf8
from ..text.printable import printable
from ..text.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from ..archive.coverage import MemoryFile
    from ..protocol.dated_file import Block
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
    in_files, texts = _count_files(ws, ledger, named)
    _check_attachments(ws, named, ledger)
    in_history: dict[Key, Message] = {}
    try:
        history = ws.history.read()
        in_history = {entry.key: entry for entry in history if isinstance(entry, Message)}
        ledger.set_aside = sum(isinstance(entry, InvalidEntry) for entry in history)
        _check_flags(history, set(in_files), ws, ledger)
    except SupervisorError as error:
        ledger.damage.append(error.sentence)
    present = {file.name for file in ws.memory.dated()}
    gone = ws.deletions.absences()
    met = set(in_files) | in_history.keys() | set(ws.journal.written) | set(ws.journal.unwritten)
    # a message to which a program has given another id is known by several ids, and its file has the first
    seen = {key for key in met if key in in_files or (ws.journal.file_of(key), key[1]) not in texts}
    for key in sorted(seen):
        if key in in_files:
            ledger.in_files += 1
        elif key in gone.removed and not _is_reformatted(in_history.get(key), gone.removed[key]):
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
            ledger.lost.append(Text("fsck.was_in", id=key[0], name=ws.journal.file_of(key)))
    ledger.seen = len(seen) + ledger.set_aside
    ledger.forgotten = sum(ws.journal.tombstones.counts())
    return ledger


def _is_reformatted(message: Message | None, block: Block | None) -> bool:
    return message is not None and block is not None and same_words(message.text, block.text)


def _check_attachments(ws: Workspace, named: Mapping[str, str], ledger: Ledger) -> None:
    """Report pictures and files that are gone or have other bytes; *named* has the dated file that names each of them."""
    ledger.attachments = len(named)
    kept = (ws.paths.relative(ws.paths.attachments / name) for name in ws.files.disk.names(ws.paths.attachments))
    ledger.unnamed = [name for name in kept if is_aside(name) or (digest_in_name(name) and name not in named)]
    for name, by in sorted(named.items()):
        if ws.attachments.read(name) is None:
            state = Text("fsck.holds_others") if ws.files.disk.stat(ws.paths.root / name) else Text("fsck.is_gone")
            ledger.damage.append(Text("fsck.attachment", name=name, state=state, by=by))


def is_whole(ws: Workspace, name: str) -> bool:
    """Return whether the dated file *name*, which recalld made, has its head and its end; also true if it does not exist."""
    path = ws.memory.path_of(name)
    version = ws.files.read_stable(path)
    return version is None or (parse_dated(version.data, path) is not None and not is_broken(version.data, path))


def _is_accepted(ws: Workspace, file: MemoryFile) -> bool:
    """Return whether a person has accepted the damage of the file as it is now."""
    return ws.journal.accepted.get(file.name) == file.digest


def _why_not_whole(path: Path, data: bytes) -> Text:
    why = not_utf8(data, path)
    return Text("fsck.not_utf8", name=path.name, why=why) if why else Text("fsck.not_whole", name=path.name)


def _count_files(ws: Workspace, ledger: Ledger, named: dict[str, str]) -> tuple[Counter[Key], set[tuple[str, str]]]:
    """
    Read every dated file and summary; return in how many blocks each message is, and the pairs of a file and a text in it.

    The pictures and files that messages name are added to *named*.
    """
    counts: Counter[Key] = Counter()
    where: defaultdict[Key, list[str]] = defaultdict(list)
    gone = ws.deletions.absences()
    memory = MemoryFolder(ws.files, ws.paths, ws.recorded_files)
    files = memory.dated()
    for file in files:
        version = ws.files.read_stable(memory.path_of(file.name))
        parsed = parse_dated(version.data, memory.path_of(file.name)) if version else None
        is_damaged = version and not (parsed and not is_broken(version.data, memory.path_of(file.name)))
        if version and is_damaged and file.name in ws.journal.names and not _is_accepted(ws, file):
            ledger.damage.append(_why_not_whole(memory.path_of(file.name), version.data))
        if parsed is None or version is None:
            continue
        ledger.dated_files += 1
        ledger.edited_files += parsed.is_edited
        if file.name in gone.cut:
            ledger.damage.append(Text("fsck.ends_early", name=file.name, found=len(parsed.blocks), count=parsed.count))
        for block in parsed.blocks:
            counts[block.key] += 1
            where[block.key].append(file.name)
            named.update(dict.fromkeys(attachments_of(block.fields), file.name))
    for name, path in gone.moved.items():
        ledger.moved.append(Text("fsck.moved", name=name, path=printable(ws.paths.relative(path))))
        for block in blocks_at(ws, path):
            counts[block.key] += 1
            where[block.key].append(name)
            named.update(dict.fromkeys(attachments_of(block.fields), name))
    for key, names in where.items():
        if len(names) > 1:
            ledger.damage.append(Text("fsck.id_repeats", id=key[0], count=len(names), names=names))
    ledger.copies = [Text("fsck.copy", copy=copy, kept=kept) for copy, kept in sorted(memory.copies().items())]
    summaries = memory.summaries()
    ledger.summaries = len(summaries)
    ledger.covered_files = len(covered(files, summaries))
    for name in sorted({file.name for file in files if file.ours and not file.original}):
        if ws.files.disk.stat(ws.paths.original(name)):
            ledger.damage.append(Text("fsck.in_both", name=name))
    return counts, {(name, key[1]) for key, names in where.items() for name in names}


def _check_flags(history: tuple[object, ...], in_files: set[Key], ws: Workspace, ledger: Ledger) -> None:
    """Report messages whose flag is true although no file was ever made of them."""
    for entry in history:
        if not isinstance(entry, Message) or entry.archived is not Archived.YES:
            continue
        # a message that was lost from its file and found elsewhere is unwritten, and the next run writes it again
        if not (entry.key in in_files or entry.key in ws.journal.unwritten or ws.journal.file_of(entry.key)):
            ledger.damage.append(Text("fsck.flag_unfounded", id=entry.id))


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
    accepted = {file.name for file in ws.memory.dated() if _is_accepted(ws, file)}
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
        there = {block.key for block in held.get(name, ())}
        homeless |= {key for key, file in [*ws.journal.written.items()] if file == name and key not in there}
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
            ws.journal.record_moved(name, [block for block in blocks if block.key in homeless])
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
            raise BadRequest("--accept", Text("file.not_missing", name=name))
        digests = {file.name: file.digest for file in ws.memory.dated() if file.name in gone.damaged}
        ws.journal.record_accepted(missing, name, digests.get(name, ""))
    ws.events.emit("accepted", file=name, messages=len(missing))
    return len(missing)


def accept_times(ws: Workspace) -> int:
    """Record that messages whose time can't be read belong to the days of their dated files; return how many."""
    with ws.files.lock(ws.paths.history_lock):
        ws.journal.refresh()
        files = [file for file in ws.memory.dated() if file.undated and file.name not in ws.journal.dated]
        if files:
            ws.journal.record_dated(file.name for file in files)
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
    found = {name: message.raw for message in copies for name in missing.intersection(separated(message.raw)[1])}
    for raw in found.values():
        ws.attachments.keep(raw)
    return tuple(sorted(name for name in found if ws.attachments.read(name) is not None))


def _written_twice(ws: Workspace) -> list[str]:
    """
    Return the dated files that repeat messages of other dated files, and the copies with names like theirs.

    Of the files with the same message the last one that was made is returned; a file in which a person wrote never is.
    """
    summaries = f"{ws.paths.relative(ws.paths.summaries)}/"
    copies = (copy for copy in ws.memory.copies() if is_named_like_ours(copy) and not copy.startswith(summaries))
    names = [copy.rpartition("/")[2] for copy in copies]
    files = ws.memory.dated()
    parsed = {file.name: ws.memory.parsed(file.name) for file in files}
    keys = {name: {block.key for block in one.blocks} for name, one in parsed.items() if one}
    times = Counter(key for held in keys.values() for key in held)
    for file in sorted(files, key=lambda file: (to_wire(file.created) if file.created else "", file.name), reverse=True):
        one = parsed[file.name]
        if one and not one.has_more and any(times[key] > 1 for key in keys[file.name]):
            names.append(file.name)
            times.subtract(keys[file.name])
    return names


def _copies(ws: Workspace, aside: list[str]) -> Iterator[Message]:
    """Yield the messages of every copy that exists, the newest copies last."""
    yield from history_copies(ws.files, ws.paths, ws.zone)
    for name in aside:
        path = ws.memory.path_of(name)
        version = ws.files.read_stable(path)
        # with zeros or half a character at its end it would look like another program's file
        rest = version.data.replace(b"\0", b"").decode("utf-8", "ignore").encode() if version else b""
        parsed = parse_dated(rest, path)
        for block in parsed.blocks if parsed else ():
            message = read_message(_raw(block), ws.zone)
            if isinstance(message, Message):
                yield message


def _raw(block: Block) -> dict[str, Any]:
    """Return the JSON object from which the block was made."""
    words = {"role": block.role, block.text_field: block.text, "createdAt": to_wire(block.created_at)}
    return {"id": block.revision_of or block.id, **words, **block.fields}


def _keep_copy(ws: Workspace, name: str) -> bool:
    """Keep a copy of a dated file in quarantine; return whether there is one."""
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
        others = [ws.memory.path_of(file.name) for file in ws.memory.dated()]
        others += [ws.paths.root / copy for copy in ws.memory.copies()]
        versions |= {path: version for path in others if (version := ws.files.read_stable(path))}
        found = copies({ws.paths.relative(path): contents(version.data, path) for path, version in versions.items()}, set)
        spares = [path for copy in found for path in (memory, original) if ws.paths.relative(path) == copy]
        if not spares:
            return False
        spare = spares[0]
        if ws.quarantine.keep(name, versions[spare].data) == "full":
            return False
    ws.files.ensure_durable(memory if spare == original else original)  # a person may have made this copy a moment ago
    ws.files.remove(spare)
    return True
