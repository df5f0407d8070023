"""
Stories: what happens in one is drawn by its number, from all that people, programs and recalld do.

Days go by, messages come by every door, models fail, people edit and delete, programs destroy: in any order. A story and its seed
are always the same, so that a failure can be told again: ``python -m tests.crash --only "Story 17"``.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from recalld.supervisor.index.hit import SearchResult
from tests.checker.checker import Acked
from tests.checker.formats import Unreadable, read_dated
from tests.crash.others import entries_of, rewrite
from tests.crash.program import Brief, Program, wait
from tests.crash.talking import MODEL
from tests.crash.workload import Deleted, Dropped, Gone, Kept, Workload
from tests.world import message

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crash.model_disk import ModelDisk

_STEPS: tuple[str, ...] = (
    "say",
    "say",
    "say",
    "settle",
    "settle",
    "round",
    "late",
    "revise",
    "drop",
    "leave",
    "fail",
    "edit",
    "throw",
    "note",
)
_STEPS += ("forget", "redo", "turn", "compact", "rogue", "damage")
_DESTROYING = ("rogue", "damage")
#: Steps of one story.
_LENGTH = 9


class Story(Workload):
    """One of them."""

    ordered = False

    def __init__(self, number: int) -> None:
        super().__init__(seed=number + 1)
        self.number = number
        self.rng = random.Random(f"story {number}")
        self.script = [self.rng.choice(_STEPS) for _ in range(_LENGTH)]
        self.script[0] = "say"
        self.losing = any(step in _DESTROYING for step in self.script)
        self.extract = self.rng.random() < 0.5
        caps = (("RECALLD_HISTORY_SOFT_CAP", "5"), ("RECALLD_HISTORY_HARD_CAP", "8"), ("RECALLD_ARCHIVE_KEEP_NEWEST", "2"))
        self.settings = (*(caps if self.rng.random() < 0.5 else ()), *(() if self.extract else MODEL))
        hours = [self.rng.choice((1, 7, 30, 150, 400)) for _ in self.script]
        self.times = [wait("2025-11-25T10:30:00.000Z", hours=sum(hours[:n])) for n in range(_LENGTH + 1)]
        self.now = self.times[-1]
        # a task can fail, and so can one whose material a person took away
        self.waits = (180, 180) if {"fail", "throw", "edit", "forget"} & set(self.script) else ()

    @property
    def name(self) -> str:
        return f"Story {self.number}"

    def life(self, disk: ModelDisk, *given: Any, **named: Any) -> Program:
        life = super().life(disk, *given, **named)
        life.events.then = lambda event: self._met(life) if event == "seen" else None
        return life

    def _met(self, life: Program) -> None:
        """What was left without a sync is promised from when recalld has met it."""
        there = {one.get("id") for one in self._entries(life)}
        for one in self.left:
            if one.id in there and one not in life.disk.acks:
                life.disk.ack(one)

    def work(self, disk: ModelDisk) -> None:
        self.rng = random.Random(f"telling {self.number}")
        self.said: list[str] = []
        self.left: list[Acked] = []
        life = self.life(disk, Brief(extract=self.extract))
        for step, now in zip(self.script, self.times, strict=False):
            tell: Callable[[Program, str], None] = getattr(self, f"_{step}")
            tell(life, now)
        self.recover(disk)

    # ── what is said ─────────────────────────────────────────────────────────

    def _say(self, life: Program, now: str) -> None:
        for n in range(self.rng.choice((1, 2, 4))):
            self._said(life, wait(now, minutes=n - 60), "assistant" if n % 2 else "user")

    def _late(self, life: Program, now: str) -> None:
        self._said(life, wait(now, days=-self.rng.choice((1, 4, 8, 40))))

    def _said(self, life: Program, at: str, role: str = "user") -> None:
        identity = f"话{len(self.said)}"
        self.said.append(identity)
        life.say(identity, f"{at[:10]} 说的第 {len(self.said)} 句话。", at, role)

    def _revise(self, life: Program, now: str) -> None:
        there = [str(one["id"]) for one in self._entries(life) if one.get("id") in self.said]
        if there:
            life.revise(self.rng.choice(there), f"{now[:10]} 改口了。")
            life.at(now).intake()

    def _drop(self, life: Program, now: str) -> None:
        one = Acked(f"门{now}", life.voice.words(now, "从门外来的话。"), now)
        said = message(one.id, one.created_at, one.text)
        life.disk.plant(f"inbox.d/new/{now[:13]}.json", json.dumps(said).encode())
        life.disk.ack(Dropped(f"inbox.d/new/{now[:13]}.json", one))

    def _leave(self, life: Program, now: str) -> None:
        one = Acked(f"留{now}", life.voice.words(f"留{now}", "留在门口，没有落盘。"), now)
        self.left.append(one)
        said = message(one.id, one.created_at, one.text)
        life.disk.leave(f"inbox.d/new/left-{now[:13]}.json", json.dumps(said).encode())

    # ── what recalld does ────────────────────────────────────────────────────

    def _settle(self, life: Program, now: str) -> None:
        life.at(now).settle()

    def _round(self, life: Program, now: str) -> None:
        life.at(now).round("due")

    def _fail(self, life: Program, now: str) -> None:
        life.model.fails = 1
        life.model.fault = self.rng.choice(("input", "empty") if self.extract else ("input", "provider", "empty"))
        life.at(now).settle()

    def _redo(self, life: Program, now: str) -> None:
        found = [path for path in life.disk.tree() if path.startswith("memory/summary/2")]
        label = self.rng.choice(sorted(found))[len("memory/summary/") : -len(".md")] if found else ""
        if any(path.rpartition("/")[2].startswith(label) for path in life.disk.tree() if "/summary/" not in path) and label:
            life.at(now).redo(label)

    def _turn(self, life: Program, now: str) -> None:
        life.save_receipt(life.at(now).inject("上次说了什么？", SearchResult()))

    def _compact(self, life: Program, _: str) -> None:
        life.ws.prepare()
        life.ws.journal.compact()

    # ── what people and programs do ──────────────────────────────────────────

    def _edit(self, life: Program, _: str) -> None:
        path = self._pick(life, "memory/summary/")
        if path:
            whole = life.disk.tree()[path]
            theirs = whole.replace("## 摘要".encode(), "## 我改的\n\n其实不是这样。".encode(), 1)
            if theirs != whole:  # an extract has no such heading, and is not edited
                life.disk.plant(path, theirs)
                life.disk.ack(Kept(path, theirs))

    def _throw(self, life: Program, _: str) -> None:
        path = self._pick(life, "memory/summary/")
        if path:
            life.disk.remove(path)
            life.disk.ack(Gone(path))

    def _forget(self, life: Program, _: str) -> None:
        path = self._pick(life, "memory/2") or self._pick(life, "memory/originals/")
        try:
            found = read_dated(life.disk.tree()[path]) if path else None
        except Unreadable:
            return
        if found:
            life.disk.remove(path)
            life.disk.ack(Gone(path))
            for one in found.words:
                life.disk.ack(Deleted(one.id))

    def _note(self, life: Program, now: str) -> None:
        for path in ("memory.md", f"memory/{now[:10]}-my-note.md"):
            theirs = f"{now}|我|自己记的一笔\n".encode()
            life.disk.plant(path, theirs)
            life.disk.ack(Kept(path, theirs))

    def _rogue(self, life: Program, _: str) -> None:
        entries = self._entries(life)
        if entries:
            entries.pop(self.rng.randrange(len(entries)))
            rewrite(life.disk, entries)

    def _damage(self, life: Program, _: str) -> None:
        data = life.disk.tree().get("history.json", b"")
        if data:
            life.disk.plant("history.json", data[: len(data) // 2] if self.rng.random() < 0.7 else bytes(len(data)))

    def _entries(self, life: Program) -> list[dict[str, object]]:
        try:
            return entries_of(life.disk)
        except (ValueError, KeyError):
            return []  # damaged, or not there yet

    def _pick(self, life: Program, folder: str) -> str:
        """A file that nobody has touched, "" where there is none."""
        touched = {one.path for one in life.disk.acks if isinstance(one, (Kept, Gone))}
        names = {path.rpartition("/")[2] for path in touched}
        found = [path for path in life.disk.tree() if path.startswith(folder) and path.endswith(".md")]
        found = [path for path in sorted(found) if path.rpartition("/")[2] not in names]
        return self.rng.choice(found) if found else ""


def stories(first: int, count: int) -> list[Story]:
    """The stories of these numbers."""
    return [Story(number) for number in range(first, first + count)]
