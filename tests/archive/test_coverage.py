"""What a summary covers: the files that it names, with the digest that they have now, and nothing else."""

from __future__ import annotations

import pytest

from recalld.supervisor.archive.coverage import covered, covered_days, covers, may_replace
from recalld.supervisor.protocol.paths import Period
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


CHANGED, GONE = file(ONE.name, "changed"), file("2025-12-09-gone.md")


@pytest.mark.parametrize(
    ("files", "standing_files", "better", "may"),
    [
        ([], None, True, False),
        ([GONE], None, True, False),
        ([ONE], [ONE, TWO], False, False),  # the older text of a suspended worker
        ([ONE], [ONE, TWO], True, False),
        ([ONE], [ONE], False, False),
        ([ONE], [ONE], True, True),
        ([ONE, TWO], [ONE, GONE], False, True),  # else the month would be submitted again and again
    ],
)
def test_may_replace_takes_more_files_or_a_better_text_of_the_same(files, standing_files, better, may):
    stands = standing_files and standing("2025-12", standing_files)[MONTH]
    assert may_replace([one.source for one in files], stands, PRESENT, better=better) == may


def test_may_replace_accepts_the_same_names_when_a_file_has_changed():
    assert may_replace([CHANGED.source], standing("2025-12", [ONE])[MONTH], [CHANGED, TWO], better=False)
