"""`recalld demo` as a process: a year on a page of its own, and nothing left behind."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.process.command import Command, ended

pytestmark = pytest.mark.proof


@pytest.fixture
def command(tmp_path):
    (tmp_path / "tmp").mkdir()
    return Command(tmp_path / "mine", TMPDIR=str(tmp_path / "tmp"))


def started(command, *words, **environ):
    """The demo in a new process: one that is forked has chosen its temporary folder."""
    return command.start("demo", *words, options=["-P"], **environ)


def left(command):
    return list((command.root.parent / "tmp").iterdir())


def asked(site, path, token):
    with contextlib.closing(HTTPConnection(site.removeprefix("http://"), timeout=PATIENCE_S)) as line:
        line.request("POST", path, b"{}", {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_demo_shows_a_year_and_nothing_of_the_users_until_it_is_ended(command, language):
    command("init")
    environ = {"RECALLD_LLM_BASE_URL": "http://127.0.0.1:9/v1", "RECALLD_LLM_MODEL": "m", "RECALLD_SERVE_PORT": "1"}
    environ |= {"RECALLD_WORKSPACE": str(command.root), "LC_ALL": f"{language}_XX.UTF-8", "RECALLD_LANGUAGE": "auto"}
    process = started(command, "--json", **environ)
    try:
        assert process.stdout
        answer = json.loads(process.stdout.readline())
        site, _, token = answer["address"].partition("/#token=")
        assert len(asked(site, "/api/days", token)[1]["days"]) > 150
        assert asked(site, "/api/days", "another")[0] == 401
        root = Path(answer["workspace"])
        assert left(command) == [root]
        assert len(list((root / "turns").glob("*.json"))) == 4
        assert f'language = "{language}"' in (root / "recalld.toml").read_text(encoding="utf-8")
    finally:
        process.send_signal(signal.SIGTERM)
    done = ended(process)
    assert (done.code, done.err, left(command)) == (0, "", [])
    assert not list((command.root / "memory").glob("*.md"))


def test_demo_that_is_interrupted_while_it_is_made_leaves_nothing(command):
    process = started(command, "--no-browser")
    assert process.stdout
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert ended(process).code == 0
    assert left(command) == []


def test_demo_at_a_port_that_is_taken_says_so_and_makes_nothing(command):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = ended(started(command, "--port", str(taken.getsockname()[1])))
    assert (done.code, done.out) == (69, "")
    assert "is taken" in done.err
    assert left(command) == []


def test_demo_refuses_a_port_that_is_none(command):
    done = ended(started(command, "--port", "99999"))
    assert (done.code, done.err) == (
        64,
        "recalld: --port: 99999 is no port: give a number from 1 to 65535, or leave it out.\n",
    )
