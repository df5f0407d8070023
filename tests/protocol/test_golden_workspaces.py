"""
Workspaces as each format left them, in tests/golden/workspaces: recalld opens every one, and refuses what a newer recalld wrote.

A folder is made when its format is new, by use, and is never changed afterwards; its name is the format of the seen journal.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from recalld.supervisor.archive.journal import FORMAT
from recalld.supervisor.storage.errors import NewerFormat
from tests.process.command import Command
from tests.world import World, at, message

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
