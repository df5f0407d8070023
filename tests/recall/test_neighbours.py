"""Which hits are only neighbours of an answer, and which of these are needed to understand it."""

from __future__ import annotations

import pytest

from recalld.supervisor.index.hit import Hit
from recalld.supervisor.recall.neighbours import going_on, only_neighbours
from tests.context.passages import hit
from tests.world import at, message, parsed


def window(text: str, start: int, **more: str) -> Hit:
    return Hit(hit(1, text, start=start, **more).unit, 1.0, ("window",))


def test_only_neighbours_are_hits_without_a_word_of_the_question():
    answer, after, far = hit(9, "我对花生过敏。", start=4), window("记住了。", 6), window("下雨了。", 60)
    assert only_neighbours([answer, after, far]) == {after, far}
    assert only_neighbours([after, far]) == frozenset()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (hit(9, "哪家旅馆？", start=4, message="m1"), window("湖边的。", 8, message="m2")),
        (hit(9, "which hotel?", start=4, message="m1"), window("the one by the lake", 8, message="m2")),
        (window("民宿有两家：湖边和山上", 4, message="m1"), hit(9, "就那家吧", start=8, message="m2")),
        (window("two places: the lake, the hill", 4, message="m1"), hit(9, "the second one", start=8, message="m2")),
        (
            hit(9, "(call c1: weather Oslo)", start=4, message="m1", role="assistant"),
            window("sunny", 8, message="m2", role="tool"),
        ),
    ],
)
def test_neighbour_is_needed_as_an_answer_and_for_what_points_back(first, second):
    assert only_neighbours([first, second]) == frozenset()


@pytest.mark.parametrize(
    ("times", "kept"),
    [
        (("21:00", "21:05"), 2),
        (("20:30", "21:00"), 2),  # each half an hour at most before the next, the last before now
        (("20:29", "21:00"), 1),
        (("20:00", "20:29"), 0),
        (("20:00", "21:10", None), 2),  # without a time: said with the next one
        ((None, "20:00"), 0),
        (("21:40",), 1),  # by a clock that is ahead
        ((), 0),
    ],
)
def test_going_on_are_the_messages_since_the_last_pause(times, kept):
    raw = [message(str(n), f"2026-01-28T{time or '21:00'}", "面包机修好了。") for n, time in enumerate(times)]
    said = [parsed({**one, "createdAt": one["createdAt"] if time else ""}) for one, time in zip(raw, times, strict=True)]
    assert [one.id for one in going_on(said, at("2026-01-28T21:30"))] == [one.id for one in said[len(said) - kept :]]
