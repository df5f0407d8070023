"""Extracts of hasty conversations: what is amended at once, answers with what they answer, changes beside what they change."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from recalld.supervisor.extracts.extract import extract
from recalld.supervisor.protocol.dated_file import Block

SHANGHAI = ZoneInfo("Asia/Shanghai")
DAYS = timedelta(days=3)
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
            "Dinner with Lukas on Thursday at 7, Osteria Bruno",
            "Noted.",
            "sorry, Friday. Thursday is his swim class",
            "user: Dinner with Lukas on Thursday at 7, Osteria Bruno (corrected 09:04: sorry, Friday. Thursday is his swim class)",
        ),
    ],
)
def test_extract_has_what_is_amended_at_once_beside_what_it_amends(said, noted, amended, bullet):
    assert bullets(("u", said), ("a", noted), ("u", amended)) == [f"- 09:00 {bullet}"]


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
    ("asked", "told"), [("How long is the table?", "about 160 cm"), ("您想听什么音乐？", "体检查出结节，3 类")]
)
def test_extract_takes_nothing_for_an_answer_after_half_an_hour(asked, told):
    assert "→" in bullets(("a", asked), ("u", told))[-1]
    assert "→" not in "".join(bullets(("a", asked), ("u", told), every=timedelta(minutes=40)))


def test_extract_leaves_two_changes_of_a_message_apart():
    said = (
        ("u", "晓雯约了12月12号做近视手术"),
        ("u", "wifi密码是 luguo8866"),
        ("u", "wifi密码换成 tangyuan0520 了 隔壁蹭得飞起。晓雯的近视手术也不做了"),
    )
    surgery, wifi = bullets(*said, kind="month", every=DAYS)
    assert "后来：…晓雯的近视手术也不做了" in surgery
    assert "后来：wifi密码换成 tangyuan0520 了" in wifi


def test_extract_links_no_change_to_one_of_two_that_it_may_mean():
    said = ("team meeting is Tuesday at 3", "parents meeting is on the 5th", "meeting moved to the 7th")
    assert len(bullets(*(("u", text) for text in said), kind="month", every=DAYS)) == len(said)
