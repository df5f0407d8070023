"""
Who writes the line of a session: the program's own model, else the configured one, else an extract (protocol.md, 11.2).

The worker alone talks to the configured model, and alone makes extracts. Here one is started for each call: a line is wanted at
once, and a person or a turn waits for it.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

from supervisor.conversation.asking import in_loop_of_its_own
from supervisor.conversation.session_lines import extract_line
from supervisor.conversation.summarizer import ConversationSummarizer
from supervisor.protocol.errors import NoSummary
from supervisor.protocol.prompts import load_template
from supervisor.service.workers import worker_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from supervisor.conversation.asking import ChatStream
    from supervisor.protocol.prompts import PromptTemplate
    from supervisor.text.language import Language
    from supervisor.workspace import Workspace


def session_writer(
    ws: Workspace, llm: ChatStream | None, prompt: str, environ: Mapping[str, str]
) -> Callable[[Sequence[dict[str, Any]]], str]:
    """Return what writes the line of a session: *llm*, else the configured model, with this prompt; without one an extract."""
    worker = WorkerModel(ws.paths.root, environ)
    if llm is None and ws.extracting:
        return lambda messages: extract_line(worker.extract(messages))

    def template(name: str, language: Language) -> PromptTemplate:
        return load_template(prompt if name == "conversation-to-memory" else name, language, ws.files, ws.paths)

    writer = ConversationSummarizer(
        llm or worker, ws.config.summarize.char_limit, template=template, timeout=ws.config.llm.timeout
    )
    return lambda messages: in_loop_of_its_own(writer.summarize_conversation(messages))


class WorkerModel:
    """
    The configured model, for `ConversationSummarizer`: each call is made by a worker, and is one of the day's.

    *environ* are variables beside those of this process.
    """

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self._root = root
        self._environ = environ

    def chat_stream(self, *, messages: list[dict[str, Any]], temperature: float) -> Iterator[str]:  # noqa: ARG002 - llm.temperature
        """Yield the answer; NoSummary with the worker's sentence where there is none."""
        yield self._ask("--complete", messages[-1]["content"])

    def extract(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return an extract of the messages, without a model; "" if they are nothing but courtesies."""
        return self._ask("--extract", json.dumps(messages))

    def _ask(self, how: str, text: str) -> str:
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
        found = json.loads(asked.stdout)
        if "error" in found:
            raise NoSummary(found["error"], found["reason"])
        return str(found["answer"])
