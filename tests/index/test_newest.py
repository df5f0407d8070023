"""Of passages about the same thing the newest comes first, and nothing is hidden (supervisor/index/newest)."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from recalld.supervisor.index.bm25 import Candidate
from recalld.supervisor.index.hit import Passage, ScoreParts
from recalld.supervisor.index.newest import newest_first, newest_of_equals, users_first
from recalld.supervisor.index.ranking import Scored
from recalld.supervisor.query.calendar import Days
from recalld.supervisor.query.intent import asks_before, asks_now, asks_past
from recalld.supervisor.query.parse import parse_query
from recalld.supervisor.text.tokenizer import tokens
from tests.world import at

TODAY = date(2026, 1, 31)
COSTS = "took the first levothyroxine, 50 micrograms, the gp wants bloods"
COSTS_NOW = "the gp rang about the bloods, up to 75 micrograms levothyroxine"


def ordered(question, *texts, roles=(), days=(), scores=(), alike=None, names=(), alike_of=None):
    """Return the texts, of one day after another and each scored half of the one before, in the order of the answer."""
    found = []
    for n, text in enumerate(texts):
        words = tokens(text)
        day, role = TODAY + timedelta(days=days[n] if days else n), (*roles, *["user"] * len(texts))[n]
        passage = Passage(path="", start=1, end=1, text=text, tier="dated", day=day, role=role)
        one = Candidate(str(n), "", passage, (" ".join(words), "", ""), " ".join(words), n + 1)
        found.append(Scored(one, ScoreParts(scores[n] if scores else 8.0 * 0.5**n)))
    query, parts = parse_query(question, TODAY), alike if isinstance(alike, dict) else dict.fromkeys(alike or (), 1.0)
    near = None if alike is None else {1: {n + 1: part for n, part in parts.items()}}
    ranked = newest_first(query, users_first(query, found), alike_of or near, {1: frozenset(names)})
    return [texts[int(one.candidate.group)] for one in ranked]


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("when is the launch", "the launch is on the 1st of December", "Correction: the launch is on the 15th of December"),
        ("发布是哪天", "发布定在十二月一日", "更正：发布定在十二月十五日"),
    ],
)
def test_newest_first_puts_a_correction_of_the_same_day_first(question, old, new):
    assert ordered(question, old, new, days=(0, 0)) == [new, old]


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
        (
            "when is Arjun's birthday",
            ("Arjun has his birthday on 4 December", "Iris: her birthday party is now on 13 December"),
            (),
        ),
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
            "launch slipped, it is the 15th of December",
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


@pytest.mark.parametrize(
    ("text", "now", "before", "past"),
    [
        ("我现在住在哪", True, False, False),
        ("我以前住在哪", False, True, True),
        ("where did I live", False, False, True),
        ("what's the launch date now", True, False, False),
        ("when was the launch originally", False, True, True),
        ("我住在哪", False, False, False),
    ],
)
def test_tense_of_a_question(text, now, before, past):
    assert (asks_now(text), asks_before(text), asks_past(text)) == (now, before, past)


def test_asks_past_by_a_day_that_is_over():
    assert asks_past("9月发布会在哪", [Days(date(2025, 9, 1), date(2025, 9, 30))], TODAY)
    assert not asks_past("2月发布会在哪", [Days(date(2026, 2, 1), date(2026, 2, 28))], TODAY)


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("when is the launch", "the launch is on the 1st of December", "launch slipped, it is the 15th of December"),
        ("牙医现在约的哪天", "牙医约在九月十二号下午三点", "牙医那边来电话，挪到九月二十六号了"),
        ("项目经理是谁", "项目经理是孙洁", "孙洁调走了，项目经理是郭磊"),
        ("车现在停在哪里", "我把车停在B区118", "车停C区26了，别忘了"),
        ("车停哪里", "车停在B区12了", "今天车改停到C区26了"),
        ("我妈体检哪天", "妈妈体检在22号", "妈妈体检改到25号了"),
    ],
)
def test_newest_first_puts_the_newer_of_two_about_the_same_thing_first(question, old, new):
    assert ordered(question, old, new) == [new, old]


@pytest.mark.parametrize(
    ("question", "reply", "said"),
    [
        (
            "until when is the scheduling Sarah away",
            "Scheduling Sarah, noted.",
            "the other Sarah, of scheduling, is away till May",
        ),
        ("deposit how much", "Deposit of 1,430, noted.", "the deposit is 1,430, by Friday"),
        ("物业费多少", "物业费可以问问有没有折扣。", "物业来催了，半年的物业费 1882"),
    ],
)
def test_newest_first_puts_the_users_words_before_a_reply_to_them(question, reply, said):
    found = ordered(question, reply, said, "lunch", roles=("assistant", "user"), scores=(8.0, 6.0, 1.0))
    assert found == [said, reply, "lunch"]
    asked = ordered(f"what did you say, {question}", reply, said, roles=("assistant", "user"), scores=(8.0, 6.0))
    assert asked == [reply, said]


@pytest.mark.parametrize(
    ("question", "reply"), [("when did Anna ski", "Anna: I ski in May"), ("小林几月去滑雪", "小林：五月去滑雪")]
)
def test_newest_first_keeps_the_words_of_somebody_whom_the_question_names(question, reply):
    said = "Anna and 小林 ski, 滑雪"
    assert ordered(question, reply, said, roles=("assistant", "user"), scores=(8.0, 6.0)) == [reply, said]


def test_newest_of_equals_turns_those_of_one_day_and_score():
    def scored(hour, score, key="dated"):
        when = at(f"2026-01-31T{hour}:00")
        passage = Passage(path="", start=1, end=1, text="kowalski", tier="dated", day=TODAY, at=when, role="user")
        return Scored(Candidate("", key, passage, (hour, "", ""), hour), ScoreParts(score))

    equals = [scored("07", 1.0, "long_term"), scored("09", 1.0), scored("11", 1.0), scored("10", 1.0)]
    found = newest_of_equals([scored("08", 2.0), *equals, scored("12", 0.5)], {"long_term": 0, "dated": 1})
    assert [one.candidate.text for one in found] == ["08", "07", "11", "10", "09", "12"]


NUMBERS = ("my number is 07700 900123", "lunch with Ben", "New SIM. I'm on 07700 900771 now")


def test_newest_first_brings_a_later_statement_behind_the_best_by_meaning():
    assert ordered("whats my number again", *NUMBERS, alike=(2,)) == [NUMBERS[0], NUMBERS[2], NUMBERS[1]]
    assert ordered("whats my number again", *NUMBERS) == [*NUMBERS]


@pytest.mark.parametrize(
    ("texts", "roles", "question"),
    [
        (NUMBERS, ("user", "user", "assistant"), "whats my number again"),
        ((*NUMBERS[:2], "is it 07700 900771 now?"), (), "whats my number again"),
        (NUMBERS, (), "what was my number before"),
    ],
)
def test_newest_first_draws_in_no_answer_and_no_question(texts, roles, question):
    assert ordered(question, *texts, roles=roles, alike=(2,)) == [*texts]


def test_newest_first_brings_the_nearest_close_and_hides_none():
    texts = ("牙医约在九月十二号", *(f"口腔科改到{n}号" for n in range(1, 6)))
    near = {1: 1.1, 2: 1.5, 3: 1.2, 4: 1.4, 5: 1.3}
    found = ordered("牙医约的哪天", *texts, alike=near, scores=(8.0, 1.0, 0.9, 0.8, 0.7, 0.6))
    assert found == [texts[n] for n in (0, 4, 2, 5, 3, 1)]


OKAFOR = ("dentist is dr okafor on the high st", "lunch with Ben", "okafor retired so my teeth are with new smile")


@pytest.mark.parametrize("alike", [{2: 0.5}, {}, None])
def test_newest_first_brings_a_later_statement_with_a_name_of_the_best(alike):
    assert ordered("whos my dentist", *OKAFOR, names=("okafor",), scores=(8.0, 2.0, 0.1), alike=alike)[1] == OKAFOR[2]
    assert ordered("whos my dentist", *OKAFOR, scores=(8.0, 2.0, 0.1), alike=alike) == [*OKAFOR]


def test_newest_first_leaves_better_answers_before_what_is_less_near():
    assert ordered("whats my number again", *NUMBERS, alike={2: 0.8}, scores=(8.0, 4.0, 0.1)) == [*NUMBERS]
    assert ordered("whats my number again", *NUMBERS, alike={2: 0.8}, scores=(8.0, 2.0, 0.1))[1] == NUMBERS[2]
    assert ordered("whats my number again", *NUMBERS, alike={2: 0.6}, scores=(8.0, 2.0, 0.1)) == [*NUMBERS]


def test_newest_first_brings_the_later_statements_of_the_second_answer_too():
    texts = ("mums number is 07700 900318", *NUMBERS)
    ranked = ordered("whats my number", *texts, days=(9, 0, 1, 2), scores=(8.0, 7.0, 1.0, 0.5), alike_of={2: {4: 1.2}})
    assert ranked == [texts[0], texts[1], texts[3], texts[2]]
