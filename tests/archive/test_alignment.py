"""An array laid over the one before: what stays where words are repeated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.archive.alignment import same_places


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("继甲继乙", "继乙继丙", [2, 3, None, None]),
        ("规继甲继乙", "规继乙继丙", [0, 3, 4, None, None]),  # the system's words stay, what follows them slides
        ("早甲晚", "甲晚早", [1, 2, None]),  # what slid out is not the twin of what came in
        ("甲乙", "乙甲", [1, None]),
        ("继好继好", "继好继好", [0, 1, 2, 3]),
        ("继继好继好", "继好继好继", [1, 2, 3, 4, None]),
        ("继甲继乙", "继", [None]),  # a talk that begins like the last one
        ("继甲继乙", "继甲继丙", [0, 1, 2, None]),  # the last answer was made again
        ("继甲乙丙", "甲乙继", [1, 2, None]),  # another program's message is gone
        ("甲乙丙", "甲新乙丙新", [0, None, 1, 2, None]),
        ("甲乙", "丙丁", [None, None]),
        ("甲谢乙", "丙谢丁", [None, None, None]),  # another talk, in which the same is said
        ("甲乙谢", "丙谢丁", [None, None, None]),
        ("规甲谢乙", "规丙谢", [0, None, None]),
        ("要甲乙丙", "略甲乙丙丁", [None, 1, 2, 3, None]),  # its first message sums up what slid out
        ("", "甲", [None]),
        ("甲", "", []),
    ],
)
def test_same_places_follows_a_list_whose_beginning_leaves(before, after, same):
    places = same_places(before, after)
    assert [places.get(n) for n in range(len(after))] == same


@given(st.lists(st.sampled_from("继好一二三四"), max_size=12), st.lists(st.sampled_from("继好一二三四"), max_size=12))
def test_same_places_without_single_words_is_the_longest_overlap(before, after):
    before, after = before * 2, after * 2
    longest = next(n for n in range(min(len(before), len(after)), -1, -1) if before[len(before) - n :] == after[:n])
    assert same_places(before, after) == {n: len(before) - longest + n for n in range(longest)}


@given(st.lists(st.sampled_from("继好一二三四"), max_size=12), st.lists(st.sampled_from("继好一二三四"), max_size=12))
def test_same_places_never_takes_one_place_twice(before, after):
    places = same_places(before, after)
    assert len(set(places.values())) == len(places)
    assert all(after[there] == before[here] for there, here in places.items())
