"""Workloads of the chats of LlamaIndex: what was added, replaced or deleted is so after any crash, and can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from recalld.supervisor.conversation.chat_files import ChatFiles
from recalld.supervisor.conversation.sessions import session_digest
from recalld.supervisor.protocol.config import Config
from recalld.supervisor.storage.lenient_json import parse_json, render_json
from recalld.supervisor.workspace import Workspace
from tests.crash.file_workloads import Case, Honest
from tests.crash.model_disk import ModelDisk
from tests.world import Clock, EventList, at

KEY = "网页-7"
PATH = f".recalld/sessions/chat-{session_digest(KEY)}.jsonl"
HEAD = render_json({"version": 1, "key": KEY}) + b"\n"
RECOVERED = {"role": "user", "content": "恢复"}
#: What recovery adds is there once for each of the crashes.
MOST_RECOVERED = 2


def said(number: int) -> dict[str, str]:
    return {"role": "user", "content": f"第 {number} 句\n备份在哪台机器上？"}


class Chat(Case):
    """
    A chat is changed step by step; its messages after each are acknowledged, and there are never others.

    Recovery adds one more message, and reads them all.
    """

    start: ClassVar = {".recalld/空": b""}

    def __init__(self) -> None:
        self.work(calm := self.started())
        #: The messages that there may be, in the order of the steps.
        self.versions: list[list[Any]] = [self.at_first(), *calm.acks]

    def at_first(self) -> list[dict[str, str]]:
        return []

    def steps(self) -> Sequence[Callable[[ChatFiles[Any]], object]]:
        raise NotImplementedError

    def opened(self, disk: ModelDisk, program: str = "first") -> ChatFiles[Any]:
        ws = Workspace(disk.root, Config(), Honest(disk, program), EventList(Clock(at("2026-01-31T10:00"))))
        return ChatFiles(ws.files, ws.paths, ws.quarantine, ws.events, render=render_json, parse=parse_json)

    def work(self, disk: ModelDisk) -> None:
        for step in self.steps():
            chats = self.opened(disk)
            step(chats)
            disk.ack(chats.messages(KEY))

    def recover(self, disk: ModelDisk) -> None:
        super().recover(disk)
        for folder in ("sessions", "quarantine"):
            Honest(disk, "second").sweep(disk.root / ".recalld" / folder)
        chats = self.opened(disk, "second")
        chats.add(KEY, RECOVERED)
        disk.ack(RECOVERED)
        chats.messages(KEY)

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        head, *lines = tree[PATH].splitlines(keepends=True)
        if head != HEAD:
            return [f"it begins with {head!r}"]
        found = [parse_json(line) for line in lines]
        recovered, promised = found.count(RECOVERED), acks.count(RECOVERED)
        if not promised <= recovered <= MOST_RECOVERED:
            return [f"recovery has added {recovered} messages, {promised} were promised"]
        matching = [n for n, version in enumerate(self.versions) if found == version + [RECOVERED] * recovered]
        steps = len(acks) - promised
        return [] if matching and matching[-1] >= steps else [f"there are {found}, {steps} steps were acknowledged"]


class Added(Chat):
    """Messages are added where no chat is."""

    def steps(self):
        return [lambda chats, n=n: chats.add(KEY, said(n)) for n in range(3)]


class Replaced(Chat):
    """Messages are replaced, deleted one by one, and added."""

    def steps(self):
        return [
            lambda chats: chats.replace(KEY, [said(1), said(2), said(3)]),
            lambda chats: chats.delete_at(KEY, 1),
            lambda chats: chats.add(KEY, said(4)),
            lambda chats: chats.replace(KEY, [said(5), said(6)]),
            lambda chats: chats.delete_at(KEY, -1),
        ]


class Deleted(Chat):
    """A chat is deleted, and goes on."""

    def steps(self):
        return [
            lambda chats: chats.replace(KEY, [said(1), said(2)]),
            lambda chats: chats.delete(KEY),
            lambda chats: chats.add(KEY, said(3)),
        ]


class CutOff(Chat):
    """The last line of a chat was cut off by somebody; its bytes are kept, whatever becomes of the chat."""

    cut: ClassVar = render_json(said(2))[:-9]
    start: ClassVar = {PATH: HEAD + render_json(said(1)) + b"\n" + cut}

    def at_first(self):
        return [said(1)]

    def steps(self):
        return [lambda chats: chats.add(KEY, said(3)), lambda chats: chats.delete_at(KEY, 0)]

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        kept = any(self.cut in data for path, data in tree.items() if path.startswith(".recalld/quarantine/"))
        return [*super().wrong(tree, acks), *([] if kept else ["what was cut off is gone"])]


class Emptied(Added):
    """A chat of which nothing but its name was left is added to."""

    start: ClassVar = {PATH: b""}


CASES = (Added, Replaced, Deleted, CutOff, Emptied)
