"""What a message means by tomorrow, and which days a question asks about (supervisor/query/dates)."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.query.dates import days_about, days_meant, due_days
from recalld.supervisor.query.parse import parse_query

WEDNESDAY = date(2026, 11, 25)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("tomorrow: physio", "2026-11-26"),
        ("the rent is due on Friday", "2026-11-27"),
        ("dentist next Tuesday", "2026-12-01"),
        ("this weekend", "2026-11-28..2026-11-29"),
        ("pay it at the end of the month", "2026-11-30"),
        ("后天去接爸妈", "2026-11-27"),
        ("大后天考试", "2026-11-28"),
        ("下周二师傅上门", "2026-12-01"),
        ("下下周一出差", "2026-12-07"),
        ("上周三见过他", "2026-11-18"),
        ("月底交房租", "2026-11-30"),
        ("下个月三号面试", "2026-12-03"),
        ("the trip on Friday the 20th, form due", "2026-11-20"),
        ("moved to the 3rd (Thursday)", "2026-12-03"),
        ("周五20号要去研学", "2026-11-20"),
        ("the dentist is on the 30th", "2026-11-30"),
        ("三十号发工资", "2026-11-30"),
        ("see you next thurs", "2026-12-03"),
        ("Fri the 4th", "2026-12-04"),
        ("程师傅 28 号上午来", "2026-11-28"),
        ("the meeting is on Monday 19th of April", "2027-04-19"),
        ("12月12日（周六）家长会", "2026-12-12"),
        ("the 12th of May", "2027-05-12"),
        ("1月底", "2027-01-25..2027-01-31"),
        ("off from 3 December to 5 December", "2026-12-03..2026-12-05"),
        ("12月3号到5号出差", "2026-12-03..2026-12-05"),
        ("明年3月14号到期", "2027-03-14"),
    ],
)
def test_days_meant_names_the_day_as_of_the_day_it_was_said(text, days):
    assert [span.days.label for span in days_meant(text, WEDNESDAY)] == [days]


@pytest.mark.parametrize(
    "text",
    [
        "every Friday we swim", "on Mondays", "we went there on Friday", "the weekend was great", "每周三开会", "周一到周五上班",
        "周五去了一趟", "第二天就好了", "一周两次", "三年前", "以前住苏州", "today I went home", "今天去了医院", "the museum is closed on Mondays", "the museum is closed on Monday", "", "hello",
        "I usually have to work on Friday", "周五下午我一般要开会",
        "住在平江路 27 号。", "望京街 30 号", "1285 弄 27 号", "他的球衣是 23 号", "信箱在 18 号", "this sun is lovely", "前儿子说", "on the 12th floor", "for the 2nd time", "the 3rd one was better", "I paid on the 5th", "as I said on the 23rd",
        "每月第一个周四读书会", "book club is the first Thursday of the month", "下个月第一个周六大扫除",
        "the last Friday of this month we meet", "the boiler man is coming Friday week", "he comes a week on Friday",
        "坐3号线", "他住12号楼", "每月15号交房租", "7号电池", "12号去看了牙", "发工资是24号",
    ],
)  # fmt: skip
def test_days_meant_leaves_habits_and_what_is_over_alone(text):
    assert days_meant(text, WEDNESDAY) == []


@pytest.mark.parametrize(
    "text",
    [
        "住在平江路 27 号。", "1285 弄 27 号", "他的球衣是 23 号", "信箱在 18 号", "神舟十二号发射", "女二号", "门牌12号", "病床 12 号",
        "3号服务器挂了", "12号诊室看牙", "9号螺丝没了", "2号会议室开会", "10号染发膏", "五号电池没了",
        "3号教学楼", "8号台风", "5号染色体", "学号12号", "坐3号线", "他住12号楼", "我住12号", "生日是12号", "7号电池",
        "for the 1st, use a knife; for the 2nd, a spoon", "I live on the 3rd", "have the 1st and the 2nd edition", "for the 1st and only time",
        "on the 5th and 6th floor", "turn left on the 2nd and right on the 3rd", "I was born on the 12th", "on the 12th floor",
    ],
)  # fmt: skip
def test_days_about_takes_a_number_that_may_be_none_for_no_day(text):
    assert days_about(text, WEDNESDAY) == []


@given(
    st.text(alphabet="明后昨天下周一二三末月底号to morrwnextfiday 12,.\n", max_size=60),
    st.dates(date(1990, 1, 1), date(2090, 1, 1)),
)
def test_days_meant_are_apart_and_in_the_order_of_the_text(text, said):
    found = days_meant(text, said)
    assert all(one.end <= other.start for one, other in pairwise(found))


@pytest.mark.parametrize(
    ("text", "weekdays"),
    [
        ("吉他老师是小林，每周三晚七点", "3"), ("每周二、四游泳", "24"), ("每周一三五打卡", "135"), ("逢星期天去教堂", "7"),
        ("隔周五倒垃圾", "5"), ("每周一到周五坐班", "12345"), ("每周四和周六有课", "46"), ("每个周末回爸妈家", "67"),
        ("每周三一节课", "3"), ("每周五六点开会", "5"), ("每周二三十块", "2"), ("每周三一共三次", "3"), ("每两周的周五", "5"),
        ("piano every Wednesday at 7", "3"), ("yoga on Tuesdays and Fridays", "25"), ("every Mon, Wed & Fri", "135"),
        ("bins go out every other Thursday", "4"), ("we're away most weekends", "67"), ("every Monday to Friday", "12345"),
        ("weekdays at 7", "12345"), ("每个工作日", "12345"), ("每周两次", ""), ("每周一次大扫除", ""), ("每周一小时", ""), ("每周五天上班", ""),
        ("每周五百块", ""), ("周五要交报告", ""), ("18号周三体检", ""), ("he worked two weekends", ""), ("the 4th (Friday)", ""),
        ("see you on Sunday", ""), ("every day", ""), ("", ""),
    ],
)  # fmt: skip
def test_days_about_has_the_weekdays_of_what_happens_every_week(text, weekdays):
    weekly = [token for token in days_about(text, WEDNESDAY) if token.startswith("weekly")]
    assert weekly == [f"weekly-{day}" for day in weekdays]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("房租每月5号转她", ["monthly-5"]), ("房贷每个月的二十号扣 6812", ["monthly-20"]), ("每月 10 号还5000，每月25日发工资", ["monthly-10", "monthly-25"]),
        ("rent goes out on the 1st of every month", ["monthly-1"]), ("every month on the 28th I back up", ["monthly-28"]),
        ("on the 15th and 30th of every month", ["monthly-15", "monthly-30"]), ("每月15日和30日", ["monthly-15", "monthly-30"]),
        ("每月两次", []), ("on the 1st", []), ("the 1st of May", []), ("monthly report", []),
    ],
)  # fmt: skip
def test_days_about_has_the_day_of_what_happens_every_month(text, days):
    assert [token for token in days_about(text, WEDNESDAY) if token.startswith("monthly")] == days


@pytest.mark.parametrize(
    "text", ["book club is the first Thursday of the month", "每月第一个周四读书会", "first thursday in december"]
)
def test_days_about_takes_a_first_thursday_for_none_of_every_week(text):
    assert not [token for token in days_about(text, WEDNESDAY) if token.startswith("weekly")]


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what's due tomorrow", "2026-11-26"), ("whats on tomorrow", "2026-11-26"), ("anything on this week?", "2026-11-25..2026-11-29"),
        ("what do i need to do today", "2026-11-25"), ("what's due this week", "2026-11-25..2026-11-29"), ("am i free on friday?", "2026-11-27"),
        ("plans for March?", "2027-03-01..2027-03-31"), ("any December plans", "2026-12-01..2026-12-31"),
        ("明天有什么安排", "2026-11-26"), ("下周要干嘛", "2026-11-30..2026-12-06"), ("今天要干什么", "2026-11-25"),
        ("这周要交啥", "2026-11-25..2026-11-29"), ("我下周三有空吗", "2026-12-02"), ("明天干嘛", "2026-11-26"), ("明天有啥", "2026-11-26"),
        ("明天忙吗", "2026-11-26"), ("12月9号干嘛", "2026-12-09"), ("我明天要干嘛", "2026-11-26"), ("what's up tomorrow", "2026-11-26"),
        ("what's up next week?", "2026-11-30..2026-12-06"), ("5号要干嘛", "2026-12-05"), ("9号干嘛", "2026-12-09"), ("11月30号有什么安排", "2026-11-30"),
    ],
)  # fmt: skip
def test_parse_query_asks_for_what_is_due_by_the_days_themselves(question, days):
    assert [span.days.label for span in due_days(question, WEDNESDAY)] == [days]
    query = parse_query(question, WEDNESDAY)
    assert {*query.words.values()} == {1.0}
    assert days.startswith(min(query.words))
    assert not query.days


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("下周二我人在哪", {"2026-12-01"}),
        ("what needs sorting by this friday", {"2026-11-27"}),
        ("12月19号是啥日子来着", {"2026-12-19", "2025-12-19"}),
        ("where was I last night", set()),
        ("上周三我做了什么", set()),
    ],
)
def test_parse_query_looks_for_messages_about_a_day_to_come_or_a_date(question, meant):
    assert parse_query(question, WEDNESDAY).day_words == meant


@pytest.mark.parametrize(
    ("question", "days", "meant"),
    [
        ("what happens on 8 December?", (), "2026-12-08"),
        ("who comes on Dec. 8", (), "2026-12-08"),
        ("12 月 8 号谁来", (), "2026-12-08"),
        ("photos from 3 March", ("2026-03-03",), ""),
        ("who came on 8 December", ("2025-12-08",), ""),
        ("3月3号吃的什么", ("2026-03-03",), ""),
        ("what did we decide on 8 December?", ("2025-12-08",), ""),
        ("12 月 8 号聊了什么", ("2025-12-08",), ""),
    ],
)
def test_parse_query_takes_a_near_day_to_come_unless_it_asks_what_was(question, days, meant):
    query = parse_query(question, WEDNESDAY)
    assert tuple(span.label for span in query.days) == days
    assert not meant or query.words[meant] == 1.0
