"""The bytes of pictures and files: found in the messages of every provider, taken out, and put back as they were; and named in lines."""

import base64
import copy
import hashlib
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.attachments import attachments_of, digest_in_name, holds, joined, separated
from recalld.supervisor.protocol.message import Message, read_message
from recalld.supervisor.protocol.parts import LINE, file_lines, readable, tool_lines
from tests.protocol.values import JSON, TEXT
from tests.world import parsed

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
JPEG, WAV, PDF = b"\xff\xd8\xff\xe0" + bytes(range(40)), b"RIFF\x24\0\0\0WAVEfmt " + bytes(20), b"%PDF-1.7\n" + bytes(60)
TEXTFILE = "花生过敏的人\n".encode()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{b64(data)}"


def source(kind: str, data: bytes) -> dict[str, str]:
    return {"type": "base64", "media_type": kind, "data": b64(data)}


def path(data: bytes, extension: str) -> str:
    return f"attachments/{hashlib.sha256(data).hexdigest()[:32]}.{extension}"


#: What stands in a content array, and the file that is kept of it.
PARTS: dict[str, tuple[dict[str, Any], bytes, str]] = {
    "openai image_url": ({"type": "image_url", "image_url": {"url": url("image/png", PNG), "detail": "low"}}, PNG, "png"),
    "openai input_image": ({"type": "input_image", "image_url": url("image/jpeg", JPEG)}, JPEG, "jpg"),
    "openai pcm": ({"type": "input_audio", "input_audio": {"data": b64(TEXTFILE), "format": "opus"}}, TEXTFILE, "opus"),
    "openai file": ({"type": "file", "file": {"filename": "a.pdf", "file_data": url("application/pdf", PDF)}}, PDF, "pdf"),
    "openai input_file": ({"type": "input_file", "filename": "a.txt", "file_data": b64(TEXTFILE)}, TEXTFILE, "txt"),
    "anthropic image": ({"type": "image", "source": source("image/png", PNG)}, PNG, "png"),
    "anthropic tool result": (
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "image", "source": source("image/png", PNG)}]},
        PNG,
        "png",
    ),
    "gemini": ({"inline_data": {"mime_type": "image/png", "data": base64.urlsafe_b64encode(PNG).decode()}}, PNG, "png"),
    "mcp": ({"type": "image", "data": b64(JPEG), "mimeType": "image/jpeg"}, JPEG, "jpg"),
    "langchain": ({"type": "image", "base64": b64(PNG), "mime_type": "image/png"}, PNG, "png"),
    "a type that lies": ({"type": "image_url", "image_url": {"url": url("image/jpeg", PNG)}}, PNG, "png"),
    "a document of an office": (
        {"file_data": url("application/vnd.openxmlformats-officedocument.wordprocessingml.document", TEXTFILE)},
        TEXTFILE,
        "docx",
    ),
    "a title alone": ({"title": "会议.md", "data": b64(TEXTFILE)}, TEXTFILE, "md"),
    "a type that nobody knows": ({"type": "file", "file_data": url("application/x-own", TEXTFILE)}, TEXTFILE, "bin"),
}


@pytest.mark.parametrize("part", PARTS)
def test_separated_names_the_file_in_place_of_its_bytes(part):
    found, data, extension = PARTS[part]
    raw = {"role": "user", "content": [{"type": "text", "text": "看这张"}, found]}
    before = copy.deepcopy(raw)
    small, files = separated(raw)
    assert files == {path(data, extension): data}
    assert list(attachments_of(small)) == [path(data, extension)]
    assert b64(data)[:20] not in str(small)
    assert raw == before
    assert joined(small, files.get) == raw
    assert joined(small, lambda _: None) == small


DATA = st.sampled_from([PNG, JPEG, WAV, PDF, TEXTFILE]).flatmap(
    lambda data: st.sampled_from([b64(data), url("image/png", data), url("", data), base64.urlsafe_b64encode(data).decode()])
)
RAWS = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool"])},
    optional={
        "text": TEXT | DATA,
        "content": st.recursive(
            JSON | DATA,
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["type", "text", "content", "data", "url", "image_url", "mime_type", "source", "format"]),
                    inner | st.sampled_from(["text", "thinking", "image", "image/png"]),
                    max_size=4,
                )
            ),
            max_leaves=8,
        ),
        "images": st.lists(DATA, max_size=2),
    },
)


@given(RAWS)
def test_separated_changes_no_word_and_joined_brings_every_byte_back(raw):
    small, files = separated(raw)
    before, after = read_message(raw, UTC), read_message(small, UTC)
    if isinstance(before, Message):
        assert isinstance(after, Message)
        assert (before.text, before.key, before.fingerprints) == (after.text, after.key, after.fingerprints)
    assert joined(small, files.get) == raw
    assert all(holds(name, data) and len(digest_in_name(name)) == 32 for name, data in files.items())
    assert separated(small) == (small, {})


# ── in lines that a person can read ──────────────────────────────────────────────


def said(**fields: Any) -> Message:
    return parsed({"id": "1", "role": "user", **fields}, UTC)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ([{"type": "image_url", "image_url": {"url": url("image/png", PNG)}}], [f"(image: {path(PNG, 'png')})"]),
        (
            [{"type": "file", "file": {"filename": "账单 1.png", "file_data": b64(PNG)}}],
            [f"(image 账单 1.png: {path(PNG, 'png')})"],
        ),
        ([{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}], ["(image: https://a.example/b.png)"]),
        ([{"type": "input_file", "file_id": "file-7"}], ["(file: file-7)"]),
        ([{"type": "image_url", "image_url": {"url": "data:image/png;base64,坏"}}], ["(image)"]),
        ([{"type": "text", "text": "看"}], []),
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
    image = {"type": "image_url", "image_url": {"url": url("image/png", PNG)}}
    assert (
        readable(said(name="小周", content=[{"type": "text", "text": "看这张"}, image])).text
        == f"小周: 看这张\n(image: {path(PNG, 'png')})"
    )
    assert readable(said(content=[image])).text == f"(image: {path(PNG, 'png')})"
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "晴，22 度"}]}
    assert readable(said(content=[result])).text == ""
    assert readable(said(content=[result, {"type": "text", "text": "那带伞吗？"}])).text == "那带伞吗？"
    plain = said(text="带伞吗？")
    assert readable(plain) is plain
