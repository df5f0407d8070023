"""A message that a command hands to a supervisor is added once, whatever ends or stops meanwhile."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.supervisor.interfaces.entry import _sent
from recalld.supervisor.interfaces.serve import Answers
from recalld.supervisor.interfaces.socket_server import parse_request
from recalld.supervisor.storage.clock import utc_now
from recalld.supervisor.workspace import open_workspace
from tests.patience import PATIENCE_S
from tests.process.command import Command

pytestmark = pytest.mark.proof


def stored(recalld: Command) -> list[dict[str, str]]:
    return json.loads((recalld.root / "history.json").read_text(encoding="utf-8"))


@contextlib.contextmanager
def ends_before_it_answers(root: Path) -> Iterator[None]:
    """A supervisor that does what it is asked, and is gone before it says so."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / ".recalld" / "socket"))
        listening.listen(1)

        def serve() -> None:
            line, _ = listening.accept()
            with line:
                request = parse_request(line.recv(1 << 16))
                assert request is not None
                with contextlib.suppress(BrokenPipeError):  # on a busy machine who asked may have gone
                    line.sendall(b"\n")
                Answers(lambda: open_workspace(root, {}, utc_now)).answer(request)

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join(PATIENCE_S)


def test_append_adds_once_though_the_supervisor_ends_before_it_answers(recalld, monkeypatch):
    for name in [name for name in recalld.environ if name.startswith("RECALLD_")]:
        monkeypatch.delenv(name, raising=False)
        del recalld.environ[name]
    (recalld.root / ".recalld").mkdir(exist_ok=True)
    with ends_before_it_answers(recalld.root):
        done = recalld("-w", str(recalld.root), "append", "--role", "user", "--text", "榛子")
    assert (done.code, done.out.strip()) == (0, stored(recalld)[0]["id"])
    assert [raw["text"] for raw in stored(recalld)] == ["榛子"]


@pytest.mark.parametrize("more", [["-"], ["榛子", "--at", "2026-01-31"], ["榛子", "--now=2026-01-31"], ["榛子", "--", "x"]])
def test_append_with_a_time_of_its_own_or_from_standard_input_stays_here(monkeypatch, more):
    monkeypatch.delenv("RECALLD_NOW", raising=False)
    assert _sent(["append", "--role", "user", "--text", *more]) is None


@pytest.mark.parametrize("before", [[], ["-w", "append"], ["--workspace=here"]])
def test_append_is_sent_with_its_time_behind_the_name_of_the_command(monkeypatch, before):
    """So that it is not taken for the value of an option that has none."""
    monkeypatch.delenv("RECALLD_NOW", raising=False)
    words = _sent([*before, "append", "--role", "user", "--text"])
    assert words is not None
    assert words.pop(len(before) + 1).startswith("--at=20")
    assert words == [*before, "append", "--role", "user", "--text"]
