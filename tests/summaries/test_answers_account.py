"""What became of a model's answers, as `status` says it."""

from __future__ import annotations

from recalld.supervisor.checks.check import Look
from recalld.supervisor.checks.status import status
from recalld.supervisor.checks.table import verdict
from recalld.supervisor.protocol.config import load
from recalld.supervisor.summaries.llm_state import note_answer
from recalld.supervisor.summaries.retry import Answers


def test_answers_are_worse_than_extracts_after_20_refusals_of_the_last_30():
    account = Answers()
    for _ in range(19):
        account = account.with_one("vague", 0)
    assert not account.is_worse
    account = account.with_one("new", 0)
    assert account.is_worse
    assert account.refused == {"vague": 19, "new": 1}
    for _ in range(11):
        account = account.with_one(None, 1)
    assert not account.is_worse  # 19 of the last 30
    assert (account.accepted, account.unverified, len(account.recent)) == (11, 11, 30)


def test_status_says_by_model_what_became_of_its_answers(world):
    world.ws.config = load(b'[llm]\nmodel = "qwen3:8b"\nbase_url = "http://127.0.0.1:9/v1"\n', {})
    assert "models" not in status(Look(world.ws, world.clock(), {}))
    note_answer("qwen3:8b", None, 2, world.ws.model_use)
    for _ in range(20):
        note_answer("qwen3:8b", "copy", 0, world.ws.model_use)

    assert status(Look(world.ws, world.clock(), {}))["models"] == {
        "qwen3:8b": {"answersAccepted": 1, "unverified": 2, "answersRefused": 20, "reasons": {"copy": 20}}
    }
    told = verdict(Look(world.ws, world.clock(), {}))[0]
    assert [str(one) for one in told if "worse" in str(one)] == [
        "qwen3:8b writes worse summaries than extracts: 20 of its last 21 answers were refused; a larger model, or none, serves you better."
    ]
