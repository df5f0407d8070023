"""
What the supervisor costs while nothing happens: processor time over a minute, and resident memory.

    python bench/idle.py --seconds 60
"""

from __future__ import annotations

import argparse
import os
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
    found = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="idle-") as folder:
        root = found.workspace or folder
        command = [sys.executable, "-m", "recalld", "-w", root]
        subprocess.run([*command, "init"], check=True, stdout=subprocess.DEVNULL)
        process = subprocess.Popen([*command, "run"], stdout=subprocess.DEVNULL)
        try:
            time.sleep(5)
            before = cpu_s(process.pid)
            time.sleep(found.seconds)
            used = cpu_s(process.pid) - before
            status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            memory = {
                line.split(":")[0]: int(line.split()[1]) // 1024 for line in status if line.startswith(("VmRSS", "RssAnon"))
            }
        finally:
            process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            process.wait()
        print(f"{used:.2f} s of processor in {found.seconds:.0f} s = {100 * used / found.seconds:.3f} % of a core; MB {memory}")
        print(f"SIGTERM to end: {time.monotonic() - began:.2f} s")


if __name__ == "__main__":
    main()
