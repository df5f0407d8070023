"""The paths of a workspace and the names of its files."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.paths import dated_name, day_of_name, is_foreign
from recalld.supervisor.storage.errors import BadRequest

JAN_28 = date(2026, 1, 28)


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2026-01-28-nginx.md", JAN_28),
        ("2026-01-28-随手记.md", JAN_28),
        ("2026-01-28-\udcff.md", JAN_28),
        ("2026-01-28-\ud800.md", None),  # no file can have it
        ("2026-01-28-旅行 · 1 · 2.md", JAN_28),
        ("2026-01-28-evil\n- 2026-01-28-x.md", None),
        ("2026-01-28.md", JAN_28),
        ("2026-02-30-x.md", None),
        ("2026-01-28-x.txt", None),
        ("2026-01-28-a/b.md", None),
        (".2026-01-28-x.md.123-4.tmp", None),
        ("2026-01-28-x (conflicted copy).md", None),
        ("2026-01-28-x.sync-conflict-20260128-1.md", None),
    ],
)
def test_day_of_name_returns_the_day_of_a_dated_file_only(name, day):
    """Swap files, conflict copies and notes."""
    assert day_of_name(name) == day


@pytest.mark.parametrize(
    "name",
    [
        *(".x.swp", "x.md.swp", "x.SWX", "4913", "#x#", "x~", ".git", "x.tmp", ".DS_Store", "x (Conflicted Copy).md"),
        *("2026-01-28-x (小明 的冲突副本 2026-01-29).md", "想法 (王 的衝突複本).md", "x (Case Conflict 1).md"),
        *("2026-01-28-a\n- 2026-01-28-b.md", "a\x1b[2J.md", "a\u2028b.md"),
    ],
)
def test_is_foreign_recognizes_files_of_editors_and_sync_tools(name):
    assert is_foreign(name)


@given(st.text(), st.dates(date(1000, 1, 1)))
def test_dated_name_never_leaves_the_folder(slug, day):
    try:
        name = dated_name(day, slug)
    except BadRequest:
        return
    assert Path(name).name == name
    assert day_of_name(name) == day
