"""What counts in the rank beside the words: several questions in one, and how a message begins (docs/explanation/recall.md)."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from recalld.supervisor.index.documents import Document
from recalld.supervisor.index.hit import Passage
from recalld.supervisor.index.ranking import Corpus, rank, verdict
from recalld.supervisor.query.parse import Query, parse_query
from recalld.supervisor.text.tokenizer import tokens
from tests.world import message

TODAY = date(2026, 1, 31)


def candidate(text: str, n: int, role: str = "user") -> Document:
    words = " ".join(tokens(text))
    passage = Passage(path="", start=1, end=1, text=text, tier="dated", day=TODAY, role=role)
    return Document(str(n), "", passage, (words, "", ""))


def ranked(query: Query, texts: list[str]) -> dict[str, float]:
    """Return the texts as they answer, best first, each of a day of its own and without neighbours, with its share of the best."""
    documents = [set(tokens(text)) for text in texts]
    average = sum(map(len, documents)) / len(documents)
    corpus = Corpus(len(texts), average, lambda word: sum(word in words for words in documents))
    found = rank(query, [candidate(text, n) for n, text in enumerate(texts)], [corpus] * 3, 1.2, 0.75)
    if not verdict(query, found, corpus)[0]:
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


def test_verdict_is_weak_when_no_part_of_a_question_is_answered():
    assert ranked(parse_query("量子色动力学是什么？另外，胶子的质量是多少？", TODAY), BACKUP) == {}


def test_ranking_gives_a_long_answer_less_unless_it_is_asked_for():
    said, other = "the tent is blue and was cheap", "the tent is green"
    long = candidate(f"{said} {'pitch it on dry and level ground far from trees ' * 20}", 0, role="assistant")
    short = candidate(other, 1)
    corpus = Corpus(2, 40.0, lambda word: 2 if word == "tent" else 1)
    for question, best in (("what colour is the tent?", "long"), ("which tent did you recommend?", "")):
        query = parse_query(question, TODAY)
        found = {one.candidate.group: one for one in rank(query, [long, short], [corpus] * 3, 1.2, 0.75)}
        assert ("long" in found["0"].because) == bool(best)


def test_ranking_says_in_the_part_of_who_speaks_what_a_passage_loses():
    corpus = Corpus(3, 5.0, lambda word: 1)
    said = "cheap and green, the tent"
    told, one_asks, answered = candidate(said, 0), candidate(f"{said}?", 1), candidate(said, 2, role="assistant")
    query = parse_query("where is my tent?", TODAY)
    found = {one.candidate.group: one for one in rank(query, [told, one_asks, answered], [corpus] * 3, 1.2, 0.75)}
    assert len({one.parts.words for one in found.values()}) == 1
    assert found["0"].parts.who == 0
    assert [found[n].score / found["0"].score for n in "12"] == pytest.approx([0.8, 0.85])
    assert all(found[n].parts.who < 0 for n in "12")


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
