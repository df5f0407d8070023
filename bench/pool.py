"""
A pool of workers with a real redis-server: what a fault costs, what the throughput is, and what a task costs in processor.

    python -m bench.pool                     every row: faults, throughput, processor, rate, budget, sealing
    python -m bench.pool --rows worker-killed flushed --tasks 120

The model is a server on loopback that answers after 0.5 to 1.0 s and logs each prompt; *paid twice* counts calls beyond the first
of a prompt. The courier, the pool's workers and Redis are those of the product, in processes of their own.
"""

from __future__ import annotations

# ruff: noqa: E402, SLF001 - the path of imports comes first; a courier is killed as a process is
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # its own folder has an http.py

import argparse
import base64
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from datetime import UTC
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

from recalld.supervisor.events import Events
from recalld.supervisor.pool.cargo import Seal
from recalld.supervisor.pool.courier import Courier
from recalld.supervisor.pool.redis_pool import Broker, RedisPool
from recalld.supervisor.protocol.config import load
from recalld.supervisor.protocol.config_keys import Log
from recalld.supervisor.protocol.dated_file import Block, render_dated
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.protocol.queue import TaskQueue
from recalld.supervisor.protocol.summary_file import Source
from recalld.supervisor.protocol.task import Task, task_id
from recalld.supervisor.storage.clock import from_wire, utc_now
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files, digest_of
from tests.pool.redis_server import RedisServer

KEY = bytes(range(32))
ENVIRON = {**os.environ, "RECALLD_POOL_KEY": base64.b64encode(KEY).decode(), "OPENAI_API_KEY": "none"}


# ── the model ────────────────────────────────────────────────────────────────


class Model:
    """A server with chat completions that takes its time, and counts how often it was asked what."""

    def __init__(self, least_s: float = 0.5, most_s: float = 1.0) -> None:
        self.calls: Counter[int] = Counter()
        self.times: list[float] = []
        self.fails = False
        rng, model = Random(0), self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.times.append(time.monotonic())
                model.calls[hash(json.dumps(asked["messages"]))] += 1
                time.sleep(rng.uniform(least_s, most_s))
                chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
                text = "## 摘要\n\n- 备份改到凌晨四点。"
                parts = [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]
                ends = [{"index": 0, "delta": {}, "finish_reason": "stop"}]
                lines = [json.dumps({**chunk, "choices": choices}) for choices in (parts, ends)]
                body = "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]")).encode()
                self.send_response(503 if model.fails else 200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_: object) -> None:
                pass  # a worker was killed

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    @property
    def twice(self) -> int:
        """Calls beyond the first of a prompt."""
        return sum(self.calls.values()) - len(self.calls)


# ── the hosts ────────────────────────────────────────────────────────────────


class Place:
    """A workspace with *count* tasks of about 5 KB, all different."""

    def __init__(self, root: Path, name: str, count: int, cap: int = 100_000) -> None:
        self.name, self.files, self.paths = name, Files(RealDisk()), WorkspacePaths(root / name)
        self.config = load(f"[llm]\nmodel = 'm'\nmax_calls_per_day = {cap}\n".encode(), {})
        self.files.make_folder(self.paths.dated("x").parent)
        self.files.make_folder(self.paths.state)
        self.queue = TaskQueue(self.files, self.paths)
        self.queue.prepare()
        for n in range(count):
            self._submit(f"2026-{1 + n // 28:02}-{1 + n % 28:02}", n)

    def _submit(self, day: str, n: int) -> None:
        text = f"{self.name} {n}：备份改到凌晨四点，端口 {8000 + n}。" + "数据库、脚本和定时任务都要检查一遍。" * 90
        at = from_wire(f"{day}T09:00:00.000Z")
        blocks = [Block(f"{self.name}{n}", "user", text, at, {})]
        data = render_dated(at.date(), "UTC", UTC, at, blocks)
        file = f"{day}-bench.md"
        self.files.create(self.paths.dated(file), data)
        sources = (Source(file, digest_of(data)[:16], 1),)
        group = f"day-{day}"
        self.queue.submit(
            Task(
                id=task_id(group, sources, 0),
                kind="daily-summary",
                group=group,
                period=day,
                zone="UTC",
                sources=sources,
                material=(file,),
            )
        )

    @property
    def results(self) -> int:
        return len(list(self.queue.results.iterdir()))

    def courier(self, url: str) -> Courier:
        pool, events = RedisPool(Broker(url, "recalld"), self.name), Events(self.paths.log, utc_now, Log())
        return Courier(pool, self.name, self.files, self.paths, self.config, events, Seal([KEY]), utc_now)


class Host:
    """A courier in a thread for each workspace; in the product it is in the workspace's supervisor."""

    def __init__(self, url: str, places: list[Place]) -> None:
        self.stop = threading.Event()
        self.couriers = [place.courier(url) for place in places]
        self.threads = [threading.Thread(target=self._run, args=(courier,), daemon=True) for courier in self.couriers]
        for thread in self.threads:
            thread.start()

    def _run(self, courier: Courier) -> None:
        while not self.stop.is_set():
            if not courier.step():
                self.stop.wait(0.2)

    def die(self) -> None:
        """End without giving anything back, as SIGKILL does, but for the locks, which the process had."""
        self.stop.set()
        for thread in self.threads:
            thread.join()
        for courier in self.couriers:
            if courier._lock:
                courier._lock.close()


class Workers:
    """Processes of the pool."""

    def __init__(self, folder: Path, url: str, model: Model, count: int, threads: int) -> None:
        self.file = folder / "pool.toml"
        self.file.write_text(f"[pool]\nthreads = {threads}\n\n[providers.default]\nbase_url = '{model.url}'\nmodel = 'm'\n")
        self.url = url
        self.processes = [self.start() for _ in range(count)]

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", str(ROOT / "recalld/worker/__main__.py"), "--pool-file", str(self.file)]
        return subprocess.Popen(command, env={**ENVIRON, "RECALLD_POOL_URL": self.url}, stdout=subprocess.DEVNULL)

    def end(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self.processes:
            process.wait(60)


def there(url: str, slots: int) -> None:
    """Wait until so many threads are there."""
    from recalld.supervisor.pool import scripts

    broker, until = Broker(url, "recalld"), time.monotonic() + 120
    while broker.run(scripts.THERE, "threads", "", 0) < slots:
        assert time.monotonic() < until, "the workers do not come up"
        time.sleep(0.1)


# ── a row ────────────────────────────────────────────────────────────────────


def run(row: str, tasks: int, processes: int = 4, threads: int = 8, away_s: float = 60.0) -> dict[str, object]:
    """Do *tasks* with one fault in the middle; returns what it cost."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        aof = ("appendonly yes",) if row == "away-with-file" else ()
        with RedisServer(folder, *aof) as redis:
            model = Model()
            places = [Place(folder / "w", f"w{n}", tasks // 10) for n in range(10)]
            workers = Workers(folder, redis.url, model, processes, threads)
            there(redis.url, processes * threads)
            began = time.monotonic()
            host = [Host(redis.url, places)]
            pauses = Pauses(places)
            fault = threading.Thread(target=_fault, args=(row, redis, workers, host, places, away_s, tasks // 4), daemon=True)
            fault.start()
            while pauses.look() < tasks and time.monotonic() - began < away_s + 240:
                time.sleep(0.1)
            took = time.monotonic() - began
            fault.join()
            got = sum(place.results for place in places)
            host[0].die()
            workers.end()
            return {
                "row": row,
                "lost": tasks - got,
                "paid twice": model.twice,
                "pause s": round(pauses.longest, 1),
                "all done s": round(took, 1),
                "a second": round(pauses.rate(), 1),
            }


class Pauses:
    """When results came."""

    def __init__(self, places: list[Place]) -> None:
        self.places = places
        self.came: list[tuple[float, int]] = [(time.monotonic(), 0)]

    def look(self) -> int:
        now = sum(place.results for place in self.places)
        if now != self.came[-1][1]:
            self.came.append((time.monotonic(), now))
        return now

    @property
    def longest(self) -> float:
        return max((b[0] - a[0] for a, b in zip(self.came[1:], self.came[2:], strict=False)), default=0.0)

    def rate(self) -> float:
        """Results a second between the first and the last tenth."""
        most = self.came[-1][1]
        inner = [one for one in self.came if most * 0.1 <= one[1] <= most * 0.9]
        return (inner[-1][1] - inner[0][1]) / max(0.1, inner[-1][0] - inner[0][0]) if len(inner) > 1 else 0.0


ROWS = (
    "none",
    "worker-killed",
    "worker-stopped",
    "redis-killed",
    "flushed",
    "away-then-empty",
    "away-with-file",
    "frozen",
    "courier-killed",
)


#: Faults after which as many calls as a worker has threads may be paid twice: it was killed, or Redis forgot its answers.
PAID_TWICE = ("worker-killed", "redis-killed", "flushed", "away-then-empty")


def _fault(
    row: str, redis: RedisServer, workers: Workers, host: list[Host], places: list[Place], away_s: float, fault_at: int
) -> None:
    while sum(place.results for place in places) < fault_at:
        time.sleep(0.05)
    if row == "worker-killed":
        workers.processes[0].kill()
        workers.processes[0].wait()
        workers.processes[0] = workers.start()
    elif row == "worker-stopped":
        workers.processes[0].terminate()
        workers.processes[0].wait()
        workers.processes[0] = workers.start()
    elif row == "redis-killed":
        redis.kill()
        time.sleep(1)
        redis.start()
    elif row == "flushed":
        Broker(redis.url, "recalld").call("flushall")
    elif row in {"away-then-empty", "away-with-file"}:
        redis.kill()
        time.sleep(away_s)
        redis.start()
    elif row == "frozen":
        redis.freeze()
        time.sleep(away_s)
        redis.thaw()
    elif row == "courier-killed":
        host[0].die()
        for place in places:
            for name in list(place.queue.claimed()):
                place.queue.requeue(name)  # as the next supervisor does
        time.sleep(2)
        host[0] = Host(redis.url, places)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", nargs="*", default=list(ROWS))
    options.add_argument("--tasks", type=int, default=240)
    options.add_argument("--processes", type=int, default=4)
    options.add_argument("--threads", type=int, default=8)
    options.add_argument("--judge", action="store_true", help="fail where a row costs more than it may")
    options.add_argument("--away", type=float, default=60.0)
    given = options.parse_args()
    wrong = []
    for row in given.rows:
        found = run(row, given.tasks, given.processes, given.threads, given.away)
        print(json.dumps(found), flush=True)
        may_pay = given.threads if row in PAID_TWICE else 0
        if found["lost"] or int(str(found["paid twice"])) > may_pay:
            wrong.append(row)
    if given.judge and wrong:
        sys.exit(f"lost, or paid twice: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
