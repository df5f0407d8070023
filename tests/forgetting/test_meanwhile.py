"""A file that another program changes while it is cleaned loses the words all the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.operations import forget as operations
from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.storage.files import Files
from tests.world import World, at, message

SECRET = "暗号是山茶花十七号"  # noqa: S105 - a message
NEXT = {"text": "周五去游泳馆，带上泳镜。"}
CHAT = ".recalld/sessions/chat-0123456789abcdef.jsonl"


def line(*values: Any) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def lived(tmp_path: Path) -> World:
    world = World(tmp_path / "w", at("2026-01-31T10:00"))
    world.write([message("m-secret-0001", "2026-01-10T09:00", SECRET)])
    world.settle()
    world.put("log.jsonl", line({"files": [*world.dated_files()]}))
    world.put(CHAT, line({"format": 1}, {"text": SECRET}))
    world.put(".recalld/acts.jsonl", line({"text": SECRET}))
    world.put("inbox.json", line([{"text": SECRET}]))
    return world


def forget(world: World, **more: Any) -> Any:
    return perform(operations.forget, world.ws, operations.ForgetRequest(yes=True, **more), Caller(clock=world.clock))


@pytest.mark.parametrize("name", ["log.jsonl", ".recalld/acts.jsonl", CHAT, "inbox.json"])
def test_file_that_changes_while_it_is_cleaned_keeps_no_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    world = lived(tmp_path)
    changed, replace = [], Files.replace

    def replaced(files: Files, path: Path, *others: Any, **more: Any) -> None:
        if path == world.root / name and len(changed) < 2:
            before = path.read_text()
            changed.append(before)
            path.write_text(line([*json.loads(before), NEXT]) if name == "inbox.json" else before + line(NEXT))
        replace(files, path, *others, **more)

    monkeypatch.setattr(Files, "replace", replaced)
    assert forget(world, by="match", value="山茶花").done
    data = (world.root / name).read_text()
    assert (len(changed), data.count("游泳馆")) == (2, 2)
    assert ["山茶花" in data, "shanchahua" in data] == [False, False]
    assert world.ws.journal.tombstones.unfinished() == ()


@pytest.mark.parametrize(
    ("name", "other"),
    [
        (".recalld/quarantine/dropped.0123456789ab", ".recalld/quarantine/copy"),
        (".recalld/previous/2025-12.md.1", ".recalld/previous/2025-12.md.2"),
        (".recalld/replaced/memory.md.1", ".recalld/replaced/memory.md.2"),
        ("turns/t-1.json", "turns/t-2.json"),
    ],
)
def test_copy_of_a_forgotten_file_under_another_name_goes(tmp_path: Path, name: str, other: str) -> None:
    world = World(tmp_path / "w", at("2026-01-31T10:00"))
    world.put(name, SECRET)
    assert forget(world, by="match", value="山茶花").done
    world.put(other, SECRET)
    world.forward(minutes=1)
    world.round()
    assert not (world.root / other).exists()
