"""
What people note and how they ask for it, in Chinese, English and both: notes.tsv is a table of note and question.

All notes stand in one workspace, among as many lines of the same life that answer none of the questions (talk.txt). What is
asked and never was noted (nothing.txt) puts little before the assistant, rubbish nothing.
"""

import random
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.world import WITHOUT_MODEL, World, at

HERE = Path(__file__).parent
NOTES = [tuple(line.split("\t")) for line in (HERE / "notes.tsv").read_text(encoding="utf-8").splitlines()]
TALK = (HERE / "talk.txt").read_text(encoding="utf-8").splitlines()
NOTHING = (HERE / "nothing.txt").read_text(encoding="utf-8").splitlines()
A_DAY = 9


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("notes"), at("2026-01-31T10:00"))
    world.reopen(WITHOUT_MODEL)
    lines = [note for note, _ in NOTES] + TALK
    random.Random(20260131).shuffle(lines)
    for n, start in enumerate(range(0, len(lines), A_DAY)):
        day = date(2025, 12, 10) + timedelta(days=n)
        text = "".join(f"- {9 + hour}:15 user: {line}\n" for hour, line in enumerate(lines[start : start + A_DAY]))
        world.note(f"{day}-talk.md", text)
    world.refresh()
    return world


def test_recall_finds_nearly_every_note_by_its_question_with_words_alone(world):
    missed, first = [], 0
    for note, question in NOTES:
        found = world.search(question)
        texts = [hit.unit.text for hit in found.hits[:5]]
        first += texts[:1] == [note]
        if note not in texts or note not in world.inject(question, found).memory:
            missed.append(question)
    assert len(missed) <= 0.04 * len(NOTES), missed
    assert first >= 0.85 * len(NOTES)


@pytest.mark.parametrize("question", NOTHING)
def test_memory_block_is_not_filled_for_what_was_never_noted(world, question):
    found = world.search(question)
    assert not found.hits or found.evidence < 1
    assert world.inject(question, found).memory_tokens <= 2048 * 0.6
