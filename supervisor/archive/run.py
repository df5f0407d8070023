"""
The archive run: write each message word for word to the dated file of its day (docs/reference/protocol.md, 3).

Afterwards, and after a crash, the flags of history.json are reconciled with the files, and it is trimmed. What to write, which
flag and which message leaves is decided by `plan`; here the stores are read and written.

Much later dated files that a standing summary covers may be pruned: they go to `trash/`, where they can be brought back for
`care.trash_days`. Which ones is decided by `coverage`; the journal knows them, so that they are no loss (3.18).
"""

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial

from ..protocol.dated_file import render_dated
from ..protocol.message import History, Key, Message
from ..protocol.paths import WorkspacePaths
from ..storage.control import UNLIMITED, Control, note
from ..storage.files import Files
from ..storage.keeping import ReplacedTexts, move_across
from ..text.foreign_text import parts_of
from .append import Stores
from .coverage import MemoryFile, covered
from .intake import unwritten, update_journal
from .journal import SeenJournal
from .memory_folder import MemoryFolder
from .plan import (
    Due,
    Evidence,
    due,
    first_to_take,
    mark_pending,
    overflow,
    plan_days,
    reconcile,
    trim,
    without_open_questions,
)


def archive(ws: Stores, now: datetime, control: Control = UNLIMITED, *, everything: bool = False) -> int:
    """Write the un-written messages, without open questions unless *everything*, to new dated files; returns how many."""
    # gather
    history, journal, memory, settings = ws.history, ws.journal, ws.memory, ws.config.archive
    update_journal(journal, memory)  # first: a dated file that the journal misses would be written again
    # a message that another program added since the intake, or took the time from, waits for the next round
    waiting = [m for m in unwritten(history.read(), journal) if m.key in journal.unwritten and m.created_at]
    taken = taken_names(memory, journal)
    # decide
    chosen = waiting if everything else without_open_questions(waiting, now, settings.exchange_wait)
    plan = plan_days(chosen, settings.zone, taken, journal.has_written, ws.slugs)
    if not plan:
        return 0
    # apply: pending first, so that no cap can push out what is being written
    keys = {block.key for file in plan for block in file.blocks}
    history.change(partial(mark_pending, keys=keys))
    count = files = 0
    for file in plan:
        if control.should_stop():
            break
        blocks = [replace(block, fields=ws.attachments.keep(block.fields)) for block in file.blocks]
        data = render_dated(file.day, settings.timezone, settings.zone, now, blocks, ws.config.language)
        try:
            memory.write_dated(file.name, data)
        except FileExistsError:
            continue  # a person took the name meanwhile: the next run uses another
        journal.record_written(file.name, file.blocks)
        count, files = count + len(file.blocks), files + 1
        control.progress("written to dated files", count, len(keys))
    if files:
        ws.events.emit("archived", messages=count, files=files)
    return count


def taken_names(memory: MemoryFolder, journal: SeenJournal) -> set[str]:
    """Return every name of a dated file that is or ever was in use: no name is used twice."""
    named = {source.name for summary in memory.summaries().values() for source in summary.sources}  # also files that are gone
    return memory.names() | named | journal.names


def why_due(ws: Stores, now: datetime) -> Due | None:
    """Return why an archive run is due now; None when it is not."""
    history = ws.history.read()
    run = next_run(ws, history, unwritten(history, ws.journal), now)
    return run[1] if run and run[0] <= now else None


def next_run(ws: Stores, history: History, waiting: Sequence[Message], now: datetime) -> tuple[datetime, Due] | None:
    """
    Return when a run takes the first of the un-written messages *waiting* if no more messages come, and why; None without any.

    It is *now* if one is due, and takes some: open questions alone wait for their answers, whatever else is due.
    """
    if not waiting:
        return None
    settings = ws.config.archive
    overflowing = overflow(history, _is_written(ws.journal), ws.caps) is not None
    last_run = max((file.created for file in ws.memory.dated() if file.created and file.created <= now), default=None)
    run = due(waiting, last_run, now, settings.unarchived_limit, settings.interval, overflowing=overflowing)
    return (first_to_take(waiting, run[0], settings.exchange_wait), run[1]) if run else None


def reconcile_flags(ws: Stores, today: date, left: Callable[[Collection[MemoryFile], date, int], frozenset[str]]) -> None:
    """Set every flag of history.json to what follows from the files; those that are *left* without a summary need none."""
    # gather
    history, journal, recent_days = ws.history, ws.journal, ws.config.archive.recent_days
    files = update_journal(journal, ws.memory)  # first: messages of a file that the journal misses would count as un-written
    evidence = Evidence(
        file_of=journal.file_of,
        present=frozenset(file.name for file in files),
        covered=covered(files, ws.memory.summaries()) | left(files, today, recent_days),
        active_groups=ws.task_queue.active_groups().keys(),
        failures=ws.task_queue.failures(),
    )
    # decide
    step = partial(reconcile, evidence=evidence, today=today, recent_days=recent_days)
    # apply
    before = history.read()
    if step(before) != before:
        history.change(step)


def tell_overflow(ws: Stores) -> None:
    """Emit an event when history.json begins to exceed a hard cap that no trim can keep."""
    ws.events.transition("history_overflow", overflow(ws.history.read(), _is_written(ws.journal), ws.caps) == "hard")


def trim_history(ws: Stores) -> int:
    """
    Remove from history.json the messages that exceed its caps and are written and in their files; returns how many.

    Their pictures and files are looked at once more: history.json may be the last that has their bytes.
    """
    caps, before = ws.caps, ws.history.read()
    if trim(before, _is_written(ws.journal), caps) is before:  # nothing to look up the files for
        return 0
    written = _is_written(ws.journal, ws.deletions.absences().kept)
    if trim(before, written, caps) is before:
        return 0

    def without_the_oldest(history: History) -> History:
        after = trim(history, written, caps)
        left = {id(entry) for entry in after}
        for entry in history:
            if isinstance(entry, Message) and id(entry) not in left:
                ws.attachments.keep(entry.raw)
        return after

    after = ws.history.change(without_the_oldest)
    ws.journal.record_history(after)
    ws.events.emit("trimmed", messages=len(before) - len(after), left=len(after))
    return len(before) - len(after)


def _is_written(journal: SeenJournal, kept: Collection[Key] = ()) -> Callable[[Message], bool]:
    return lambda message: bool(message.id) and journal.file_of(message.key) is not None and message.key not in kept


class Trash:
    """The pruned files of one workspace."""

    def __init__(self, files: Files, paths: WorkspacePaths, journal: SeenJournal) -> None:
        self._files, self._paths, self._journal = files, paths, journal

    def prune(self, names: Sequence[str]) -> None:
        """Move these files of originals/ to the trash; the journal says so before the first one is moved."""
        if not names:
            return
        self._journal.record("pruned", sorted(names))
        self._files.make_folder(self._paths.trash, lasting=True)
        for name in names:
            move_across(self._files, self._paths.original(name), self._paths.trash / name)
            self._files.disk.touch(self._paths.trash / name)  # its age here is that of the pruning
        note("pruned", files=list(names), count=len(names))

    def bring_back(self, names: Sequence[str]) -> bool:
        """Move these files back to originals/; False, and nothing is moved, where one is gone or its place is taken."""
        places = {self._paths.trash / name: self._paths.original(name) for name in names}
        is_kept = all(parts_of(name, from_here=True) == (name,) for name in names)
        if not is_kept or any(self._files.disk.stat(old) is None or self._files.disk.stat(new) for old, new in places.items()):
            return False
        for old, new in places.items():
            self._files.make_folder(new.parent, lasting=True)
            move_across(self._files, old, new)
        self._journal.record("pruned", sorted(names), back=True)
        return True

    def empty(self, now: datetime, days: int) -> int:
        """Delete what has been in the trash for so many days; return how many files."""
        return ReplacedTexts(self._files, self._paths.trash).drop(now, timedelta(days=days), sys.maxsize)
