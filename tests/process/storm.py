"""
A SIGKILL storm: supervisor, worker and writer are killed at random moments while messages arrive; then a calm run, and the judge.

    python -m tests.process.storm --kills 200

Every id that a writer was given back must stand, word for word, in exactly one dated file. The checker shares no code with the
product. Same seed, same kills in the same order; the moments are the machine's.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.checker.__main__ import read_folder
from tests.checker.checker import Acked, Given, check

#: Everything hurries, so that every kill has something to hit.
HURRY = {
    "RECALLD_ARCHIVE_TIMEZONE": "Asia/Shanghai",
    "RECALLD_ARCHIVE_UNARCHIVED_LIMIT": "3",
    "RECALLD_ARCHIVE_EXCHANGE_WAIT": "0",
    "RECALLD_ARCHIVE_KEEP_NEWEST": "4",
    "RECALLD_HISTORY_SOFT_CAP": "20",
    "RECALLD_HISTORY_HARD_CAP": "30",
    "RECALLD_CARE_POLL": "50ms",
    "RECALLD_CARE_TREE_POLL": "100ms",
    "RECALLD_WORKER_LEASE": "2s",
    "RECALLD_WORKER_BEAT": "500ms",
}
TALK = (
    "备份脚本上传失败，改到凌晨 4:15，端口 8443。",
    "We decided to move the demo to Aug 28, room 305.",
    "我对花生过敏，榛子也不能吃。",
    "好的",
    "TODO: renew the certificate for git.example.com before Friday",
    '```\nTraceback\n  File "x.py"\n```\n然后就挂了',
    "预算 5350 元，押一付三",
)


class Storm:
    """One workspace under attack."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.environ = {**os.environ, **HURRY, "PYTHONUNBUFFERED": "1"}
        self.acked: list[Acked] = []
        self.offered: dict[str, Acked] = {}
        self.done = threading.Event()
        self.writer: subprocess.Popen[bytes] | None = None
        self.supervisor: subprocess.Popen[bytes] | None = None
        self.told = (root.parent / "told").open("w+b")
        self.count = 0

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "supervisor.adapters.cli", "-w", str(self.root), *words]

    def write(self) -> None:
        """Feed one writer after another, and note what each says is safe."""
        while not self.done.is_set():
            self.writer = subprocess.Popen(
                self.command("append", "--jsonl"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self.environ,
            )
            reader = threading.Thread(target=self._read_acks, args=(self.writer,))
            reader.start()
            try:
                while not self.done.is_set():
                    self._offer(self.writer)
                    time.sleep(self.random.uniform(0.002, 0.05))
            except OSError:
                pass
            with contextlib.suppress(OSError):
                self.writer.stdin.close()
            self.writer.wait()
            reader.join()
            self.writer.stdout.close()

    def _offer(self, writer: subprocess.Popen[bytes]) -> None:
        self.count += 1
        days = self.random.choice((0, 0, 0, 1, 3, 7, 9, 40, 100))
        message = {
            "id": f"storm-{self.count:06d}",
            "role": "user" if self.count % 2 else "assistant",
            "text": f"{self.random.choice(TALK)} #{self.count}",
            "createdAt": (datetime.now(UTC) - timedelta(days=days)).isoformat(),
        }
        self.offered[message["id"]] = Acked(message["id"], message["text"], message["createdAt"])
        writer.stdin.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        writer.stdin.flush()

    def _read_acks(self, writer: subprocess.Popen[bytes]) -> None:
        for line in writer.stdout:
            if line.endswith(b"\n"):
                self.acked.append(self.offered[line.decode().strip()])

    def start(self) -> None:
        # a file, not a pipe: a worker outlives its supervisor and would keep the pipe open
        self.supervisor = subprocess.Popen(self.command("run"), stdout=subprocess.DEVNULL, stderr=self.told, env=self.environ)

    def workers(self) -> list[int]:
        """The worker processes that our supervisor started."""
        try:
            children = Path(f"/proc/{self.supervisor.pid}/task/{self.supervisor.pid}/children").read_text()
        except OSError:
            return []
        return [int(pid) for pid in children.split()]

    def kill_something(self) -> str:
        """Kill the supervisor, its worker, both, or the writer; say which."""
        victim = self.random.choice(("supervisor", "supervisor", "worker", "both", "writer"))
        pids = []
        if victim in ("worker", "both"):
            pids += self.workers()
        if victim in ("supervisor", "both"):
            pids.append(self.supervisor.pid)
        if victim == "writer" and self.writer:
            pids.append(self.writer.pid)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if victim in ("supervisor", "both"):
            self.supervisor.wait()
            self.start()
        return victim if pids else ""

    def run(self, kills: int) -> list[str]:
        """The violations after *kills* kills and a calm run."""
        wrong: list[str] = []
        self.start()
        writing = threading.Thread(target=self.write)
        writing.start()
        killed = 0
        while killed < kills:
            time.sleep(self.random.uniform(0.02, 0.7))
            killed += bool(self.kill_something())
        self.done.set()
        writing.join()
        os.kill(self.supervisor.pid, signal.SIGTERM)
        began = time.monotonic()
        self.supervisor.wait(timeout=30)
        self.told.seek(0)
        told = self.told.read()
        self.told.close()
        if time.monotonic() - began > 5:
            wrong.append(f"SIGTERM took {time.monotonic() - began:.1f} s")
        if b"Traceback" in told:
            wrong.append(told.decode()[-2000:])
        deadline = time.monotonic() + 60
        while True:
            calm = subprocess.run(self.command("run", "--until-settled"), capture_output=True, env=self.environ, check=False)
            if calm.returncode != 75 or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        if calm.returncode or calm.stderr:
            wrong.append(f"the calm run ended with {calm.returncode}: {calm.stderr.decode()[-2000:]}")
        files, modes, outside = read_folder(self.root)
        given = Given(datetime.now(UTC), "Asia/Shanghai", calm=True, all_written=True, ordered=False)
        return [*wrong, *outside, *check(files, self.acked, given, modes)]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    found = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="storm-") as folder:
        storm = Storm(Path(folder) / "workspace", found.seed)
        subprocess.run(storm.command("init"), env=storm.environ, check=True, stdout=subprocess.DEVNULL)
        wrong = storm.run(found.kills)
        for line in wrong:
            print(line)
        print(f"{found.kills} kills, {len(storm.acked)} acknowledged messages, {len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
