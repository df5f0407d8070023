"""
A SIGKILL storm over the file turn: supervisor and worker are killed at random moments while inputs come in, in ten conversations.

    python -m tests.process.reply_storm --kills 300 --inputs 500

Each input must be answered exactly once: its words and its answer stand in exactly one dated file, and the inbox is empty. Every second answer
asks to look further: its second message stands there once, or not at all where the first had left history.json.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.llm.server import Act, Server
from tests.replies.turning import request

HURRY = {
    "RECALLD_ARCHIVE_TIMEZONE": "Asia/Shanghai",
    "RECALLD_ARCHIVE_UNARCHIVED_LIMIT": "20",
    "RECALLD_ARCHIVE_EXCHANGE_WAIT": "0",
    "RECALLD_ARCHIVE_KEEP_NEWEST": "4",
    "RECALLD_HISTORY_SOFT_CAP": "20",
    "RECALLD_HISTORY_HARD_CAP": "30",
    "RECALLD_CARE_POLL": "50ms",
    "RECALLD_CARE_TREE_POLL": "200ms",
    "RECALLD_WORKER_LEASE": "2s",
    "RECALLD_TURNS_REPLY": "worker",
    "RECALLD_TURNS_TRIES": "1000",
    "RECALLD_TURNS_MAX_CALLS_PER_DAY": "100000",
    "RECALLD_LLM_MODEL": "qwen-test",
}
SESSIONS = [f"会话{n}" for n in range(7)] + [f"agent:group:群{n}" for n in range(3)]
#: The kinds of tasks that answers are made of.
KINDS = ("reply", "lookup")
#: Seconds without an answer after which something hangs.
PATIENCE_S = 120.0


class Storm:
    """One workspace whose supervisor and worker are killed again and again."""

    def __init__(self, root: Path, url: str, seed: int) -> None:
        self.root, self.random, self.asked = root, random.Random(seed), 0
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RECALLD_")}
        self.environ = {**kept, **HURRY, "RECALLD_LLM_BASE_URL": url}
        self.command("init")
        self.supervisor: subprocess.Popen[bytes] | None = None
        self.second: Counter[str] = Counter()

    def command(self, *words: str) -> None:
        command = [sys.executable, "-P", "-m", "recalld", "-w", str(self.root), *words]
        subprocess.run(command, env=self.environ, check=True, stdout=subprocess.DEVNULL)

    def supervise(self) -> None:
        if self.supervisor is None or self.supervisor.poll() is not None:
            command = [sys.executable, "-P", "-m", "recalld", "-w", str(self.root), "run"]
            self.supervisor = subprocess.Popen(command, env=self.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self) -> None:
        """Put the next input into the inbox, as a program that takes its lock."""
        with (self.root / "inbox.json.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            path = self.root / "inbox.json"
            waiting = json.loads(path.read_bytes()) if path.exists() else []
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            session = self.random.choice(SESSIONS)
            waiting.append({"id": f"q{self.asked:04}", "text": f"第{self.asked:04}问？", "createdAt": now, "session": session})
            new = self.root / ".inbox.tmp"
            new.write_text(json.dumps(waiting, ensure_ascii=False), encoding="utf-8")
            new.replace(path)
        self.asked += 1

    def kill(self) -> None:
        """Kill the supervisor, its workers, or both, as a machine does that loses its power."""
        victims = self.random.choice(("supervisor", "worker", "both"))
        for pid in self.workers() if victims != "supervisor" else []:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if victims != "worker" and self.supervisor:
            self.supervisor.kill()
            self.supervisor.wait()

    def workers(self) -> list[int]:
        """The workers of this workspace, also those whose supervisor was killed."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if str(self.root).encode() in words and any(word.endswith(b"worker/__main__.py") for word in words):
                    found.append(int(folder.name))
        return found

    def inbox(self) -> list[Any]:
        path = self.root / "inbox.json"
        return json.loads(path.read_bytes()) if path.exists() else []

    def calm(self) -> None:
        """Let all be answered, and end everything."""
        self.supervise()
        until = time.monotonic() + PATIENCE_S
        folders = [self.root / "worker" / name for name in ("queue", "running", "results")]
        while self.inbox() or any(next(folder.glob(f"{kind}-*.json"), None) for folder in folders for kind in KINDS):
            assert time.monotonic() < until, f"{len(self.inbox())} inputs wait"
            self.supervise()
            time.sleep(0.1)
        assert self.supervisor
        self.supervisor.terminate()
        self.supervisor.wait()
        self.command("run", "--once")

    def wrong(self) -> list[str]:
        """What is not there exactly once."""
        files = [*(self.root / "memory").glob("2*.md"), *(self.root / "memory" / "originals").rglob("*.md")]
        text = "\n".join(path.read_text(encoding="utf-8") for path in files)
        wrong = [f"the inbox has {len(self.inbox())}"] if self.inbox() else []
        told = [words for n in range(self.asked) for words in (f"第{n:04}问？", f"答{n:04}。")]
        wrong += [f"{words} is there {text.count(words)} times" for words in told if text.count(words) != 1]
        self.second = Counter(re.findall(r'"id": "(re-[0-9a-f]{16}-2)"', text))
        wrong += [f"the second message {one} is there {count} times" for one, count in self.second.items() if count > 1]
        left = [path.name for kind in KINDS for path in (self.root / "worker").rglob(f"{kind}-*")]
        return [*wrong, *(f"{name} is left" for name in left)]


def answer(number: int, prompt: str) -> Act:
    """A model that answers each question of the last message by its number, and looks further for every second."""
    if "<found>" in prompt:
        return Act(text=f"另外查到{number}。", parts=2)
    numbers = re.findall(r"第(\d{4})问", prompt.rsplit("。）\n\n", 1)[-1])
    more = f"\n\n{request(prompt, 'search_memory 部署')}" if numbers and int(numbers[-1]) % 2 else ""
    return Act(text="\n".join(f"答{n}。" for n in numbers) + more, parts=2)


#: How often, and how many, inputs are asked without kills at most, until a second message was seen.
_MORE, _EACH = 5, 4


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=300)
    options.add_argument("--inputs", type=int, default=500)
    options.add_argument("--seed", type=int, default=1)
    found = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        server.script = answer
        storm = Storm(Path(folder) / "workspace", server.url, found.seed)
        for kill in range(found.kills):
            storm.supervise()
            while storm.asked < found.inputs * (kill + 1) // found.kills:
                storm.ask()
            time.sleep(storm.random.uniform(0.3, 1.6))
            storm.kill()
        storm.calm()
        wrong = storm.wrong()
        for _ in range(_MORE):  # on a loaded machine all first messages may have left history.json before the second ones came
            if storm.second or wrong:
                break
            for _ in range(_EACH):
                storm.ask()
            storm.calm()
            wrong = storm.wrong()
        print("\n".join(wrong))
        looked = len(storm.second)
        print(
            f"{found.kills} kills, {storm.asked} inputs, {server.seen.calls} calls, {looked} second messages, {len(wrong)} violations"
        )
    return 1 if wrong or not looked else 0


if __name__ == "__main__":
    sys.exit(main())
