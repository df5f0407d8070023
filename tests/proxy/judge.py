"""
The libraries of clients through the proxy, and at the bare server: the same answer, and the same request but for memory.

    python -m tests.proxy.judge PYTHON [NAME …]        PYTHON has some of the libraries (script/test-proxy)

Each client asks the server itself, and then through the proxy. What the server got both times is compared, value by
value, once the block is taken out, and so are the headers; then what is kept is looked at.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.http.service import Service
from tests.patience import PATIENCE_S
from tests.proxy.clients import CLIENTS, QUESTION
from tests.proxy.conftest import MEMORY, Proxied
from tests.proxy.model_server import (
    Got,
    ModelServer,
    Reply,
    chat,
    chat_stream,
    message,
    message_stream,
    response,
    response_stream,
)
from tests.world import WITHOUT_MODEL

ANSWER = "花生。"
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
USE = {"type": "tool_use", "id": "tool_1", "name": "look", "input": {}}
#: Headers that are of the way, or differ each time.
OF_THE_WAY = {"host", "authorization", "x-api-key", "accept-encoding", "connection", "content-length", "idempotency-key"}


class Answering(ModelServer):
    """Answers each request as its protocol wants it: a call where a tool is offered and was not called, else the answer."""

    def __init__(self) -> None:
        super().__init__(chat(ANSWER))

    def next(self) -> Reply:
        got = self.got[-1]
        body = got.json
        calls = body.get("tools") and len(body["messages"]) == 1
        if got.path.startswith("/v1/messages"):
            return message(USE, ended="tool_use") if calls else message_stream("花生", "。") if body.get("stream") else ANSWERED
        if got.path.startswith("/v1/responses"):
            return response_stream("花生", "。") if body.get("stream") else response(ANSWER)
        return chat(tool_calls=[CALL]) if calls else chat_stream("花生", "。") if body.get("stream") else chat(ANSWER)


ANSWERED = message({"type": "text", "text": ANSWER})


def main(argv: list[str]) -> int:
    python, names = argv[0], argv[1:] or [*CLIENTS]
    failed = 0
    with Answering() as model, tempfile.TemporaryDirectory() as folder:
        toml = f'{WITHOUT_MODEL}[recall]\ntimeout_ms = 5000\n[serve]\nupstream = "{model.url}"\n'
        for name in names:
            with Service(Path(folder) / name, toml) as service:
                service.world.put("memory.md", MEMORY)
                service.world.settle()
                why = judged(name, python, Proxied(service, model))
            print(f"{name:26} {why or 'the same'}", flush=True)
            failed += bool(why) and not why.startswith("SKIPPED")
    return 1 if failed else 0


def judged(name: str, python: str, proxied: Proxied) -> str:
    """Return what differs, "" for nothing."""
    model = proxied.model
    model.got.clear()
    bare = ran(python, name, model.url, "bare")
    if isinstance(bare, int):
        return "SKIPPED: the library is not there" if bare == 69 else "it fails at the bare server"
    alone = [*model.got]
    model.got.clear()
    through = ran(python, name, f"{proxied.service.url}/v1", proxied.service.token)
    if through != bare:
        return f"answers {through!r}, and {bare!r} at the bare server"
    if why := next(filter(None, map(difference, alone, model.got)), "") or (
        "" if len(alone) == len(model.got) else "more requests"
    ):
        return why
    kept = proxied.kept(2)
    return "" if kept == [("user", QUESTION), ("assistant", ANSWER)] else f"kept is {kept}"


def difference(bare: Got, through: Got) -> str:
    if (bare.method, bare.path) != (through.method, through.path):
        return f"asks {through.path} in place of {bare.path}"
    theirs, ours = ({k: v for k, v in one.headers.items() if k not in OF_THE_WAY} for one in (bare, through))
    if theirs != ours:
        return f"headers differ: {sorted(theirs.items() ^ ours.items())}"
    if without_memory(through.body) != bare.json:
        return "the body differs by more than memory"
    return "" if b"<memory>" in through.body else "there is no memory in it"


def without_memory(body: bytes) -> object:
    before, _, rest = body.partition(b"<memory>")
    return json.loads(before + rest.partition(b"</memory>\\n\\n")[2])


def ran(python: str, name: str, url: str, key: str) -> object:
    """Return what the client answers; its exit code if it has none."""
    done = subprocess.run(
        [python, Path(__file__).with_name("clients.py"), name, url, key],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    if done.returncode:
        print("\n".join(done.stderr.splitlines()[-8:]), file=sys.stderr)
        return done.returncode
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
