"""
Scripted walks about summaries: the cases of holes.md 4H in their order, then scenes where protocol.md leaves a choice.

A case says what its rule is for; the mutants that break just this rule stand beside it in the table at the end.
"""

from __future__ import annotations

from typing import Final

from tests.model import wrong_summaries as wrong
from tests.model.invariants import hold
from tests.model.stage import Case, Make, Stage
from tests.model.state import DAY


def a_summary_names_exactly_its_tasks_sources(make: Make) -> None:
    stage = Stage(make)
    stage.late()
    stage.late()
    stage.work()
    stage.round()
    (summary,) = stage.disk.summaries.values()
    hold(len(summary.sources) == 1, "the second file is not in it")
    stage.calm()


def an_extract_is_never_what_a_model_carries_on_from(make: Make) -> None:
    stage = Stage(make, model=False)
    stage.summarised()
    stage.disk.model = True
    stage.summarised()
    (summary,) = stage.disk.summaries.values()
    hold(not summary.extract and len(summary.sources) == 2, "both files were read anew")


def a_month_lists_dated_files_not_dailies(make: Make) -> None:
    stage = Stage(make)
    stage.summarised()
    stage.over_month_end()
    stage.over_month_end()
    stage.round()
    month = stage.claim()  # in flight, over the daily as it is
    stage.jump(-16 * DAY)
    at = next(iter(stage.disk.dated.values())).day
    stage.summarised(stage.disk.today - at)  # the daily gains a file
    stage.jump(16 * DAY)
    assert month is not None
    stage.deliver(month, stage.disk.now, "done")
    stage.round()
    stage.calm()


def a_file_edited_after_its_summary_is_summarised_again(make: Make) -> None:
    stage = Stage(make)
    stage.summarised()
    stage.edit_block(0)
    stage.round()
    stage.calm()
    (summary,) = stage.disk.summaries.values()
    hold(list(summary.sources.values()) == [file.digest for file in stage.disk.dated.values()], "as it is now")


def an_older_narrower_result_is_dropped(make: Make) -> None:
    stage = Stage(make)
    stage.late()
    stage.suspend()
    stage.round()
    stage.work()
    stage.round()
    stage.summarised()
    stage.wake(0)
    stage.round()
    (summary,) = stage.disk.summaries.values()
    hold(len(summary.sources) == 2, "the wider summary stands")


def an_edited_extract_is_made_anew_once(make: Make) -> None:
    stage = Stage(make, model=False)
    stage.summarised()
    stage.edit_summary(0)
    stage.disk.model = True
    stage.calm()


def a_failure_ends_with_its_group(make: Make) -> None:
    stage = Stage(make)
    stage.late()
    stage.work("failed")
    stage.round()
    stage.delete_file(0)
    stage.round()
    hold(not stage.disk.failed, "no material, no failure")


def a_deleted_file_is_not_waited_for(make: Make) -> None:
    stage = Stage(make, model=False)
    stage.summarised()
    stage.summarised()
    stage.delete_file(0)
    stage.disk.model = True
    stage.calm()


def a_models_part_does_not_vouch_for_the_extract_above_it(make: Make) -> None:
    stage = Stage(make, model=False)
    stage.summarised()
    stage.summarised()
    stage.edit_summary(0)
    stage.delete_file(0)
    stage.disk.model = True
    stage.round()
    stage.work()
    stage.round()
    stage.restore_file()
    stage.round()
    stage.calm()


def a_deleted_summary_does_not_return_with_a_result_that_carried_on_from_it(make: Make) -> None:
    stage = Stage(make)
    stage.summarised()
    stage.late()
    stage.delete_summary(0)
    stage.work()
    stage.round()
    stage.calm()


def a_large_month_does_not_wait_for_days_that_always_fail(make: Make) -> None:
    stage = Stage(make)
    month = stage.limits.month_days
    first = (stage.disk.today // month - 2) * month
    for day in range(first, first + 5):
        stage.append(days_ago=stage.disk.today - day)
    stage.round()
    for _ in range(40):
        while stage.disk.queue:
            stage.work("failed" if next(iter(stage.disk.queue.values())).group[0] == "day" else "done")
        stage.wait(DAY // 2)
        stage.round()
    hold(all(file.moved for file in stage.disk.dated.values()), "the month took their files as they are")


def a_dead_provider_is_probed_with_one_task_at_a_time(make: Make) -> None:
    stage = Stage(make)
    for days_ago in (6, 7, 8, 9, 10, 11):
        stage.append(days_ago=days_ago)
    tasks = 0
    for _ in range(2 * 24):
        stage.round()
        while stage.disk.queue:
            stage.work("provider")
            tasks += 1
        stage.wait(60)
    hold(3 <= tasks <= 12, f"{tasks} tasks for a dead provider in two days")
    hold(not stage.disk.failed, "no group is to blame")
    stage.calm()


def one_outage_counts_once_however_many_tasks_met_it(make: Make) -> None:
    stage = Stage(make)
    for days_ago in (6, 7, 8):
        stage.append(days_ago=days_ago)
    stage.round(until_settled=True)
    for _ in range(3):
        stage.work("provider")
    stage.wait(1)
    stage.round()
    hold(stage.disk.provider is not None and stage.disk.provider.attempts == 1, "one outage")


#: Case, its number in 4H (0: none), the mutants that must break it.
CASES: Final[tuple[Case, ...]] = (
    (a_summary_names_exactly_its_tasks_sources, 3, (wrong.SourcesAtHarvest,)),
    (an_extract_is_never_what_a_model_carries_on_from, 4, (wrong.ExtractAsPrevious,)),
    (a_month_lists_dated_files_not_dailies, 5, (wrong.MonthNamesDailies,)),
    (a_file_edited_after_its_summary_is_summarised_again, 6, (wrong.NamesWithoutDigest,)),
    (an_older_narrower_result_is_dropped, 8, (wrong.NarrowerIsAccepted,)),
    (an_edited_extract_is_made_anew_once, 9, (wrong.EditedExtractIsRedone,)),
    (a_failure_ends_with_its_group, 9, (wrong.FailureOutlivesItsGroup,)),
    (a_deleted_file_is_not_waited_for, 9, (wrong.DeletedFilesAreWaitedFor,)),
    (a_models_part_does_not_vouch_for_the_extract_above_it, 0, (wrong.ExtractPartVouches,)),
    (a_deleted_summary_does_not_return_with_a_result_that_carried_on_from_it, 0, (wrong.DeletedSummaryReturns,)),
    (a_large_month_does_not_wait_for_days_that_always_fail, 0, (wrong.MonthWaitsForItsDays,)),
    (a_dead_provider_is_probed_with_one_task_at_a_time, 0, (wrong.ProviderIsHammered,)),
    (one_outage_counts_once_however_many_tasks_met_it, 0, (wrong.OutageCountsManyTimes,)),
)
