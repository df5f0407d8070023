"""Task and result: the two JSON files between supervisor and worker."""

import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.summary_file import Source
from recalld.supervisor.protocol.task import (
    AskedTask,
    Result,
    Task,
    asked_id,
    parse_result,
    parse_task,
    render_result,
    render_task,
)
from tests.protocol.values import JSON, TEXT

ONE = Source("2026-01-15-nginx.md", "9f8a3c0012345678", 12)

TASK = Task(
    id="day-2026-01-15-ea62e2400d-0",
    kind="daily-summary",
    group="day-2026-01-15",
    period="2026-01-15",
    zone="Asia/Shanghai",
    sources=(ONE,),
    material=(ONE.name,),
    previous="## 部署",
    previous_digest="1234567812345678",
    created_at="2026-01-21T02:00:00.000Z",
    attempt=2,
)
RESULT = Result(
    id=TASK.id,
    status="done",
    text="## 部署\n超时改成 30 秒",
    provider="openai",
    model="qwen3:8b",
    usage={"prompt_tokens": 7},
    group=TASK.group,
    sources=TASK.sources,
    previous_digest=TASK.previous_digest,
    attempt=2,
    started_at="2026-01-21T02:00:00.000Z",
    completed_at="2026-01-21T02:00:09.000Z",
    duration_ms=9_000,
)


def wire(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(data)
    return found


# ── a task that somebody waits for ──────────────────────────────────────────

ASKED = AskedTask(
    id=asked_id("session-d2a84f4b8b650937", "session-summary", "总结：\ud800", 1),
    kind="session-summary",
    group="session-d2a84f4b8b650937",
    server="9c1e",
    prompt="总结：\ud800",
    attempt=1,
)


@pytest.mark.parametrize(
    "other",
    [
        asked_id("session-0000000000000000", "session-summary", ASKED.prompt, 1),
        asked_id(ASKED.group, "model-test", ASKED.prompt, 1),
        asked_id(ASKED.group, "session-summary", "总结", 1),
        asked_id(ASKED.group, "session-summary", ASKED.prompt, 2),
    ],
)
def test_asked_id_depends_on_session_kind_material_and_attempt(other):
    assert other != ASKED.id


# ── what is no task and no result ────────────────────────────────────────────


#: By the record, values that its fields may not have.
WRONG: list[tuple[Task | AskedTask | Result, dict[str, tuple[Any, ...]]]] = [
    (
        TASK,
        {
            "version": (2, None),
            "id": (7,),
            "kind": ("哼",),
            "sources": ("x", [{"name": "x"}], [7], [{"name": "x", "digest": "y", "count": "z"}]),
            "material": ({"a": 1}, ["../../../../etc/hostname"], ["/etc/hostname"]),
            "attempt": (-1, True),
            "priority": ("高",),
            "zone": (None,),
        },
    ),
    (ASKED, {"kind": ("daily-summary",), "turns": (["x"], [{"role": "user"}]), "version": (True,)}),
    (
        RESULT,
        {
            "status": ("好了", "failed"),
            "text": (None,),
            "attempt": (1.5,),
            "sources": (None,),
            "startedAt": ("昨天", "2026-01-28T04:40:00"),
            "completedAt": (7,),
            "retryAfterS": (-1,),
        },
    ),
]
CHANGES = [(record, {name: value}) for record, fields in WRONG for name, values in fields.items() for value in values]


@pytest.mark.parametrize(("record", "change"), [*CHANGES, (RESULT, {"status": "failed", "reason": "累了"})])
def test_parse_task_and_parse_result_refuse_an_invalid_field_with_a_reason(record, change):
    render, parse = (render_result, parse_result) if record is RESULT else (render_task, parse_task)
    with pytest.raises(ValueError, match=r"."):
        parse(json.dumps(wire(render(record)) | change).encode())


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"null", b"\xff", b"[" * 100_000, b'{"version": 1}'])
def test_parse_task_and_parse_result_refuse_invalid_bytes_with_a_reason(data):
    for parse in (parse_task, parse_result):
        with pytest.raises(ValueError, match=r"."):
            parse(data)


@given(
    st.sampled_from([render_task(TASK), render_result(RESULT)]),
    st.sampled_from([*wire(render_task(TASK)), *wire(render_result(RESULT))]),
    JSON,
)
def test_parse_task_and_parse_result_read_or_refuse_any_field_value(data, key, value):
    raw = json.dumps(wire(data) | {key: value}).encode()
    for parse, render in ((parse_task, render_task), (parse_result, render_result)):
        with contextlib.suppress(ValueError):
            found = parse(raw)
            assert parse(render(found)) == found


@given(TEXT, TEXT)
def test_parse_task_and_parse_result_restore_any_text(text, previous):
    assert parse_result(render_result(replace(RESULT, text=text))).text == text
    assert parse_task(render_task(replace(TASK, previous=previous))).previous == previous
