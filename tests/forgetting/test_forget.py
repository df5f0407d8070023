"""Words that are forgotten leave every place, in every spelling, and do not come back."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.archive.tombstones import Tombstones
from recalld.supervisor.checks import backup
from recalld.supervisor.forgetting.sweep import forget_in
from recalld.supervisor.forgetting.wanted import Trace
from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.operations import forget as operations
from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.protocol.task import Task
from recalld.supervisor.storage.disk import RealDisk, Stat
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.storage.files import Files
from tests.process.command import Command
from tests.world import WITHOUT_MODEL, World, at, message, parsed

SECRET = "暗号是山茶花十七号"  # noqa: S105 - a message
OTHER = "The door code is hunter2-kestrel, please keep it."
MESSAGES = (
    message("m-secret-0001", "2026-01-10T09:00", SECRET, session="home"),
    message("m-secret-0002", "2026-01-10T09:05", OTHER, session="home"),
    message("m-plain-00001", "2026-01-10T09:10", "周五去游泳馆，带上泳镜。", session="home"),
    message("m-plain-00002", "2026-01-30T09:10", "The launch is on 15 December in Lisbon."),
    message("m-secret-0003", "2026-01-30T10:10", f"再说一遍：{SECRET}。"),
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "w", at("2026-01-31T10:00"))
    world.write([*MESSAGES])
    world.settle()
    return world


def forget(world: World, by: str, value: str = "", **more: Any) -> Any:
    request = {"by": by, "value": value, "yes": True, **more}
    return perform(operations.forget, world.ws, request, Caller(clock=world.clock))


def where(world: World, *words: str) -> list[str]:
    """The files in which one of the words stands, as it is or escaped, or whose names have it."""
    found = []
    for path in sorted(world.root.rglob("*")):
        name = path.relative_to(world.root).as_posix()
        data = b"" if path.is_dir() else path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        spellings = [s for word in words for s in (word, json.dumps(word)[1:-1])]
        if any(s.encode() in data or s in name for s in spellings):
            found.append(name)
    return found


def test_forget_deletes_an_index_whose_engine_deletes_files_meanwhile(world: World) -> None:
    class Merging(RealDisk):
        def stats(self, folder: Path) -> dict[str, Stat]:
            found = super().stats(folder)
            if folder.name == "index" and len(found) > 2:
                (folder / max(name for name in found if name != "meta.json")).unlink()
            return found

    world.refresh()
    world.reopen(disk=Merging())
    assert forget(world, "match", "山茶花").done
    assert where(world, "山茶花") == []


def test_append_stores_no_forgotten_message_and_says_so(world: World) -> None:
    forget(world, "match", "山茶花")
    recalld = Command(world.root)
    many = [MESSAGES[0], message("m-new", "2026-01-30T12:00", "梯子在车库。"), MESSAGES[4]]
    done = recalld("append", "--jsonl", stdin="\n".join(map(json.dumps, many)))
    said = "recalld: messages that were forgotten, and were not stored: 2.\n"
    assert (done.code, done.out, done.err) == (0, "m-new\n", said)
    words = ("--role", "user", "--text", SECRET, "--at", MESSAGES[0]["createdAt"], "--json")
    done = recalld("append", *words, RECALLD_LANGUAGE="zh")
    assert (done.code, done.out, done.err) == (0, "", "recalld: 这条消息早已忘掉，没有存入。\n")
    assert Memory(world.ws, clock=world.clock).append([MESSAGES[0], many[1]]) == ["", "m-new"]
    assert where(world, "山茶花") == []


@pytest.mark.parametrize("text", ["", "a", "的", "the", "什么"])
def test_forget_refuses_a_text_that_says_nothing(world: World, text: str) -> None:
    with pytest.raises(BadRequest):
        forget(world, "match", text)


def test_forget_removed_takes_what_was_deleted_and_nothing_that_was_edited(world: World) -> None:
    world.add(message("m-alone-00001", "2026-01-20T09:00", "保险箱是 4471 号。"))
    world.settle()
    alone = next((world.root / "memory").rglob("2026-01-20-*.md"))
    alone.write_text(alone.read_text("utf-8").partition("<!-- {")[0].rstrip("\n") + "\n", "utf-8")
    edited = next((world.root / "memory").rglob("2026-01-10-*.md"))
    edited.write_text(edited.read_text("utf-8").replace("hunter2-kestrel", "(gone)"), "utf-8")
    world.settle()
    assert "stand in other places (1)" in world.verdict()[0][-1]
    assert [one.ref[:13] for one in forget(world, "removed").messages] == ["m-alone-00001"]
    world.settle()
    assert where(world, "4471") == []
    assert "m-secret-0002" in [entry["id"] for entry in world.history()]
    shown = str(world.ws.shown_history.read())
    assert ("(gone)" in shown, "hunter2-kestrel" in shown) == (True, False)
    assert world.verdict()[1]


def test_what_was_deleted_by_hand_stays_away_when_its_file_is_forgotten(world: World) -> None:
    world.add(
        message("m-alone-00001", "2026-01-29T09:00", "泳池九点开门。"), message("m-rest-000001", "2026-01-29T09:01", OTHER)
    )
    world.settle()
    path = next((world.root / "memory").glob("2026-01-29-*.md"))
    head, _, rest = path.read_text("utf-8").split("<!-- {")
    path.write_text(f"{head}<!-- {{{rest}", "utf-8")
    world.round()
    forget(world, "message", "m-rest-000001")
    world.reopen()
    world.round("all")
    assert "m-alone-00001" in [entry["id"] for entry in world.history()]
    assert not [path for path in where(world, "泳池") if path.startswith("memory/")]
    assert (world.fsck().removed_ids, world.fsck().is_sound) == (["m-alone-00001"], True)


def test_forget_takes_a_later_text_by_its_own_id_and_all_by_words_in_one(world: World) -> None:
    last = world.history()[-1]
    world.write([*world.history()[:-1], {**last, "text": "改口：暗号是别的"}])
    world.settle()
    revision = next(
        block.id for file in world.ws.memory.dated() for block in world.ws.memory.blocks(file.name) if block.revision_of
    )
    assert [one.text for one in forget(world, "message", revision, yes=False).messages] == ["改口：暗号是别的"]
    assert {one.text for one in forget(world, "match", "改口", yes=False).messages} == {"改口：暗号是别的", last["text"]}


def test_forgotten_words_leave_a_backup_that_is_restored(world: World, tmp_path: Path) -> None:
    made = backup.create(world.ws, tmp_path / "a.tar", world.clock(), "recalld 1")
    forget(world, "match", "山茶花")

    def clean(folder: Path) -> bool:
        assert not (tmp_path / "restored").exists(), "the folder has its name before the words are out"
        return forget_in(folder, world.root, world.files, {}, world.clock)

    backup.restore(made.file, tmp_path / "restored", clean)
    again = World(tmp_path / "restored", world.clock())
    assert where(again, "山茶花", "shanchahua") == []
    assert again.fsck().lost == []
    assert len(again.history()) == 3


def test_forget_in_knows_a_memory_by_its_list_and_its_messages(world: World, tmp_path: Path) -> None:
    backup.restore(backup.create(world.ws, tmp_path / "a.tar", world.clock(), "recalld 1").file, tmp_path / "then")
    other = World(tmp_path / "other", world.clock())
    other.append({"role": "user", "text": "备用钥匙在花盆下面"})

    def are_known() -> list[bool]:
        roots = (world.root, other.root, tmp_path / "none")
        return [forget_in(tmp_path / "then", root, world.files, {}, world.clock) for root in roots]

    assert are_known() == [True, False, False]
    for entry in world.history():
        forget(world, "message", entry["id"])
    forget(other, "match", "花盆")
    assert world.history() == []
    assert are_known() == [True, False, False], "it has forgotten all of them"


def test_forget_by_text_takes_copies_that_have_it_and_names_ones_own(world: World) -> None:
    world.save_receipt(world.inject("把 cormorant-5 记在哪里了？"))
    world.put("inbox.d/new/half.json", '{"role": "user", "text": "\\u9e2c\\u9e5a cormorant-5')
    world.put("memory/我的.md", "# 钥匙\n\ncormorant-5\n")
    world.round()
    told = forget(world, "match", "cormorant-5")
    assert (told.done, told.left) == (True, ("memory/我的.md",))
    assert where(world, "cormorant-5") == ["memory/我的.md"]
    assert forget(world, "match", "cormorant-5").left == ("memory/我的.md",)


def test_forget_of_a_note_leaves_receipts_of_its_namesake_in_a_folder(world: World) -> None:
    world.put("memory/我的.md", "# 书\n\n图书馆的书十二号还。\n")
    world.put("memory/旧/我的.md", "# 钱\n\n老周还欠我 900 块。\n")
    world.round()
    world.refresh()
    world.save_receipt(world.inject("老周欠我多少钱？"))
    before = where(world, "900 块")
    assert [name[:6] for name in before].count("turns/") == 1
    assert forget(world, "file", "memory/我的.md").done
    assert where(world, "900 块") == [name for name in before if not name.startswith(".recalld/index/")]


def test_forget_of_a_note_takes_receipts_that_showed_it_before_a_rename(world: World) -> None:
    world.put("memory/我的.md", "# 钱\n\n老周还欠我 900 块，说好月底以前一定还清。\n")
    world.round()
    world.refresh()
    world.save_receipt(world.inject("老周欠我多少钱？"))
    (world.root / "memory/我的.md").rename(world.root / "memory/账本.md")
    assert forget(world, "file", "账本.md").done
    assert where(world, "900 块") == []


def test_forget_names_a_summary_into_which_a_person_wrote_the_words(world: World) -> None:
    path = next((world.root / "memory/summary").glob("*.md"))
    path.write_text(path.read_text("utf-8") + "- my own remark: Yusuf plays oboe\n", "utf-8")
    relative = path.relative_to(world.root).as_posix()
    told = forget(world, "match", "Yusuf plays oboe")
    assert (told.is_empty, told.left) == (True, (relative,))
    world.reopen()
    world.settle()
    assert "oboe" in path.read_text("utf-8"), "what is a person's own is never changed"


def test_result_of_a_worker_that_read_forgotten_words_is_dropped(world: World) -> None:
    def slow(task: Task, blocks: Sequence[Block]) -> str:
        world.model.script = world.model.one_line_each
        forget(world, "match", "山茶花")  # while the worker is at work
        return world.model.one_line_each(task, blocks)

    world.model.script = slow
    world.add(message("m-late-000001", "2026-01-10T11:00", "泳池九点开门。", session="home"))
    world.settle()
    assert world.model.script is not slow
    assert where(world, "山茶花") == []


def test_forget_takes_a_message_from_the_backup_where_it_had_no_id(world: World) -> None:
    world.write([entry for entry in world.history() if entry["text"] != OTHER])
    world.put("history.json.bak", json.dumps([{"role": "user", "text": OTHER}, {"role": "user", "text": "几点了？"}]))
    forget(world, "message", "m-secret-0002")
    assert where(world, "hunter2-kestrel") == []
    assert "几点了？" in str(world.ws.history.backup())


def test_forget_shows_the_day_and_who_speaks_or_that_nothing_is_meant(world: World) -> None:
    """At one in the morning in Shanghai it is still the day before in London."""
    world.add(message("m-early-00001", "2026-01-29T01:00", "Collect the passport at ten."))
    world.put("recalld.toml", WITHOUT_MODEL.encode())
    command = Command(world.root, RECALLD_LANGUAGE="zh", RECALLD_NOW="2026-01-31T02:00:00Z")
    assert "2026-01-29  用户  Collect the passport at ten." in command("forget", "--day", "2026-01-29").out
    nothing = [("--day", "2026-01-02"), ("--message", "NOPE"), ("--match", "爬山的路线"), ("--removed",)]
    assert [command("forget", *words).code for words in nothing] == [0, 0, 0, 0]


# ── the trace of words, the list of what was forgotten ───────────────────────


TEXT = "保险柜的密码写在蓝色笔记本的第七页，别告诉别人"
NOW = at("2026-01-31T10:00")


@pytest.mark.parametrize(
    "found",
    [
        f"他说：{TEXT}。",
        json.dumps({"text": TEXT}),
        "保险柜的 密码\\n写在蓝色笔记本的第七页……[截断]",
        "…笔记本的第七页，别告诉别人。然后",
    ],
)
def test_trace_finds_a_stretch_of_the_words_however_they_are_written(found: str) -> None:
    assert Trace([TEXT]).is_in(found)


@pytest.mark.parametrize("text", ["好的", "ok", "保险柜买好了"])
def test_trace_passes_by_what_is_short_or_only_alike(text: str) -> None:
    assert not Trace([TEXT, "好的"]).is_in(text)
    assert not Trace(["好的"]).is_in("好的，明天见")


def test_tombstones_with_a_broken_line_keep_the_others(tmp_path: Path) -> None:
    paths = WorkspacePaths(tmp_path)
    paths.state.mkdir()
    stones = Tombstones(Files(RealDisk()), paths)
    one = parsed(message("m1", "2026-01-30T09:00", TEXT))
    stones.begin([one], [], [], NOW, b"k" * 32)
    paths.forgotten.write_bytes(paths.forgotten.read_bytes() + b'{"begun": 3}\n{"half')
    assert stones.has(one)
