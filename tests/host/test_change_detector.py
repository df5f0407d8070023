"""What file events tell, and what a poll notices without them: history, drop-box, results, and every file of memory."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from queue import SimpleQueue

import pytest

from recalld.supervisor.host.watcher import ChangeDetector, watch
from tests.patience import PATIENCE_S


@pytest.fixture
def look(world):
    world.put("memory.md", "2026-01-20|聊天|用户对花生过敏\n")
    for path in ("memory/项目/部署.md", "memory/2026-01-28-nas.md", "memory/originals/2025-12/2025-12-01-cat.md"):
        file = world.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("备份在 nas 上。", encoding="utf-8")
        os.utime(file, (1_700_000_000, 1_700_000_000))  # a clock with coarse ticks could hide a quick edit
    found = ChangeDetector(world.files.disk, world.paths, world.ws.task_queue)
    assert (found.tree_changed(), found.near_changed(), found.tasks_changed()) == (True, True, True)
    assert (found.tree_changed(), found.near_changed(), found.tasks_changed()) == (False, False, False)
    return found


CHANGES = {
    "a new note of any name": lambda root: (root / "memory/想法 2.md").write_text("换成 rsync", encoding="utf-8"),
    "a note in a new folder": lambda root: (
        (root / "memory/读书").mkdir(),
        (root / "memory/读书/三体.md").write_text("第三章", encoding="utf-8"),
    ),
    "an edit": lambda root: (root / "memory/项目/部署.md").write_text("改到凌晨四点。", encoding="utf-8"),
    "an edit of as many bytes": lambda root: (root / "memory/2026-01-28-nas.md").write_text(
        "备份在 nbs 上。", encoding="utf-8"
    ),
    "a save by rename": lambda root: (
        (root / "memory/项目/.部署.md.swp").write_text("改到凌晨四点。", encoding="utf-8"),
        os.replace(root / "memory/项目/.部署.md.swp", root / "memory/项目/部署.md"),
    ),
    "another name": lambda root: os.rename(root / "memory/项目/部署.md", root / "memory/项目/上线.md"),
    "a folder of another name": lambda root: os.rename(root / "memory/项目", root / "memory/工作"),
    "a deleted file": lambda root: (root / "memory/originals/2025-12/2025-12-01-cat.md").unlink(),
    "a deleted folder": lambda root: shutil.rmtree(root / "memory/项目"),
    "the long-term file": lambda root: (root / "memory.md").write_text("2026-01-21|聊天|养了一只猫\n", encoding="utf-8"),
    "the other spelling of it": lambda root: (root / "MEMORY.md").write_text("笔记", encoding="utf-8"),
    "a summary": lambda root: (root / "memory/summary/2026-01-15.md").write_text("## 备份", encoding="utf-8"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_change_detector_reports_each_memory_change_once(world, look, change):
    CHANGES[change](world.root)
    assert look.tree_changed()
    assert not look.tree_changed()
    assert not look.near_changed()


@pytest.mark.parametrize("name", ["memory/.git", "memory/部署.md~", "memory/.部署.md.swp", "memory/图.png", "turns"])
def test_change_detector_ignores_files_that_are_not_memory(world, look, name):
    path = world.root / name
    path.write_bytes(b"x")
    assert not look.tree_changed()


def test_change_detector_reports_the_end_of_a_models_pause(world, look):
    world.ws.task_queue.note_provider({"failures": 0})
    assert look.tasks_changed()
    assert not look.tasks_changed()


def test_watch_tells_of_messages_and_requests(world):
    heard: SimpleQueue[str] = SimpleQueue()
    with ExitStack() as ended:
        ended.callback(watch(world.paths, heard.put))
        for path in (world.paths.archive_request, world.paths.drop_box / "1.json", world.paths.root / "inbox.json"):
            path.write_bytes(b"{}")
            while heard.get(timeout=PATIENCE_S) != path.name:
                pass
