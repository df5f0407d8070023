"""Clauses of a summary that say the opposite of what was said."""

import re

import pytest

from recalld.supervisor.summaries.denials import denials
from recalld.supervisor.summaries.material import Material
from recalld.supervisor.summaries.quality import judge
from recalld.supervisor.text.tokenizer import HAN
from tests.summaries.hand_made import answers

MOT = "car: MOT due on the 30th, booked Kwik Fit 22 sept 9am, 39.95"
LOGGERS = "colin hasn't ordered the loggers. I did it. 8 at 289 = 2,312"
TRIAL = "试课小满不肯进教室，坐门口画了一只猫\n老师说可以再试一次，下周三"
NODULE = "沈主任说不是 3 类，他看是 2 类，一年后复查"
#: How a good answer is made to deny: a verb is negated, or a negation taken out.
NEGATIONS = {
    "en": (
        (r"\b(is|are|was|were|will|has|have|had|can|must|should)\b(?! not|n't)", r"\1 not"),
        (r"\b(will|is|are|was|has|can|does|did|do)(?: not|n't)\b", r"\1"),
        (
            r"\b(booked|paid|bought|signed|agreed|accepted|moved|called|ordered|offered|decided|started|passed|told|rang|came|sold|asked)\b",
            r"did not \1",
        ),
        (r"\b(wants|needs|pays|owes|plans|takes|starts|comes|moves|likes)\b", r"does not \1"),
    ),
    "zh": (
        (r"(?<![不没])([订买卖付交签定约搬去来吃修换还借报选停做写发看查考过办退涨降说]+)了", r"没\1"),
        (rf"不([{HAN}])", r"\1"),
        (rf"没([{HAN}])", r"\1了"),
        (r"(?<![不需主重想])要", r"不要"),
    ),
}
FLAT = "房东扣了 800 押金，说墙上有画，小满画的"


@pytest.mark.parametrize(
    ("text", "material", "denied"),
    [
        ("She has not booked Kwik Fit for 22 September.", MOT, "She has not booked Kwik Fit for 22 September"),
        ("Colin has ordered the loggers, 8 of them.", LOGGERS, "Colin has ordered the loggers"),
        ("小满试课肯进教室，画了猫。", TRIAL, "小满试课肯进教室"),
        ("沈主任说是 3 类，一年后复查。", NODULE, "沈主任说是 3 类"),
        ("房东没扣 800 押金。", FLAT, "房东没扣 800 押金"),
    ],
)
def test_denials_are_clauses_that_say_the_opposite(text, material, denied):
    assert [text[place.start : place.end] for place in denials(text, material)] == [denied]


@pytest.mark.parametrize(
    ("text", "material"),
    [
        ("Kwik Fit is booked for 22 September, not later.", MOT),
        ("The loggers were not ordered by Colin.", LOGGERS),
        ("小满试课时不愿进教室，只画了猫。", TRIAL),
        ("结节不是 3 类而是 2 类，一年后再复查。", NODULE),
        ("押金没全退，被扣 800。", FLAT),
        ("陈静带两支肾上腺素笔。", "问问陈静有没有肾上腺素笔。"),
        ("They no longer meet Priya on Fridays.", "Fridays with Priya are cancelled"),
        ("别忘了周五交物业费 1882 元。", "周五交物业费 1882 元"),
        ("周五交物业费 1882 元。", "别忘了周五交物业费 1882 元"),
        ("没想到小明考上了一中。", "小明考上了一中，分数线 612"),
        ("张医生不仅开了阿莫西林，还开了布洛芬。", "张医生开了阿莫西林和布洛芬"),
        ("小满不得不换了阿莫西林。", "小满换了阿莫西林"),
        ("小满不能吃核桃和花生。", "小满核桃过敏，吃花生也要当心"),
        ("小满不小心摔了 iPhone 手机。", "小满摔了 iPhone 手机"),
        ("不出所料小明考上了一中。", "小明考上了一中，分数线 612"),
        ("Ben never missed physio in March.", "Ben did physio every week in March"),
        ("Do not forget to renew the insurance on 12 March.", "renew the insurance on 12 March"),
        ("Priya not only booked the MRI at Borders General.", "Priya booked the MRI at Borders General"),
        ("Tom failed to renew his passport in March.", "Tom did not renew his passport in March"),
        ("Tom did not renew his passport in March.", "Tom failed to renew his passport in March"),
        ("The landlord refused to return the deposit of 800.", "landlord won't return the deposit of 800"),
        ("Anna did not get the Siemens job.", "Anna got rejected for the Siemens job"),
        ("Mia must not eat peanuts.", "Mia is allergic to peanuts, she can eat almonds"),
        ("The ferry leaves at 7:30, not 8:30.", "the ferry leaves at 8:30\ncorrection, the ferry leaves at 7:30"),
        ("Kwik Fit can't do the MOT before the 22nd.", "Kwik Fit can do the MOT only on the 22nd"),
        (
            "Nobody has to swap the school run on Saturday 26 September.",
            "the school run swap is the 26th too, oh wait that's a saturday",
        ),
    ],
)
def test_denials_are_none_where_the_same_is_said_otherwise(text, material):
    assert denials(text, material) == []


def test_denials_are_none_in_at_most_two_of_a_hundred_good_answers():
    marked = [str(answer) for answer in answers() if answer.is_good and denials(answer.text, answer.material)]

    assert len(marked) <= 2, marked


def test_denials_are_found_in_a_quarter_of_answers_that_deny():
    found = made = 0
    for answer in (answer for answer in answers() if answer.is_good):
        for form, negated in NEGATIONS["zh" if re.search(f"[{HAN}]", answer.text) else "en"]:
            for match in re.finditer(form, answer.text):
                text = answer.text[: match.start()] + match.expand(negated) + answer.text[match.end() :]
                made, found = made + 1, found + bool(denials(text, answer.material))

    assert found >= made / 4, (found, made)


def test_the_gate_marks_a_denial_and_refuses_none():
    verdict = judge("房东没扣 800 押金。墙上有画。", Material(said=((None, FLAT),), extract=FLAT, language="zh"))

    assert (verdict.reason, verdict.text, verdict.unverified) == (None, "房东没扣 800 押金（未核实）。墙上有画。", 1)
