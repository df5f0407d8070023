"""Anthropic's memory tool under the crash explorer: what was answered is done, and what it replaced or deleted is kept."""

import errno
import itertools
from typing import Any, ClassVar

import pytest

from recalld import Memory
from recalld.supervisor.interfaces.tools.anthropic_memory import AnthropicMemory
from recalld.supervisor.protocol.config import load
from recalld.supervisor.workspace import Workspace
from tests.crash.file_workloads import Case, Honest
from tests.crash.loss import MODES
from tests.crash.model_disk import ModelDisk
from tests.crash.test_files_crash import refuse_each_call, survive_each_crash
from tests.world import Clock, EventList, at

pytestmark = pytest.mark.proof

NOTE, NEW_NAME = "memory/计划.md", "memory/项目/计划.md"


class AgentEdits(Case):
    """An agent replaces words of the long-term file and of a note, makes a note, gives one another name, and deletes one."""

    start: ClassVar = {"memory.md": "花生\n".encode(), NOTE: "一\n".encode(), "memory/旧的.md": "旧的\n".encode()}
    steps: ClassVar = (
        {"command": "str_replace", "path": "/memories/memory.md", "old_str": "花生", "new_str": "花生和虾"},
        {"command": "str_replace", "path": "/memories/计划.md", "old_str": "一", "new_str": "一二"},
        {"command": "insert", "path": "/memories/memory.md", "insert_line": 1, "insert_text": "二"},
        {"command": "create", "path": "/memories/新的.md", "file_text": "新的\n"},
        {"command": "rename", "old_path": "/memories/计划.md", "new_path": "/memories/项目/计划.md"},
        {"command": "delete", "path": "/memories/旧的.md"},
    )
    folders: ClassVar = ("", ".recalld", ".recalld/previous", "memory", "memory/项目")
    #: The versions of each file, and after which step the version is there; before it, the one before.
    versions: ClassVar = {
        "memory.md": ((0, "花生\n"), (1, "花生和虾\n"), (3, "花生和虾\n二\n")),
        NOTE: ((0, "一\n"), (2, "一二\n"), (5, None)),
        NEW_NAME: ((0, None), (5, "一二\n")),
        "memory/新的.md": ((0, None), (4, "新的\n")),
        "memory/旧的.md": ((0, "旧的\n"), (6, None)),
    }

    def work(self, disk: ModelDisk) -> None:
        files = Honest(disk)
        clock = Clock(at("2026-01-31T10:00"))
        tool = AnthropicMemory(Memory(Workspace(disk.root, load(b"", {}), files, EventList(clock)), clock=clock))
        for step in self.steps:
            if tool(step).is_error:
                return
            disk.ack(step["command"])

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        found = []
        for path, versions in self.versions.items():
            data = tree[path].decode("utf-8", "replace") if path in tree else None
            texts = [text for n, (_, text) in enumerate(versions) if n + 1 == len(versions) or versions[n + 1][0] > len(acks)]
            if data not in texts:
                found.append(f"{path} is {data!r}, after {len(acks)} answers")
                continue
            before = itertools.takewhile(lambda text, now=data: text != now, (text for _, text in versions))
            found += [f"{old!r} of {path} is nowhere" for old in before if old and old.encode() not in tree.values()]
        return found


def test_anthropic_memory_has_done_what_it_answered_after_any_crash() -> None:
    survive_each_crash(AgentEdits())


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS])
def test_anthropic_memory_leaves_every_file_whole_after_any_io_error(error: int) -> None:
    refuse_each_call(AgentEdits, error, MODES)
