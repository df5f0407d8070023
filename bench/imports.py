"""
What an import costs: time and memory, of ChatGPT's export of three years.

    python -m bench.imports                                        100,000 messages, half of their words Chinese: some minutes
    python -m bench.imports --settle                               then all that is due, without a model: some minutes more
    python -m bench.imports --messages 250000 --metadata 7600      2 GB, most of it what ChatGPT keeps of searches and files

The export is made here, in a folder of its own, and imported by the command into an empty workspace, first with --dry-run. Shown are the most
memory that the process had (RSS), and its seconds of processor.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

WORDS = "deploy boiler recipe invoice garden train dentist backup printer lease bicycle router 柜子 机票 房租 牙医 备份 晚饭 孩子 路由器 发票 火车 医院 猫".split()
EACH, BEGIN, YEARS_S = 20, 1_672_531_200, 3 * 365 * 86_400


def export(path: Path, messages: int, metadata: int = 0) -> None:
    """Write an export with so many messages, in conversations of twenty, each with so many bytes that nobody said."""
    chance, count = Random(32), messages // EACH
    with path.open("w", encoding="utf-8") as file:
        for n in range(count):
            file.write(",\n" if n else "[")
            json.dump(
                conversation(n, BEGIN + n * YEARS_S // count, chance, "citation " * (metadata // 9)), file, ensure_ascii=False
            )
        file.write("]")


def conversation(number: int, begin: int, chance: Random, unsaid: str) -> dict[str, object]:
    nodes = {}
    for n in range(EACH):
        key, role = f"{number}-{n}", ("user", "assistant")[n % 2]
        text = " ".join(chance.choices(WORDS, k=40 if n % 2 else 18))
        content = {"content_type": "text", "parts": [text]}
        about = {"citations": unsaid}
        said = {"id": key, "author": {"role": role}, "create_time": begin + n * 40, "content": content, "metadata": about}
        nodes[key] = {"id": key, "parent": f"{number}-{n - 1}" if n else None, "children": [], "message": said}
    return {
        "title": f"talk {number}",
        "conversation_id": f"c{number}",
        "mapping": nodes,
        "current_node": f"{number}-{EACH - 1}",
    }


def run(root: Path, *words: str) -> None:
    """Run the command on the workspace, and print what it took."""
    process = subprocess.Popen([sys.executable, "-P", "-m", "recalld", "-w", str(root), *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = used.ru_utime + used.ru_stime
    print(
        f"{' '.join(word for word in words if '/' not in word):20} {used.ru_maxrss // 1024:5} MB, {seconds:6.1f} s of processor, code {process.returncode}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=100_000)
    options.add_argument("--metadata", type=int, default=0, metavar="BYTES")
    options.add_argument("--settle", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, root = Path(folder) / "conversations.json", Path(folder) / "workspace"
        export(path, given.messages, given.metadata)
        print(f"{given.messages} messages, {path.stat().st_size / 1e6:.0f} MB")
        run(root, "init")
        run(root, "import", str(path), "--dry-run")
        run(root, "import", str(path))
        if given.settle:
            run(root, "run", "--until-settled")


if __name__ == "__main__":
    main()
