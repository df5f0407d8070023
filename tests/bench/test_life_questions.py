"""The questions about three weeks of a life: that the files are whole, and cover what their README says. No search is run."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from bench.recall import HERE, questions_of

SET = HERE / "questions" / "life"
NUMBERS = {
    "fact": 50, "typo": 15, "pronoun": 15, "changed": 25, "two-part": 15, "when": 20, "assistants": 10, "wish": 10,
    "never-said": 20, "never-detail": 10, "small-talk": 10,
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_life_set_has_its_kinds_and_cites_messages_that_are_there(language):
    questions = questions_of(SET, [f"life_{language}"])
    history = json.loads((SET / f"workspaces/life-{language}/history.json").read_text(encoding="utf-8"))
    ids = {message["id"] for message in history}
    assert Counter(one["category"] for one in questions) == NUMBERS
    assert len({one["qid"] for one in questions}) == len(questions)
    cited = {one for question in questions for either in question["evidence"] for one in either}
    assert cited | {one for question in questions for one in question.get("outdated", ())} <= ids
    assert all(one["category"] in {"never-said", "never-detail", "small-talk"} for one in questions if not one["evidence"])
    assert [one["createdAt"] for one in history] == sorted(one["createdAt"] for one in history)
