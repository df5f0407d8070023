"""
The fault matrix: each fault that exists as a patch is put back, and the tests that cover its lines say who finds it.

    python -m tests.matrix --minutes 60 --share 0.2     measure, run a fifth of the faults, stop after an hour; called again, it goes on
    python -m tests.matrix --suites archive storage     measure these suites alone, in this order
    python -m tests.matrix --table                      the table of what was run: suite × faults found, found by nothing else

The faults are the rows of tests.undone and the mutants of tests.crash. A copy of the tree is made once in the folder `--cache`, and all
is run there, whatever is changed in the checkout meanwhile: a matrix is of one commit; delete the folder for another. First the tests of
each suite are run with coverage, to know which test runs which lines (`coverage/SUITE`). Then, of the tests that cover the lines of a
fault, at most `--tests` a suite, drawn by lot, are run while it is in place, and the test that was written for it. A test that fails
finds the fault, unless it fails without it too. Of the proofs the crash explorer is asked, for its own mutants. A mutant is in
place in the process of the tests alone, not in commands that they start.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coverage import CoverageData

from tests.crash.proof import is_found, prove
from tests.gate import without_comparison
from tests.matrix.faults import Fault, changed_lines, every_fault, place_of
from tests.matrix.plugin import FAILED, MUTANT, suite_of
from tests.process.rounds import Rounds, commit
from tests.undone.__main__ import ROOT, make_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Suites that need a machine, a browser, a client or a model of their own are not asked.
APART: Final = frozenset(
    ("booted", "bench", "clients", "embeddings", "golden", "installed", "matrix", "people", "powercut", "syscalls", "undone")
)
#: Seconds after which a run of tests counts as hanging, which is a fault found, too.
PATIENCE_S: Final = 1800
#: The name under which the explorer of crashes stands in the table.
EXPLORER: Final = "proof: tests.crash"


def suites() -> list[str]:
    """The folders of tests that are asked, those with the most modules first."""
    folders = [path for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name not in APART]
    counts = {f"tests/{path.name}": len(list(path.glob("test_*.py"))) for path in folders}
    return sorted((name for name, count in counts.items() if count), key=lambda name: (-counts[name], name))


def pytest(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in the tree, without the proofs."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.matrix.plugin", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


def measure(cache: Path, until: float, wanted: Iterable[str]) -> bool:
    """Run each of these suites that was not yet with coverage, until it is that late; returns whether all are done."""
    (cache / "coverage").mkdir(exist_ok=True)
    for suite in wanted:
        data = cache / "coverage" / Path(suite).name
        if data.exists():
            continue
        if time.monotonic() > until:
            return False
        began, part = time.monotonic(), data.with_suffix(".part")
        part.unlink(missing_ok=True)
        options = ("--cov=supervisor", "--cov=worker", "--cov-branch", "--cov-context=test", "--cov-report=", "-m", "not proof")
        done = pytest(*options, suite, COVERAGE_FILE=str(part))
        if part.exists():
            part.replace(data)
        else:  # a suite of proofs alone
            data.touch()
        print(f"measured {suite} in {time.monotonic() - began:.0f} s: {done.stdout.strip().splitlines()[-1:]}", flush=True)
    return True


class Covered:
    """Which tests run which lines, as it was measured."""

    def __init__(self, cache: Path) -> None:
        self.suites = [path for path in sorted((cache / "coverage").iterdir()) if "." not in path.name and path.stat().st_size]
        self._data = [CoverageData(str(path)) for path in self.suites]
        for data in self._data:
            data.read()

    def tests_of(self, lines: Mapping[str, range | None]) -> set[str]:
        """The tests that run one of these lines."""
        return {
            context.rpartition("|")[0]  # before its phase, such as "|run"
            for data in self._data
            for path, wanted in lines.items()
            for line, contexts in data.contexts_by_lineno(str(ROOT / path)).items()
            if wanted is None or line in wanted
            for context in contexts
            if context
        }


def drawn(tests: Iterable[str], most: int, seed: str) -> list[str]:
    """At most so many tests of each suite, by lot."""
    by_suite = defaultdict(list)
    for test in sorted(tests):
        by_suite[suite_of(test)].append(test)
    lot = random.Random(seed)
    return [test for suite in sorted(by_suite) for test in lot.sample(by_suite[suite], min(most, len(by_suite[suite])))]


def failing(tests: list[str], **environ: str) -> set[str]:
    """Those of these tests that fail, the first one of each suite."""
    if not tests:
        return set()
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "failed"
        try:
            done = pytest("--tb=no", "--timeout=120", *tests, **environ, **{FAILED: str(told)})
        except subprocess.TimeoutExpired:
            return {"tests/hangs"}
        if done.returncode not in (0, 1):
            raise SystemExit(f"the tests could not be run\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
        return {json.loads(line) for line in told.read_text(encoding="utf-8").splitlines()} if told.exists() else set()


class InPlace:
    """A fault of a text, written into the tree; what it replaced is kept beside, so that the next run can write it back."""

    def __init__(self, fault: Fault, cache: Path) -> None:
        self._fault, self._kept = fault, cache / "replaced.json"

    def __enter__(self) -> None:
        if row := self._fault.undone:
            path, text = place_of(row)
            self._kept.write_text(json.dumps([str(path), text]), encoding="utf-8")
            path.write_text(text.replace(row.mended, row.before), encoding="utf-8")

    def __exit__(self, *_: object) -> None:
        write_back(self._kept)


def write_back(kept: Path) -> None:
    """Write back what a run that was ended left replaced."""
    if kept.exists():
        path, text = json.loads(kept.read_text(encoding="utf-8"))
        Path(path).write_text(text, encoding="utf-8")
        kept.unlink()


def finders(fault: Fault, covered: Covered, cache: Path, most: int) -> tuple[list[str], int, int]:
    """The suites that find the fault, how many tests cover its lines, and how many were drawn."""
    covering = covered.tests_of(changed_lines(fault))
    tests = drawn(covering, most, fault.name)
    environ = {MUTANT: fault.mutant.name} if fault.mutant else {}
    with InPlace(fault, cache):
        failed = failing(tests, **environ)
        written = failing([fault.undone.test]) if fault.undone else set()
    found = {suite_of(test) for test in (failed | written) - failing(sorted(failed))}
    if fault.mutant:
        with without_comparison():
            found |= {EXPLORER} if is_found(fault.mutant, prove(fault.mutant)) else set()
    return sorted(found), len(covering), len(tests)


def table(done: Iterable[Mapping[str, object]]) -> str:
    """The table of what was run: what each suite finds, and what nothing else finds."""
    rows = list(done)
    found, alone = Counter(), Counter()
    for row in rows:
        finding = row["finders"]
        found.update(finding)
        alone.update(finding if len(finding) == 1 else ())
    lines = [
        f"| `{suite}` | {found[suite]} | {alone[suite]} |" for suite in sorted(found, key=lambda suite: (-found[suite], suite))
    ]
    nothing = sorted(row["key"] for row in rows if not row["finders"])
    last = f"{len(rows)} faults; found by none of the tests that were run: {'; '.join(nothing) or 'none'}"
    return "\n".join(["| suite | faults found | found by nothing else |", "|---|---|---|", *lines, "", last])


def inside(options: argparse.Namespace) -> int:
    """Measure, and run the faults that were drawn and not run yet, until the time is over."""
    until = time.monotonic() + options.minutes * 60
    write_back(options.cache / "replaced.json")
    rounds = Rounds(options.cache / "faults.jsonl")
    if not options.table:
        wanted = [f"tests/{name}" for name in options.suites] or suites()
        is_measured = not options.unmeasured and measure(options.cache, until, wanted)
        covered = Covered(options.cache)
        faults = every_fault()
        random.Random(options.seed).shuffle(faults)
        for fault in faults[: max(1, round(len(faults) * options.share))]:
            if fault.name in rounds.done:
                continue
            if time.monotonic() > until:
                break
            began = time.monotonic()
            found, covering, run = finders(fault, covered, options.cache, options.tests)
            rounds.add(fault.name, [], finders=found, covering=covering, run=run, suites=len(covered.suites))
            print(
                f"{time.monotonic() - began:4.0f} s  {fault.name}: {', '.join(found) or 'NOTHING'} ({run} of {covering})",
                flush=True,
            )
        print("" if is_measured else f"only {len(covered.suites)} suites were measured")
    print(table(rounds.done.values()))
    print(f"\ncommit {(options.cache / 'commit').read_text(encoding='utf-8').strip()}")
    return 0


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument(
        "--cache", type=Path, default=Path.home() / ".cache/recalld-matrix", help="where tree and results are kept"
    )
    parser.add_argument("--share", type=float, default=1.0, help="how much of the faults, by lot")
    parser.add_argument("--minutes", type=float, default=360, help="begin nothing after so long")
    parser.add_argument("--tests", type=int, default=20, help="of each suite, at most, for each fault")
    parser.add_argument("--seed", type=int, default=47, help="of the lot")
    parser.add_argument("--table", action="store_true", help="print the table of what was run")
    parser.add_argument("--suites", nargs="*", default=[], help="measure these suites alone, in this order: archive storage")
    parser.add_argument("--unmeasured", action="store_true", help="measure no further suite")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    options.cache = options.cache.resolve()
    if options.inside:
        return inside(options)
    tree = options.cache / "tree"
    if not (options.cache / "commit").exists():
        tree.mkdir(parents=True)
        make_tree(tree)
        (options.cache / "commit").write_text(f"{commit()}\n", encoding="utf-8")
    command = [str(tree / ".venv/bin/python"), "-m", "tests.matrix", *argv, "--cache", str(options.cache), "--inside"]
    return subprocess.run(command, cwd=tree, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
