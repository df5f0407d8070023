"""The facts written by hand for bench/summaries.py: each is found where it was said, and how they are matched."""

from __future__ import annotations

import pytest

from bench.facts import FOLDER, Day, Fact, Story, running, score, stories

STORIES = stories()
DAYS = [(story, day) for story in STORIES.values() for day in story.days.values()]
TYPED = [(story, day) for story in stories(FOLDER.parent / "days").values() for day in story.days.values()]
RENT = Fact("2026-03-02", (1,), "房租涨到 4,900", (("4900",), ("房租", "rent")), ("不涨",), ("4700",))


def kept(summary: str, *needs: str, wrong: str = "") -> tuple[int, int]:
    spellings = tuple(tuple(need.split("=")) for need in needs)
    found = score(summary, [Fact("2026-03-02", (1,), "", spellings, tuple(filter(None, [wrong])))])
    return len(found.kept), len(found.wrong)


@pytest.mark.parametrize(("story", "day"), DAYS + TYPED, ids=lambda part: getattr(part, "date", getattr(part, "name", "")))
def test_each_fact_is_in_its_messages_and_in_its_own_sentence(story: Story, day: Day):
    for fact in day.facts:
        said = "\n".join(one.text for one in day.said if one.number in fact.sources)
        assert score(said, [fact]).kept, fact.sentence
        assert score(fact.sentence, [fact]).kept, fact.sentence
        assert not score(fact.sentence, [fact]).wrong, fact.sentence
        assert fact.outdated is None or story.after(fact), fact.sentence


@pytest.mark.parametrize(("story", "day"), DAYS, ids=lambda part: getattr(part, "date", getattr(part, "name", "")))
def test_the_whole_day_says_nothing_wrongly(story: Story, day: Day):
    assert [fact.sentence for fact in score(day.text, day.facts).wrong] == []
    assert [said.number for said in day.said] == list(range(1, len(day.said) + 1))


def test_the_summaries_so_far_keep_what_must_stay():
    for one in running(STORIES):
        assert len(score(one.before, one.keeps).kept) == len(one.keeps), one.before
        assert len(one.facts) > len(one.keeps)


@pytest.mark.parametrize(
    ("text", "need"),
    [
        ("房租 4,900", "4900"), ("四千九百块，九点", "4900"), ("4,900 yuan", "4900"), ("8TB", "8 TB"), ("付了十七块", "17"),
        ("4月8日", "@4-8"), ("4 月 8 号", "@4-8"), ("四月八日", "@4-8"), ("on April 8th", "@4-8"), ("8 April", "@4-8"),
        ("the 8th of Apr.", "@4-8"), ("2026-04-08", "@4-8"), ("8 to 12 April", "@4-8"), ("19:00", "@7:00"), ("晚上七点", "@7:00"),
        ("rotated", "rotat"), ("£2,550", "2550"), ("six people", "6"), ("Ｗild Ｔhyme", "wild thyme"),
    ],
)  # fmt: skip
def test_score_takes_equal_spellings(text: str, need: str):
    assert kept(text, need) == (1, 0)


def test_score_takes_a_fact_with_a_wrong_wording_for_wrong():
    assert kept("许安欠她 8,000。她欠许安 8,000。", "8000", wrong="欠许安") == (0, 1)


def test_score_takes_a_corrected_wording_beside_the_fact_but_not_alone():
    assert [len(score(text, [RENT]).wrong) for text in ("房租从 4,700 改成 4,900。", "房租 4,700。")] == [0, 1]
