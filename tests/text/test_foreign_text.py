"""Text of others: what a terminal would obey is shown, and a name that could lead out of its folder leads nowhere."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.interfaces.output import as_json, as_line
from recalld.supervisor.storage.disk import is_below, place_below
from recalld.supervisor.text.foreign_text import parts_of, printable, printable_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;cm0gLXJm\x07", r"\x1b]52;c;cm0gLXJm\x07"),  # OSC 52 writes the clipboard
        ("\x9b31m\x85\x7f", r"\u009b31m\u0085\x7f"),
        ("好\r坏", r"好\x0d坏"),
        ("\u202egnp.exe\u2066\u200f", r"\u202egnp.exe\u2066\u200f"),
        ("密\u200b码\u2060\ufeff\xad", r"密\u200b码\u2060\ufeff\u00ad"),
        ("\ufff9a\ufffab\ufffb", r"\ufff9a\ufffab\ufffb"),
        ("好\U000e0001\U000e0069\U000e007f", r"好\U000e0001\U000e0069\U000e007f"),  # tags spell words that nobody sees
    ],
)
def test_printable_shows_what_a_terminal_would_obey(text, shown):
    assert printable(text) == shown


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda of: st.lists(of) | st.dictionaries(st.text(), of)
    )
)
def test_as_json_prints_one_harmless_line_that_says_the_same(value):
    line = as_json(value)
    assert json.loads(line) == value
    assert line == printable(line) == printable_json(line)
    assert len(line.splitlines()) == 1


def test_as_json_escapes_a_tag_beyond_the_first_plane():
    line = as_json({"a": "\x7f\U000e0069"})
    assert line == r'{"a": "\u007f\udb40\udc69"}'
    assert json.loads(line) == {"a": "\x7f\U000e0069"}


def test_as_line_prints_an_event_harmlessly():
    assert as_line({"ts": "1", "event": "file_unread", "file": "a\n2 stopped.md"}) == r"1 file_unread file=a\n2 stopped.md"
    assert as_line({"ts": "1", "event": "file_unread", "file": "memory/\x1b[2J.md"}) == r"1 file_unread file=memory/\x1b[2J.md"


ELSEWHERE = [
    "", ".", "/", "/tmp/越界.md", "..", "../越界.md", "a/../../b.md", "a/..", "有\0的.md", "\ud800.md", "a/" * 70 + "b", "页/" * 60 * 30,
]  # fmt: skip
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
