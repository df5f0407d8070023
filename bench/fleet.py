"""
What a fleet costs, and how soon it works.

    python -m bench.fleet --dormant 5000 --open 300 --days 60 --rate 20 --seconds 30

One shard over made-up workspaces in a temporary folder: empty ones, and some with so many days of talk that are then used, all in one fleet. Memory is
the shard's own (unique) memory, at a tenth of the empty ones and at all of them, so that the cost of one is their difference; the time to a durable
round goes from a message in history.json to its line in the journal; `inject` goes through the socket of the fleet and of a `recalld run` in turn.
Messages come once the shard is calm. Two JSON objects.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.served import processor_s
from bench.talk import write_history
from recalld.supervisor.fleet.settings import FleetPaths
from recalld.supervisor.interfaces.fleet import ask_fleet
from recalld.supervisor.interfaces.socket_client import SupervisorClient
from recalld.supervisor.protocol.making import make_workspace
from recalld.supervisor.storage.clock import to_wire, utc_now

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The processor seconds in five of a shard in which nothing happens.
_CALM_S = 0.3
_SETTINGS = {"SHARDS": "1", "WARM_UP": "0s"}


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("dormant", 1000), ("open", 100), ("days", 0), ("rate", 10), ("seconds", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recalld-fleet-") as folder:
        print(json.dumps({"load": os.getloadavg()[0], **_dormant(Path(folder), asked.dormant)}, indent=1), flush=True)
        print(json.dumps(_open(Path(folder), asked), indent=1))


def _dormant(folder: Path, count: int) -> dict[str, Any]:
    few, many = folder / "few", folder / "many"
    _make(few, "user", count // 10)
    _make(many, "user", count)
    sizes = []
    for root in (few, many):
        began_s = time.monotonic()
        with _fleet(root, OPEN="10", INDEXES="10") as shard:
            held_s = time.monotonic() - began_s
            _until(lambda root=root: _shard(root).get("open", 11) <= 10)
            idle_s = processor_s(shard)
            time.sleep(20)
            idle = (processor_s(shard) - idle_s) / 20
            sizes.append(_own_kb(shard))
            last = {"allHeldAfterS": round(held_s, 1), "idleCorePercent": round(100 * idle, 2), **_handles(shard)}
    each = (sizes[1] - sizes[0]) / (count - count // 10)
    return {"dormant": count, "shardMb": round(sizes[1] / 1024, 1), "kbEach": round(each, 2), **last}


def _open(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    root, alone = folder / "many", folder / "alone"
    _make(root, "open", asked.open, asked.days)
    shutil.copytree(root / "open-0", alone / "open-0")
    with _fleet(root, OPEN=str(asked.open), INDEXES=str(asked.open)) as shard, _supervised(alone / "open-0") as single:
        names = [root / f"open-{n}" for n in range(asked.open)]
        for name in names:
            _until(lambda name=name: _injected(name))
        _until(lambda: _is_calm(shard))
        waits: list[float] = []
        threads = []
        busy_s, began_s = processor_s(shard), time.monotonic()
        for n in range(asked.rate * asked.seconds):
            threads.append(threading.Thread(target=_say, args=(names[n % len(names)], n, waits)))
            threads[-1].start()
            time.sleep(max(0.0, began_s + (n + 1) / asked.rate - time.monotonic()))
        for thread in threads:
            thread.join()
        busy_s, took_s = processor_s(shard) - busy_s, time.monotonic() - began_s
        waits.sort()
        took: dict[str, list[float]] = {"fleet": [], "single": []}
        for n in range(60):
            for kind, place in (("fleet", names[n % min(5, len(names))]), ("single", single)):
                if ms := _injected(place):
                    took[kind].append(ms)
        found = {"openNow": _shard(root)["open"], "openMb": round(_own_kb(shard) / 1024, 1), **_handles(shard)}
    found |= {
        "messages": len(waits),
        "roundMs": round(statistics.median(waits)),
        "roundMs99": round(waits[int(0.99 * len(waits))]),
        "corePercent": round(100 * busy_s / took_s, 1),
        "processorMsEach": round(1000 * busy_s / len(waits), 1),
        "injected": {kind: len(ms) for kind, ms in took.items()},
        "injectMs": {kind: round(statistics.median(ms[10:]), 1) for kind, ms in took.items()},
    }
    return {"load": os.getloadavg()[0], **found}


def _injected(place: Path) -> float:
    """Return the milliseconds of an `inject` over the socket; 0.0 where no answer came in its time."""
    began_s = time.monotonic()
    found = SupervisorClient(str(place), {}, 30.0).ask("inject", {"question": "花生过敏"}) or {}
    return 1000 * (time.monotonic() - began_s) if "answer" in found else 0.0


def _make(root: Path, name: str, count: int, days: int = 0) -> None:
    """Make workspaces with so many days of talk, 20 messages a day."""
    environ = {**os.environ, "RECALLD_ARCHIVE_TIMEZONE": "Asia/Shanghai"}
    first = root / f"{name}-0"
    root.mkdir(exist_ok=True)
    make_workspace(first, environ)
    if days:
        write_history(first / "history.json", 20 * days, days)
        archive = [sys.executable, "-m", "recalld", "-w", str(first), "run", "--until-settled"]
        subprocess.run(archive, env=environ, stdout=subprocess.DEVNULL, check=True)
    for n in range(1, count):
        shutil.copytree(first, root / f"{name}-{n}")


def _say(workspace: Path, number: int, waits: list[float]) -> None:
    """Add a message as another program does, and wait until the journal has it."""
    history, seen, identity = workspace / "history.json", workspace / ".recalld/seen.jsonl", f"m{number}"
    said = json.loads(history.read_text(encoding="utf-8"))
    said.append({"id": identity, "role": "user", "text": f"第 {number} 句：我对花生过敏。", "createdAt": to_wire(utc_now())})
    temporary = workspace / f".{identity}.tmp"
    temporary.write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
    began_s = time.monotonic()
    size = seen.stat().st_size if seen.exists() else 0
    temporary.replace(history)
    _until(lambda: f'"{identity}"'.encode() in _added(seen, size), step_s=0.005)
    waits.append(1000 * (time.monotonic() - began_s))


def _added(path: Path, size: int) -> bytes:
    """Return what a file has beyond its former size: to read the whole of it 200 times a second would take a core."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        file.seek(size if size <= os.fstat(file.fileno()).st_size else 0)
        return file.read()
    return b""


def _is_calm(shard: int) -> bool:
    """Return whether the shard has done in five seconds what its workspaces need when they are opened: indexes."""
    before_s = processor_s(shard)
    time.sleep(5)
    return processor_s(shard) - before_s < _CALM_S


@contextlib.contextmanager
def _fleet(root: Path, **settings: str) -> Iterator[int]:
    variables = {f"RECALLD_FLEET_{key}": value for key, value in {**_SETTINGS, **settings}.items()}
    command = [sys.executable, "-m", "recalld", "fleet", "--root", str(root)]
    process = subprocess.Popen(command, env={**os.environ, **variables}, stdout=subprocess.DEVNULL)
    count = len([one for one in root.iterdir() if not one.name.startswith(".")])
    try:
        _until(lambda: _shard(root).get("held") == count)
        yield _shard(root)["pid"]
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def _supervised(root: Path) -> Iterator[Path]:
    process = subprocess.Popen([sys.executable, "-m", "recalld", "-w", str(root), "run"], stdout=subprocess.DEVNULL)
    try:
        _until((root / ".recalld/socket").exists)
        yield root
    finally:
        process.terminate()
        process.wait()


def _shard(root: Path) -> dict[str, Any]:
    return next(iter((ask_fleet(FleetPaths(root)) or {"shards": []})["shards"]), {})


def _until(holds: Any, step_s: float = 0.2) -> None:
    while not holds():
        time.sleep(step_s)


def _handles(pid: int) -> dict[str, int]:
    handles = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            handles.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    inotify = sum("inotify" in one for one in handles)
    return {"descriptors": len(handles), "inotify": inotify, "threads": len(os.listdir(f"/proc/{pid}/task"))}


def _own_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))


if __name__ == "__main__":
    main()
