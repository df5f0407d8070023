"""What can be saved of bytes that are damaged somewhere."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.protocol.lenient_json import parse_json, render_json, salvage

MESSAGES = [{"id": "1", "text": "备份好了"}, {"id": "2", "text": "port 8443"}, {"id": "3", "text": '他说："[,]"'}]
WHOLE = json.dumps(MESSAGES, ensure_ascii=False, indent=1).encode()


@pytest.mark.parametrize("end", range(len(WHOLE) + 1))
def test_of_a_file_cut_off_anywhere_the_elements_before_the_cut_are_saved(end):
    found = salvage(WHOLE[:end])
    assert found == MESSAGES[: len(found)]
    ends = [WHOLE.index(f'"id": "{n}"'.encode()) for n in "23"]
    assert len(found) >= sum(start <= end for start in ends)


def test_of_a_file_whose_tail_is_zeros_or_no_utf8_the_elements_before_it_are_saved():
    middle = WHOLE.index(b'"3"')
    assert salvage(WHOLE[:middle] + b"\0" * 99) == MESSAGES[:2]
    assert salvage(WHOLE[:middle] + b"\xff" + WHOLE[middle:]) == MESSAGES[:2]


def test_a_lost_bracket_or_a_comma_too_many_costs_nothing():
    assert salvage(WHOLE.rstrip(b"]\n ")) == MESSAGES
    assert salvage(WHOLE.rstrip(b"]\n ") + b",]") == MESSAGES


@pytest.mark.parametrize("data", [b"", b"[", b"{}", b"7", b'"[1]"', b"[" * 100_000, "［１］".encode(), b",1", b"\xef\xbb\xbf"])
def test_where_there_is_no_whole_element_of_an_array_nothing_is_saved(data):
    assert salvage(data) == []


def test_a_byte_order_mark_hides_nothing():
    assert salvage(b"\xef\xbb\xbf" + WHOLE[:-2]) == MESSAGES


@given(st.lists(st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5)), st.data())
def test_what_is_saved_is_what_was_written(elements, data):
    written = render_json(elements)
    cut = written[: data.draw(st.integers(0, len(written)))]
    found = salvage(cut)
    assert found == parse_json(written)[: len(found)] or (
        found[:-1] == elements[: len(found) - 1] and isinstance(found[-1], int)
    )


@given(st.binary())
def test_no_bytes_make_it_fail(data):
    salvage(data)
