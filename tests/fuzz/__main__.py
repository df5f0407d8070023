"""
Feed rubbish to every reader and to whole workspaces: ``python -m tests.fuzz --cases 20000``.

One case in forty is a day of a workspace (lives.py), the others are one reader each (readers.py). A case that takes twenty
seconds of processor time is taken to hang. A part is a process of its own, since a case may end it: that is a fault like any other, and
the part goes on behind it. Prints the counts; what fails, by its seed, ends the run with 1. With ``--log FILE`` a run goes on after the
parts that stand there; each part is 2,000 cases.
"""

import multiprocessing
import resource
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any, NoReturn

from tests.fuzz.lives import live, template
from tests.fuzz.readers import READERS, read_one
from tests.process.rounds import Rounds, folder_in_memory, options_of

PART = 2_000
A_LIFE_IN = 40
#: Seconds of processor time after which a case is taken to hang; other work on the machine adds none.
MOST_S = 20.0
#: Bytes by which one case may make the process larger than any before it did.
MOST_BYTES = 150 << 20
#: A case that waits for so long, or can't be interrupted, in the library of the index say, is ended with its process.
_HANGS_S = 120.0
#: Forked: what is imported here is not imported again; the threads here wait for processes and hold nothing.
_PROCESSES = multiprocessing.get_context("fork")


def _late(*_: object) -> NoReturn:
    raise AssertionError(f"it hangs: after {MOST_S:g} s of work it has not ended")


def fault_of(seed: int, start: Path, place: Path) -> str:
    """Do one case; what is wrong, "" where nothing is."""
    signal.setitimer(signal.ITIMER_PROF, MOST_S)
    try:
        if seed % A_LIFE_IN == 0:
            live(start, place, seed)
        else:
            read_one(seed)
    except AssertionError as error:
        return str(error) if str(error).startswith("seed") else f"seed {seed}: {error}"
    except Exception as error:
        return f"seed {seed}: {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def part(seeds: range, start: Path, place: Path, at: Any) -> None:
    """Do the cases; *at* says which it is at, the file *place*/faults holds what is wrong, a line each."""
    signal.signal(signal.SIGPROF, _late)
    for reader in READERS.values():
        reader.read(reader.good)  # what is loaded at its first use is not the first case's time
    for seed in seeds:
        at.value = seed
        largest = _largest()
        fault = fault_of(seed, start, place / "case")
        if not fault and (grown := _largest() - largest) > MOST_BYTES:
            fault = f"seed {seed}: it took {grown >> 20} MB of memory"
        if fault:
            with (place / "faults").open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{fault}\n".replace("\n", " ") + "\n")


def _largest() -> int:
    """The bytes that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _done(number: int, start: Path, folder: Path) -> tuple[int, list[str]]:
    """Do a part; a case that ends its process, or hangs in it, is noted, and a further process does the rest."""
    (place := folder / str(number)).mkdir()
    at, wrong = _PROCESSES.RawValue("q", number * PART - 1), list[str]()
    while at.value < (number + 1) * PART - 1:
        seeds = range(at.value + 1, (number + 1) * PART)
        process = _PROCESSES.Process(target=part, args=(seeds, start, place, at))
        process.start()
        while process.is_alive():
            before = at.value
            process.join(_HANGS_S)
            if at.value == before and process.is_alive():
                process.kill()
        process.join()
        if process.exitcode:
            wrong.append(f"seed {at.value}: it ended the process ({process.exitcode})")
    faults = place / "faults"
    wrong += faults.read_text(encoding="utf-8").splitlines() if faults.exists() else []
    shutil.rmtree(place)
    return number, wrong


def run(wanted: Sequence[int], jobs: int) -> Iterator[tuple[int, list[str]]]:
    """Do the parts of these numbers, so many at a time; each with what is wrong, as it ends."""
    with folder_in_memory("fuzz-") as name, ThreadPool(jobs) as threads:
        start = name / "start"
        maker = _PROCESSES.Process(target=template, args=(start,))  # the index's library has threads
        maker.start()
        maker.join()
        yield from threads.imap_unordered(partial(_done, start=start, folder=name), wanted)


def main(argv: list[str] | None = None) -> int:
    """Run the parts that are left; returns the exit code."""
    parser = options_of("tests.fuzz", __doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    options = parser.parse_args(argv)
    rounds = Rounds(options.log)
    first = options.seed * 1_000_000 // PART
    numbers = range(first, first + -(-options.cases // PART))
    for number, faults in run([number for number in numbers if f"part {number}" not in rounds.done], options.jobs):
        lives = PART // A_LIFE_IN
        rounds.add(f"part {number}", faults, readers=PART - lives, lives=lives)
        rounds.progress(f"{rounds.total('readers') + rounds.total('lives'):,} cases")
    counts = f"{rounds.total('readers'):,} readers, {rounds.total('lives'):,} lives"
    print(f"{counts}, {rounds.end}")
    return 1 if rounds.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
