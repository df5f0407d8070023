"""What the adversary does to files beyond the pipeline: a small workload for each, and what must hold after it."""

from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from recalld.supervisor.longterm.lines import with_line
from recalld.supervisor.longterm.long_term_file import LongTermFile
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

# ── the long-term file ───────────────────────────────────────────────────────

NOW = datetime(2026, 1, 28, 4, tzinfo=UTC)
START = BOM_UTF8 + "# 记忆\r\n\r\n2026-01-20|qq|喝茶\r\n- 养猫".encode()
BY_HAND = START + "\r\n- 我自己补的一行".encode()


class LongTerm(Case):
    """
    The long-term file is changed step by step; the text after each is acknowledged, and none is ever mixed with another.

    Recovery adds one more line.
    """

    start: ClassVar = {"memory.md": START, ".recalld/空": b""}
    folders: ClassVar = ("", ".recalld", ".recalld/previous")

    def __init__(self) -> None:
        self.work(calm := self.started())
        #: Every text that the file may have, in order.
        self.versions: list[bytes | None] = [self.start.get("memory.md"), *calm.acks]

    def opened(self, disk: ModelDisk, program: str = "first") -> LongTermFile:
        return LongTermFile(Honest(disk, program), WorkspacePaths(disk.root), UTC)

    def steps(self, disk: ModelDisk) -> Sequence[Callable[[LongTermFile], object]]:
        raise NotImplementedError

    def work(self, disk: ModelDisk) -> None:
        for step in self.steps(disk):
            step(self.opened(disk))
            disk.ack(disk.tree()["memory.md"])

    def recover(self, disk: ModelDisk) -> None:
        super().recover(disk)
        self.opened(disk, "second").append("system", "恢复", NOW)

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        found = tree.get("memory.md")
        matching = [n for n, version in enumerate(self.versions) if found == recovered(version)]
        if not matching:
            return [f"memory.md is {found!r}"]
        return [] if matching[-1] >= len(acks) else [f"memory.md is that of step {matching[-1]}, {len(acks)} were acknowledged"]


def recovered(version: bytes | None) -> bytes:
    data = version or b""
    mark = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    return mark + with_line(data.removeprefix(BOM_UTF8).decode(), "2026-01-28|system|恢复").encode()


class FirstLines(LongTerm):
    """Lines are written where no file is."""

    start: ClassVar = {".recalld/空": b""}

    def steps(self, disk):
        return [lambda file, n=n: file.append("web-chat", f"第{n}条", NOW) for n in range(2)]


class Lines(LongTerm):
    """Lines are written to a person's file and deleted from it."""

    def steps(self, disk):
        return [
            lambda file: file.append("web-chat", "用户对花生过敏", NOW),
            lambda file: file.delete([file.read().lines[1].ref]),
            lambda file: file.append("telegram", "部署放到周五", NOW),
        ]


class Overwritten(LongTerm):
    """The whole text is replaced; the old one is kept from before it is gone."""

    def steps(self, disk):
        return [lambda file: file.append("qq", "明天搬家", NOW), lambda file: file.replace("- 只剩这一行\n")]

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        found = super().wrong(tree, acks)
        is_replaced = tree.get("memory.md") == recovered(self.versions[-1])
        kept = [data for path, data in tree.items() if path.startswith(".recalld/previous/")]
        return [*found, "the old text is not kept"] if is_replaced and self.versions[1] not in kept else found


class Meanwhile(LongTerm):
    """An editor saves by rename between the reading and the writing of a change."""

    def steps(self, disk):
        saved: list[bytes] = []

        def step(file: LongTermFile) -> None:
            def rule(text: str) -> str:
                if not saved:
                    saved.append(BY_HAND)
                    disk.plant("memory.md", BY_HAND)
                    disk.ack(BY_HAND)
                return with_line(text, "程序的一行")

            file.change(rule)

        return [step]


LONG_TERM = (FirstLines, Lines, Overwritten, Meanwhile)
