"""inbox.json, read as tolerantly as other programs write it (docs/reference/protocol.md, 2 and 7)."""

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


@pytest.mark.parametrize("data", [b"", b"[{", b"7", b'"\xe8\x8a\xb1"', b"\xff\xfe"])
def test_parse_inbox_refuses_data_that_is_not_an_array(data):
    with pytest.raises(ValueError, match="it "):
        parse_inbox(data, ZONE)


@pytest.mark.parametrize(
    ("raw", "chat"),
    [
        ({}, Chat("direct", "")),
        ({"session": "agent:main:telegram:group:-1001"}, Chat("group", "agent:main:telegram:group:-1001")),
        ({"session": "discord:channel:花生群"}, Chat("channel", "discord:channel:花生群")),
        ({"session": "telegram:group:1", "chat": "direct"}, Chat("direct", "telegram:group:1")),
        ({"session": "newsChannel:7"}, Chat("channel", "newsChannel:7")),
        ({"chat": "别的", "session": 7}, Chat("group", "")),
        ({"chat": "channel", "session": "web-1"}, Chat("channel", "web-1")),
        ({"chat": None, "session": "web-1"}, Chat("direct", "web-1")),
    ],
)
def test_chat_of_uses_the_chat_field_then_the_session_key(raw, chat):
    assert chat_of(raw) == chat


@pytest.mark.parametrize(
    "session",
    [
        *("telegram:supergroup:-1001", "GROUP:7", "qq-group-7", "aiocqhttp:GroupMessage:123456", "telegram:-1001234567890"),
        *("whatsapp:120363041234567890@g.us", "slack:C0123ABCD", "wechat:12345678901@chatroom"),
        *("teams:19:abcdef@thread.tacv2", "matrix:room:7", "matrix:!opaque:example.org", "discord:guild:7", "家人群"),
        *("工作群聊", "TelegramGroup:1", "chatroom7", "familyRoom:7", "-1001234567890", "line:C4af4980629aa11b2"),
        *("feishu:oc_84983ff6516d", "#linux", "!abc:matrix.org", "C0123ABCD", "qq群:7", "讨论组:1", "討論組:1", "聊天室:3"),
        *("discord:thread:9", "google-chat:spaces/AAA", "zulip:stream:general", "dingtalk:cidAbC123=="),
        *("xmpp:linux@conference.example.org", "imessage:iMessage;+;chat123"),
    ],
)
def test_chat_of_takes_a_session_with_a_group_mark_for_a_group(session):
    assert chat_of({"session": session}) == Chat("group", session)
    assert chat_of({"session": session, "chat": None}) == Chat("group", session)
    assert chat_of({"session": session, "chat": "direct"}) == Chat("direct", session)


@pytest.mark.parametrize(
    "session",
    [
        *("", "web-1", "agent:main:main", "agent:main:telegram:dm:42", "telegram:42", "slack:D0123ABCD", "slack:U0123ABCD"),
        *("whatsapp:8613800000000@s.whatsapp.net", "matrix:@anna:example.org", "line:U4af4980629aa11b2"),
        *("feishu:ou_84983ff6516d", "web:groupware", "web:mushroom", "online:c4af4980629a", "2026-01-28"),
        *("0b9cf3a4-1001-4c02-9d3e-100123456789", "discord:anna#1234", "aiocqhttp:FriendMessage:123456", "微信:王老师"),
    ],
)
def test_chat_of_takes_a_session_without_a_mark_for_direct(session):
    assert chat_of({"session": session}) == Chat("direct", session)


@given(
    st.recursive(
        st.none() | st.text(max_size=9) | st.integers(), lambda v: st.lists(v) | st.dictionaries(st.text(max_size=9), v)
    )
)
def test_parse_inbox_accepts_any_value_in_the_array(value):
    assert all(one.text.strip() for one in parse_inbox(json.dumps([value]).encode(), ZONE))
