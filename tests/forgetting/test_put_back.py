"""What is put back after a forgetting (git checkout, a synchroniser) is shown by nothing, also before the next round."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.protocol.paths import Period
from recalld.supervisor.storage.errors import NotFound
from tests.forgetting.test_forget import MESSAGES, SECRET, forget, where
from tests.world import World, at, message

NOTE = "memory/阁楼.md"
WORDS = ("山茶花", "kestrel")


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "w", at("2026-01-31T10:00"))
    world.write([*MESSAGES[:3], MESSAGES[4]])
    world.put(NOTE, "阁楼的梯子在车库。\n".encode())
    world.settle()
    return world


def everything(world: World) -> dict[str, bytes]:
    return {str(p.relative_to(world.paths.root)): p.read_bytes() for p in world.paths.root.rglob("*") if p.is_file()}


def before_forgetting(world: World) -> dict[str, bytes]:
    """Forget both secrets, and return the files as they were."""
    before = everything(world)
    for word in WORDS:
        forget(world, "match", word)
    world.settle()
    return before


def put_back(world: World, before: dict[str, bytes], *below: str) -> list[str]:
    """Put back each file of *before* below these folders that is another one now, as git checkout does; return their paths."""
    changed = [name for name in before if name.startswith(below) and everything(world).get(name) != before[name]]
    for name in changed:
        place = world.paths.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(before[name])
    return changed


def seen(world: World) -> str:
    """What search, the block before an answer, lines of files, days, summaries and receipts show."""
    memory = Memory(world.paths.root, environ={}, clock=world.clock)
    shown = [
        str(memory.search(words)) for words in ("暗号是什么", "山茶花十七号", "door code hunter2-kestrel", "钢琴凳", "梯子")
    ]
    shown += [str(memory.context("暗号是山茶花吗？ hunter2-kestrel 钢琴凳 梯子"))]
    paths = sorted(str(path.relative_to(world.root)) for path in world.root.rglob("*.md") if "memory" in str(path))
    reads: list[tuple[Callable[[str], object], str]] = [(memory.get, path) for path in paths]
    reads += [(read, label) for read in (memory.day, memory.summary) for label in ("2026-01-10", "2026-01-30")]
    for read, name in reads:
        with suppress(NotFound):
            shown.append(str(read(name)))
    return "\n".join(shown)


def test_summary_put_back_shows_no_forgotten_word(world: World) -> None:
    before = before_forgetting(world)
    assert "memory/summary/2026-01-10.md" in put_back(world, before, "memory/summary/")
    assert not [word for word in WORDS if word in seen(world)]
    assert world.ws.memory.read_summary(Period("2026-01-10")) == (None, None)


def test_dated_file_put_back_shows_the_other_messages_alone(world: World) -> None:
    before = before_forgetting(world)
    [back] = put_back(world, before, "memory/2026-01-10", "memory/originals/2026-01/2026-01-10")
    assert not [word for word in WORDS if word in seen(world)]
    assert "泳镜" in seen(world)
    (world.paths.root / back).write_bytes(before[back].replace("泳镜".encode(), "泳帽".encode()))  # an edited copy
    assert not [word for word in WORDS if word in seen(world)]
    world.settle()
    assert [name for name in where(world, *WORDS) if not name.startswith("turns/")] == []
    assert world.fsck().lost == []


def test_history_and_drop_box_put_back_show_no_forgotten_message(world: World) -> None:
    before = everything(world)
    forget(world, "match", "山茶花")
    world.settle()
    put_back(world, before, "history.json")
    world.drop("old.json", message("m-secret-0001", "2026-01-10T09:00", SECRET, session="home"))
    assert "山茶花" not in seen(world)
    assert SECRET not in str(world.ws.shown_history.read())


def test_note_and_receipt_put_back_are_not_shown(world: World) -> None:
    Memory(world.paths.root, environ={}, clock=world.clock).inject("阁楼的梯子在哪里？")
    before = everything(world)
    [receipt] = [name for name in before if name.startswith("turns/")]
    forget(world, "file", NOTE)
    assert sorted(put_back(world, before, "memory/阁楼", "turns/")) == sorted([receipt, NOTE])
    assert "梯子" not in seen(world)
    with pytest.raises(NotFound):
        world.ws.receipts.read(receipt.removeprefix("turns/").removesuffix(".json"))
    world.settle()
    assert not {NOTE, receipt} & everything(world).keys()


def test_round_keeps_no_forgotten_word_as_previous(world: World) -> None:
    before = before_forgetting(world)
    put_back(world, before, "memory/summary/", ".recalld/previous/")
    world.write([*world.history(), message("m-late-000001", "2026-01-10T11:00", "晚到的一句：窗台要浇水。")])
    world.settle()
    assert where(world, *WORDS) == []
    assert "窗台" in world.summary("2026-01-10")


def test_previous_keeps_no_version_that_was_forgotten(world: World) -> None:
    before = everything(world)["memory/summary/2026-01-10.md"]
    forget(world, "match", "山茶花")
    world.ws.replaced_texts.keep("2026-01-10.0123456789ab.md", before)
    assert not list(world.paths.previous.iterdir())


@pytest.mark.parametrize("names", [("history.json",), ("history.json.bak",), ("history.json", "history.json.bak")])
def test_history_or_backup_put_back_has_no_forgotten_word_after_a_round(world: World, names: tuple[str, ...]) -> None:
    before = (world.root / "history.json.bak").read_bytes()
    forget(world, "match", "山茶花")
    world.settle()
    for name in names:
        world.put(name, before)
    world.round()
    assert where(world, "山茶花") == []
    assert [entry["id"] for entry in json.loads((world.root / names[0]).read_bytes())] == ["m-secret-0002", "m-plain-00001"]
