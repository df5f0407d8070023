"""A redaction that 0.28 or older began is finished: marks stand where secrets were, and the words as they were leave every place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from recalld.supervisor.forgetting import sweep
from recalld.supervisor.forgetting.wanted import Wanted, standing
from recalld.supervisor.longterm.lines import cut, filled
from recalld.supervisor.operations.forget import finish
from recalld.supervisor.operations.long_term import WriteRequest
from recalld.supervisor.operations.long_term import write as long_term_write
from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.storage.texts import render
from recalld.supervisor.text.marks import has_secret, marked
from recalld.supervisor.text.redact import find_secrets
from tests.world import Diarist, World, at, message

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "w", at("2026-01-31T10:00"))
    world.write(
        [
            message("m-key-0000001", "2026-01-10T09:00", f"路由器在书房。The key is {KEY}, keep it."),
            message("m-plain-00001", "2026-01-10T09:05", "周五去游泳馆，带上泳镜。"),
            message("m-pass-000001", "2026-01-30T09:00", "wifi 的密码是 hunter2-demo，客人用。"),
        ]
    )
    world.put("memory.md", "2026-01-20|web-chat|邮箱密码：correct-horse-7\n2026-01-21|web-chat|喜欢喝茶\n")
    world.settle()
    return world


def begin(world: World) -> None:
    """Begin to redact, as `recalld redact` of 0.28 did: an act of forgetting that has the language of its marks."""
    ws, now = world.ws, world.clock()
    ws.journal.refresh()
    messages = {key: one for key, one in standing(ws, now).items() if one.files and has_secret(one.said.text)}
    lines = tuple(line for line in filled(cut(ws.long_term.read().text)) if has_secret(line.text))
    sweep.begin(ws, Wanted(messages, lines), now, bytes(32))
    *before, act = (world.read(".recalld/forgotten.jsonl") or b"").splitlines()
    marked_act = json.dumps({**json.loads(act), "marks": "zh"}).encode()
    world.put(".recalld/forgotten.jsonl", b"\n".join([*before, marked_act, b""]))


def redact(world: World) -> bool:
    """Whether a redaction that was begun is done."""
    begin(world)
    return finish(world.ws, world.clock())


def left(world: World) -> set[str]:
    """The secrets of which a byte is left anywhere."""
    data = b"\0".join(path.read_bytes() for path in world.root.rglob("*") if path.is_file())
    return {one for one in (KEY, "hunter2-demo", "correct-horse-7") if one.encode() in data}


def test_redact_puts_marks_and_leaves_every_other_word(world: World) -> None:
    assert redact(world)
    world.settle()
    assert left(world) == set()
    texts = [block.text for file in world.ws.memory.dated() for block in world.ws.memory.blocks(file.name)]
    assert len(texts) == 3
    assert any(text.startswith("路由器在书房。The [已隐去：key]") and text.endswith("keep it.") for text in texts)
    assert "喜欢喝茶" in (world.read("memory.md") or b"").decode()
    assert world.verdict()[1]
    assert world.fsck().lost == []


def test_redacted_message_is_missed_when_its_file_is_deleted(world: World) -> None:
    seen = world.fsck().seen
    assert redact(world)
    world.settle()
    assert world.fsck().seen == seen
    path = next(world.ws.memory.path_of(file.name) for file in world.ws.memory.dated() if file.day.day == 30)
    path.unlink()
    world.reopen()
    world.settle()
    found = world.fsck()
    assert (found.seen, len(found.lost)) == (seen, 1)
    assert "m-pass-000001" in str(found.lost[0])
    assert left(world) == set()
    assert world.repair().saved == 0
    said = world.verdict()[0][0]
    assert "`recalld redact` left no copy" in said
    assert "--repair" not in said, "it finds nothing"
    assert "没有留下副本" in render(said, "zh")
    world.accept(path.name)
    assert world.verdict()[1]


def test_redaction_leaves_the_advice_for_other_messages_of_a_lost_file(world: World) -> None:
    assert redact(world)
    world.settle()
    path = next(world.ws.memory.path_of(file.name) for file in world.ws.memory.dated() if file.day.day == 10)
    path.unlink()
    for name in ("history.json", "history.json.bak"):
        world.put(name, "[]")
    world.reopen()
    lost, redacted = world.verdict()[0][:2]
    assert ("(1)" in lost, "--repair" in lost) == (True, True)
    assert ("(1)" in redacted, "--repair" in redacted) == (True, False)


def test_redact_reaches_copies_of_words_that_stand_nowhere_else(tmp_path: Path) -> None:
    world = Diarist(tmp_path / "w", at("2026-01-31T10:00"))
    world.write([message("m-key-0000001", "2026-01-30T09:00", f"路由器在书房。The key is {KEY}, keep it.")])
    world.settle()
    write = WriteRequest(content="邮箱密码：correct-horse-7")
    perform(long_term_write, world.ws, write, Caller(clock=world.clock))
    world.save_receipt(world.inject("路由器在哪里？"))
    world.write([])
    world.settle()
    (world.root / "history.json.bak").unlink()
    assert left(world) == {KEY, "correct-horse-7"}
    assert redact(world)
    assert left(world) == set()


def test_redacted_words_do_not_come_back_by_a_program(world: World) -> None:
    before = world.history()
    assert redact(world)
    world.write(before)
    world.settle()
    assert left(world) == set()


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_mark_says_what_stood_there_and_is_no_secret(language: Any) -> None:
    text = marked(f"password: hunter2-demo, 密码是 hunter3-demo, {KEY}", (), language)
    assert not [one for one in ("hunter", KEY) if one in text]
    assert find_secrets(text) == []
    ordinary = "The password policy changed; 密码本在抽屉里，会议在 3 号楼。写信到 anna@example.com。"
    assert marked(ordinary, (), language) == ordinary
