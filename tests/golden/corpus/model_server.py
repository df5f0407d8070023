"""A model behind OpenAI's chat completions: it quotes its material, or fails as the name of the model says."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any

from tests.loopback import Handler, Loopback

#: What the model of that name answers: a status and the text of an error.
FAULTS = {
    "refused-key": (401, "no such key"),
    "unknown": (404, "no such model"),
    "busy": (429, "slow down"),
    "broken": (500, "boom"),
}
TEXTS = {"empty": "", "refusing": "I'm sorry, but I can't help with that.", "vague": "They talked about several things."}
#: What a line of the material begins with: time and role.
_HEAD = re.compile(r"^(?:[0-9:]+ )?(?:user|assistant|USER|ASSISTANT)(?: \([^)]*\)|（[^）]*）)?: ")
#: A line of the material with words that are worth a summary.
_TELLING = re.compile(r"[0-9]")
_MOST = 6


def written(model: str, asked: str, prompt: str) -> str:
    """Return the model's text: lines of its prompt that have a number, as bullets or, for one line, after each other."""
    if model in TEXTS:
        return TEXTS[model]
    if "test of the connection" in prompt or "连接测试" in prompt:
        return "ready"
    material = prompt.partition("```\n")[2].rpartition("\n```")[0]
    said = [_HEAD.sub("", line.strip()) for line in material.splitlines()]
    told = [line for line in said if _TELLING.search(line)][:_MOST] or ["Nothing to record"]
    is_line = "one line" in asked or "一行" in asked
    return "; ".join(told) if is_line else "## Notes\n\n" + "\n".join(f"- {line}" for line in told)


class _Handler(Handler):
    server: ModelServer

    def do_GET(self) -> None:  # noqa: N802 - the name of http.server
        stage, _, path = self.path.strip("/").partition("/")
        if path == "asked":
            self.send_body(200, json.dumps(self.server.asked.pop(stage, [])).encode())
        else:
            models = [{"id": "good", "object": "model", "context_length": 8192}, {"id": "small", "context_length": 2048}]
            self.send_body(200, json.dumps({"object": "list", "data": models}).encode())

    def do_POST(self) -> None:  # noqa: N802 - as above
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stage = self.path.strip("/").partition("/")[0]
        self.server.asked[stage].append({key: value for key, value in body.items() if key != "stream_options"})
        if body["model"] in FAULTS:
            status, why = FAULTS[body["model"]]
            self.send_body(status, json.dumps({"error": {"message": why}}).encode())
            return
        text = written(body["model"], body["messages"][0]["content"], body["messages"][-1]["content"])
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        parts = [
            {"delta": {"role": "assistant", "content": text}, "index": 0},
            {"delta": {}, "index": 0, "finish_reason": "stop"},
        ]
        chunks = [
            {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": body["model"], "choices": [one]}
            for one in parts
        ]
        chunks.append({**chunks[0], "choices": [], "usage": usage})
        text = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
        self.send_body(200, text.encode(), ("Content-Type", "text/event-stream"))


class ModelServer(Loopback):
    """The server; what each scene asked is in *asked* until the scene takes it."""

    handler = _Handler

    def __init__(self) -> None:
        super().__init__()
        self.asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.address = self.url.removesuffix("/v1")
