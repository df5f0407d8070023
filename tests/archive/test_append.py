"""`append`: a message is durable before its id is returned, whatever another program does next."""

import itertools
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.archive.append import append
from recalld.supervisor.interfaces.cli.append import read_lines
from recalld.supervisor.storage.errors import BadRequest, NewerFormat
from tests.world import World, at, message, talk

NOW = at("2026-01-31T10:00")
DAY = timedelta(days=1)


def add(world: World, *raws: dict[str, Any]) -> list[str]:
    return append(world.ws, raws, world.clock(), bytes(range(10 * len(raws))))


def say(text: str = "我对花生过敏", **more: Any) -> dict[str, Any]:
    return {"role": "user", "text": text, **more}


@pytest.mark.parametrize("raw", [say(createdAt="2026-01-30T09:00:00+08:00"), say(id="1"), say(id=0)])
@pytest.mark.parametrize("settled", [False, True])
def test_append_adds_a_line_that_stands_twice_or_is_sent_again_once(world, raw, settled):
    first = add(world, raw, say("别的话"), raw)
    assert len(world.history()) == 2
    if settled:
        world.settle()
        world.write([])
    world.clock.forward(minutes=1)
    assert add(world, raw, raw) == [first[0]] * 2 == [first[2]] * 2
    world.settle()
    assert (sorted(world.archived_texts()), world.fsck().seen) == (sorted(["我对花生过敏", "别的话"]), 2)


@pytest.mark.parametrize("raw", [{}, {"role": "user"}, {"text": "好"}, {"role": "user", "text": 7}, say(id=[1])])
def test_append_refuses_an_invalid_message_and_writes_nothing(world, raw):
    with pytest.raises(BadRequest):
        add(world, say(), raw)
    assert not world.paths.history.exists()


@pytest.mark.parametrize("make", [os.mkdir, lambda path: os.symlink("elsewhere", path)], ids=["folder", "link"])
def test_append_uses_the_drop_box_when_the_lock_is_no_file(world, make):
    world.write(talk("2026-01-31T09:00", 2))
    world.paths.history_lock.unlink(missing_ok=True)
    make(world.paths.history_lock)
    (identity,) = world.append({"role": "user", "text": "锁是一个文件夹。"})
    assert len(world.dropped()) == 1
    world.round()
    assert "history.json.lock" in str(world.events.of("degraded")[0]["why"])
    world.paths.history_lock.rename(world.root / "away")
    world.round()
    assert (world.ids()[-1], world.dropped()) == (identity, [])


def test_append_uses_the_drop_box_when_history_keeps_changing(world, monkeypatch):
    """Each time that we were about to write, the file was another: the words must not wait for their luck."""
    replace, count = world.ws.files.replace, itertools.count()

    def too_late(path: Path, *rest: Any, **more: Any) -> None:
        if path == world.paths.history:
            world.write([message(f"别人-{next(count)}", "2026-01-31T09:00")])
        replace(path, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(world.ws.files, "replace", too_late)
        (identity,) = add(world, say())
    assert next(count) > 2
    assert identity not in [raw["id"] for raw in world.history()]
    world.round()
    assert identity in [raw["id"] for raw in world.history()]


def test_append_detects_a_newer_journal_created_while_it_runs(world):
    add(world, say())
    add(world, say())
    world.paths.seen.unlink()
    world.paths.seen.write_text('{"recalld": 2}\n')  # ext4 gives it the inode of the old one
    with pytest.raises(NewerFormat):
        add(world, say())
    assert world.paths.seen.read_text() == '{"recalld": 2}\n'


@pytest.mark.parametrize("identity", ["../../../越界", "/tmp/越界", "a/b", "有\0的", "长" * 200, "\ud800", "."])
def test_append_writes_no_file_outside_the_drop_box_for_any_id(world, identity):
    """An id is text of another program and may hold anything."""
    world.write(b"[")
    before = set(world.root.parent.iterdir())
    assert add(world, say(id=identity)) == [identity]
    assert set(world.root.parent.iterdir()) == before
    assert len(list(world.paths.drop_box.iterdir())) == 1
    world.write([])
    world.round()
    assert [raw["id"] for raw in world.history()] == [identity]


# ── lines ────────────────────────────────────────────────────────────────────


def test_read_lines_goes_on_after_a_bad_line_and_names_it(world):
    lines = [
        b'{"role": "user", "text": "a"}\n',
        b"\n",
        b'{"role": "user"}',
        b"[",
        '{"role": "user", "text": "第五行"}'.encode(),
        b"\xff",
        b'{"role": "user", "text": " "}',
        b'{"role": "tool", "content": "", "tool_call_id": "c1"}',
    ]
    found, faults, odd_times = read_lines(lines, world.ws.zone, 41, NOW, DAY)
    assert [raw.get("text") for raw in found] == ["a", "第五行", None]
    assert faults == [
        "line 43 was left out: it has no text.",
        "line 44 was left out: it is not JSON at column 2.",
        "line 46 was left out: it is not UTF-8 at byte 0.",
        "line 47 was left out: it is empty; give the words of the message.",
    ]
    assert odd_times == []
    assert read_lines([], world.ws.zone, 1, NOW, DAY) == ([], [], [])


@pytest.mark.parametrize(
    ("time", "why"),
    [
        ('"nope"', "'nope' is no time; write it like 2026-01-28T09:02:00+08:00"),
        ("12", "12 is before 2000, and no message is that old"),
        (
            '"2099-01-01"',
            "'2099-01-01' is too far ahead: no time after 2026-02-01T10:00+08:00 is believed (archive.future_limit)",
        ),
        ('"2026-01-28"', ""),
        ("null", ""),
    ],
)
def test_read_lines_tells_of_a_time_that_is_not_believed(world, time, why):
    line = f'{{"role": "user", "text": "我对花生过敏", "createdAt": {time}}}'.encode()
    found, faults, odd_times = read_lines([line], world.ws.zone, 7, NOW, DAY)
    assert (len(found), faults) == (1, [])
    assert odd_times == ([f"line 7 was added with the present time: {why}."] if why else [])
