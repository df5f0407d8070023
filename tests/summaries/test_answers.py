"""What the gate says of two hundred answers, made by hand without a look at its rules (tests/summaries/answers/README.md)."""

from dataclasses import replace

import pytest

from recalld.supervisor.protocol.config_keys import Archive
from recalld.supervisor.summaries.quality import judge
from recalld.supervisor.text.llm_output import cleaned, says_nothing
from tests.summaries.hand_made import Answer, answers, material_of

ANSWERS = answers()
GOOD = [answer for answer in ANSWERS if answer.is_good]
BAD = [answer for answer in ANSWERS if not answer.is_good]


def reason_of(answer: Answer) -> str:
    """Return why the gate refuses the answer, as a collected result is judged; "" where it accepts."""
    text = cleaned(answer.text)
    if says_nothing(text):
        return "nothing"
    return judge(text, material_of(answer), Archive.summarise_chars) or ""


@pytest.fixture(scope="module")
def reasons() -> dict[int, str]:
    return {id(answer): reason_of(answer) for answer in ANSWERS}


def test_the_gate_refuses_at_most_two_of_a_hundred_good_answers(reasons):
    refused = [(str(answer), reason) for answer in GOOD if (reason := reasons[id(answer)])]

    assert len(refused) <= 2, refused


def test_the_gate_refuses_at_least_ninety_five_of_a_hundred_bad_answers(reasons):
    accepted = [answer for answer in BAD if not reasons[id(answer)]]

    assert len(accepted) <= 5, list(map(str, accepted))


#: What Qwen2.5-Coder-1.5B said of April: two of its days, word for word.
TWO_DAYS = """\
老伴低血糖，头晕出汗，测了 3.6，吃了两块糖缓过来。孙主任电话，说二甲双胍先减到一天一次，早饭后吃。老吴架子拉来了，竹子的，他花了 240。

老伴空腹 6.4，糖化 6.7，孙主任说控制得不错，药继续一天一次，三个月后再来，7 月 30 日。

嘟嘟把番茄苗踩断两棵，还剩十棵。我没骂他。"""


def test_the_gate_refuses_a_month_that_tells_of_two_of_its_days():
    month = next(answer for answer in ANSWERS if answer.story.name == "zh-chenguodong")

    assert reason_of(replace(month, period="2026-04", text=TWO_DAYS)) == "vague"
