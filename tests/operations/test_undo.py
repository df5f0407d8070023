"""The diary has a plain line for each act on memory, and an act can be taken back as long as nothing was built on it."""

import random
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from recalld import AnthropicMemory, Memory, MemoryStore
from recalld.supervisor.forgetting import sweep
from recalld.supervisor.forgetting.wanted import wanted
from recalld.supervisor.operations import long_term
from recalld.supervisor.operations.forget import forget
from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.operations.undo import undo
from recalld.supervisor.recall.ended import read_ended
from recalld.supervisor.storage.errors import BadRequest, SupervisorError
from recalld.supervisor.text.comparing import hunks, without
from tests.world import WITH_MODEL, Diarist, World, at, message


@pytest.fixture
def world(tmp_path: Path) -> World:
    return Diarist(tmp_path / "w", at("2026-01-31T10:00"), f'language = "en"\n{WITH_MODEL}')


def do(world: World, operation: Any, request: Any, interface: Any = "tool") -> Any:
    return perform(operation, world.ws, request, Caller(clock=world.clock, interface=interface))


def write(world: World, content: str, **more: Any) -> Any:
    return do(world, long_term.write, {"content": content, **more})


def take_back(world: World, act: str) -> Any:
    return do(world, undo, {"id": act})


def diary(world: World) -> list[str]:
    """The lines of CHANGES.md."""
    return [line for line in (world.read("CHANGES.md") or b"").decode().split("\n") if line.startswith("- ")]


def last_id(world: World) -> str:
    return re.findall(r"· ([a-z]-[0-9a-f]{8}) ·", diary(world)[-1])[0]


def test_diary_says_who_wrote_and_not_what(world: World) -> None:
    line = write(world, "对花生过敏")
    do(world, long_term.delete, {"lines": [f"1@{line.digest}"]}, "command")
    lines = [re.sub(r"[wd]-[0-9a-f]{8}", "ID", one) for one in diary(world)]
    assert lines == [
        "- 2026-01-31 10:00 · ID · a line was written into memory.md, by a tool (write)",
        "- 2026-01-31 10:00 · ID · lines were deleted from memory.md, by a command (delete)",
    ]
    assert stat.S_IMODE(world.paths.diary.stat().st_mode) == 0o600
    assert "花生" not in (world.read("CHANGES.md") or b"").decode()


def test_diary_keeps_the_language_that_was_set_when_it_was_made(world: World) -> None:
    world.reopen(f'language = "zh"\n{WITH_MODEL}')
    write(world, "x")
    assert diary(world)[0].endswith("memory.md 写入了一行（工具，write）")
    world.reopen(WITH_MODEL)
    write(world, "the gate code changed")
    assert all(re.search("[一-龥]", line.split(" · ")[2]) for line in diary(world)), diary(world)


def test_diary_tells_a_hand_edit_once_and_nothing_of_the_supervisors(world: World) -> None:
    said = message("1", "2026-01-10T09:00", "备用钥匙在花盆下面。"), message("3", "2026-01-30T09:01", "卡号的末位是七三五九。")
    world.write([*said, message("2", "2026-01-30T09:00", "好。")])
    world.settle()
    path = next((world.root / "memory").glob("2026-01-30*.md"))
    path.write_text(path.read_text("utf-8").replace("好。", "不好。"), "utf-8")
    world.round()
    world.reopen()
    world.round()
    sweep.begin(world.ws, wanted(world.ws, "message", "3", world.clock()), world.clock(), bytes(32), by="tool forget")
    world.settle("due")
    assert [line.split(" · ")[2] for line in diary(world)] == [
        "a dated file of 2026-01-30 was edited by hand",
        "forgotten for good: 1 message, by a tool (forget)",
    ]


def test_diary_leaves_a_file_of_its_name_alone(world: World) -> None:
    world.put("CHANGES.md", "my own\n")
    write(world, "x")
    assert world.read("CHANGES.md") == b"my own\n"


def test_undo_takes_back_what_a_line_replaced_and_no_other_act(world: World) -> None:
    old = write(world, "住在杭州；我学游泳")
    before = world.read("memory.md")
    write(world, "游泳不学了", replaces=f"1@{old.digest}")  # of the item that it is about alone
    assert "a line was written into memory.md in the place of an older one, which ended" in diary(world)[-1]
    act = last_id(world)
    assert take_back(world, act).done
    assert world.read("memory.md") == before
    assert not take_back(world, act).done
    assert world.read("memory.md") == before


def test_undo_is_refused_where_something_was_built_on_it(world: World) -> None:
    old = write(world, "住在杭州")
    act = last_id(world)
    write(world, "住在北京", replaces=f"1@{old.digest}")
    before = world.read("memory.md")
    with pytest.raises(BadRequest, match="changed since"):
        take_back(world, act)
    assert world.read("memory.md") == before


@pytest.mark.parametrize("act", ["w-00000000", "../x", "山茶花", " "])
def test_undo_refuses_an_id_that_is_none(world: World, act: str) -> None:
    with pytest.raises(BadRequest, match="no act"):
        take_back(world, act)


def test_undo_brings_a_long_term_file_back_that_a_model_deleted_or_renamed(world: World) -> None:
    write(world, "对花生过敏")
    before = world.read("memory.md")
    tool = AnthropicMemory(Memory(world.ws, clock=world.clock))
    path = "/memories/memory.md"
    for command in ({"command": "delete", "path": path}, {"command": "rename", "old_path": path, "new_path": "/memories/x.md"}):
        assert not tool(command).is_error
        assert not (world.root / "memory.md").exists()
        assert "the text of memory.md was changed, by a tool" in diary(world)[-1]
        take_back(world, last_id(world))
        assert world.read("memory.md") == before


@pytest.mark.parametrize("line", ['"kind":"moved"', '"kind":"written"', '"kind":"ended"'])
def test_diary_goes_on_after_an_act_that_it_does_not_know(world: World, line: str) -> None:
    write(world, "一")
    with world.paths.acts.open("a") as file:
        file.write(f'{{"id":"m-11111111","at":"2026-01-31T02:00:00.000Z","by":"tool write",{line}}}\n')
    write(world, "二")
    assert take_back(world, last_id(world)).done
    with pytest.raises(BadRequest):
        take_back(world, "m-11111111")


def test_undo_refuses_forgetting(world: World) -> None:
    world.write([message("m-secret-0001", "2026-01-30T09:00", "暗号是山茶花十七号。")])
    world.settle()
    do(world, forget, {"by": "match", "value": "山茶花", "yes": True})
    ids = {line.split(" · ")[1] for line in diary(world)}
    assert {one[0] for one in ids} == {"f"}
    for act in ids:
        with pytest.raises(BadRequest):
            take_back(world, act)


def test_undo_refuses_to_undo_an_undoing(world: World) -> None:
    write(world, "住在杭州")
    take_back(world, last_id(world))
    assert last_id(world).startswith("u-")
    with pytest.raises(BadRequest, match="not taken back"):
        take_back(world, last_id(world))


def test_forget_reaches_a_deleted_line_that_undo_could_bring_back(world: World) -> None:
    line = write(world, "银行卡密码是一二三四五六")
    do(world, long_term.delete, {"lines": [f"1@{line.digest}"]})
    told = do(world, forget, {"by": "match", "value": "银行卡", "yes": True})
    assert (told.done, len(told.lines)) == (True, 1)
    assert not [path for path in world.root.rglob("*") if path.is_file() and "银行卡".encode() in path.read_bytes()]


def test_undo_brings_the_text_of_an_edited_summary_back(world: World) -> None:
    world.write([message("1", "2026-01-10T09:00", "备用钥匙在花盆下面。")])
    world.settle()
    before = world.read("memory/summary/2026-01-10.md")
    assert diary(world) == []
    for text in ("## 我的\n\n在花盆下面。", "## 又一次\n\n在地垫下面。"):
        shown = Memory(world.ws, clock=world.clock).summary("2026-01-10")
        Memory(world.ws, clock=world.clock).edit_summary("2026-01-10", text, shown.etag)
    second, first = last_id(world), diary(world)[0].split(" · ")[1]
    with pytest.raises(BadRequest, match="changed since"):
        take_back(world, first)
    take_back(world, second)
    take_back(world, first)
    assert world.read("memory/summary/2026-01-10.md") == before


def test_undo_leaves_an_edited_summary_that_a_month_was_made_from(world: World) -> None:
    world.write([message("1", "2026-01-10T09:00", "备用钥匙在花盆下面。")])
    world.settle()
    shown = Memory(world.ws, clock=world.clock).summary("2026-01-10")
    Memory(world.ws, clock=world.clock).edit_summary("2026-01-10", "## 我的\n\n在地垫下面。", shown.etag)
    edited = world.read("memory/summary/2026-01-10.md")
    world.put("memory/summary/2026-01.md", edited.replace(b"day\nperiod: 2026-01-10", b"month\nperiod: 2026-01"))
    with pytest.raises(BadRequest, match="summary of 2026-01 was made from it since"):
        take_back(world, last_id(world))
    assert world.read("memory/summary/2026-01-10.md") == edited


# ── each act, undone ─────────────────────────────────────────────────────────


def act_at_random(world: World, chance: random.Random, number: int) -> bool:
    """Do any act on the long-term file; return whether it changed something."""
    before = world.read("memory.md")
    lines = world.ws.long_term.read().lines
    ref = chance.choice(lines).ref if lines else "1@00000000"
    more = chance.choice(lines).ref if lines else "1@00000000"
    text = "\r\n".join(chance.sample([line.text for line in lines], len(lines) // 2)) if lines else "# 记忆\n\n"
    acts = [
        (long_term.write, {"content": f"第 {number} 件事"}),
        (long_term.write, {"content": f"now {number}", "replaces": ref}),
        (long_term.delete, {"lines": list({ref, more})}),
        (long_term.invalidate, {"target": ref, "reason": "卖了"}),
        (long_term.replace_long_term, {"content": f"{text}\nline {number}"}),
    ]
    try:
        do(world, *chance.choices(acts, [6, 3, 2, 2, 1])[0])
    except SupervisorError:
        return False
    return world.read("memory.md") != before


@pytest.mark.proof
def test_a_hundred_random_acts_are_undone_to_the_byte(world: World) -> None:
    world.disk.sync = world.disk.sync_folder = lambda _: None
    chance, versions, ids = random.Random(34), [], []
    while len(ids) < 100:
        before = world.read("memory.md")
        if act_at_random(world, chance, len(ids)):
            act = last_id(world)
            if chance.random() < 0.5:  # at once; the others when all that was built on them has been
                take_back(world, act)
                assert world.read("memory.md") == before
            else:
                versions.append(before)
                ids.append(act)
        world.forward(minutes=1)
    for act, before in zip(reversed(ids), reversed(versions), strict=True):
        take_back(world, act)
        assert world.read("memory.md") == before


def test_hunks_are_taken_back_where_other_lines_were_added_since() -> None:
    before, after = "一\n二\n三", "一\n三\n四"
    assert without("零\n" + after + "\n五", hunks(before, after)) == "零\n一\n二\n三\n五"
    assert without("一\n", hunks("", "二\n")) is None


def test_diary_tells_what_is_done_beside_operations(world: World) -> None:
    memory = Memory(world.ws, clock=world.clock)
    MemoryStore(memory).append_entry("web-chat", "对花生过敏")
    edit = {"command": "str_replace", "path": "/memories/memory.md", "old_str": "花生", "new_str": "核桃"}
    assert not AnthropicMemory(memory)(edit).is_error
    assert [line.partition(", by ")[2] for line in diary(world)] == ["a program (append_entry)", "a tool (memory, anthropic)"]
    take_back(world, last_id(world))
    assert "对花生过敏" in (world.read("memory.md") or b"").decode()


def test_diary_names_who_asked_for_what_a_supervisor_forgot(world: World) -> None:
    line = write(world, "停在 A 区")
    meant = wanted(world.ws, "line", f"1@{line.digest}", world.clock())
    sweep.begin(world.ws, meant, world.clock(), bytes(32), by="http forget page")
    world.settle("due")
    assert diary(world)[-1].endswith("over HTTP (forget, page)")


def test_changes_of_eight_threads_are_all_there_each_once(world: World) -> None:
    """A supervisor holds no lock around operations: each store locks what it writes."""
    numbers, memory = range(40), Memory(world.ws, clock=world.clock)
    world.write([message(f"m{n}", "2026-01-30T09:00", f"第 {n} 句") for n in numbers])

    def change(n: int) -> None:
        memory.append({"role": "user", "text": f"花生 {n}"})
        memory.write(f"号码 {n} 号")
        memory.invalidate(f"m{n}")
        if n % 2:
            acts = world.ws.diary.acts().values()
            for act in [act for act in acts if act.fields.get("name") == f"m{n}" or f"号码 {n} 号" in str(act.fields)]:
                memory.undo(act.id)

    with ThreadPoolExecutor(8) as threads:
        assert len([*threads.map(change, numbers)]) == len(numbers)
    texts = {str(entry.raw["text"]) for entry in world.ws.history.read()}
    assert texts == {f"第 {n} 句" for n in numbers} | {f"花生 {n}" for n in numbers}
    kept = [line.text.rpartition("|")[2] for line in memory.read(1, 999).lines]
    assert sorted(kept) == sorted(f"号码 {n} 号" for n in numbers if n % 2 == 0)
    assert {*read_ended(world.ws.files, world.ws.paths).messages} == {f"m{n}" for n in numbers if n % 2 == 0}
