"""What of a message is no words, in lines that a person can read."""

from __future__ import annotations

import base64
from datetime import UTC
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from recalld.supervisor.protocol.attachments import separated
from recalld.supervisor.protocol.parts import LINE, file_lines, readable, speaker_of, tool_lines
from tests.protocol.test_attachments import PNG, RAWS, path
from tests.world import parsed

if TYPE_CHECKING:
    from recalld.supervisor.protocol.message import Message

DATA = base64.b64encode(PNG).decode()
FILE = path(PNG, "png")


def said(**fields: Any) -> Message:
    return parsed({"id": "1", "role": "user", **fields}, UTC)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}], [f"(image: {FILE})"]),
        ([{"type": "file", "file": {"filename": "账单 1.png", "file_data": DATA}}], [f"(image 账单 1.png: {FILE})"]),
        ([{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}], ["(image: https://a.example/b.png)"]),
        ([{"type": "input_file", "file_id": "file-7"}], ["(file: file-7)"]),
        ([{"type": "image_url", "image_url": {"url": "data:image/png;base64,坏"}}], ["(image)"]),
        ([{"type": "text", "text": "看"}], []),
        ("看", []),
    ],
)
def test_file_lines_name_each_picture_and_file(content, lines):
    small, _ = separated({"role": "user", "content": content})
    assert list(file_lines(small)) == lines


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        (
            {
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":\n "泉州"}'}}
                ]
            },
            ['(call c1: weather {"city": "泉州"})'],
        ),
        (
            {"content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "泉州"}}]},
            ['(call t1: weather {"city": "泉州"})'],
        ),
        ({"role": "tool", "tool_call_id": "c1", "content": "晴"}, ["(result of c1)"]),
        ({"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "晴"}]}, ["(result of t1)"]),
        ({"content": [[{"type": "tool_result", "content": "晴"}]]}, ["(result)"]),
        ({"function_call": {"name": "now", "arguments": ""}}, ["(call: now)"]),
        ({"tool_calls": [{"id": "c1", "function": {"name": "run", "arguments": "x" * 900}}]}, [f"(call c1: run {'x' * 200}…)"]),
        ({"tool_calls": [{"id": "c1", "name": "page", "args": {"html": "<!-- b"}}]}, ['(call c1: page {"html": "\\<!-- b"})']),
        ({"tool_calls": "坏"}, []),
    ],
)
def test_tool_lines_show_each_call_and_whose_result_it_is(fields, lines):
    assert list(tool_lines({"content": None, **fields})) == lines


@given(RAWS)
def test_line_pattern_matches_every_line_of_a_file_or_a_tool(raw):
    small, _ = separated({**raw, "tool_calls": raw.get("content"), "tool_call_id": raw.get("text")})
    assert all(LINE.fullmatch(line) for line in (*file_lines(small), *tool_lines(small)))


def test_speaker_of_returns_a_name_on_one_line_and_nothing_else():
    assert [speaker_of({"name": name}) for name in ("小周", " Anna\n**Ng** ", 7, None, {"a": 1}, "长" * 50)] == [
        "小周",
        "Anna Ng",
        "",
        "",
        "",
        f"{'长' * 40}…",
    ]


def test_readable_shows_speaker_and_pictures_and_no_result_of_a_tool():
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}
    assert (
        readable(said(name="小周", content=[{"type": "text", "text": "看这张"}, image])).text
        == f"小周: 看这张\n(image: {FILE})"
    )
    assert readable(said(content=[image])).text == f"(image: {FILE})"
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "晴，22 度"}]}
    assert readable(said(content=[result])).text == ""
    assert readable(said(content=[result, {"type": "text", "text": "那带伞吗？"}])).text == "那带伞吗？"
    plain = said(text="带伞吗？")
    assert readable(plain) is plain
