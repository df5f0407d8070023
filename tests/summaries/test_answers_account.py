"""What became of a model's answers, as `status` says it."""

import asyncio
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from recalld.supervisor.checks.check import Look
from recalld.supervisor.checks.table import status, verdict
from recalld.supervisor.conversation.session_lines import ConversationSummarizer
from recalld.supervisor.conversation.sessions import session_group
from recalld.supervisor.protocol.config import load
from recalld.supervisor.protocol.llm import load_template
from recalld.supervisor.storage.errors import NoSummary
from recalld.supervisor.summaries.llm_state import note_answer
from recalld.supervisor.summaries.model import QueuedModel
from recalld.supervisor.summaries.schedule import Verdicts
from recalld.worker.desk import FolderDesk
from recalld.worker.loop import Worker
from recalld.worker.providers import Completion, ProviderError, Usage
from tests.world import message

CONFIG = load(b'[llm]\nmodel = "qwen3:8b"\nbase_url = "http://127.0.0.1:9/v1"\n', {})
SESSION = "家里"


@pytest.mark.parametrize(
    ("accepted", "refused", "is_worse"),
    [(0, 2, False), (0, 3, True), (1, 8, False), (5, 5, False), (4, 6, True), (20, 14, False), (20, 16, True)],
)
def test_model_is_worse_where_all_of_few_or_most_of_many_are_refused(accepted, refused, is_worse):
    account = Verdicts()
    for reason in (*(None,) * accepted, *("vague",) * refused):
        account = account.with_one(reason)
    assert account.is_worse == is_worse
    assert (account.accepted, account.refused.get("vague", 0)) == (accepted, refused)


def test_status_says_by_model_what_became_of_its_answers(world):
    world.ws.config = CONFIG
    assert "models" not in status(Look(world.ws, world.clock()))
    note_answer("qwen3:8b", None, world.ws.model_use)
    for _ in range(20):
        note_answer("qwen3:8b", "copy", world.ws.model_use)

    assert status(Look(world.ws, world.clock()))["models"] == {
        "qwen3:8b": {"answersAccepted": 1, "answersRefused": 20, "reasons": {"copy": 20}}
    }
    told = verdict(Look(world.ws, world.clock()))[0]
    assert [str(one) for one in told if "larger model" in str(one)] == [
        "of the last answers of qwen3:8b (21) most were refused (20), and extracts stand in their place: the model's answer was a copy of its material. A larger model, or none, serves you better."
    ]


class Scribe:
    """A model behind the worker that gives these answers in turn."""

    name, model, extract = "scribe", "qwen3:8b", False

    def __init__(self, *answers: str) -> None:
        self.answers = iter(answers)

    def complete(self, _prompt: object, **_: object) -> Completion:
        if text := next(self.answers):
            return Completion(text, Usage(1, 7, 7))
        raise ProviderError("truncated", "…", usage=Usage())


def test_status_counts_the_answers_for_the_line_of_a_session(world):
    world.ws.config = CONFIG
    world.write([message("1", "2026-01-30T09:00", "记住：我对青霉素过敏，护照 2027-05-01 到期。", session=SESSION)])
    scribe: Any = Scribe("用户对青霉素过敏，护照 2027-05-01 到期", '{"summary": "用户对青霉素', "Nothing to record.", "")
    worker = Worker(FolderDesk(world.files, world.paths, CONFIG), scribe, world.clock)
    at_hand: Any = SimpleNamespace(ensure=lambda **_: worker.run_once(asked_only=True))
    template = partial(load_template, files=world.files, paths=world.paths)

    def write(messages: Any) -> str:
        model = QueuedModel(session_group(SESSION), 0, world.ws.model_use, at_hand, world.clock)
        return asyncio.run(
            ConversationSummarizer(model, 2_000, template=template, config=CONFIG).summarize_conversation(messages)
        )

    assert "青霉素" in world.ws.session_lines.summarize(SESSION, write, world.clock()).text
    later = world.clock() + timedelta(hours=1)
    with pytest.raises(NoSummary):
        world.ws.session_lines.summarize(SESSION, write, later, again=True)
    assert world.ws.session_lines.summarize(SESSION, write, later, again=True) is None, "it is believed"
    with pytest.raises(NoSummary):
        world.ws.session_lines.summarize(SESSION, write, later, again=True)

    assert status(Look(world.ws, world.clock()))["models"] == {
        "qwen3:8b": {
            "answersAccepted": 1,
            "answersRefused": 2,
            "reasons": {"data": 1, "truncated": 1},
        }
    }
