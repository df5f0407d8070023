"""What the adversary does to files beyond the pipeline: a small workload for each, and what must hold after it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from recalld.supervisor.protocol.llm import CallLog
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.files import Files
from tests.crash.model_disk import ModelDisk

OLD, NEW, NEWER = "[旧]\n".encode(), "[新的]\n".encode(), "[更新的]\n".encode()


class Honest(Files):
    """Files as they are, on the model; two programs on one disk have tokens of their own."""

    def __init__(self, disk: ModelDisk, program: str = "first") -> None:
        super().__init__(disk, token=program, pause=lambda _: None)


class Case:
    """A workload over one disk, and what must hold after any crash of it."""

    start: ClassVar[dict[str, bytes]] = {}
    #: Where temporary files may be left.
    folders: ClassVar = ("", ".recalld")

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


CASES = (Calls, Backup)
