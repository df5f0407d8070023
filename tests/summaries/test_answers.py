"""What the gate says of two hundred answers, made by hand without a look at its rules (tests/summaries/answers/README.md)."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.facts import month_facts, score
from bench.measures import WindowMessage, inventions
from tests.summaries.hand_made import Answer, answers

ANSWERS = answers()
GOOD = [answer for answer in ANSWERS if answer.is_good]
BAD = [answer for answer in ANSWERS if not answer.is_good]
FAULTS = (
    "empty", "refusal", "nothing", "prompt", "example", "loop", "copy", "transcript", "language", "json", "thought", "too long",
    "invented", "swapped", "fields", "too little",
)  # fmt: skip


def test_the_answers_are_two_hundred_in_both_languages_with_every_fault():
    halves = Counter((answer.is_good, answer.story.language) for answer in ANSWERS)

    assert set(halves.values()) == {50}
    assert len(halves) == 4
    assert {answer.what for answer in BAD} == set(FAULTS)


@pytest.mark.parametrize("answer", GOOD, ids=str)
def test_a_good_answer_keeps_most_facts_and_gets_none_wrong(answer: Answer):
    is_day = len(answer.period) == len("2026-03-02")
    facts = answer.days[0].facts if is_day else month_facts(answer.story)
    found = score(answer.text, facts, None if is_day else answer.story)

    assert [fact.sentence for fact in found.wrong] == []
    assert len(found.kept) >= 0.6 * len(facts), [fact.sentence for fact in facts if fact not in found.kept]


@pytest.mark.parametrize("answer", [answer for answer in BAD if answer.what == "invented"], ids=str)
def test_an_invented_answer_has_several_inventions(answer: Answer):
    said = [WindowMessage(one.at, one.text) for one in answer.said]

    assert len(inventions(answer.text, said)) >= 4
