"""A workspace that answers by itself: its file turns, a worker and a scripted model, step by step in one process."""

import json
import re
from pathlib import Path
from typing import Any

from recalld.supervisor.host.answering import FileTurns
from recalld.supervisor.operations.assistant import LookingUp
from recalld.supervisor.operations.history import adder
from tests.llm.server import Act, Server
from tests.llm.shop import ServedWorld

MARK = re.compile(r"(?:标记：|this turn: )(k[0-9a-f]{10})")


def asked(identity: str, text: str, minute: int = 0, **more: Any) -> dict[str, Any]:
    return {"id": identity, "text": text, "createdAt": f"2026-01-31T01:{minute:02}:00.000Z", **more}


class TurningWorld(ServedWorld):
    """The workspace at *root*; *say* is what the model says to a question, *turns* lines of [turns]."""

    def __init__(self, root: Path, server: Server, turns: str = "") -> None:
        super().__init__(root, server, more=f'[turns]\nreply = "worker"\n{turns}\n')
        self.ws.prepare()
        self.turning()
        self.say = lambda prompt: f"答：{self.question_in(prompt)}"
        server.script = lambda _number, prompt: Act(text=self.say(prompt))

    def turning(self) -> None:
        """Let another program go on."""
        looking = LookingUp(lambda: self.ws, self.clock, keep_fresh=True)
        self.turns = FileTurns(
            self.ws, self.clock, adder(self.ws, self.clock), looking.look, looking.remember, steady=self.clock.monotonic
        )

    @staticmethod
    def question_in(prompt: str) -> str:
        """What was asked, without memory, time and mark."""
        return prompt.rsplit("\n\n", 1)[-1].strip()

    def turn(self, *inputs: Any) -> None:
        """Answer these *inputs*, or what waits; no more is done."""
        if inputs:
            self.ask(*inputs)
        for _ in range(60):
            wait_s = self.turns.step()
            worked = self.worker().run_once(asked_only=True)
            if wait_s >= 1 and not worked:
                return
        raise AssertionError("it never ends")

    def told(self) -> list[tuple[str, str]]:
        """The speaker and the words of each message of history.json."""
        return [(one["role"], one["text"]) for one in self.history()]

    def waiting(self) -> list[Any]:
        return self.json("inbox.json")

    def json(self, name: str) -> Any:
        return json.loads((self.root / name).read_bytes())

    def event_names(self) -> list[str]:
        return [name for name, _ in self.events.all]
