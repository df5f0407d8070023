"""The name that comes out of a file: one that could lead out of its folder leads nowhere, and a long one becomes shorter."""

from __future__ import annotations

import pytest

from recalld.supervisor.storage.disk import is_below, place_below
from recalld.supervisor.text.foreign_text import parts_of

ELSEWHERE = [
    "",
    ".",
    "/",
    "/tmp/越界.md",
    "..",
    "../越界.md",
    "a/../../b.md",
    "a/..",
    "有\0的.md",
    "\ud800.md",
    "a/" * 70 + "b",
    "页/" * 60 * 30,
]
#: What leads elsewhere on another system, or is no name that memory reads; of a file that this system made it is a name.
ELSEWHERE_THERE = ["C:x.md", "c:/x.md", "a\\b.md", "..\\b.md", "\\\\server\\x.md", "a\nb.md", "\x1b[31m.md", "a\u2028b.md"]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_parts_of_a_name_that_leads_elsewhere_are_none(tmp_path, name):
    assert parts_of(name) == parts_of(name, from_here=True) == ()
    assert place_below(tmp_path, name) is None


@pytest.mark.parametrize("name", ELSEWHERE_THERE)
def test_parts_of_a_name_from_here_may_have_a_backslash_or_colon(name):
    assert parts_of(name) == ()
    assert "/".join(parts_of(name, from_here=True)) == name


def test_place_below_is_none_through_a_link_that_leads_out(tmp_path):
    folder, outside = tmp_path / "in", tmp_path / "in-other"
    folder.mkdir()
    outside.mkdir()
    (folder / "out").symlink_to(outside)
    (folder / "up").symlink_to("..")
    (folder / "here").symlink_to("b.md")
    for name in ("out/a.md", "out", "up/in-other/a.md", "here"):
        assert place_below(folder, name) is None
    assert not is_below(outside, folder)


def test_place_below_takes_a_folder_that_is_reached_by_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert place_below(tmp_path / "link", "a.md") == tmp_path / "link" / "a.md"
