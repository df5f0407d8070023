"""Old dated files go to trash/ where a model's summary covers them: nothing else does, nothing is lost, and it can be undone."""

import re
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.operations.prune import prune
from recalld.supervisor.operations.undo import undo
from recalld.supervisor.storage.errors import BadRequest
from tests.world import WITH_MODEL, WITHOUT_MODEL, Diarist, World, at, message

SAID = (
    message("m-may-000001", "2025-05-10T09:00", "花生过敏，点外卖备注一下。"),
    message("m-may-000002", "2025-05-10T09:05", "暗号是山茶花十七号。"),
    message("m-jan-000001", "2026-01-10T09:00", "周五去游泳馆，带上泳镜。"),
    message("m-jan-000002", "2026-01-30T09:00", "The launch is on 15 December."),
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = Diarist(tmp_path / "w", at("2026-01-31T10:00"), f'language = "en"\n{WITH_MODEL}')
    world.write([*SAID])
    world.settle()
    return world


def do(world: World, operation: Any, request: Any) -> Any:
    return perform(operation, world.ws, request, Caller(clock=world.clock, interface="command"))


def memory_files(world: World) -> dict[str, bytes]:
    return {path.relative_to(world.root).as_posix(): path.read_bytes() for path in (world.root / "memory").rglob("*.md")}


@pytest.mark.feature("003.31")
def test_prune_moves_what_a_summary_covers_and_nothing_else(world: World) -> None:
    before = memory_files(world)
    shown = do(world, prune, {"dry_run": True})
    assert memory_files(world) == before
    done = do(world, prune, {})
    assert shown.files == done.files
    assert [name[:10] for name in done.files] == ["2025-05-10"]
    assert [path.name for path in world.paths.trash.iterdir()] == [*done.files]
    assert {name for name in before if "/2025-05-10" in name} == before.keys() - memory_files(world).keys()


def test_pruned_messages_are_neither_lost_nor_written_again(world: World) -> None:
    do(world, prune, {})
    world.write([])
    world.reopen().settle()
    world.repair()
    world.settle()
    ledger = world.fsck()
    assert (ledger.lost, ledger.damage, ledger.pruned, ledger.seen) == ([], [], 2, 4)
    assert world.verdict()[1]
    assert not [name for name in memory_files(world) if "/2025-05-10" in name]


def test_undo_of_a_prune_brings_the_files_back(world: World) -> None:
    before = memory_files(world)
    do(world, prune, {})
    world.settle()
    (act,) = re.findall(r"p-[0-9a-f]{8}", (world.read("CHANGES.md") or b"").decode())
    assert do(world, undo, {"id": act}).done
    assert memory_files(world) == before
    world.settle()
    assert world.fsck().pruned == 0


@pytest.mark.feature("003.31")
@pytest.mark.parametrize("request_", [{"recent_days": 0}, {"keep_longterm": False, "summary_days": 1}])
def test_prune_never_takes_what_is_not_covered(world: World, request_: dict[str, Any]) -> None:
    world.put("memory.md", "2020-01-01|web-chat|x\n")
    for path in world.paths.summaries.iterdir():
        path.unlink()
    before = memory_files(world)
    done = do(world, prune, request_)
    assert done.files == ()
    assert done.uncovered
    assert memory_files(world) == before
    assert world.read("memory.md")


def test_an_extract_covers_nothing_for_a_prune(tmp_path: Path) -> None:
    world = World(tmp_path / "w", at("2026-01-31T10:00"), WITHOUT_MODEL)
    world.model.extract = True
    world.write([*SAID])
    world.settle()
    assert do(world, prune, {}).files == ()


def test_summary_of_a_pruned_day_is_never_made_anew(world: World) -> None:
    do(world, prune, {})
    before = world.read("memory/summary/2025-05.md")
    world.add(message("m-late-00001", "2025-05-10T11:00", "泳池九点开门。"))
    world.settle()
    world.refresh()
    assert world.read("memory/summary/2025-05.md") == before
    assert "泳池九点开门。" in world.found_texts("泳池几点开门？")[0]
    with pytest.raises(BadRequest, match="pruned"):
        world.redo("2025-05")


def test_bring_back_takes_no_name_that_leads_out_of_the_trash(world):
    world.write([message("1", "2026-01-20T09:00")])
    (world.root / "trash").mkdir(mode=0o700)
    assert not world.ws.trash.bring_back(["../history.json"])
    assert [one["id"] for one in world.history()] == ["1"]
