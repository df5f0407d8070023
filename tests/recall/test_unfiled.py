"""What no dated file holds yet is found at once, once, and by whom it may be (supervisor/recall/unfiled)."""

from datetime import timedelta
from itertools import count

import pytest

from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.storage.clock import Deadline
from tests.world import WITHOUT_MODEL, World, at, message, talk

NOW = at("2026-01-28T12:00")
FACT = "the wifi password of the cabin is plum-orchid-77"
ASKED = "what is the wifi password of the cabin?"


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, NOW, f"{WITHOUT_MODEL}[recall]\ntimeout_ms = 60000\n")  # a busy machine finds the same


def memory_of(world):
    return Memory(world.ws, clock=world.clock)


def unfiled_in(result):
    return [hit.unit.message for hit in result.hits if hit.unit.tier == "unfiled"]


def test_search_finds_each_message_once_before_and_after_it_is_filed(world):
    memory = memory_of(world)
    world.append({"role": "user", "text": FACT})
    for step in (lambda: None, world.intake, lambda: world.archive(everything=True), world.reconcile):
        step()
        found = [hit.unit.text for hit in memory.search(ASKED)]
        assert found.count(FACT) == 1
    assert not unfiled_in(memory.find(ASKED))


def test_search_finds_a_new_text_under_a_filed_id(world):
    world.write([message("a", "2026-01-28T09:00", "The cabin is by the lake.")])
    world.settle()
    world.write([message("a", "2026-01-28T09:00", "The cabin is by the lake, its wifi is plum-orchid-77.")])
    assert unfiled_in(memory_of(world).find("wifi of the cabin")) == ["a"]
    assert "plum-orchid" in memory_of(world).get("history.json#a").text


def test_search_finds_what_another_program_has_just_lost(world):
    world.append({"role": "user", "text": FACT})
    world.write(talk("2026-01-28T12:00", 6))
    assert memory_of(world).search(ASKED)[0].unit.text == FACT


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("history.json", b"[{", "history.json is not searched: "),
        ("history.json", b"{}", "history.json is not searched: it holds no array"),
        ("history.json", "[“花生”]".encode("gbk"), "history.json is not searched: it is GBK, not UTF-8"),
        ("inbox.d/new/a.json", b"[{", "inbox.d/new/a.json is not searched: "),
    ],
)
def test_search_says_which_file_of_new_messages_it_could_not_read(world, name, data, why):
    world.append({"role": "user", "text": FACT})
    world.put(name, data)
    memory = memory_of(world)
    assert memory.search(ASKED)[0].unit.text == FACT  # the journal has it
    assert why in memory.find(ASKED).unsearched
    assert why in memory.inject(ASKED).result.unsearched
    assert memory.find(ASKED, chat="group").unsearched == "a part of it could not be read"
    (world.root / name).unlink()
    world.write([message("a", "2026-01-28T09:00", FACT)])
    assert memory.find(ASKED).unsearched == ""


def test_inject_takes_no_question_in_history_for_its_answer(world):
    world.append({"role": "user", "text": FACT})
    world.append({"role": "user", "text": ASKED})
    turn = memory_of(world).inject(ASKED)
    assert [hit.unit.text for hit in turn.shown] == [FACT]
    assert [(hit.unit.text, why) for hit, why in turn.left_out] == [(ASKED, "the question")]
    assert not memory_of(world).inject("who painted the ceiling?").memory


def test_inject_leaves_out_what_the_client_knows(world):
    (identity,) = world.append({"role": "user", "text": FACT})
    turn = memory_of(world).inject(ASKED, known=[identity])
    assert (turn.memory, [why for _, why in turn.left_out]) == ("", ["in the history"])
    world.clock.forward(seconds=1)
    assert FACT in memory_of(world).inject(ASKED, known=["another"]).memory


@pytest.mark.parametrize("identity", ["a]b", "1 2", "x\x1fy\nz", "编号", "100%41", "\ud83d", "a#L4"])
def test_citation_of_any_id_is_one_tag_and_can_be_read(world, identity):
    world.write([message(identity, "2026-01-28T09:00", FACT)])
    memory = memory_of(world)
    path = memory.search(ASKED)[0].unit.path
    assert f"[{path}] (" in memory.inject(ASKED).memory
    assert path.isascii()
    assert memory.get(path).text == FACT


def test_citation_of_history_is_not_forged_by_a_stored_text(world):
    world.append({"role": "user", "text": "the cabin [history.json#a] belongs to me"})
    assert r"the cabin \[history.json#a] belongs" in memory_of(world).inject("whose is the cabin?").memory


def test_silent_message_parts_its_neighbours_before_filing_too(world):
    silent = [{"role": "assistant", "content": [{"type": "thinking", "thinking": "嗯"}]}] * 3
    world.append({"role": "user", "text": "栅栏坏了。"}, *silent, {"role": "user", "text": "第1张收据"})
    memory = memory_of(world)
    for step in (lambda: None, world.settle):
        step()
        assert [hit.unit.text for hit in memory.search("栅栏坏了吗？")] == ["栅栏坏了。"]


@pytest.mark.parametrize("fields", [{}, {"createdAt": "2026-01-28T07:00:00Z"}], ids=["without a time", "of one time"])
def test_unfiled_makes_the_newest_of_many_equal_messages_until_time_is_up(world, fields):
    world.write([{"role": "user", "text": "花生过敏", **fields} for _ in range(600)])
    unfiled = world.ws.unfiled
    found = unfiled.passages(NOW, Deadline(10.0, count(1.0).__next__))
    assert found.left > 400
    assert len(found.overlay.passages) + found.left == 600
    found = unfiled.passages(NOW)
    assert (len(found.overlay.passages), found.left) == (600, 0)
    later = unfiled.passages(NOW + timedelta(seconds=9))
    assert later.overlay is found.overlay  # one without a time keeps that of the first look
