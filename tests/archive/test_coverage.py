"""What a summary covers: the files that it names, with the digest that they have now, and nothing else."""

from __future__ import annotations

import pytest

from recalld.supervisor.archive.coverage import covered, covered_days, covers, may_replace
from recalld.supervisor.protocol.period import Period
from tests.archive.states import file, standing

ONE, TWO = file("2025-12-03-nginx.md"), file("2025-12-04-pnpm.md")
DAY_3, MONTH = Period("2025-12-03"), Period("2025-12")


@pytest.mark.feature("003.16")
def test_covered_includes_a_file_that_a_summary_names():
    assert covered([ONE, TWO], standing("2025-12-03", [ONE])) == {ONE.name}


def test_covered_excludes_a_file_changed_since_its_summary():
    """A file is covered by name and digest: a late message under a reused name must still be summarized."""
    assert covered([file(ONE.name, "changed")], standing("2025-12-03", [ONE])) == frozenset()


def test_covered_ignores_the_folder_of_a_file():
    lying = file(ONE.name, original=True)
    assert covered([lying], {}) == frozenset()
    assert covered([lying], standing("2025-12", [ONE])) == {ONE.name}


def test_covers_requires_every_file_of_the_group():
    summaries = standing("2025-12", [ONE])
    assert covers(summaries[MONTH], [ONE])
    assert not covers(summaries[MONTH], [ONE, TWO])
    assert not covers(None, [])


@pytest.mark.feature("003.14")
def test_covered_days_includes_a_day_whose_files_are_all_in_the_month():
    summaries = {**standing("2025-12-03", [ONE]), **standing("2025-12-04", [TWO]), **standing("2025-12", [ONE])}
    assert covered_days([ONE, TWO], summaries) == {DAY_3}


def test_covered_days_excludes_a_day_summary_written_by_a_person():
    summaries = {**standing("2025-12-03", []), **standing("2025-12", [ONE])}
    assert covered_days([ONE], summaries) == frozenset()


def test_covered_days_excludes_a_model_day_under_an_extract_month():
    told, extract = standing("2025-12-03", [ONE]), standing("2025-12", [ONE], extract=True)
    assert covered_days([ONE], {**told, **extract}) == frozenset()
    assert covered_days([ONE], {**standing("2025-12-03", [ONE], extract=True), **extract}) == {DAY_3}


# ── what may take the place of what stands ───────────────────────────────────

PRESENT = [ONE, TWO]


def test_may_replace_refuses_a_text_without_existing_files():
    assert not may_replace([], None, PRESENT, better=True)
    assert not may_replace([file("2025-12-09-gone.md").source], None, PRESENT, better=True)


def test_may_replace_refuses_a_text_with_fewer_files():
    """A suspended worker must not replace a wider summary by its older text."""
    wide = standing("2025-12", [ONE, TWO])[MONTH]
    assert not may_replace([ONE.source], wide, PRESENT, better=False)
    assert not may_replace([ONE.source], wide, PRESENT, better=True)


def test_may_replace_accepts_the_same_files_only_if_better():
    same = standing("2025-12", [ONE])[MONTH]
    assert not may_replace([ONE.source], same, PRESENT, better=False)
    assert may_replace([ONE.source], same, PRESENT, better=True)


def test_may_replace_accepts_the_same_names_when_a_file_has_changed():
    changed = file(ONE.name, "changed")
    assert may_replace([changed.source], standing("2025-12", [ONE])[MONTH], [changed, TWO], better=False)


def test_may_replace_ignores_deleted_files():
    """A month that lists a deleted file must not be submitted again and again."""
    wide = standing("2025-12", [ONE, file("2025-12-09-gone.md")])[MONTH]
    assert may_replace([ONE.source, TWO.source], wide, PRESENT, better=False)
