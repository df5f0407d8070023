"""
Recalld with one step wrong: each must be found by the explorer, or the explorer is worth nothing.

A step is left out, done in another way, or has another text in its source; whoever changes that text changes the row. Where the product
is safe by two layers, both are taken away.
"""

import inspect
import multiprocessing
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from recalld.supervisor.archive import history, identity, intake, memory_folder, run
from recalld.supervisor.archive.append import DropBox
from recalld.supervisor.archive.history import HistoryStore
from recalld.supervisor.archive.journal import JournalState, SeenJournal
from recalld.supervisor.archive.memory_folder import MemoryFolder
from recalld.supervisor.archive.quarantine import Quarantine
from recalld.supervisor.context.turns import ReceiptStore
from recalld.supervisor.host import round as rounds
from recalld.supervisor.protocol import dated_file, message
from recalld.supervisor.protocol.queue import Lease, TaskQueue
from recalld.supervisor.storage import files
from recalld.supervisor.storage.files import Files
from recalld.supervisor.summaries import collect, schedule, submit
from tests.crash import others, people, talking, working
from tests.crash.explorer import Explorer, Report
from tests.crash.model_disk import ModelDisk
from tests.crash.workload import Workload


class Mutant(NamedTuple):
    """What is changed, by setattr, and the workload in which *by* has to be among what is wrong."""

    name: str
    workload: type[Workload]
    by: str
    changes: tuple[tuple[object, str, Any], ...]


def mutant(name: str, workload: type[Workload], by: str, *changes: tuple[object, str, Any]) -> Mutant:
    return Mutant(name, workload, by, changes)


def edit(owner: object, name: str, old: str, new: str) -> tuple[object, str, Any]:
    """The change of a function by its text: *old*, which stands in it once, becomes *new*."""
    function = getattr(owner, name)
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"{old!r} stands in {name} {source.count(old)} times"
    made: dict[str, Any] = {}
    exec("from __future__ import annotations\n" + source.replace(old, new), function.__globals__, made)  # noqa: S102 - it is our own
    return owner, name, made[function.__name__]


def nothing(*_: object, **__: object) -> None:
    """Leave the step out."""


def in_place(self: Any, path: Any, data: bytes, *_: object, **__: object) -> None:
    """Take the old file away and write the new one under its name."""
    self.remove(path)
    self.append(path, data)


def append_torn(self: Any, path: Any, line: bytes, _row: int = 0) -> None:
    """Add a line behind whatever stands there, be it half a line."""
    handle = self.disk.open_append(path, 0o600)
    self.disk.write(handle, line)
    self.disk.sync(handle)
    self.disk.close(handle)


def sync_late(self: Any, path: Any, data: bytes, seen: Any, keep: Any = None) -> None:
    """Rename first, make the bytes durable afterwards."""
    temporary = self._temporary_name(path)
    handle = self.disk.create(temporary, 0o600)
    self.disk.write(handle, data)
    self.disk.rename(temporary, path)
    self.disk.sync(handle)
    self.disk.close(handle)
    self.disk.sync_folder(path.parent)


def same_words(before: Sequence[str], after: Sequence[str], *_: object, **__: object) -> dict[int, int]:
    """Take equal words for the same message, wherever they are."""
    places: dict[int, int] = {}
    for there, word in enumerate(after):
        here = next((n for n, other in enumerate(before) if other == word and n not in places.values()), None)
        if here is not None:
            places[there] = here
    return places


MUTANTS = (
    # ── the file layer ──
    mutant("no fsync", talking.Archive, "history.json can't be read", (ModelDisk, "sync", nothing)),
    mutant("no fsync of folders", talking.Archive, "LOST: 一", (ModelDisk, "sync_folder", nothing)),
    mutant("written in place", talking.Archive, "history.json can't be read", (Files, "replace", in_place)),
    mutant("renamed before the fsync", talking.Archive, "history.json can't be read", (Files, "replace", sync_late)),
    mutant("a line behind half a line", others.Swiped, "LOST: 门", (Files, "append", append_torn)),
    mutant("no last look before the rename", others.Between, "LOST: 插", (Files, "_is_unchanged", lambda *_: True)),
    mutant("no sweep", talking.Archive, "was left behind", (Files, "sweep", lambda *_, **__: 0)),
    mutant(
        "a sweep of anything temporary",
        people.Notes,
        "lost a person's words",
        edit(
            Files,
            "sweep",
            'match = TEMPORARY.fullmatch(entry)\n        if not match or name not in ("", match["name"]):',
            'if not entry.endswith((".tmp", ".swp")):',
        ),
    ),
    mutant("files that others may read", talking.Archive, "has mode 0644", (files, "FILE_MODE", 0o644)),
    mutant(
        "a picture named before it is on the disk",
        others.Pictures,
        "names attachments/",
        edit(
            history,
            "keep_by_content",
            "files.create(path, data)",
            "handle = files.disk.create(path, 0o600); files.disk.write(handle, data); files.disk.close(handle)",
        ),
    ),
    mutant(
        "a picture of a killed process is relied on",
        others.Pictures,
        "names attachments/",
        edit(history, "keep_by_content", "files.ensure_durable(path)", "pass"),
    ),
    mutant(
        "a dated file has names of bytes that nobody kept",
        others.Pictures,
        "names attachments/",
        (history, "keep_by_content", nothing),
    ),
    # ── history.json and the journal ──
    mutant("stale read", others.Meanwhile, "LOST: 边", edit(HistoryStore, "_parse", "version.digest != digest", "not history")),
    mutant(
        "a damaged history is an empty one",
        others.Damaged,
        "is gone from the conversation",
        edit(HistoryStore, "_parse", "raise self._damage(error.args[0]) from None", "return ()"),
    ),
    mutant("no .bak", others.Damaged, "is gone from the conversation", (Files, "_second_name", nothing)),
    mutant(
        "no copy of the damaged file",
        others.Damaged,
        "no copy was kept of the damaged file",
        (Quarantine, "keep", nothing),
        (Quarantine, "keep_unread", lambda *_: "kept nowhere"),
        (intake, "keep_damaged", lambda *_: True),
    ),
    mutant("append tells no journal", others.Lost, "LOST: 三", (SeenJournal, "append_seen", nothing)),
    mutant("the journal is not asked for lost words", others.Lost, "LOST: 一", (intake, "_reinsert", nothing)),
    mutant(
        "the journal is emptied before it is written",
        working.Compact,
        "LOST: 一",
        edit(
            SeenJournal,
            "compact",
            "self._files.replace(self._paths.seen, _rendered(chain([_HEAD], lines)), stat)",
            "lines = [*lines]; self._files.remove(self._paths.seen); self._append(lines)",
        ),
    ),
    mutant(
        "drop-box emptied before the history has it",
        others.DropBox,
        "LOST: 门",
        edit(DropBox, "parse", "return messages", "self._files.remove(path); return messages"),
    ),
    mutant(
        "drop-box emptied before the journal has it",
        others.Swiped,
        "LOST: 门",
        edit(intake, "_empty_drop_box", "dropped.update(claimed)", "[ws.files.remove(path) for path in claimed]"),
    ),
    mutant(
        "a dropped file is deleted by its name",
        others.Reused,
        "LOST: 话",
        (DropBox, "claim", lambda _box, path, _version: path),
    ),
    mutant(
        "a dropped file that waits already is relied on as it lies",
        others.SaidAgain,
        "LOST: 又",
        (Files, "ensure_durable", nothing),
    ),
    mutant(
        "the backup of a history that nobody synced",
        others.Careless,
        "history.json.bak can't be read",
        (Files, "_sync_bytes", nothing),
    ),
    mutant(
        "a note that nobody synced is relied on",
        others.Careless,
        "lost a person's words",
        (MemoryFolder, "ensure_durable", nothing),
    ),
    mutant(
        "a message without a name is never known again",
        others.Nameless,
        "was said 1 times, and is written 2 times",
        (identity, "_known_keys", lambda *_: iter(())),
    ),
    mutant(
        "newer words of an id are always the same message", others.Numbered, "LOST: 0", (intake, "continues", lambda *_: True)
    ),
    mutant(
        "a message with another number is another message",
        others.Numbered,
        "was said 1 times, and is written 2 times",
        (intake, "renumbered", lambda *_: {}),
    ),
    mutant(
        "what slid out is the twin of what came in",
        others.Window,
        "LOST: 2026-01-28T12:00:00.000Z '继续。'",
        (identity, "same_places", same_words),
    ),
    mutant(
        "a time is known by its spelling alone",
        others.Respelled,
        "was said 1 times, and is written",
        edit(message, "fingerprints_of", "if created_at:", "if created_at and not times:"),
        edit(dated_file, "fingerprints_of", "if created_at:", "if created_at and not times:"),
    ),
    mutant(
        "words in the event seen",
        talking.Archive,
        "the event seen holds the words",
        edit(rounds, "intake", "messages=len(unseen)", "messages=[one.text for one in unseen]"),
    ),
    mutant(
        "words in the event put_back",
        others.Lost,
        "the event put_back holds the words",
        edit(intake, "_reinsert", "messages=len(copies)", "messages=[one.text for one in copies]"),
    ),
    mutant("trim what is not written", talking.Trim, "LOST: 多", edit(run, "trim", "if written(message)", "if True")),
    mutant(
        "trim the newest",
        talking.Trim,
        "was said last and has left history.json",
        edit(run, "trim", "messages[: -caps.keep_newest] if caps.keep_newest else messages", "messages"),
    ),
    # ── the archive run ──
    mutant(
        "flag before file",
        talking.Archive,
        "its words are in no dated file",
        edit(run, "mark_pending", "Archived.PENDING", "Archived.YES"),
    ),
    mutant(
        "journal before file",
        talking.Archive,
        "its words are in no dated file",
        edit(
            rounds,
            "archive",
            "memory.write_dated(file.name, data)",
            "journal.record_written(file.name, file.blocks); memory.write_dated(file.name, data)",
        ),
    ),
    mutant("written files unknown after a crash", talking.Archive, "DOUBLE: ", (intake, "_record_unknown_files", nothing)),
    mutant("pending is never mended", talking.Archive, "nothing is in flight", (rounds, "reconcile_flags", nothing)),
    mutant(
        "recover resets groups in flight",
        talking.Archive,
        "a task with its words is in flight",
        edit(run, "reconcile_flags", "ws.task_queue.active_groups().keys()", "()"),
    ),
    mutant("names without an ordinal", talking.LateInDay, "with another digest", (run, "taken_names", lambda *_: set())),
    mutant(
        "other words are the same message",
        talking.Revision,
        "its words are in no dated file",
        (JournalState, "file_of", lambda self, key: next((f for k, f in self.written.items() if k[0] == key[0]), None)),
    ),
    # ── roll-up and coverage ──
    mutant("tasks before pending", working.Failure, "a task with its words is in flight", (submit, "_mark", nothing)),
    mutant(
        "moved before covered",
        talking.DayRipens,
        "lies in originals/, and no summary names it",
        (submit, "covered", lambda files, _: frozenset(file.name for file in files)),
    ),
    mutant(
        "copies of synchronisers are memory",
        people.Copies,
        "(1).md is a copy, and was touched",
        (memory_folder, "copies", lambda *_: {}),
    ),
    mutant(
        "covered by name alone",
        people.DatedEdited,
        "is old and no summary names it",
        edit(schedule, "covered", "file.source in named", "file.name in {source.name for source in named}"),
        edit(
            schedule,
            "covers",
            "set(summary.sources).issuperset(file.source",
            "{x.name for x in summary.sources}.issuperset(file.name",
        ),
    ),
    mutant(
        "a month hides what it does not name",
        talking.LateInMonth,
        "its words are written",
        (schedule, "covers", lambda s, _: s is not None),
    ),
    mutant(
        "overwrite instead of merge",
        talking.LateInDay,
        "no summary names it",
        edit(
            schedule,
            "summary_job",
            "to_read = unread if continues else list(members)",
            "members = unread or members; to_read = list(members)",
        ),
        (collect, "may_replace", lambda *_, **__: True),
    ),
    mutant(
        "a narrower text takes the place",
        working.TwoWorkers,
        "no summary names it",
        (collect, "may_replace", lambda *_, **__: True),
        (Lease, "held", lambda *_: True),
    ),
    mutant(
        "a person's words are not kept",
        people.Edited,
        "lost a person's words",
        edit(collect, "_write", 'before.kept if before else ""', '""'),
    ),
    # ── the hand-off ──
    mutant("no reclaim", talking.DayRipens, "is still there", (TaskQueue, "requeue", nothing)),
    mutant(
        "a failure counts at each look",
        working.Failure,
        "one failure counts as 2",
        edit(collect, "_fail", "Backoff(result.attempt)", "Backoff(last.attempts if last else result.attempt)"),
    ),
    mutant("no wait after a failure", working.Failure, "is asked for before", (submit, "is_due", lambda *_: True)),
    mutant(
        "a failure is never forgotten",
        working.Failure,
        "worker/failed/day-2026-01-20.json is still there",
        (TaskQueue, "clear", nothing),
    ),
    mutant(
        "the provider's fault is the group's",
        working.ProviderDown,
        "the provider is asked again at once",
        (collect, "note_result", nothing),
    ),
    mutant(
        "a receipt in place",
        working.Turn,
        "can't be read",
        edit(ReceiptStore, "write", "self._files.create(", "self._files.append("),
    ),
    mutant(
        "a claim that a power cut undoes",
        talking.DayRipens,
        "is asked again for",
        edit(Files, "move", "self.disk.sync_folder(old.parent)", "pass"),
    ),
    mutant(
        "a result that comes back with the next power cut",
        working.Failure,
        "is asked for before",
        (TaskQueue, "sync_folders", lambda _: None),
    ),
    mutant(
        "what a killed process owed the disk is relied on",
        talking.DayRipens,
        "but its words are in no dated file",
        (Files, "ensure_durable", lambda *_: None),
        (Files, "_sync_name", lambda *_: None),
    ),
    mutant(
        "the result deleted first",
        talking.DayRipens,
        "lies in originals/, and no summary names it",
        edit(
            collect,
            "_take_in",
            "# gather",
            'stores.use.task_queue.discard(stores.use.task_queue.results / f"{result.id}.json")',
        ),
    ),
)


def prove(mutant: Mutant) -> Report:
    """Explore the mutant up to its first failure; crashes inside recovery only where none was found without."""
    workload = mutant.workload()
    start = workload.start()
    with pytest.MonkeyPatch.context() as patch:
        for change in mutant.changes:
            patch.setattr(*change)
        explorer = Explorer(workload.recover, workload.judge, workload.glance, stop=True)
        report = explorer.explore(workload.work, start, mutant.name)
        if not report.failures:
            explorer.depth, explorer.points = 1, 16
            report.join(explorer.explore(workload.work, start))
    return report


def shown_by(mutant: Mutant, report: Report) -> str:
    """The line of what is wrong that tells of this mutant; "" where it is not found, or by an error that it makes itself."""
    violations = report.shortest.violations if report.shortest else ()
    return next((line.strip() for one in violations for line in one.splitlines() if mutant.by in line), "")


def table(jobs: int) -> int:
    """Print which mutant is found where, and after how many states; returns 1 when one is not."""
    wrong = 0
    print("| mutant | found in | after states | by |\n|---|---|---|---|")
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for mutant, report in zip(MUTANTS, pool.imap(_by_number, range(len(MUTANTS))), strict=True):
            line = shown_by(mutant, report)
            print(f"| {mutant.name} | {mutant.workload.__name__} | {report.states} | {line[:90]} |")
            if not line:
                wrong += 1
                print(f"{mutant.name} is not found by {mutant.by!r}: {report}", file=sys.stderr)
    print(f"{len(MUTANTS)} mutants, {wrong} not as they should be", file=sys.stderr)
    return 1 if wrong else 0


def _by_number(number: int) -> Report:
    return prove(MUTANTS[number])
