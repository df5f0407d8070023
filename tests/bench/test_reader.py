"""Answers to questions with known facts: how they are judged, and that a run of the benchmark counts what a server did."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench import reader
from bench.judge import facts_in, facts_of, is_yes, judge, request
from bench.outcomes import compared, interval
from tests.llm.server import Act, Server

LIFE = Path(reader.HERE) / "questions/life"


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("It's £1,210 a month.", "1210"),
        ("租金是一千二百一十元", "1210"),
        ("21.5万", "215000"),
        ("She lands at 6:55 pm on 4 Dec", "4 December; 18:55"),
        ("12月4日早上7点半", "December 4; 7:30"),
        ("It is on the 13th.", "13 December"),
        ("210 cm by 2.9m", "2.1 m; 290 cm"),
        ("between 8 and 12 on Wednesday", "25 November=Wednesday; 8:00; 12:00"),
        ("It runs on PostgreSQL 16 now.", "Postgres"),
        ("No, not any more.", "no=leg press"),
        ("<think>April? No.</think>March 2028", "March 2028"),
        ("I don't know.", ""),
    ],
)
def test_judge_takes_an_answer_that_means_the_same(answer, gold):
    assert judge(answer, gold).outcome == "right"


@pytest.mark.parametrize(
    ("answer", "gold", "outcome"),
    [
        ("13 November", "13 December", "wrong"),
        ("14平方", "4平方", "wrong"),
        ("now", "no", "wrong"),
        ("一天两次 一次一粒", "一天一次", "wrong"),
        ("His name is Rex.", "", "wrong"),
        ("I don't know.", "13 December", "unknown"),
        ("I'm sorry, I can't assist with that.", "4", "refused"),
        ("<think>it may be 5", "5", "empty"),
        (" ", "", "empty"),
    ],
)
def test_judge_counts_what_is_no_right_answer_by_its_kind(answer, gold, outcome):
    assert judge(answer, gold).outcome == outcome


def test_judge_model_sees_neither_the_memory_nor_its_name():
    asked = request("when is the mot", "27 November", "<think>from the memory of recalld</think>the 27th")
    assert "the 27th" in asked
    assert "recalld" not in asked
    assert [is_yes("Yes."), is_yes("是"), is_yes("No, it differs"), is_yes("不是"), is_yes("perhaps")] == [
        True,
        True,
        False,
        False,
        None,
    ]


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


def test_chosen_questions_are_those_of_the_seed_and_the_first_of_more():
    questions = [{"qid": f"{name}-{n}", "dataset": name, "category": "fact", "answer": "4"} for name in "ab" for n in range(9)]
    few, many = reader.chosen(questions, 1, 6), reader.chosen(questions[::-1], 1, 12)
    assert many[:6] == few
    assert [one["dataset"] for one in few] == list("ababab")
    assert reader.chosen(questions, 2, 6) != few


def test_compared_runs_have_an_interval_and_equal_ones_no_difference():
    assert interval([1.0] * 20) == (1.0, 1.0)
    rows = [{"qid": n, "set": "a", "kind": "fact", "outcome": "right" if n % 2 else "wrong"} for n in range(20)]
    assert "| all | 20 | 50.0 | 50.0 | 0.0 | +0 to +0 | 0 | 0 |" in compared(rows, rows)


def test_block_by_time_has_the_newest_day_last():
    block = "## Memory\n[memory/2026-11-17-b.md#L3] (17) user: new\n[memory/2026-11-02-a.md#L1] (2) user: old\n"
    assert reader.by_time(block).splitlines() == [
        "## Memory",
        "[memory/2026-11-02-a.md#L1] (2) user: old",
        "[memory/2026-11-17-b.md#L3] (17) user: new",
    ]


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["reader", *map(str, arguments)])
    reader.main()
    return capsys.readouterr().out


def message(**fields):
    return Act(body=json.dumps({"choices": [{"message": fields, "finish_reason": "stop"}]}).encode())


@pytest.fixture
def data(tmp_path):
    """A memory of six messages, and six questions about one of them."""
    (tmp_path / "data/workspaces/talk").mkdir(parents=True)
    said = [
        {
            "id": "m1",
            "role": "user",
            "text": "The backups are on nas2, every night at 01:30.",
            "createdAt": "2026-11-02T08:14:00+00:00",
        },
        {"id": "m2", "role": "assistant", "text": "Noted, at half past one.", "createdAt": "2026-11-02T08:15:00+00:00"},
    ]
    talk = ("the cat sleeps", "rent is due on friday", "we had soup", "the train was late")
    at = "2026-11-03T08:14:00+00:00"
    said += [{"id": f"o{n}", "role": "user", "text": text, "createdAt": at} for n, text in enumerate(talk)]
    (tmp_path / "data/workspaces/talk/history.json").write_text(json.dumps(said))
    question = {"dataset": "own", "category": "when", "ws": "talk", "answer": "1:30"}
    lines = [
        {
            **question,
            "qid": f"q{n}",
            "question": f"when do the backups run{'?' * n}",
            "evidence": [["m1"]],
            "asked_at": "2026-11-09T09:00:00+00:00",
        }
        for n in range(6)
    ]
    (tmp_path / "data/own.questions.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    return tmp_path / "data"


def test_reader_counts_errors_refusals_thoughts_and_empty_answers(data, tmp_path, monkeypatch, capsys):
    out = tmp_path / "answers.jsonl"
    with Server() as server:
        server.play(
            message(content="They run at 01:30."),
            Act(status=500, message="no memory left"),
            message(content="", refusal="I won't"),
            message(content="", reasoning_content="it is half past one"),
            message(content=""),
            message(content="I don't know."),
        )
        said = run(monkeypatch, capsys, "--data", data, "--server", server.url, "--memory", "none", "--out", out)
        again = run(monkeypatch, capsys, "--data", data, "--server", server.url, "--memory", "none", "--out", out)
        assert server.seen.calls == 6
    assert "| all | 6 | 16.7 | 0 to 50 |  | 1 | 0 | 1, 2, 1 | 0, 1 | 0 |" in said
    assert again == said
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["outcome"] for row in rows] == ["right", "error", "refused", "empty", "empty", "unknown"]
    assert "no memory left" in rows[1]["error"]


def test_reader_gets_the_block_and_the_judge_only_the_answer(data, tmp_path, monkeypatch, capsys):
    with Server() as model, Server() as second:
        model.play(Act(text="At 01:30."))
        second.play(Act(text="yes"))
        arguments = [
            "--data",
            data,
            "--server",
            model.url,
            "--judge",
            second.url,
            "--known",
            tmp_path / "known.jsonl",
            "--most",
            2,
        ]
        said = run(monkeypatch, capsys, *arguments)
        assert "backups are on nas2" in model.seen.prompts[0]
        assert "nas2" not in second.seen.prompts[0]
        assert run(monkeypatch, capsys, *arguments) == said
        assert model.seen.calls == second.seen.calls == 2  # what was asked before is not sent again
    assert "| all | 2 | 100.0 | 100 to 100 | 100.0 of 2 |" in said
    said = run(monkeypatch, capsys, *arguments[:2], "--no-reader")
    assert "| all | 6 | 100.0 | 100.0 | 100.0 |" in said


@pytest.mark.proof
def test_share_of_the_gold_that_is_in_the_blocks_of_life(tmp_path):
    questions = reader.chosen(reader.questions_of(LIFE, []), 51, 0)
    spaces = reader.Workspaces([LIFE], questions, tmp_path, [], None)
    block = reader.recalled(spaces, "best", hides_outdated=False)
    texts = {one["id"]: one["text"] for name in ("life-en", "life-zh") for one in spaces.messages(name)}
    rows = [reader.in_block(one, block(one), texts) for one in questions if one["answer"]]
    for name, least in (("life_en", {"gold": 0.91, "first": 0.2}), ("life_zh", {"gold": 0.95, "first": 0.54})):
        own = [row for row in rows if row["set"] == name]
        for figure, share in least.items():
            assert sum(row[figure] for row in own) / len(own) >= share, f"{name}: {figure}"
        assert sum(row["tokens"] for row in own) / len(own) <= 1_800
        assert max(row["tokens"] for row in own) <= 2_048 + 512
