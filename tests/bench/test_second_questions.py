"""The second set of questions: that its files are whole, and that it covers what its README says. No search is run."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from typing import Any

import pytest

from bench.recall import HERE, questions_of

SET = HERE / "questions" / "second"
FIELDS = ["qid", "dataset", "category", "ws", "question", "answer", "evidence", "asked_at"]
LONG = 40  # words of an English request
LONG_ZH = 60  # Chinese characters, about as much text


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SET / name).read_text(encoding="utf-8").splitlines()]


TASKS = [one for one in questions_of(SET, []) if one["evidence"]]
NEGATIVES = lines("negatives_en.jsonl") + lines("negatives_zh.jsonl")
HISTORIES = {
    folder.name: json.loads((folder / "history.json").read_text(encoding="utf-8"))
    for folder in sorted((SET / "workspaces").iterdir())
}


def is_long(question: str) -> bool:
    return len(re.findall(r"[\u4e00-\u9fff]", question)) >= LONG_ZH or len(question.split()) >= LONG


def test_second_set_has_thirty_tasks_and_negatives_a_language():
    counted = Counter(one["dataset"] for one in TASKS + NEGATIVES)
    assert counted == dict.fromkeys(("tasks_en", "tasks_zh", "negatives_en", "negatives_zh"), 30)


def test_second_set_repeats_no_name_and_no_question():
    every = TASKS + NEGATIVES
    first = [one["question"] for one in questions_of(HERE / "questions", [])]
    assert all(list(one) == FIELDS for one in every)
    assert len({one["qid"] for one in every}) == len(every)
    assert len({one["question"] for one in every} | set(first)) == len(every) + len(first)


def test_second_set_is_asked_after_the_last_message():
    last = {name: max(datetime.fromisoformat(one["createdAt"]) for one in history) for name, history in HISTORIES.items()}
    assert all(datetime.fromisoformat(one["asked_at"]) > last[one["ws"]] for one in TASKS + NEGATIVES)
    assert {one["ws"] for one in TASKS} == {one["ws"] for one in NEGATIVES} == HISTORIES.keys()


def test_second_set_tasks_cite_one_to_three_messages_of_their_talk():
    ids = {name: {message["id"] for message in history} for name, history in HISTORIES.items()}
    for one in TASKS:
        assert 1 <= len(one["evidence"]) <= 3, one["qid"]
        assert all(one["evidence"]), one["qid"]
        assert {found for either in one["evidence"] for found in either} <= ids[one["ws"]], one["qid"]
        assert one["answer"], one["qid"]


def test_second_set_negatives_cite_nothing():
    assert not any(one["evidence"] or one["answer"] for one in NEGATIVES)


@pytest.mark.parametrize("dataset", ["tasks_en", "tasks_zh"])
def test_second_set_tasks_are_a_third_long_and_a_third_one_name(dataset):
    tasks = [one for one in TASKS if one["dataset"] == dataset]
    kinds = Counter(one["category"] for one in tasks)
    assert kinds.keys() == {"writing", "planning", "question", "one name", "common words", "colloquial"}
    assert sum(is_long(one["question"]) for one in tasks) >= 10
    assert kinds["one name"] >= 10
    assert kinds["common words"] >= 3


@pytest.mark.parametrize("dataset", ["negatives_en", "negatives_zh"])
def test_second_set_negatives_are_of_seven_kinds(dataset):
    kinds = {one["category"] for one in NEGATIVES if one["dataset"] == dataset}
    assert kinds == {"general knowledge", "code", "translation", "greeting", "thanks", "small talk", "never spoken of"}


@pytest.mark.parametrize("name", ["maeve", "ruoxi"])
def test_second_set_conversations_are_in_order_with_unique_ids(name):
    history = HISTORIES[name]
    ids = [message["id"] for message in history]
    times = [message["createdAt"] for message in history]
    assert len(history) >= 140
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)  # a ULID begins with its time
    assert times == sorted(times)
    assert {message["role"] for message in history} == {"user", "assistant"}
    assert all(message["text"].strip() for message in history)
