"""`fresh NAME [FOLDER]`: a new copy of a workspace that was made; where the scene is supervised, with a supervisor that runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    name = sys.argv[1]
    target = Path.home() / (sys.argv[2] if len(sys.argv) > 2 else name)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(Path(os.environ["MADE"]) / name, target, symlinks=True)
    if os.environ["SUPERVISED"]:
        said = (Path.home() / ".supervisor.out").open("ab")
        run = ["recalld", "-w", str(target), "run", "--no-worker"]
        process = subprocess.Popen(run, stdout=said, stderr=said, stdin=subprocess.DEVNULL, start_new_session=True)
        with (Path.home() / ".supervisors").open("a") as pids:
            pids.write(f"{process.pid}\n")
        while not (target / ".recalld" / "socket").exists():
            if process.poll() is not None:
                sys.exit(f"the supervisor ended with {process.returncode}")
            time.sleep(0.02)


main()
