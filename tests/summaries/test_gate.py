"""The gate on the two hundred answers that were written without a look at its rules (tests/summaries/answers/README.md)."""

from __future__ import annotations

from collections import Counter
from functools import cache

from recalld.supervisor.extracts.extract import extract
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.summaries.llm_state import prompt_examples, prompt_marks
from recalld.supervisor.summaries.material import Material
from recalld.supervisor.summaries.quality import judge
from recalld.supervisor.text.language import language_of
from recalld.supervisor.text.llm_output import cleaned, says_nothing
from tests.archive.states import SHANGHAI
from tests.summaries.hand_made import Answer, answers


@cache
def material(story: str, period: str) -> Material:
    said = next(one.said for one in answers() if (one.story.name, one.period) == (story, period))
    blocks = [Block(f"m{i}", one.role, one.text, one.at, {}) for i, one in enumerate(said)]
    kind = "day" if len(period) == len("2026-03-02") else "month"
    shown = extract(blocks, period=period, zone=SHANGHAI, kind=kind, longest=8_000)
    languages = {language_of(one.text) for one in said}
    language = language_of("\n".join(one.text for one in said)) if len(languages) == 1 else None
    return Material(tuple((one.at.date(), one.text) for one in said), shown, language, prompt_marks(), prompt_examples())


def is_accepted(answer: Answer) -> bool:
    text = cleaned(answer.text)
    return not says_nothing(text) and judge(text, material(answer.story.name, answer.period)).reason is None


def test_gate_refuses_at_most_2_of_100_good_answers_and_95_of_100_bad():
    accepted = [answer for answer in answers() if is_accepted(answer)]
    assert sum(answer.is_good for answer in accepted) >= 98  # 100, and the four that swap who pays whom, when this was written
    faults = Counter(answer.what for answer in accepted if not answer.is_good)
    assert sum(faults.values()) <= 5, faults
