"""
A first history.json of years: how long the verbatim part takes, and the extracts, and how much memory each process needs.

    python -m bench.scale --messages 100000 --days 730
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.talk import write_history


def measured(command: list[str], environ: dict[str, str]) -> tuple[float, dict[str, int], str]:
    """Run *command*; return wall seconds, the peak resident MB of it and its child, and what it printed."""
    began, peak = time.monotonic(), {}
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, env=environ, stdout=out)
        while process.poll() is None:
            for name, pid in _processes(process.pid):
                peak[name] = max(peak.get(name, 0), _high_water(pid))
            time.sleep(0.1)
        out.seek(0)
        return time.monotonic() - began, peak, out.read()


def _processes(pid: int) -> list[tuple[str, int]]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [("supervisor", pid), *(("worker", int(child)) for child in children)]


def _high_water(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM")), 0)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, default=100_000)
    options.add_argument("--days", type=int, default=730)
    found = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        root = Path(folder)
        now = write_history(root / "history.json", found.messages, found.days)
        print(f"{found.messages} messages of {found.days} days, {(root / 'history.json').stat().st_size / 1e6:.1f} MB")
        environ = {**os.environ, "RECALLD_NOW": now.isoformat()}
        recalld = [sys.executable, "-m", "recalld", "-w", str(root), "run", "--until-settled", "--json"]
        for what, command in (("verbatim", [*recalld, "--no-worker"]), ("extracts", recalld), ("again", recalld)):
            wall_s, peak_mb, printed = measured(command, environ)
            kept = len(json.loads((root / "history.json").read_text()))
            print(f"{what:9} {wall_s:7.1f} s  peak MB {peak_mb}  history {kept}  {printed.strip()}")


if __name__ == "__main__":
    main()
