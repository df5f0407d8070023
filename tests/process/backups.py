"""
Backups taken while everything writes: a supervisor, its workers, two programs that append, and one that uses the drop-box.

    python -m tests.process.backups --backups 50

Each backup has to pass `backup verify` and to hold every message that was acknowledged before it began. Restored and settled, each
of its messages stands in one dated file, and the supervisor finds nothing to mend. The checker shares no code with the product.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.checker.checker import Acked, Given, check
from tests.checker.reading import read_folder
from tests.patience import PATIENCE_S
from tests.process import forked
from tests.process.feeder import Feeder
from tests.process.rounds import Rounds, folder_in_memory, options_of
from tests.process.storm import HURRY

#: What a supervisor tells of a workspace in which something was not as it should be.
ODD = frozenset(
    {"put_back", "history_invalid", "history_restored", "file_quarantined", "message_odd", "copy_found", "degraded", "error"}
)
_PAUSE_S = 0.005


class Busy:
    """A workspace in which everything writes."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.environ = forked.plain_environ(**HURRY)
        self.feeders = [
            Feeder(f"feeder-{n}", random.Random(f"{seed}-{n}"), lambda files: self._start(("append", "--jsonl"), files))
            for n in range(2)
        ]
        self.dropped: list[Acked] = []

    def _start(self, words: Sequence[str], files: Sequence[int] = ()) -> Any:
        return forked.Child(forked.command(self.root, *words), self.environ, [*map(os.dup, files)])

    @property
    def acked(self) -> list[Acked]:
        """What is promised by now."""
        for feeder in self.feeders:
            feeder.collect()
        return [*self.dropped, *(one for feeder in self.feeders for one in feeder.acked)]

    @property
    def archived(self) -> int:
        """How many archive runs there were."""
        return (self.root / "log.jsonl").read_bytes().count(b'"archived"') if (self.root / "log.jsonl").exists() else 0

    def write(self) -> None:
        """Let one program or the other write."""
        for feeder in self.feeders:
            if self.random.random() < 0.2:
                feeder.feed()
        if self.random.random() < 0.05:
            text, at = f"掉进来的第 {len(self.dropped)} 句", datetime.now(UTC).isoformat(timespec="milliseconds")
            one = Acked(f"drop-{len(self.dropped)}", text, at.replace("+00:00", "Z"), "user")
            message = {"id": one.id, "role": one.role, "text": one.text, "createdAt": one.created_at}
            other = self.root / f"{one.id}.part"
            other.write_text(json.dumps(message, ensure_ascii=False), encoding="utf-8")
            other.chmod(0o600)
            other.rename(self.root / "inbox.d" / "new" / f"{one.id}.json")
            self.dropped.append(one)
        time.sleep(_PAUSE_S)

    def backups(self, count: int, place: Path) -> list[tuple[Path, list[Acked], int, float]]:
        """Make so many; of each its file, what was promised before it began, its exit code, and how long the lock was held."""
        supervisor = self._start(("run",))
        ends = time.monotonic() + PATIENCE_S
        while not self.archived and time.monotonic() < ends:  # the first run loads what makes names of files
            self.write()
        made = []
        for n in range(count):
            until = time.monotonic() + self.random.uniform(0.1, 1.0)
            while time.monotonic() < until:
                self.write()
            file, promised = place / f"{n}.tar", self.acked
            with tempfile.TemporaryFile() as out:
                child = self._start(("backup", "create", str(file), "--json"), [os.open(os.devnull, os.O_RDONLY), out.fileno()])
                while child.poll() is None:
                    self.write()
                out.seek(0)
                told = json.loads(out.read() or b"{}")
            made.append((file, promised, child.wait(), told.get("lockedMs", 0.0)))
        for feeder in self.feeders:
            feeder.end()
        supervisor.terminate()
        supervisor.wait()
        forked.end_orphans()
        return made

    def judge(self, file: Path, promised: list[Acked]) -> list[str]:
        """What is wrong with a backup; it is restored beside its file."""
        into = file.with_suffix("")
        wrong = []
        for words in (("backup", "verify", str(file)), ("backup", "restore", str(file), "--into", str(into))):
            code, out, err = forked.run(self.root, *words, environ=self.environ)
            wrong += [f"{words[1]} ended with {code}: {out[-500:]}{err[-500:]}"] if code or err else []
        offered = {text for feeder in self.feeders for text in feeder.offered} | {one.text for one in self.dropped}
        given = {"offered": offered}
        files, modes, outside = read_folder(into)
        began = len(files.get("log.jsonl", b""))
        # a message of the drop-box is in its file, and in no other place that the judge knows, until it is taken in
        wrong += list(check(files, [], Given.of_writers(datetime.now(UTC), "Asia/Shanghai", calm=False, **given), modes))
        code, _, err = forked.run(into, "run", "--until-settled", environ=self.environ)
        wrong += [f"run ended with {code}: {err[-500:]}"] if code or err else []
        settled, modes, _ = read_folder(into)
        wrong += check(settled, promised, Given.of_writers(datetime.now(UTC), "Asia/Shanghai", **given), modes)
        told = (json.loads(line) for line in settled["log.jsonl"][began:].splitlines())
        wrong += [f"the supervisor told of {one}" for one in told if one["event"] in ODD]
        for name, data in files.items():
            if name.startswith("memory/2"):
                kept = (settled.get(name), *(other for path, other in settled.items() if path.endswith(f"/{Path(name).name}")))
                wrong += [] if data in kept else [f"{name} was changed"]
        return [*outside, *wrong]


def main() -> int:
    options = options_of("tests.process.backups", __doc__)
    options.add_argument("--backups", type=int, default=50)
    found = options.parse_args()
    forked.warm()
    forked.adopt_orphans()
    rounds = Rounds(found.log)
    with folder_in_memory("backups-") as folder:
        busy = Busy(folder / "workspace", found.seed)
        forked.run(busy.root, "init", environ=busy.environ)
        made = busy.backups(found.backups, folder)
        for file, promised, code, _ in made:
            wrong = [f"create ended with {code}"] if code else busy.judge(file, promised)
            rounds.add(file.name, wrong, promised=len(promised))
            rounds.progress(f"{len(rounds.done)} backups judged")
            with contextlib.suppress(FileNotFoundError):
                file.unlink()
        archived = busy.archived
    most, all_of_them = max(locked for *_, locked in made), sorted(locked for *_, locked in made)
    said = f"{len(made)} backups, {len(made[-1][1])} acknowledged messages before the last, {archived} archive runs"
    print(f"{said}, lock held for {all_of_them[len(made) // 2]:.1f} ms, {most:.1f} at most, {rounds.end}")
    return 1 if rounds.wrong or not archived else 0


if __name__ == "__main__":
    sys.exit(main())
