"""A small share of the fuzzing, other cases than those of the long runs; all of it is ``python -m tests.fuzz``."""

from __future__ import annotations

import os
import random
import signal
import threading

import pytest

from tests.fuzz import parts
from tests.fuzz.__main__ import main
from tests.fuzz.lives import live, template
from tests.fuzz.mutate import mutated
from tests.fuzz.parts import read_one
from tests.fuzz.readers import READERS
from tests.world import World

pytestmark = pytest.mark.proof


@pytest.mark.parametrize("name", READERS)
def test_readers_accept_intact_files(name):
    READERS[name].read(READERS[name].good)


@pytest.mark.parametrize("hundred", range(10))
def test_readers_raise_only_expected_errors_on_mutated_files(hundred):
    for seed in range(100 * hundred, 100 * hundred + 100):
        read_one(seed)


def test_workspace_loses_nothing_in_a_day_with_corrupt_files(tmp_path):
    start = template(tmp_path / "start")
    for seed in range(12):
        live(start, tmp_path / "case", seed)


def test_fuzz_judge_notices_a_deleted_note_and_a_changed_one(tmp_path, monkeypatch):
    """The judge can fail: a product that deletes a note or cleans one up is found out."""
    start = template(tmp_path / "start")

    def spoil(change):
        monkeypatch.setattr(World, "round", lambda world, _runs: change(world.paths.memory / "花园.md"))
        with pytest.raises(AssertionError, match=r"are gone|was changed"):
            live(start, tmp_path / "case", 1)

    spoil(lambda path: path.unlink(missing_ok=True))
    spoil(lambda path: path.write_bytes(path.read_bytes().strip()) if path.exists() else None)


def test_mutated_is_deterministic_for_a_seed():
    data = READERS["history.json"].good
    assert [mutated(data, random.Random(n)) for n in range(200)] == [mutated(data, random.Random(n)) for n in range(200)]
    assert len({mutated(data, random.Random(n)) for n in range(200)}) > 150


def test_fuzz_run_reports_a_case_that_crashes_or_hangs_and_continues(tmp_path, monkeypatch):
    asked = tmp_path / "asked"

    def read(seed):
        with asked.open("a") as file:
            file.write(f"{seed}\n")
        if seed == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        if seed == 5:  # deaf, as the library of the index is
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPROF})
            threading.Event().wait()

    monkeypatch.setattr(parts, "read_one", read)
    monkeypatch.setattr(parts, "live", lambda *_: None)
    monkeypatch.setattr(parts, "template", lambda _: None)
    monkeypatch.setattr(parts, "PART", 8)
    monkeypatch.setattr(parts, "_HANGS_S", 5.0)  # a busy machine may let a process wait as long as a second
    monkeypatch.setattr(parts, "READERS", {})

    found = [(number, faults) for number, faults, _ in parts.run([0], 2)]
    assert found == [(0, ["seed 3: it ended the process (-9)", "seed 5: it ended the process (-9)"])]
    assert sorted(asked.read_text().split()) == [str(seed) for seed in range(1, 8)]


def test_fuzz_command_continues_an_interrupted_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(parts, "read_one", lambda _: None)
    monkeypatch.setattr(parts, "live", lambda *_: None)
    monkeypatch.setattr(parts, "template", lambda _: None)
    log = tmp_path / "日志.jsonl"

    assert main(["--cases", "4000", "--log", str(log)]) == 0
    whole = log.read_text(encoding="utf-8")
    log.write_text(whole[:-9], encoding="utf-8")
    assert main(["--cases", "6000", "--log", str(log)]) == 0
    assert log.read_text(encoding="utf-8").startswith(whole[:-9] + "\n")
    assert main(["--cases", "6000", "--log", str(log)]) == 0
    assert "5,850 readers, 150 lives, 0 violations" in capsys.readouterr().out.splitlines()[-1]
