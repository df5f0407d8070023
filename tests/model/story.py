"""
One story that comes by every write there is, to be killed after each of them.

Random walks crash where chance has it; this one leaves out nothing: `tell` it once for every write, and once more for each
of the first writes of the recovery.
"""

from __future__ import annotations

from tests.model.invariants import Broken
from tests.model.protocol_model import Supervisor
from tests.model.stage import Stage
from tests.model.state import DAY


def tell(crashes: frozenset[int], make: type[Supervisor] = Supervisor) -> list[str]:
    """The story with a crash after each of these writes, counted from 1 over all rounds. Returns the writes made."""
    stage = Stage(make)
    stage.crashes = crashes
    try:
        play(stage)
        stage.calm()
    except Broken as broken:
        raise Broken(f"crashes {sorted(crashes)}: {broken}\n" + "\n".join(stage.log)) from broken
    return stage.writes


def play(stage: Stage) -> None:
    """Two months of a workspace."""
    for days_ago in (0, 0, 8, 9, 30):
        stage.append(days_ago=days_ago)
    stage.strip_ids()
    stage.round()
    stage.append()
    stage.append()
    stage.round()
    stage.foreign_cap(1)
    stage.round()  # put back
    stage.suspend()
    stage.round()  # reclaimed
    stage.wake(0)
    stage.work("failed")
    stage.work("provider")
    stage.round()  # the first one's result meets its task in the queue
    stage.wait(31)
    for _ in range(3):
        stage.round()
        stage.work()
    stage.revise(0)
    stage.late(days_ago=9)
    stage.work()
    stage.edit_summary(0)
    stage.round()
    stage.delete_file(1)
    stage.wait(6 * DAY)
    for _ in range(14):
        stage.append()
    stage.round()
    stage.round()
    for _ in range(2):
        stage.over_month_end()
        stage.round()
        stage.work()
    stage.late(days_ago=30)
