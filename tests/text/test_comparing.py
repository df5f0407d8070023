"""Numbers, days and times in their spellings: each row of the table is one fact."""

import pytest

from recalld.supervisor.text.comparing import figures

#: Spellings that are equal, each row in both languages.
EQUAL = (
    ("32,000", "三万二", "3.2万", "32k", "32 thousand", "３２０００"),
    ("150", "一百五", "一百五十"),
    ("1,240,000", "124万", "一百二十四万"),
    ("¥3200", "3200 元", "三千二百块", "3,200 yuan", "$3,200"),
    ("20%", "百分之二十"),
    ("14 days", "十四天"),
    ("Jan 28", "1月28日", "1 月 28 号", "January 28th", "28 Jan", "2026-01-28", "2026年1月28日"),
    ("5月", "五月", "5 月", "五月份"),
    ("the 20th", "20 号", "二十号"),
    ("15:30", "十五点三十分"),
    ("Wednesday", "周三", "星期三", "礼拜三", "Wed"),
)


@pytest.mark.parametrize("spellings", EQUAL, ids=lambda row: row[0])
def test_figures_are_equal_however_they_are_written(spellings):
    first = figures(spellings[0])
    assert first
    assert {spelling: figures(spelling) for spelling in spellings} == dict.fromkeys(spellings, first)
