"""
`recalld fsck`: account for every message that was ever seen (docs/reference/protocol.md, 5), and mend what can be mended.

`fsck` reads everything and changes nothing. `repair` restores a damaged history.json. It searches history.json, its backup, the
quarantine and the rest of the file for messages whose dated file is missing or damaged. Those that it finds count as unwritten
again, except those that a person has deleted, and the next run writes them. A dated file whose messages are in an earlier file,
too, is set aside. Nothing is deleted without a copy (docs/explanation/durability.md).
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from ..archive.coverage import MemoryFile, covered
from ..archive.deletions import Absences, Deletions
from ..archive.history import history_copies, raw_of
from ..archive.intake import bring_pictures_back, restore_history, update_journal
from ..archive.memory_folder import MemoryFolder
from ..forgetting.wanted import blocks_at
from ..protocol.attachments import attachments_of, digest_in_name
from ..protocol.dated_file import Block, DatedFile, is_broken, parse_dated
from ..protocol.message import Archived, InvalidEntry, Key, Message, read_message
from ..storage.errors import SupervisorError
from ..storage.keeping import is_aside
from ..storage.lenient_json import not_utf8
from ..storage.texts import Text, msgid
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
    memory, gone = as_on_disk(ws)
    in_files = _read_files(ws, memory, gone, ledger, named)
    _check_attachments(ws, named, ledger)
    in_history = _read_history(ws, in_files, ledger)
    present = {file.name: file.broken for file in memory.dated()}
    met = {*in_files, *in_history, *ws.journal.written, *ws.journal.unwritten}
    # the words of one that a person changed stand in its file under another key; that of a broken file may be lost
    edited = {key for key, block in gone.removed.items() if block and block.key in in_files}
    edited = {key for key in edited if not present.get(ws.journal.file_of(key) or "")}
    # a program has given another id to a message whose file has the first
    texts = {(name, key[1]) for key, names in in_files.items() for name in names}
    again = {key for key in met - in_files.keys() if key in edited or (ws.journal.file_of(key), key[1]) in texts}
    for key in sorted(met - again):
        file = ws.journal.file_of(key)
        if key in in_files:
            ledger.in_files += 1
        elif key in gone.removed:
            ledger.removed_ids.append(key[0])
        elif key in in_history:
            ledger.in_history += 1
        elif key in ws.journal.unwritten:
            ledger.in_journal += 1
        elif file in ws.journal.pruned and file not in present:
            ledger.pruned += 1
        elif file in present and file in ws.journal.notes:
            ledger.in_files += 1  # in a file that another program wrote
        elif file in present and key not in gone.kept:
            ledger.removed_ids.append(key[0])
        else:
            ledger.lost.append(Text("{id} (was in {name})", id=key[0], name=file))
    ledger.removed = len(ledger.removed_ids)
    ledger.seen = len(met - again) + ledger.set_aside
    done = [act for act in ws.journal.tombstones.acts() if act.finished]  # what still stands is in another number
    ledger.forgotten = len({part for act in done for part in (*act.messages, *act.lines, *act.files)})
    return ledger


def _check_attachments(ws: Workspace, named: Mapping[str, str], ledger: Ledger) -> None:
    ledger.attachments = len(named)
    kept = (ws.paths.relative(ws.paths.attachments / name) for name in ws.files.disk.names(ws.paths.attachments))
    ledger.unnamed = [name for name in kept if is_aside(name) or (digest_in_name(name) and name not in named)]
    for name, by in sorted(named.items()):
        if ws.attachments.read(name) is None:
            state = Text("holds other bytes than it did") if ws.files.disk.stat(ws.paths.root / name) else Text("is gone")
            sentence = msgid("{name} {state}, and {by} names it: put a copy of it back, or delete the message")
            ledger.damage.append(Text(sentence, name=name, state=state, by=by))


def as_on_disk(ws: Workspace) -> tuple[MemoryFolder, Absences]:
    """Return the files of memory as they are on the disk, whatever is remembered of them, and what they no longer hold."""
    memory = MemoryFolder(ws.files, ws.paths)
    return memory, Deletions(ws.files, ws.paths, ws.journal, memory, ws.zone).absences()


def _read_files(
    ws: Workspace, memory: MemoryFolder, gone: Absences, ledger: Ledger, named: dict[str, str]
) -> Mapping[Key, list[str]]:
    """
    Read every dated file and summary; return the names of the files in which each message is, one for each of its blocks.

    The pictures and files that messages name are added to *named*.
    """
    where: defaultdict[Key, list[str]] = defaultdict(list)
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
        if _is_broken(ws, file, parsed, gone):
            why = not_utf8(version.data) or Text("its head or its end is missing, or it holds zeros")
            ledger.damage.append(Text("{name}: {why}", name=file.name, why=why))
        if parsed is None:
            continue
        ledger.dated_files += 1
        ledger.edited_files += parsed.is_edited
        if file.name in gone.cut:
            sentence = msgid("{name} ends after {number} of its {count} messages")
            ledger.damage.append(Text(sentence, name=file.name, number=len(parsed.blocks), count=parsed.count))
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


def _is_broken(ws: Workspace, file: MemoryFile, parsed: DatedFile | None, gone: Absences) -> bool:
    """True if a file lost its head or its end, or a filed day can't be read, and no person has accepted that."""
    is_unread = parsed is None and file.ours and file.name in ws.journal.names
    return file.name in gone.damaged or (is_unread and ws.journal.accepted.get(file.name) != file.digest)


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


# ── repaired ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
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
    # gather: where each message stands in a sound file, and which stand in none
    gone, files = as_on_disk(ws)[1], ws.memory.dated()
    both = [path for file in files for path in (ws.paths.dated(file.name), ws.paths.original(file.name))]
    dated = {path: parsed for path in both if (parsed := _whole(ws, path))}
    broken = {file.name for file in files if _is_broken(ws, file, dated.get(ws.memory.path_of(file.name)), gone)}
    aside = [*_copied(ws, [*(path for path in both if path.name in broken and path not in dated), *_repeating(dated)])]
    held: defaultdict[str, dict[Key, Block]] = defaultdict(dict)
    for path in dated.keys() - aside:
        held[path.name] |= {block.key: block for block in dated[path].blocks}
        if aside:  # whoever wrote it may not have synced it, and it is relied on
            ws.files.ensure_durable(path)
    held |= {name: {block.key: block for block in blocks_at(ws, path)} for name, path in gone.moved.items()}
    homeless = _homeless(ws, aside, held, gone)
    missing = homeless.difference(*held.values())
    saved = {message.key: message for message in _copies(ws, aside) if message.key in missing} if missing else {}
    # apply: the journal, then the files, of which there are copies
    with ws.files.lock(ws.paths.history_lock):
        ws.journal.record_lost(list(saved.values()))
        for name, keys in gone.cut.items():
            if keys and saved.keys() >= {*keys}:
                ws.journal.record_accepted([], name)  # the file no longer counts as short: another file has the rest
        for name, blocks in sorted(held.items()):
            if moved := [block for key, block in blocks.items() if key in homeless]:
                ws.journal.record_written(name, moved, moved=True)
    for path in aside:
        ws.files.remove(path)
    set_aside, doubles = (tuple(path.name for path in aside if (path.name in held) == stays) for stays in (False, True))
    pictures = bring_pictures_back(ws)
    done = Repairs(restored=restored, saved=len(saved), set_aside=set_aside, doubles=doubles, pictures=pictures)
    if done != Repairs():
        ws.events.emit("repaired", **{name: n if isinstance(n, int) else len(n) for name, n in asdict(done).items()})
    return done


def _whole(ws: Workspace, path: Path) -> DatedFile | None:
    """Return the content of a dated file; None of one that is gone or broken, unless a person has accepted it as it is."""
    version = ws.files.read_stable(path)
    is_accepted = version and ws.journal.accepted.get(path.name) == version.digest[:16]
    is_whole = version and (is_accepted or not is_broken(version.data, path))
    return parse_dated(version.data, path) if version and is_whole else None


def _copied(ws: Workspace, paths: Iterable[Path]) -> Iterator[Path]:
    """Copy the files to the quarantine, and yield those of which it has a copy then."""
    for path in dict.fromkeys(paths):
        version = ws.files.read_stable(path)
        if version and ws.quarantine.keep(path.name, version.data) != "full":
            yield path


def _repeating(dated: Mapping[Path, DatedFile]) -> Iterator[Path]:
    """
    Yield the dated files that repeat messages of others, the last that was made first; never one in which a person wrote.

    Of two with one name the journal can't say which has a message, so that other files have to have all of it.
    """
    keys = {path: {block.key for block in parsed.blocks} for path, parsed in dated.items()}
    times, names = Counter(key for held in keys.values() for key in held), Counter(path.name for path in dated)
    for path in sorted(dated, key=lambda path: (dated[path].created, -len(keys[path]), path), reverse=True):
        repeated = {key for key in keys[path] if times[key] > 1}
        is_spare = repeated == keys[path] if names[path.name] > 1 else bool(repeated)
        if is_spare and not dated[path].has_more:
            times.subtract(keys[path])
            yield path


def _homeless(ws: Workspace, aside: Iterable[Path], held: Mapping[str, Container[Key]], gone: Absences) -> set[Key]:
    """Return the messages that their file no longer has: it is set aside, gone or cut off, and no person deleted them."""
    absent = {name for name in ws.journal.file_names() if not ws.files.disk.stat(ws.memory.path_of(name))}
    unsound, written = absent.union(path.name for path in aside), [*ws.journal.written.items()]
    homeless = {key for key, name in written if name in unsound and key not in held.get(name, ())}
    homeless.update(key for keys in gone.cut.values() for key in keys)
    return homeless - ws.journal.removed - {key for key, now in gone.removed.items() if now is None}


def _copies(ws: Workspace, aside: Iterable[Path]) -> Iterator[Message]:
    yield from history_copies(ws.files, ws.paths, ws.zone)
    for path in aside:
        version = ws.files.read_stable(path)
        # with zeros or half a character at its end it would look like another program's file
        rest = version.data.replace(b"\0", b"").decode("utf-8", "ignore").encode() if version else b""
        parsed = parse_dated(rest, path)
        for block in parsed.blocks if parsed else ():
            message = read_message(raw_of(block), ws.zone)
            if isinstance(message, Message):
                yield message
