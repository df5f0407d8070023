"""Extracts of hasty conversations: what is amended at once, answers with what they answer, changes beside what they change."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from recalld.supervisor.extracts.extract import extract
from recalld.supervisor.protocol.dated_file import Block

SHANGHAI = ZoneInfo("Asia/Shanghai")
DAYS = timedelta(days=3)
MORNING = datetime(2026, 6, 20, 1, 0, tzinfo=UTC)  # 09:00 in Shanghai


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


def test_extract_links_no_change_to_one_of_two_that_it_may_mean():
    said = ("team meeting is Tuesday at 3", "parents meeting is on the 5th", "meeting moved to the 7th")
    assert len(bullets(*(("u", text) for text in said), kind="month", every=DAYS)) == len(said)
