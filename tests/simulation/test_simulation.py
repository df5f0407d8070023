"""A share of `python -m tests.simulation`, and proof that its judges notice what is wrong."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

import recalld.supervisor.archive.intake
import recalld.supervisor.archive.run
import recalld.supervisor.host.lock
import recalld.supervisor.summaries.collect
import recalld.supervisor.summaries.submit
from recalld.supervisor.protocol.dated_file import render_dated
from tests.simulation.world import SimulatedWorld, cranked
from tests.simulation.years import Violation, live

pytestmark = pytest.mark.proof

#: Days of a life in the share.
DAYS = 45


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SimulatedWorld]:
    made = SimulatedWorld(tmp_path / "工作区", "0", "Asia/Shanghai", datetime(2026, 1, 28, 9, tzinfo=ZoneInfo("Asia/Shanghai")))
    with cranked(made):
        yield made


@pytest.mark.parametrize(
    ("seed", "zone", "first"),
    [
        ("1", "Pacific/Apia", date(2011, 12, 1)),  # 30 December 2011 is missing
        ("2", "Australia/Lord_Howe", date(2026, 3, 10)),  # half an hour back on 5 April
        ("3", "America/New_York", date(2026, 2, 20)),
    ],
)
def test_simulation_loses_nothing_and_settles_after_weeks_of_faults(seed: str, zone: str, first: date) -> None:
    outcome = live(seed, zone, first, DAYS)
    assert outcome.messages > DAYS
    assert outcome.lives > 1


def test_simulation_keeps_what_is_forgotten_away_and_loses_nothing_else() -> None:
    outcome = live("4", "America/New_York", date(2025, 9, 20), 20, forgets=True)
    assert outcome.forgotten


def test_simulation_is_deterministic_for_any_hash_seed() -> None:
    command = [sys.executable, "-m", "tests.simulation", "--years", "0.03", "--seed", "8", "--jobs", "1"]
    path = os.pathsep.join(entry for entry in sys.path if entry)
    digests = set()
    for number in ("1", "2"):
        environ = {**os.environ, "PYTHONHASHSEED": number, "PYTHONPATH": path}
        said = subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout
        digests.add(said.partition("digest ")[2].partition("\n")[0])
    assert len(digests) == 1
    assert "" not in digests


# ── the judges ───────────────────────────────────────────────────────────────


#: Recalld with one step wrong: the years must show it.
MUTANTS = {
    "tries again at once": (recalld.supervisor.summaries.submit, "is_due", lambda *_: True),
    "writes all but the last": (
        recalld.supervisor.archive.run,
        "render_dated",
        lambda *about: render_dated(*about[:-2], about[-2][:1], about[-1]),
    ),
    "never trims": (recalld.supervisor.archive.run, "trim", lambda history, written, caps: history),
    "takes any text": (recalld.supervisor.summaries.collect, "_write", lambda *_, **__: None),
    "never asks again": (recalld.supervisor.summaries.submit, "is_due", lambda *_: False),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_simulation_finds_every_mutant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, attribute, other = MUTANTS[name]
    monkeypatch.setattr(module, attribute, other)

    def seasons() -> None:
        for seed in range(4):
            live(str(seed), "Asia/Shanghai", date(2025, 11, 1), 25)

    with pytest.raises(Violation):
        seasons()
