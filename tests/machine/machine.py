"""
Anything, in any order, to the real product over the model disk: rules that hypothesis draws, and shrinks when one is wrong.

After every step the checker looks at the files as they lie; at the end of every run the faults end, and three rounds later
everything is at rest. The world and its acts are those of the simulated years.
"""

from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.simulation import others
from tests.simulation.judge import judge, settled
from tests.simulation.programs import OTHERS, WRITERS, Program
from tests.simulation.talk import Talker, WindowMessage
from tests.simulation.world import SimulatedWorld, cranked

ZONE = "Asia/Shanghai"
#: A few days before a month closes.
_START = datetime(2026, 1, 27, 9, tzinfo=ZoneInfo(ZONE))
_SETTINGS = (
    {"RECALLD_HISTORY_SOFT_CAP": "22", "RECALLD_HISTORY_HARD_CAP": "24"},
    {"RECALLD_HISTORY_SOFT_CAP": "200", "RECALLD_HISTORY_HARD_CAP": "300"},
    {"RECALLD_ARCHIVE_RECENT_DAYS": "0"},
    {"RECALLD_ARCHIVE_RECENT_DAYS": "12"},
    {"RECALLD_LLM_MODEL": ""},
    {"RECALLD_LLM_MODEL": "sim-1"},
    {"RECALLD_ARCHIVE_TIMEZONE": "America/New_York"},
)
#: At most one program that writes history.json anew, and one of another kind.
_PROGRAMS: st.SearchStrategy[tuple[type[Program] | None, ...]] = st.tuples(
    st.sampled_from((None, *WRITERS)), st.sampled_from((None, *OTHERS))
)
#: How many messages a program says, what else it is told (see Program.act), and whether recalld looks when it has spoken.
_ACTS = st.tuples(st.integers(1, 4), st.booleans(), st.booleans())


class AnyOrder(RuleBasedStateMachine):
    """The rules."""

    def __init__(self) -> None:
        super().__init__()
        self.world: SimulatedWorld
        self.clock: AbstractContextManager[None]
        self.old: list[dict[str, Any]] = []

    @initialize(seed=st.integers(0, 1_000), programs=_PROGRAMS)
    def begin(self, seed: int, programs: tuple[type[Program] | None, ...]) -> None:
        # nothing lies there: the index alone would, and no question is asked here
        self.world = SimulatedWorld(Path("/工作区"), str(seed), ZONE, _START)
        self.clock = cranked(self.world)
        self.clock.__enter__()
        self.talker = Talker(Random(seed))
        self.world.programs = [program(self.world, self.talker) for program in programs if program]

    # ── programs ─────────────────────────────────────────────────────────────

    def said(self, count: int, days_ago: int) -> list[WindowMessage]:
        return self.talker.burst(self.world.clock() - timedelta(days=days_ago), count)

    @rule(count=st.integers(1, 8), days_ago=st.sampled_from((0, 0, 0, 3, 8, 40, 90)))
    def append(self, count: int, days_ago: int) -> None:
        others.append_politely(self.world, self.said(count, days_ago))

    @rule(count=st.integers(1, 8), named=st.booleans(), days_ago=st.sampled_from((0, 0, 8, 70)))
    def write_without_the_lock(self, count: int, named: bool, days_ago: int) -> None:
        others.write_rudely(self.world, self.said(count, days_ago), names=named)

    @rule(count=st.integers(1, 3))
    def drop(self, count: int) -> None:
        others.drop(self.world, self.said(count, 0))

    @rule()
    def read_history(self) -> None:
        self.old = [dict(one) for one in self.world.history() or ()]

    @precondition(lambda self: self.old)
    @rule()
    def write_back_what_was_read(self) -> None:
        others.write_back_old(self.world, self.old, self.said(1, 0))

    @rule(act=st.sampled_from((others.revise, others.strip, others.tear, lambda world: others.cap(world, 3))))
    def write_as_one_should_not(self, act: Any) -> None:
        act(self.world)

    @precondition(lambda self: self.world.programs)
    @rule(which=st.integers(0, 1), acts=st.lists(_ACTS, min_size=1, max_size=4))
    def a_program_of_its_own_kind_acts(self, which: int, acts: list[tuple[int, bool, bool]]) -> None:
        program = self.world.programs[which % len(self.world.programs)]
        for count, anew, is_seen in acts:
            program.act(count, anew=anew)
            if is_seen:
                self.world.tick()

    @rule(count=st.integers(1, 4))
    def write_json_with_a_slip(self, count: int) -> None:
        others.write_broken(self.world, self.said(count, 0))

    # ── people ───────────────────────────────────────────────────────────────

    @rule(act=st.sampled_from(others.PEOPLE))
    def a_person_acts(self, act: Any) -> None:
        act(self.world)

    @rule(settings=st.sampled_from(_SETTINGS))
    def a_person_changes_the_settings(self, settings: dict[str, str]) -> None:
        self.world.configure(**settings)

    # ── recalld ──────────────────────────────────────────────────────────────

    @rule()
    def look(self) -> None:
        self.world.tick()

    @rule(mood=st.sampled_from(("perfect", "perfect", "shaky", "poor", "down", "limited")), most=st.sampled_from((1, 8)))
    def work(self, mood: str, most: int) -> None:
        self.world.model.time = mood
        self.world.work(most)

    @precondition(lambda self: self.world.late)
    @rule()
    def a_result_comes_twice(self) -> None:
        self.world.deliver_again()

    @rule()
    def restart(self) -> None:
        self.world.stop()
        self.world.start()

    # ── the world ────────────────────────────────────────────────────────────

    @rule(hours=st.sampled_from((1, 7, 24, 24 * 6, 24 * 20, 24 * 45)))
    def time_passes(self, hours: int) -> None:
        self.world.advance(timedelta(hours=hours))
        self.world.tick()

    @rule(days=st.sampled_from((-400, -3, 2, 400)))
    def the_clock_jumps(self, days: int) -> None:
        self.world.jump(timedelta(days=days))

    @rule(calls=st.integers(0, 80))
    def the_power_goes_out_soon(self, calls: int) -> None:
        self.world.disk.crash_at = self.world.disk.operations + calls

    @rule(kind=st.sampled_from(("full", "broken", "forbidden")))
    def the_disk_refuses(self, kind: str) -> None:
        others.trouble(self.world, kind)

    @rule()
    def the_disk_is_well(self) -> None:
        others.heal(self.world)

    # ── what must hold ───────────────────────────────────────────────────────

    @invariant()
    def nothing_is_lost_or_written_twice(self) -> None:
        wrong = judge(self.world) + self.world.watch.end_of_step()
        assert not wrong, "\n".join(wrong[:6])

    def teardown(self) -> None:
        if hasattr(self, "clock"):
            try:
                wrong = settled(self.world)
                assert not wrong, "\n".join(wrong[:6])
            finally:
                self.clock.__exit__(None, None, None)
