"""Answers to questions with known facts: how they are judged, and that a run of the benchmark counts what a server did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import reader
from bench.judge import facts_in, facts_of, judge

LIFE = Path(reader.HERE) / "questions/life"


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("It's £1,210 a month.", "1210"), ("租金是一千二百一十元", "1210"), ("21.5万", "215000"),
        ("She lands at 6:55 pm on 4 Dec", "4 December; 18:55"), ("12月4日早上7点半", "December 4; 7:30"),
        ("It is on the 13th.", "13 December"), ("210 cm by 2.9m", "2.1 m; 290 cm"),
        ("between 8 and 12 on Wednesday", "25 November=Wednesday; 8:00; 12:00"), ("It runs on PostgreSQL 16 now.", "Postgres"),
        ("No, not any more.", "no=leg press"), ("<think>April? No.</think>March 2028", "March 2028"), ("I don't know.", ""),
    ],
)  # fmt: skip
def test_judge_takes_an_answer_that_means_the_same(answer, gold):
    assert judge(answer, gold).outcome == "right"


@pytest.mark.parametrize(
    ("answer", "gold", "outcome"),
    [
        ("13 November", "13 December", "wrong"), ("14平方", "4平方", "wrong"), ("now", "no", "wrong"),
        ("一天两次 一次一粒", "一天一次", "wrong"), ("His name is Rex.", "", "wrong"), ("I don't know.", "13 December", "unknown"),
        ("I'm sorry, I can't assist with that.", "4", "refused"), ("<think>it may be 5", "5", "empty"), (" ", "", "empty"),
    ],
)  # fmt: skip
def test_judge_counts_what_is_no_right_answer_by_its_kind(answer, gold, outcome):
    assert judge(answer, gold).outcome == outcome


@pytest.mark.parametrize("language", ["en", "zh"])
def test_gold_answers_of_life_stand_in_their_evidence(language):
    history = json.loads((LIFE / f"workspaces/life-{language}/history.json").read_text(encoding="utf-8"))
    texts = {one["id"]: one["text"] for one in history}
    questions = reader.chosen(reader.questions_of(LIFE, [f"life_{language}"]), 51, 0)
    assert len(questions) >= 60
    assert {reader.kind_of(one) for one in questions} == {*reader.KINDS, "fact"}
    for one in questions:
        said = "\n".join(texts[name] for either in one["evidence"] for name in either)
        assert facts_in(said, one["answer"]) == len(facts_of(one["answer"])), one["qid"]


@pytest.mark.proof
@pytest.mark.parametrize(
    ("name", "gold", "first"), [("life_en", 0.91, 0.2), ("life_zh", 0.95, 0.54)], ids=lambda part: str(part).rpartition("_")[2]
)
def test_share_of_the_gold_that_is_in_the_blocks_of_life(tmp_path, name, gold, first):
    questions = reader.chosen(reader.questions_of(LIFE, [name]), 51, 0)
    spaces = reader.Workspaces([LIFE], questions, tmp_path, [], None)
    block = reader.recalled(spaces, "best", hides_outdated=False)
    texts = {one["id"]: one["text"] for one in spaces.messages(name.replace("_", "-"))}
    rows = [reader.in_block(one, block(one), texts) for one in questions if one["answer"]]
    assert sum(row["gold"] for row in rows) / len(rows) >= gold
    assert sum(row["first"] for row in rows) / len(rows) >= first
    assert sum(row["tokens"] for row in rows) / len(rows) <= 1_800
    assert max(row["tokens"] for row in rows) <= 2_048 + 512
