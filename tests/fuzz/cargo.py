"""What passes through a pool, spoiled: on its way, where it can't be opened, and inside, by a worker that was taken over."""

import json
import zlib
from datetime import UTC, date, datetime
from typing import Any

from recalld.supervisor.events import Events
from recalld.supervisor.pool.cargo import Answer, Outcome, Reserve, Unsealable, rendered
from recalld.supervisor.protocol.config import load
from recalld.supervisor.protocol.dated_file import Block, render_dated
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.protocol.queue import TaskQueue
from recalld.supervisor.protocol.summary_file import Source
from recalld.supervisor.protocol.task import Result, Task, task_id
from recalld.supervisor.storage.files import Files, digest_of
from recalld.worker.providers import Extractive
from tests.crash.model_disk import ModelDisk
from tests.pool.memory_pool import SEAL, MemoryHold, PoolInMemory, Stepped

NOW = datetime(2026, 1, 31, 2, tzinfo=UTC)
_FILE = "2026-01-28-deploy.md"
_BLOCKS = [Block("01J1", "user", "把超时改成 30 秒。", datetime(2026, 1, 28, 1, tzinfo=UTC), {})]
_DATED = render_dated(date(2026, 1, 28), "UTC", UTC, NOW, _BLOCKS)
SOURCES = (Source(_FILE, digest_of(_DATED)[:16], 1),)
TASK = Task(
    id=task_id("day-2026-01-28", SOURCES, 0), kind="daily-summary", group="day-2026-01-28", period="2026-01-28", zone="UTC",
    sources=SOURCES, material=(_FILE,),
)  # fmt: skip
UID = f"甲.{TASK.id}"
RESULT = Result(id=TASK.id, status="done", text="## 部署\n\n改成 30 秒。", group=TASK.group, sources=SOURCES)


class Host:
    """A workspace with one task, which its courier has brought to a pool."""

    def __init__(self, events: Events) -> None:
        self.disk = ModelDisk()
        files, paths = Files(self.disk), WorkspacePaths(self.disk.root)
        config = load(b"[archive]\ntimezone = 'UTC'\n", {})
        files.make_folder(paths.state)
        files.make_folder(paths.dated("x").parent)
        self.queue = TaskQueue(files, paths)
        self.queue.prepare()
        files.create(paths.dated(_FILE), _DATED)
        self.queue.submit(TASK)
        self.pool = PoolInMemory()
        self.courier = Stepped(self.pool, "甲", files, paths, config, events, SEAL, lambda: NOW)
        self.courier.step()

    @property
    def sealed(self) -> bytes:
        return self.pool.cargo[UID].sealed

    def work(self, sealed: bytes) -> None:
        """A worker is given these bytes: it answers once, and does not end."""
        hold: Any = MemoryHold(self.pool, UID, sealed)
        self.pool._do(hold, Extractive(), lambda: NOW, SEAL)
        assert len(self.pool.delivered) == 1

    def take(self, sealed: bytes) -> None:
        """The courier is given these bytes: its task has a result then, or waits in its file."""
        self.pool.done[UID] = Answer(UID, sealed)
        self.pool.results = [UID]
        self.courier.step()
        self.courier.close()
        assert self.queue.queued_count() + sum(path.startswith("worker/results/day") for path in self.disk.tree()) == 1


def inside(sealed: bytes) -> bytes:
    """Return the JSON in what was sealed."""
    return zlib.decompress(SEAL.unseal("cargo", UID, sealed))


def is_whole(sealed: bytes) -> bool:
    """Whether it can be opened."""
    try:
        SEAL.unseal("cargo", UID, sealed)
    except Unsealable:
        return False
    return True


def answer_inside() -> bytes:
    """Return the JSON in a good answer."""
    return zlib.decompress(rendered(Outcome(reserve=Reserve(calls=1, at="2026-01-31T02:00:00.000Z"), used=1, result=RESULT)))


def undone_inside() -> bytes:
    """Return the JSON in an answer that brings the task back."""
    return json.dumps({**json.loads(answer_inside()), "result": None, "why": "busy", "wait_s": 30}).encode()
