"""Scores beside BM25: embeddings from a real server on loopback, with every fault; a backend of another package."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import stat
import sys
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from supervisor.index.hit import Hit, Passage
from supervisor.protocol.config import load
from supervisor.recall.embeddings import Vectors, digest
from supervisor.recall.rerank import GROUP, add_scores
from tests.recall.vectors import FAULTS, Server
from tests.world import WITHOUT_MODEL, message

SAID = [
    message("1", "2026-01-29T09:00", "上个月买了一辆轿车，花了十二万。"),
    message("2", "2026-01-29T11:00", "上个月买了一个书架，花了三百。"),
    message("3", "2026-01-29T13:00", "孩子发烧了，医生说多喝水，买药花了八十。"),
    message("4", "2026-01-29T15:00", "密码是 hunter2-demo，别忘了。"),
]
QUESTION = "买汽车花了多少"


@pytest.fixture
def server():
    with Server() as found:
        yield found


@pytest.fixture
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "recalld" / "vectors"


@pytest.fixture
def filled(world, server, cache):
    world.write(SAID)
    world.reopen(WITHOUT_MODEL)
    world.settle()
    world.reopen(hybrid(server.url))
    world.refresh()
    return world


def hybrid(url, more=""):
    return f'{WITHOUT_MODEL}[recall]\nbackend = "hybrid"\ntimeout_ms = 3000\n{more}[embeddings]\nbase_url = "{url}"\nmodel = "bge-test"\n'


def texts(found):
    return [hit.unit.text for hit in found.hits]


# ── hybrid ───────────────────────────────────────────────────────────────────


def test_hybrid_ranks_by_meaning_once_vectors_exist(filled):
    before = filled.search(QUESTION)
    assert before.how == "bm25"
    assert filled.precompute_vectors() == 1
    found = filled.search(QUESTION)
    assert (found.how, found.hits[0].unit.text) == ("hybrid", SAID[0]["text"])
    assert "meaning" in found.hits[0].because
    assert set(texts(found)) == set(texts(before))


def test_hybrid_reports_missing_vectors_once_until_they_are_made(filled):
    for _ in range(3):
        assert filled.search(QUESTION).how == "bm25"
    (event,) = filled.events.of("backend_failed")
    assert "`recalld index rebuild` makes them" in event["why"]
    assert QUESTION not in str(event)
    filled.reopen().precompute_vectors()
    filled.events.all.clear()
    assert filled.search(QUESTION).how == "hybrid"
    filled.note("2026-01-30-note.md", "买了电钢琴，花了六千。\n")
    filled.refresh()
    assert filled.search("电钢琴").hits
    assert filled.events.of("backend_failed") == []


def test_precompute_vectors_embeds_each_text_once_and_never_in_a_turn(filled, server):
    filled.search(QUESTION)
    assert server.asked == []
    filled.precompute_vectors()
    made = [text for batch in server.asked for text in batch]
    assert len(made) == len(SAID)
    server.asked.clear()
    assert filled.reopen().precompute_vectors() == 0
    filled.search(QUESTION)
    assert server.asked == [[QUESTION]]


def test_embeddings_send_no_secret_unless_redaction_is_off(filled, server):
    filled.precompute_vectors()
    filled.search("我的密码是 hunter2-demo 花了多少")
    assert "hunter2" not in str(server.asked)
    filled.reopen(f'{filled.toml}[privacy]\nredact = "off"\n')
    assert filled.precompute_vectors() == 1  # other texts, other vectors
    assert "hunter2" in str(server.asked)


def test_embeddings_send_the_key_to_the_server_and_to_no_event(filled, server):
    filled.ws.reranker.__init__(lambda: _made(filled, {"OPENAI_API_KEY": "sk-demo-123"}))
    filled.precompute_vectors()
    assert server.headers[0]["authorization"] == "Bearer sk-demo-123"
    server.act = "bad key"
    filled.search(QUESTION)
    assert "sk-demo" not in str(filled.events.all)
    assert "401" in filled.events.of("backend_failed")[0]["why"]


def _made(world, environ):
    from supervisor.recall.rerank import backend_of

    return backend_of(world.ws.config, environ, world.ws.files)


def test_rerank_keeps_the_word_score_of_a_message_without_a_vector(filled):
    filled.precompute_vectors()
    filled.note("2026-01-30-note.md", "买了电钢琴，花了六千。\n")
    filled.refresh()
    found = {hit.unit.text: hit.score for hit in filled.search(QUESTION).hits}
    words = {hit.unit.text: hit.score for hit in _by_words(filled)}
    new = "买了电钢琴，花了六千。"
    assert found[new] == words[new]
    assert found[SAID[0]["text"]] > words[SAID[0]["text"]]


def _by_words(world):
    before = world.toml
    found = world.reopen(WITHOUT_MODEL).search(QUESTION).hits
    world.reopen(before)
    return found


def test_vector_cache_is_private_and_outside_the_workspace(filled, cache):
    filled.precompute_vectors()
    (file,) = cache.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert not any("sqlite" in name for name in filled.tree(internal=True))


@pytest.mark.parametrize("harm", ["delete", "truncate", "rubbish"])
def test_precompute_vectors_replaces_deleted_or_damaged_vectors(filled, cache, harm):
    filled.precompute_vectors()
    (file,) = cache.iterdir()
    match harm:
        case "delete":
            shutil.rmtree(cache)
        case "truncate":
            file.write_bytes(file.read_bytes()[:5000])
        case "rubbish":
            file.write_bytes(os.urandom(20_000))
    assert texts(filled.search(QUESTION))
    assert filled.precompute_vectors() == 1
    assert filled.search(QUESTION).how == "hybrid"


def test_precompute_vectors_replaces_vectors_of_another_length(filled, server, cache):
    filled.precompute_vectors()
    (file,) = cache.iterdir()
    with sqlite3.connect(file) as base:
        base.execute("UPDATE vectors SET vector = x'00000000'")
    base.close()
    assert filled.search(QUESTION).how == "bm25"
    assert "length" in filled.events.of("backend_failed")[0]["why"]
    filled.note("2026-01-30-note.md", "买了电钢琴，花了六千。\n")
    filled.reopen().refresh()
    filled.precompute_vectors()
    assert filled.precompute_vectors() == 1  # the others had gone
    assert filled.search(QUESTION).how == "hybrid"


def test_vector_cache_is_bounded_and_drops_the_oldest_vectors(world, tmp_path):
    vectors = Vectors(world.files, tmp_path / "vectors", "bge-test", 200_000)
    keys = [digest(f"第 {n} 条") for n in range(400)]
    for at in range(0, 400, 20):
        vectors.put({key: bytes(2048) for key in keys[at : at + 20]})
    kept = vectors.get(keys)
    assert 30 < len(kept) < 110
    assert keys[-1] in kept
    assert keys[0] not in kept


# ── what goes wrong changes nothing but the score ────────────────────────────


@pytest.mark.timeout(60)
@pytest.mark.parametrize("fault", FAULTS)
def test_hybrid_falls_back_to_bm25_when_the_server_fails(filled, server, fault):
    filled.precompute_vectors()
    words = _by_words(filled)
    filled.reopen(hybrid(server.url).replace("3000", "400"))
    filled.ws.reranker.backend()
    server.act = fault
    found = filled.search(QUESTION)
    assert found.hits == words
    assert found.how == "bm25"
    (event,) = filled.events.of("backend_failed")
    assert event["backend"] == "hybrid"
    assert QUESTION not in str(event)
    assert filled.inject(QUESTION, found).memory.startswith("## Memory\n")


def test_embeddings_sort_answers_that_arrive_in_another_order(filled, server):
    server.act = "shuffled"
    filled.precompute_vectors()
    assert filled.search(QUESTION).hits[0].unit.text == SAID[0]["text"]


def test_hybrid_falls_back_to_bm25_when_the_server_is_unreachable(filled):
    filled.precompute_vectors()
    words = _by_words(filled)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    # the same vectors, as if the server had gone
    filled.ws.reranker.backend()._embeddings._url = f"{url}/embeddings"
    assert filled.search(QUESTION).hits == words
    assert "could not be asked" in filled.events.of("backend_failed")[0]["why"]


def test_rerank_reports_a_failing_backend_once_and_retries_after_a_rest(filled, server):
    filled.precompute_vectors()
    server.act = "fault"
    for _ in range(3):
        filled.search(QUESTION)
    assert len(filled.events.of("backend_failed")) == 1
    assert server.asked.count([QUESTION]) == 1
    server.act = "well"
    filled.ws.reranker._rested = replace(filled.ws.reranker._rested, ends_at=0.0)
    assert filled.search(QUESTION).how == "hybrid"
    assert len(filled.events.of("backend_back")) == 1


@pytest.mark.parametrize("fault", ["fault", "garbage", "refuses all"])
def test_precompute_vectors_retries_texts_that_failed(filled, server, fault):
    filled.precompute_vectors()
    filled.note("2026-01-30-note.md", "买了电钢琴，花了六千。\n")
    filled.refresh()
    server.act = fault
    assert filled.precompute_vectors() == 0
    assert len(filled.events.of("backend_failed")) == 1
    server.act = "well"
    assert filled.precompute_vectors() == 1
    assert len(filled.events.of("backend_back")) == 1


def test_precompute_vectors_skips_only_the_text_that_the_server_refuses(filled, server):
    (filled.root / "memory/2026-01-30-note.md").write_text(
        "- 买了电钢琴，花了六千。\n- 不要买二手的。\n- 买琴凳。\n", encoding="utf-8"
    )
    filled.refresh()
    server.act = "picky"
    assert filled.precompute_vectors() == 2  # the day and the note
    server.asked.clear()
    server.act = "well"
    assert filled.precompute_vectors() == 0
    keys = [digest(text) for text in ("买了电钢琴，花了六千。", "不要买二手的。", "买琴凳。")]
    assert set(filled.ws.reranker.backend()._vectors.get(keys)) == {keys[0], keys[2]}


@pytest.mark.parametrize("lines", ["", 'base_url = "http://127.0.0.1:9/v1"\n', 'model = "bge-test"\n'])
def test_hybrid_falls_back_to_bm25_without_server_or_model(filled, lines):
    filled.reopen(f'{WITHOUT_MODEL}[recall]\nbackend = "hybrid"\n[embeddings]\n{lines}')
    for _ in range(2):
        assert filled.search(QUESTION).how == "bm25"
    (event,) = filled.events.of("backend_failed")
    assert "embeddings.base_url" in event["why"]
    assert filled.precompute_vectors() == 0


# ── of other packages ────────────────────────────────────────────────────────


@pytest.fixture
def package(tmp_path_factory, monkeypatch):
    """An installed package with backends: one that likes books, and some that fail."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "bookish.py").write_text(
        """
class Bookish:
    def __init__(self, config):
        assert config.recall.backend == "bookish"
    def scores(self, question, units, within_s):
        return [1.0 if "书" in unit.text else 0.0 for unit in units]

class Rude:
    def __init__(self, config): pass
    def scores(self, question, units, within_s):
        raise SystemExit(question)

class Chatty(Rude):
    def scores(self, question, units, within_s):
        return ["很好"] * len(units)

class Short(Rude):
    def scores(self, question, units, within_s):
        return [1.0]

class Silent(Rude):
    def scores(self, question, units, within_s):
        return None

class Broken:
    def __init__(self, config):
        raise RuntimeError("没有装好")
""",
        encoding="utf-8",
    )
    info = folder / "bookish-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bookish\nVersion: 1.0\n")
    names = ("Bookish", "Rude", "Chatty", "Short", "Silent", "Broken", "Absent")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n" + "".join(f"{name.lower()} = bookish:{name}\n" for name in names))
    monkeypatch.syspath_prepend(str(folder))
    yield
    sys.modules.pop("bookish", None)


def test_rerank_loads_a_backend_by_its_entry_point(filled, package):
    filled.reopen(f'{WITHOUT_MODEL}[recall]\nbackend = "bookish"\n')
    found = filled.search(QUESTION)
    assert (found.how, found.hits[0].unit.text) == ("bookish", SAID[1]["text"])


@pytest.mark.parametrize("name", ["rude", "chatty", "short", "silent", "broken", "absent", "not-installed"])
def test_rerank_ignores_a_backend_that_fails_or_is_missing(filled, package, name):
    words = _by_words(filled)
    filled.reopen(f'{WITHOUT_MODEL}[recall]\nbackend = "{name}"\n')
    assert filled.search(QUESTION).hits == words
    (event,) = filled.events.of("backend_failed")
    assert QUESTION not in str(event)


def test_config_refuses_an_invalid_backend_name():
    from supervisor.protocol.errors import BadConfig

    with pytest.raises(BadConfig):
        load(b'[recall]\nbackend = "Hybrid, please"\n', {})


# ── what is added to the score ───────────────────────────────────────────────

UNIT = Passage(path="memory/2026-01-28-deploy.md", start=1, end=1, text="部署", tier="dated")


@given(
    st.lists(st.floats(0.01, 50), min_size=1, max_size=8),
    st.lists(st.one_of(st.none(), st.floats(-1, 1)), min_size=8, max_size=8),
)
@example([1.0, 3.0], [0.0, 5e-324])
def test_rerank_adds_at_most_half_of_the_best_score_and_lowers_none(scores, said):
    hits = [Hit(replace(UNIT, start=n + 1), score) for n, score in enumerate(scores)]
    found = add_scores(hits, said[: len(hits)])
    if found is None:
        assert set(said[: len(hits)]) == {None}
        return
    assert {hit.unit.start for hit in found} == {hit.unit.start for hit in hits}
    most = max(scores) / 2
    for hit in found:
        before = scores[hit.unit.start - 1]
        assert before - 1e-3 <= hit.score <= before + most + 1e-3
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


@pytest.mark.parametrize("said", [[float("nan")], [float("inf")], ["好"], [], [1.0, 2.0]])
def test_rerank_refuses_invalid_scores(said):
    with pytest.raises(ValueError, match="answered"):
        add_scores([Hit(UNIT, 3.0)], said)
