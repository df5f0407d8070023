"""
Who writes the line of a session: the program's own model, else the configured one, else an extract (protocol.md, 11.2).

The worker alone talks to the configured model, and alone makes extracts. Here one is started for each call: a line is wanted at
once, and a person or a turn waits for it. What a call cost, and whether the provider is away, is noted as that of a task is.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.conversation.asking import in_loop_of_its_own
from recalld.supervisor.conversation.session_lines import extract_line
from recalld.supervisor.conversation.summarizer import ConversationSummarizer
from recalld.supervisor.host.workers import worker_command
from recalld.supervisor.protocol.prompts import load_template
from recalld.supervisor.protocol.task import Result
from recalld.supervisor.storage.clock import to_wire
from recalld.supervisor.storage.errors import NoSummary
from recalld.supervisor.summaries.llm_state import note_result, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from recalld.supervisor.conversation.asking import ChatStream
    from recalld.supervisor.protocol.prompts import PromptTemplate
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.text.language import Language
    from recalld.supervisor.workspace import Workspace


def session_writer(
    ws: Workspace, llm: ChatStream | None, prompt: str, environ: Mapping[str, str], clock: Clock
) -> Callable[[Sequence[dict[str, Any]]], str]:
    """Return what writes the line of a session: *llm*, else the configured model, with this prompt; without one an extract."""
    worker = WorkerModel(ws, environ, clock)
    if llm is None and ws.extracting:
        return lambda messages: extract_line(worker.extract(messages))

    def template(name: str, language: Language) -> PromptTemplate:
        return load_template(prompt if name == "conversation-to-memory" else name, language, ws.files, ws.paths)

    writer = ConversationSummarizer(llm or worker, ws.config.summarize.char_limit, template=template, config=ws.config)
    return lambda messages: in_loop_of_its_own(writer.summarize_conversation(messages))


class WorkerModel:
    """
    The configured model, for `ConversationSummarizer`: each call is made by a worker, and is one of the day's.

    *environ* are variables beside those of this process.
    """

    #: `llm.timeout` begins when the worker calls, which is later than here: it would never get to tell, and note, a silence.
    keeps_time: Final = True

    def __init__(self, ws: Workspace, environ: Mapping[str, str], clock: Clock) -> None:
        self._root, self._use = ws.paths.root, ws.model_use
        self._environ = environ
        self._clock = clock

    def chat_stream(self, *, messages: list[dict[str, Any]], temperature: float) -> Iterator[str]:  # noqa: ARG002 - llm.temperature
        """Yield the answer; NoSummary, with a sentence, where there is none, or where the model may not be asked now."""
        started = self._clock()
        if refused := refusal(started, self._use):
            raise refused
        found = self._ask("--complete", messages[-1]["content"])
        if found.get("reason") != "spent":  # by another process meanwhile: nothing was asked
            note_result(_result_of(found, started), self._clock(), self._use)
        yield _answer_in(found)

    def extract(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return an extract of the messages, without a model; "" if they are nothing but courtesies."""
        return _answer_in(self._ask("--extract", json.dumps(messages)))

    def _ask(self, how: str, text: str) -> dict[str, Any]:
        """Return what a worker reports; NoSummary with its sentence if it can't work."""
        asked = subprocess.run(
            [*worker_command(self._root), how, "--json"],
            input=text.encode("utf-8", "replace"),
            capture_output=True,
            check=False,
            env={**os.environ, **self._environ},
        )
        if asked.returncode:
            sentence = asked.stderr.decode("utf-8", "replace").strip().removeprefix("recalld worker: ").removesuffix(".")
            raise NoSummary(sentence, "provider")
        found: dict[str, Any] = json.loads(asked.stdout)
        return found


def _answer_in(found: Mapping[str, Any]) -> str:
    if "error" in found:
        raise NoSummary(found["error"], found["reason"], found.get("tooLong", False))
    return str(found["answer"])


def _result_of(found: Mapping[str, Any], started: datetime) -> Result:
    """Return what a worker reports of its call as the result of a task."""
    answered = "answer" in found
    return Result(
        id="",
        status="done" if answered else "failed",
        reason=None if answered else found["reason"],
        error=found.get("error", ""),
        retry_after_s=found.get("retryAfterS", 0),
        usage=found["usage"],
        started_at=to_wire(started),
    )
