"""Of passages about the same thing the newest comes first, and nothing is hidden (supervisor/index/newest)."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from recalld.supervisor.index.documents import Document
from recalld.supervisor.index.hit import Passage, ScoreParts
from recalld.supervisor.index.newest import newest_first, users_first
from recalld.supervisor.index.ranking import Scored
from recalld.supervisor.query.calendar import Days
from recalld.supervisor.query.intent import asks_past
from recalld.supervisor.query.parse import parse_query
from recalld.supervisor.text.tokenizer import tokens

TODAY = date(2026, 1, 31)
COSTS = "took the first levothyroxine, 50 micrograms, the gp wants bloods"
COSTS_NOW = "the gp rang about the bloods, up to 75 micrograms levothyroxine"


def ordered(question, *texts, roles=(), days=(), alike=None):
    """Return the texts, of one day after another and each scored half of the one before, in the order of the answer."""
    found = []
    for n, text in enumerate(texts):
        words = tokens(text)
        day, role = TODAY + timedelta(days=days[n] if days else n), (*roles, *["user"] * len(texts))[n]
        passage = Passage(path="", start=1, end=1, text=text, tier="dated", day=day, role=role)
        one = Document(str(n), "", passage, (" ".join(words), "", ""), n + 1)
        found.append(Scored(one, ScoreParts(8.0 * 0.5**n)))
    query = parse_query(question, TODAY)
    near = None if alike is None else {1: {n + 1: 1.0 for n in alike}}
    ranked = newest_first(query, users_first(query, found), near, {1: frozenset()})
    return [texts[int(one.candidate.group)] for one in ranked]


def test_newest_first_needs_nearness_by_meaning_where_that_is_known():
    question, old, new = "when is the launch", "the launch is on the 1st of December", "Ben is late for the launch"
    assert ordered(question, old, new) == ordered(question, old, new, alike=(1,)) == [new, old]
    assert ordered(question, old, new, alike=()) == [old, new]


@pytest.mark.parametrize(
    ("question", "texts", "roles"),
    [
        ("how many micrograms did I take first", (COSTS, COSTS_NOW), ()),  # it asks what was
        ("how many micrograms do I take", (COSTS, "the gp rang about the bloods"), ()),  # no change is told
        ("how many micrograms do I take", (COSTS, COSTS_NOW), ("user", "assistant")),  # the user did not say so
        ("妞妞游泳课周几", ("妞妞的游泳课每周三上", "乐乐的游泳课改到周五了"), ()),
        ("what day is Nina's swimming", ("Nina has her swimming on Wednesdays", "Leo's swimming moved to Fridays"), ()),
        ("fern 的端口", ("fern 是 hetzner 的服务器，端口 8000", "moss 是 hetzner 的服务器，端口换 8011"), ()),
    ],
)
def test_newest_first_leaves_what_only_looks_alike(question, texts, roles):
    assert ordered(question, *texts, roles=roles) == [*texts]


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        (
            "when was the launch originally",
            "the launch is on the 1st of December",
            "it slipped, the launch is the 15th of December",
        ),
        ("护照以前放在哪", "护照放在书房第二个抽屉", "护照收进保险箱里了"),
    ],
)
def test_newest_first_puts_the_oldest_first_for_what_was_before(question, old, new):
    assert ordered(question, new, old, days=(1, 0)) == [old, new]


@pytest.mark.parametrize(
    ("question", "mine", "theirs"),
    [
        ("where is the staging database", "staging database is in Dublin", "moved staging to heron"),
        ("where is the car parked now", "I parked the car in bay 47", "the car needs a new battery"),
        ("what grows in bed 7", "bed 7 grows tulips", "bed 8 grows leeks"),
        ("12床什么时候换药", "12床下午换药", "13床上午换药"),
    ],
)
def test_newest_first_takes_nothing_for_newer_that_is_about_another(question, mine, theirs):
    assert ordered(question, mine, theirs) == [mine, theirs]


def test_asks_past_by_a_day_that_is_over():
    assert asks_past("9月发布会在哪", [Days(date(2025, 9, 1), date(2025, 9, 30))], TODAY)
    assert not asks_past("2月发布会在哪", [Days(date(2026, 2, 1), date(2026, 2, 28))], TODAY)


@pytest.mark.parametrize(
    ("question", "old", "new", "days"),
    [
        ("when is the launch", "the launch is on the 1st of December", "launch slipped, it is the 15th of December", (0, 1)),
        ("when is the launch", "the launch is on the 1st of December", "Correction: the launch is on the 15th", (0, 0)),
        ("发布是哪天", "发布定在十二月一日", "更正：发布定在十二月十五日", (0, 0)), ("项目经理是谁", "项目经理是孙洁", "孙洁调走了，项目经理是郭磊", (0, 1)),
        ("车现在停在哪里", "我把车停在B区118", "车停C区26了，别忘了", (0, 1)), ("我妈体检哪天", "妈妈体检在22号", "妈妈体检改到25号了", (0, 1)),
        ("how many micrograms do I take", f"{COSTS}. anything to know?", COSTS_NOW, (0, 1)),  # the older one asks, too
    ],
)  # fmt: skip
def test_newest_first_puts_the_newer_of_two_about_the_same_thing_first(question, old, new, days):
    assert ordered(question, old, new, days=days) == [new, old]
