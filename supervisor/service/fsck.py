"""
Every message accounted for: what was ever seen stands in a dated file, in history.json, was set aside, or is lost.

Reads everything, changes nothing. Source: docs/protocol.md, 5; durability.md, I1 to I6.

What `recalld fsck --repair` mends; nothing goes of which no copy is kept.

A history.json that can't be read is put together again. Words whose dated file is gone or no longer whole are looked for in
history.json, its backup, the quarantine and what is left of the file; those that are found count as un-written again, and
the next run files them anew. Source: docs/protocol.md, 5; docs/durability.md.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from supervisor.archive.coverage import covered
from supervisor.archive.memory_folder import MemoryFolder
from supervisor.protocol.clock import to_wire
from supervisor.protocol.dated_file import body_digest, is_broken, parse_dated
from supervisor.protocol.errors import SupervisorError
from supervisor.protocol.frontmatter import read_head
from supervisor.protocol.lenient_json import parse_json, recover_prefix
from supervisor.protocol.message import Archived, InvalidEntry, Key, Message, read_message
from supervisor.service.steps import restore_history

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from supervisor.protocol.dated_file import Block
    from supervisor.workspace import Workspace


@dataclass(slots=True, kw_only=True)
class Ledger:
    """
    The account. *seen* = *in_files* + *in_history* + *in_journal* + *set_aside* + *removed* + *lost*.

    A message that stands in a dated file and in history.json counts as in a file. *removed*: a person took its block out
    of a file that is still there. *lost* names ids, *damage* is sentences; both empty in a sound workspace.
    """

    seen: int = 0
    in_files: int = 0
    in_history: int = 0
    in_journal: int = 0
    set_aside: int = 0
    removed: int = 0
    removed_ids: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    dated_files: int = 0
    edited_files: int = 0
    summaries: int = 0
    covered_files: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether nothing is lost and nothing damaged."""
        return not self.lost and not self.damage


def fsck(ws: Workspace) -> Ledger:
    """Return the account of the whole workspace."""
    ledger = Ledger()
    ws.journal.refresh()
    in_files = _files(ws, ledger)
    in_history: set[Key] = set()
    try:
        history = ws.history.read()
        in_history = {entry.key for entry in history if isinstance(entry, Message)}
        ledger.set_aside = sum(isinstance(entry, InvalidEntry) for entry in history)
        _flags(history, set(in_files), ws, ledger)
    except SupervisorError as error:
        ledger.damage.append(str(error))
    present = {file.name for file in ws.memory.dated()}
    everything = set(in_files) | in_history | set(ws.journal.written) | set(ws.journal.unwritten)
    for key in sorted(everything):
        if key in in_files:
            ledger.in_files += 1
        elif key in in_history:
            ledger.in_history += 1
        elif key in ws.journal.unwritten:
            ledger.in_journal += 1
        elif (file := ws.journal.file_of(key)) in present and file in ws.journal.notes:
            ledger.in_files += 1  # in a file that another program kept
        elif file in present:
            ledger.removed += 1
            ledger.removed_ids.append(key[0])
        else:
            ledger.lost.append(f"{key[0]} (was in {ws.journal.file_of(key)})")
    ledger.seen = len(everything) + ledger.set_aside
    return ledger


def is_whole(ws: Workspace, name: str) -> bool:
    """Tell whether the dated file *name*, which recalld made, is not there, or is there with its head and its end."""
    path = ws.memory.path_of(name)
    look = ws.files.read_stable(path)
    return look is None or (parse_dated(look.data, path) is not None and not is_broken(look.data))


def _files(ws: Workspace, ledger: Ledger) -> Counter[Key]:
    """Read every dated file and summary; returns how often each message stands in a dated file."""
    found: Counter[Key] = Counter()
    where: defaultdict[Key, list[str]] = defaultdict(list)
    memory = MemoryFolder(ws.files, ws.paths)
    files = memory.dated()
    for file in files:
        look = ws.files.read_stable(memory.path_of(file.name))
        parsed = parse_dated(look.data, memory.path_of(file.name)) if look else None
        if file.name in ws.journal.names and not is_whole(ws, file.name):
            ledger.damage.append(f"{file.name} is no longer whole: its head or its end is missing, or it holds zeros")
        if parsed is None or look is None:
            continue
        ledger.dated_files += 1
        _, body = read_head(look.data.decode("utf-8-sig", "replace"), memory.path_of(file.name))
        ledger.edited_files += body_digest(body) != parsed.digest
        for block in parsed.blocks:
            found[block.key] += 1
            where[block.key].append(file.name)
    for key, names in where.items():
        if len(names) > 1:
            ledger.damage.append(f"message {key[0]} stands {len(names)} times: {', '.join(names)}")
    summaries = memory.summaries()
    ledger.summaries = len(summaries)
    ledger.covered_files = len(covered(files, summaries))
    for name in sorted({file.name for file in files if file.ours and not file.original}):
        if ws.files.disk.stat(ws.paths.original(name)):
            ledger.damage.append(f"{name} lies in memory/ and in originals/")
    return found


def _flags(history: tuple[object, ...], in_files: set[Key], ws: Workspace, ledger: Ledger) -> None:
    """Name the messages whose flag says more than the files do."""
    for entry in history:
        if not isinstance(entry, Message) or entry.archived is not Archived.YES:
            continue
        # what was lost from its file and saved is un-written, and the next run writes it again
        if not (entry.key in in_files or entry.key in ws.journal.unwritten or ws.journal.file_of(entry.key)):
            ledger.damage.append(f"message {entry.id} is flagged true, but no dated file was ever made of it")


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
    ws.journal.refresh()
    broken = [name for name in sorted(ws.journal.names) if not is_whole(ws, name)]
    gone = {
        key for key, name in ws.journal.written.items() if name in broken or not ws.files.disk.stat(ws.memory.path_of(name))
    }
    found: dict[Key, Message] = {}
    if gone:
        found = {message.key: message for message in _copies(ws, broken) if message.key in gone}
    # apply: a copy first, then the journal, then the broken file
    kept = tuple(name for name in broken if _keep(ws, name))
    with ws.files.lock(ws.paths.history_lock):
        ws.journal.record_lost(list(found.values()))
    for name in kept:
        ws.files.remove(ws.memory.path_of(name))
    doubles = tuple(name for name in sorted(ws.journal.names) if _take_double_away(ws, name))
    done = Repairs(restored=restored, saved=len(found), set_aside=kept, doubles=doubles)
    if done != Repairs():
        ws.events.emit("repaired", restored=restored, saved=len(found), set_aside=len(kept), doubles=len(doubles))
    return done


def _copies(ws: Workspace, broken: list[str]) -> Iterator[Message]:
    """Yield every message of which a copy lies somewhere, the newest copies last."""
    paths, disk = ws.paths, ws.files.disk
    for name in disk.names(paths.quarantine):
        if name.startswith("history.json."):
            yield from _messages(ws, paths.quarantine / name)
    yield from _messages(ws, paths.history_backup)
    yield from _messages(ws, paths.history)
    for name in broken:
        path = ws.memory.path_of(name)
        look = ws.files.read_stable(path)
        # zeros and half a character at the end would make it a file of somebody else
        rest = look.data.replace(b"\0", b"").decode("utf-8", "ignore").encode() if look else b""
        parsed = parse_dated(rest, path)
        for block in parsed.blocks if parsed else ():
            message = read_message(_raw(block), ws.zone)
            if isinstance(message, Message):
                yield message


def _messages(ws: Workspace, path: Path) -> Iterator[Message]:
    look = ws.files.read_stable(path)
    if look is None:
        return
    try:
        raws = parse_json(look.data)
    except ValueError:
        raws = recover_prefix(look.data)
    for raw in raws if isinstance(raws, list) else ():
        message = read_message(raw, ws.zone)
        if isinstance(message, Message) and message.id and message.created_at:
            yield message


def _raw(block: Block) -> dict[str, Any]:
    """Return the JSON object that the block was made from."""
    words = {"role": block.role, block.text_field: block.text, "createdAt": to_wire(block.created_at)}
    return {"id": block.revision_of or block.id, **words, **block.fields}


def _keep(ws: Workspace, name: str) -> bool:
    """Keep a copy of a broken dated file in quarantine; tell whether there is one."""
    look = ws.files.read_stable(ws.memory.path_of(name))
    return look is not None and ws.quarantine.keep(name, look.data) != "full"


def _take_double_away(ws: Workspace, name: str) -> bool:
    """Take the file in originals/ away where memory/ shows the same bytes under the same name."""
    here, there = (ws.files.read_stable(path) for path in (ws.paths.dated(name), ws.paths.original(name)))
    if here is None or there is None or here.data != there.data:
        return False
    ws.files.ensure_durable(ws.paths.dated(name))  # it may be a person's copy of a moment ago
    ws.files.remove(ws.paths.original(name))
    return True
