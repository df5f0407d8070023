"""Scores beside BM25: a backend of another package, with every fault, and what is added to the score."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recalld.supervisor.index.hit import BackendResult, Hit, Passage
from recalld.supervisor.protocol.config import load
from recalld.supervisor.recall.rerank import GROUP, add_found, add_scores
from tests.world import WITHOUT_MODEL, message

SAID = [
    message("1", "2026-01-29T09:00", "上个月买了一辆轿车，花了十二万。"),
    message("2", "2026-01-29T11:00", "上个月买了一个书架，花了三百。"),
    message("3", "2026-01-29T13:00", "孩子发烧了，医生说多喝水，买药花了八十。"),
    message("4", "2026-01-29T15:00", "密码是 hunter2-demo，别忘了。"),
]
QUESTION = "买汽车花了多少"


@pytest.fixture
def filled(world):
    world.write(SAID)
    world.reopen(WITHOUT_MODEL)
    world.settle()
    world.refresh()
    return world


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


@pytest.mark.feature("001.8")
def test_rerank_loads_a_backend_by_its_entry_point(filled, package):
    filled.reopen(f'{WITHOUT_MODEL}[recall]\nbackend = "bookish"\n')
    found = filled.search(QUESTION)
    assert (found.how, found.hits[0].unit.text) == ("bookish", SAID[1]["text"])


@pytest.mark.parametrize("name", ["rude", "chatty", "short", "silent", "broken", "absent", "not-installed"])
def test_rerank_ignores_a_backend_that_fails_or_is_missing(filled, package, name):
    words = filled.search(QUESTION).hits
    filled.reopen(f'{WITHOUT_MODEL}[recall]\nbackend = "{name}"\n')
    assert filled.search(QUESTION).hits == words
    (event,) = filled.events.of("backend_failed")
    assert QUESTION not in str(event)


def test_config_refuses_an_invalid_backend_name():
    from recalld.supervisor.storage.errors import BadConfig

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


# ── what a backend has found by itself ───────────────────────────────────────


@given(
    st.lists(st.floats(0.01, 50), max_size=6),
    st.lists(st.one_of(st.none(), st.floats(-2, 3)), min_size=6, max_size=6),
    st.lists(st.floats(0.001, 3), max_size=4),
)
def test_add_found_loses_no_hit_of_words_and_lowers_none(scores, said, near):
    hits = [Hit(replace(UNIT, start=n + 1), score) for n, score in enumerate(scores)]
    more = {(unit := replace(UNIT, start=99 + n, text=f"第 {n} 条")).unit: (unit, score) for n, score in enumerate(near)}
    said = BackendResult(said[: len(hits)], {name: score for name, (_, score) in more.items()})
    found = add_found(hits, said, lambda names: [more[name][0] for name in names])
    if found is None:
        assert not near
        return
    after = {hit.unit.start: hit.score for hit in found}
    assert after.keys() == {hit.unit.start for hit in hits} | {unit.start for unit, _ in more.values()}
    assert all(after[hit.unit.start] >= hit.score - 1e-3 for hit in hits)
    assert all(hit.score <= max(scores, default=0) + max([*scores, 1 if not scores else 0]) / 2 + 1e-3 for hit in found)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def by_meaning(*passages, hits=(), said=(), role=""):
    """Return what `add_found` makes of the *passages*, each as near as the others, by their words."""
    near = {one.unit: 1.0 for one in passages}
    found = add_found(hits, BackendResult(said, near), lambda _: passages, role)
    return {hit.unit.text: hit.score for hit in found or ()}


def test_add_found_finds_no_other_where_a_hit_has_nearly_all_words():
    told = replace(UNIT, text="牙医约在周四下午", role="user")
    for worth, others in ((0.89, 1), (0.9, 0)):
        hits = [Hit(replace(UNIT, start=9), 4.0, worth=worth)]
        assert len(by_meaning(told, hits=hits, said=[0.2])) == 1 + others


def test_add_found_gives_an_answer_half_of_what_the_users_words_get():
    told = replace(UNIT, text="琥珀酸亚铁饭后吃", role="user")
    answer = replace(UNIT, start=2, text="好的，饭后提醒你吃药", role="assistant")
    assert by_meaning(told, answer) == {told.text: 0.5, answer.text: 0.25}
    assert by_meaning(told, answer, hits=[Hit(replace(UNIT, start=9), 4.0)], said=[0.0])[answer.text] == 1.0
    assert by_meaning(told, answer, role="assistant") == {told.text: 0.5, answer.text: 0.5}


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize(("reason", "first"), [("newest", "改到周五了"), ("oldest", "改到周五了"), ("role user", "周三上课")])
def test_add_found_keeps_what_goes_first_for_its_day(reason, first, role):
    hits = [
        Hit(replace(UNIT, text="改到周五了", role=role), 4.004, ("words: 游泳课", reason)),
        Hit(replace(UNIT, start=2, text="周三上课"), 4.0, ("words: 游泳课",)),
        Hit(replace(UNIT, start=3, text="泳镜买好了"), 1.0, ("related: 游泳",)),
    ]
    found = add_found(hits, BackendResult([0.2, 1.0, 0.4]), lambda _: ())
    assert found is not None
    assert next(hit.unit.text for hit in found) == first
