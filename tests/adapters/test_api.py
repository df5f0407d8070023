"""The Python API: the same steps as the commands, over the same files."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from supervisor import Memory, SupervisorError
from supervisor.protocol.errors import BadRequest, NotFound
from tests.conftest import Desk, message


@pytest.fixture
def memory(desk: Desk) -> Memory:
    """A settled workspace in which a few things were said, as a program opens it."""
    desk.write(
        [
            message("1", "2026-01-28T09:00", "备份放在书房的 NAS 上，每天凌晨三点跑。"),
            message("2", "2026-01-28T09:01", "Noted: the backup runs on the NAS at 3 am.", "assistant"),
            message("3", "2026-01-29T09:00", "我对花生过敏。"),
        ]
    )
    desk.settle()
    (desk.root / "recalld.toml").write_text(desk.toml)
    return Memory(desk.root, environ={}, clock=desk.clock)


def test_a_turn_gets_the_memory_that_answers_and_leaves_a_receipt(memory):
    made = memory.inject("备份在哪台机器上？")
    assert "书房的 NAS" in made.memory
    assert "花生" not in made.memory
    receipt = memory.why()
    assert (receipt.id, receipt.question, receipt.memory) == (made.id, "备份在哪台机器上？", made.memory)
    assert memory.why(made.id[:20]) == receipt
    assert memory.replay().difference == ()


def test_a_whole_turn_begins_with_the_client_s_own_system_prompt_and_ends_with_the_question(memory):
    messages = memory.context("有什么不能吃的？过敏", system="你是家里的助手。").messages
    assert messages[0] == {"role": "system", "content": "你是家里的助手。"}
    assert messages[-1] == {"role": "user", "content": "有什么不能吃的？过敏"}
    assert any("花生" in one["content"] for one in messages[1:-1])


def test_a_search_cites_lines_that_get_gives_back_word_for_word(memory):
    hit = memory.search("花生", limit=1)[0]
    found = memory.get(f"{hit.unit.path}#L{hit.unit.start}-L{hit.unit.end}")
    assert found.text == "我对花生过敏。"
    assert (found.start, found.end) == (hit.unit.start, hit.unit.end)


def test_what_is_appended_is_in_history_when_the_call_returns_and_is_found_by_the_next_talk(memory, desk):
    [identity] = memory.append([{"role": "user", "text": "车停在 B2 的 117 号。"}])
    assert desk.history()[-1]["id"] == identity
    desk.settle()
    assert [hit.unit.text for hit in memory.search("车停在哪")] == ["车停在 B2 的 117 号。"]


def test_a_file_saved_between_two_questions_is_found(memory, desk):
    assert memory.search("绣球花") == ()
    (desk.root / "memory" / "花园.md").write_text("# 花园\n\n绣球花三天浇一次水。\n", encoding="utf-8")
    assert memory.search("绣球花")[0].unit.path == "memory/花园.md"
    memory.rebuild()
    assert memory.search("绣球花")[0].unit.path == "memory/花园.md"


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda memory: memory.get("../history.json"), BadRequest),
        (lambda memory: memory.get("memory/2026-01-01-nothing.md"), NotFound),
        (lambda memory: memory.search("花生", limit=0), BadRequest),
        (lambda memory: memory.append([{"role": "user"}]), BadRequest),
        (lambda memory: memory.why("没有这一轮"), NotFound),
        (lambda memory: Memory("/没有/这个文件夹"), BadRequest),
    ],
)
def test_a_fault_is_one_sentence_with_the_exit_code_of_the_command(memory, desk, call, kind):
    before = desk.history()
    with pytest.raises(kind) as caught:
        call(memory)
    assert isinstance(caught.value, SupervisorError)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 64
    assert desk.history() == before


def test_importing_the_package_loads_nothing_until_it_is_asked_for():
    code = "import sys, supervisor; print([m for m in sys.modules if m.startswith('supervisor.')]); supervisor.Memory; print(len(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert json.loads(said[0].replace("'", '"')) == []
