"""What the gate says of two hundred answers, made by hand without a look at its rules (tests/summaries/answers/README.md)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime

import pytest

from bench.facts import month_facts, score
from bench.measures import WindowMessage, inventions
from recalld.supervisor.extracts.extract import extract
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.summaries.llm_state import prompt_examples
from recalld.supervisor.summaries.material import Material, says_less
from recalld.supervisor.summaries.quality import EXAMPLE_NAMES, judge
from recalld.supervisor.text.llm_output import cleaned, says_nothing
from tests.summaries.hand_made import Answer, answers, blocks_of, material_of

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


def reason_of(answer: Answer) -> str:
    """Return why the gate refuses the answer, as a collected result is judged; "" where it accepts."""
    text = cleaned(answer.text)
    if says_nothing(text):
        return "nothing"
    return judge(text, material_of(answer)) or ""


def test_the_gate_knows_the_names_of_the_prompts_examples():
    examples = "\n".join(prompt_examples())
    text = "有人试工过了，工资改成 4,400，从 6 月 19 日算。"
    material = Material(said=((None, text),), extract=text, prompts=(), examples=prompt_examples())
    for name in EXAMPLE_NAMES:
        assert name in examples
        assert judge(f"{name} 试工过了，工资改成 4,400，从 6 月 19 日算。", material) == "example"


@pytest.fixture(scope="module")
def reasons() -> dict[int, str]:
    return {id(answer): reason_of(answer) for answer in ANSWERS}


def test_the_gate_refuses_at_most_two_of_a_hundred_good_answers(reasons):
    refused = [(str(answer), reason) for answer in GOOD if (reason := reasons[id(answer)])]

    assert len(refused) <= 2, refused


def test_the_gate_refuses_at_least_ninety_five_of_a_hundred_bad_answers(reasons):
    accepted = [answer for answer in BAD if not reasons[id(answer)]]

    assert len(accepted) <= 5, list(map(str, accepted))


#: The first day of zh-xuning in English, with more characters than the day has.
IN_ENGLISH = """\
Xu Ning's rent goes up from 4,600 to 4,900 in April, and her contract ends on 31 March, so she wants to look at other flats first. \
What she asks for: half an hour at most by underground to Huaxi Second Hospital, a lift, a landlord who takes dogs, and no more than \
five thousand a month. The agent, Xiao Jiang, shows her two of them on Thursday evening at seven o'clock: one at Niuwangmiao and \
another at Dongda Road. Her dog is a corgi called Doubao, who was neutered last year and has to be allowed in the building, too. \
She said that she would rather move than pay the higher rent, unless nothing of the kind can be found before the contract is over."""


def test_a_day_in_the_other_language_is_refused_as_such_though_it_is_long():
    day = next(answer for answer in ANSWERS if answer.story.name == "zh-xuning")

    assert len(IN_ENGLISH) > 1.5 * len(day.material)
    assert reason_of(replace(day, text=IN_ENGLISH)) == "language"


#: What Qwen2.5-Coder-1.5B said of April: two of its days, word for word.
TWO_DAYS = """\
老伴低血糖，头晕出汗，测了 3.6，吃了两块糖缓过来。孙主任电话，说二甲双胍先减到一天一次，早饭后吃。老吴架子拉来了，竹子的，他花了 240。

老伴空腹 6.4，糖化 6.7，孙主任说控制得不错，药继续一天一次，三个月后再来，7 月 30 日。

嘟嘟把番茄苗踩断两棵，还剩十棵。我没骂他。"""


def test_the_gate_knows_the_sentence_that_asks_for_a_length():
    month = next(answer for answer in ANSWERS if answer.story.name == "en-hannah")

    assert reason_of(replace(month, text=f"The new summary has at most 2000 characters. {month.material}")) == "prompt"


@pytest.mark.parametrize(("kind", "is_refused"), [("second good answer", True), ("extract", False)])
def test_the_gate_takes_a_joined_month_that_says_what_the_extract_says(kind, is_refused):
    month = next(replace(answer, period="2026-06") for answer in ANSWERS if answer.story.name == "zh-luomin")
    days = []
    for date, day in month.story.days.items():
        good = [answer.text for answer in GOOD if (answer.story.name, answer.period) == ("zh-luomin", date)]
        own = extract(blocks_of(day.said), period=date, zone=month.story.zone, kind="day").partition("\n")[2]
        at = datetime.fromisoformat(f"{date}T12:00").replace(tzinfo=month.story.zone)
        days.append(Block("", "summary", own if kind == "extract" else good[1], at, {}))
    text = extract(days, period="2026-06", zone=month.story.zone, kind="month").partition("\n")[2].strip()
    said = tuple((one.at.date(), one.text) for one in month.said)
    own = extract(blocks_of(month.said), period="2026-06", zone=month.story.zone, kind="month")

    assert says_less(text, Material(said=said, extract=own, may_copy=True)) == is_refused


def test_the_gate_refuses_a_month_that_tells_of_two_of_its_days():
    month = next(answer for answer in ANSWERS if answer.story.name == "zh-chenguodong")

    assert reason_of(replace(month, period="2026-04", text=TWO_DAYS)) == "vague"
