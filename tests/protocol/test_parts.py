"""What of a message is no words, in lines that a person can read."""

from __future__ import annotations

import base64
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given

from recalld.supervisor.protocol.attachments import separated
from recalld.supervisor.protocol.message import Message
from recalld.supervisor.protocol.parts import LINE, file_lines, readable, tool_lines
from tests.protocol.test_attachments import PNG, RAWS, path
from tests.world import parsed

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


@given(RAWS)
def test_line_pattern_matches_every_line_of_a_file_or_a_tool(raw):
    small, _ = separated({**raw, "tool_calls": raw.get("content"), "tool_call_id": raw.get("text")})
    assert all(LINE.fullmatch(line) for line in (*file_lines(small), *tool_lines(small)))


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
