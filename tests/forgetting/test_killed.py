"""A forgetting that is killed at any operation of the disk goes on in the next round, and then no word is left."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from recalld.supervisor.storage.disk import RealDisk
from tests.forgetting.test_forget import forget, where
from tests.world import World, at, message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.proof
#: Operations that change the disk.
CHANGES = ("create", "open_append", "write", "sync", "rename", "rename_new", "link", "unlink", "sync_folder")


class Killed(BaseException):
    """The process is gone."""


class DyingDisk(RealDisk):
    """A disk under a process that is killed before its operation of this number; nothing works after that."""

    def __init__(self, last: int) -> None:
        self.count, self.last = 0, last

    def __getattribute__(self, name: str) -> Any:
        call = super().__getattribute__(name)
        if name not in CHANGES:
            return call
        self.count += 1
        if self.count > self.last:
            raise Killed
        return call


@pytest.fixture
def lived(tmp_path: Path) -> World:
    world = World(tmp_path / "lived", at("2026-01-31T10:00"))
    world.model.script = world.model.one_line_each
    world.write(
        [
            message("m-secret-0001", "2026-01-10T09:00", "暗号是山茶花十七号", session="home"),
            message("m-plain-00001", "2026-01-10T09:10", "周五去游泳馆，带上泳镜。", session="home"),
            message("m-secret-0002", "2026-01-30T10:10", "再说一遍：暗号是山茶花十七号。"),
            message("m-plain-00002", "2026-01-30T09:10", "The launch is on 15 December in Lisbon."),
        ]
    )
    world.settle()
    world.ws.long_term.append("web-chat", "山茶花是暗号", world.clock())
    world.refresh()
    world.save_receipt(world.inject("暗号是什么？"))
    world.ws.index.close()
    return world


def killed_at_each(lived: World, folder: Path, act: Callable[[World], object]) -> Iterator[tuple[int, World]]:
    """
    Yield how many operations *act* had done when it was killed, and the workspace after the next round, for each that had begun.

    Nothing is lost or damaged in any of them.
    """
    killed = 0
    while True:
        root = folder / "one"
        shutil.copytree(lived.root, root)
        world = World.process(root, lived.clock, lived.events, lived.ws.config, DyingDisk(killed))
        try:
            act(world)
        except Killed:
            killed += 1
        else:
            break
        again = World.process(root, lived.clock, lived.events, lived.ws.config, RealDisk())
        again.start()
        if again.ws.journal.tombstones.acts():
            again.settle("due")
            yield killed, again
        ledger = again.fsck()
        assert (ledger.lost, ledger.damage) == ([], []), killed
        shutil.rmtree(root)
    assert killed > 50


def test_forget_killed_at_any_operation_is_finished_by_the_next_round(lived: World, tmp_path: Path) -> None:
    for killed, again in killed_at_each(lived, tmp_path, lambda world: forget(world, "match", "山茶花")):
        assert where(again, "山茶花", "shanchahua") == [], killed
        assert sorted(m["id"] for m in again.history()) == ["m-plain-00001", "m-plain-00002"], killed
