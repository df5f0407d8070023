"""Files that another program has not finished, that are cut off, or that are no JSON: only the words go, and what has them."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from tests.forgetting.test_forget import SECRET, forget, where
from tests.world import World, at, message

if TYPE_CHECKING:
    from pathlib import Path

WORDS = message("m-secret-0001", "2026-01-10T09:00", SECRET)
OTHER = message("m-plain-00001", "2026-01-10T09:10", "周五去游泳馆，带上泳镜。")


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "w", at("2026-01-31T10:00"))
    world.write([WORDS])
    world.settle()
    return world


@pytest.mark.parametrize("name", [".phone.json", "phone.json.tmp"])
def test_drop_box_file_under_way_is_left_and_loses_the_words_later(world: World, name: str) -> None:
    path = world.put(f"inbox.d/new/{name}", json.dumps([OTHER, WORDS]))
    assert forget(world, "match", "山茶花").done
    path.rename(path.with_name("phone.json"))
    world.settle()
    assert where(world, "山茶花") == []
    assert [entry["id"] for entry in world.history()] == ["m-plain-00001"]


def test_preview_says_which_drop_box_files_are_deleted(world: World) -> None:
    world.drop("phone.json", [OTHER, WORDS])
    world.put("inbox.d/new/half.json", json.dumps([OTHER, WORDS])[:-1])
    world.put("inbox.d/new/other.json", json.dumps([OTHER])[:-1])
    sentences = [str(spot.sentence) for spot in forget(world, "match", "山茶花", yes=False).places if spot.place == "drop_box"]
    assert sentences == ["written again without the words: inbox.d/new/phone.json", "deleted: inbox.d/new/half.json"]
    forget(world, "match", "山茶花")
    assert sorted(path.name for path in (world.root / "inbox.d/new").iterdir()) == ["other.json", "phone.json"]


def test_preview_takes_no_lock_of_the_history(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.put("turns/.t-1.json.777-1.tmp", SECRET)
    monkeypatch.setattr(world.ws.history, "lock", None)
    assert "temporary" in [spot.place for spot in forget(world, "match", "山茶花", yes=False).places]


@pytest.mark.parametrize("end", [12, 60, -8, None])
def test_packed_log_that_is_cut_off_or_no_gzip_is_deleted(world: World, end: int | None) -> None:
    packed = gzip.compress(json.dumps({"file": f"memory/{world.names()[0]}"}).encode())
    name = "log-20260127T000000.jsonl.gz"
    world.put(name, b"no gzip" if end is None else packed[:end])
    places = {spot.place: str(spot.sentence) for spot in forget(world, "match", "山茶花", yes=False).places}
    assert places["log"] == f"deleted: {name}"
    assert (forget(world, "match", "山茶花").done, (world.root / name).exists()) == (True, False)
