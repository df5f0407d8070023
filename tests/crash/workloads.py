"""What recalld does over months, in small: each workload is one thing that happens, from a settled disk on."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from supervisor.protocol.clock import from_wire, to_wire
from tests.checker.checker import Acked
from tests.crash.model_disk import ModelDisk
from tests.crash.program import Program
from tests.crash.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.crash.state import State


_NOVEMBER = ("2025-11-20T13:00:00.000Z", (("2025-11-20T02:00:00.000Z", "十一月去了苏州，住在平江路。"),))
_DECEMBER = (
    "2025-12-20T13:00:00.000Z",
    (
        ("2025-12-10T02:00:00.000Z", "服务器搬到了 10.0.0.7。"),
        ("2025-12-10T02:05:00.000Z", "记下了：10.0.0.7。"),
        ("2025-12-18T16:30:00.000Z", "上海已经是十九日了。"),
    ),
)
_JANUARY = ("2026-01-20T13:00:00.000Z", (("2026-01-20T02:00:00.000Z", "周二交报告。"), ("2026-01-20T02:01:00.000Z", "好的。")))


class Archive(Workload):
    """A first talk of three days goes to its dated files; one day is old already."""

    def happen(self, life: Program) -> None:
        life.append("一", "明天部署 v2 到生产环境。", "2026-01-27T02:00:00.000Z")
        life.append("二", "记住了。\n\n```\nv2\n", "2026-01-27T02:00:05.000Z", "assistant")
        life.append("三", "今天部署好了。", "2026-01-28T02:00:00.000Z", session="终端")
        life.append("四", "上周三说过的话。", "2026-01-21T02:00:00.000Z")


class Revision(Workload):
    """Messages come again after the first were settled, and one that is written is said in other words."""

    def happen(self, life: Program) -> None:
        life.append("一", "先说一句。", "2026-01-27T02:00:00.000Z")
        life.settle("2026-01-27T13:00:00.000Z")
        life.append("二", "再说一句。", "2026-01-27T14:00:00.000Z")
        life.revise("一", "先说一句，说完了。")


class DayRipens(Workload):
    """A day of last week is summarised, and its file goes to originals/."""

    before: ClassVar = (_JANUARY,)


class MonthCloses(Workload):
    """December has dailies; in February it becomes one monthly summary."""

    now: ClassVar = "2026-02-01T12:00:00.000Z"
    before: ClassVar = (_DECEMBER, ("2025-12-30T13:00:00.000Z", ()))


class LateInDay(Workload):
    """A message of a day that is summarised already."""

    before: ClassVar = (_JANUARY, ("2026-01-27T13:00:00.000Z", ()))

    def happen(self, life: Program) -> None:
        life.append("迟", "那天还说了这句。", "2026-01-20T09:00:00.000Z")


class LateInMonth(Workload):
    """Messages of a month that is closed already, told by a model: the text that stands is continued."""

    now: ClassVar = "2026-02-03T12:00:00.000Z"
    extract: ClassVar = False
    settings: ClassVar = (("RECALLD_LLM_MODEL", "小模型"),)
    before: ClassVar = (_NOVEMBER, _DECEMBER, ("2026-02-02T13:00:00.000Z", ()))

    def happen(self, life: Program) -> None:
        life.append("迟一", "十二月还有一句。", "2025-12-10T09:00:00.000Z")
        life.append("迟二", "十二月别的日子。", "2025-12-11T09:00:00.000Z")


class Trim(Workload):
    """history.json is over its caps: the oldest written messages leave, and no others."""

    settings: ClassVar = (
        ("RECALLD_HISTORY_SOFT_CAP", "4"),
        ("RECALLD_HISTORY_HARD_CAP", "6"),
        ("RECALLD_ARCHIVE_KEEP_NEWEST", "2"),
    )
    before: ClassVar = (_JANUARY,)

    def happen(self, life: Program) -> None:
        life.append("先", "先说的话。", "2026-01-28T11:40:00.000Z")
        life.settle("2026-01-28T11:55:00.000Z")
        for n in range(7):
            life.append(f"多{n}", f"第 {n} 句话。", f"2026-01-28T11:5{n}:00.000Z", "user" if n % 2 else "assistant")
        # too much for any cap, but a run was a moment ago: what is not written may not leave
        life.round(from_wire(self.now), "due")

    def judge(self, disk: ModelDisk, acks: Sequence[object]) -> list[str]:
        count = len(json.loads(disk.tree().get("history.json", b"[]")))
        return super().judge(disk, acks) + ([f"history.json holds {count} messages"] if count > 4 else [])


class Failure(Workload):
    """The worker fails once; half an hour later it is tried again."""

    fails: ClassVar = 1
    before: ClassVar = (_JANUARY,)

    def work(self, disk: ModelDisk) -> None:
        life = self.life(disk, fails=1)
        for now in (self.now, self.later):
            life.settle(now)

    def recover(self, disk: ModelDisk) -> None:
        life = self.life(disk)
        life.settle(self.now)
        life.settle(self.later)  # what failed before the crash may be taken in only now

    @property
    def later(self) -> str:
        return to_wire(from_wire(self.now) + timedelta(minutes=30))


class DropBox(Workload):
    """Another program moves files into inbox.d/new; one of them says no id."""

    def start(self) -> State:
        disk = ModelDisk()
        Program(disk, self.config).start()
        said = [{"role": "user", "text": "从门外来的话。", "createdAt": "2026-01-28T01:00:00.000Z", "id": "门"}]
        disk.plant("inbox.d/new/一.json", json.dumps(said).encode())
        disk.plant(
            "inbox.d/new/二.json", '{"role": "user", "text": "没有名字。", "createdAt": "2026-01-28T01:01:00.000Z"}'.encode()
        )
        return disk.state

    def glance(self, disk: ModelDisk, acks: Sequence[object]) -> list[str]:
        waiting = {path for path in disk.tree() if path.startswith("inbox.d/new/")}
        self.promised = [
            *([] if "inbox.d/new/一.json" in waiting else [Acked("门", "从门外来的话。", "2026-01-28T01:00:00.000Z")]),
            *([] if "inbox.d/new/二.json" in waiting else [Acked("", "没有名字。", "2026-01-28T01:01:00.000Z")]),
        ]
        return super().glance(disk, acks)

    def judge(self, disk: ModelDisk, acks: Sequence[object]) -> list[str]:
        self.promised = [
            Acked("门", "从门外来的话。", "2026-01-28T01:00:00.000Z"),
            Acked("", "没有名字。", "2026-01-28T01:01:00.000Z"),
        ]
        left = [f"{path} was not taken in" for path in disk.tree() if path.startswith("inbox.d/new/")]
        return super().judge(disk, acks) + left


class Meanwhile(Workload):
    """The assistant goes on talking, under the lock, at every event of the supervisor."""

    before: ClassVar = (_JANUARY,)

    def happen(self, life: Program) -> None:
        assistant = Program(life.disk, self.config)
        said = iter(range(4))

        def talk(_: str) -> None:
            n = next(said, None)
            if n is not None and not any("history" in held for held in life.disk.locks.held):
                assistant.append(f"边{n}", f"一边说 {n}", f"2026-01-28T0{n}:00:00.000Z", "assistant")

        life.append("起", "开始。", "2026-01-28T00:00:00.000Z")
        life.events.then = talk


class Lost(Workload):
    """A program without the lock writes history.json anew without the last message; it is put back."""

    def happen(self, life: Program) -> None:
        life.append("一", "不能丢的话。", "2026-01-28T01:00:00.000Z")
        life.append("二", "后来的话。", "2026-01-28T02:00:00.000Z")
        life.start()
        life.ws.seen.refresh()
        from supervisor.intake import intake

        intake(life.ws, from_wire(self.now))
        rest = [one for one in json.loads(life.disk.tree()["history.json"]) if one["id"] != "一"]
        life.disk.plant("history.json", json.dumps(rest).encode())

    def glance(self, disk: ModelDisk, acks: Sequence[object]) -> list[str]:
        return []  # between the foreign write and the put-back the words stand in the journal alone


class Redo(Workload):
    """A model is there at last: the extracts of before are made anew, and a late message comes in."""

    extract: ClassVar = False
    settings: ClassVar = LateInMonth.settings

    def start(self) -> State:
        earlier = LateInDay()
        state = earlier.start()
        self.promised = earlier.promised
        return state

    def happen(self, life: Program) -> None:
        life.append("迟", "那天还说了这句。", "2026-01-20T09:00:00.000Z")


class Edited(Workload):
    """A person writes into a summary, and a late message makes a newer text: theirs stays above it."""

    before: ClassVar = LateInDay.before
    path: ClassVar = "memory/summary/2026-01-20.md"
    touched: ClassVar = (path,)

    def happen(self, life: Program) -> None:
        theirs = life.disk.tree()[self.path].replace("## 摘要".encode(), "## 我改的摘要\n\n其实是周三。".encode())
        life.disk.plant(self.path, theirs)
        life.disk.ack(theirs)
        life.append("迟", "那天还说了这句。", "2026-01-20T09:00:00.000Z")

    def _judge(self, disk: ModelDisk, acks: Sequence[object], *, calm: bool) -> list[str]:
        kept = [one for one in acks if isinstance(one, bytes)]
        wrong = [f"{self.path} lost a person's words" for one in kept if not disk.tree().get(self.path, b"").startswith(one)]
        return wrong + super()._judge(disk, acks, calm=calm)


class Weeks(Workload):
    """Two months of talk as they went by, settled day by day, with small caps and a late message: all of it in one."""

    now: ClassVar = "2026-02-02T12:00:00.000Z"
    settings: ClassVar[tuple[tuple[str, str], ...]] = (
        ("RECALLD_HISTORY_SOFT_CAP", "6"),
        ("RECALLD_HISTORY_HARD_CAP", "9"),
        ("RECALLD_ARCHIVE_KEEP_NEWEST", "2"),
    )
    days: ClassVar = ("2025-11-28", "2025-12-10", "2025-12-18", "2026-01-05", "2026-01-20", "2026-02-01")

    def happen(self, life: Program) -> None:
        for day in self.days:
            life.append(f"{day}-问", f"{day} 要做什么？", f"{day}T02:00:00.000Z")
            life.append(f"{day}-答", f"{day} 要交报告。", f"{day}T02:01:00.000Z", "assistant")
            life.settle(f"{day}T13:00:00.000Z")
        life.append("迟", "十二月还有一句。", "2025-12-10T09:00:00.000Z")


class WeeksWithModel(Weeks):
    """The same, told by a model that continues its own texts."""

    extract: ClassVar = False
    settings: ClassVar[tuple[tuple[str, str], ...]] = (*Weeks.settings, *LateInMonth.settings)


WORKLOADS = (
    Archive,
    Revision,
    DayRipens,
    MonthCloses,
    LateInDay,
    LateInMonth,
    Trim,
    Failure,
    DropBox,
    Meanwhile,
    Lost,
    Redo,
    Edited,
    Weeks,
    WeeksWithModel,
)
