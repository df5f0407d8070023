"""A part of the fuzzing: two thousand cases, one in twenty a day of a workspace, the others one reader each."""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
from pathlib import Path
from typing import NoReturn

from tests.fuzz.lives import live, template
from tests.fuzz.mutate import mutated
from tests.fuzz.readers import READERS

PART = 2_000
A_LIFE_IN = 20
MOST_S = 2.0


def _late(*_: object) -> NoReturn:
    raise AssertionError(f"it took longer than {MOST_S:g} s")


def read_one(seed: int) -> None:
    """Give one reader one piece of rubbish; AssertionError tells by its seed what is wrong."""
    pick = random.Random(seed)
    name, reader = pick.choice(list(READERS.items()))
    data = mutated(reader.good, pick)
    try:
        reader.read(data)
    except reader.says:
        return
    except Exception as error:
        raise AssertionError(f"seed {seed}, {name}: {type(error).__name__}: {error}"[:400]) from error


def part(number: int) -> tuple[int, int, int, list[str]]:
    """Do part *number*; return it with how many readers and lives were tried, and what failed."""
    place = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    start = template(place / "start")
    signal.signal(signal.SIGALRM, _late)
    faults = []
    lives = 0
    for seed in range(number * PART, (number + 1) * PART):
        is_life = seed % A_LIFE_IN == 0
        lives += is_life
        signal.setitimer(signal.ITIMER_REAL, MOST_S)
        try:
            if is_life:
                live(start, place / "case", seed)
            else:
                read_one(seed)
        except AssertionError as error:
            faults.append(str(error) if str(error).startswith("seed") else f"seed {seed}: {error}")
        except Exception as error:
            faults.append(f"seed {seed}: {type(error).__name__}: {error}")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    shutil.rmtree(place)
    return number, PART - lives, lives, faults
