"""
The worker as a process: `python -m recalld.worker`, started by the supervisor or by hand (`recalld worker`).

The supervisor starts this file by its path, and the folder of this `recalld` comes first on the path of imports, so that no
other package of that name can run in its place.
"""

import argparse
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import get_args

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from collections.abc import Callable, Mapping

from recalld.supervisor.protocol.config import Config, check_folder, load
from recalld.supervisor.protocol.llm import CallLog
from recalld.supervisor.protocol.paths import WorkspacePaths, check_filesystem
from recalld.supervisor.protocol.queue import IDLE_S, TaskQueue
from recalld.supervisor.protocol.task import AskedTask, parse_task, render_result
from recalld.supervisor.storage.clock import Clock, clock_from, from_wire, utc_now
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import BadRequest, SupervisorError, as_supervisor_error
from recalld.supervisor.storage.files import Files
from recalld.supervisor.storage.process import line_printer
from recalld.supervisor.storage.texts import Text
from recalld.supervisor.storage.texts import render as render_text
from recalld.supervisor.text.foreign_text import printable, printable_json
from recalld.supervisor.text.language import Language
from recalld.worker.desk import FolderDesk
from recalld.worker.loop import Worker, answer
from recalld.worker.providers import choose


def main() -> int:
    """Work until there is nothing to do; returns the exit code."""
    options = _options().parse_args()

    def render(fields: Mapping[str, object]) -> str:
        if options.json:
            return printable_json(json.dumps(fields, ensure_ascii=False))
        return printable(" ".join(render_text(fields[name], options.language) for name in fields if name != "reason"))

    try:
        with line_printer(sys.stdout) as print_line:
            if options.pool_file:
                crew(options.pool_file, lambda fields: print_line(render(fields)))
                return 0
            root = options.workspace.resolve()
            if options.task:
                print_line(do(root).decode())
                return 0
            work(root, options.idle, lambda fields: print_line(render(fields)), asked_only=options.asked)
    except (SupervisorError, OSError, RuntimeError) as error:
        refused = as_supervisor_error(error, "the worker", options.workspace or options.pool_file)
        with suppress(OSError):  # not by a thread: the system may start none
            print(printable(f"recalld worker: {render_text(refused, options.language)}"), file=sys.stderr, flush=True)
        return refused.exit_code
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="recalld worker", description="Make the summaries that wait in worker/queue.")
    whose = parser.add_mutually_exclusive_group(required=True)
    whose.add_argument("-w", "--workspace", type=Path)
    whose.add_argument("--pool-file", type=Path, help="work for a pool, whose address is in RECALLD_POOL_URL")
    parser.add_argument("--idle", type=float, help="leave after so many seconds without work")
    parser.add_argument("--asked", action="store_true", help="do only what somebody waits for")
    parser.add_argument("--task", action="store_true", help="do the task at standard input, print its result, and leave")
    parser.add_argument("--json", action="store_true", help="machine-readable output, an object a line")
    parser.add_argument("--language", choices=get_args(Language), default="en", help="of what is printed for people")
    return parser


def work(root: Path, idle_s: float | None, report: Callable[[Mapping[str, object]], None], *, asked_only: bool = False) -> None:
    """
    Do the tasks of the workspace at *root* until there was none for *idle_s* seconds; *report* gets each result.

    With *asked_only* those that somebody waits for.
    """
    files, paths, config, clock = _open(root)
    files.make_folder(paths.state)
    TaskQueue(files, paths).prepare()
    provider = choose(config, os.environ)
    Worker(FolderDesk(files, paths, config), provider, clock).run(
        IDLE_S if idle_s is None else idle_s, report, asked_only=asked_only
    )


def crew(pool_file: Path, report: Callable[[Mapping[str, object]], None]) -> None:
    """Work for the pool of RECALLD_POOL_URL until a signal; *pool_file* names its models."""
    from recalld.supervisor.pool.cargo import Seal
    from recalld.supervisor.pool.redis_pool import Broker
    from recalld.worker.crew import Crew, read_profiles

    environ = dict(os.environ)
    profiles = read_profiles(pool_file)
    keys = profiles.crew
    seal = Seal.of(keys.key_env, environ)
    broker = Broker(environ.get("RECALLD_POOL_URL", ""), keys.prefix)
    Crew(broker, keys, profiles.models, seal, environ, utc_now, report).run()


def do(root: Path) -> bytes:
    """
    Return the result of the task at standard input, which is in no queue; it is given up when the process that waits ends.

    Of the workspace at *root* only the log of calls is written. BadConfig where the task needs a model and none is configured.
    """
    asker = os.getppid()
    files, paths, config, clock = _open(root)
    task = parse_task(sys.stdin.buffer.read())
    if not isinstance(task, AskedTask):
        raise BadRequest("--task", Text("it is a day or a month, which has to be in worker/queue; submit it there"))
    log = CallLog(files, paths, config.archive.zone)
    result = answer(task, choose(config, os.environ), config, log, clock, lambda: os.getppid() != asker)
    return render_result(result).rstrip()


def _open(root: Path) -> tuple[Files, WorkspacePaths, Config, Clock]:
    check_folder(root)
    files, paths = Files(RealDisk()), WorkspacePaths(root)
    written = files.read_stable(paths.config)
    config = load(written.data if written else None, os.environ)
    check_filesystem(paths, allow_network_fs=config.care.allow_network_fs)
    now = os.environ.get("RECALLD_NOW")
    clock = clock_from(from_wire(now)) if now else utc_now
    return files, paths, config, clock


if __name__ == "__main__":
    sys.exit(main())
