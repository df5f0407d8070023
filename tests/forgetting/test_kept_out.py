"""With `privacy.redact = "store"` a secret is never stored: a mark stands in its place from the beginning."""

import json
from pathlib import Path

import pytest

from recalld.supervisor.forgetting import sweep
from recalld.supervisor.forgetting.wanted import wanted
from recalld.supervisor.importing.run import bring_in
from tests.world import Diarist, World, at, message

STORE = '[privacy]\nredact = "store"\n'
SAID = "wifi 的密码是 hunter2-demo，客人用。"

RAWS = [message("m-1", "2026-01-30T09:00", SAID), {"role": "user", "text": SAID, "createdAt": "2026-01-30T09:01:00Z"}]
SECRETS = ("hunter2-demo", "8841", "correct-horse-7")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return Diarist(tmp_path / "w", at("2026-01-31T10:00"), STORE)


def left(world: World) -> set[str]:
    data = b"\0".join(path.read_bytes() for path in world.root.rglob("*") if path.is_file())
    return {one for one in SECRETS if one.encode() in data}


def texts(world: World) -> list[str]:
    return [block.text for file in world.ws.memory.dated() for block in world.ws.memory.blocks(file.name)]


def test_append_marks_the_parts_of_a_message_and_keeps_the_rest(world: World) -> None:
    parts = [
        {"type": "text", "text": "the pin of my card is 8841"},
        {"type": "image_url", "image_url": {"url": "https://a.b/c"}},
    ]
    world.append({"role": "user", "content": parts, "session": "home"})
    (kept,) = world.history()
    assert kept["content"] == [{"type": "text", "text": "the pin of my card is [redacted]"}, parts[1]]
    assert left(world) == set()


def test_intake_marks_what_a_program_wrote_and_writes_again(world: World, tmp_path: Path) -> None:
    world.write(RAWS)
    world.drop("phone.json", message("m-2", "2026-01-30T09:02", "My pin: 8841"))
    source = tmp_path / "export.jsonl"
    source.write_text(json.dumps(message("m-3", "2026-01-20T09:00", "password: correct-horse-7")) + "\n", "utf-8")
    world.round()
    bring_in(world.ws, source, world.clock(), world.control)
    world.settle()
    assert (len(texts(world)), left(world)) == (4, set())
    world.write(RAWS)
    world.settle()
    assert (len(texts(world)), left(world)) == (4, set())


@pytest.mark.parametrize("before", ["", STORE], ids=["stored as it was", "stored with a mark"])
def test_what_was_forgotten_stays_away_in_its_first_words(tmp_path: Path, before: str) -> None:
    world = Diarist(tmp_path / "w", at("2026-01-31T10:00"), before)
    raw = message("m-1", "2026-01-30T09:00", SAID)
    world.drop("phone.json", raw)
    world.settle()
    sweep.begin(world.ws, wanted(world.ws, "message", "m-1", world.clock()), world.clock(), bytes(32))
    world.settle()
    world.reopen(STORE)
    world.drop("again.json", raw)
    assert world.found_texts("wifi 的密码") == []
    world.settle()
    assert (world.dropped(), world.history(), texts(world), left(world)) == ([], [], [], set())


def test_lines_are_written_with_marks_and_once(world: World) -> None:
    world.ws.long_term.append("web-chat", "邮箱密码：correct-horse-7", world.clock())
    again = world.ws.long_term.append("web-chat", "邮箱密码：correct-horse-7", world.clock())
    world.ws.long_term.replace(f"{world.ws.long_term.read().text}- 喜欢喝茶\n- password: hunter2-demo\n")
    assert (again.is_new, left(world)) == (False, set())
    assert "- 喜欢喝茶\n- password: [已隐去]\n" in world.ws.long_term.read().text


def test_receipts_have_no_secret_of_a_question(world: World) -> None:
    world.append({"role": "user", "text": "路由器在书房。"})
    world.settle()
    world.save_receipt(world.inject("路由器的密码是 hunter2-demo 吗？"))
    world.save_receipt(world.context("路由器的密码是 hunter2-demo 吗？"))
    assert left(world) == set()


def test_what_was_stored_before_stays_and_is_known(tmp_path: Path) -> None:
    world = World(tmp_path / "w", at("2026-01-31T10:00"))
    world.write(RAWS)
    world.settle()
    world.reopen(STORE)
    world.write(RAWS)
    world.append(RAWS[0])
    world.settle()
    assert texts(world) == [SAID, SAID]
