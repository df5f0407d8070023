"""The protocol against thousands of walks; and the walks against protocols that are wrong in one rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.model import cases_messages, cases_summaries, wrong_messages, wrong_summaries
from tests.model.invariants import Broken
from tests.model.protocol_model import Supervisor
from tests.model.story import tell
from tests.model.walk import WRITES, Walk, walk

if TYPE_CHECKING:
    from collections.abc import Callable

WALKS: Final = 2400
BLOCK: Final = 200  # seeds a test
WALKS_A_MUTANT: Final = 800  # most are found within ten

CASES: Final = [*cases_messages.CASES, *cases_summaries.CASES]
MUTANTS: Final = Supervisor.__subclasses__()
FOUND_BY_A_CASE: Final = {mutant for *_, broken in CASES for mutant in broken}

#: Wrong in scenes that a random walk seldom or never comes upon, or in ways that only a count shows.
NEED_THEIR_CASE: Final = {
    *(wrong_messages.RunsAtTheCap, wrong_messages.RevisionsAreDue, wrong_messages.FullDiskIsTriedAtEveryPoll),
    *(wrong_messages.EqualsAreOne, wrong_summaries.NarrowerIsAccepted),
    *(wrong_summaries.ExtractPartVouches, wrong_summaries.MonthWaitsForItsDays),
    *(wrong_summaries.ProviderIsHammered, wrong_summaries.OutageCountsManyTimes),
}
FOUND_BY_WALKS: Final = [mutant for mutant in MUTANTS if mutant not in NEED_THEIR_CASE]


def walk_many(seeds: range, make: type[Supervisor] = Supervisor) -> None:
    for seed in seeds:
        walk(seed, make)


@pytest.mark.parametrize("first", range(0, WALKS, BLOCK))
def test_nothing_is_lost_doubled_hidden_or_left_over_whatever_happens(first: int) -> None:
    walk_many(range(first, first + BLOCK))


@pytest.mark.parametrize("case", [case for case, *_ in CASES], ids=lambda case: case.__name__)
def test_a_known_fault_does_not_return(case: Callable[[type[Supervisor]], None]) -> None:
    case(Supervisor)


@pytest.mark.parametrize(
    ("case", "mutant"),
    [(case, mutant) for case, _, broken in CASES for mutant in broken],
    ids=lambda part: part.__name__,
)
def test_a_case_fails_where_its_rule_is_wrong(case: Callable[[type[Supervisor]], None], mutant: type[Supervisor]) -> None:
    with pytest.raises(AssertionError):
        case(mutant)


@pytest.mark.parametrize("mutant", FOUND_BY_WALKS, ids=lambda mutant: mutant.__name__)
def test_random_walks_find_a_wrong_rule(mutant: type[Supervisor]) -> None:
    with pytest.raises(Broken):
        walk_many(range(WALKS_A_MUTANT), mutant)


def test_the_table_has_all_fifteen_cases_and_many_mutants() -> None:
    assert {number for _, number, _ in CASES} - {0} == set(range(1, 16))
    assert len(FOUND_BY_WALKS) >= 30
    assert NEED_THEIR_CASE <= FOUND_BY_A_CASE


def test_the_story_survives_a_crash_after_each_write_and_another_in_its_recovery() -> None:
    writes = tell(frozenset())
    assert set(writes) >= set(WRITES)
    for first in range(1, len(writes) + 1):
        for second in range(6):
            tell(frozenset({first, first + second}))


def test_the_walks_come_by_every_write_and_meet_crashes_and_a_full_disk() -> None:
    made: set[str] = set()
    for seed in range(BLOCK):
        journey = Walk(seed)
        journey.run()
        for line in journey.world.log:
            made.update(line.partition("round: ")[2].split(", "))
    assert made >= {*WRITES, "† crash", "† disk full"}


def test_a_walk_is_its_seed() -> None:
    once, again = Walk(7), Walk(7)
    once.run()
    again.run()
    assert once.world.log == again.world.log
    assert repr(once.world.disk) == repr(again.world.disk)


def test_a_broken_walk_tells_its_moves() -> None:
    with pytest.raises(Broken, match=r"(?s)^seed \d+: .*\n +d\d+ \d\d:\d\d round: "):
        walk_many(range(WALKS_A_MUTANT), wrong_messages.FlagBeforeFile)
