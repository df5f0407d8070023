"""memory/: what lies there, what is a person's own, and moves that never replace."""

from __future__ import annotations

import os
from datetime import date

import pytest

from supervisor.protocol.disk import RealDisk
from supervisor.protocol.errors import Changed
from supervisor.protocol.period import Period
from supervisor.protocol.summary_file import Summary
from tests.conftest import Desk, message

DAY = Period("2026-01-10")


def filed(desk: Desk, day: str = "2026-01-10", text: str = "重启 nginx") -> str:
    desk.say(message(f"{day}-{text}", f"{day}T09:00", text))
    desk.round("all")
    return desk.ws.memory.dated()[-1].name


def summary(text: str = "## 部署") -> Summary:
    return Summary(
        period="2026-01-10", zone="Asia/Shanghai", created="2026-01-31T02:00:00.000Z", text=text, sources=(), provider="scribe"
    )


def test_a_dated_file_and_what_is_known_of_it(desk):
    name = filed(desk)
    (found,) = desk.ws.memory.dated()
    assert (found.name, found.day, found.count, found.ours, found.original) == (name, date(2026, 1, 10), 1, True, False)
    assert found.created == desk.clock()
    assert desk.ws.memory.path_of(name) == desk.layout.dated(name)
    assert [block.text for block in desk.ws.memory.blocks(name)] == ["重启 nginx"]


def test_a_file_is_found_wherever_it_lies(desk):
    name = filed(desk)
    before = desk.ws.memory.dated()[0].source
    desk.ws.memory.move_to_originals(name)
    (found,) = desk.ws.memory.dated()
    assert (found.original, found.source) == (True, before)
    assert desk.ws.memory.path_of(name) == desk.layout.original(name)
    assert len(desk.ws.memory.blocks(name)) == 1
    desk.ws.memory.move_to_originals(name)
    assert len(desk.ws.memory.dated()) == 1


def test_a_stray_file_among_the_originals_stops_nothing(desk):
    """A desktop puts its files into every folder that it shows: `.DS_Store`, `desktop.ini`."""
    name = filed(desk)
    desk.settle()
    stray = desk.layout.originals / ".DS_Store"
    stray.write_bytes("桌面".encode())
    desk.reopen()
    assert desk.round("all").errors == {}
    assert [file.name for file in desk.ws.memory.dated()] == [name]
    assert name in desk.ws.memory.names()
    assert stray.read_bytes() == "桌面".encode()


def test_what_is_known_of_a_file_ends_with_it(desk):
    name = filed(desk)
    other = filed(desk, "2026-01-11", "月饼订两盒")
    assert [file.name for file in desk.ws.memory.dated()] == [name, other]
    path = desk.layout.dated(name)
    path.rename(path.with_suffix(".txt"))
    path.symlink_to(path.with_suffix(".txt"))
    assert [file.name for file in desk.ws.memory.dated()] == [other]
    path.unlink()
    path.with_suffix(".txt").rename(path)
    assert [file.name for file in desk.ws.memory.dated()] == [name, other]


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
def test_other_files_are_not_looked_at(desk, name):
    (desk.layout.memory / name).write_text("别的")
    assert desk.ws.memory.dated() == ()


def test_a_person_s_note_named_like_a_dated_file_is_theirs(desk):
    (desk.layout.memory / "2026-01-10-想法.md").write_text("换成 caddy")
    (found,) = desk.ws.memory.dated()
    assert (found.ours, found.created, found.count) == (False, None, 0)
    assert desk.ws.memory.blocks(found.name) == ()
    assert desk.ws.memory.text(found.name) == "换成 caddy"


def test_a_note_in_another_encoding_is_no_trouble(desk):
    (desk.layout.memory / "2026-01-10-note.md").write_bytes("换成".encode("gb18030"))
    assert [file.ours for file in desk.ws.memory.dated()] == [False]
    assert desk.ws.memory.text("2026-01-10-note.md")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/hostname", path)])
def test_what_is_no_plain_file_is_passed_over(desk, make):
    """A28: links out of the tree."""
    make(desk.layout.memory / "2026-01-10-x.md")
    make(desk.layout.summaries / "2026-01-10.md")
    assert (desk.ws.memory.dated(), desk.ws.memory.summaries()) == ((), {})


def test_a_file_that_changes_is_read_again_and_one_that_does_not_is_not(desk):
    class Counting(RealDisk):
        reads = 0

        def read(self, path, offset=0):  # type: ignore[no-untyped-def]
            self.reads += path.name.startswith("2026-")
            return super().read(path, offset)

    disk = Counting()
    filed(desk)
    desk.reopen(disk=disk)
    first = desk.ws.memory.dated()
    count = disk.reads
    assert desk.ws.memory.dated() == first
    assert disk.reads == count
    path = desk.layout.dated(first[0].name)
    path.write_text(path.read_text().replace("nginx", "caddy"))
    assert desk.ws.memory.dated()[0].digest != first[0].digest


def test_a_dated_file_is_made_once(desk):
    name = filed(desk)
    before = desk.layout.dated(name).read_bytes()
    with pytest.raises(FileExistsError):
        desk.ws.memory.write_dated(name, b"x")
    assert desk.layout.dated(name).read_bytes() == before


def test_a_move_never_replaces(desk):
    name = filed(desk)
    other = desk.layout.original(name)
    other.parent.mkdir(parents=True)
    other.write_text("别人先放的")
    desk.ws.memory.move_to_originals(name)
    assert other.read_text() == "别人先放的"
    assert desk.layout.dated(name).exists()


def test_a_summary_and_the_text_it_replaced(desk):
    desk.ws.memory.write_summary(DAY, summary(), None)
    look, found = desk.ws.memory.read_summary(DAY)
    assert found == summary()
    assert look
    desk.ws.memory.write_summary(DAY, summary("## 新"), look)
    assert [path.read_bytes() for path in desk.layout.previous.iterdir()] == [look.data]
    assert desk.ws.memory.summaries()[DAY].text == "## 新"


def test_a_summary_that_is_no_longer_what_was_read_is_not_replaced(desk):
    desk.ws.memory.write_summary(DAY, summary(), None)
    look, _ = desk.ws.memory.read_summary(DAY)
    path = desk.layout.summary(DAY)
    path.write_text("我改的")
    with pytest.raises(Changed):
        desk.ws.memory.write_summary(DAY, summary("## 新"), look)
    with pytest.raises(Changed):
        desk.ws.memory.write_summary(DAY, summary("## 新"), None)
    assert path.read_text() == "我改的"


def test_a_summary_that_is_not_there_is_none(desk):
    assert desk.ws.memory.read_summary(DAY) == (None, None)
    assert desk.ws.memory.summaries() == {}


def test_years_of_names_keep_their_order(desk):
    for day in ("2026-01-10", "2024-02-29", "2025-12-31"):
        filed(desk, day)
    assert [file.day.isoformat() for file in desk.ws.memory.dated()] == ["2024-02-29", "2025-12-31", "2026-01-10"]
