"""
Recalld with one step wrong: each must be found by the explorer, or the explorer is worth nothing.

Each mutant is the smallest change that makes the fault; where the product is safe by two layers, both are taken away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import supervisor.archive
import supervisor.harvest
import supervisor.intake
import supervisor.policy.ripen
import supervisor.recover
from supervisor.history import HistoryStore
from supervisor.policy.settle import Evidence
from supervisor.policy.trim import trim
from supervisor.protocol.files import Files
from supervisor.protocol.message import Archived, Message, flagged
from supervisor.protocol.spool import Spool
from tests.crash import workloads as at
from tests.crash.model_disk import ModelDisk

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crash.workload import Workload


class Mutant(NamedTuple):
    """What is changed, by setattr, and the workload in which the explorer has to find it."""

    name: str
    workload: type[Workload]
    changes: tuple[tuple[object, str, Any], ...]


def _nothing(*_: object, **__: object) -> None:
    """Leave the step out."""


def _mark_archived(history: Any, keys: Any) -> Any:
    """Flag `true` what is only about to be written."""
    return tuple(flagged(e, Archived.YES) if isinstance(e, Message) and e.key in keys else e for e in history)


def _only_fresh(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let a summary name the late files alone."""

    def work(period: Any, members: Any, summaries: Any) -> Any:
        standing = summaries.get(period)
        fresh = [file for file in members if not standing or file.source not in standing.sources]
        return original(period, fresh or members, summaries)

    return work


def _stale_parse(original: Callable[..., Any]) -> Callable[..., Any]:
    """Go by the history that was read some time ago, not by what stands there now."""

    def parse(self: HistoryStore, look: Any) -> Any:
        return self._history or original(self, look)

    return parse


def _reset(**fields: Any) -> Evidence:
    """Settle as if nothing were in flight."""
    return Evidence(**{**fields, "in_flight": ()})


def _remove_first(original: Callable[..., Any]) -> Callable[..., Any]:
    """Delete the drop-box file before its messages are in the history."""

    def take_in(ws: Any, messages: Any, path: Any) -> None:
        ws.files.remove(path)
        original(ws, messages, path)

    return take_in


def _trim_anything(history: Any, written: Any, caps: Any) -> Any:
    """Take every message for written."""
    return trim(history, lambda _: True, caps)


MUTANTS = (
    Mutant("no fsync", at.Archive, ((ModelDisk, "sync", _nothing),)),
    Mutant("no fsync of folders", at.Archive, ((ModelDisk, "sync_folder", _nothing),)),
    Mutant("flag before file", at.Archive, ((supervisor.archive, "mark_pending", _mark_archived),)),
    Mutant(
        "overwrite instead of merge",
        at.LateInDay,
        (
            (supervisor.policy.ripen, "work_on", _only_fresh(supervisor.policy.ripen.work_on)),
            (supervisor.harvest, "widens", lambda *_, **__: True),
        ),
    ),
    Mutant("recover resets groups in flight", at.Archive, ((supervisor.recover, "Evidence", _reset),)),
    Mutant("stale read", at.Meanwhile, ((HistoryStore, "_parse", _stale_parse(HistoryStore._parse)),)),
    Mutant("written files unknown after a crash", at.Archive, ((supervisor.intake, "_reconcile", _nothing),)),
    Mutant("trim what is not written", at.Trim, ((supervisor.recover, "trim", _trim_anything),)),
    Mutant("no sweep", at.Archive, ((Files, "sweep", lambda *_: 0),)),
    Mutant("no reclaim", at.DayRipens, ((Spool, "put_back", _nothing),)),
    Mutant("the journal is not asked for lost words", at.Lost, ((supervisor.intake, "_put_back", _nothing),)),
    Mutant(
        "a month hides what it does not name",
        at.LateInMonth,
        ((supervisor.policy.ripen, "covers", lambda s, _: s is not None),),
    ),
    Mutant("drop-box emptied first", at.DropBox, ((supervisor.intake, "_take_in", _remove_first(supervisor.intake._take_in)),)),
)
