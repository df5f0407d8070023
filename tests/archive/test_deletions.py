"""What the dated files no longer hold: a day that is gone, a file that ends early, a message that a person deleted or edited."""

from pathlib import Path

import pytest

from recalld.supervisor.checks.fsck import Repairs
from recalld.supervisor.storage.errors import BadRequest
from tests.world import FaultyDisk, World, message, talk

SAID = [
    message("1", "2026-01-30T09:00", "备用钥匙在花盆下面。"),
    message("2", "2026-01-30T09:01", "记住了，在花盆下面。", "assistant"),
    message("3", "2026-01-30T09:02", "The spare tyre is in the cellar."),
    message("4", "2026-01-30T09:03", "好的，备胎在地下室。", "assistant"),
]


@pytest.fixture
def filed(world: World) -> World:
    """A day of four messages that is written, and still in history.json."""
    world.write(SAID)
    world.settle()
    return world


def day(world: World) -> Path:
    """The dated file."""
    (name,) = world.dated_files()
    return world.root / name


def delete(path: Path, *places: int) -> None:
    """Let a person delete the messages at these places from their file."""
    head, *blocks = path.read_text().split("<!-- ")
    path.write_text("<!-- ".join([head, *(block for n, block in enumerate(blocks, 1) if n not in places)]))


def shown(world: World) -> list[str]:
    """The texts of the history block."""
    return [one.text for one in world.context("还有什么？").history]


# ── a day that is gone ───────────────────────────────────────────────────────


def test_words_of_a_lost_day_are_found_and_its_file_is_named(filed):
    name = day(filed).name
    day(filed).unlink()
    assert filed.found_texts("备用钥匙在哪里？")[0] == SAID[0]["text"]
    filed.settle()
    assert filed.found_texts("where is the spare tyre?")[0] == SAID[2]["text"]
    (told,), is_well = filed.verdict()
    assert name in told
    assert not is_well
    assert filed.get("history.json#1").text


def test_search_looks_at_no_file_again_that_a_supervisor_is_not_told_of(filed):
    disk = FaultyDisk()
    filed.reopen(disk=disk).refresh()
    filed.ws.memory.generation = object()
    assert filed.found_texts("备用钥匙在哪里？")
    looked_at = disk.count("stats", filed.paths.memory.name)
    assert filed.found_texts("where is the spare tyre?")
    assert len(shown(filed)) == len(SAID)
    assert disk.count("stats", filed.paths.memory.name) == looked_at > 0
    data, path = day(filed).read_bytes(), day(filed)
    path.unlink()
    assert filed.found_texts("备用钥匙在哪里？"), "its folder says at once that it is gone"
    path.write_bytes(data)
    assert filed.found_texts("备用钥匙在哪里？")
    path.write_bytes(b"")
    filed.ws.memory.tell()
    assert filed.found_texts("备用钥匙在哪里？"), "what is written in place is told of"


@pytest.mark.parametrize("left", [0, 40], ids=["gone", "ends early"])
def test_words_that_a_dated_file_no_longer_holds_are_not_trimmed(world, left):
    world.write(talk("2026-01-29T09:00", 180))
    world.settle()
    path = next(iter(world.paths.memory.glob("2026-01-29-*.md")))
    if left:
        delete(path, *range(left + 1, 181))
    else:
        path.unlink()
    world.add(*talk("2026-01-30T09:00", 160))
    world.settle()
    assert world.repair().saved == 180 - left


def test_accepted_day_is_removed_and_comes_back_by_no_repair(filed):
    name = day(filed).name
    day(filed).unlink()
    assert filed.accept(name) == 4
    assert filed.verdict()[1]
    found = filed.fsck()
    assert (found.removed, found.in_history, found.lost) == (4, 0, [])
    assert filed.repair().saved == 0
    assert not filed.found_texts("备用钥匙在哪里？")
    assert not shown(filed)
    filed.ws.journal.compact()
    assert filed.reopen().fsck().removed == 4


def test_accepted_day_that_is_put_back_is_memory_again(filed):
    path, data = day(filed), day(filed).read_bytes()
    path.unlink()
    filed.accept(path.name)
    path.write_bytes(data)
    filed.settle()
    assert len(shown(filed)) == 4
    path.unlink()
    assert len(filed.ws.deletions.absences().lost[path.name]) == 4


def test_summary_of_an_accepted_day_goes_and_an_edited_one_stays(world):
    world.write([message("a", "2026-01-10T09:00", "鱼缸换水。"), message("b", "2026-01-11T09:00", "浴缸换水。")])
    world.settle()
    edited = world.paths.summaries / "2026-01-11.md"
    edited.write_text(edited.read_text().replace("浴缸", "大浴缸"))
    for name in world.dated_files():
        (world.root / name).unlink()
        world.accept(name.rpartition("/")[2])
    world.settle()
    assert [path.name for path in world.paths.summaries.iterdir()] == ["2026-01-11.md"]
    assert any("鱼缸" in path.read_text() for path in world.paths.previous.iterdir())


# ── a file that is damaged ───────────────────────────────────────────────────


DAMAGES = {
    "in its head": lambda data: data[:40],
    "without its head": lambda data: data.partition(b"\n---\n")[2],
    "to nothing": lambda _: b"",
    "with zeros": lambda data: data[: len(data) // 2] + bytes(len(data) - len(data) // 2),
    "within a character": lambda data: data[: len(data) * 2 // 3] + "行".encode()[:2],
}


@pytest.mark.parametrize("cut", DAMAGES.values(), ids=DAMAGES)
def test_words_of_a_damaged_file_are_told_searched_kept_and_mended(filed, cut):
    path = day(filed)
    path.write_bytes(cut(path.read_bytes()))
    filed.reopen().settle()
    (told,), is_well = filed.verdict()
    assert (path.name in told, is_well) == (True, False)
    ledger = filed.fsck()
    assert (ledger.removed, ledger.lost, len(ledger.damage)) == (0, [], 1)
    assert SAID[2]["text"] in filed.found_texts("where is the spare tyre?")
    assert SAID[3]["text"] in filed.found_texts("备胎在哪里？")
    data = path.read_bytes()
    assert filed.repair() == Repairs(saved=4, set_aside=(path.name,))
    assert data in [kept.read_bytes() for kept in filed.paths.quarantine.iterdir()]
    filed.settle()
    assert filed.verdict()[1]
    assert not path.exists(), "a name is given once"
    assert filed.repair() == Repairs()
    assert sorted(filed.archived_texts()) == sorted(one["text"] for one in SAID)


@pytest.mark.parametrize("cut", DAMAGES.values(), ids=DAMAGES)
def test_damaged_file_that_is_accepted_is_told_and_mended_no_more(filed, cut):
    path = day(filed)
    path.write_bytes(cut(path.read_bytes()))
    before = path.read_bytes()
    missing = filed.accept(path.name)
    assert 0 < missing <= 4
    for world in (filed, filed.reopen()):
        world.settle()
        assert world.verdict()[1]
        found = world.fsck()
        assert (found.removed, found.lost, found.is_well) == (missing, [], True)
        assert world.repair().set_aside == ()
        world.ws.journal.compact()
    assert path.read_bytes() == before
    with pytest.raises(BadRequest, match="nothing is missing of"):
        filed.accept(path.name)
    path.write_bytes(before + b"more\0")
    assert not filed.reopen().verdict()[1]


# ── a file that ends early ───────────────────────────────────────────────────


@pytest.mark.parametrize("left", [1, 2, 3], ids=["its comment", "its heading", "a blank line"])
def test_file_that_ends_in_the_head_of_a_message_ends_before_it(filed, left):
    path = day(filed)
    before, mark, last = path.read_text().rpartition("<!-- ")
    path.write_text(before + mark + "".join(last.splitlines(keepends=True)[:left]))
    filed.reopen().settle()
    (told,), is_well = filed.verdict()
    assert (path.name in told, is_well) == (True, False)
    ledger = filed.fsck()
    assert (ledger.removed, ledger.lost, len(ledger.damage)) == (0, [], 1)
    assert not any("<!--" in text for text in filed.found_texts("备胎在哪里？ spare tyre"))
    assert filed.repair().saved == 1
    filed.settle()
    assert filed.verdict()[1]
    assert sorted(filed.archived_texts()) == sorted(one["text"] for one in SAID)


def test_messages_at_the_end_are_shown_no_more_and_accepted_as_removed(filed):
    path = day(filed)
    delete(path, 4)
    assert shown(filed) == [one["text"] for one in SAID[:3]]
    assert filed.accept(path.name) == 1
    assert filed.verdict()[1]
    assert (filed.fsck().removed, filed.fsck().is_well) == (1, True)
    assert filed.repair().saved == 0


# ── what a person deletes or edits ───────────────────────────────────────────


def test_edited_message_is_shown_with_its_new_words(filed):
    path = day(filed)
    path.write_text(path.read_text().replace(SAID[0]["text"], "备用钥匙在老地方。"))
    assert shown(filed)[0] == "备用钥匙在老地方。"
    ledger = filed.fsck()
    assert (ledger.seen, ledger.in_files, ledger.removed, ledger.edited_files) == (4, 4, 0, 1)


def test_deleted_message_is_gone_from_ready_contexts_and_sessions(filed):
    delete(day(filed), 1)
    filed.ask({"role": "user", "content": "还有什么？"})
    turn = filed.prepared_contexts().update()
    assert SAID[0]["text"] not in str(filed.why(turn))
    said = [block.text for block in filed.ws.session_talk.messages("", filed.clock())]
    assert said == [one["text"] for one in SAID[1:]]


# ── a file that a person moves or renames ────────────────────────────────────


@pytest.mark.parametrize("place", ["november/{name}", "diary.md", "日记/一月三十日.md"])
def test_moved_file_is_named_and_read_where_it_is(filed, place):
    path = day(filed)
    to = filed.paths.memory / place.format(name=path.name)
    to.parent.mkdir(exist_ok=True)
    path.rename(to)
    filed.settle()
    assert filed.verdict()[1]
    assert filed.found_paths("备用钥匙在哪里？")[0] == f"memory/{place.format(name=path.name)}"
    (hit, *_) = filed.search("备用钥匙在哪里？").hits
    assert (hit.unit.day.isoformat(), hit.unit.message) == ("2026-01-30", "1")
    found = filed.fsck()
    assert (found.in_files, found.in_history, found.removed) == (4, 0, 0)
    assert found.moved == [f"{path.name} is now memory/{place.format(name=path.name)}, and is read there"]
    assert found.is_well
    assert filed.repair().saved == 0
    delete(to, 1)
    assert shown(filed) == [one["text"] for one in SAID[1:]]


def test_moved_file_that_is_deleted_is_a_lost_day(filed):
    path = day(filed)
    to = path.with_name("diary.md")
    path.rename(to)
    assert filed.verdict()[1]
    to.unlink()
    assert path.name in filed.verdict()[0][0]
    assert filed.repair().saved == 4
