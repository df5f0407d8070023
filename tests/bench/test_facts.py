"""The facts written by hand for bench/summaries.py: each is found where it was said, and most in an extract, which invents nothing."""

import pytest

from bench.facts import FOLDER, Day, Story, score, stories
from bench.measures import WindowMessage, inventions
from recalld.supervisor.extracts.extract import extract
from tests.summaries.hand_made import blocks_of

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


@pytest.mark.proof
@pytest.mark.parametrize(
    ("language", "kind", "least"), [("en", "day", 0.86), ("en", "month", 0.85), ("zh", "day", 0.91), ("zh", "month", 0.9)]
)
def test_extracts_keep_most_facts_and_invent_nothing(language: str, kind: str, least: float):
    kept, facts, told, said = 0, 0, 0, 0
    for story in (one for one in STORIES.values() if one.language == language):
        every = list(story.days.values())
        for period, days in [(story.month, every)] if kind == "month" else [(day.date, [day]) for day in every]:
            words = [one for day in days for one in day.said]
            text = extract(blocks_of(words), period=period, zone=story.zone, kind=kind).partition("\n")[2]
            assert inventions(text, [WindowMessage(one.at, one.text) for one in words]) == []
            found = score(text, [fact for day in days for fact in day.facts])
            kept, facts = kept + len(found.kept), facts + found.facts
            told, said = told + len(text), said + sum(len(day.text) for day in days)
    assert kept / facts >= least
    assert kind == "day" or told / said < 0.7
