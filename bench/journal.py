"""
The seen journal in memory: what reading it, asking it for each message and compacting it take.

    python -m bench.journal
    python -m bench.journal --messages 20000 200000
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from recalld.supervisor.archive.journal import SeenJournal
from recalld.supervisor.protocol.message import Key, Message, read_message
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files
from recalld.supervisor.storage.lenient_json import render_json

_FIRST: Final = datetime(2020, 1, 1, tzinfo=UTC)
_A_DAY: Final = 55


def _message(n: int) -> Message:
    day, of_day = divmod(n, _A_DAY)
    at = _FIRST + timedelta(days=day, minutes=10 * of_day, milliseconds=n % 997)
    message = read_message(
        {"role": "user", "text": f"the {n}th message", "createdAt": at.isoformat(), "id": f"m-{n:016x}"}, UTC
    )
    assert isinstance(message, Message)
    return message


def write(path: Path, count: int) -> None:
    """Write the journal of so many messages, all in dated files, 55 a day."""
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.write(render_json({"recalld": 1}) + b"\n")
        for first in range(0, count, _A_DAY):
            messages = [_message(n) for n in range(first, min(first + _A_DAY, count))]
            name = f"{_FIRST + timedelta(days=first // _A_DAY):%Y-%m-%d}-talk.md"
            written = [[*message.key, *message.fingerprints] for message in messages]
            file.write(render_json({"written": written, "file": name}) + b"\n")


def _resident_mb() -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def _measure(root: Path, keys: list[Key]) -> None:
    before, began = _resident_mb(), time.process_time()
    journal = SeenJournal(Files(RealDisk()), WorkspacePaths(root), UTC)
    journal.refresh()
    read, resident = time.process_time(), _resident_mb()
    with journal.held():
        assert all(journal.file_of(key) for key in keys)
    answered = time.process_time()
    journal.compact()
    compacted = time.process_time()
    print(
        f"{len(keys):7} messages: {resident - before:6.1f} MB, read in {read - began:.2f} s, "
        f"each looked up in {answered - read:.2f} s, compacted in {compacted - answered:.2f} s"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, nargs="+", default=[20_000, 200_000])
    for count in options.parse_args().messages:
        with tempfile.TemporaryDirectory(prefix="journal-") as folder:
            paths = WorkspacePaths(Path(folder))
            write(paths.seen, count)
            keys = [_message(n).key for n in range(count)]
            process = multiprocessing.get_context("spawn").Process(
                target=_measure, args=(paths.root, keys)
            )  # a fresh heap for each size
            process.start()
            process.join()


if __name__ == "__main__":
    main()
