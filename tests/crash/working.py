"""Workloads of the hand-off and of what recalld keeps for itself: failures, two workers, the journal, the turns."""

import json
from collections.abc import Sequence
from typing import ClassVar, Literal

from recalld.supervisor.context.turns import ReceiptStore
from recalld.supervisor.index.hit import SearchResult
from tests.crash.model_disk import ModelDisk
from tests.crash.program import Brief, Program, wait
from tests.crash.talking import DECEMBER, JANUARY, MODEL
from tests.crash.workload import Workload


class Failure(Workload):
    """The worker fails once, over a message that was archived late; half an hour later it is tried again."""

    before: ClassVar[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = (JANUARY,)
    waits = (30,)
    fault: ClassVar[Literal["input", "provider"]] = "input"

    def work(self, disk: ModelDisk) -> None:
        life = self.life(disk, Brief(extract=self.extract, fails=1, fault=self.fault))
        life.say("旧", "上周的话。", "2026-01-20T09:00:00.000Z")
        life.at(self.now).settle()
        life.at(wait(self.now, minutes=30)).settle()

    def _judge(self, disk: ModelDisk, acks: Sequence[object], *, calm: bool) -> list[str]:
        tree = disk.tree()
        failed = [json.loads(tree[path]) for path in tree if path.startswith("worker/failed/") and path.endswith(".json")]
        most = max((one.get("attempts", 0) for one in failed), default=0)
        wrong = [f"one failure counts as {most}"] if most > 1 else []
        return wrong + super()._judge(disk, acks, calm=calm)


class ProviderDown(Failure):
    """The model can't be reached: it is left alone for a while, and no group pays for it."""

    extract = False
    settings = MODEL
    fault: ClassVar = "provider"
    before: ClassVar = (DECEMBER, JANUARY)

    def _judge(self, disk: ModelDisk, acks: Sequence[object], *, calm: bool) -> list[str]:
        paying = [path for path in disk.tree() if path.startswith(("worker/failed/day", "worker/failed/month"))]
        return [f"{path} pays for the provider" for path in paying] + super()._judge(disk, acks, calm=calm)


class TwoWorkers(Workload):
    """A worker was taken for dead: another has done its task when it comes back with its own result."""

    before: ClassVar = (JANUARY, ("2026-01-21T13:00:00.000Z", (("2026-01-21T02:00:00.000Z", "周三改主意了。"),)))
    waits = (30,)

    def work(self, disk: ModelDisk) -> None:
        life = self.life(disk, slow := Brief())
        rival = self.life(disk, called="rival")

        def meanwhile(_: object) -> None:
            slow.before = lambda _: None
            rival.reclaim()
            rival.at(self.now).work()
            rival.at(self.now).round()
            life.say("迟", "那天还说了这句。", "2026-01-21T09:00:00.000Z")
            for _ in range(3):
                rival.at(self.now).round()
                rival.at(self.now).work()

        slow.before = meanwhile
        life.at(self.now).settle()


class Compact(Workload):
    """The seen journal is written anew, as short as it can be, while un-written words stand in it alone."""

    losing = True
    before: ClassVar = (JANUARY,)

    def happen(self, life: Program) -> None:
        life.say("一", "不能丢的话。", "2026-01-28T01:00:00.000Z")
        life.say("二", "后来的话。", "2026-01-28T02:00:00.000Z")
        life.at("2026-01-28T02:00:30.000Z").round("due")
        rest = [one for one in json.loads(life.disk.tree()["history.json"]) if one["id"] != "一"]
        life.disk.plant("history.json", json.dumps(rest).encode())
        life.ws.journal.compact()


class Turn(Workload):
    """Three turns write what they showed, of which two are kept; the inbox belongs to the assistant."""

    before: ClassVar = (JANUARY,)
    asked: ClassVar = json.dumps([{"id": "问", "text": "周二要交什么？", "createdAt": "2026-01-28T11:59:00.000Z"}]).encode()

    def prepare(self, disk: ModelDisk) -> None:
        disk.plant("inbox.json", self.asked)

    def work(self, disk: ModelDisk) -> None:
        life = self.life(disk)
        nothing = SearchResult()
        for n, question in enumerate((None, "后来呢？", "还有吗？")):
            life.at(wait(self.now, seconds=n))
            made = life.context(question, nothing) if n % 2 else life.inject(question, nothing)
            if n == 0:
                life.save_receipt(made)
            else:
                ReceiptStore(life.files, life.paths, kept=2).write(made.receipt)
            disk.ack(f"turns/{made.id}.json")
        life.at(self.now).settle()

    def _judge(self, disk: ModelDisk, acks: Sequence[object], *, calm: bool) -> list[str]:
        turns = [path for path in disk.tree() if path.startswith("turns/")]
        told = [one for one in acks if isinstance(one, str)]
        wrong = [f"{path} is not there" for path in told[-1:] if path not in turns]
        wrong += [] if len([path for path in turns if not path.endswith(".tmp")]) <= 3 else [f"{len(turns)} turns are kept"]
        wrong += [] if disk.tree().get("inbox.json") == self.asked else ["inbox.json was changed"]
        return wrong + super()._judge(disk, acks, calm=calm)
