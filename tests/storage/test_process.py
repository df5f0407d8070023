"""A function called in a process of its own gives the same answer, and leaves nothing behind; signals end a process."""

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from recalld.supervisor.archive.slug import slugs_of
from recalld.supervisor.storage import process
from recalld.supervisor.storage.process import call_in_own_process, on_signals
from tests.patience import PATIENCE_S
from tests.world import signals_as_they_were

DAYS = [
    [("user", "重庆的备份服务器改到凌晨，rsync 的端口是 8443。")],
    [("user", "The Cloudflare deploy timed out.")],
    [("user", "\ud800")],
]


def test_each_call_has_a_process_of_its_own_that_has_ended() -> None:
    first, second = (call_in_own_process(os.getpid) for _ in range(2))
    assert len({first, second, os.getpid()}) == 3
    assert not any(Path(f"/proc/{ended}").exists() for ended in (first, second))


@pytest.mark.parametrize("program", ["raise SystemExit(1)", "import os; os.kill(os.getpid(), 9)", "print('?')", ""])
def test_function_is_called_here_where_its_process_ends_without_an_answer(
    monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(process, "_PROGRAM", program)
    assert call_in_own_process(slugs_of, DAYS, 32) == slugs_of(DAYS, 32)


def test_function_is_called_here_where_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert call_in_own_process(slugs_of, DAYS, 32) == slugs_of(DAYS, 32)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_on_signals_hears_a_signal_while_the_main_thread_sleeps(number: int) -> None:
    told = threading.Event()
    with signals_as_they_were():
        on_signals(told.set)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])  # another thread gets it: the main thread stays asleep
        try:
            with told._cond:  # as inside of wait(), where a signal may come as well
                os.kill(os.getpid(), number)
            assert told.wait(PATIENCE_S)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
