"""`hybrid`: the vectors of a server. What is sent to it, and that one that fails costs nothing but what is found by meaning."""

import errno
import os

import pytest

from recalld.supervisor.host.jobs import make_vectors
from recalld.supervisor.operations.forget import forget
from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.recall.meaning import Meaning
from tests.recall.said import CAR, OTHER_WORDS, QUESTION, SAID, filled, texts
from tests.recall.vectors import FAULTS, Server
from tests.world import WITHOUT_MODEL, World, at


@pytest.fixture
def server():
    with Server() as found:
        yield found


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    return filled(World(tmp_path_factory.mktemp("settled"), at("2026-01-31T10:00"), WITHOUT_MODEL))


@pytest.fixture
def world(settled, tmp_path, server):
    world = settled.copied(tmp_path).reopen(hybrid(server.url))
    world.refresh()
    return world


@pytest.fixture
def ready(world, server):
    make(world)
    server.asked.clear()
    return world


def hybrid(url, more=""):
    section = f'[embeddings]\nbase_url = "{url}"\nmodel = "bge-test"\n{more}'
    return f'{WITHOUT_MODEL}[recall]\nbackend = "hybrid"\ntimeout_ms = 60000\n{section}'


def make(world):
    return make_vectors(world.ws, world.clock)


def add_note(world, text="买了电钢琴，花了六千。\n", name="2026-01-30-note.md"):
    world.note(name, text)
    world.refresh()


def files(world):
    return sorted((world.root / ".recalld/vectors").glob("*.vectors"))


def sent(server):
    return [text for batch in server.asked for text in batch]


def units(world):
    return {*world.ws.meaning.embedder[1].table().units.tolist()}


def by_words(world):
    before = world.toml
    found = world.reopen(WITHOUT_MODEL).search(QUESTION).hits
    world.reopen(before)
    return found


def test_a_command_finds_by_meaning_with_a_server(ready):
    found = ready.search(OTHER_WORDS)
    assert (found.how, CAR in texts(found)[:3]) == ("hybrid", True)
    assert "meaning" in found.hits[0].because


def test_each_text_is_sent_once_with_the_one_before_it_and_never_in_a_turn(world, server):
    world.search(QUESTION)
    assert server.asked == []
    make(world)
    said = [one["text"] for one in SAID[:-1]]
    assert all(sent(server).count(text) == 1 for text in said if "密码" not in text)
    assert f"{said[0]}\n{said[1]}" in sent(server)
    server.asked.clear()
    make(world.reopen())
    world.search(QUESTION)
    assert server.asked == [[QUESTION]]


def test_prefixes_go_before_questions_and_texts(world, server):
    world.reopen(hybrid(server.url, 'question_prefix = "query: "\ntext_prefix = "passage: "\n'))
    make(world)
    world.search(QUESTION)
    assert f"passage: {CAR}" in sent(server)
    assert sent(server)[-1] == f"query: {QUESTION}"


def test_no_secret_is_sent_unless_redaction_is_off(world, server):
    make(world)
    world.search("我的密码是 hunter2-demo 花了多少")
    assert "hunter2" not in str(server.asked)
    make(world.reopen(f'{world.toml}[privacy]\nredact = "off"\n'))  # other texts, other vectors
    assert "hunter2" in str(server.asked)


@pytest.mark.parametrize("act", ["another model", "other length"])
def test_vectors_of_another_model_behind_the_same_name_are_made_again(ready, server, act):
    before = files(ready)[0].read_bytes()
    server.act = act
    add_note(ready)
    make(ready.reopen())
    store = ready.ws.meaning.embedder[1]
    assert store.table().size == (7 if act == "other length" else 256)
    assert len(store.table().units) == len(SAID) + 1  # all, and the probe, without small talk
    assert ready.search(QUESTION).how == "hybrid"
    assert not any(one.read_bytes().startswith(before) for one in files(ready))


def test_a_forget_has_the_vectors_of_other_files_made_again(ready, server):
    before = units(ready)
    add_note(ready, "- 阳台的灯坏了。\n- 周六去奶奶家吃饭。\n", "2026-01-29-note.md")
    make(ready)
    noted = units(ready) - before
    assert len(noted) == 2
    request = {"by": "match", "value": "轿车", "yes": True}
    assert perform(forget, ready.ws, request, Caller(clock=ready.clock)).done
    assert files(ready) == []
    ready.refresh()
    make(ready)
    assert units(ready) > {0, *noted}  # the probe is there, too
    server.asked.clear()
    add_note(ready)
    make(ready.reopen())
    assert sent(server) == ["memory", "买了电钢琴，花了六千。"]


def test_vectors_of_a_former_model_go_once_the_new_ones_are_there(ready, server):
    before = files(ready)
    ready.reopen(ready.toml.replace("bge-test", "bge-other"))
    server.act = "fault"
    make(ready)
    assert files(ready) == before
    server.act = "well"
    make(ready)
    assert {one.name[:16] for one in files(ready)}.isdisjoint(one.name[:16] for one in before)


def test_vectors_of_texts_that_have_gone_are_dropped_in_time(ready):
    before = len(units(ready))
    add_note(ready, "".join(f"- 第 {n} 次去了第 {n} 家店。\n" for n in range(30)))
    make(ready)
    assert len(units(ready)) == before + 30
    (ready.root / "memory/2026-01-30-note.md").unlink()
    ready.refresh()
    make(ready)
    assert len(units(ready)) == before


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_fails_leaves_what_the_words_find(ready, server, fault):
    words = by_words(ready)
    ready.reopen(hybrid(server.url).replace("60000", "1000" if fault in {"hang", "drip"} else "60000"))
    assert ready.ws.meaning.embedder
    server.act = fault
    found = ready.search(QUESTION)
    assert (found.hits, found.how) == (words, "bm25")
    (event,) = ready.events.of("backend_failed")
    assert event["backend"] == "hybrid"
    assert QUESTION not in str(event)
    assert ready.inject(QUESTION, found).memory.startswith("## Memory\n")


@pytest.mark.parametrize("fault", ["fault", "refuses all", "too few"])
def test_texts_that_failed_are_sent_again(ready, server, fault):
    add_note(ready)
    server.act = fault
    assert make(ready)[1]
    assert len(ready.events.of("backend_failed")) == 1
    server.act = "well"
    assert make(ready) == (1, "")
    assert len(ready.events.of("backend_back")) == 1


def test_full_disk_is_told_in_words(ready, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Meaning, "_vector", full)
    ready.search(QUESTION)
    (event,) = ready.events.of("backend_failed")
    assert event["why"] == "No space left on device"


def test_only_the_text_that_the_server_refuses_is_left_out(ready, server):
    add_note(ready, "- 买了电钢琴，花了六千。\n- 不要买二手的。\n- 买琴凳。\n")
    server.act = "picky"
    assert make(ready) == (1, "")
    server.asked.clear()
    server.act = "well"
    make(ready.reopen())
    assert server.asked == []  # nothing lacks
    assert "买琴凳。" in "".join(texts(ready.search("琴凳")))


@pytest.mark.parametrize("lines", ["", 'base_url = "http://127.0.0.1:9/v1"\n', 'model = "bge-test"\n'])
def test_without_server_or_model_the_words_are_left(world, lines):
    world.reopen(f'{WITHOUT_MODEL}[recall]\nbackend = "hybrid"\n[embeddings]\n{lines}')
    for _ in range(2):
        assert world.search(QUESTION).how == "bm25"
    (event,) = world.events.of("backend_failed")
    assert "embeddings.base_url" in event["why"]
    assert make(world)[0] == 0
