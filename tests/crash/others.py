"""Workloads of other programs: they drop in, talk meanwhile, write without the lock, strip names and destroy."""

import base64
import json
from collections.abc import Sequence
from typing import Any, ClassVar

from recalld.supervisor.storage.clock import from_wire
from recalld.supervisor.storage.errors import BadFile
from tests.checker.checker import Acked
from tests.crash.model_disk import ModelDisk
from tests.crash.program import Program
from tests.crash.talking import JANUARY, TOLD
from tests.crash.workload import Dropped, Kept, Workload, keep
from tests.world import message


def rewrite(disk: ModelDisk, entries: Sequence[dict[str, Any]]) -> None:
    """Write history.json as a program does that knows no lock."""
    disk.plant("history.json", json.dumps(entries).encode())


def entries_of(disk: ModelDisk) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(disk.tree()["history.json"])
    return found


class DropBox(Workload):
    """Another program moves files into inbox.d/new; one of them says no id, and one is no JSON."""

    ordered = False
    broken: ClassVar = "不是 JSON".encode()
    dropped: ClassVar = {
        "inbox.d/new/一.json": Acked("门", "从门外来的话。", "2026-01-28T01:00:00.000Z"),
        "inbox.d/new/二.json": Acked("", "没有名字。", "2026-01-28T01:01:00.000Z"),
    }

    def prepare(self, disk: ModelDisk) -> None:
        for path, one in self.dropped.items():
            said = {"role": "user", "text": one.text, "createdAt": one.created_at, **({"id": one.id} if one.id else {})}
            disk.plant(path, json.dumps([said] if one.id else said).encode())
            disk.ack(Dropped(path, one))
        keep(disk, "inbox.d/new/三.json", self.broken)


class Swiped(DropBox):
    """A program without the lock writes history.json anew, without what it has not read, as a dropped file is deleted."""

    losing = True

    def work(self, disk: ModelDisk) -> None:
        def swipe(text: str) -> None:
            if text.startswith("unlink inbox.d/"):
                rewrite(disk, [])

        disk.meanwhile = swipe
        super().work(disk)


class Reused(Workload):
    """A program has one name for all that it drops: it moves the next file there as the last is claimed, and as it is deleted."""

    ordered = False
    before: ClassVar = (JANUARY,)
    path = "inbox.d/new/话.json"

    def happen(self, life: Program) -> None:
        disk, texts = life.disk, iter(("第一句。", "第二句。", "第三句。"))
        said: list[Acked] = []

        def drop(call: str) -> None:
            if call.startswith(("rename_new inbox.d/", "unlink inbox.d/")) and (text := next(texts, "")):
                said.append(Acked(f"话{len(said)}", text, f"2026-01-28T0{len(said)}:00:00.000Z"))
                # it says again what nobody may have read yet
                disk.plant(self.path, json.dumps([message(one.id, one.created_at, one.text) for one in said]).encode())
                disk.ack(Dropped(self.path, said[-1]))

        drop("unlink inbox.d/")
        disk.meanwhile = drop


class SaidAgain(Workload):
    """A client is cut off while another program holds history.json, and says the same again: it goes to the drop-box."""

    said = Acked("又", "说了两遍的话。", "2026-01-28T01:00:00.000Z")

    def happen(self, life: Program) -> None:
        one, disk = self.said, life.disk
        life.voice.said.add(one.text)
        disk.held_by_others.add("history.json.lock")
        life.at(self.now).append(message(one.id, one.created_at, one.text))
        disk.held_by_others.clear()
        # none if it was filed before the client said it again
        for path in disk.tree():
            if path.startswith("inbox.d/new/append-"):
                disk.ack(Dropped(path, one))

    def recover(self, disk: ModelDisk) -> None:
        self.happen(self.life(disk))
        super().recover(disk)

    def judge(self, disk: ModelDisk, acks: Sequence[object]) -> list[str]:
        waiting = [f"{path} waits for ever" for path in disk.tree() if path.startswith("inbox.d/")]
        return super().judge(disk, acks) + waiting


class Careless(Workload):
    """A program and a person who sync nothing: what they leave is promised from when recalld has met it."""

    losing = True
    ordered = False
    before: ClassVar = (JANUARY,)
    said: ClassVar = (
        Acked("门", "从门外来，没有落盘。", "2026-01-28T01:00:00.000Z"),
        Acked("写", "直接写进文件，没有落盘。", "2026-01-28T02:00:00.000Z"),
    )
    note = "memory/2026-01-27-过敏.md"
    noted: ClassVar = "# 周二\n\n- 我对花生过敏。\n".encode()

    def happen(self, life: Program) -> None:
        dropped, written = (message(one.id, one.created_at, one.text) for one in self.said)
        filed = message("记", "2026-01-27T01:00:00.000Z", archived=True)
        life.voice.said.update((self.said[0].text, self.said[1].text, "我对花生过敏。"))
        entries = entries_of(life.disk)
        life.disk.leave("inbox.d/new/门.json", json.dumps(dropped).encode())
        life.disk.leave(self.note, self.noted)
        self.rewrite(life.disk, json.dumps([*entries, filed, written]).encode())

    def rewrite(self, disk: ModelDisk, data: bytes) -> None:
        disk.leave("history.json", data)

    def life(self, disk: ModelDisk, *given: Any, **named: Any) -> Program:
        life = super().life(disk, *given, **named)
        life.events.then = lambda event: self._met(disk) if event == "seen" else None
        return life

    def _met(self, disk: ModelDisk) -> None:
        entries = {one["id"] for one in entries_of(disk)}
        for one in self.said:
            if one.id in entries:
                disk.ack(one)
        if self.note.rpartition("/")[2].encode() in disk.tree()[".recalld/seen.jsonl"]:  # "记" counts as written there
            disk.ack(Kept(self.note, self.noted))

    def _judge(self, disk: ModelDisk, acks: Sequence[object], *, calm: bool) -> list[str]:
        """The checker knows no notes: what its program has flagged true stands in this one."""
        wrong = super()._judge(disk, acks, calm=calm)
        return [
            line for line in wrong if disk.tree().get(self.note) != self.noted or not line.startswith("记 has the flag True")
        ]


class Scribbled(Careless):
    """The program writes in place, where a killed supervisor had made the file its own backup: one file by two names."""

    def prepare(self, disk: ModelDisk) -> None:
        disk.settle_entry("", "history.json.bak", disk.live[""]["history.json"])

    def rewrite(self, disk: ModelDisk, data: bytes) -> None:
        disk.overwrite(disk.live[""]["history.json"], data)

    def recover(self, disk: ModelDisk) -> None:
        """Where nobody knows what stood in it, nothing is written over it: a person moves both names away."""
        try:
            super().recover(disk)
        except BadFile:
            disk.remove("history.json")
            disk.remove("history.json.bak")
            super().recover(disk)


class Pictures(Workload):
    """Pictures come by the command, one of them twice, and by a program that takes the lock."""

    def happen(self, life: Program) -> None:
        life.say("图一", "看这张。", "2026-01-27T02:00:00.000Z", images=[_picture(1)])
        life.say("图二", "还是这张。", "2026-01-27T02:01:00.000Z", images=[_picture(1), _picture(2)])
        life.say_under_lock("图三", "再看一张。", "2026-01-28T02:00:00.000Z", images=[_picture(3)])


def _picture(number: int) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes([number]) * 30).decode()


class Meanwhile(Workload):
    """The assistant goes on talking, by the command and under the lock, at every event of the supervisor."""

    before: ClassVar = (JANUARY,)

    def happen(self, life: Program) -> None:
        assistant = self.life(life.disk, called="talk")
        said = iter(range(4))

        def talk(_: str) -> None:
            n = next(said, None)
            if n is not None and not any("history" in held for held in life.disk.locks.held):
                say = assistant.say_under_lock if n % 2 else assistant.say
                say(f"边{n}", f"一边说 {n}", f"2026-01-28T0{n}:00:00.000Z", "assistant")

        life.say("起", "开始。", "2026-01-28T00:00:00.000Z")
        life.events.then = talk


class Between(Workload):
    """A program without the lock adds a message while recalld writes its own version, before the last look at the file."""

    before: ClassVar = (JANUARY,)

    def happen(self, life: Program) -> None:
        life.say("起", "开始。", "2026-01-28T00:00:00.000Z")
        disk, said = life.disk, iter(range(3))

        def add(text: str) -> None:
            if text.startswith("sync .history.json") and (n := next(said, None)) is not None:
                one = Acked(f"插{n}", f"不用锁的第 {n} 句。", f"2026-01-28T0{n + 1}:00:00.000Z")
                life.voice.said.add(one.text)
                said_here = message(one.id, one.created_at, one.text)
                rewrite(disk, [*entries_of(disk), said_here])
                disk.ack(one)

        disk.meanwhile = add


class Lost(Workload):
    """A program without the lock writes history.json anew without two messages, one of which was never looked at."""

    losing = True
    ordered = False

    def happen(self, life: Program) -> None:
        life.say_under_lock("一", "不能丢的话。", "2026-01-28T01:00:00.000Z")
        life.say("二", "后来的话。", "2026-01-28T02:00:00.000Z")
        life.start()
        life.at(self.now).intake()
        life.say("三", "还没有看见就丢了。", "2026-01-28T03:00:00.000Z")
        rewrite(life.disk, [one for one in entries_of(life.disk) if one["id"] not in ("一", "三")])


class Nameless(Workload):
    """A program that knows no ids, flags or times of ours writes back what it has read, and one more."""

    losing = True
    ordered = False
    before: ClassVar = (JANUARY, ("2026-01-27T13:00:00.000Z", (("2026-01-27T02:00:00.000Z", "昨天说的。"),)))

    def happen(self, life: Program) -> None:
        own = [{"role": one["role"], "text": one["text"], "createdAt": one["createdAt"]} for one in entries_of(life.disk)]
        new = {"role": "user", "text": "没有名字的话。", "createdAt": "2026-01-28T02:00:00.000Z"}
        life.voice.said.add(new["text"])
        rewrite(life.disk, [*own, new, new])
        life.disk.ack(Acked("", new["text"], new["createdAt"]))
        life.disk.ack(Acked("", new["text"], new["createdAt"]))


class Numbered(Workload):
    """A program numbers what it holds by place: its first numbers are those of messages that `append` had acknowledged."""

    losing = True
    ordered = False

    def happen(self, life: Program) -> None:
        for n in range(2):
            life.say(str(n), f"手机说的第 {n} 句。", f"2026-01-28T0{n}:00:00.000Z")
        life.start()
        life.at(self.now).intake()
        talk = [(f"电脑说的第 {n} 句。", f"2026-01-28T0{n}:30:00.000Z") for n in range(4)]
        for start in range(2):
            held = talk[start : start + 3]
            rewrite(life.disk, [message(str(n), created_at, text) for n, (text, created_at) in enumerate(held)])
            life.intake()
        for text, created_at in talk:
            life.voice.said.add(text)
            life.disk.ack(Acked("", text, created_at))


class Window(Workload):
    """A program that writes neither ids nor times keeps its last messages; some of its words come again and again."""

    losing = True
    ordered = False

    def happen(self, life: Program) -> None:
        life.start()
        talk = ["继续。", "第一段。", "继续。", "第二段。", "继续。", "第三段。"]
        for start in (0, 2):
            rewrite(life.disk, [{"role": "user", "content": text} for text in talk[start : start + 4]])
            life.at(self.now).intake()
        for text in talk:
            life.voice.said.add(text)
            life.disk.ack(Acked("", text, self.now))


class Respelled(Workload):
    """A typed program drops the fields that it does not know, and writes times as its library does."""

    losing = True
    ordered = False
    before: ClassVar = (JANUARY,)

    def happen(self, life: Program) -> None:
        life.say("一", "记住这一句。", "2026-01-28T02:00:00.000Z")
        life.say("二", "这一句带毫秒。", "2026-01-28T02:00:01.456Z")
        for entry in entries_of(life.disk):
            life.voice.said.add(entry["text"])
        for spelled in ("{:%Y-%m-%d %H:%M:%S.%fZ}", "{:%Y-%m-%dT%H:%M:%S.%f+00:00}"):
            own = [
                {"role": one["role"], "text": one["text"], "createdAt": spelled.format(from_wire(one["createdAt"]))}
                for one in entries_of(life.disk)
            ]
            rewrite(life.disk, own)
            life.start()
            life.at(self.now).intake()


class Damaged(Workload):
    """history.json is torn by another program; it is restored from its backup and from what the journal knows."""

    losing = True
    ordered = False
    before: ClassVar = (JANUARY, TOLD)
    torn: ClassVar = '[{"id": "半", "role": "user", "te'.encode()

    def happen(self, life: Program) -> None:
        life.say("零", "已经写下的话。", "2026-01-28T00:00:00.000Z")
        life.at("2026-01-28T00:30:00.000Z").settle()
        life.say("一", "不能丢的话。", "2026-01-28T01:00:00.000Z")
        life.say("二", "也不能丢。", "2026-01-28T02:00:00.000Z")
        life.disk.plant("history.json", self.torn)
        life.disk.ack("torn")
        life.say("三", "坏了以后说的。", "2026-01-28T03:00:00.000Z")

    def judge(self, disk: ModelDisk, acks: Sequence[object]) -> list[str]:
        ids = {one.get("id") for one in entries_of(disk)}
        stood = [one.id for one in (*self.promised, *acks) if isinstance(one, Acked)]
        wrong = [f"{one} is gone from the conversation" for one in stood if one not in ids]
        copied = "torn" not in acks or self.torn in disk.tree().values()
        return super().judge(disk, acks) + wrong + ([] if copied else ["no copy was kept of the damaged file"])
