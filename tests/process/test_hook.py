"""`recalld hook` as a client runs it: it never blocks a prompt, never prints a fault, and loses no words."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from recalld.supervisor.interfaces.hooks import entry
from tests.patience import PATIENCE_S
from tests.process.command import Command, Ended, ended, until

pytestmark = pytest.mark.proof

QUESTION = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "turn_id": "t1", "cwd": "/srv/shop"}
ANSWER = {**QUESTION, "hook_event_name": "Stop"}


@pytest.fixture
def command(tmp_path) -> Command:
    return Command.made(tmp_path / "workspace", RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai")


#: The command, in place of `-m recalld`, that has more than two seconds: a busy machine needs them.
PATIENT = """
import sys
from recalld.supervisor.interfaces.entry import main
from recalld.supervisor.interfaces.hooks import entry
entry._PATIENCE_S = {}
{}
del sys.argv[1:3]
main()
"""


def test_hook_gives_up_within_two_seconds():
    """Every other test gives it more."""
    assert entry._PATIENCE_S < 2.0


#: What the system says where no process can be started.
NO_FORK = """
def refuse():
    raise BlockingIOError(11, "refused")
entry.os.fork = refuse
"""


def hook(command: Command, event: object, client: str = "codex", most_s: float = PATIENCE_S, changed: str = "") -> Ended:
    """What the hook prints that gives up after so many seconds."""
    text = event if isinstance(event, str) else json.dumps(event)
    # a process of its own: the hook ends without Python's clean-up
    options = ["-X", "utf8", "-c", PATIENT.format(most_s, changed)]
    return ended(command.start("-w", str(command.root), "hook", client, options=options), text)


def asked(command: Command, words: str, most_s: float = PATIENCE_S, **more: str) -> Ended:
    return hook(command, {**QUESTION, "prompt": words, **more}, most_s=most_s)


def events(command: Command) -> list[str]:
    log = command.root / "log.jsonl"
    lines = map(json.loads, log.read_text(encoding="utf-8").splitlines()) if log.exists() else ()
    return [one["why"] for one in lines if one["event"] == "hook_failed"]


def kept(command: Command) -> list[str]:
    path = command.root / "history.json"
    return [one["text"] for one in json.loads(path.read_bytes())] if path.exists() else []


def test_hook_finds_with_a_supervisor_what_another_session_said(command):
    with command.supervised():
        assert asked(command, "测试环境的端口是 9090") == Ended(0, "", "")
        assert hook(command, {**ANSWER, "last_assistant_message": "记住了。"}) == Ended(0, "", "")
        found = asked(command, "测试环境用哪个端口？", session_id="s2")
    assert (found.code, found.err) == (0, "")
    assert "9090" in json.loads(found.out)["hookSpecificOutput"]["additionalContext"]
    assert kept(command) == ["测试环境的端口是 9090", "记住了。", "测试环境用哪个端口？"]
    assert events(command) == []


def test_hook_does_the_work_itself_where_no_supervisor_runs(command):
    assert asked(command, "测试环境的端口是 9090") == Ended(0, "", "")
    assert kept(command) == ["测试环境的端口是 9090"]


@pytest.mark.parametrize(("worktrees", "project"), [("together", "shop"), ("apart", "pay")])
def test_hook_in_a_worktree_keeps_words_under_its_project(command, tmp_path, worktrees, project):
    inside = tmp_path / "shop" / ".git" / "worktrees" / "pay"
    for path, line in {
        tmp_path / "pay" / ".git": f"gitdir: {inside}",
        inside / "gitdir": str(tmp_path / "pay" / ".git"),
        inside / "commondir": "../..",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{line}\n", encoding="utf-8")
    command.environ["RECALLD_RECALL_WORKTREES"] = worktrees
    assert asked(command, "测试环境的端口是 9090", cwd=str(tmp_path / "pay")) == Ended(0, "", "")
    [first] = json.loads((command.root / "history.json").read_bytes())
    assert first["project"] == str(tmp_path / project)


def test_hook_beside_a_mute_supervisor_keeps_the_words(command):
    with command.supervised() as supervisor:
        os.kill(supervisor.pid, signal.SIGSTOP)
        try:
            assert asked(command, "测试环境的端口是 9090").code == 0
        finally:
            os.kill(supervisor.pid, signal.SIGCONT)
        # words that the hook could not keep wait in the drop-box
        assert until(lambda: kept(command)) == ["测试环境的端口是 9090"]


@pytest.mark.parametrize(
    "event",
    ["", "no json", "[]", "[" * 100_000, '{"hook_event_name": "PreToolUse"}', "a" * 10_000_000],
    ids=lambda event: event[:20],
)
def test_hook_of_rubbish_prints_nothing_and_ends_with_0(command, event):
    assert hook(command, event) == Ended(0, "", "")
    assert len(events(command)) == 1
    assert kept(command) == []


@pytest.mark.parametrize("name", ["recalld.toml", "history.json", ".recalld", "log.jsonl"])
def test_hook_in_a_broken_workspace_prints_nothing_and_ends_with_0(command, name):
    shutil.rmtree(command.root / ".recalld")
    (command.root / name).mkdir() if name == "log.jsonl" else (command.root / name).write_text("[{", encoding="utf-8")
    assert asked(command, "测试环境的端口是 9090") == Ended(0, "", "")


def test_hook_makes_no_workspace(tmp_path):
    command = Command(tmp_path / "none")
    assert asked(command, "hello") == Ended(0, "", "")
    assert not command.root.exists()


def test_hook_gives_up_when_its_input_never_ends(command):
    process = command.start("-w", str(command.root), "hook", "codex", options=["-X", "utf8"])
    assert process.wait(timeout=PATIENCE_S) == 0
    assert until(lambda: events(command)) == ["it took too long"]
    process.communicate()


@pytest.mark.parametrize("changed", ["", NO_FORK], ids=["its child", "itself"])
def test_hook_that_can_not_write_in_time_leaves_the_words_in_the_drop_box(command, changed):
    with command.supervised():
        assert asked(command, "第一句").code == 0
    with (command.root / "history.json.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        event = {**QUESTION, "prompt": "测试环境的端口是 9090"}
        assert hook(command, event, most_s=5.0, changed=changed) == Ended(0, "", "")
        [waiting] = until(lambda: [*(command.root / "inbox.d" / "new").glob("*.json")])
    assert "9090" in waiting.read_text(encoding="utf-8")
    assert command("run", "--until-settled", "--no-worker").code == 0
    assert sorted(kept(command)) == ["测试环境的端口是 9090", "第一句"]


def test_hook_leaves_no_process_behind(command):
    words = [sys.executable, "-m", "recalld", "-w", str(command.root), "hook", "codex"]
    process = subprocess.Popen(words, env=command.environ, stdin=subprocess.PIPE, cwd=command.root, start_new_session=True)
    process.communicate(json.dumps({**QUESTION, "prompt": "hello"}).encode())
    assert process.returncode == 0
    sessions = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # one that ends meanwhile
            sessions.append(path.read_text().rpartition(")")[2].split()[3])
    assert str(process.pid) not in sessions
