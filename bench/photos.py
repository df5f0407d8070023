"""
What a day of photos takes: sizes on the disk, times, and whether the day is found.

    python -m bench.photos --photos 12 --each 2000000
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

#: Said with one of the photos; nothing else has these words.
FACT, ASKED = "这是小屋的配电箱，备用钥匙贴在门后面。", "小屋配电箱的备用钥匙"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--photos", type=int, default=12)
    options.add_argument("--each", type=int, default=2_000_000, help="bytes of one photo")
    found = options.parse_args()
    chance = random.Random(7)
    with tempfile.TemporaryDirectory(prefix="photos-") as name:
        root = Path(name)
        recalld("init", root=root)
        lines = "".join(json.dumps(_photo(n, chance.randbytes(found.each))) + "\n" for n in range(found.photos))
        print(f"{found.photos} photos, {found.photos * found.each / 1e6:.0f} MB; as messages {len(lines) / 1e6:.0f} MB")
        for command in (("append", "--jsonl"), ("run", "--until-settled", "--no-worker"), ("index", "rebuild")):
            began = time.monotonic()
            recalld(*command, root=root, text=lines if command[0] == "append" else "")
            print(f"recalld {' '.join(command)}: {time.monotonic() - began:.1f} s")
        for place in ("memory", "attachments", ".recalld", "history.json", "history.json.bak", "."):
            print(f"{place:18} {_size(root / place) / 1e6:8.2f} MB")
        hits = json.loads(recalld("search", ASKED, "--json", root=root) or "[]")
        hits = hits if isinstance(hits, list) else [hits]
        print("the day is found" if any(FACT in str(hit) for hit in hits) else "the day is NOT found")


def recalld(*words: str, root: Path, text: str = "") -> str:
    """Run the command and return what it prints."""
    command = [sys.executable, "-m", "recalld", "-w", str(root), *words]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout


def _photo(number: int, data: bytes) -> dict[str, object]:
    url = f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
    text = FACT if number == 3 else f"照片 {number}"
    content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]
    return {"role": "user", "content": content, "createdAt": f"2026-01-28T09:{number:02}:00+08:00"}


def _size(path: Path) -> int:
    return sum(one.stat().st_size for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file())


if __name__ == "__main__":
    main()
