"""
Recalld with one step wrong: each must be found by the explorer, or the explorer is worth nothing.

Where the product is safe by two layers, both are taken away.
"""

from __future__ import annotations

import multiprocessing
import sys
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
from recalld.supervisor.protocol.summary_file import Summary
from recalld.supervisor.storage import files
from recalld.supervisor.storage.files import Files
from recalld.supervisor.summaries import collect, schedule, submit
from tests.crash import faults, others, people, talking, working
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


_JOB = faults.only_fresh(schedule.summary_job)
_PARSE = HistoryStore._parse

MUTANTS = (
    # ── the file layer ──
    mutant("no fsync", talking.Archive, "history.json can't be read", (ModelDisk, "sync", faults.nothing)),
    mutant("no fsync of folders", talking.Archive, "LOST: 一", (ModelDisk, "sync_folder", faults.nothing)),
    mutant("written in place", talking.Archive, "history.json can't be read", (Files, "replace", faults.in_place)),
    mutant("renamed before the fsync", talking.Archive, "history.json can't be read", (Files, "replace", faults.sync_late)),
    mutant("a line behind half a line", others.Swiped, "LOST: 门", (Files, "append", faults.append_torn)),
    mutant("no last look before the rename", others.Between, "LOST: 插", (Files, "_is_unchanged", lambda *_: True)),
    mutant("no sweep", talking.Archive, "was left behind", (Files, "sweep", lambda *_, **__: 0)),
    mutant("a sweep of anything temporary", people.Notes, "lost a person's words", (Files, "sweep", faults.greedy_sweep)),
    mutant("files that others may read", talking.Archive, "has mode 0644", (files, "FILE_MODE", 0o644)),
    mutant(
        "a picture named before it is on the disk",
        others.Pictures,
        "names attachments/",
        (history, "keep_by_content", faults.written_late),
    ),
    mutant(
        "a picture of a killed process is relied on",
        others.Pictures,
        "names attachments/",
        (history, "keep_by_content", faults.written_once),
    ),
    mutant(
        "a dated file has names of bytes that nobody kept",
        others.Pictures,
        "names attachments/",
        (history, "keep_by_content", faults.nothing),
    ),
    # ── history.json and the journal ──
    mutant("stale read", others.Meanwhile, "LOST: 边", (HistoryStore, "_parse", faults.stale_parse(_PARSE))),
    mutant(
        "a damaged history is an empty one",
        others.Damaged,
        "is gone from the conversation",
        (HistoryStore, "_parse", faults.damaged_is_empty(_PARSE)),
    ),
    mutant("no .bak", others.Damaged, "is gone from the conversation", (Files, "_second_name", faults.nothing)),
    mutant(
        "no copy of the damaged file",
        others.Damaged,
        "no copy was kept of the damaged file",
        (Quarantine, "keep", faults.nothing),
        (Quarantine, "keep_unread", lambda *_: "kept nowhere"),
        (intake, "keep_damaged", lambda *_: True),
    ),
    mutant("append tells no journal", others.Lost, "LOST: 三", (SeenJournal, "append_seen", faults.nothing)),
    mutant("the journal is not asked for lost words", others.Lost, "LOST: 一", (intake, "_reinsert", faults.nothing)),
    mutant(
        "the journal is emptied before it is written",
        working.Compact,
        "LOST: 一",
        (SeenJournal, "compact", faults.compact_in_place),
    ),
    mutant(
        "drop-box emptied before the history has it",
        others.DropBox,
        "LOST: 门",
        (DropBox, "parse", faults.removed_before_history(DropBox.parse)),
    ),
    mutant(
        "drop-box emptied before the journal has it",
        others.Swiped,
        "LOST: 门",
        (intake, "_empty_drop_box", faults.removed_before_journal(intake._empty_drop_box)),
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
        (Files, "ensure_durable", faults.nothing),
    ),
    mutant(
        "the backup of a history that nobody synced",
        others.Careless,
        "history.json.bak can't be read",
        (Files, "_sync_bytes", faults.nothing),
    ),
    mutant(
        "a note that nobody synced is relied on",
        others.Careless,
        "lost a person's words",
        (MemoryFolder, "ensure_durable", faults.nothing),
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
        (identity, "same_places", faults.same_words),
    ),
    mutant(
        "a time is known by its spelling alone",
        others.Respelled,
        "was said 1 times, and is written",
        (message, "fingerprints_of", faults.fingerprints_by_spelling),
        (dated_file, "fingerprints_of", faults.fingerprints_by_spelling),
    ),
    mutant(
        "words in the event seen",
        talking.Archive,
        "the event seen holds the words",
        (rounds, "intake", faults.telling_texts(intake.intake, "seen")),
    ),
    mutant(
        "words in the event put_back",
        others.Lost,
        "the event put_back holds the words",
        (intake, "_reinsert", faults.telling_texts(intake._reinsert, "put_back")),
    ),
    mutant("trim what is not written", talking.Trim, "LOST: 多", (run, "trim", faults.trim_anything)),
    mutant("trim the newest", talking.Trim, "was said last and has left history.json", (run, "trim", faults.trim_newest)),
    # ── the archive run ──
    mutant("flag before file", talking.Archive, "its words are in no dated file", (run, "mark_pending", faults.mark_archived)),
    mutant(
        "journal before file",
        talking.Archive,
        "its words are in no dated file",
        (MemoryFolder, "write_dated", faults.written_first(MemoryFolder.write_dated)),
    ),
    mutant(
        "written files unknown after a crash", talking.Archive, "DOUBLE: ", (intake, "_record_unknown_files", faults.nothing)
    ),
    mutant("pending is never mended", talking.Archive, "nothing is in flight", (rounds, "reconcile_flags", faults.nothing)),
    mutant(
        "recover resets groups in flight",
        talking.Archive,
        "a task with its words is in flight",
        (run, "Evidence", faults.reset),
    ),
    mutant("names without an ordinal", talking.LateInDay, "with another digest", (run, "taken_names", lambda *_: set())),
    mutant(
        "other words are the same message",
        talking.Revision,
        "its words are in no dated file",
        (JournalState, "file_of", lambda self, key: next((f for k, f in self.written.items() if k[0] == key[0]), None)),
    ),
    # ── roll-up and coverage ──
    mutant("tasks before pending", working.Failure, "a task with its words is in flight", (submit, "_mark", faults.nothing)),
    mutant(
        "moved before covered",
        talking.DayRipens,
        "lies in originals/, and no summary names it",
        (submit, "covered", faults.everything),
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
        (schedule, "covered", faults.by_name),
        (schedule, "covers", faults.covers_by_name),
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
        (schedule, "summary_job", _JOB),
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
        (collect, "Summary", faults.no_words_kept(Summary)),
    ),
    # ── the hand-off ──
    mutant("no reclaim", talking.DayRipens, "is still there", (TaskQueue, "requeue", faults.nothing)),
    mutant(
        "a failure counts at each look",
        working.Failure,
        "one failure counts as 2",
        (collect, "_fail", faults.count_again(collect._fail)),
    ),
    mutant("no wait after a failure", working.Failure, "is asked for before", (submit, "is_due", lambda *_: True)),
    mutant(
        "a failure is never forgotten",
        working.Failure,
        "worker/failed/day-2026-01-20.json is still there",
        (TaskQueue, "clear", faults.nothing),
    ),
    mutant(
        "the provider's fault is the group's",
        working.ProviderDown,
        "the provider is asked again at once",
        (collect, "note_result", faults.nothing),
    ),
    mutant("a receipt in place", working.Turn, "can't be read", (ReceiptStore, "write", faults.torn_receipt)),
    mutant("a claim that a power cut undoes", talking.DayRipens, "is asked again for", (Files, "move", faults.half_move)),
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
        (collect, "_take_in", faults.result_first(collect._take_in)),
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
