"""
Recalld with one step wrong: each must be found by the explorer, or the explorer is worth nothing.

Where the product is safe by two layers, both are taken away. A mutant that can't be found stands here with its reason.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import recalld.supervisor.archive.history
import recalld.supervisor.archive.identity
import recalld.supervisor.archive.intake
import recalld.supervisor.archive.memory_folder
import recalld.supervisor.archive.run
import recalld.supervisor.host.lock
import recalld.supervisor.host.round
import recalld.supervisor.protocol.dated_file
import recalld.supervisor.protocol.message
import recalld.supervisor.storage.files
import recalld.supervisor.summaries.collect
import recalld.supervisor.summaries.schedule
import recalld.supervisor.summaries.submit
from recalld.supervisor.archive.append import DropBox
from recalld.supervisor.archive.history import HistoryStore
from recalld.supervisor.archive.journal import JournalState, SeenJournal
from recalld.supervisor.archive.memory_folder import MemoryFolder
from recalld.supervisor.archive.quarantine import Quarantine
from recalld.supervisor.context.turns import ReceiptStore
from recalld.supervisor.protocol.queue import Lease, TaskQueue
from recalld.supervisor.protocol.summary_file import Summary
from recalld.supervisor.storage.files import Files, FsyncTracker
from tests.crash import faults, others, people, talking, working
from tests.crash.model_disk import ModelDisk
from tests.crash.workload import Workload


class Mutant(NamedTuple):
    """What is changed, by setattr, and the workload in which *by* has to be among what is wrong; *survives* says why it can't."""

    name: str
    workload: type[Workload]
    by: str
    changes: tuple[tuple[object, str, Any], ...]
    survives: str = ""


_JOB = faults.only_fresh(recalld.supervisor.summaries.schedule.summary_job)
_PARSE = HistoryStore._parse

MUTANTS = (
    # ── the file layer ──
    Mutant("no fsync", talking.Archive, "history.json can't be read", ((ModelDisk, "sync", faults.nothing),)),
    Mutant("no fsync of folders", talking.Archive, "LOST: 一", ((ModelDisk, "sync_folder", faults.nothing),)),
    Mutant("written in place", talking.Archive, "history.json can't be read", ((Files, "replace", faults.in_place),)),
    Mutant("renamed before the fsync", talking.Archive, "history.json can't be read", ((Files, "replace", faults.sync_late),)),
    Mutant("a line behind half a line", others.Swiped, "LOST: 门", ((Files, "append", faults.append_torn),)),
    Mutant("no last look before the rename", others.Between, "LOST: 插", ((Files, "_is_unchanged", lambda *_: True),)),
    Mutant("no sweep", talking.Archive, "was left behind", ((Files, "sweep", lambda *_, **__: 0),)),
    Mutant("a sweep of anything temporary", people.Notes, "lost a person's words", ((Files, "sweep", faults.greedy_sweep),)),
    Mutant(
        "files that others may read",
        talking.Archive,
        "has mode 0644",
        ((recalld.supervisor.storage.files, "FILE_MODE", 0o644),),
    ),
    Mutant(
        "a picture named before it is on the disk",
        others.Pictures,
        "names attachments/",
        ((recalld.supervisor.archive.history, "keep_by_content", faults.written_late),),
    ),
    Mutant(
        "a picture of a killed process is relied on",
        others.Pictures,
        "names attachments/",
        ((recalld.supervisor.archive.history, "keep_by_content", faults.written_once),),
    ),
    Mutant(
        "a dated file has names of bytes that nobody kept",
        others.Pictures,
        "names attachments/",
        ((recalld.supervisor.archive.history, "keep_by_content", faults.nothing),),
    ),
    # ── history.json and the journal ──
    Mutant("stale read", others.Meanwhile, "LOST: 边", ((HistoryStore, "_parse", faults.stale_parse(_PARSE)),)),
    Mutant(
        "a damaged history is an empty one",
        others.Damaged,
        "is gone from the conversation",
        ((HistoryStore, "_parse", faults.damaged_is_empty(_PARSE)),),
    ),
    Mutant("no .bak", others.Damaged, "is gone from the conversation", ((Files, "_second_name", faults.nothing),)),
    Mutant(
        "no copy of the damaged file",
        others.Damaged,
        "no copy was kept of the damaged file",
        ((Quarantine, "keep", faults.nothing), (recalld.supervisor.archive.intake, "keep_damaged", lambda *_: True)),
    ),
    Mutant("append tells no journal", others.Lost, "LOST: 三", ((SeenJournal, "append_seen", faults.nothing),)),
    Mutant(
        "the journal is not asked for lost words",
        others.Lost,
        "LOST: 一",
        ((recalld.supervisor.archive.intake, "_reinsert", faults.nothing),),
    ),
    Mutant(
        "the journal is emptied before it is written",
        working.Compact,
        "LOST: 一",
        ((SeenJournal, "compact", faults.compact_in_place),),
    ),
    Mutant(
        "drop-box emptied before the history has it",
        others.DropBox,
        "LOST: 门",
        ((DropBox, "parse", faults.removed_before_history(DropBox.parse)),),
    ),
    Mutant(
        "drop-box emptied before the journal has it",
        others.Swiped,
        "LOST: 门",
        (
            (
                recalld.supervisor.archive.intake,
                "_empty_drop_box",
                faults.removed_before_journal(recalld.supervisor.archive.intake._empty_drop_box),
            ),
        ),
    ),
    Mutant(
        "a dropped file is deleted by its name",
        others.Reused,
        "LOST: 话",
        ((DropBox, "claim", lambda _box, path, _version: path),),
    ),
    Mutant(
        "a dropped file that waits already is relied on as it lies",
        others.SaidAgain,
        "LOST: 又",
        ((Files, "ensure_durable", faults.nothing),),
    ),
    Mutant(
        "the backup of a history that nobody synced",
        others.Careless,
        "history.json.bak can't be read",
        ((FsyncTracker, "ensure_bytes_durable", faults.nothing),),
    ),
    Mutant(
        "a note that nobody synced is relied on",
        others.Careless,
        "lost a person's words",
        ((MemoryFolder, "ensure_durable", faults.nothing),),
    ),
    Mutant(
        "a message without a name is never known again",
        others.Nameless,
        "was said 1 times, and is written 2 times",
        ((recalld.supervisor.archive.identity, "_known_keys", lambda *_: iter(())),),
    ),
    Mutant(
        "newer words of an id are always the same message",
        others.Numbered,
        "LOST: 0",
        ((recalld.supervisor.archive.intake, "continues", lambda *_: True),),
    ),
    Mutant(
        "a message with another number is another message",
        others.Numbered,
        "was said 1 times, and is written 2 times",
        ((recalld.supervisor.archive.intake, "renumbered", lambda *_: {}),),
    ),
    Mutant(
        "what slid out is the twin of what came in",
        others.Window,
        "LOST: 2026-01-28T12:00:00.000Z '继续。'",
        ((recalld.supervisor.archive.identity, "same_places", faults.same_words),),
    ),
    Mutant(
        "a time is known by its spelling alone",
        others.Respelled,
        "was said 1 times, and is written",
        (
            (recalld.supervisor.protocol.message, "fingerprints_of", faults.fingerprints_by_spelling),
            (recalld.supervisor.protocol.dated_file, "fingerprints_of", faults.fingerprints_by_spelling),
        ),
    ),
    Mutant(
        "words in the event seen",
        talking.Archive,
        "the event seen holds the words",
        ((recalld.supervisor.host.round, "intake", faults.telling_texts(recalld.supervisor.archive.intake.intake, "seen")),),
    ),
    Mutant(
        "words in the event put_back",
        others.Lost,
        "the event put_back holds the words",
        (
            (
                recalld.supervisor.archive.intake,
                "_reinsert",
                faults.telling_texts(recalld.supervisor.archive.intake._reinsert, "put_back"),
            ),
        ),
    ),
    Mutant(
        "trim what is not written", talking.Trim, "LOST: 多", ((recalld.supervisor.archive.run, "trim", faults.trim_anything),)
    ),
    Mutant(
        "trim the newest",
        talking.Trim,
        "was said last and has left history.json",
        ((recalld.supervisor.archive.run, "trim", faults.trim_newest),),
    ),
    # ── the archive run ──
    Mutant(
        "flag before file",
        talking.Archive,
        "its words are in no dated file",
        ((recalld.supervisor.archive.run, "mark_pending", faults.mark_archived),),
    ),
    Mutant(
        "journal before file",
        talking.Archive,
        "its words are in no dated file",
        ((MemoryFolder, "write_dated", faults.written_first(MemoryFolder.write_dated)),),
    ),
    Mutant(
        "written files unknown after a crash",
        talking.Archive,
        "DOUBLE: ",
        ((recalld.supervisor.archive.intake, "_record_unknown_files", faults.nothing),),
    ),
    Mutant(
        "pending is never mended",
        talking.Archive,
        "nothing is in flight",
        ((recalld.supervisor.host.round, "reconcile_flags", faults.nothing),),
    ),
    Mutant(
        "recover resets groups in flight",
        talking.Archive,
        "a task with its words is in flight",
        ((recalld.supervisor.archive.run, "Evidence", faults.reset),),
    ),
    Mutant(
        "names without an ordinal",
        talking.LateInDay,
        "with another digest",
        ((recalld.supervisor.archive.run, "taken_names", lambda *_: set()),),
    ),
    Mutant(
        "other words are the same message",
        talking.Revision,
        "its words are in no dated file",
        ((JournalState, "file_of", lambda self, key: next((f for k, f in self.written.items() if k[0] == key[0]), None)),),
    ),
    # ── roll-up and coverage ──
    Mutant(
        "tasks before pending",
        working.Failure,
        "a task with its words is in flight",
        ((recalld.supervisor.summaries.submit, "_mark", faults.nothing),),
    ),
    Mutant(
        "moved before covered",
        talking.DayRipens,
        "lies in originals/, and no summary names it",
        ((recalld.supervisor.summaries.submit, "covered", faults.everything),),
    ),
    Mutant(
        "copies of synchronisers are memory",
        people.Copies,
        "(1).md is a copy, and was touched",
        ((recalld.supervisor.archive.memory_folder, "copies", lambda *_: {}),),
    ),
    Mutant(
        "covered by name alone",
        people.DatedEdited,
        "is old and no summary names it",
        (
            (recalld.supervisor.summaries.schedule, "covered", faults.by_name),
            (recalld.supervisor.summaries.schedule, "covers", faults.covers_by_name),
        ),
    ),
    Mutant(
        "a month hides what it does not name",
        talking.LateInMonth,
        "its words are written",
        ((recalld.supervisor.summaries.schedule, "covers", lambda s, _: s is not None),),
    ),
    Mutant(
        "overwrite instead of merge",
        talking.LateInDay,
        "no summary names it",
        (
            (recalld.supervisor.summaries.schedule, "summary_job", _JOB),
            (recalld.supervisor.summaries.collect, "may_replace", lambda *_, **__: True),
        ),
    ),
    Mutant(
        "a narrower text takes the place",
        working.TwoWorkers,
        "no summary names it",
        ((recalld.supervisor.summaries.collect, "may_replace", lambda *_, **__: True), (Lease, "held", lambda *_: True)),
    ),
    Mutant(
        "a person's words are not kept",
        people.Edited,
        "lost a person's words",
        ((recalld.supervisor.summaries.collect, "Summary", faults.no_words_kept(Summary)),),
    ),
    # ── the hand-off ──
    Mutant("no reclaim", talking.DayRipens, "is still there", ((TaskQueue, "requeue", faults.nothing),)),
    Mutant(
        "a failure counts at each look",
        working.Failure,
        "one failure counts as 2",
        ((recalld.supervisor.summaries.collect, "_fail", faults.count_again(recalld.supervisor.summaries.collect._fail)),),
    ),
    Mutant(
        "no wait after a failure",
        working.Failure,
        "is asked for before",
        ((recalld.supervisor.summaries.submit, "is_due", lambda *_: True),),
    ),
    Mutant(
        "a failure is never forgotten",
        working.Failure,
        "worker/failed/day-2026-01-20.json is still there",
        ((TaskQueue, "clear", faults.nothing),),
    ),
    Mutant(
        "the provider's fault is the group's",
        working.ProviderDown,
        "the provider is asked again at once",
        ((recalld.supervisor.summaries.collect, "note_result", faults.nothing),),
    ),
    Mutant("a receipt in place", working.Turn, "can't be read", ((ReceiptStore, "write", faults.torn_receipt),)),
    Mutant("a claim that a power cut undoes", talking.DayRipens, "is asked again for", ((Files, "move", faults.half_move),)),
    Mutant(
        "a result that comes back with the next power cut",
        working.Failure,
        "a task with its words is in flight",
        ((TaskQueue, "sync_folders", lambda _: None),),
    ),
    Mutant(
        "what a killed process owed the disk is relied on",
        talking.DayRipens,
        "but its words are in no dated file",
        ((Files, "ensure_durable", lambda *_: None), (FsyncTracker, "ensure_name_durable", lambda *_: None)),
    ),
    Mutant(
        "the result deleted first",
        talking.DayRipens,
        "lies in originals/, and no summary names it",
        (
            (
                recalld.supervisor.summaries.collect,
                "_take_in",
                faults.result_first(recalld.supervisor.summaries.collect._take_in),
            ),
        ),
    ),
    Mutant(
        "the running task is left",
        talking.DayRipens,
        "",
        ((TaskQueue, "discard", faults.discard_running),),
        survives="finish has deleted it already; one that a crash leaves is put back, asked for nothing that stands, and discarded",
    ),
)
