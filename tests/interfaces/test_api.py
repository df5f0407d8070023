"""The Python API: the same steps as the commands, over the same files."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec

import pytest

import recalld.supervisor.index.index
from recalld import Memory, SupervisorError
from recalld.supervisor.index import chunking
from recalld.supervisor.index.index import SCHEMA, WORDS
from recalld.supervisor.protocol.inbox import Chat
from recalld.supervisor.storage.errors import BadRequest, NotFound
from tests.world import World, message


@pytest.fixture
def memory(world: World) -> Memory:
    """A settled workspace in which a few things were said, as a program opens it."""
    world.write(
        [
            message("1", "2026-01-28T09:00", "备份放在书房的 NAS 上，每天凌晨三点跑。"),
            message("2", "2026-01-28T09:01", "Noted: the backup runs on the NAS at 3 am.", "assistant"),
            message("3", "2026-01-29T09:00", "我对花生过敏。"),
        ]
    )
    world.settle()
    world.put("recalld.toml", world.toml)
    return Memory(world.root, environ={}, clock=world.clock)


def test_api_inject_returns_the_relevant_memory_and_saves_a_receipt(memory):
    made = memory.inject("备份在哪台机器上？")
    assert "书房的 NAS" in made.memory
    assert "花生" not in made.memory
    receipt = memory.why()
    assert (receipt.id, receipt.question, receipt.memory) == (made.id, "备份在哪台机器上？", made.memory)
    assert memory.why(made.id[:20]) == receipt


def test_api_repr_of_a_turn_and_its_receipt_fits_a_screen(memory):
    memory.append([{"role": "user", "text": f"第 {n} 次散步：" + "很长的话" * 400} for n in range(30)])
    turn = memory.context("备份在哪台机器上？", system="你是家里的助手。" * 500)
    assert {type(shown).__name__: len(repr(shown)) < 1_000 for shown in (turn, memory.why())} == {
        "Injection": True,
        "Receipt": True,
    }
    assert "## Memory" in repr(turn)


def _endless() -> dict[str, object]:
    raw: dict[str, object] = {"role": "user", "text": "好"}
    raw["self"] = raw
    return raw


def test_search_shows_words_that_were_said_again_once_the_newest(memory):
    said = ("那个修锅炉的师傅是老秦，电话 0571-5550123", *["修锅炉的师傅是谁来着？"] * 8)
    memory.append([{"role": "user", "text": text, "createdAt": f"2026-01-30T1{n}:00Z"} for n, text in enumerate(said)])
    texts = [hit.unit.text for hit in memory.search("修锅炉的师傅是谁", limit=2)]
    assert sorted(texts) == ["修锅炉的师傅是谁来着？", "那个修锅炉的师傅是老秦，电话 0571-5550123"]


def test_api_search_finds_a_file_saved_between_two_questions(memory, world):
    assert memory.search("绣球花") == ()
    (world.root / "memory" / "花园.md").write_text("# 花园\n\n绣球花三天浇一次水。\n", encoding="utf-8")
    assert memory.search("绣球花")[0].unit.path == "memory/花园.md"
    memory.rebuild()
    assert memory.search("绣球花")[0].unit.path == "memory/花园.md"


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda memory: memory.get("memory/2026-01-01-nothing.md"), NotFound),
        (lambda memory: memory.append([{"role": "user", "text": "好"}, "花生"]), BadRequest),
        (lambda memory: memory.append({"role": "user", "text": "好", "at": datetime(2026, 1, 28, tzinfo=UTC)}), BadRequest),
        (lambda memory: memory.append({"role": "user", "text": "好", "score": float("nan")}), BadRequest),
        (lambda memory: memory.append(_endless()), BadRequest),
        (lambda memory: memory.append({"role": "user", "text": "好", "createdAt": "11/10/2026"}), BadRequest),
        (lambda memory: memory.append({"role": "user", "text": "好", "createdAt": "2099-01-01"}), BadRequest),
        (lambda memory: Memory("~nobody-of-this-name/memory"), BadRequest),
    ],
)
def test_api_errors_have_one_sentence_and_the_exit_code_of_the_command(memory, world, call, kind):
    before = world.history()
    with pytest.raises(kind) as caught:
        call(memory)
    assert isinstance(caught.value, SupervisorError)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 64
    assert world.history() == before


@pytest.mark.parametrize(
    "where", [{"chat": "supergroup"}, {"chat": {"type": "group"}}, {"chat": True}, {"session": "telegram:supergroup:-1"}]
)
def test_api_inject_of_an_input_from_a_group_shows_nothing_private(world, where):
    world.fill([message("1", "2026-01-28T09:00", "工资条的密码是生日，车牌 A12345。")])
    memory = Memory(world.ws, clock=world.clock)
    world.ask({"id": "i1", "text": "密码是什么？", **where})
    assert "生日" not in memory.inject().memory
    world.ask({"id": "i2", "text": "密码是什么？", "session": "web-1", "chat": None})
    assert "生日" in memory.inject().memory


@pytest.mark.parametrize("keep_fresh", [True, False])
def test_api_judges_lines_that_were_indexed_by_an_older_rule(world, monkeypatch, keep_fresh):
    heard = {"session": "telegram:supergroup:-1", "chat": "supergroup"}
    world.write([message("1", "2026-01-28T09:00", "车牌 A12345。", **heard), message("2", "2026-01-28T09:01", "车牌 B6。")])
    world.settle()
    with monkeypatch.context() as older:
        older.setattr(chunking, "chat_of", lambda raw: Chat("direct", raw.get("session", "")))
        older.setattr(recalld.supervisor.index.index, "VERSION", f"{SCHEMA}.{WORDS}.2")
        world.refresh(rebuild=True)
    memory = Memory(world.root, environ={}, clock=world.clock, keep_fresh=keep_fresh)
    block = memory.inject("车牌", session=heard["session"]).memory
    assert "A12345" in block
    assert "B6" not in block


def test_api_get_explains_an_invalid_citation_and_a_missing_path(memory, world):
    world.put("notes.md", "不是记忆\n")
    world.put("memory.md", "一\n二\n三\n")
    assert memory.get("memory.md#L2-L2").text == "二"
    cited = memory.get("memory.md#L1,L3")
    assert (cited.start, cited.end, cited.total, cited.text) == (1, 3, 3, "一\n三")
    assert memory.get("./memory.md", 2, 1) == memory.get("memory.md", 2, 1)
    for kind, words, why in (
        (BadRequest, ("memory.md#L2", 1, 1), "says already which lines"),
        (BadRequest, ("memory.md#L3-L2",), "#L3-L2 is no citation"),
        (BadRequest, ("memory.md#L3,L1",), "#L3,L1 is no citation"),
        (NotFound, ("nosuch.md",), r"nosuch\.md does not exist"),
        (BadRequest, ("notes.md",), "no memory file"),
        (BadRequest, ("memory/\ud800.md",), "no memory file"),
    ):
        with pytest.raises(kind, match=why):
            memory.get(*words)


def test_api_import_loads_no_submodule_before_first_use():
    code = "import sys, recalld; print([m for m in sys.modules if m.startswith('recalld.')]); recalld.Memory"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "[]\n"


@pytest.mark.skipif(find_spec("llama_index") is not None, reason="LlamaIndex is installed, so that nothing is missing")
def test_api_llamaindex_without_its_extra_says_what_to_install():
    with pytest.raises(ModuleNotFoundError, match=re.escape("pip install '.[llamaindex]'")):
        import_module("recalld.llamaindex")
