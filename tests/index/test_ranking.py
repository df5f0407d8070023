"""What counts in the rank beside the words: several questions in one, and how a message begins (docs/explanation/recall.md)."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.index.bm25 import Candidate, Corpus, term_numbers
from recalld.supervisor.index.ranking import rank, verdict
from recalld.supervisor.query.parse import parse_query
from recalld.supervisor.text.tokenizer import tokens

if TYPE_CHECKING:
    from recalld.supervisor.query.parse import Query

TODAY = date(2026, 1, 31)


def candidate(text: str, n: int) -> Candidate:
    words = tokens(text)
    size = len(words)
    return Candidate(term_numbers(words), " ".join(words), (size, size, size), str(n), TODAY, "user", False, text)


def ranked(query: Query, texts: list[str]) -> dict[str, float]:
    """Return the texts as they answer, best first, each of a day of its own and without neighbours, with its share of the best."""
    documents = [set(tokens(text)) for text in texts]
    average = sum(map(len, documents)) / len(documents)
    corpus = Corpus(len(texts), average, lambda word: sum(word in words for words in documents))
    found = rank(query, [candidate(text, n) for n, text in enumerate(texts)], [corpus] * 3, 1.2, 0.75)
    if not verdict(query, found, corpus).is_open:
        return {}
    return {one.candidate.source: one.score / found[0].score for one in found}


BACKUP = ["凌晨的备份脚本把日志写进文件", "备份脚本凌晨写日志", "备份脚本凌晨又写满了日志"]


def test_ranking_serves_both_questions_of_a_double_question():
    answer = "医院的单子上写着煤球对牛肉过敏"
    query = parse_query("凌晨的备份脚本把日志写进哪个文件？另外，煤球对什么过敏？", TODAY)
    assert len(query.asked) == 2
    of_each, as_one = ranked(query, [*BACKUP, answer]), ranked(replace(query, asked=()), [*BACKUP, answer])
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


def test_ranking_returns_nothing_when_no_part_of_a_question_is_answered():
    assert ranked(parse_query("量子色动力学是什么？另外，胶子的质量是多少？", TODAY), BACKUP) == {}


def test_ranking_scores_a_word_by_itself_or_by_a_related_one():
    query = replace(parse_query("where did I put my bicycle?", TODAY), related={"bicycl": {"bike": 0.4, "wheel": 0.3}})
    assert [*ranked(query, ["a blue kayak", "a red wheel", "a new bike", "a used bicycle"])] == [
        "a used bicycle",
        "a new bike",
        "a red wheel",
    ]
    alone, both = (ranked(query, [said, "a used bicycle"])[said] for said in ("bike trail", "bike wheel"))
    assert alone == both  # the better one counts, not the sum
