"""memory/: what lies there, what is a person's own, and moves that never replace."""

from __future__ import annotations

import os
from datetime import date

import pytest

from supervisor.protocol.errors import Changed
from supervisor.protocol.period import Period
from supervisor.protocol.summary_file import Summary
from tests.world import FaultyDisk, World, message

DAY = Period("2026-01-10")


def filed(world: World, day: str = "2026-01-10", text: str = "重启 nginx") -> str:
    world.add(message(f"{day}-{text}", f"{day}T09:00", text))
    world.round("all")
    return world.ws.memory.dated()[-1].name


def summary(text: str = "## 部署") -> Summary:
    return Summary(
        period="2026-01-10", zone="Asia/Shanghai", created="2026-01-31T02:00:00.000Z", text=text, sources=(), provider="scribe"
    )


def test_a_dated_file_and_what_is_known_of_it(world):
    name = filed(world)
    (found,) = world.ws.memory.dated()
    assert (found.name, found.day, found.count, found.ours, found.original) == (name, date(2026, 1, 10), 1, True, False)
    assert found.created == world.clock()
    assert world.ws.memory.path_of(name) == world.layout.dated(name)
    assert [block.text for block in world.ws.memory.blocks(name)] == ["重启 nginx"]


def test_a_file_is_found_wherever_it_lies(world):
    name = filed(world)
    before = world.ws.memory.dated()[0].source
    world.ws.memory.move_to_originals(name)
    (found,) = world.ws.memory.dated()
    assert (found.original, found.source) == (True, before)
    assert world.ws.memory.path_of(name) == world.layout.original(name)
    assert len(world.ws.memory.blocks(name)) == 1
    world.ws.memory.move_to_originals(name)
    assert len(world.ws.memory.dated()) == 1


def test_a_stray_file_among_the_originals_stops_nothing(world):
    """A desktop puts its files into every folder that it shows: `.DS_Store`, `desktop.ini`."""
    name = filed(world)
    world.settle()
    stray = world.layout.originals / ".DS_Store"
    stray.write_bytes("桌面".encode())
    world.reopen()
    assert world.round("all").errors == {}
    assert [file.name for file in world.ws.memory.dated()] == [name]
    assert name in world.ws.memory.names()
    assert stray.read_bytes() == "桌面".encode()


def test_what_is_known_of_a_file_ends_with_it(world):
    name = filed(world)
    other = filed(world, "2026-01-11", "月饼订两盒")
    assert [file.name for file in world.ws.memory.dated()] == [name, other]
    path = world.layout.dated(name)
    path.rename(path.with_suffix(".txt"))
    path.symlink_to(path.with_suffix(".txt"))
    assert [file.name for file in world.ws.memory.dated()] == [other]
    path.unlink()
    path.with_suffix(".txt").rename(path)
    assert [file.name for file in world.ws.memory.dated()] == [name, other]


@pytest.mark.parametrize(
    "name",
    [
        "我的笔记.md",
        "README.md",
        ".2026-01-10-x.md.swp",
        "2026-01-10-x.md~",
        "2026-02-30-x.md",
        "2026-01-10-x.txt",
        "4913",
        ".git",
    ],
)
def test_other_files_are_not_looked_at(world, name):
    (world.layout.memory / name).write_text("别的")
    assert world.ws.memory.dated() == ()


def test_a_person_s_note_named_like_a_dated_file_is_theirs(world):
    world.note("2026-01-10-想法.md", "换成 caddy")
    (found,) = world.ws.memory.dated()
    assert (found.ours, found.created, found.count) == (False, None, 0)
    assert world.ws.memory.blocks(found.name) == ()
    assert world.ws.memory.text(found.name) == "换成 caddy"


def test_a_note_in_another_encoding_is_no_trouble(world):
    world.note("2026-01-10-note.md", "换成".encode("gb18030"))
    assert [file.ours for file in world.ws.memory.dated()] == [False]
    assert world.ws.memory.text("2026-01-10-note.md")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/hostname", path)])
def test_what_is_no_plain_file_is_passed_over(world, make):
    """A28: links out of the tree."""
    make(world.layout.memory / "2026-01-10-x.md")
    make(world.layout.summaries / "2026-01-10.md")
    assert (world.ws.memory.dated(), world.ws.memory.summaries()) == ((), {})


def test_a_file_that_changes_is_read_again_and_one_that_does_not_is_not(world):
    disk = FaultyDisk()
    filed(world)
    world.reopen(disk=disk)
    first = world.ws.memory.dated()
    count = disk.count("read", "2026-")
    assert world.ws.memory.dated() == first
    assert disk.count("read", "2026-") == count
    path = world.layout.dated(first[0].name)
    path.write_text(path.read_text().replace("nginx", "caddy"))
    assert world.ws.memory.dated()[0].digest != first[0].digest


def test_a_dated_file_is_made_once(world):
    name = filed(world)
    before = world.layout.dated(name).read_bytes()
    with pytest.raises(FileExistsError):
        world.ws.memory.write_dated(name, b"x")
    assert world.layout.dated(name).read_bytes() == before


def test_a_move_never_replaces(world):
    name = filed(world)
    other = world.layout.original(name)
    other.parent.mkdir(parents=True)
    other.write_text("别人先放的")
    world.ws.memory.move_to_originals(name)
    assert other.read_text() == "别人先放的"
    assert world.layout.dated(name).exists()


def test_a_summary_and_the_text_it_replaced(world):
    world.ws.memory.write_summary(DAY, summary(), None)
    look, found = world.ws.memory.read_summary(DAY)
    assert found == summary()
    assert look
    world.ws.memory.write_summary(DAY, summary("## 新"), look)
    assert [path.read_bytes() for path in world.layout.previous.iterdir()] == [look.data]
    assert world.ws.memory.summaries()[DAY].text == "## 新"


def test_a_summary_that_is_no_longer_what_was_read_is_not_replaced(world):
    world.ws.memory.write_summary(DAY, summary(), None)
    look, _ = world.ws.memory.read_summary(DAY)
    path = world.layout.summary(DAY)
    path.write_text("我改的")
    with pytest.raises(Changed):
        world.ws.memory.write_summary(DAY, summary("## 新"), look)
    with pytest.raises(Changed):
        world.ws.memory.write_summary(DAY, summary("## 新"), None)
    assert path.read_text() == "我改的"


def test_a_summary_that_is_not_there_is_none(world):
    assert world.ws.memory.read_summary(DAY) == (None, None)
    assert world.ws.memory.summaries() == {}


def test_years_of_names_keep_their_order(world):
    for day in ("2026-01-10", "2024-02-29", "2025-12-31"):
        filed(world, day)
    assert [file.day.isoformat() for file in world.ws.memory.dated()] == ["2024-02-29", "2025-12-31", "2026-01-10"]
