"""A file that an editor saved with CRLF, or with a BOM, is the same file: found, not doubled, not lost, and dealt with in time."""

from __future__ import annotations

import json
import re
import shutil
from importlib import resources
from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.protocol.config import render_default
from recalld.supervisor.protocol.prompts import load_template
from recalld.supervisor.workspace import open_workspace
from tests.world import GOOD_SUMMARY, World, message

if TYPE_CHECKING:
    from collections.abc import Callable

BOM = b"\xef\xbb\xbf"
#: What editors make of a file; the first leaves it as it was, so that each test says first what is due without any of it.
EDITORS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "bom": lambda data: BOM + data,
}
PEANUT = "我对花生过敏，\n点外卖要备注。"
QUESTION = "花生过敏"


@pytest.fixture(params=EDITORS)
def editor(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def save(world: World, name: str, editor: str) -> bytes:
    """Open the file in the editor and save it; returns its bytes."""
    before = world.read(name)
    assert before
    after = EDITORS[editor](before)
    assert (after != before) == (editor != "plain")
    world.put(name, after)
    return after


def remembered(world: World, day: str = "2026-01-29") -> str:
    """The path of the dated file of a message about peanuts."""
    world.write([message("m1", f"{day}T09:00", PEANUT)])
    world.round("all")
    (path,) = world.dated_files()
    return path


def found(world: World) -> list[str]:
    world.refresh()
    return world.found_paths(QUESTION)


# ── dated files ──────────────────────────────────────────────────────────────


def test_dated_file_of_an_editor_is_found(world: World, editor: str) -> None:
    path = remembered(world)
    save(world, path, editor)
    assert found(world) == [path]


def test_dated_file_of_an_editor_is_not_written_again(world: World, editor: str) -> None:
    path = remembered(world)
    data = save(world, path, editor)
    world.settle()
    world.reopen().settle()
    assert world.archived() == [("m1", PEANUT)]
    assert world.read(path) == data
    assert world.flags() == [True]


def test_dated_file_of_an_editor_is_summarised_and_moved_in_time(world: World, editor: str) -> None:
    path = remembered(world)
    data = save(world, path, editor)
    world.forward(days=10).settle()
    assert world.summaries() == ["2026-01-29"]
    assert world.read(path.replace("memory/", "memory/originals/2026-01/")) == data
    assert world.read(path) is None
    assert len(world.model.requests) == 1


def test_original_of_an_editor_stays_an_original_of_its_summary(world: World, editor: str) -> None:
    remembered(world, "2026-01-10")
    world.settle()
    (path,) = world.dated_files()
    data = save(world, path, editor)
    world.settle()
    assert world.read(path) == data
    assert world.archived() == [("m1", PEANUT)]
    assert world.summaries() == ["2026-01-10"]
    assert world.summary("2026-01-10").count("我对花生过敏") == 1


# ── summaries, notes, long-term memory ───────────────────────────────────────


def test_summary_of_an_editor_is_not_made_again(world: World, editor: str) -> None:
    remembered(world, "2026-01-10")
    world.settle()
    data = save(world, "memory/summary/2026-01-10.md", editor)
    world.settle()
    world.reopen().settle()
    assert world.read("memory/summary/2026-01-10.md") == data
    assert len(world.model.requests) == 1


def test_summary_of_an_editor_is_found_and_told_in_its_month(world: World, editor: str) -> None:
    remembered(world, "2026-01-10")
    world.settle()
    save(world, "memory/summary/2026-01-10.md", editor)
    assert "memory/summary/2026-01-10.md" in found(world)
    world.forward(days=40).settle()
    assert "2026-01" in world.summaries()
    assert world.summary("2026-01").count("我对花生过敏") == 1


def test_summary_of_an_editor_takes_in_a_late_message_below(world: World, editor: str) -> None:
    remembered(world, "2026-01-10")
    world.settle()
    data = save(world, "memory/summary/2026-01-10.md", editor)
    world.model.script = lambda *_: GOOD_SUMMARY
    world.add(message("late", "2026-01-10T20:00", "部署：超时改成 30 秒，备份放在 /srv/backup。"))
    world.settle()
    after = world.read("memory/summary/2026-01-10.md")
    assert after is not None
    assert GOOD_SUMMARY.encode() in after
    assert data in after or "花生".encode() not in after
    assert len(world.model.requests) == 2


def test_note_of_an_editor_is_found_summarised_once_and_kept(world: World, editor: str) -> None:
    world.note("2026-01-10-家.md", f"# 家\n\n{PEANUT}\n")
    data = save(world, "memory/2026-01-10-家.md", editor)
    assert found(world) == ["memory/2026-01-10-家.md"]
    world.settle()
    world.reopen().settle()
    assert world.read("memory/2026-01-10-家.md") == data
    assert world.summaries() == ["2026-01-10"]
    assert len(world.model.requests) == 1
    (_, blocks) = world.model.requests[0]
    assert ["\ufeff" in block.text for block in blocks] == [False]


def test_long_term_memory_of_an_editor_is_found_and_kept(world: World, editor: str) -> None:
    world.put("memory.md", f"# 我\n\n{PEANUT}\n")
    data = save(world, "memory.md", editor)
    assert found(world) == ["memory.md"]
    assert "\ufeff" not in world.inject(QUESTION).memory
    world.settle()
    assert world.read("memory.md") == data


# ── the conversation ─────────────────────────────────────────────────────────


def test_history_of_an_editor_loses_and_doubles_nothing(world: World, editor: str) -> None:
    world.write(
        [message("m1", "2026-01-29T09:00", PEANUT), message("m2", "2026-01-10T09:00"), {"role": "user", "text": "无号"}]
    )
    world.round()
    world.put("history.json", json.dumps(world.history(), ensure_ascii=False, indent=1).encode())
    save(world, "history.json", editor)
    world.settle()
    world.reopen().settle()
    assert len(world.archived()) == 3
    assert ("m1", PEANUT) in world.archived()
    assert [one["archived"] for one in json.loads(world.read("history.json").decode("utf-8-sig"))] == [True] * 3  # type: ignore[union-attr]
    assert world.events.of("history_invalid") == world.events.of("message_odd") == []


def test_history_of_an_editor_takes_an_appended_message(world: World, editor: str) -> None:
    world.put("history.json", json.dumps([message("m1", "2026-01-29T09:00", PEANUT)], indent=1).encode())
    save(world, "history.json", editor)
    (identity,) = world.append({"role": "user", "text": "还有杏仁。"})
    world.settle()
    assert sorted(world.archived()) == sorted([("m1", PEANUT), (identity, "还有杏仁。")])


def test_backup_of_an_editor_restores_the_history(world: World, editor: str) -> None:
    remembered(world)
    world.add(message("m2", "2026-01-31T09:00", "还有杏仁。"))
    world.round("all")
    save(world, "history.json.bak", editor)
    world.put("history.json", b"")
    world.reopen().restore()
    assert [one["id"] for one in world.history()] == ["m1", "m2"]


def test_inbox_of_an_editor_has_its_turn_made_ready(world: World, editor: str) -> None:
    remembered(world)
    world.refresh()
    world.put("inbox.json", json.dumps([message("q1", "2026-01-31T09:59", "花生过敏吗")], indent=1).encode())
    save(world, "inbox.json", editor)
    turn = world.prepared_contexts().update()
    assert turn
    receipt = world.why(turn)
    assert receipt.question == "花生过敏吗"
    assert [said["content"] for said in receipt.history] == [PEANUT]
    assert world.events.of("inbox_invalid") == []


def test_receipt_of_an_editor_says_the_same(world: World, editor: str) -> None:
    remembered(world)
    world.refresh()
    world.save_receipt(world.context(QUESTION))
    before = world.why()
    assert before.messages
    (name,) = [name for name in world.tree() if name.startswith("turns/")]
    save(world, name, editor)
    assert world.why() == before


def test_drop_box_takes_in_an_editors_file_once(world: World, editor: str) -> None:
    path = world.drop("phone.json", json.dumps(message("m1", "2026-01-29T09:00", PEANUT), indent=1).encode())
    save(world, "inbox.d/new/phone.json", editor)
    world.settle()
    world.reopen().settle()
    assert world.archived() == [("m1", PEANUT)]
    assert not path.exists()
    assert world.events.of("file_quarantined") == []


# ── configuration and wording ────────────────────────────────────────────────


def test_configuration_of_an_editor_says_the_same(world: World, editor: str) -> None:
    world.put("recalld.toml", f"{render_default('Asia/Shanghai')}\n[history]\nsoft_cap = 90\n")
    before = open_workspace(world.root, {}, world.clock).config
    save(world, "recalld.toml", editor)
    assert open_workspace(world.root, {}, world.clock).config == before
    assert before.history.soft_cap == 90


def test_prompt_of_an_editor_asks_the_same(world: World, editor: str) -> None:
    name = "daily-summary.zh.md"
    world.put(f"prompts/{name}", (resources.files("recalld.prompts") / name).read_bytes() + "\n语气要像老朋友。\n".encode())

    def asked() -> str:
        return load_template("daily-summary", "zh", world.files, world.paths).fill(date="2026-01-10", messages="材料")

    before = asked()
    assert "老朋友" in before
    save(world, f"prompts/{name}", editor)
    assert asked() == before


# ── the worker's files and the machine's ─────────────────────────────────────


def indent(world: World, name: str) -> None:
    """Let somebody format a JSON file, so that it has lines."""
    data = world.read(name)
    assert data
    world.put(name, json.dumps(json.loads(data), ensure_ascii=False, indent=1).encode() + b"\n")


def only_file(world: World, folder: str) -> str:
    (name,) = [name for name in world.tree() if name.startswith(f"worker/{folder}/")]
    return name


def test_task_of_an_editor_is_done(world: World, editor: str) -> None:
    remembered(world, "2026-01-10")
    indent(world, only_file(world, "queue"))
    save(world, only_file(world, "queue"), editor)
    assert world.work() == 1
    world.settle()
    assert world.summaries() == ["2026-01-10"]
    assert len(world.model.requests) == 1
    assert world.events.of("summary_failed") == world.events.of("file_quarantined") == []


def test_result_of_an_editor_becomes_the_summary(world: World, editor: str) -> None:
    remembered(world, "2026-01-10")
    world.work()
    indent(world, only_file(world, "results"))
    save(world, only_file(world, "results"), editor)
    world.settle()
    assert world.summaries() == ["2026-01-10"]
    assert len(world.model.requests) == 1
    assert world.events.of("file_quarantined") == []


def test_failure_of_an_editor_still_waits(world: World, editor: str) -> None:
    world.model.script = lambda *_: "{}"
    remembered(world, "2026-01-10")
    world.work()
    world.round()
    before = world.ws.failures(), world.provider_state()
    assert before[0]
    for name in ("worker/failed/day-2026-01-10.json", "worker/failed/provider.json"):
        indent(world, name)
        save(world, name, editor)
    world.reopen().settle()
    assert (world.ws.failures(), world.provider_state()) == before
    assert len(world.model.requests) == 1


def test_seen_journal_of_an_editor_remembers_what_is_written(world: World, editor: str) -> None:
    path = remembered(world)
    world.write([*world.history(), message("m2", "2026-01-31T09:50", "还没有写下的话")])
    world.intake()
    save(world, ".recalld/seen.jsonl", editor)
    world.put(path, (world.read(path) or b"").partition(b"<!--")[0])  # a person deletes the message
    world.reopen().settle()
    world.add(message("m3", "2026-01-31T09:59", "之后说的话"))
    world.reopen().settle()
    assert world.archived_texts() == sorted(["还没有写下的话", "之后说的话"])
    assert world.flags() == [True] * 3


def test_seen_journal_of_an_editor_has_un_written_words(world: World, editor: str) -> None:
    world.write([message("m1", "2026-01-31T09:50", PEANUT)])
    world.intake()
    save(world, ".recalld/seen.jsonl", editor)
    world.write([])  # another program loses them
    world.reopen().settle()
    assert world.archived() == [("m1", PEANUT)]


def test_call_log_of_an_editor_counts_the_same_calls(world: World, editor: str) -> None:
    for _ in range(3):
        world.ws.calls.begin(world.clock(), None)
    save(world, ".recalld/calls.jsonl", editor)
    assert world.reopen().ws.calls.today(world.clock()) == 3
    world.ws.calls.begin(world.clock(), None)
    assert world.ws.calls.today(world.clock()) == 4


# ── formatters ───────────────────────────────────────────────────────────────

#: What formatters make of a dated file: blank lines go, or come, between its comment, its line of time and role, and its words.
FORMATTERS: dict[str, Callable[[str], str]] = {
    "no blank lines": lambda text: re.sub(r"\n{2,}", "\n", text),
    "prettier": lambda text: text.replace("-->\n**", "-->\n\n**"),
    "crlf and no blank lines": lambda text: re.sub(r"\n{2,}", "\n", text).replace("\n", "\r\n"),
    "no end": lambda text: text.rstrip("\n") + "\n",
}
SPACED = "清单：\n\n\n- 护照\n\n- 充电器"


@pytest.mark.parametrize("formatter", FORMATTERS)
@pytest.mark.parametrize("machine_state", ["kept", "deleted"])
def test_formatter_neither_hides_nor_doubles_a_message(world: World, formatter: str, machine_state: str) -> None:
    world.write([message("m1", "2026-01-29T09:00", PEANUT), message("m2", "2026-01-29T09:01", SPACED)])
    world.round("all")
    (path,) = world.dated_files()
    data = FORMATTERS[formatter]((world.read(path) or b"").decode()).encode()
    world.put(path, data)
    if machine_state == "deleted":
        shutil.rmtree(world.root / ".recalld")
    world.reopen().settle()
    assert list(world.dated_files()) == [path]
    assert world.read(path) == data
    assert [identity for identity, _ in world.archived()] == ["m1", "m2"]
    assert set(found(world)) == {path}
    assert world.flags() == [True, True]
    assert (world.fsck().removed, world.fsck().is_sound) == (0, True)
    lines = world.get(path).text.splitlines()
    assert PEANUT.splitlines() == lines[world.search(QUESTION).hits[0].unit.start - 1 :][:2]
