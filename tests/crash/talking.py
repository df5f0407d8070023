"""Workloads of the flow itself: what is said is archived, ripens, is told, moves, leaves history.json."""

import json
from collections.abc import Sequence
from functools import partial
from typing import ClassVar
from unittest.mock import patch

from recalld.supervisor.archive import plan
from tests.checker.checker import Acked
from tests.crash.model_disk import ModelDisk
from tests.crash.program import Program
from tests.crash.workload import Workload

NOVEMBER = ("2025-11-20T13:00:00.000Z", (("2025-11-20T02:00:00.000Z", "十一月去了苏州，住在平江路。"),))
DECEMBER = (
    "2025-12-20T13:00:00.000Z",
    (
        ("2025-12-10T02:00:00.000Z", "服务器搬到了 10.0.0.7。"),
        ("2025-12-10T02:05:00.000Z", "记下了：10.0.0.7。"),
        ("2025-12-18T16:30:00.000Z", "上海已经是十九日了。"),
    ),
)
JANUARY = ("2026-01-20T13:00:00.000Z", (("2026-01-20T02:00:00.000Z", "周二交报告。"), ("2026-01-20T02:01:00.000Z", "好的。")))
BOILER = ("2026-01-20T13:00:00.000Z", (("2026-01-20T02:00:00.000Z", "锅炉坏了。"), ("2026-01-20T02:01:00.000Z", "好的。")))
TOLD = ("2026-01-27T13:00:00.000Z", ())
MODEL = (("RECALLD_LLM_MODEL", "小模型"),)
SHORT = (("RECALLD_SUMMARIZE_LEAST", "80"),)

#: history.json may have so few bytes that more than its soft cap would leave, but for the newest.
few_bytes = patch.object(plan, "Caps", partial(plan.Caps, hard_bytes=1_000))


class Archive(Workload):
    """A first talk of three days goes to its dated files; one day is old already. Two doors: the command, and the lock."""

    settings: ClassVar = (("RECALLD_LANGUAGE", "zh"),)

    def happen(self, life: Program) -> None:
        life.say("一", "明天部署 v2 到生产环境。", "2026-01-27T02:00:00.000Z")
        life.say("二", "记住了。\n\n```\nv2\n", "2026-01-27T02:00:05.000Z", "assistant")
        life.say_under_lock("三", "```\n今天部署好了。\n```", "2026-01-28T02:00:00.000Z", session="终端")
        life.say_under_lock("四", "上周三说过的话。", "2026-01-21T02:00:00.000Z")


class Revision(Workload):
    """Messages come again after the first were settled, and one that is written is said in other words."""

    def happen(self, life: Program) -> None:
        life.say("一", "先说一句。", "2026-01-27T02:00:00.000Z")
        life.at("2026-01-27T13:00:00.000Z").settle()
        life.say("二", "再说一句。", "2026-01-27T14:00:00.000Z")
        life.revise("一", "先说一句，说完了。")


class DayRipens(Workload):
    """A day of last week is summarised, and its file goes to originals/."""

    before: ClassVar = (JANUARY,)


class MonthCloses(Workload):
    """December has dailies; in February it becomes one monthly summary."""

    now = "2026-02-01T12:00:00.000Z"
    before: ClassVar = (DECEMBER, ("2025-12-30T13:00:00.000Z", ()))


class LateInDay(Workload):
    """A message of a day that is summarised already."""

    before: ClassVar = (BOILER, TOLD)

    def happen(self, life: Program) -> None:
        # its words are those of the file that is there, and so would be its name
        life.say("迟", "锅炉修好了。", "2026-01-20T09:00:00.000Z")


class LateInShortDay(LateInDay):
    """A short day has no summary: its file stays where it is, and so does that of what comes late."""

    settings = SHORT


class ShortDaysClose(MonthCloses):
    """December's days were short and have no summaries; in February its monthly summary names all of them."""

    settings = SHORT


class LateInMonth(Workload):
    """Messages of a month that is closed already, told by a model: the text that stands is continued."""

    now = "2026-02-03T12:00:00.000Z"
    extract = False
    settings = MODEL
    before: ClassVar = (NOVEMBER, DECEMBER, ("2026-02-02T13:00:00.000Z", ()))

    def happen(self, life: Program) -> None:
        life.say("迟一", "十二月还有一句。", "2025-12-10T09:00:00.000Z")
        life.say("迟二", "十二月别的日子。", "2025-12-11T09:00:00.000Z")


class Trim(Workload):
    """history.json is over its caps: the oldest written messages leave, and no others; the newest stay."""

    settings: tuple[tuple[str, str], ...] = (
        ("RECALLD_HISTORY_SOFT_CAP", "4"),
        ("RECALLD_HISTORY_HARD_CAP", "6"),
        ("RECALLD_ARCHIVE_KEEP_NEWEST", "4"),
    )
    before: ClassVar = (JANUARY,)

    def happen(self, life: Program) -> None:
        life.say("先", "先说的话。", "2026-01-28T11:40:00.000Z")
        life.at("2026-01-28T11:55:00.000Z").settle()
        for n in range(7):
            life.say(f"多{n}", f"第 {n} 句话。" * 15, f"2026-01-28T11:5{n}:00.000Z", "user" if n % 2 else "assistant")
        # too much for any cap, but a run was a moment ago: what is not written may not leave
        life.at(self.now).round("due")

    work = few_bytes(Workload.work)
    recover = few_bytes(Workload.recover)

    def judge(self, disk: ModelDisk, acks: Sequence[object]) -> list[str]:
        ids = [one["id"] for one in json.loads(disk.tree().get("history.json", b"[]"))]
        said = [one.id for one in acks if isinstance(one, Acked)]
        wrong = [f"history.json holds {len(ids)} messages"] if len(ids) > 4 else []
        wrong += [f"{one} was said last and has left history.json" for one in said[-3:] if one not in ids]
        return super().judge(disk, acks) + wrong
