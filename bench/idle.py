"""
What the supervisor costs while nothing happens: processor time over a minute, and memory (Pss: with its part of what it shares).

    python bench/idle.py --seconds 60
    python bench/idle.py --seconds 60 --sample    after the first archive run of the sample conversation
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


def cpu_s(pid: int) -> float:
    """Processor seconds the process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--workspace", help="an existing one; default: a fresh one")
    options.add_argument("--sample", action="store_true", help="a fresh one with the sample conversation")
    found = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="idle-") as folder:
        root = found.workspace or folder
        if found.sample:
            shutil.copy(Path(__file__).parent.parent / "workspace" / "history.json", root)
        command = [sys.executable, "-m", "recalld", "-w", root]
        subprocess.run([*command, "init"], check=True, stdout=subprocess.DEVNULL)
        process = subprocess.Popen([*command, "run"], stdout=subprocess.DEVNULL)
        try:
            time.sleep(5)
            before = cpu_s(process.pid)
            time.sleep(found.seconds)
            used = cpu_s(process.pid) - before
            rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
            memory = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in rollup if line.startswith(("Rss", "Pss"))}
        finally:
            process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            process.wait()
        print(f"{used:.2f} s of processor in {found.seconds:.0f} s = {100 * used / found.seconds:.3f} % of a core; MB {memory}")
        print(f"SIGTERM to end: {time.monotonic() - began:.2f} s")


if __name__ == "__main__":
    main()
