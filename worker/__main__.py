"""
The worker as a process: `python -m worker`, started by the supervisor or by hand (`recalld worker`).

The supervisor starts this file by its path, and recalld's own folder comes first on the path of imports, so that no other
package named `worker` or `supervisor` can run in its place.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from supervisor.protocol.clock import clock_from, from_wire, utc_now
from supervisor.protocol.config import load
from supervisor.protocol.disk import RealDisk
from supervisor.protocol.errors import BadRequest, SupervisorError, as_supervisor_error
from supervisor.protocol.files import Files
from supervisor.protocol.output import line_printer
from supervisor.protocol.paths import WorkspacePaths, check_filesystem
from supervisor.protocol.queue import TaskQueue
from supervisor.text.printable import printable, printable_json
from worker.loop import Worker
from worker.prompts import load_templates
from worker.providers import Model, choose

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> int:
    """Work until there is nothing to do; returns the exit code."""
    parser = argparse.ArgumentParser(prog="recalld worker", description="Make the summaries that wait in worker/queue.")
    parser.add_argument("-w", "--workspace", type=Path, required=True)
    parser.add_argument("--idle", type=float, help="leave after so many seconds without work")
    parser.add_argument("--json", action="store_true", help="machine-readable output, an object a line")
    options = parser.parse_args()

    def render(fields: dict[str, str]) -> str:
        return printable_json(json.dumps(fields, ensure_ascii=False)) if options.json else printable(" ".join(fields.values()))

    def lost(lines: int) -> str:
        return render({"error": f"{lines} lines could not be printed"})

    try:
        with line_printer(sys.stdout, lost) as print_line:
            _run(options.workspace.resolve(), options.idle, lambda fields: print_line(render(fields)))
    except (SupervisorError, OSError) as error:
        refused = as_supervisor_error(error, "the worker", options.workspace)
        with line_printer(sys.stderr, lost) as print_line:
            print_line(printable(f"recalld worker: {refused}"))
        return refused.exit_code
    return 0


def _run(root: Path, idle_s: float | None, report: Callable[[dict[str, str]], None]) -> None:
    if not root.is_dir():
        raise BadRequest("--workspace", f"{root} is not there; make it with `recalld init -w {root}`")
    files, paths = Files(RealDisk()), WorkspacePaths(root)
    written = files.read_stable(paths.config)
    config = load(written.data if written else None, os.environ)
    check_filesystem(paths, allow_network_fs=config.care.allow_network_fs)
    now = os.environ.get("RECALLD_NOW")
    clock = clock_from(from_wire(now)) if now else utc_now
    TaskQueue(files, paths).prepare()
    files.make_folder(paths.state)
    provider = choose(config, os.environ)
    if isinstance(provider, Model):
        load_templates(files, paths)  # a wrong prompt is reported now, not after the first task
    Worker(files, paths, config, provider, clock).run(config.worker.idle.total_seconds() if idle_s is None else idle_s, report)


if __name__ == "__main__":
    sys.exit(main())
