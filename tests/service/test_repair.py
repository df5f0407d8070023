"""`fsck --repair` and `restore`: what can be mended is mended, and no byte goes without a copy."""

from __future__ import annotations

import contextlib
import json

import pytest

from supervisor.protocol.errors import BadFile, BadRequest, NotFound
from supervisor.service.fsck import Repairs
from tests.world import World, message, talk


def settled(world: World) -> list[str]:
    """A workspace whose first days are written; returns what was said."""
    world.write(talk("2026-01-29T09:00", 4) + talk("2026-01-30T09:00", 4))
    world.settle()
    return world.archived_texts()


def test_a_sound_workspace_is_left_as_it_is(world):
    settled(world)
    before = world.tree(internal=True)
    assert world.repair() == Repairs()
    assert world.tree(internal=True) == before


@pytest.mark.parametrize(
    "broken", [lambda data: data[:-30], lambda data: b"\0" * len(data), lambda data: data[: len(data) // 2] + b"\0" * 50]
)
def test_words_of_a_broken_file_that_history_still_holds_are_filed_anew_and_the_broken_bytes_are_kept(world, broken):
    said = settled(world)
    path = world.root / min(world.dated_files())
    data = broken(path.read_bytes())
    path.write_bytes(data)
    assert not world.fsck().is_sound
    done = world.repair()
    assert (done.saved, done.set_aside) == (4, (path.name,))
    assert data in [kept.read_bytes() for kept in world.layout.quarantine.iterdir()]
    world.settle()
    assert world.archived_texts() == said
    assert world.fsck().is_sound
    assert not path.exists()  # a name is given once
    assert world.repair() == Repairs()


def test_of_a_broken_file_whose_words_are_nowhere_else_what_is_left_of_it_is_saved_and_the_rest_is_named(world):
    said = settled(world)
    world.write([])
    world.settle()
    world.layout.history_backup.unlink(missing_ok=True)
    path = world.root / min(world.dated_files())
    path.write_bytes(path.read_bytes()[:-12])
    assert world.repair().saved == 3
    world.settle()
    assert len(world.archived_texts()) == len(said) - 1
    assert len(world.fsck().lost) == 1


def test_words_whose_file_is_gone_are_filed_anew_from_the_history_s_backup(world):
    said = settled(world)
    world.write([])
    world.layout.history_backup.write_bytes(json.dumps(talk("2026-01-29T09:00", 4)).encode())
    (world.root / min(world.dated_files())).unlink()
    assert len(world.fsck().lost) == 4
    assert world.repair().saved == 4
    assert world.fsck().is_sound
    world.settle()
    assert world.archived_texts() == said


def test_what_was_saved_and_waits_to_be_filed_again_is_no_damage(world):
    said = settled(world)
    (world.root / min(world.dated_files())).unlink()
    assert world.repair().saved == 4
    assert world.fsck().damage == []
    world.settle()
    assert world.archived_texts() == said


def test_words_whose_file_is_gone_are_found_in_a_damaged_history_that_was_set_aside(world):
    said = settled(world)
    data = json.dumps(world.history(), ensure_ascii=False).encode()[:-1]
    world.write(data)
    world.round()  # a copy goes to quarantine
    world.write([])
    world.layout.history_backup.unlink()
    for name in world.dated_files():
        (world.root / name).unlink()
    assert world.repair().saved == 8
    world.settle()
    assert world.archived_texts() == said


def test_a_file_that_a_crash_left_under_two_names_is_shown_once(world):
    settled(world)
    path = world.root / min(world.dated_files())
    double = world.layout.original(path.name)
    double.parent.mkdir(parents=True)
    double.write_bytes(path.read_bytes())
    assert world.fsck().damage
    assert world.repair().doubles == (path.name,)
    assert world.fsck().is_sound


def test_two_files_of_one_name_that_differ_both_stay(world):
    settled(world)
    path = world.root / min(world.dated_files())
    double = world.layout.original(path.name)
    double.parent.mkdir(parents=True)
    double.write_bytes(path.read_bytes() + "\n我加的一句\n".encode())
    before = world.tree()
    assert world.repair().doubles == ()
    assert world.tree() == before


@pytest.mark.parametrize("step", range(12))
def test_a_repair_that_is_killed_anywhere_loses_nothing(world, step, monkeypatch):
    said = settled(world)
    path = world.root / min(world.dated_files())
    path.write_bytes(b"\0" * 100)
    count = iter(range(10_000))
    disk = world.ws.files.disk

    def dying(call):
        def or_die(*args):
            if next(count) == step:
                raise KeyboardInterrupt
            return call(*args)

        return or_die

    for name in ("create", "link", "rename", "unlink", "open_append"):
        monkeypatch.setattr(disk, name, dying(getattr(disk, name)))
    with contextlib.suppress(KeyboardInterrupt):
        world.repair()
    monkeypatch.undo()
    world.reopen()
    world.repair()
    world.settle()
    assert world.archived_texts() == said
    assert world.fsck().is_sound


# ── restore ──────────────────────────────────────────────────────────────────


def test_what_stands_before_the_damage_and_was_never_met_is_restored_as_well(world):
    said = settled(world)
    new = [
        message("新一", "2026-01-31T09:50", "钥匙在门口的花盆下面"),
        message("新二", "2026-01-31T09:51", "the last one is torn"),
    ]
    world.write(json.dumps([*world.history(), *new]).encode()[:-20])
    assert world.restore() == 9
    world.settle()
    assert world.archived_texts() == sorted([*said, "钥匙在门口的花盆下面"])


def test_a_first_history_that_is_damaged_is_put_together_when_a_person_asks_for_it(world):
    world.write('[{"role": "user", "text": "二十年的对话，最后少了一个括号"}'.encode())
    assert world.restore() == 0
    assert world.restore(unknown=True) == 1
    world.settle()
    assert world.archived_texts() == ["二十年的对话，最后少了一个括号"]


def test_a_damaged_history_that_holds_no_message_stays_as_it_is_whoever_asks(world):
    world.write(b"{{{")
    assert world.restore(unknown=True) == 0
    assert world.layout.history.read_bytes() == b"{{{"


def test_a_copy_of_the_history_gives_back_what_is_nowhere_else_and_nothing_twice(world, tmp_path):
    said = settled(world)
    copy = tmp_path / "备份.json"
    copy.write_text(json.dumps([*world.history(), message("老", "2026-01-02T09:00", "房租两千一")], ensure_ascii=False))
    world.write(world.history()[2:])
    world.round()
    assert world.add_missing(copy) == 1
    assert world.add_missing(copy) == 0
    world.settle()
    assert world.archived_texts() == sorted([*said, "房租两千一"])


def test_a_copy_that_is_cut_off_gives_what_stands_before_the_cut(world, tmp_path):
    world.write([])
    copy = tmp_path / "旧的.json"
    copy.write_bytes(json.dumps(talk("2026-01-30T09:00", 3)).encode()[:-10])
    assert world.add_missing(copy) == 2


def test_a_copy_that_holds_no_message_is_refused_and_one_that_is_not_there_too(world, tmp_path):
    world.write(talk("2026-01-30T09:00", 2))
    copy = tmp_path / "别的.json"
    copy.write_text("{}")
    with pytest.raises(BadRequest):
        world.add_missing(copy)
    with pytest.raises(NotFound):
        world.add_missing(tmp_path / "没有.json")
    world.write(b"[")
    copy.write_text("[1]")
    with pytest.raises(BadFile):
        world.add_missing(copy)
