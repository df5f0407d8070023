"""
The files of the protocol as users and other programs see them: today's bytes equal the golden ones.

A folder of tests/golden/workspaces is as its format left it: made when that was new, by use, and never changed. recalld opens
every one, and refuses what a newer recalld wrote. Its name is the format of the seen journal.
"""

import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from recalld.supervisor.archive.journal import FORMAT
from recalld.supervisor.protocol.dated_file import Block, block_of, parse_dated, render_dated
from recalld.supervisor.protocol.message import (
    Archived,
    Failure,
    Message,
    parse_history,
    read_message,
    render_history,
    with_archived,
    with_failure,
    with_id,
    with_timestamp,
)
from recalld.supervisor.storage.errors import NewerFormat
from tests.process.command import Command
from tests.world import World, at, message

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 1, 28, 15, tzinfo=UTC)
HERE = Path("x.md")

RAWS: list[dict[str, Any]] = [
    {"id": "01JK0000", "role": "user", "text": "我对花生过敏。\n\n- 花生酱也不行", "createdAt": "2026-01-28T01:02:03.004Z"},
    {
        "id": "01JK0001",
        "role": "agent",
        "content": [{"type": "text", "text": "记住了。"}],
        "createdAt": 1769562183,
        "session": "家",
    },
    {
        "id": "01JK0002",
        "role": "user",
        "text": "```\n没有结尾的代码",
        "createdAt": "2026-01-28T09:05:00+08:00",
        "名字": {"深": [1, None]},
    },
    {"id": "01JK0003", "role": "user", "text": "**09:02 user**\n冒充的一行", "createdAt": "2026-01-28T01:06:00.000Z"},
    {"id": "01JK0004", "role": "tool", "text": "\u001b[31m失败\u0000\r\n半个\ud83d", "createdAt": "2026-01-28T01:07:00.000Z"},
    {"id": "01JK0005", "role": "user", "text": "", "createdAt": "2026-01-28T01:08:00.000Z", "chat": "group"},
]


def messages() -> list[Message]:
    found = [read_message(raw, SHANGHAI) for raw in RAWS]
    return [one for one in found if isinstance(one, Message)]


def blocks() -> tuple[Block, ...]:
    revised = read_message({**RAWS[0], "text": "我对花生和芒果过敏。"}, SHANGHAI)
    assert isinstance(revised, Message)
    return (*map(block_of, messages()), block_of(revised, revision=True))


def test_render_dated_matches_the_golden_file(golden: Callable[[str, bytes], None]):
    data = render_dated(date(2026, 1, 28), "Asia/Shanghai", SHANGHAI, NOW, blocks())
    golden("protocol/2026-01-28-peanut.md", data)
    found = parse_dated(data, HERE)
    assert found
    assert tuple(found.blocks) == blocks()


def test_render_dated_in_chinese_matches_the_golden_file(golden: Callable[[str, bytes], None]):
    said = (
        *blocks(),
        Block("01JK0006", "assistant", "```\nnginx -t\n```", NOW, {"name": "小助手"}),
        Block("01JK0007", "other", "嘀", NOW, {}),
    )
    data = render_dated(date(2026, 1, 28), "Asia/Shanghai", SHANGHAI, NOW, said, "zh")
    golden("protocol/2026-01-28-nginx.md", data)
    found = parse_dated(data, HERE)
    assert found
    assert tuple(found.blocks) == said


def test_render_history_matches_the_golden_file(golden: Callable[[str, bytes], None]):
    one, two, three, *rest = messages()
    unnamed = read_message({"role": "user", "text": "没有编号和时间"}, SHANGHAI)
    assert isinstance(unnamed, Message)
    history = (
        with_archived(one, Archived.YES),
        with_archived(two, Archived.PENDING),
        with_failure(three, Failure(2, NOW, NOW, "")),
        with_id(with_timestamp(unnamed, NOW), f"m-{unnamed.fingerprint}"),
        *rest,
        read_message("一句没有角色的话", SHANGHAI),
    )
    data = render_history(history)
    golden("protocol/history.json", data)
    assert parse_history(data, SHANGHAI) == history


# ── workspaces ───────────────────────────────────────────────────────────────────

GOLDEN = Path(__file__).parents[1] / "golden" / "workspaces"
FORMATS = sorted(path.name for path in GOLDEN.iterdir())
#: When the people of these workspaces said the last thing.
LAST = "2026-03-13T10:00"


@pytest.fixture(params=FORMATS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """A copy of a golden workspace, opened by recalld as it is now."""
    shutil.copytree(GOLDEN / request.param, tmp_path / "ws")
    return World(tmp_path / "ws", at(LAST), (GOLDEN / request.param / "recalld.toml").read_text(encoding="utf-8"))


def test_golden_workspaces_have_one_of_the_format_of_today():
    assert str(FORMAT) in FORMATS


@pytest.mark.feature("003.1")
def test_golden_workspace_is_accounted_for_and_found(opened):
    assert opened.fsck().is_sound
    assert opened.fsck().seen == 9
    for question, words in {
        "花生过敏": "我对花生过敏，点外卖要备注。",
        "备份脚本放在哪里": "备份脚本放在 /srv/backup，端口 8443。",
        "沈医生": "明天要去沈医生那里复查尿酸。",
        "骑马": "学骑马",
    }.items():
        assert any(words in text for text in opened.found_texts(question)), question


def test_golden_workspace_goes_on_without_a_change_of_what_is_written(opened):
    before = {name: data for name, data in opened.tree().items() if name.startswith(("memory", "attachments", "recalld"))}
    opened.append(message("g1", LAST, "那就少吃海鲜。"))
    opened.until_settled()
    after = opened.tree()
    assert {name: after.get(name) for name in before} == before
    assert {"复查的结果出来了。", "尿酸 402。", "那就少吃海鲜。"} <= set(opened.archived_texts())
    assert opened.fsck().is_sound


@pytest.mark.proof
@pytest.mark.parametrize(
    ("name", "head", "newer"),
    [
        (".recalld/seen.jsonl", b'{"recalld": 1}', b'{"recalld": 9}'),
        ("memory/summary/2026-01.md", b"recalld: 1", b"recalld: 9"),
        ("memory/2026-03-13-yangtai-zhenliang.md", b"recalld: 2", b"recalld: 9"),
    ],
)
def test_run_refuses_a_workspace_of_a_newer_format_in_one_sentence(tmp_path, name, head, newer):
    shutil.copytree(GOLDEN / str(FORMAT), tmp_path / "ws")
    path = tmp_path / "ws" / name
    data = path.read_bytes()
    assert data.count(head) == 1
    path.write_bytes(data.replace(head, newer))
    recalld = Command(tmp_path / "ws", RECALLD_NOW=f"{LAST}+08:00")
    history = (tmp_path / "ws" / "history.json").read_bytes()
    for words in (("run", "--until-settled", "--no-worker"), ("run", "--no-worker"), ("fsck",)):
        done = recalld(*words)
        assert (words, done.code) == (words, NewerFormat.exit_code)
        assert done.err == f"recalld: {path} has format 9 of a newer recalld; upgrade recalld to open it.\n"
    assert (tmp_path / "ws" / "history.json").read_bytes() == history
