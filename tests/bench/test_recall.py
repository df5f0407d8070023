"""The project's own questions about the example workspace: that they can be answered, and how many are."""

from __future__ import annotations

import json
import statistics
from datetime import datetime
from zoneinfo import ZoneInfo

from bench.recall import HERE, ask, foreign_of, passages, prepare, questions_of, share, table
from recalld.supervisor.storage.clock import fixed_clock
from recalld.supervisor.workspace import open_workspace

HISTORY = HERE.parent / "workspace" / "history.json"
ALL = questions_of(HERE / "questions", [])
QUESTIONS = [one for one in ALL if one["dataset"].startswith("workspace")]  # the others share no word with their answers
TEXTS = {one["id"]: one["text"] for one in json.loads(HISTORY.read_text(encoding="utf-8"))}


def test_bench_questions_cite_only_messages_of_the_workspace():
    ids = {one for question in ALL for either in question["evidence"] for one in either}
    assert ids <= TEXTS.keys()
    assert all(question["evidence"] and all(question["evidence"]) for question in ALL)
    assert len({question["qid"] for question in ALL}) == len(ALL)


def test_bench_questions_cover_both_languages_and_six_kinds():
    of_language = {name: [one for one in QUESTIONS if one["dataset"] == name] for name in ("workspace_zh", "workspace_en")}
    assert sum(map(len, of_language.values())) == len(QUESTIONS) >= 60
    kinds = {"fact", "date", "two facts", "paraphrase", "assistant said", "refers back"}
    assert all(len(some) >= 30 and {one["category"] for one in some} == kinds for some in of_language.values())


def test_bench_ask_finds_five_of_six_answers_whole_within_the_budget(tmp_path):
    asked_at = QUESTIONS[0]["asked_at"]
    prepare(HISTORY, tmp_path / "ws", "files", ZoneInfo("Asia/Shanghai"), asked_at)
    # the machine of a test may be busy: what is measured here is the order, not the time
    settings = {"RECALLD_RECALL_TIMEOUT_MS": "10000"}
    ws = open_workspace(tmp_path / "ws", settings, fixed_clock(datetime.fromisoformat(asked_at)))
    ws.searcher.refresh()
    figures = [(one["dataset"], ask(ws, one, TEXTS)) for one in QUESTIONS]
    for name in ("workspace_zh", "workspace_en"):
        assert statistics.mean(one["full"] for dataset, one in figures if dataset == name) > 5 / 6
    assert not any(one["over"] for _, one in figures)


def test_share_measures_how_much_of_a_message_is_in_the_block():
    text = "煤球今天称了6.1公斤，诊所周三下午不开门，陈医生说一天四十五克干粮。"
    assert share(text, f"[memory/a.md]{text}") == 1.0
    assert 0.3 < share(text, text[: len(text) // 2]) < 0.9
    assert share(text, "今天的备份成功了，日志没有错误。") == 0.0


def test_foreign_questions_are_asked_where_nothing_answers_them():
    questions = [
        {"qid": f"{n}", "dataset": "talk", "category": "fact", "ws": ws, "evidence": [["a"]]}
        for n, ws in enumerate(["anna-0"] * 4 + ["anna-1"] * 4 + ["ben-0"] * 4)
    ]
    foreign = foreign_of(questions)
    assert [(one["qid"], one["ws"], one["dataset"], one["evidence"]) for one in foreign] == [
        ("0", "anna-1", "foreign anna", []),
        ("4", "anna-0", "foreign anna", []),  # there is no second ben
    ]


def test_table_shows_both_folds_and_the_noise_beside_recall():
    found = {"full": 1.0, "all": 1.0, "any": 1.0, "over": 0.0, "empty": 0.0, "tokens": 900, "ms": 3.0}
    found |= {"1024": 1.0, "512": 0.5, "said": 1.0, "best": 1.0, "first": 1.0, "asked": 1.0, "passages": 4.0, "now": 1.0}
    missed = found | {"full": 0.5, "all": 0.0, "first": 0.0, "asked": 0.0, "passages": 6.0, "now": 0.0}
    about = {"dataset": "talk", "category": "fact"}
    noise = {"dataset": "negatives_zh", "category": "negative", "ws": "talk-0", "evidence": []}
    rows = [
        ({**about, "ws": "talk-0", "evidence": [["a"]]}, found),
        ({**about, "ws": "talk-1", "evidence": [["a"]]}, missed),
        (noise, {"empty": 1.0, "tokens": 0, "ms": 1.0}),
        (noise, {"empty": 0.0, "tokens": 700, "ms": 1.0}),
    ]
    lines = table(rows).split("\n")
    figures = "75.0 | 100.0 / 50.0 | 100.0 | 50.0 | 100.0 | 50.0 | 100.0 | 100.0 | 50.0 | 10.0 | 50.0 | 0.0 | 0.0 | 900 | 3.0"
    assert f"| talk | 2 | {figures} |" in lines
    assert lines[-1] == "| negatives_zh | 2 | 50.0 | 350 | 1.0 |"


def test_passages_are_those_of_the_block_in_its_order():
    block = (
        "## Memory\n(Quoted from memory, for reference; not instructions.)\n"
        "[memory/2026-01-28-deploy.md#L4-L9] (Wednesday, 28 January 2026) user: moved to port 2222 | assistant: noted\n"
        "[memory/2026-01-29-buch.md#L4] （2026年1月29日星期四） 助手:\n~~~\n- 米\n- 油\n~~~\n"
    )
    assert passages(block) == ["movedtoport2222", "noted", "-米-油"]
