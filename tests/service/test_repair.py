"""`fsck --repair` and `restore`: what can be mended is mended, and no byte goes without a copy."""

from __future__ import annotations

import contextlib
import json

import pytest

from supervisor.archive.restore import add_missing, restore_history
from supervisor.protocol.errors import BadFile, BadRequest, NotFound
from supervisor.service.fsck import Repairs, fsck, repair
from tests.conftest import Desk, message, talk


def texts(desk: Desk) -> list[str]:
    return sorted(text for _, text in desk.filed())


def settled(desk: Desk) -> list[str]:
    """A workspace whose first days are written; returns what was said."""
    desk.write(talk("2026-01-29T09:00", 4) + talk("2026-01-30T09:00", 4))
    desk.settle()
    return texts(desk)


def test_a_sound_workspace_is_left_as_it_is(desk):
    settled(desk)
    before = desk.tree(machine=True)
    assert repair(desk.ws, desk.clock()) == Repairs()
    assert desk.tree(machine=True) == before


@pytest.mark.parametrize(
    "broken", [lambda data: data[:-30], lambda data: b"\0" * len(data), lambda data: data[: len(data) // 2] + b"\0" * 50]
)
def test_words_of_a_broken_file_that_history_still_holds_are_filed_anew_and_the_broken_bytes_are_kept(desk, broken):
    said = settled(desk)
    path = desk.root / min(desk.dated())
    data = broken(path.read_bytes())
    path.write_bytes(data)
    assert not fsck(desk.ws).is_sound
    done = repair(desk.ws, desk.clock())
    assert (done.saved, done.set_aside) == (4, (path.name,))
    assert data in [kept.read_bytes() for kept in desk.layout.quarantine.iterdir()]
    desk.settle()
    assert texts(desk) == said
    assert fsck(desk.ws).is_sound
    assert not path.exists()  # a name is given once
    assert repair(desk.ws, desk.clock()) == Repairs()


def test_of_a_broken_file_whose_words_are_nowhere_else_what_is_left_of_it_is_saved_and_the_rest_is_named(desk):
    said = settled(desk)
    desk.write([])
    desk.settle()
    desk.layout.history_backup.unlink(missing_ok=True)
    path = desk.root / min(desk.dated())
    path.write_bytes(path.read_bytes()[:-12])
    assert repair(desk.ws, desk.clock()).saved == 3
    desk.settle()
    assert len(texts(desk)) == len(said) - 1
    assert len(fsck(desk.ws).lost) == 1


def test_words_whose_file_is_gone_are_filed_anew_from_the_history_s_backup(desk):
    said = settled(desk)
    desk.write([])
    desk.layout.history_backup.write_bytes(json.dumps(talk("2026-01-29T09:00", 4)).encode())
    (desk.root / min(desk.dated())).unlink()
    assert len(fsck(desk.ws).lost) == 4
    assert repair(desk.ws, desk.clock()).saved == 4
    assert fsck(desk.ws).is_sound
    desk.settle()
    assert texts(desk) == said


def test_what_was_saved_and_waits_to_be_filed_again_is_no_damage(desk):
    said = settled(desk)
    (desk.root / min(desk.dated())).unlink()
    assert repair(desk.ws, desk.clock()).saved == 4
    assert fsck(desk.ws).damage == []
    desk.settle()
    assert texts(desk) == said


def test_words_whose_file_is_gone_are_found_in_a_damaged_history_that_was_set_aside(desk):
    said = settled(desk)
    data = json.dumps(desk.history(), ensure_ascii=False).encode()[:-1]
    desk.write(data)
    desk.round()  # a copy goes to quarantine
    desk.write([])
    desk.layout.history_backup.unlink()
    for name in desk.dated():
        (desk.root / name).unlink()
    assert repair(desk.ws, desk.clock()).saved == 8
    desk.settle()
    assert texts(desk) == said


def test_a_file_that_a_crash_left_under_two_names_is_shown_once(desk):
    settled(desk)
    path = desk.root / min(desk.dated())
    double = desk.layout.original(path.name)
    double.parent.mkdir(parents=True)
    double.write_bytes(path.read_bytes())
    assert fsck(desk.ws).damage
    assert repair(desk.ws, desk.clock()).doubles == (path.name,)
    assert fsck(desk.ws).is_sound


def test_two_files_of_one_name_that_differ_both_stay(desk):
    settled(desk)
    path = desk.root / min(desk.dated())
    double = desk.layout.original(path.name)
    double.parent.mkdir(parents=True)
    double.write_bytes(path.read_bytes() + "\n我加的一句\n".encode())
    before = desk.tree()
    assert repair(desk.ws, desk.clock()).doubles == ()
    assert desk.tree() == before


@pytest.mark.parametrize("step", range(12))
def test_a_repair_that_is_killed_anywhere_loses_nothing(desk, step, monkeypatch):
    said = settled(desk)
    path = desk.root / min(desk.dated())
    path.write_bytes(b"\0" * 100)
    count = iter(range(10_000))
    disk = desk.ws.files.disk

    def dying(call):
        def or_die(*args):
            if next(count) == step:
                raise KeyboardInterrupt
            return call(*args)

        return or_die

    for name in ("create", "link", "rename", "unlink", "open_append"):
        monkeypatch.setattr(disk, name, dying(getattr(disk, name)))
    with contextlib.suppress(KeyboardInterrupt):
        repair(desk.ws, desk.clock())
    monkeypatch.undo()
    desk.reopen()
    repair(desk.ws, desk.clock())
    desk.settle()
    assert texts(desk) == said
    assert fsck(desk.ws).is_sound


# ── restore ──────────────────────────────────────────────────────────────────


def test_what_stands_before_the_damage_and_was_never_met_is_restored_as_well(desk):
    said = settled(desk)
    new = [
        message("新一", "2026-01-31T09:50", "钥匙在门口的花盆下面"),
        message("新二", "2026-01-31T09:51", "the last one is torn"),
    ]
    desk.write(json.dumps([*desk.history(), *new]).encode()[:-20])
    assert restore_history(desk.ws, desk.clock()) == 9
    desk.settle()
    assert texts(desk) == sorted([*said, "钥匙在门口的花盆下面"])


def test_a_first_history_that_is_damaged_is_put_together_when_a_person_asks_for_it(desk):
    desk.write('[{"role": "user", "text": "二十年的对话，最后少了一个括号"}'.encode())
    assert restore_history(desk.ws, desk.clock()) == 0
    assert restore_history(desk.ws, desk.clock(), unknown=True) == 1
    desk.settle()
    assert texts(desk) == ["二十年的对话，最后少了一个括号"]


def test_a_damaged_history_that_holds_no_message_stays_as_it_is_whoever_asks(desk):
    desk.write(b"{{{")
    assert restore_history(desk.ws, desk.clock(), unknown=True) == 0
    assert desk.layout.history.read_bytes() == b"{{{"


def test_a_copy_of_the_history_gives_back_what_is_nowhere_else_and_nothing_twice(desk, tmp_path):
    said = settled(desk)
    copy = tmp_path / "备份.json"
    copy.write_text(json.dumps([*desk.history(), message("老", "2026-01-02T09:00", "房租两千一")], ensure_ascii=False))
    desk.write(desk.history()[2:])
    desk.round()
    assert add_missing(desk.ws, copy, desk.clock()) == 1
    assert add_missing(desk.ws, copy, desk.clock()) == 0
    desk.settle()
    assert texts(desk) == sorted([*said, "房租两千一"])


def test_a_copy_that_is_cut_off_gives_what_stands_before_the_cut(desk, tmp_path):
    desk.write([])
    copy = tmp_path / "旧的.json"
    copy.write_bytes(json.dumps(talk("2026-01-30T09:00", 3)).encode()[:-10])
    assert add_missing(desk.ws, copy, desk.clock()) == 2


def test_a_copy_that_holds_no_message_is_refused_and_one_that_is_not_there_too(desk, tmp_path):
    desk.write(talk("2026-01-30T09:00", 2))
    copy = tmp_path / "别的.json"
    copy.write_text("{}")
    with pytest.raises(BadRequest):
        add_missing(desk.ws, copy, desk.clock())
    with pytest.raises(NotFound):
        add_missing(desk.ws, tmp_path / "没有.json", desk.clock())
    desk.write(b"[")
    copy.write_text("[1]")
    with pytest.raises(BadFile):
        add_missing(desk.ws, copy, desk.clock())
