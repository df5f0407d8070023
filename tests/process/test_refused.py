"""A supervisor as a process, to which the system refuses something: it goes on with the rest, says so once, and ends when told."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.command import Command, ended, until

pytestmark = pytest.mark.proof


@pytest.fixture
def recalld(tmp_path: Path) -> Command:
    """An empty workspace whose messages are archived at once."""
    return Command.made(tmp_path / "工作区", RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai", RECALLD_ARCHIVE_INTERVAL="1s")


@pytest.fixture
def without_rights() -> list[str]:
    """What a command is started with, so that modes of files hold for it."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root may read and write everywhere, and there is no setpriv to take that away")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


@pytest.mark.parametrize("place", ["originals", "originals/2025-12", "summary", "别看"])
def test_run_starts_beside_a_folder_that_may_not_be_read(recalld, without_rights, place):
    locked = recalld.root / "memory" / place
    locked.mkdir(parents=True, exist_ok=True)
    locked.chmod(0)
    try:
        with recalld.supervised(before=without_rights) as process:
            until(lambda: f"memory/{place}" in events(recalld.root), process)
    finally:
        locked.chmod(0o700)
    assert process.returncode == 0


@pytest.mark.parametrize("place", [Path.mkdir, lambda lock: lock.symlink_to("/etc/hostname")], ids=["folder", "link"])
def test_run_starts_beside_a_folder_or_a_link_in_place_of_the_lock(recalld, place):
    lock = recalld.root / "history.json.lock"
    lock.unlink(missing_ok=True)
    place(lock)
    with recalld.supervised() as process:
        assert recalld("append", "--role", "user", "--text", "猫的疫苗约在九月。").code == 0
        until(lambda: "history.json.lock can't be read" in events(recalld.root), process)
        lock.rmdir() if lock.is_dir() else lock.unlink()
        os.utime(recalld.root / "history.json")  # a change begins the next round, which would come by itself after 30 seconds
        until(lambda: '"seen"' in events(recalld.root), process)
    assert process.returncode == 0


@pytest.mark.parametrize("name", ["log.jsonl", ".recalld/seen.jsonl", ".recalld/calls.jsonl", "worker/failed/provider.json"])
def test_run_waits_for_no_named_pipe_in_place_of_a_file(recalld, name):
    (recalld.root / name).parent.mkdir(exist_ok=True)
    os.mkfifo(recalld.root / name)
    with recalld.supervised() as process:
        assert recalld("append", "--role", "user", "--text", "猫的疫苗约在九月。").code in {0, 65}
    assert process.returncode == 0


@pytest.mark.parametrize("words", ["status", "status --plan", "fsck", "get memory.md", "index status"])
def test_cli_reads_a_workspace_in_which_nothing_can_be_written(recalld, without_rights, words):
    (recalld.root / "memory.md").write_text("2026-01-20|聊天|用户对榛子过敏\n", encoding="utf-8")
    before = tree(recalld.root)
    assert recalld(*words.split()).code == 0
    assert tree(recalld.root) == before
    folders = [path for path in [recalld.root, *recalld.root.rglob("*")] if path.is_dir()]
    try:
        for path in folders:
            path.chmod(0o500)
        done = ended(recalld.start("-w", str(recalld.root), *words.split(), before=without_rights))
        assert (done.code, done.err) == (65 if words == "status" else 0, "")  # which says that nothing can be written
    finally:
        for path in folders:
            path.chmod(0o700)


def test_init_makes_a_workspace_of_a_disk_that_has_lost_and_found(recalld, without_rights):
    found = recalld.root / "lost+found"
    found.mkdir(mode=0)
    done = ended(recalld.start("-w", str(recalld.root), "init", before=without_rights))
    assert (done.code, done.err) == (0, "")
    assert found.is_dir()
    assert (recalld.root / "history.json").exists()


def tree(root: Path) -> set[tuple[Path, int, int]]:
    """All that is there, with sizes and times."""
    return {(path, path.lstat().st_size, path.lstat().st_mtime_ns) for path in root.rglob("*")}


def events(root: Path) -> str:
    """What the log has, with characters instead of their escapes."""
    text = (root / "log.jsonl").read_text(encoding="utf-8") if (root / "log.jsonl").exists() else ""
    return "\n".join(json.dumps(json.loads(line), ensure_ascii=False) for line in text.splitlines())


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        *((0, words) for words in ("search 花生", "status", "append --role user --text 浇花", "init")),
        *((0o500, words) for words in ("append --role user --text 浇花", "worker --idle 0")),
    ],
)
def test_a_workspace_that_a_user_may_not_use_is_a_matter_of_rights(recalld, without_rights, mode, words):
    locked = [recalld.root / ".recalld", recalld.root]
    for path in locked:
        path.chmod(mode)
    done = ended(recalld.start("-w", str(recalld.root), *words.split(), before=without_rights))
    for path in reversed(locked):
        path.chmod(0o700)
    assert (done.code, done.err.count("\n")) == (77, 1)
    assert "Permission denied" in done.err


#: The program of a process in which the system starts no thread: none has room for so large a stack. Its first argument is the module.
_NO_THREAD = (
    "import runpy, sys, threading; threading.stack_size(1 << 47); sys.argv[:3] = [sys.argv[2]]; "
    "runpy.run_module(sys.argv[0], run_name='__main__')"
)


@pytest.mark.parametrize("words", [("run",), ("mcp",)], ids=lambda words: words[0])
def test_command_ends_with_71_where_no_thread_starts(recalld: Command, words: tuple[str, ...]) -> None:
    done = ended(recalld.start("-w", str(recalld.root), *words, options=("-c", _NO_THREAD), RECALLD_LANGUAGE="zh"))
    assert (done.code, done.err.startswith("recalld: 系统无法再启动进程或线程：")) == (71, True)
    assert not (recalld.root / ".recalld" / "socket").exists()  # nobody is there to answer at it


def test_worker_ends_with_71_where_no_thread_starts(recalld: Command) -> None:
    command = [sys.executable, "-c", _NO_THREAD, "-m", "recalld.worker", "-w", str(recalld.root)]
    done = subprocess.run(command, env=recalld.environ, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 71
    assert done.stderr.startswith("recalld worker: the system starts no more processes and threads: ")
    assert done.stderr.count("\n") == 1
