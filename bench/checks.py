"""
What `status`, `doctor` and `fsck` cost on a memory of years: whole commands, without a supervisor and with one.

    python -m bench.checks --messages 100000 --days 730
    python -m bench.checks --workspace DIR --now TIME            a workspace that is settled already
    python -m bench.checks --workspace DIR --now TIME --other ../checkout     and what another checkout takes, in turn

Figures are medians in seconds, on the wall and of the processor; with a supervisor the first answer is shown by itself.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.served import ENVIRON, served, settle
from bench.talk import write_history

RUNS = 3


def timed(command: list[str], environ: dict[str, str]) -> tuple[float, float]:
    """Run the command to its end; return its seconds on the wall and of the processor."""
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 65), f"{command} ended with {process.returncode}"
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


def show(name: str, times: list[tuple[float, float]]) -> None:
    wall, processor = map(statistics.median, zip(*times, strict=True))
    print(f"| {name} | {wall:.2f} | {processor:.2f} |", flush=True)


def measure(root: Path, now: str, other: Path | None) -> None:
    checkouts = {"": ENVIRON} | ({f", {other}": {**ENVIRON, "PYTHONPATH": str(other.resolve())}} if other else {})
    print("| command | wall s | processor s |\n|---|---|---|")
    for command in ("status", "doctor", "fsck"):
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in checkouts}
        for _ in range(RUNS):
            for name, environ in checkouts.items():
                line = [sys.executable, "-P", "-m", "recalld", "-w", str(root), "--now", now, command]
                taken[name].append(timed(line, environ))
        for name, times in taken.items():
            show(f"{command}, without a supervisor{name}", times)
    line = [sys.executable, "-P", "-m", "recalld", "-w", str(root), "status"]
    for name, environ in checkouts.items():
        with served(root, PYTHONPATH=environ.get("PYTHONPATH", "")) as supervisor:
            show(f"status, with a supervisor, the first{name}", [timed(line, environ)])
            supervisor.await_rest()
            show(f"status, with a supervisor at rest{name}", [timed(line, environ) for _ in range(5)])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=100_000)
    options.add_argument("--days", type=int, default=730)
    options.add_argument("--workspace", type=Path, help="a workspace that is settled (one is made)")
    options.add_argument("--now", default="", help="the moment at which it was settled")
    options.add_argument("--other", type=Path, metavar="DIR", help="a checkout to compare with")
    found = options.parse_args()
    if found.workspace:
        measure(found.workspace, found.now, found.other)
        return
    with tempfile.TemporaryDirectory(prefix="checks-") as folder:
        root = Path(folder) / "workspace"
        root.mkdir()
        now = write_history(root / "history.json", found.messages, found.days).isoformat()
        settle(root, now)
        measure(root, now, found.other)


if __name__ == "__main__":
    main()
