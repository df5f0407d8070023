"""Workloads of the long-term file: what a write, a deletion or a new text has answered is there after any crash."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from recalld.supervisor.longterm.lines import with_line
from recalld.supervisor.longterm.long_term_file import LongTermFile
from recalld.supervisor.protocol.paths import WorkspacePaths
from tests.crash.file_workloads import Case, Honest
from tests.crash.model_disk import ModelDisk

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


CASES = (FirstLines, Lines, Overwritten, Meanwhile)
