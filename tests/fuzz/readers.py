"""
Every reader of bytes or texts that come from outside, with something it reads well and what it may say of rubbish.

Each is run as the product runs it; what it gives back must be fit for what is done with it next.
"""

import json
import random
import zlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from recalld.supervisor.archive import slug
from recalld.supervisor.context import render
from recalld.supervisor.index import chunking
from recalld.supervisor.protocol.config import load, render_default
from recalld.supervisor.protocol.dated_file import block_of, parse_dated, render_dated
from recalld.supervisor.protocol.inbox import parse_inbox
from recalld.supervisor.protocol.llm import CallLog
from recalld.supervisor.protocol.message import Message, parse_history, read_message, render_history
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.protocol.summary_file import Summary, parse_summary, render_summary
from recalld.supervisor.protocol.task import parse_result, parse_task, render_result, render_task
from recalld.supervisor.query import dates, parse
from recalld.supervisor.storage.errors import SupervisorError
from recalld.supervisor.storage.files import Files
from recalld.supervisor.storage.lenient_json import parse_json, recover, render_json
from recalld.supervisor.summaries import quality
from recalld.supervisor.summaries.llm_state import calls_left, note_result, provider_state, summary_writer
from recalld.supervisor.summaries.quality import Material
from recalld.supervisor.summaries.schedule import Backoff, is_due
from recalld.supervisor.text import foreign_text, language, llm_input, llm_output, redact, tokenizer
from recalld.supervisor.workspace import Workspace
from tests.crash.model_disk import ModelDisk
from tests.fuzz.archives import hostile_tar, packed, read_backup
from tests.fuzz.cargo import RESULT, SOURCES, TASK, UID, Host, answer_inside, inside, is_whole, undone_inside
from tests.fuzz.mutate import mutated
from tests.pool.memory_pool import SEAL
from tests.world import EventList

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 1, 31, 2, tzinfo=UTC)
HERE = Path("memory/2026-01-28-deploy.md")
TALK = [
    {"id": "01J1", "role": "user", "text": "明天把 nginx 的配置备份到 /srv/backup。", "createdAt": "2026-01-28T01:02:03.000Z", "archived": False},
    {"id": "01J2", "role": "assistant", "text": "好的。\n\n```sh\nrsync -a /etc /srv\n```\n", "createdAt": "2026-01-28T01:03:00.000Z", "archived": "pending"},
    {"role": "tool", "content": [{"text": "done ✅"}], "createdAt": 1769562000, "meta": {"a": [1, 2.5, None]}},
]  # fmt: skip
_PAUSED = (
    b'{"attempts": 1, "failedAt": "2026-01-31T01:58:00.000Z", "nextAt": "2026-01-31T02:08:00.000Z", "reason": "429", '
    b'"day": "2026-01-31", "calls": 3, "promptTokens": 5210, "completionTokens": 640}\n'
)


class Reader(NamedTuple):
    """*read* takes bytes; it may raise what is in *says*, and nothing else. *weight*: how often it is drawn."""

    good: bytes
    read: Callable[[bytes], object]
    says: tuple[type[Exception], ...] = (ValueError, SupervisorError)
    spoil: Callable[[bytes, random.Random], bytes] = mutated
    weight: int = 1


def history(data: bytes) -> None:
    found = parse_history(data, ZONE)
    again = parse_history(render_history(found), ZONE)
    assert [one.raw for one in again] == [one.raw for one in found]
    for entry in found:
        if isinstance(entry, Message) and entry.created_at:
            block = block_of(entry)
            made = render_dated(date(2026, 1, 28), ZONE.key, ZONE, NOW, [block])
            parsed = parse_dated(made, HERE)
            assert parsed
            assert [(one.id, one.text, one.role) for one in parsed.blocks] == [(block.id, block.text, block.role)]


def dated(data: bytes) -> None:
    found = parse_dated(data, HERE)
    if found:
        for chunk in chunking.chunk_dated(str(HERE), found, foreign_text.decoded(data), ZONE):
            assert 1 <= chunk.passage.start <= chunk.passage.end


def summary(data: bytes) -> None:
    found = parse_summary(data, "2026-01-28", HERE)
    made = render_summary(replace(found, text="新的话"))
    assert parse_summary(made, "2026-01-28", HERE).text == "新的话"
    kept = found.kept.encode("utf-8", "surrogateescape")
    assert made.startswith(kept)
    assert kept in (data, data + b"\n") or data.startswith(kept)
    text = foreign_text.decoded(data)
    for chunk in chunking.chunk_summary("memory/summary/2026-01-28.md", text, date(2026, 1, 28), HERE):
        assert 1 <= chunk.passage.start <= chunk.passage.end <= text.count("\n") + 1


def note(data: bytes) -> None:
    text = foreign_text.decoded(data)
    for chunk in chunking.chunk_note("memory/笔记.md", text, None):
        assert 1 <= chunk.passage.start <= chunk.passage.end <= text.count("\n") + 1


def asked(data: bytes) -> None:
    text = data.decode("utf-8", "surrogatepass")
    parse.parse_query(text, date(2026, 1, 31), ["上次说的那个备份", text], 6)
    dates.spans(text, date(2026, 1, 31))


def said(data: bytes) -> None:
    text = data.decode("utf-8", "surrogatepass")
    tokenizer.tokens(text)
    assert llm_input.estimate_tokens(text) >= 0
    redact.redacted(text)
    language.language_of(text)
    language.is_chitchat(text)
    slug.slugs_of([[("user", text)]])
    assert "\n" not in render.shown(text, 300, ["备份"])


def answered(data: bytes) -> None:
    text = data.decode("utf-8", "surrogatepass")
    llm_output.says_nothing(text)
    said = "上次部署超时，改成 30 秒。"
    quality.judge(llm_output.cleaned(text), Material(((date(2026, 1, 31), f"{said}{text[:400]}"),), said, "zh"), 8_000)


def jsons(data: bytes) -> None:
    recover(data)
    value = parse_json(data)
    assert parse_json(render_json(value)) == value


def calls(data: bytes) -> None:
    disk = ModelDisk()
    disk.plant(".recalld/calls.jsonl", data)
    log = CallLog(Files(disk), WorkspacePaths(disk.root), ZONE)
    before = log.today(NOW)
    assert log.begin(NOW, None)
    assert log.today(NOW) == before + 1


def _workspace(path: str, data: bytes) -> Workspace:
    """A workspace with a model, in which there is this file."""
    disk = ModelDisk()
    disk.plant(path, data)
    ws = Workspace(
        disk.root,
        load(b'[llm]\nmodel = "qwen-test"\n[archive]\ntimezone = "Asia/Shanghai"\n', {}),
        Files(disk),
        EventList(lambda: NOW),
    )
    ws.prepare()
    return ws


def result(data: bytes) -> None:
    """What it says of the provider is noted, and can be read again."""
    found = parse_result(data)
    ws = _workspace("worker/failed/provider.json", _PAUSED)
    note_result(found, NOW, ws.model_use)
    state = provider_state(ws.task_queue)
    assert state.next_at is None or state.next_at - NOW <= timedelta(days=2)


def paused(data: bytes) -> None:
    ws = _workspace("worker/failed/provider.json", data)
    for known in (RESULT, _FAILED):
        note_result(known, NOW, ws.model_use)
    calls_left(NOW, 0, ws.model_use)
    summary_writer(ws.memory, ws.model_use)


def cargo(data: bytes) -> None:
    """Spoiled on its way: it is opened by nobody."""
    host = Host(EventList(lambda: NOW))
    is_good = is_whole(data)
    host.work(data)
    assert bool(host.pool.delivered[0].refused) is not is_good


def cargo_inside(data: bytes) -> None:
    host = Host(EventList(lambda: NOW))
    host.work(SEAL.seal("cargo", UID, zlib.compress(data)))


def answer_of_pool(data: bytes) -> None:
    Host(EventList(lambda: NOW)).take(SEAL.seal("answer", UID, zlib.compress(data)))


def failure(data: bytes) -> None:
    ws = _workspace(f"worker/failed/{TASK.group}.json", data)
    for found in ws.failures().values():
        is_due(found.failed_at, found.next_at, NOW)
        Backoff(found.attempts).again(NOW)
    summary_writer(ws.memory, ws.model_use)


def message(data: bytes) -> None:
    raws = parse_json(data)
    for raw in raws if isinstance(raws, list) else [raws]:
        read_message(raw, ZONE)


_SUMMARY = Summary(
    period="2026-01-28",
    zone=ZONE.key,
    created="2026-01-31T02:00:00.000Z",
    text="## 部署\n\n超时改成 30 秒。",
    sources=SOURCES,
    provider="openai",
)
_FAILED = replace(
    RESULT,
    status="failed",
    text="",
    reason="provider",
    error="429",
    retry_after_s=600,
    usage={"calls": 1, "promptTokens": 900},
    started_at="2026-01-31T01:59:00.000Z",
    completed_at="2026-01-31T01:59:30.000Z",
)
_CARGO = Host(EventList(lambda: NOW)).sealed
_MESSAGES = [one for raw in TALK[:2] if isinstance(one := read_message(raw, ZONE), Message)]
_DATED = render_dated(date(2026, 1, 28), ZONE.key, ZONE, NOW, [block_of(one) for one in _MESSAGES])
_BACKUP = packed(
    {"history.json": b"[]", "memory/2026-01-28-deploy.md": _DATED, f"memory/{'长' * 60}.md": "一条笔记\n".encode() * 50}
)

READERS = {
    "history.json": Reader(json.dumps(TALK, ensure_ascii=False).encode(), history),
    "one message": Reader(json.dumps(TALK[2]).encode(), message),
    "inbox.json": Reader(json.dumps(TALK[:1]).encode(), lambda data: parse_inbox(data, ZONE)),
    "calls.jsonl": Reader(b'{"at": "2026-01-31T02:00:00.000Z"}\n{"at": "2026-01-30T23:59:59.999Z"}\n', calls),
    "any JSON": Reader(json.dumps(TALK, indent=1).encode(), jsons),
    "a dated file": Reader(_DATED, dated),
    "a summary": Reader(render_summary(_SUMMARY), summary),
    "an edited summary": Reader(b"# mine\n\n" + render_summary(_SUMMARY), summary),
    "a note": Reader("# 花园\n\n- 绣球花三天浇一次水\n\n| a | b |\n|---|---|\n| 1 | 2 |\n".encode(), note),
    "recalld.toml": Reader(render_default("Asia/Shanghai").encode(), lambda data: load(data, {}), (SupervisorError,)),
    "a task": Reader(render_task(TASK), parse_task),
    "a result": Reader(render_result(RESULT), result),
    "a failed result": Reader(render_result(_FAILED), result),
    "a failure": Reader(
        b'{"attempts": 2, "failedAt": "2026-01-31T01:00:00.000Z", "nextAt": "2026-01-31T01:30:00.000Z", "reason": "input"}',
        failure,
    ),
    "provider.json": Reader(_PAUSED, paused),
    "a question": Reader(
        "上周三我说的那家火锅店叫什么？ What did you recommend on May 2nd?".encode(), asked, (UnicodeDecodeError,)
    ),
    "any words": Reader("明天 3 点把 gpt-4o-mini 的 key 换掉，C:\\temp 也清一下。".encode(), said, (UnicodeDecodeError,)),
    "a cargo": Reader(_CARGO, cargo),
    "what is in a cargo": Reader(inside(_CARGO), cargo_inside),
    "an answer of the pool": Reader(answer_inside(), answer_of_pool),
    "a task that comes back": Reader(undone_inside(), answer_of_pool),
    "a backup": Reader(_BACKUP, read_backup, (SupervisorError,), hostile_tar, weight=8),
    "an answer": Reader("## 部署\n\n- 超时改成 30 秒。\n".encode(), answered, (UnicodeDecodeError,)),
}


def read_one(seed: int) -> None:
    """Give one reader one piece of rubbish; AssertionError tells by its seed what is wrong."""
    pick = random.Random(seed)
    name = pick.choices([*READERS], [reader.weight for reader in READERS.values()])[0]
    reader = READERS[name]
    data = reader.spoil(reader.good, pick)
    try:
        reader.read(data)
    except reader.says:
        return
    except Exception as error:
        raise AssertionError(f"seed {seed}, {name}: {type(error).__name__}: {error}"[:400]) from error
