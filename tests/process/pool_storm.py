"""
A SIGKILL storm over a pool: supervisors, workers and Redis are killed while messages come into a dozen workspaces.

    python -m tests.process.pool_storm --workspaces 12 --seconds 600

Each day of a workspace is said at once. Every acknowledged message must be there once, each day summarised once, and no workspace may
have had more calls than its cap, nor all together more than the pool's budget. Skipped where there is no redis-server.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from recalld import Memory
from tests.checker.__main__ import read_folder
from tests.checker.checker import Acked, Given, check
from tests.checker.formats import read_summary
from tests.llm.server import Act, Server
from tests.patience import PATIENCE_S
from tests.pool.redis_server import PROGRAM, RedisServer

HURRY: Final = {
    "RECALLD_POOL_KEY": base64.b64encode(bytes(range(32))).decode(),
    "RECALLD_ARCHIVE_TIMEZONE": "UTC",
    "RECALLD_ARCHIVE_UNARCHIVED_LIMIT": "1",
    "RECALLD_ARCHIVE_EXCHANGE_WAIT": "0",
    "RECALLD_ARCHIVE_KEEP_NEWEST": "0",
    "RECALLD_SUMMARIZE_LEAST": "0",
    "RECALLD_WORKER_LEASE": "20s",
    "RECALLD_LLM_MODEL": "qwen-test",
    "OPENAI_API_KEY": "none",
}
KINDS: Final = ("worker", "supervisor", "redis")
_WORKERS, _THREADS, _DAYS, _CAPPED_EACH, _CAP = 4, 4, 3, 10, 2
#: Seconds without a new summary after which something hangs: a lease and the wait after a fault are shorter.
_PATIENCE_S: Final = 240.0


class Storm:
    """The supervisors of *count* workspaces, four workers of their pool, and the Redis between them."""

    def __init__(self, folder: Path, redis: RedisServer, model: str, count: int, seed: int) -> None:
        self.random, self.redis = random.Random(seed), redis
        self.kills: Counter[str] = Counter()
        self.acked: dict[Path, list[Acked]] = {}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RECALLD_")}
        self.environ = {**kept, **HURRY, "RECALLD_POOL_URL": redis.url}
        self.supervisors: dict[Path, subprocess.Popen[bytes] | None] = {}
        self.workers: list[subprocess.Popen[bytes] | None] = [None] * _WORKERS
        self.file = folder / "pool.toml"
        self.file.write_text(
            f"[pool]\nthreads = {_THREADS}\nheartbeat = '5s'\n\n[providers.default]\nbase_url = '{model}'\nmodel = 'm'\n"
        )
        for n in range(count):
            root = folder / "甲" / f"w{n:02}"
            root.mkdir(parents=True, mode=0o700)
            cap = _CAP if n % _CAPPED_EACH == 0 else 1_000
            (root / "recalld.toml").write_text(f"[llm]\nmax_calls_per_day = {cap}\n")
            self.acked[root], self.supervisors[root] = [], None
        self.left = [(root, day) for day in range(_DAYS) for root in self.acked]

    # ── what runs ────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Start what does not run."""
        if self.redis.process is None:
            self.redis.start()
        for root, supervisor in self.supervisors.items():
            if supervisor is None or supervisor.poll() is not None:
                self.supervisors[root] = self._begin("--workspace", str(root), "run")
        for n, worker in enumerate(self.workers):
            if worker is None or worker.poll() is not None:
                self.workers[n] = self._begin("worker", "--broker", self.redis.url, "--pool-file", str(self.file))

    def _begin(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "recalld", *words]
        return subprocess.Popen(command, env=self.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        """Kill one process of a kind drawn by the seed."""
        kind = KINDS[sum(self.kills.values()) % len(KINDS)]
        if kind == "redis":
            self.redis.kill()
        else:
            process = self.random.choice(self.workers if kind == "worker" else [*self.supervisors.values()])
            if process is None:
                return
            process.kill()
            process.wait()
        self.kills[kind] += 1

    def say(self) -> None:
        """Say the next day of some workspace."""
        root, day = self.left.pop(0)
        first = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0) - timedelta(days=10 + day)
        said = [
            {
                "id": f"{root.name}-{day}-{n}",
                "role": "user",
                "text": f"{root.name} 第 {day} 天第 {n} 句：备份改到凌晨四点，数据库和定时任务都要检查一遍。",
                "createdAt": (first + timedelta(minutes=n)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            }
            for n in range(6)
        ]
        Memory(root).append(said)
        self.acked[root] += [Acked(one["id"], one["text"], one["createdAt"]) for one in said]

    # ── what has come of it ──────────────────────────────────────────────────

    def missing(self) -> list[str]:
        """The days of workspaces with calls enough that have no summary yet."""
        first = datetime.now(UTC).date() - timedelta(days=10)
        days = [(first - timedelta(days=n)).isoformat() for n in range(_DAYS)]
        roots = [root for n, root in enumerate(self.acked) if n % _CAPPED_EACH]
        return [f"{root.name} {day}" for root in roots for day in days if not _is_written(root / f"memory/summary/{day}.md")]

    def calm(self) -> None:
        """Let all be summarised, and end everything."""
        while self.left:
            self.say()
        self.start()
        before, until = self.missing(), time.monotonic() + _PATIENCE_S
        while before:
            assert time.monotonic() < until, f"not summarised: {before[:5]}"
            self.start()
            time.sleep(0.2)
            if (now := self.missing()) != before:
                before, until = now, time.monotonic() + _PATIENCE_S
        self.end()

    def end(self) -> None:
        """End what was started."""
        processes = [one for one in (*self.supervisors.values(), *self.workers) if one]
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(PATIENCE_S)

    def wrong(self, calls: Counter[str]) -> list[str]:
        """What does not hold."""
        wrong, now = [], datetime.now(UTC)
        for n, (root, acked) in enumerate(self.acked.items()):
            files, _, _ = read_folder(root)
            wrong += [f"{root.name}: {line}" for line in check(files, acked, Given(now, "UTC", calm=False))]
            events = [json.loads(line) for line in files["log.jsonl"].splitlines() if line.endswith(b"}")]
            told = Counter(one["group"] for one in events if one["event"] == "summarised" and one["group"].startswith("day-"))
            wrong += [f"{root.name}: {group} was summarised {count} times" for group, count in told.items() if count > 1]
            if n % _CAPPED_EACH == 0 and calls[root.name] > _CAP:
                wrong.append(f"{root.name}: {calls[root.name]} calls, and {_CAP} are allowed")
        return wrong


def _is_written(path: Path) -> bool:
    """Whether a model has written the summary."""
    return path.exists() and not read_summary(path.read_bytes()).head.get("extract")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--workspaces", type=int, default=12)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--every", type=float, default=3.0, help="seconds between two kills")
    options.add_argument("--seed", type=int, default=1)
    found = options.parse_args()
    if PROGRAM is None:
        print("SKIPPED: there is no redis-server here")
        return 0
    os.environ.update({name: value for name, value in HURRY.items() if name.startswith("RECALLD_ARCHIVE")})
    calls: Counter[str] = Counter()

    def answer(_: int, prompt: str) -> Act:
        calls[(re.findall(r"(w\d\d) 第", prompt) or ["?"])[-1]] += 1
        return Act(text="## 备份\n\n- 备份改到凌晨四点，数据库和定时任务都要检查一遍。", wait_s=0.3)

    with tempfile.TemporaryDirectory() as folder, Server() as server, RedisServer(Path(folder)) as redis:
        server.script = answer
        storm = Storm(Path(folder), redis, server.url, found.workspaces, found.seed)
        began, days = time.monotonic(), len(storm.left)
        storm.start()
        try:
            while (past := time.monotonic() - began) < found.seconds:
                while storm.left and days - len(storm.left) <= days * past / found.seconds:
                    storm.say()
                time.sleep(storm.random.uniform(0.5, 1.5) * found.every)
                storm.kill()
                storm.start()
            storm.calm()
            wrong = storm.wrong(calls)
        finally:
            storm.end()
        said = sum(map(len, storm.acked.values()))
        print("\n".join(wrong))
        print(
            f"{dict(storm.kills)} killed, {said} messages in {found.workspaces} workspaces, {calls.total()} calls for {days} days, "
            f"{time.monotonic() - began:.0f} s, {len(wrong)} violations"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
