"""inbox.json, read as tolerantly as other programs write it (docs/reference/protocol.md, 2 and 7)."""

from __future__ import annotations

import json
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.inbox import Chat, chat_of, parse_inbox

ZONE = ZoneInfo("Asia/Shanghai")


def texts(value: object) -> list[str]:
    return [one.text for one in parse_inbox(json.dumps(value).encode(), ZONE)]


@pytest.mark.parametrize(
    "value",
    [
        [{"id": "i1", "text": "花生呢？", "createdAt": "2026-01-31T02:00:00.000Z"}],
        [{"content": "花生呢？"}],
        [{"content": [{"type": "text", "text": "花生呢？"}]}],
        ["花生呢？"],
        {"inputs": ["花生呢？"]},
        {"text": "花生呢？"},
        [{"text": "花生呢？"}, {"text": "  "}, {"id": "i2"}, 7, None, {"role": "assistant", "text": "不能吃"}],
    ],
)
def test_parse_inbox_reads_every_input_format_and_skips_invalid_entries(value):
    assert texts(value) == ["花生呢？"]


def test_parse_inbox_keeps_the_order_of_inputs():
    assert texts(["第一", "第二", "第三"]) == ["第一", "第二", "第三"]


@pytest.mark.parametrize("data", [b"", b"[{", b"7", b'"\xe8\x8a\xb1"', b"\xff\xfe"])
def test_parse_inbox_refuses_data_that_is_not_an_array(data):
    with pytest.raises(ValueError, match="it "):
        parse_inbox(data, ZONE)


@pytest.mark.parametrize(
    "chat", ["supergroup", "Group", "GROUP", "Direct", "private", "room", "群", "", True, False, 0, 1, {"type": "private"}, []]
)
def test_chat_of_takes_any_other_chat_for_a_group(chat):
    assert chat_of({"chat": chat, "session": "web-1"}) == Chat("group", "web-1")
    assert chat_of({"chat": chat}).kind == "group"


@given(
    st.recursive(
        st.none() | st.text(max_size=9) | st.integers(), lambda v: st.lists(v) | st.dictionaries(st.text(max_size=9), v)
    )
)
def test_parse_inbox_accepts_any_value_in_the_array(value):
    assert all(one.text.strip() for one in parse_inbox(json.dumps([value]).encode(), ZONE))
