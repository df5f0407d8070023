"""What can be recovered from damaged JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.storage.lenient_json import parse_json, recover_prefix, render_json

MESSAGES = [{"id": "1", "text": "备份好了"}, {"id": "2", "text": "port 8443"}, {"id": "3", "text": '他说："[,]"'}]
WHOLE = json.dumps(MESSAGES, ensure_ascii=False, indent=1).encode()


@pytest.mark.parametrize("end", range(len(WHOLE) + 1))
def test_recover_prefix_returns_the_elements_before_a_truncation(end):
    found = recover_prefix(WHOLE[:end])
    assert found == MESSAGES[: len(found)]
    ends = [WHOLE.index(f'"id": "{n}"'.encode()) for n in "23"]
    assert len(found) >= sum(start <= end for start in ends)


def test_recover_prefix_returns_the_elements_before_zeros_or_invalid_utf8():
    middle = WHOLE.index(b'"3"')
    assert recover_prefix(WHOLE[:middle] + b"\0" * 99) == MESSAGES[:2]
    assert recover_prefix(WHOLE[:middle] + b"\xff" + WHOLE[middle:]) == MESSAGES[:2]


def test_recover_prefix_tolerates_a_missing_bracket_or_an_extra_comma():
    assert recover_prefix(WHOLE.rstrip(b"]\n ")) == MESSAGES
    assert recover_prefix(WHOLE.rstrip(b"]\n ") + b",]") == MESSAGES


@pytest.mark.parametrize("data", [b"", b"[", b"{}", b"7", b'"[1]"', b"[" * 100_000, "［１］".encode(), b",1", b"\xef\xbb\xbf"])
def test_recover_prefix_returns_nothing_without_a_complete_array_element(data):
    assert recover_prefix(data) == []


def test_recover_prefix_ignores_a_byte_order_mark():
    assert recover_prefix(b"\xef\xbb\xbf" + WHOLE[:-2]) == MESSAGES


@given(st.lists(st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5)), st.data())
def test_recover_prefix_returns_a_prefix_of_what_was_written(elements, data):
    written = render_json(elements)
    cut = written[: data.draw(st.integers(0, len(written)))]
    found = recover_prefix(cut)
    assert found == parse_json(written)[: len(found)] or (
        found[:-1] == elements[: len(found) - 1] and isinstance(found[-1], int)
    )


@given(st.binary())
def test_recover_prefix_of_any_bytes_returns_elements_that_it_reads_again(data):
    found = recover_prefix(data)
    assert recover_prefix(render_json(found)) == found
