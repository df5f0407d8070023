"""
What the supervisor costs while nothing happens: processor time an hour, and memory (Pss: with its part of what it shares).

    python -m bench.idle                                       an empty workspace, a minute
    python -m bench.idle --sample                              after the first archive run of the sample conversation
    python -m bench.idle --messages 100000 --seconds 1800      made-up talk in dated files

It is observed once it rests: when it has taken less than 5 ms of processor a second, three times in a row. An hour is
extrapolated from what was seen.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.speed import write

#: Seconds of processor in a second, below which it rests; how often in a row; and how long it is waited for.
REST_S = 0.005
TIMES = 3
PATIENCE_S = 1200


def cpu_s(pid: int) -> float:
    """Processor seconds the process has used."""
    fields = Path(f"/proc/{pid}/schedstat").read_text().split()
    threads = [Path(f"/proc/{pid}/task/{one}/schedstat") for one in os.listdir(f"/proc/{pid}/task")]
    return sum(int(path.read_text().split()[0]) for path in threads) / 1e9 if len(threads) > 1 else int(fields[0]) / 1e9


def await_rest(pid: int) -> None:
    """Wait until the process has nothing to do any more."""
    ends, before, quiet = time.monotonic() + PATIENCE_S, cpu_s(pid), 0
    while quiet < TIMES and time.monotonic() < ends:
        time.sleep(1)
        now = cpu_s(pid)
        quiet, before = (quiet + 1 if now - before < REST_S else 0), now


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--messages", type=int, default=0)
    options.add_argument("--workspace", help="an existing one; default: a fresh one")
    options.add_argument("--sample", action="store_true", help="a fresh one with the sample conversation")
    found = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="idle-") as folder:
        root = found.workspace or folder
        if found.sample:
            shutil.copy(Path(__file__).parent.parent / "workspace" / "history.json", root)
        command = [sys.executable, "-m", "recalld", "-w", root]
        if found.messages:
            write(Path(root), found.messages)
        subprocess.run([*command, "init"], check=True, stdout=subprocess.DEVNULL)
        process = subprocess.Popen([*command, "run"], stdout=subprocess.DEVNULL)
        try:
            time.sleep(5)
            await_rest(process.pid)
            before = cpu_s(process.pid)
            print(f"{before:.1f} s of processor until it rests", flush=True)
            time.sleep(found.seconds)
            used = cpu_s(process.pid) - before
            rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
            memory = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in rollup if line.startswith(("Rss", "Pss"))}
        finally:
            process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            process.wait()
        print(f"{used:.3f} s of processor in {found.seconds:.0f} s = {3600 * used / found.seconds:.2f} s an hour; MB {memory}")
        print(f"SIGTERM to end: {time.monotonic() - began:.2f} s")


if __name__ == "__main__":
    main()
