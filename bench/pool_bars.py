"""
Which bars the pool of workers reaches, with a real redis-server: throughput and what a task costs, a rate, a cap, sealing.

    python -m bench.pool_bars                          every bar, a JSON object each
    python -m bench.pool_bars throughput --slots 64    64 calls at once, in processes of eight threads

Throughput and processor are those between the first and the last tenth of the tasks. On a machine that is busy the processor's
milliseconds say more than the tasks a second. What a fault costs is shown by `bench.pool`.
"""

from __future__ import annotations

# ruff: noqa: E402 - the path of imports comes first
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # its own folder has an http.py

import argparse
import json
import os
import statistics
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from bench.pool import KEY, Host, Model, Pauses, Place, Workers, there
from bench.served import processor_s
from bench.talk import talk
from recalld.supervisor.pool.cargo import Contents, Reserve, Seal, packed, unpacked
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.task import Task
from recalld.supervisor.storage.clock import from_wire, to_wire, utc_now
from tests.pool.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

THREADS: Final = 8
#: A minute's requests of the rate, and the calls of the cap.
RATE: Final = 480
CAP: Final = 100
_WINDOW_S: Final = 10.0
#: Messages of 300 KB.
_SAID: Final = 2_000


class Bench:
    """A redis-server, workers, and a host with ten workspaces that has so many tasks for them."""

    def __init__(self, folder: Path, redis: RedisServer, model: Model, processes: int, tasks: int, limits: str) -> None:
        assert redis.process
        self.model, self.tasks = model, tasks
        self.places = [Place(folder / "w", f"w{n}", tasks // 10) for n in range(10)]
        self.workers = Workers(folder, redis.url, model, processes, THREADS, limits)
        there(redis.url, processes * THREADS)
        self.redis, self.pids = redis.process.pid, [one.pid for one in self.workers.processes]
        self.host = Host(redis.url, self.places)
        self.results = Pauses(self.places)

    def wait(self, tasks: float) -> None:
        """Wait until so many tasks are done."""
        while self.results.look() < tasks:
            time.sleep(0.02)

    def spent(self) -> tuple[float, float, float]:
        """Processor seconds of the workers, of Redis, and of this process: the courier and the model's server."""
        return sum(map(processor_s, self.pids)), processor_s(self.redis), time.process_time()


@contextmanager
def _bench(processes: int, tasks: int, model: Model, limits: str = "") -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as folder, RedisServer(Path(folder)) as redis:
        bench = Bench(Path(folder), redis, model, processes, tasks, limits)
        try:
            yield bench
        finally:
            bench.host.die()
            bench.workers.end()


def throughput(slots: int) -> dict[str, Any]:
    """B1 to B3: of ideal, processor of workers and Redis a task, memory of a worker."""
    tasks, ideal = 10 * slots, slots / 0.75
    with _bench(slots // THREADS, tasks, Model()) as bench:
        bench.wait(tasks / 10)
        before = bench.spent()
        bench.wait(0.9 * tasks)
        spent = [1000 * (b - a) / (0.8 * tasks) for a, b in zip(before, bench.spent(), strict=True)]
        memory = [_shared_mb(pid) for pid in bench.pids]
        bench.wait(tasks)
        rate = bench.results.rate()
    workers, redis, rest = (round(one, 1) for one in spent)
    return {
        "bar": "throughput",
        "slots": slots,
        "a second": round(rate, 1),
        "ideal": round(ideal, 1),
        "percent": round(100 * rate / ideal),
        "worker ms": workers,
        "redis ms": redis,
        "courier and model server ms": rest,
        "worker MB": round(statistics.mean(memory)),
        "load": round(os.getloadavg()[0]),
    }


def rate() -> dict[str, Any]:
    """B9: the most calls within ten seconds, where a rate is set."""
    tasks = RATE // 5 + RATE // 6 + RATE // 6
    tasks += -tasks % 10
    with _bench(4, tasks, Model(0.05, 0.1), f"requests_per_minute = {RATE}\n") as bench:
        bench.wait(tasks)
    times = sorted(bench.model.times)
    most = max(sum(at <= other < at + _WINDOW_S for other in times) for at in times)
    return {"bar": "rate", "calls": len(times), "most in 10 s": most, "allowed": round(RATE * _WINDOW_S / 60) + RATE // 5}


def cap() -> dict[str, Any]:
    """B9: the calls of a day, where a cap is set and twice as many tasks wait."""
    with _bench(4, 2 * CAP, Model(0.05, 0.1), f"calls_per_day = {CAP}\n") as bench:
        bench.wait(CAP)
        until = time.monotonic() + _WINDOW_S
        while time.monotonic() < until:
            bench.results.look()
            time.sleep(0.1)
        return {"bar": "cap", "cap": CAP, "calls": len(bench.model.times), "results": bench.results.look()}


def sealing() -> dict[str, Any]:
    """B10: 300 KB packed and sealed, and opened."""
    said = [(str(one["text"]), from_wire(str(one["createdAt"]))) for one in talk(_SAID, 1)]
    blocks = tuple(Block(f"m{n}", "user", text, at, {}) for n, (text, at) in enumerate(said))
    day = "2026-01-01"
    task = Task(id=f"day-{day}-0", kind="daily-summary", group=f"day-{day}", period=day, zone="UTC", sources=(), material=())
    reserve = Reserve(calls=1, at=to_wire(utc_now()))
    contents, seal = Contents(task=task, host="bench", profile="default", reserve=reserve, blocks=blocks), Seal([KEY])
    sealed = seal.seal("cargo", "w.1", packed(contents))
    ways: dict[str, Callable[[], object]] = {
        "sealed ms": lambda: seal.seal("cargo", "w.1", packed(contents)),
        "opened ms": lambda: unpacked(seal.unseal("cargo", "w.1", sealed)),
    }
    took = {name: round(statistics.median(_ms(act) for _ in range(30)), 1) for name, act in ways.items()}
    size = sum(len(one.text.encode()) for one in blocks)
    return {"bar": "sealing", "KB": round(size / 1024), "sealed KB": round(len(sealed) / 1024), **took}


def _ms(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return 1000 * (time.process_time() - began)


def _shared_mb(pid: int) -> float:
    """Memory of a process, in which what it shares with others counts by its share."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def main() -> None:
    """Measure, and print a line a bar."""
    bars: dict[str, Callable[[], dict[str, Any]]] = {"rate": rate, "cap": cap, "sealing": sealing}
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("bars", nargs="*", default=["throughput", *bars], help=f"of throughput, {', '.join(bars)}")
    options.add_argument("--slots", type=int, nargs="*", default=[8, 32, 64], help="calls at once")
    given = options.parse_args()
    for name in given.bars:
        for found in map(throughput, given.slots) if name == "throughput" else [bars[name]()]:
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
