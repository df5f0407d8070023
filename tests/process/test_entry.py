"""Commands that hooks call answer alike with a supervisor and without one, and a message is added once, whatever ends meanwhile."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from recalld.supervisor.interfaces.serve import Answers
from recalld.supervisor.interfaces.socket_server import parse_request
from recalld.supervisor.storage.clock import utc_now
from recalld.supervisor.workspace import open_workspace
from tests.patience import PATIENCE_S
from tests.process.command import Command, ended

pytestmark = pytest.mark.proof


def words_of(recalld: Command) -> list[str]:
    return [one["text"] for one in json.loads((recalld.root / "history.json").read_text(encoding="utf-8"))]


@contextlib.contextmanager
def ends_before_it_answers(root: Path, settings: Mapping[str, str]) -> Iterator[None]:
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
                Answers(lambda: open_workspace(root, settings, utc_now)).answer(request)

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join(PATIENCE_S)


@pytest.mark.parametrize("more", [[], ["--at", "2026-01-31T09:00:00+08:00"], ["--json"]])
def test_append_adds_once_though_the_supervisor_ends_before_it_answers(recalld, monkeypatch, more):
    settings = {name: value for name, value in recalld.environ.items() if name.startswith("RECALLD_")}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    (recalld.root / ".recalld").mkdir(exist_ok=True)
    with ends_before_it_answers(recalld.root, settings):
        done = recalld("append", "--role", "user", "--text", "-", *more, stdin="榛子")
    stored = json.loads((recalld.root / "history.json").read_text(encoding="utf-8"))
    assert [one["text"] for one in stored] == ["榛子"]
    assert done.code == 0
    assert re.search(r"[0-9A-Z]{26}", done.out)[0] == stored[0]["id"]
    assert json.loads(recalld("fsck", "--json").out)["seen"] == 1


def test_append_adds_once_though_a_stopped_supervisor_goes_on_later(recalld):
    with recalld.supervised() as process:
        process.send_signal(signal.SIGSTOP)
        try:
            words = ("-w", str(recalld.root), "append", "--role", "user", "--text", "榛子")
            done = ended(recalld.start(*words, before=["env"]))
        finally:
            process.send_signal(signal.SIGCONT)
        assert recalld("status", "--plan").code == 0  # behind the request that nobody waits for
    assert done.code == 0
    assert words_of(recalld) == ["榛子"]
