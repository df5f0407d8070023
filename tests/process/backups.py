"""
Backups taken while everything writes: a supervisor, its workers, two programs that append, and one that uses the drop-box.

    python -m tests.process.backups --backups 50

Each backup has to pass `backup verify` and to hold every message that was acknowledged before it began. Restored and settled, each
of its messages stands in one dated file, and the supervisor finds nothing to mend.
"""

import contextlib
import json
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.checker.checker import Acked
from tests.checker.reading import read_folder
from tests.patience import PATIENCE_S
from tests.process import forked
from tests.process.busy import Busy, judged
from tests.process.rounds import Rounds, folder_in_memory, options_of

#: What a supervisor tells of a workspace in which something was not as it should be.
ODD = frozenset({"put_back", "history_invalid", "history_restored", "file_quarantined", "message_odd", "degraded", "error"})
_PAUSE_S = 0.005


class BackedUp(Busy):
    """A workspace in which everything writes, and its backups in the same *folder*."""

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder / "workspace", seed, folder / "told")
        self.folder = folder
        self.dropped: list[Acked] = []

    @property
    def promised(self) -> list[Acked]:
        return [*self.dropped, *self.acked]

    def write(self) -> None:
        """Let one program or the other write."""
        self.feed(0.2)
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

    def backups(self, count: int) -> list[tuple[Path, list[Acked], int, float]]:
        """Make so many; of each its file, what was promised before it began, its exit code, and how long the lock was held."""
        self.supervisor = self.start("run")
        ends = time.monotonic() + PATIENCE_S
        while not self.archived and time.monotonic() < ends:  # the first run loads what makes names of files
            self.write()
        made = []
        for n in range(count):
            until = time.monotonic() + self.random.uniform(0.1, 1.0)
            while time.monotonic() < until:
                self.write()
            file, promised = self.folder / f"{n}.tar", self.promised
            with tempfile.TemporaryFile() as out:
                child = self.start("backup", "create", str(file), "--json", files=(-1, out.fileno()))
                while child.poll() is None:
                    self.write()
                out.seek(0)
                told = json.loads(out.read() or b"{}")
            made.append((file, promised, child.wait(), told.get("lockedMs", 0.0)))
        for feeder in self.feeders:
            feeder.end()
        self.supervisor.terminate()
        self.supervisor.wait()
        forked.end_orphans()
        return made

    def judge(self, file: Path, promised: list[Acked]) -> list[str]:
        """What is wrong with a backup; it is restored beside its file."""
        into = file.with_suffix("")
        wrong = []
        for words in (("backup", "verify", str(file)), ("backup", "restore", str(file), "--into", str(into))):
            code, out, err = forked.run(self.root, *words, environ=self.environ)
            wrong += [f"{words[1]} ended with {code}: {out[-500:]}{err[-500:]}"] if code or err else []
        offered = self.offered | {one.text for one in self.dropped}
        # a message of the drop-box is in its file, and in no other place that the judge knows, until it is taken in
        wrong += judged(into, [], calm=False, offered=offered)
        before, *_ = read_folder(into)
        wrong += [*forked.settle(into, self.environ), *judged(into, promised, offered=offered)]
        after, *_ = read_folder(into)
        told = (json.loads(line) for line in after["log.jsonl"][len(before.get("log.jsonl", b"")) :].splitlines())
        wrong += [f"the supervisor told of {one}" for one in told if one["event"] in ODD]
        for name, data in before.items():
            if name.startswith("memory/2"):
                kept = [other for path, other in after.items() if path == name or path.endswith(f"/{Path(name).name}")]
                wrong += [] if data in kept else [f"{name} was changed"]
        return wrong


def main() -> int:
    options = options_of("tests.process.backups", __doc__)
    options.add_argument("--backups", type=int, default=50)
    found = options.parse_args()
    forked.warm()
    forked.adopt_orphans()
    rounds = Rounds(found.log)
    with folder_in_memory("backups-") as folder:
        busy = BackedUp(folder, found.seed)
        busy.init()
        made = busy.backups(found.backups)
        for file, promised, code, _ in made:
            wrong = [f"create ended with {code}"] if code else busy.judge(file, promised)
            rounds.add(file.name, wrong, promised=len(promised))
            rounds.progress(f"{len(rounds.done)} backups judged")
            with contextlib.suppress(FileNotFoundError):
                file.unlink()
        archived = busy.archived
    locked = sorted(one for *_, one in made)
    said = f"{len(made)} backups, {len(made[-1][1])} acknowledged messages before the last, {archived} archive runs"
    print(f"{said}, lock held for {locked[len(made) // 2]:.1f} ms, {locked[-1]:.1f} at most, {rounds.end}")
    return 1 if rounds.wrong or not archived else 0


if __name__ == "__main__":
    sys.exit(main())
