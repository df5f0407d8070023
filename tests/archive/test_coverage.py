"""What a summary covers: the files that it names, with the digest that they have now, and nothing else."""

from __future__ import annotations

import pytest

from recalld.supervisor.archive.coverage import covered, covered_days, may_replace
from recalld.supervisor.protocol.paths import Period
from tests.archive.states import file, standing

ONE, TWO = file("2025-12-03-nginx.md"), file("2025-12-04-pnpm.md")
DAY_3, MONTH = Period("2025-12-03"), Period("2025-12")


@pytest.mark.feature("003.16")
@pytest.mark.parametrize(
    ("of_memory", "named", "names"),
    [
        (ONE, [ONE], {ONE.name}),
        (ONE, [], set()),
        (file(ONE.name, "changed"), [ONE], set()),  # a late message under a reused name must still be summarized
        (file(ONE.name, original=True), [ONE], {ONE.name}),
        (file(ONE.name, original=True), [], set()),  # where it lies says nothing
    ],
)
def test_covered_has_a_file_that_a_summary_names_as_it_is_now(of_memory, named, names):
    assert covered([of_memory], standing("2025-12", named)) == names


@pytest.mark.feature("003.14")
@pytest.mark.parametrize(
    ("of_day", "of_month", "days"),
    [
        ({"files": [ONE]}, {}, {DAY_3}),
        ({"files": []}, {}, set()),  # a person wrote it
        ({"files": [ONE]}, {"extract": True}, set()),  # a model's day says more than an extract of the month
        ({"files": [ONE], "extract": True}, {"extract": True}, {DAY_3}),
    ],
)
def test_covered_days_includes_a_day_whose_files_are_all_in_the_month(of_day, of_month, days):
    summaries = {**standing("2025-12-03", **of_day), **standing("2025-12-04", [TWO]), **standing("2025-12", [ONE], **of_month)}
    assert covered_days([ONE, TWO], summaries) == days


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
