"""Overflow, `summarize` and the running summary under the crash explorer: whenever the machine dies, each message is told once."""

import asyncio
import errno
import json
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from recalld.supervisor.conversation.session_lines import SessionLines
from recalld.supervisor.conversation.sessions import session_digest, session_group
from recalld.supervisor.host.conversations import open_session
from recalld.supervisor.host.lock import reclaim
from recalld.supervisor.host.round import collect
from recalld.supervisor.protocol.config import load
from recalld.supervisor.storage.errors import NoSummary
from recalld.supervisor.storage.lenient_json import render_json
from recalld.supervisor.summaries import model as port
from recalld.supervisor.summaries.model import CallLimits, QueuedModel
from recalld.supervisor.workspace import Workspace
from recalld.worker.desk import FolderDesk
from recalld.worker.loop import Worker
from recalld.worker.providers import Completion, Usage
from tests.conversation.talk import Scripted, fenced
from tests.crash.file_workloads import Case, Honest
from tests.crash.model_disk import ModelDisk
from tests.crash.test_files_crash import refuse_beside_who_holds, refuse_each_call, survive_each_crash
from tests.world import WITH_MODEL, Clock, EventList, at, message

pytestmark = pytest.mark.proof

NOW = at("2026-01-31T10:00")
SESSION = "部署"
TALK = [message(f"m{n}", f"2026-01-30T09:{n:02}", f"第{n}条", session=SESSION) for n in range(12)]
CONFIG_KEEPS_NONE = load(f"{WITH_MODEL}[conversation]\nkeep_turns = 0\n".encode(), {})
CONFIG = load(f"{WITH_MODEL}[conversation]\nmax_history = 4\n".encode(), {})


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker has answered when the waiter looks again."""
    monkeypatch.setattr(port, "_POLL_S", 0)


class Overflowing(Case):
    """Of twelve messages eight overflow, three at first; the model words its line anew at each call."""

    start: ClassVar = {"history.json": render_json(TALK[:7]), ".recalld/空": b"", "memory.md": "- 喝茶\n".encode()}
    folders: ClassVar = ("", ".recalld", ".recalld/sessions")

    def __init__(self) -> None:
        self.calls = 0

    def write(self, messages: Sequence[dict[str, Any]]) -> str:
        self.calls += 1
        return f"{'、'.join(one['content'] for one in messages)}，第{self.calls}次说"

    def lines(self, disk: ModelDisk, program: str = "first") -> SessionLines:
        workspace = Workspace(disk.root, CONFIG, Honest(disk, program), EventList(Clock(NOW)))
        return workspace.session_lines

    def work(self, disk: ModelDisk) -> None:
        self.step(self.lines(disk))
        disk.ack(3)
        disk.plant("history.json", render_json(TALK))
        self.step(self.lines(disk))
        disk.ack(8)

    def recover(self, disk: ModelDisk) -> None:
        super().recover(disk)
        disk.plant("history.json", render_json(TALK))
        self.step(self.lines(disk, "second"))
        self.step(self.lines(disk, "second"))

    def step(self, lines: SessionLines) -> None:
        lines.summarize_overflow(SESSION, self.write, NOW)

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        return self.told_wrongly(tree, lambda n: n < 8)

    def told_wrongly(self, tree: dict[str, bytes], rule: Callable[[int], bool]) -> list[str]:
        told = [tree["memory.md"].decode().count(f"第{n}条") for n in range(12)]
        return [f"第{n}条 is told {times} times" for n, times in enumerate(told) if times != rule(n)]


class Summarizing(Overflowing):
    """A session is summed up, and then what is new in it."""

    def step(self, lines: SessionLines) -> None:
        lines.summarize(SESSION, self.write, NOW)

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        return self.told_wrongly(tree, lambda _: True)


class Asking(Summarizing):
    """The line of a session is a task of the queue; who waits and the worker die together."""

    start: ClassVar = {**Overflowing.start, ".recalld/sessions/空": b""}

    def step(self, lines: SessionLines) -> None:
        ws = self.ws
        worker = Worker(FolderDesk(ws.files, ws.paths, ws.config), self, Clock(NOW))
        with suppress(NoSummary):
            lines.summarize(SESSION, lambda messages: asyncio.run(self.asked(ws, worker, messages)), NOW)

    def lines(self, disk: ModelDisk, program: str = "first") -> SessionLines:
        self.ws = Workspace(disk.root, CONFIG, Honest(disk, program), EventList(Clock(NOW)))
        return self.ws.session_lines

    async def asked(self, ws: Workspace, worker: Worker, messages: Sequence[dict[str, Any]]) -> str:
        at_hand: Any = SimpleNamespace(ensure=lambda **_: (reclaim(ws), worker.run_once(asked_only=True)))
        model = QueuedModel(session_group(SESSION), 0, ws.model_use, at_hand, Clock(NOW))
        prompt = "、".join(one["content"] for one in messages)
        return await model.complete(prompt, CallLimits(timeout=timedelta(minutes=1)))

    # ── the model behind the worker ──────────────────────────────────────────

    name, model, extract = "scribe", "qwen-test", False

    def complete(self, prompt: str, *, calling: Callable[[], None], **_: Any) -> Completion:
        calling()
        self.calls += 1
        return Completion(f"{prompt}，第{self.calls}次说", Usage(1, 7, 7))

    def recover(self, disk: ModelDisk) -> None:
        super().recover(disk)
        ws = self.ws
        for folder in (ws.task_queue.queue, ws.task_queue.results, ws.task_queue.failed):
            ws.files.sweep(folder)
        collect(ws, NOW)

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        tasks = [path for path in tree if path.startswith("worker/") and "session-" in path]
        return [*super().wrong(tree, acks), *(f"{path} is left" for path in tasks)]


class Continuing(Overflowing):
    """A running summary is continued twice, by a model that keeps all that it is told; each answer is a turn's end."""

    TALK: ClassVar = [
        {**one, "role": ("user", "assistant")[n % 2], "text": f"第{n}件事的端口是{n}"} for n, one in enumerate(TALK)
    ]
    start: ClassVar = {"history.json": render_json(TALK[:6]), ".recalld/空": b""}

    def work(self, disk: ModelDisk) -> None:
        self.continue_it(disk)
        disk.ack(6)
        disk.plant("history.json", render_json(self.TALK))
        self.continue_it(disk)
        disk.ack(12)

    def recover(self, disk: ModelDisk) -> None:
        Case.recover(self, disk)
        disk.plant("history.json", render_json(self.TALK))
        self.continue_it(disk, "second")

    def continue_it(self, disk: ModelDisk, program: str = "first") -> None:
        workspace = Workspace(disk.root, CONFIG_KEEPS_NONE, Honest(disk, program), EventList(Clock(NOW)))
        model = Scripted(lambda prompt: "；".join(f"第{n}件事的端口是{n}" for n in self.told("".join(fenced(prompt)))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first program may have summed all up
            open_session(workspace, SESSION, self.refuse, model, "", None, Clock(NOW)).summarize()

    def refuse(self, message: object) -> None:
        raise AssertionError(message)

    @staticmethod
    def told(text: str) -> list[int]:
        return [int(found) for found in re.findall(r"第(\d+)件事", text)]

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        (data,) = (
            data for name, data in tree.items() if name.startswith(".recalld/sessions/session-") and name.endswith("json")
        )
        told = self.told(json.loads(data)["running"]["summary"])
        return [] if told == list(range(12)) else [f"the summary tells {told}"]


@pytest.mark.parametrize(("case", "depth"), [(Overflowing, 1), (Summarizing, 0), (Asking, 0), (Continuing, 0)])
def test_session_lines_tell_each_message_once_after_any_crash(case: type[Overflowing], depth: int) -> None:
    survive_each_crash(case(), depth=depth)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES])
@pytest.mark.parametrize("case", [Overflowing, Asking, Continuing])
def test_session_lines_tell_each_message_once_after_any_io_error(case: type[Overflowing], error: int) -> None:
    refuse_each_call(case, error)


def test_session_lines_are_told_under_the_lock_of_the_session_alone() -> None:
    refuse_beside_who_holds(Summarizing(), f".recalld/sessions/session-{session_digest(SESSION)}.lock")
