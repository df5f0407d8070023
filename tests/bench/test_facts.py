"""The facts written by hand for bench/summaries.py: each is found where it was said."""

from __future__ import annotations

import pytest

from bench.facts import FOLDER, Day, Story, score, stories

STORIES = stories()
DAYS = [(story, day) for story in STORIES.values() for day in story.days.values()]
TYPED = [(story, day) for story in stories(FOLDER.parent / "days").values() for day in story.days.values()]


@pytest.mark.parametrize(("story", "day"), DAYS + TYPED, ids=lambda part: getattr(part, "date", getattr(part, "name", "")))
def test_each_fact_is_in_its_messages_and_in_its_own_sentence(story: Story, day: Day):
    for fact in day.facts:
        said = "\n".join(one.text for one in day.said if one.number in fact.sources)
        assert score(said, [fact]).kept, fact.sentence
        assert score(fact.sentence, [fact]).kept, fact.sentence
        assert not score(fact.sentence, [fact]).wrong, fact.sentence
        assert fact.outdated is None or story.after(fact), fact.sentence
