"""`files FOLDER [PATTERN …]`: every file below a folder, or those that a pattern names; of each the mode and the lines."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

#: Files whose bytes are the business of one process or of a library, or depend on the machine's speed or its disk.
OPAQUE = re.compile(
    r"^attachments/|\.bak$|\.recalld/(index|vectors|pieces)/|\.recalld/files\.json$|\.lock$|\.recalld/socket|(^|/)\.DS_Store$"
)
#: The ids of acts, which are made of their places: these depend on the order in which results arrive.
ACT = re.compile(r"\b[a-z]-[0-9a-f]{8}\b")
#: Events whose number depends on when results arrive; their numbers are added up.
ADDED_UP = ("moved", "submitted", "seen")


def main() -> None:
    root = Path(sys.argv[1])
    patterns = sys.argv[2:] or ["**/*"]
    paths = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_symlink() or not path.is_dir()})
    for path in paths:
        name = str(path.relative_to(root))
        if re.search(r"\.recalld/index/", name):
            continue
        mode = f"{path.lstat().st_mode & 0o777:o}"
        if path.is_symlink():
            print(f"== {name} -> {os.readlink(path)}")
        elif OPAQUE.search(name):
            print(f"== {name} {mode}")
        else:
            lines = read(path)
            print(f"== {name} {mode}, {len(lines)} lines")
            print("\n".join(f"  {line}" for line in lines))


def read(path: Path) -> list[str]:
    """Return the lines of the file; of events what does not depend on the speed of the machine."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode("utf-8", "backslashreplace")
    if path.name.startswith("log"):
        return events(text)
    lines = text.removesuffix("\n").split("\n")
    if path.name in {"acts.jsonl", "CHANGES.md"}:
        return sorted(ACT.sub("ID", line) for line in lines)
    return headed(lines) if lines[0] == "---" and "---" in lines[1:] else lines


def headed(lines: list[str]) -> list[str]:
    """Return the lines of a file of recalld's, those of its head in one, and without blank ones."""
    end = lines.index("---", 1)
    return [" · ".join(lines[1:end]), *filter(None, lines[end + 1 :])]


def events(text: str) -> list[str]:
    lines: list[str] = []
    sums: Counter[str] = Counter()
    for line in text.splitlines():
        found = json.loads(line)
        found.pop("ms", None)
        if found["event"] in ADDED_UP:
            sums.update({f"{found['event']} {key}": value for key, value in found.items() if isinstance(value, int)})
        else:
            lines.append(json.dumps(found, ensure_ascii=False))
    return sorted([*lines, *(f"{key} {value}" for key, value in sums.items())])


main()
