"""What counts in the rank beside the words, and that of passages about the same thing the newest comes first (docs/explanation/recall.md)."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from recalld.supervisor.index.documents import Document
from recalld.supervisor.index.hit import Passage, ScoreParts
from recalld.supervisor.index.newest import newest_first, users_first
from recalld.supervisor.index.ranking import Corpus, Scored, evidence_of, rank
from recalld.supervisor.query.calendar import Days
from recalld.supervisor.query.intent import asks_past
from recalld.supervisor.query.parse import Query, parse_query
from recalld.supervisor.text.tokenizer import tokens
from tests.world import message

TODAY = date(2026, 1, 31)


def candidate(text: str, n: int, role: str = "user", day: date = TODAY) -> Document:
    words = " ".join(tokens(text))
    passage = Passage(path="", start=n, end=n, text=text, tier="dated", day=day, role=role)
    return Document(str(n), "", passage, (words, "", ""), n + 1)


def ranked(query: Query, texts: list[str]) -> dict[str, float]:
    """Return the texts as they answer, best first, each of a day of its own and without neighbours, with its share of the best."""
    documents = [set(tokens(text)) for text in texts]
    average = sum(map(len, documents)) / len(documents)
    corpus = Corpus(len(texts), average, lambda word: sum(word in words for words in documents))
    found = rank(query, [candidate(text, n) for n, text in enumerate(texts)], [corpus] * 3)
    if not evidence_of(query, found, corpus):
        return {}
    return {texts[int(one.candidate.group)]: one.score / found[0].score for one in found}


BACKUP = ["凌晨的备份脚本把日志写进文件", "备份脚本凌晨写日志", "备份脚本凌晨又写满了日志"]


def test_ranking_serves_both_questions_of_a_double_question():
    answer = "医院的单子上写着煤球对牛肉过敏"
    query = parse_query("凌晨的备份脚本把日志写进哪个文件？另外，煤球对什么过敏？", TODAY)
    assert len(query.sentences) == 2
    of_each, as_one = ranked(query, [*BACKUP, answer]), ranked(replace(query, sentences=()), [*BACKUP, answer])
    assert list(of_each)[:2] == [BACKUP[0], answer]
    assert of_each[answer] > 1.1 * as_one[answer]


@pytest.mark.parametrize(
    ("question", "about", "beside"),
    [
        ("林一苇喜欢什么？", "林一苇：喜欢甲龙和恐龙模型", "小满：喜欢甲龙，和林一苇一样"),
        ("What does Caroline paint?", "Caroline: I paint sunsets mostly", "Melanie: those sunsets you paint, Caroline!"),
    ],
)
def test_ranking_prefers_the_speaker_to_the_person_addressed(question, about, beside):
    assert ranked(parse_query(question, TODAY), [beside, about]).popitem()[0] == beside


def test_evidence_is_none_when_no_part_of_a_question_is_answered():
    assert ranked(parse_query("量子色动力学是什么？另外，胶子的质量是多少？", TODAY), BACKUP) == {}


def test_ranking_says_in_the_part_of_who_speaks_what_a_passage_loses():
    said, corpus = "cheap and green, the tent", Corpus(4, 5.0, lambda word: 1)
    texts = {said: "user", f"{said}?": "user", f"{said}.": "assistant", f"{said} {'pitch it on dry ground ' * 20}": "assistant"}
    four = [candidate(text, n, role=role) for n, (text, role) in enumerate(texts.items())]
    for question, is_asked in (("where is my tent?", False), ("which tent did you recommend?", True)):
        found = {one.candidate.group: one for one in rank(parse_query(question, TODAY), four, [corpus] * 3)}
        assert ("long" in found["3"].because) != is_asked
        assert [found[n].parts.who < 0 for n in "0123"] == [False, True, not is_asked, not is_asked]
        if not is_asked:
            assert [found[n].score / found["0"].score for n in "12"] == pytest.approx([0.8, 0.85])


def test_ranking_says_in_the_part_of_days_what_a_named_day_is_worth(world):
    world.write([OF_THE_DAY, ABOUT_THE_DAY, OF_NEITHER])
    found = world.search("上周五买的窗帘").hits
    assert found[0].unit.text == OF_THE_DAY["text"]
    assert found[0].parts.days > 0
    assert not any(hit.parts.meaning for hit in found)
    assert [hit.parts.total for hit in found] == pytest.approx([hit.score for hit in found], abs=1e-4)


# ── a day alone ──────────────────────────────────────────────────────────────

OF_THE_DAY = message("1", "2026-01-23T10:00", "给书房买了窗帘")
ABOUT_THE_DAY = message("2", "2026-01-30T09:00", "上周五把驾照落在出租车上了，周一去补办")
PLANNED = message("3", "2026-01-20T09:00", "The chimney sweep comes on 23 January")
OF_NEITHER = message("4", "2026-01-30T09:10", "医生让我少喝咖啡")


@pytest.mark.parametrize("question", ["上周五怎么了", "1月23号发生了什么", "what happened on 23 January?"])
@pytest.mark.parametrize("is_filed", [False, True])
def test_ranking_finds_what_names_a_day_behind_what_was_said_on_it(world, question, is_filed):
    world.write([OF_THE_DAY, ABOUT_THE_DAY, PLANNED, OF_NEITHER])
    if is_filed:
        world.settle()
    found = sorted((hit for hit in world.search(question).hits if hit.unit.tier != "summary"), key=lambda hit: -hit.rank)
    assert found[0].unit.text == OF_THE_DAY["text"]
    assert {hit.unit.text for hit in found[1:]} == {ABOUT_THE_DAY["text"], PLANNED["text"]}
    assert {hit.because[-1] for hit in found} == {"day 2026-01-23"}


def test_ranking_tells_a_day_in_its_order_and_the_users_words_first(world):
    said = ("assistant", "早。"), ("user", "修好了水管"), ("assistant", "辛苦了。"), ("user", "去看了牙医")
    world.write([message(f"{n}", f"2026-01-23T10:0{n}", text, role) for n, (role, text) in enumerate(said)])
    assert world.found_texts("上周五怎么了") == ["修好了水管", "去看了牙医", "早。", "辛苦了。"]


# ── the newest of what is about the same thing (supervisor/index/newest) ─────────

COSTS = "took the first levothyroxine, 50 micrograms, the gp wants bloods"
COSTS_NOW = "the gp rang about the bloods, up to 75 micrograms levothyroxine"


def ordered(question, *texts, roles=(), days=(), alike=None):
    """Return the texts, of one day after another and each scored half of the one before, in the order of the answer."""
    found = []
    for n, text in enumerate(texts):
        day, role = TODAY + timedelta(days=days[n] if days else n), (*roles, *["user"] * len(texts))[n]
        found.append(Scored(candidate(text, n, role, day), ScoreParts(8.0 * 0.5**n)))
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
        ("where is the staging database", ("staging database is in Dublin", "moved staging to heron"), ()),
        ("where is the car parked now", ("I parked the car in bay 47", "the car needs a new battery"), ()),
        ("what grows in bed 7", ("bed 7 grows tulips", "bed 8 grows leeks"), ()),
        ("12床什么时候换药", ("12床下午换药", "13床上午换药"), ()),
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


def test_asks_past_by_a_day_that_is_over():
    assert asks_past("9月发布会在哪", [Days(date(2025, 9, 1), date(2025, 9, 30))], TODAY)
    assert not asks_past("2月发布会在哪", [Days(date(2026, 2, 1), date(2026, 2, 28))], TODAY)


@pytest.mark.parametrize(
    ("question", "old", "new", "days"),
    [
        ("when is the launch", "the launch is on the 1st of December", "launch slipped, it is the 15th of December", (0, 1)),
        ("when is the launch", "the launch is on the 1st of December", "the launch is on the 15th after all", (0, 0)),
        ("发布是哪天", "发布定在十二月一日", "发布改在十二月十五日", (0, 0)), ("项目经理是谁", "项目经理是孙洁", "孙洁调走了，项目经理是郭磊", (0, 1)),
        ("车现在停在哪里", "我把车停在B区118", "车停C区26了，别忘了", (0, 1)), ("我妈体检哪天", "妈妈体检在22号", "妈妈体检改到25号了", (0, 1)),
        ("how many micrograms do I take", f"{COSTS}. anything to know?", COSTS_NOW, (0, 1)),  # the older one asks, too
    ],
)  # fmt: skip
def test_newest_first_puts_the_newer_of_two_about_the_same_thing_first(question, old, new, days):
    assert ordered(question, old, new, days=days) == [new, old]
