"""A function called in a process of its own gives the same answer, and leaves nothing of what it loads behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.archive.slug import slugs_of
from recalld.supervisor.storage import own_process
from recalld.supervisor.storage.own_process import call_in_own_process, end_own_process

if TYPE_CHECKING:
    from collections.abc import Iterator

DAYS = [
    [("user", "重庆的备份服务器改到凌晨，rsync 的端口是 8443。")],
    [("user", "The Cloudflare deploy timed out.")],
    [("user", "\ud800")],
]
LOADED = """
import json, sys
from recalld.supervisor.archive.slug import slugs_of
from recalld.supervisor.storage.own_process import call_in_own_process
print(json.dumps([call_in_own_process(slugs_of, json.loads(sys.argv[1]), 32), sorted({"jieba", "pypinyin"} & sys.modules.keys())]))
"""


@pytest.fixture(autouse=True)
def process() -> Iterator[None]:
    """Each test begins without a process, and leaves none."""
    end_own_process()
    yield
    end_own_process()


def test_one_process_serves_all_calls_until_it_is_ended() -> None:
    served = [call_in_own_process(os.getpid) for _ in range(2)]
    end_own_process()
    assert served[0] == served[1] != os.getpid()
    assert call_in_own_process(os.getpid) not in served


def test_call_starts_another_process_where_the_last_was_killed_since() -> None:
    killed = call_in_own_process(os.getpid)
    os.kill(killed, signal.SIGKILL)
    os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)
    assert call_in_own_process(os.getpid) not in (killed, os.getpid())


def test_slugs_are_the_same_in_a_process_of_their_own() -> None:
    assert call_in_own_process(slugs_of, DAYS, 32) == slugs_of(DAYS, 32)


def test_dictionaries_are_not_loaded_by_who_asks_for_a_slug() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, json.dumps(DAYS)], capture_output=True, check=True)
    assert json.loads(done.stdout) == [slugs_of(DAYS, 32), []]


@pytest.mark.parametrize("program", ["raise SystemExit(1)", "import os; os.kill(os.getpid(), 9)", "print('?')", ""])
def test_function_is_called_here_where_its_process_ends_without_an_answer(
    monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(own_process, "_PROGRAM", program)
    assert call_in_own_process(slugs_of, DAYS, 32) == slugs_of(DAYS, 32)


class StoppedError(Exception):
    """Comes while somebody waits for an answer, as Ctrl-C does."""


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A signal that ends whatever waits."""

    def stop(*_: object) -> None:
        raise StoppedError

    before = signal.signal(signal.SIGUSR1, stop)
    yield
    signal.signal(signal.SIGUSR1, before)


def test_answer_that_nobody_waits_for_any_more_goes_to_no_other_call(stops: None) -> None:
    with pytest.raises(StoppedError):
        call_in_own_process(os.kill, os.getpid(), signal.SIGUSR1)
    assert call_in_own_process(slugs_of, DAYS[:1], 32) == slugs_of(DAYS[:1], 32)


def test_answer_to_another_call_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_process, "_PROGRAM", "for _ in open(0): print('[0, [\"anna\"]]', flush=True)")
    for n in range(2):
        assert call_in_own_process(slugs_of, DAYS[n : n + 1], 32) == slugs_of(DAYS[n : n + 1], 32)


@pytest.mark.parametrize("program", ["import signal; signal.pause()", "print('[1', end='', flush=True); input(); input()"])
def test_function_is_called_here_where_its_process_does_not_answer_in_time(
    monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(own_process, "_PROGRAM", program)
    monkeypatch.setattr(own_process, "_ANSWER_S", 0.1)
    long = [[("user", "重庆 " * 100_000)]]  # more than a pipe holds
    for days in (DAYS, long):
        assert call_in_own_process(len, days) == len(days)


def test_function_is_called_here_where_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert call_in_own_process(slugs_of, DAYS, 32) == slugs_of(DAYS, 32)
