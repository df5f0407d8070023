"""What the adversary does to the file layer: one small workload for each kind of write, and what must hold after it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, ClassVar

from recalld.supervisor.archive import quarantine
from recalld.supervisor.protocol.llm import CallLog
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.files import Files
from tests.crash.model_disk import ModelDisk

OLD, NEW, NEWER = "[旧]\n".encode(), "[新的]\n".encode(), "[更新的]\n".encode()
LINES = tuple(f"第{number}行".encode() for number in range(3))


class Honest(Files):
    """Files as they are, on the model; two programs on one disk have tokens of their own."""

    def __init__(self, disk: ModelDisk, program: str = "first") -> None:
        super().__init__(disk, token=program, pause=lambda _: None)


class Case:
    """A workload over one disk, and what must hold after any crash of it."""

    start: ClassVar[dict[str, bytes]] = {}
    #: Where temporary files may be left.
    folders: ClassVar = ("", ".recalld", "memory", "memory/originals")

    def work(self, disk: ModelDisk) -> None:
        raise NotImplementedError

    def recover(self, disk: ModelDisk) -> None:
        files = Honest(disk, "second")
        for folder in self.folders:
            files.sweep(disk.root / folder)

    def check(self, disk: ModelDisk, acks: Sequence[object]) -> list[str]:
        litter = [f"{path} is left" for path in disk.tree() if path.endswith(".tmp")]
        return litter + self.wrong(disk.tree(), list(acks))

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        raise NotImplementedError

    def started(self) -> ModelDisk:
        disk = ModelDisk()
        for path, data in self.start.items():
            disk.plant(path, data)
        return disk


class Replace(Case):
    """history.json is replaced twice, the version before kept beside it."""

    start: ClassVar = {"history.json": OLD}

    def work(self, disk: ModelDisk) -> None:
        path = disk.root / "history.json"
        files = Honest(disk)
        for data in (NEW, NEWER):
            files.replace(path, data, files.read_stable(path), path.with_name("history.json.bak"))
            disk.ack(data)

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        versions = [OLD, NEW, NEWER]
        found, kept = tree.get("history.json"), tree.get("history.json.bak")
        wrong = [] if found in versions else [f"history.json is {found!r}"]
        if found in versions and versions.index(found) < len(acks):
            wrong.append(f"history.json is {found!r}, promised was {acks[-1]!r}")
        return wrong if kept in (None, OLD, NEW) else [*wrong, f"history.json.bak is {kept!r}"]


class Create(Case):
    """A folder is made and a file in it, once."""

    def work(self, disk: ModelDisk) -> None:
        files = Honest(disk)
        files.make_folder(disk.root / "memory" / "originals")
        files.create(disk.root / "memory/originals/记.md", NEW)
        disk.ack(NEW)

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        found = tree.get("memory/originals/记.md")
        return [] if found == NEW or (found is None and not acks) else [f"记.md is {found!r} after {acks}"]


class Append(Case):
    """Lines are added, each promised once it is there; recovery adds one more."""

    start: ClassVar = {".recalld/空": b""}

    def work(self, disk: ModelDisk) -> None:
        files = Honest(disk)
        for line in LINES:
            files.append(disk.root / ".recalld/seen.jsonl", line + b"\n")
            disk.ack(line)

    def recover(self, disk: ModelDisk) -> None:
        super().recover(disk)
        Honest(disk, "second").append(disk.root / ".recalld/seen.jsonl", "恢复".encode() + b"\n")

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        found = tree.get(".recalld/seen.jsonl", b"").split(b"\n")
        return [f"{line.decode()} is not in {found}" for line in (*acks, "恢复".encode()) if line not in found]


class Move(Case):
    """A dated file goes to originals/."""

    start: ClassVar = {"memory/记.md": OLD, "memory/originals/空": b""}

    def work(self, disk: ModelDisk) -> None:
        Honest(disk).move(disk.root / "memory/记.md", disk.root / "memory/originals/记.md")
        disk.ack("moved")

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        old, new = tree.get("memory/记.md"), tree.get("memory/originals/记.md")
        if acks:
            return [] if (old, new) == (None, OLD) else [f"moved, but {old!r} and {new!r}"]
        return [] if OLD in (old, new) and {old, new} <= {OLD, None} else [f"the file is {old!r} and {new!r}"]


class Remove(Case):
    """A task is taken away."""

    start: ClassVar = {"queue/任务.json": OLD}

    def work(self, disk: ModelDisk) -> None:
        Honest(disk).remove(disk.root / "queue/任务.json")
        disk.ack("removed")

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        return ["removed, but it is there"] if acks and "queue/任务.json" in tree else []


class Quarantine(Case):
    """A damaged file is copied, twice the same and once another."""

    def work(self, disk: ModelDisk) -> None:
        files = Honest(disk)
        for data in (OLD, OLD, NEW):
            quarantine.Quarantine(files, disk.root / "memory", 10).keep("history.json", data)
            disk.ack((f"history.json.{sha256(data).hexdigest()[:12]}", data))

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        kept = {path.rpartition("/")[2]: data for path, data in tree.items()}
        lost = [f"{name} is {kept.get(name)!r}" for name, data in acks if kept.get(name) != data]
        return lost + [f"{name} is {data!r}" for name, data in kept.items() if data not in (OLD, NEW)]


class Calls(Case):
    """Calls to the model are written down before they are made, while lines of earlier days go; a day has three."""

    most: ClassVar = 3
    now: ClassVar = datetime(2026, 1, 28, 4, tzinfo=UTC)
    start: ClassVar = {".recalld/calls.jsonl": b'{"at":"2025-11-20T04:00:00.000Z"}\n' * 4096}

    def work(self, disk: ModelDisk) -> None:
        self._call(disk, "first", 2)

    def recover(self, disk: ModelDisk) -> None:
        super().recover(disk)
        self._call(disk, "second", self.most + 1)

    def _call(self, disk: ModelDisk, program: str, times: int) -> None:
        log = CallLog(Honest(disk, program), WorkspacePaths(disk.root), UTC)
        for _ in range(times):
            if log.begin(self.now, self.most):
                disk.ack("called")

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        written = tree[".recalld/calls.jsonl"].count(b"2026-01-28")
        wrong = [f"{len(acks)} calls were made"] if len(acks) > self.most else []
        return wrong if len(acks) <= written <= self.most else [*wrong, f"{len(acks)} calls, {written} written down"]


class Backup(Case):
    """The backup of a night is written and noted, and the oldest deleted: one of them is whole at any time."""

    start: ClassVar = {"周一.tar": OLD, ".recalld/backup.json": OLD}

    def work(self, disk: ModelDisk) -> None:
        files, noted = Honest(disk), disk.root / ".recalld/backup.json"
        files.create_from(disk.root / "周二.tar", (NEW, NEWER))
        files.replace(noted, NEW, files.read_stable(noted))
        disk.ack("noted")
        files.remove(disk.root / "周一.tar")

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        old, new, noted = (tree.get(name) for name in ("周一.tar", "周二.tar", ".recalld/backup.json"))
        is_right = new == NEW + NEWER if acks or noted == NEW or old is None else new in (None, NEW + NEWER)
        return [] if is_right and old in (None, OLD) and noted in (OLD, NEW) else [f"{old!r}, {new!r}, {noted!r} after {acks}"]


CASES = (Replace, Create, Append, Move, Remove, Quarantine, Calls, Backup)
