from collections.abc import Iterator
from typing import Any

import pytest

from tests.http.service import Service
from tests.process.command import until
from tests.proxy.model_server import ModelServer, chat
from tests.world import WITHOUT_MODEL

MEMORY = "2026-01-10|web-chat|我对花生过敏，点外卖要备注\n2026-01-11|web-chat|部署放到周五\n"


class Proxied:
    """The service over a workspace with two memories, in front of a model's server that a test plays."""

    def __init__(self, service: Service, model: ModelServer) -> None:
        self.service, self.model = service, model

    def play(self, *replies: Any) -> None:
        """Let the server answer so from now on."""
        self.model.replies[:] = replies
        self.model.got.clear()

    def configure(self, toml: str) -> None:
        """Let these sections be added to the configuration."""
        self.service.world.reopen(f'{WITHOUT_MODEL}{toml}[serve]\nupstream = "{self.model.url}"\n')

    def post(self, path: str, body: Any, **headers: Any) -> Any:
        return self.service.ask("POST", path, body, **headers)

    def ask(self, *said: str, session: str = "s", **headers: Any) -> Any:
        """The answer to a chat completion in which user and assistant have said this in turn."""
        roles = ("user", "assistant")
        messages = [{"role": roles[n % 2], "content": one} for n, one in enumerate(said)]
        named = {"X-Recalld-Session": session.encode()} if session else {}
        return self.post("/v1/chat/completions", {"model": "m", "messages": messages}, **named, **headers)

    def history(self, count: int) -> list[dict[str, Any]]:
        """The messages of history.json, once there are so many: they are written while the client has its answer."""
        until(lambda: len(self.service.world.history()) >= count)
        return self.service.world.history()

    def kept(self, count: int) -> list[tuple[str, str]]:
        """Role and words of the messages."""
        return [(one["role"], one["text"]) for one in self.history(count)]

    @property
    def faults(self) -> list[str]:
        return [str(one["why"]) for one in self.service.world.events.of("proxy_failed")]


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(chat("好。")) as found:
        yield found


@pytest.fixture
def proxied(tmp_path, model) -> Iterator[Proxied]:
    toml = f'{WITHOUT_MODEL}[recall]\ntimeout_ms = 60000\n[serve]\nupstream = "{model.url}"\n'
    with Service(tmp_path / "工作区", toml) as service:
        service.world.put("memory.md", MEMORY)
        service.world.settle()
        found = Proxied(service, model)
        found.play(chat("好。"))
        yield found
