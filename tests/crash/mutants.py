"""
Recalld with one step wrong: each must be found by the explorer, or the explorer is worth nothing.

Where the product is safe by two layers, both are taken away. A mutant that can't be found stands here with its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import supervisor.archive
import supervisor.harvest
import supervisor.intake
import supervisor.policy.ripen
import supervisor.protocol.files
import supervisor.recover
import supervisor.rollup
import supervisor.round
from supervisor.history import HistoryStore
from supervisor.memory import MemoryStore
from supervisor.protocol.files import Files
from supervisor.protocol.spool import Spool
from supervisor.protocol.summary import Summary
from supervisor.receipts import ReceiptStore
from supervisor.seen import SeenJournal
from tests.crash import faults, others, people, talking, working
from tests.crash.model_disk import ModelDisk
from worker.lease import Lease

if TYPE_CHECKING:
    from tests.crash.workload import Workload


class Mutant(NamedTuple):
    """What is changed, by setattr, and the workload in which the explorer has to find it; *survives* says why it can't."""

    name: str
    workload: type[Workload]
    changes: tuple[tuple[object, str, Any], ...]
    survives: str = ""


_WORK_ON = faults.only_fresh(supervisor.policy.ripen.work_on)
_PARSE = HistoryStore._parse

MUTANTS = (
    # ── the file layer ──
    Mutant("no fsync", talking.Archive, ((ModelDisk, "sync", faults.nothing),)),
    Mutant("no fsync of folders", talking.Archive, ((ModelDisk, "sync_folder", faults.nothing),)),
    Mutant("written in place", talking.Archive, ((Files, "replace", faults.in_place),)),
    Mutant("renamed before the fsync", talking.Archive, ((Files, "replace", faults.sync_late),)),
    Mutant(
        "a line behind half a line",
        talking.Archive,
        ((Files, "append", faults.append_torn),),
        survives="what the journal loses is read anew from history.json and the dated files; test_files_crash finds it",
    ),
    Mutant("no last look before the rename", others.Between, ((Files, "_still", lambda *_: True),)),
    Mutant("no sweep", talking.Archive, ((Files, "sweep", lambda *_, **__: 0),)),
    Mutant("a sweep of anything temporary", people.Notes, ((Files, "sweep", faults.greedy_sweep),)),
    Mutant("files that others may read", talking.Archive, ((supervisor.protocol.files, "FILE_MODE", 0o644),)),
    # ── history.json and the journal ──
    Mutant("stale read", others.Meanwhile, ((HistoryStore, "_parse", faults.stale_parse(_PARSE)),)),
    Mutant("a damaged history is an empty one", others.Damaged, ((HistoryStore, "_parse", faults.damaged_is_empty(_PARSE)),)),
    Mutant("no .bak", others.Damaged, ((Files, "_keep", faults.nothing),)),
    Mutant("no copy of the damaged file", others.Damaged, ((Files, "quarantine", lambda *_: None),)),
    Mutant("append tells no journal", others.Lost, ((SeenJournal, "note", faults.nothing),)),
    Mutant("the journal is not asked for lost words", others.Lost, ((supervisor.intake, "_put_back", faults.nothing),)),
    Mutant(
        "the journal is emptied before it is written", working.Compact, ((SeenJournal, "compact", faults.compact_in_place),)
    ),
    Mutant(
        "drop-box emptied first",
        others.DropBox,
        ((supervisor.intake, "_take_in", faults.remove_first(supervisor.intake._take_in)),),
    ),
    Mutant("trim what is not written", talking.Trim, ((supervisor.recover, "trim", faults.trim_anything),)),
    Mutant("trim the newest", talking.Trim, ((supervisor.recover, "trim", faults.trim_newest),)),
    # ── the archive run ──
    Mutant("flag before file", talking.Archive, ((supervisor.archive, "mark_pending", faults.mark_archived),)),
    Mutant(
        "journal before file", talking.Archive, ((MemoryStore, "write_dated", faults.written_first(MemoryStore.write_dated)),)
    ),
    Mutant("written files unknown after a crash", talking.Archive, ((supervisor.intake, "_reconcile", faults.nothing),)),
    Mutant("pending is never mended", talking.Archive, ((supervisor.round, "settle_flags", faults.nothing),)),
    Mutant("recover resets groups in flight", talking.Archive, ((supervisor.recover, "Evidence", faults.reset),)),
    Mutant("names without an ordinal", talking.LateInDay, ((supervisor.archive, "taken_names", lambda _: set()),)),
    Mutant(
        "other words are the same message",
        talking.Revision,
        ((SeenJournal, "file_of", lambda self, key: next((f for k, f in self._written.items() if k[0] == key[0]), None)),),
    ),
    # ── roll-up and coverage ──
    Mutant("tasks before pending", working.Failure, ((supervisor.rollup, "_mark", faults.nothing),)),
    Mutant("moved before covered", talking.DayRipens, ((supervisor.rollup, "covered", faults.everything),)),
    Mutant(
        "covered by name alone",
        people.DatedEdited,
        ((supervisor.policy.ripen, "covered", faults.by_name), (supervisor.policy.ripen, "covers", faults.covers_by_name)),
    ),
    Mutant(
        "a month hides what it does not name",
        talking.LateInMonth,
        ((supervisor.policy.ripen, "covers", lambda s, _: s is not None),),
    ),
    Mutant(
        "overwrite instead of merge",
        talking.LateInDay,
        ((supervisor.policy.ripen, "work_on", _WORK_ON), (supervisor.harvest, "widens", lambda *_, **__: True)),
    ),
    Mutant(
        "a narrower text takes the place",
        working.TwoWorkers,
        ((supervisor.harvest, "widens", lambda *_, **__: True), (Lease, "held", lambda _: True)),
    ),
    Mutant(
        "a person's words are not kept",
        people.Edited,
        ((supervisor.harvest, "Summary", faults.no_words_kept(Summary)),),
    ),
    # ── the hand-off ──
    Mutant("no reclaim", talking.DayRipens, ((Spool, "put_back", faults.nothing),)),
    Mutant(
        "a failure counts at each look",
        working.Failure,
        ((supervisor.harvest, "_fail", faults.count_again(supervisor.harvest._fail)),),
    ),
    Mutant("no wait after a failure", working.Failure, ((supervisor.rollup, "is_due", lambda *_: True),)),
    Mutant("a failure is never forgotten", working.Failure, ((Spool, "clear", faults.nothing),)),
    Mutant(
        "the provider's fault is the group's",
        working.ProviderDown,
        ((supervisor.harvest, "note_result", faults.nothing),),
    ),
    Mutant("a receipt in place", working.Turn, ((ReceiptStore, "write", faults.torn_receipt),)),
    Mutant(
        "a claim that a power cut undoes",
        talking.DayRipens,
        ((Files, "move", faults.half_move),),
    ),
    Mutant(
        "the result deleted first",
        talking.DayRipens,
        ((supervisor.harvest, "_take_in", faults.result_first(supervisor.harvest._take_in)),),
        survives="the sources are still there and un-told, so the group is asked for anew: work is repeated, nothing is lost",
    ),
    Mutant(
        "the running task is left",
        talking.DayRipens,
        ((Spool, "discard", faults.discard_running),),
        survives="finish has deleted it already; one that a crash leaves is put back, asked for nothing that stands, and discarded",
    ),
)
