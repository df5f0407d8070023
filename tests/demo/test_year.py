"""The made-up year of `recalld demo`: it reads like talk, and ends on the day on which it is shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from recalld.supervisor.interfaces.demo.year import made_up_year
from recalld.supervisor.storage.clock import from_wire
from recalld.supervisor.text.language import language_of

NOW = datetime(2026, 11, 25, 20, 30, tzinfo=ZoneInfo("Asia/Shanghai"))
pytestmark = pytest.mark.parametrize("language", ["en", "zh"])


def times(language, now=NOW):
    return [from_wire(one["createdAt"]) for one in made_up_year(language, now).messages]


def test_year_reaches_from_a_year_ago_to_now(language):
    found = times(language)
    assert timedelta(days=355) < NOW - found[0] < timedelta(days=366)
    assert timedelta() <= NOW - found[-1] < timedelta(minutes=30)
    assert len({one.astimezone(NOW.tzinfo).date() for one in found}) > 180


@pytest.mark.parametrize("hour", [0, 7, 12, 23])
def test_year_has_nothing_that_is_still_to_come(language, hour):
    now = NOW.replace(hour=hour, minute=5)
    assert max(times(language, now)) <= now
    assert max(one.at for one in made_up_year(language, now).questions) <= now


def test_year_is_the_same_each_time_but_for_its_dates(language):
    assert made_up_year(language, NOW) == made_up_year(language, NOW)
    later = made_up_year(language, NOW + timedelta(days=7)).messages
    assert [one["role"] for one in later] == [one["role"] for one in made_up_year(language, NOW).messages]


def test_year_leaves_no_sign_of_how_it_is_written(language):
    year = made_up_year(language, NOW)
    said = [one["text"] for one in year.messages] + year.lines + [one.text for one in year.questions]
    assert not [text for text in said if set(text) & set("[]{}") or not text.strip()]


def test_year_speaks_its_language_and_a_little_of_the_other(language):
    spoken = [language_of(one["text"]) for one in made_up_year(language, NOW).messages]
    assert spoken.count(language) > len(spoken) * 0.9
    assert spoken.count(language) < len(spoken)


def test_year_has_sessions_of_a_person_and_of_a_group_with_names(language):
    year = made_up_year(language, NOW)
    assert len({one["session"] for one in year.messages}) == 4
    assert len({one["name"] for one in year.messages if "name" in one}) == 3


def test_year_says_a_date_in_the_words_of_its_language(language):
    year = made_up_year(language, NOW.astimezone(UTC))
    assert any(("27 November" if language == "en" else "11月27日") in one["text"] for one in year.messages)
