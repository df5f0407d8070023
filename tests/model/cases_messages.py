"""
Scripted walks about messages: the cases of holes.md 4H in their order, then scenes where protocol.md leaves a choice.

A case says what its rule is for; the mutants that break just this rule stand beside it in the table at the end.
"""

from __future__ import annotations

from typing import Final

from tests.model import wrong_messages as wrong
from tests.model.invariants import hold
from tests.model.stage import Case, Make, Stage
from tests.model.state import DAY, Limits, Message


def a_covered_message_becomes_true_though_its_group_is_not_in_flight(make: Make) -> None:
    stage = Stage(make)
    message = stage.late()
    stage.suspend()
    stage.round()
    stage.work("failed")
    stage.round()
    hold(message.flag == "false", "a failure sends its pending message back")
    stage.wake(0)
    stage.round()
    hold(message.flag == "true", "its file is covered")


def a_ripened_day_that_fails_leaves_its_messages_true(make: Make) -> None:
    stage = Stage(make)
    message = stage.late(days_ago=0)
    stage.wait(6 * DAY)
    stage.round()
    stage.work("failed")
    stage.round()
    hold(stage.disk.failed and message.flag == "true", "true stays true")


def the_name_of_a_deleted_file_is_not_given_again(make: Make) -> None:
    stage = Stage(make)
    stage.summarised()
    stage.delete_file(0)
    stage.summarised()
    stage.calm()


def a_block_that_a_person_deletes_is_not_written_anew(make: Make) -> None:
    stage = Stage(make)
    stage.summarised(days_ago=0)
    stage.delete_block(0)
    stage.wait(DAY)
    stage.round(until_settled=True)
    stage.calm()


def a_dead_model_and_a_full_history_do_not_make_a_file_of_every_exchange(make: Make) -> None:
    limits = Limits(soft=100, hard=150, due_messages=50)  # half of 003's, and half of its 300 messages
    stage = Stage(make, limits)
    for _ in range(limits.hard):
        stage.append(days_ago=8)
    stage.round()
    for _ in range(7 * 12):
        for _ in range(2):
            stage.append()
        stage.wait(120)
        stage.work("provider")
        stage.round()
    hold(len(stage.disk.dated) <= 1 + 7 * 5, f"{len(stage.disk.dated)} dated files in a week")
    stage.calm()


def a_run_made_in_the_future_does_not_put_off_the_next(make: Make) -> None:
    stage = Stage(make)
    stage.jump(40 * DAY)
    stage.late(days_ago=0)
    stage.jump(-40 * DAY)
    message = stage.append()
    stage.round()
    stage.wait(361)
    stage.round()
    hold(message.text in stage.filed_words(), "six hours are over")


def what_was_only_trimmed_is_not_put_back(make: Make) -> None:
    stage = Stage(make)
    for _ in range(12):
        stage.append()
    stage.round()
    for _ in range(5):
        stage.foreign_cap(2)
        stage.round()
    hold(len(stage.disk.history) == 2, "the other program has its way")


def what_vanished_unwritten_is_put_back_once_then_written_from_the_journal(make: Make) -> None:
    stage = Stage(make)
    message = stage.append()
    stage.append()
    stage.round()
    for _ in range(5):
        stage.foreign_cap(1)
        stage.round()
    stage.wait(361)
    stage.round()
    hold(message.text in stage.filed_words(), "the journal's copy was written")


def ids_taken_off_after_every_trim_write_nothing_twice(make: Make) -> None:
    stage = Stage(make)
    for _ in range(20):
        stage.append()
        stage.strip_ids()
        stage.wait(100)
        stage.round()
    hold(len(stage.filed_words()) == sum(len(file.blocks) for file in stage.disk.dated.values()), "each once")


def a_streamed_answer_is_written_once_a_run(make: Make) -> None:
    stage = Stage(make)
    stage.append()
    for look in range(60):
        stage.revise(0)
        stage.wait(1)
        stage.round(until_settled=look == 30)
    hold(len(stage.filed_words()) == 1, "the revisions wait for the next run")
    stage.wait(361)
    stage.round()
    hold(len(stage.filed_words()) == 2, "and only the last of them is written")


def a_full_disk_is_not_tried_at_every_poll(make: Make) -> None:
    stage = Stage(make)
    stage.append()
    stage.round()
    stage.wait(400)
    stage.disk.full = True
    tries = 0
    for _ in range(180):
        stage.wait(1)
        tries += "† disk full" in stage.round()
    hold(3 <= tries <= 24, f"{tries} tries in three hours")
    stage.calm()


def an_id_that_comes_back_makes_no_second_message(make: Make) -> None:
    stage = Stage(make)
    stage.append()
    stage.foreign_reads()
    stage.strip_ids()
    stage.round(until_settled=True)  # known by its content alone
    stage.foreign_writes()  # an older copy, with the id
    stage.round(until_settled=True)
    stage.calm()


def two_equal_messages_are_two(make: Make) -> None:
    stage = Stage(make)
    for _ in range(2):
        stage.disk.history.append(Message(None, "好的", stage.disk.now))
    for _ in range(3):
        for _ in stage.supervisor.look():
            pass
        hold(len({message.id for message in stage.disk.history}) == 2, "two ids")
        hold(len(stage.disk.journal) == 2, "and the same two again, once they were taken off")
        stage.strip_ids()


#: Case, its number in 4H (0: none), the mutants that must break it.
CASES: Final[tuple[Case, ...]] = (
    (a_covered_message_becomes_true_though_its_group_is_not_in_flight, 1, (wrong.FalseStaysFalse,)),
    (a_ripened_day_that_fails_leaves_its_messages_true, 2, (wrong.FailureTakesTrueBack,)),
    (the_name_of_a_deleted_file_is_not_given_again, 6, (wrong.NamesAreReused,)),
    (a_block_that_a_person_deletes_is_not_written_anew, 7, (wrong.WrittenIsForgotten,)),
    (
        a_dead_model_and_a_full_history_do_not_make_a_file_of_every_exchange,
        10,
        (wrong.RunsAtTheCap, wrong.NewestAreTrimmed),
    ),
    (a_run_made_in_the_future_does_not_put_off_the_next, 11, (wrong.FutureRunCounts,)),
    (what_was_only_trimmed_is_not_put_back, 12, (wrong.TrimmedIsPutBack,)),
    (what_vanished_unwritten_is_put_back_once_then_written_from_the_journal, 12, (wrong.PutBackForEver,)),
    (ids_taken_off_after_every_trim_write_nothing_twice, 13, (wrong.OrdinalIds,)),
    (a_streamed_answer_is_written_once_a_run, 14, (wrong.RevisionsAreDue,)),
    (a_full_disk_is_not_tried_at_every_poll, 15, (wrong.FullDiskIsTriedAtEveryPoll,)),
    (an_id_that_comes_back_makes_no_second_message, 0, (wrong.TwinIsNew,)),
    (two_equal_messages_are_two, 0, (wrong.EqualsAreOne,)),
)
