"""Which days a text names: a question, seen from Saturday, 31 January 2026; a message, and what is due, from a Wednesday."""

import re
from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.query.calendar import Days
from recalld.supervisor.query.dates import days_about, days_meant, due_days, plain, spans
from recalld.supervisor.query.parse import parse_query

TODAY = date(2026, 1, 31)

CHINESE = """
    今天 2026-01-31 | 昨晚 2026-01-30 | 大前天 2026-01-28 | 3天前 2026-01-28 | 两三天前 2026-01-28..2026-01-29 | 十五天前 2026-01-16 | 100天前 2025-10-23
    前几天 2026-01-24..2026-01-29 | 上周 2026-01-19..2026-01-25 | 上上周二 2026-01-13 | 上星期四 2026-01-22 | 礼拜五 2026-01-30
    周三 2026-01-28 | 星期天 2026-01-25 | 这周五 2026-01-30 | 上周的周五 2026-01-23 | 这周末 2026-01-31..2026-02-01
    两周前 2026-01-14..2026-01-20 | 半个月前 2026-01-12..2026-01-20 | 上个月底 2025-12-25..2025-12-31 | 本月初 2026-01-01..2026-01-07
    两个月前 2025-11-01..2025-11-30 | 半年前 2025-07-01..2025-07-31 | 三年前 2023-01-01..2023-12-31 | 过去两周 2026-01-17..2026-01-31
    最近三天 2026-01-28..2026-01-31 | 五月初 2025-05-01..2025-05-07 | 12月中旬 2025-12-11..2025-12-20 | 1月 2026-01-01..2026-01-31
    二〇二五年三月 2025-03-01..2025-03-31 | 去年 2025-01-01..2025-12-31 | 大前年 2023-01-01..2023-12-31 | 五月二十一日 2025-05-21
    1月30 2026-01-30 | 去年6月1号 2025-06-01 | 2025年12月3日 2025-12-03 | 3号 2026-01-03 | 二月29号 2024-02-29 | 15号房租 2026-01-15
    1月3号到5号 2026-01-03..2026-01-05 | 1月3日至1月5日 2026-01-03..2026-01-05 | 3月至5月 2025-03-01..2025-05-31 | 上个月的5号 2025-12-05
    3月第一个周四 2025-03-01..2025-03-31
    ２０２５年５月２日 2025-05-02 | 2025/5/2 2025-05-02 | 2025.5.2 2025-05-02 | 在5/2那天 2025-05-02
"""
ENGLISH = """
    tonight 2026-01-31 | last night 2026-01-30 | the day before yesterday 2026-01-29 | a couple of days ago 2026-01-29
    eleven days ago 2026-01-20 | a few days ago 2026-01-24..2026-01-29 | last Tuesday 2026-01-27 | on Monday 2026-01-26 | Wednesday 2026-01-28
    last Saturday 2026-01-24 | last week 2026-01-19..2026-01-25 | two weeks ago 2026-01-14..2026-01-20 | last weekend 2026-01-24..2026-01-25
    the week before last 2026-01-12..2026-01-18 | last month 2025-12-01..2025-12-31 | three months ago 2025-10-01..2025-10-31
    half a year ago 2025-07-01..2025-07-31 | last year 2025-01-01..2025-12-31 | twenty years ago 2006-01-01..2006-12-31
    in the last 2 weeks 2026-01-17..2026-01-31 | in June 2025-06-01..2025-06-30 | June 2023 2023-06-01..2023-06-30
    early May 2025-05-01..2025-05-10 | mid-June 2025-06-11..2025-06-20 | end of July 2025-07-25..2025-07-31 | in 2021 2021-01-01..2021-12-31
    May 2 2025-05-02 | 2nd of May 2025-05-02 | May 2, 2023 2023-05-02 | 2 May 2023 2023-05-02 | Sept. 5th 2025-09-05
    May 2 to May 4 2025-05-02..2025-05-04 | 2023-05-02 2023-05-02 | 2023-05 2023-05-01..2023-05-31 | the 5th of last month 2025-12-05
    last January 2025-01-01..2025-01-31 | the first Thursday in March 2025-03-01..2025-03-31
    5/2 2025-05-02 | 13/4 2025-04-13 | 2/5/23 2023-02-05
"""


def _cases(table):
    cells = [cell.strip() for line in table.strip().splitlines() for cell in line.split("|")]
    return [tuple(cell.rsplit(maxsplit=1)) for cell in cells]


@pytest.mark.parametrize(("said", "days"), [*_cases(CHINESE), *_cases(ENGLISH)])
def test_dates_resolves_each_expression_to_its_days(said, days):
    assert [span.days.label for span in spans(said, TODAY)] == [days]


@pytest.mark.parametrize(
    "said", [said for said in re.findall(r"(\S+) \d{4}", CHINESE) if re.search(r"\d", said) and "/" not in said]
)
def test_dates_reads_numbers_that_are_set_apart_from_chinese(said):
    apart = re.sub(r"(?<=\d)(?=[^\d:.-])|(?<=[^\d:.-])(?=\d)", " ", said)
    text, found = plain(f"查 {apart}"), spans(f"查 {apart}", TODAY)
    assert [span.days for span in found] == [span.days for span in spans(said, TODAY)]
    assert [text[span.start : span.end] for span in found] == [
        plain(said)[span.start : span.end] for span in spans(said, TODAY)
    ]


@pytest.mark.parametrize("said", [case for case, _ in _cases(CHINESE)])
def test_dates_finds_a_chinese_date_inside_a_question(said):
    alone = spans(said, TODAY)[0].days
    assert alone in [span.days for span in spans(f"我{said}说了什么？", TODAY)]


@pytest.mark.parametrize(
    "said",
    [
        *(
            "2月30日",
            "0000年1月1日",
            "April 31st 2023",
            "明天",
            "下周三",
            "next Friday",
            "明年三月",
            "下个月5号",
            "农历八月初六",
            "next May",
        ),
        *(
            "next month",
            "Black Friday",
            "周一到周五",
            "每月第一个周四",
            "the first Thursday of the month",
            "12号诊室",
            "12个月",
            "目前",
        ),
        *("may I", "the sun", "1/2 cup", "24/7", "$5/2", "v1.2.3"),
    ],
)
def test_dates_ignores_future_invalid_and_lookalike_expressions(said):
    assert spans(said, TODAY) == ()


def test_dates_handles_the_first_and_last_years_of_the_calendar():
    assert spans("9999年12月31日", TODAY)[0].days.label == "9999-12-31"
    assert spans("3年前", date(2, 1, 1)) == ()
    assert spans("去年", date(1, 1, 1)) == ()
    assert spans("昨天", date(1, 1, 1)) == ()
    assert spans("yesterday", date.max)[0].days.last < date.max


WORDS = """
    去年 今年 前年 上 下 这 个 周 星期 三 日 天 月 年 号 初 底 末 12 30 2 0 99 2025 / - . 到 至 前 几 半 夏天 国庆 last next the of on in
    May march 2nd 31st week weekend ago two few Friday Christmas 's , ２ 廿 十
"""
PIECES = st.sampled_from([*WORDS.split(), "\0", "\ud800"])


@given(st.one_of(st.text(), st.lists(PIECES).map("".join), st.lists(PIECES).map(" ".join)), st.dates())
def test_dates_accepts_any_text_and_returns_ordered_spans(text, today):
    found = spans(text, today)
    assert all(isinstance(span.days, Days) and span.days.first <= span.days.last for span in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["1", "5月", "2025-", "到至"])
def test_dates_reads_100000_characters_of_any_repeated_piece(piece):
    """A quadratic rule takes minutes; bench/promises.py compares the work for twice the text."""
    text = piece * (100_000 // len(piece))
    found = spans(text, TODAY)
    assert all(0 <= span.start < span.end <= len(text) for span in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


# ── the place of a day ───────────────────────────────────────────────────────

#: Characters that NFKC makes longer, shorter or others: ㍿ is four, a letter with its mark is one.
FOLDED = st.text(st.sampled_from("㍿㎏①⑳½ﬁ㈱ﷺｶﾞｱe\u0301한ᄒ ，。、（"), max_size=24)


@given(FOLDED, st.sampled_from(["5月2号", "５月２号", "２０２５年５月２日", "5 月 2 号", "2025-05-02"]), FOLDED)
def test_spans_are_at_their_place_in_the_plain_text(before, written, after):
    text = plain(f"{before}，{written}，{after}")
    assert [text[span.start : span.end] for span in spans(text, TODAY)] == [plain(written)]


# ── the days of a message, and of what is due ────────────────────────────────

WEDNESDAY = date(2026, 11, 25)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("tomorrow: physio", "2026-11-26"), ("the rent is due on Friday", "2026-11-27"), ("this weekend", "2026-11-28..2026-11-29"),
        ("pay it at the end of the month", "2026-11-30"), ("大后天考试", "2026-11-28"), ("下下周一出差", "2026-12-07"), ("上周三见过他", "2026-11-18"),
        ("月底交房租", "2026-11-30"), ("下个月三号面试", "2026-12-03"), ("the trip on Friday the 20th, form due", "2026-11-20"),
        ("moved to the 3rd (Thursday)", "2026-12-03"), ("周五20号要去研学", "2026-11-20"), ("程师傅 28 号上午来", "2026-11-28"),
        ("12月12日（周六）家长会", "2026-12-12"), ("the 12th of May", "2027-05-12"), ("1月底", "2027-01-25..2027-01-31"),
        ("12月3号到5号出差", "2026-12-03..2026-12-05"), ("明年3月14号到期", "2027-03-14"),
    ],
)  # fmt: skip
def test_days_meant_names_the_day_as_of_the_day_it_was_said(text, days):
    assert [span.days.label for span in days_meant(text, WEDNESDAY)] == [days]


@pytest.mark.parametrize(
    "text",
    [
        "every Friday we swim", "we went there on Friday", "每周三开会", "周一到周五上班", "周五去了一趟", "一周两次", "三年前", "",
        "他的球衣是 23 号", "this sun is lovely", "前儿子说", "每月第一个周四读书会",
        "the last Friday of this month we meet", "每月15号交房租", "12号去看了牙", "he comes a week on Friday", "发工资是24号",
    ],
)  # fmt: skip
def test_days_meant_leaves_habits_and_what_is_over_alone(text):
    assert days_meant(text, WEDNESDAY) == []


@pytest.mark.parametrize(
    "text",
    [
        "住在平江路 27 号。", "神舟十二号发射", "病床 12 号", "3号服务器挂了", "12号诊室看牙", "五号电池没了", "学号12号", "坐3号线", "我住12号", "生日是12号",
    ],
)  # fmt: skip
def test_days_about_takes_a_number_that_may_be_none_for_no_day(text):
    assert days_about(text, WEDNESDAY) == []


@pytest.mark.parametrize(
    ("text", "weekdays"),
    [
        ("吉他老师是小林，每周三晚七点", "3"), ("每周二、四游泳", "24"), ("每周一三五打卡", "135"), ("逢星期天去教堂", "7"),
        ("隔周五倒垃圾", "5"), ("每周四和周六有课", "46"), ("每个周末回爸妈家", ""), ("piano every Wednesday at 7", "3"),
        ("yoga on Tuesdays and Fridays", "25"), ("every Mon, Wed & Fri", "135"), ("bins go out every other Thursday", "4"),
        ("每周两次", ""), ("每周一小时", ""), ("每周五天上班", ""), ("18号周三体检", ""), ("he worked two weekends", ""), ("the 4th (Friday)", ""),
        ("see you on Sunday", ""), ("every day", ""), ("the first Thursday of the month", ""), ("每月第一个周四读书会", ""),
    ],
)  # fmt: skip
def test_days_about_has_the_weekdays_of_what_happens_every_week(text, weekdays):
    weekly = [token for token in days_about(text, WEDNESDAY) if token.startswith("weekly")]
    assert weekly == [f"weekly-{day}" for day in weekdays]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("房租每月5号转她", ["monthly-5"]), ("房贷每个月的二十号扣 6812", ["monthly-20"]), ("每月 10 号还5000，每月25日发工资", ["monthly-10", "monthly-25"]),
        ("rent goes out on the 1st of every month", ["monthly-1"]), ("每月两次", []), ("on the 1st", []), ("the 1st of May", []),
        ("monthly report", []),
    ],
)  # fmt: skip
def test_days_about_has_the_day_of_what_happens_every_month(text, days):
    assert [token for token in days_about(text, WEDNESDAY) if token.startswith("monthly")] == days


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what's due tomorrow", "2026-11-26"), ("anything on this week?", "2026-11-25..2026-11-29"), ("am i free on friday?", "2026-11-27"),
        ("plans for March?", "2027-03-01..2027-03-31"), ("下周要干嘛", "2026-11-30..2026-12-06"), ("我下周三有空吗", "2026-12-02"), ("明天忙吗", "2026-11-26"),
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
        ("下周二我人在哪", {"2026-12-01"}), ("what needs sorting by this friday", {"2026-11-27"}),
        ("12月19号是啥日子来着", {"2026-12-19", "2025-12-19"}), ("where was I last night", set()),
    ],
)  # fmt: skip
def test_parse_query_looks_for_messages_about_a_day_to_come_or_a_date(question, meant):
    assert parse_query(question, WEDNESDAY).day_words == meant


@pytest.mark.parametrize(
    ("question", "days", "meant"),
    [
        ("what happens on 8 December?", (), "2026-12-08"), ("12 月 8 号谁来", (), "2026-12-08"), ("photos from 3 March", ("2026-03-03",), ""),
        ("who came on 8 December", ("2025-12-08",), ""), ("12 月 8 号聊了什么", ("2025-12-08",), ""),
    ],
)  # fmt: skip
def test_parse_query_takes_a_near_day_to_come_unless_it_asks_what_was(question, days, meant):
    query = parse_query(question, WEDNESDAY)
    assert tuple(span.label for span in query.days) == days
    assert not meant or query.words[meant] == 1.0
