"""
Hostile archives for `backup verify` and `restore`, and for the reader of vectors: ``python -m tests.fuzz.archives --cases 10000``.

Each case may take ten seconds of the processor and leaves its process, which does five hundred, below 300 MB. Prints the counts, the
slowest case and the largest process; what fails, by its seed, ends the run with 1.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import multiprocessing
import random
import resource
import shutil
import signal
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from recalld.supervisor.checks import backup
from recalld.supervisor.recall.meaning import Near
from recalld.supervisor.recall.vectors import VectorStore
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import SupervisorError
from recalld.supervisor.storage.files import Files
from tests.fuzz.mutate import mutated
from tests.world import World, at, message

MOST_S: Final = 10.0
MOST_BYTES: Final = 300 << 20
_PART: Final = 500
_NOW: Final = at("2026-01-31T10:00")
_BLOCK: Final = 512
#: The name of a file of the model "model".
_VECTORS: Final = f"{hashlib.sha256(b'model').hexdigest()[:16]}-8.vectors"
_SIZES: Final = (
    b"-0000001000\0", b"\xff" * 10 + b"\xfe\0", b"\x80" + b"\xff" * 11, b"77777777777\0", b"00000000000\0", b" " * 12, b"0000000_010\0", b"\0" * 12,
)  # fmt: skip
_TYPES: Final = b"0\0001234567xgLKSVMNDX"
_RECORDS: Final = (
    b"20 size=-0000000512\n", b"30 size=99999999999999999999\n", b"0 path=a\n", b"99999 path=a\n", b"12 path=../a\n", b"11 path=a\0\n",
    b"29 GNU.sparse.numblocks=9999\n", b"25 GNU.sparse.map=0,9,9,9\n", b"22 hdrcharset=BINARY\n",
)  # fmt: skip


def _resummed(block: bytes) -> bytes:
    blank = block[:148] + b" " * 8 + block[156:]
    return blank[:148] + b"%06o\0 " % sum(blank) + blank[156:]


def _headers(data: bytes) -> list[int]:
    return [at for at in range(0, len(data) - _BLOCK + 1, _BLOCK) if data[at + 257 : at + 262] == b"ustar"]


def hostile_tar(data: bytes, pick: random.Random) -> bytes:
    """Return the backup with something done to its headers, which have right sums again, or to any bytes."""
    for _ in range(pick.choice((1, 1, 2, 5))):
        places = _headers(data)
        at = pick.choice(places) if places else 0
        block, rest = bytearray(data[at : at + _BLOCK].ljust(_BLOCK, b"\0")), data[at + _BLOCK :]
        match pick.randrange(8):
            case 0:
                block[124:136] = pick.choice(_SIZES)
            case 1:
                block[156] = pick.choice(_TYPES)
            case 2:
                records = pick.choice(_RECORDS) * pick.choice((1, 1, 50, 5_000))
                head = tarfile.TarInfo("x")
                head.type, head.size = pick.choice((b"x", b"x", b"g", b"L")), pick.choice((len(records), len(records), 1 << 40))
                block[:] = head.tobuf(tarfile.GNU_FORMAT)[:_BLOCK] + records + bytes(-len(records) % _BLOCK) + block
            case 3:
                name = pick.choice((b"a/", "深/".encode(), b"../", b"/")) * pick.choice((1, 16, 50))
                block[:100] = name[:99].ljust(100, b"\0")
            case 4:
                rest = bytes(block) * pick.choice((1, 100, 2_000)) + rest
            case 5:
                data = _many_folders(pick)
                continue
            case _:
                data = mutated(data, pick)
                continue
        data = data[:at] + _resummed(bytes(block[:_BLOCK])) + bytes(block[_BLOCK:]) + rest
    return data


def _many_folders(pick: random.Random) -> bytes:
    """A backup that is right but for paths of folders in folders, as many as its size allows."""
    depth, files = pick.choice((10, 60, 64, 65, 2_000, 40_000)), pick.choice((1, 8, 60))
    names = [f"{n}/" + "a/" * depth + "x" for n in range(files)]
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    listed = [{"path": name, "size": 0, "sha256": empty, "mtime_ns": 0, "executable": False} for name in names]
    text = json.dumps({"recalld": 1, "createdAt": "2026-01-28T04:00:00.000Z", "madeBy": "", "files": listed}).encode()
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, body in [*((name, b"") for name in names), ("recalld-backup.json", text)]:
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return file.getvalue()


def case(seed: int, tar: bytes, held: bytes, place: Path) -> None:
    """Give the readers one archive; any error but a sentence of recalld goes up."""
    pick = random.Random(seed)
    if seed % 10 == 0:
        file = place / "vectors" / _VECTORS
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(mutated(held, pick))
        store = VectorStore(Files(RealDisk()), place / "vectors", place / "lock", "model")
        asked = np.ones(8, np.float32)
        if table := store.table():
            Near(table, asked, None, 1.0).worth([1, 2])
        return
    file = place / "一.tar"
    file.write_bytes(hostile_tar(tar, pick))
    for attempt in (lambda: backup.verify(file, {}, lambda: _NOW), lambda: backup.restore(file, place / "新")):
        try:
            attempt()
        except SupervisorError:
            continue
    left = {one.name for one in place.iterdir()} - {"一.tar", "新", "vectors", "lock"}
    assert not left, left
    shutil.rmtree(place / "新", ignore_errors=True)


def bases(place: Path) -> tuple[bytes, bytes]:
    """Return a backup of a small workspace, and a file of vectors."""
    world = World(place / "记忆", _NOW)
    world.write([message(str(n), f"2026-01-{20 + n}T09:00") for n in range(6)])
    world.settle()
    (world.root / "memory" / f"{'长' * 60}.md").write_text("一条笔记\n" * 50)
    backup.create(world.ws, place / "好.tar", _NOW, "recalld")
    store = VectorStore(world.files, place / "好", place / "锁", "model")
    store.add(range(20), np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32))
    (held,) = (place / "好").iterdir()
    return (place / "好.tar").read_bytes(), held.read_bytes()


def _late(*_: object) -> None:
    raise AssertionError(f"it hangs: after {MOST_S:g} s of work it has not ended")


def part(seeds: range, tar: bytes, held: bytes, told: Any) -> None:
    """Do the cases, and tell what failed, the seconds of the slowest and the bytes of this process at its largest."""
    signal.signal(signal.SIGPROF, _late)
    faults, slowest = [], 0.0
    before = first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # that of the process that began this one
    memory = Path("/dev/shm")
    tempfile.tempdir = str(memory) if memory.is_dir() else None  # that of `verify`, too: a case is its work, not its fsyncs
    with tempfile.TemporaryDirectory(prefix="archives-") as name:
        for seed in seeds:
            began = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, MOST_S)
            try:
                case(seed, tar, held, Path(name))
            except BaseException as error:  # a case may raise anything
                faults.append(f"seed {seed}: {type(error).__name__}: {error}"[:300])
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            slowest = max(slowest, time.process_time() - began)
            largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            if largest > before and largest << 10 > MOST_BYTES:
                faults.append(f"seed {seed}: the process has {largest >> 10} MB")
                before = largest
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told.send((faults, slowest, largest << 10 if largest > first else 0))


def run(cases: int, first: int = 0) -> tuple[list[str], float, int]:
    """Do the cases, each part in a process of its own; return what failed, the slowest case and the largest process."""
    faults, slowest, largest = list[str](), 0.0, 0
    forked = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="archives-") as name:
        made = bases(Path(name))
        for start in range(first, first + cases, _PART):
            ours, theirs = forked.Pipe(duplex=False)
            process = forked.Process(target=part, args=(range(start, min(start + _PART, first + cases)), *made, theirs))
            process.start()
            theirs.close()
            try:
                found = ours.recv()
            except EOFError:
                found = ([f"seeds from {start}: the process ended"], 0.0, 0)
            process.join()
            faults, slowest, largest = faults + found[0], max(slowest, found[1]), max(largest, found[2])
    return faults, slowest, largest


def main(argv: list[str] | None = None) -> int:
    """Run the cases; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.archives", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1, help="where the cases begin: another number, other cases")
    options = parser.parse_args(argv)
    faults, slowest, largest = run(options.cases, options.seed * 1_000_000)
    print(*faults, f"{options.cases:,} archives, slowest {slowest:.1f} s, largest process {largest >> 20} MB", sep="\n")
    print(f"{len(faults)} violations")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
