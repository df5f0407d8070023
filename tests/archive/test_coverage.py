"""What a summary stands for: the files that it names, with the digest that they have now, and nothing else."""

from __future__ import annotations

from supervisor.archive.coverage import covered, covered_days, covers, names_ever, widens
from supervisor.protocol.period import Period
from tests.archive.states import file, standing

ONE, TWO = file("2025-12-03-nginx.md"), file("2025-12-04-pnpm.md")
DAY_3, DAY_4, MONTH = Period("2025-12-03"), Period("2025-12-04"), Period("2025-12")


def test_a_file_is_covered_when_a_standing_summary_names_it():
    assert covered([ONE, TWO], standing("2025-12-03", [ONE])) == {ONE.name}


def test_a_file_that_has_changed_since_is_not_covered():
    """4H, 6: name and digest; a late message in a file of a free name was covered and never summarised."""
    assert covered([file(ONE.name, "changed")], standing("2025-12-03", [ONE])) == frozenset()


def test_where_a_file_lies_says_nothing_of_its_coverage():
    lying = file(ONE.name, original=True)
    assert covered([lying], {}) == frozenset()
    assert covered([lying], standing("2025-12", [ONE])) == {ONE.name}


def test_a_summary_covers_a_group_when_it_names_all_of_its_files():
    summaries = standing("2025-12", [ONE])
    assert covers(summaries[MONTH], [ONE])
    assert not covers(summaries[MONTH], [ONE, TWO])
    assert not covers(None, [])


def test_a_monthly_summary_of_one_late_message_hides_nothing():
    """A3: any monthly file hid all days of its month."""
    late = file("2025-12-30-late.md")
    summaries = {**standing("2025-12-03", [ONE]), **standing("2025-12-04", [TWO]), **standing("2025-12", [late])}
    assert covered_days([ONE, TWO, late], summaries) == frozenset()


def test_a_day_leaves_the_search_when_the_month_names_all_of_its_files():
    summaries = {**standing("2025-12-03", [ONE]), **standing("2025-12-04", [TWO]), **standing("2025-12", [ONE])}
    assert covered_days([ONE, TWO], summaries) == {DAY_3}


def test_a_file_that_a_person_deleted_keeps_no_day_in_the_search():
    gone = file("2025-12-03-gone.md")
    summaries = {**standing("2025-12-03", [ONE, gone]), **standing("2025-12", [ONE])}
    assert covered_days([ONE], summaries) == {DAY_3}


def test_a_day_of_which_a_person_wrote_the_summary_stays():
    summaries = {**standing("2025-12-03", []), **standing("2025-12", [ONE])}
    assert covered_days([ONE], summaries) == frozenset()


def test_a_day_that_a_person_edited_stays():
    summaries = {**standing("2025-12-03", [ONE], edited=True), **standing("2025-12", [ONE])}
    assert covered_days([ONE], summaries) == frozenset()


def test_a_day_that_a_model_told_stays_beside_a_month_that_is_only_an_extract():
    told, extract = standing("2025-12-03", [ONE]), standing("2025-12", [ONE], extract=True)
    assert covered_days([ONE], {**told, **extract}) == frozenset()
    assert covered_days([ONE], {**standing("2025-12-03", [ONE], extract=True), **extract}) == {DAY_3}


# ── what may take the place of what stands ───────────────────────────────────

PRESENT = [ONE, TWO]


def test_any_text_of_a_file_that_is_there_may_stand_where_none_does():
    assert widens([ONE.source], None, PRESENT, better=False)


def test_a_text_of_no_file_that_is_there_may_not():
    assert not widens([], None, PRESENT, better=True)
    assert not widens([file("2025-12-09-gone.md").source], None, PRESENT, better=True)


def test_a_narrower_text_may_not():
    """4H, 8: a suspended worker delivered an old text over a wider one."""
    wide = standing("2025-12", [ONE, TWO])[MONTH]
    assert not widens([ONE.source], wide, PRESENT, better=False)
    assert not widens([ONE.source], wide, PRESENT, better=True)


def test_a_text_of_the_same_files_may_only_where_it_is_better():
    same = standing("2025-12", [ONE])[MONTH]
    assert not widens([ONE.source], same, PRESENT, better=False)
    assert widens([ONE.source], same, PRESENT, better=True)


def test_a_wider_text_may():
    assert widens([ONE.source, TWO.source], standing("2025-12", [ONE])[MONTH], PRESENT, better=False)


def test_a_text_of_the_same_names_may_when_a_file_has_changed():
    changed = file(ONE.name, "changed")
    assert widens([changed.source], standing("2025-12", [ONE])[MONTH], [changed, TWO], better=False)


def test_a_file_that_is_gone_need_not_be_named():
    """4H, 9: a month that listed a deleted file was asked for for ever."""
    wide = standing("2025-12", [ONE, file("2025-12-09-gone.md")])[MONTH]
    assert widens([ONE.source, TWO.source], wide, PRESENT, better=False)


def test_a_name_that_a_summary_lists_is_taken_for_ever():
    assert names_ever(standing("2025-12", [ONE, TWO]).values()) == {ONE.name, TWO.name}
