"""``python -m worker``: a worker alone, started by the supervisor or by hand (``recalld worker``)."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from supervisor.protocol.clock import clock_from, from_wire, utc_now
from supervisor.protocol.config import load
from supervisor.protocol.disk import RealDisk
from supervisor.protocol.errors import BadRequest, SupervisorError
from supervisor.protocol.files import Files
from supervisor.protocol.paths import WorkspacePaths, check_filesystem
from supervisor.protocol.queue import TaskQueue
from worker.loop import Worker
from worker.prompts import load_all
from worker.providers import Model, choose


def main() -> int:
    """Work until there is nothing to do; returns the exit code."""
    parser = argparse.ArgumentParser(prog="recalld worker", description="Make the summaries that wait in worker/queue.")
    parser.add_argument("-w", "--workspace", type=Path, required=True)
    parser.add_argument("--idle", type=float, help="leave after so many seconds without work")
    parser.add_argument("--json", action="store_true", help="machine-readable output, an object a line")
    options = parser.parse_args()

    def tell(what: dict[str, str]) -> None:
        print(json.dumps(what, ensure_ascii=False) if options.json else " ".join(what.values()), flush=True)

    root = options.workspace.resolve()
    now = os.environ.get("RECALLD_NOW")
    try:
        if not root.is_dir():
            raise BadRequest("--workspace", f"{root} is not there; make it with `recalld init -w {root}`")
        files = Files(RealDisk())
        found = files.read_stable(WorkspacePaths(root).config)
        config = load(found.data if found else None, os.environ)
        check_filesystem(WorkspacePaths(root), allow_network_fs=config.care.allow_network_fs)
        clock = clock_from(from_wire(now)) if now else utc_now
        TaskQueue(files, WorkspacePaths(root)).prepare()
        files.make_folder(WorkspacePaths(root).state)
        idle_s = config.worker.idle.total_seconds() if options.idle is None else options.idle
        provider = choose(config, os.environ)
        if isinstance(provider, Model):
            load_all(files, WorkspacePaths(root))  # a wrong wording is told now, not after the first task
        Worker(files, WorkspacePaths(root), config, provider, clock).run(idle_s, tell)
    except SupervisorError as error:
        print(f"recalld worker: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
