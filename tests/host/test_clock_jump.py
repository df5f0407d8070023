"""A clock that was moved is not trusted at once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from recalld.supervisor.host.daemon import LONG_WAIT, WAIT, pause_after


@pytest.mark.parametrize(
    ("moved", "wait"),
    [
        (timedelta(), timedelta()),
        (timedelta(seconds=40), timedelta()),
        (timedelta(hours=-1), timedelta()),  # somebody keeps local time in the machine's clock
        (timedelta(hours=1, seconds=1), WAIT),
        (timedelta(hours=-8), WAIT),
        (timedelta(days=1), WAIT),
        (timedelta(days=1, seconds=1), LONG_WAIT),
        (timedelta(days=-20_000), LONG_WAIT),  # 1970
        (timedelta(days=3_650), LONG_WAIT),
    ],
)
def test_pause_after_grows_with_the_size_of_the_clock_change(moved, wait):
    assert pause_after(moved) == wait
