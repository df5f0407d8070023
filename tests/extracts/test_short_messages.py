"""Extracts of conversations in short messages: what is amended at once, who "she" is, figures alone, and what is over with its day."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from recalld.supervisor.extracts.extract import extract
from recalld.supervisor.protocol.dated_file import Block

SHANGHAI = ZoneInfo("Asia/Shanghai")
MORNING = datetime(2026, 6, 20, 1, 0, tzinfo=UTC)  # 09:00 in Shanghai


#: What fills an extract, so that it has to choose.
CHATTER = [("u", f"ordered {n} reels of cable, XLR-{n}40, for £{n}00 from Thomann") for n in range(3, 30)]


def bullets(*said, kind="day", every=timedelta(minutes=2)):
    """The bullets of messages with a role of "u" or "a", every some minutes from nine in the morning on."""
    roles = {"u": "user", "a": "assistant"}
    blocks = [Block(f"m{i}", roles[who], text, MORNING + i * every, {}) for i, (who, text) in enumerate(said)]
    period = "2026-06-20" if kind == "day" else "2026-06"
    return extract(blocks, period=period, zone=SHANGHAI, kind=kind).split("\n")[2:]


@pytest.mark.parametrize(
    ("said", "noted", "amended", "bullet"),
    [
        (
            "史师傅修锅炉要 320，周一带零件来",
            "好的。",
            "等等不是周一，是周二",
            "用户：史师傅修锅炉要 320，周一带零件来（09:04 更正：等等不是周一，是周二）",
        ),
        (
            "Steve wants 320 for the boiler, comes back Monday with the part",
            "Noted.",
            "sorry not Monday, Tuesday",
            "user: Steve wants 320 for the boiler, comes back Monday with the part (corrected 09:04: sorry not Monday, Tuesday)",
        ),
        (
            "parents evening for Milo: Wed 25th 17:20",
            "Noted.",
            "wait it's 17:50 for Milo",
            "user: parents evening for Milo: Wed 25th 17:20 (corrected 09:04: wait it's 17:50 for Milo)",
        ),
        (
            "they offer +400 a month",
            "Nice!",
            "wait, +450. just saw the letter",
            "user: they offer +400 a month (corrected 09:04: wait, +450. just saw the letter)",
        ),
    ],
)
def test_extract_has_what_is_amended_at_once_beside_what_it_amends(said, noted, amended, bullet):
    assert bullets(("u", said), ("a", noted), ("u", amended)) == [f"- 09:00 {bullet}"]


@pytest.mark.parametrize(
    ("said", "proposed", "amended", "bullet"),
    [
        (
            "We eat at the Okafors on Friday",
            "I'd book the taxi for 19:30.",
            "No, make it 20:00",
            "assistant: I'd book the taxi for 19:30. → user: No, make it 20:00",
        ),
        (
            "told Gareth yes on the studio",
            "Good. Is the start on 15 April?",
            "no, make it the 20th. he has to paint",
            "assistant: Is the start on 15 April? → user: no, make it the 20th. he has to paint",
        ),
        ("周五去老郑家吃饭", "建议 19:30 叫车。", "不，改成八点", "助手：建议 19:30 叫车。 → 用户：不，改成八点"),
    ],
)
def test_extract_has_an_amended_proposal_before_what_amends_it(said, proposed, amended, bullet):
    assert bullets(("u", said), ("a", proposed), ("u", amended))[-1] == f"- 09:04 {bullet}"


def test_extract_takes_the_same_number_said_again_for_no_amendment():
    said = (("u", "次卧 3200，押一付三"), ("a", "一共需要 12,800 元。"), ("u", "嗯，一万二千八"))
    assert "→" not in "".join(bullets(*said))


def test_extract_links_what_amends_to_nothing_of_days_before():
    said = (("u", "She has to answer the hospital by the 20th"), ("u", "no, make it the 20th, the hospital is full"))
    assert not any("corrected" in bullet for bullet in bullets(*said, kind="month", every=timedelta(days=3)))


@pytest.mark.parametrize(
    ("said", "over"),
    [
        ("报了市里的优质课比赛，材料交了三份", "优质课比赛泡汤了，名额给了别人"),
        ("The wedding venue in Clevedon is ours on 12 September", "the wedding venue in Clevedon fell through"),
    ],
)
def test_extract_of_a_month_has_what_came_to_nothing_with_its_end(said, over):
    (bullet,) = bullets(("u", said), ("u", over), kind="month", every=timedelta(days=4))
    assert said in bullet
    assert f": {over}" in bullet or f"：{over}" in bullet


@pytest.mark.parametrize(
    ("said", "noted", "told"),
    [
        (
            "Sian says it IS the IT band. no running for 3 weeks",
            "I'm sorry.",
            "she gave me exercises: clamshells 3x15, side planks 3x30s",
        ),
        ("段大夫看了妈的膝盖，片子拍了", "别担心。", "她说要换，先换右边，4 月 8 号住院，费用五万五"),
    ],
)
def test_extract_has_who_she_is_with_what_is_said_of_her(said, noted, told):
    (bullet,) = [one for one in bullets(*CHATTER, ("u", said), ("a", noted), ("u", told)) if told in one]
    assert said in bullet


@pytest.mark.parametrize("figure", ["9", "6:15", "60.4！", "一万二千八"])
def test_extract_omits_a_figure_alone_of_which_nothing_says_what_it_is(figure):
    assert bullets(("u", "the spare key is at Priya's"), ("u", figure)) == ["- 09:00 user: the spare key is at Priya's"]


@pytest.mark.parametrize(
    ("asked", "answer", "bullet"),
    [
        ("现在租多少？", "4600，押一付三", "助手：现在租多少？ → 用户：4600，押一付三"),
        ("Did he quote you?", "320 for both valves", "assistant: Did he quote you? → user: 320 for both valves"),
        (
            "When does it start?",
            "20 April, he has to paint",
            "assistant: When does it start? → user: 20 April, he has to paint",
        ),
        ("When does it start?", "It starts on 20 April, he has to paint", "user: It starts on 20 April, he has to paint"),
    ],
)
def test_extract_has_the_question_of_an_answer_whose_first_words_are_few(asked, answer, bullet):
    assert bullets(("a", asked), ("u", answer)) == [f"- 09:02 {bullet}"]


@pytest.mark.parametrize(
    ("offer", "answer"),
    [
        ("Add 50 g of chopped walnuts.", "no walnuts, Tess is allergic to walnuts"),
        ("可以放核桃碎。", "不行，小棠对核桃过敏"),
    ],
)
def test_extract_keeps_a_no_that_tells_of_an_allergy(offer, answer):
    assert any(answer in bullet for bullet in bullets(*CHATTER, ("a", offer), ("u", answer)))


@pytest.mark.parametrize("asked", ["who is the UK distributor for Klang mixers"])
def test_extract_prefers_what_is_told_to_a_question_without_its_mark(asked):
    assert not any(asked in bullet for bullet in bullets(*CHATTER[:6], ("u", asked)))


@pytest.mark.parametrize(
    "said",
    [
        "Kit got an interview! warehouse shift lead at Ocado, Thursday",
        "Mum rang. op moved to the 26th, they had no bed",
        "我妈来电话了。手术改到 26 号，没床位",
    ],
)
def test_extract_joins_an_announcement_to_what_is_announced(said):
    label = "user: " if said.isascii() else "用户："
    assert bullets(("u", said)) == [f"- 09:00 {label}{said}"]


def test_extract_has_no_second_row_of_dots_behind_one():
    assert bullets(("u", "表哥的婚礼推迟到 10 月 8 号。。不会吧？")) == ["- 09:00 用户：表哥的婚礼推迟到 10 月 8 号。。"]


def test_extract_has_a_chinese_mark_between_an_error_and_chinese():
    (bullet,) = bullets(("u", "报错 ModuleNotFoundError: No module named 'openpyxl'"), ("u", "豆豆打了流感疫苗，37.6 度"))
    assert bullet.endswith("'openpyxl'；豆豆打了流感疫苗，37.6 度")
