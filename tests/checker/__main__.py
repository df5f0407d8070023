"""
Judge a real folder: ``python -m tests.checker DIR --acked FILE --now ISO``.

FILE holds the acknowledged messages, one JSON object {id, text, createdAt} a line. Prints what is wrong; exits with 1 then.
"""

from __future__ import annotations

import argparse
import json
import os
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.checker.checker import Acked, Given, check


def read_folder(root: Path) -> tuple[dict[str, bytes], dict[str, int], list[str]]:
    """The files of a real folder by path, the modes of all in it, and what leads out of it."""
    files, modes, wrong = {}, {}, []
    for folder, names, inside in os.walk(root):
        for name in (*names, *inside):
            path = Path(folder, name)
            where = path.relative_to(root).as_posix()
            found = path.lstat()
            if stat.S_ISLNK(found.st_mode):
                wrong += [] if path.resolve().is_relative_to(root.resolve()) else [f"{where} leads out of the workspace"]
                continue
            modes[where] = stat.S_IMODE(found.st_mode)
            if stat.S_ISREG(found.st_mode):
                files[where] = path.read_bytes()
    return files, modes, wrong


def read_acked(path: Path) -> list[Acked]:
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}"))
    return [Acked(str(one.get("id", "")), one["text"], one.get("createdAt", "")) for one in lines]


def main(argv: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--acked", type=Path, help="the acknowledged messages, a JSON object a line")
    options.add_argument("--now", type=datetime.fromisoformat, default=datetime.now(UTC))
    options.add_argument("--zone", default="Asia/Shanghai")
    options.add_argument("--busy", action="store_true", help="not everything that is due was done yet")
    options.add_argument("--all-written", action="store_true", help="every message has to be archived")
    options.add_argument("--any-order", action="store_true", help="several writers: nothing is known of the order")
    options.add_argument("--no-modes", action="store_true", help="the folder was made by another program")
    found = options.parse_args(argv)
    files, modes, wrong = read_folder(found.folder)
    acked = read_acked(found.acked) if found.acked else []
    given = Given(found.now, found.zone, calm=not found.busy, all_written=found.all_written, ordered=not found.any_order)
    wrong += check(files, acked, given, None if found.no_modes else modes)
    for line in wrong:
        print(line)
    print(f"{len(files)} files, {len(acked)} acknowledged messages, {len(wrong)} violations", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
