"""The disk of this machine: each call is one step, and none follows a link out of the workspace."""

import contextlib
import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.supervisor.storage import disk as module
from recalld.supervisor.storage.disk import RealDisk, mapped_copy, read_outside
from recalld.supervisor.storage.errors import why_refused
from tests.patience import PATIENCE_S

DISK = RealDisk()


def make(path: Path, text: str = "花生") -> Path:
    path.write_text(text)
    return path


def test_read_outside_follows_a_link_and_reads_no_more_than_it_may(tmp_path):
    path, link = make(tmp_path / "单元"), tmp_path / "链接"
    link.symlink_to(path)
    assert read_outside(link, 6) == "花生".encode()
    with pytest.raises(OSError, match="too large") as refused:
        read_outside(link, 5)
    assert refused.value.errno == errno.EFBIG
    assert why_refused(refused.value) == "File too large"


def test_disk_calls_never_follow_a_symlink(tmp_path):
    secret, link = make(tmp_path / "别人的"), tmp_path / "链接"
    link.symlink_to(secret)
    with pytest.raises(OSError, match="链接") as caught:
        DISK.read(link)
    assert caught.value.errno == errno.ELOOP
    for opening in (DISK.create, DISK.open_append):
        with pytest.raises(OSError):  # noqa: PT011 - EEXIST or ELOOP, as the kernel likes
            opening(link, 0o600)
    found = DISK.stat(link)
    assert found
    assert stat.S_ISLNK(found.mode)
    DISK.link(link, tmp_path / "又一个名字")
    assert (tmp_path / "又一个名字").is_symlink()
    assert secret.stat().st_nlink == 1
    assert secret.read_text() == "花生"


@pytest.mark.parametrize("make_other", [os.mkfifo, os.mkdir])
def test_disk_refuses_a_pipe_or_folder_and_leaks_no_descriptor(tmp_path, make_other):
    make_other(tmp_path / "别的")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(OSError, match="别的"):
            DISK.read(tmp_path / "别的")
        with pytest.raises(OSError, match="别的"):
            DISK.open_append(tmp_path / "别的", 0o600)
    assert len(os.listdir("/proc/self/fd")) == before


def test_disk_write_completes_after_partial_system_writes(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(module.os, "write", lambda handle, data: real(handle, bytes(data)[:2]))
    handle = DISK.create(tmp_path / "新", 0o600)
    DISK.write(handle, "花生过敏".encode())
    DISK.close(handle)
    assert (tmp_path / "新").read_text() == "花生过敏"


def test_disk_rename_new_refuses_to_replace_a_file(tmp_path):
    old, taken = make(tmp_path / "旧", "旧"), make(tmp_path / "有", "有")
    with pytest.raises(FileExistsError):
        DISK.rename_new(old, taken)
    assert (old.read_text(), taken.read_text()) == ("旧", "有")
    DISK.rename_new(old, tmp_path / "新")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["新", "有"]
    with pytest.raises(FileNotFoundError):
        DISK.rename_new(old, tmp_path / "又")


def test_disk_rename_new_works_without_kernel_support(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_rename_noreplace", lambda _old, _new: errno.ENOSYS)
    test_disk_rename_new_refuses_to_replace_a_file(tmp_path)


#: Another process: takes the lock in its way, says so, and holds it until its standard input ends. Busy is its exit code.
_OTHER = """
import sys
from pathlib import Path
from filelock import FileLock, Timeout
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import Busy

way, path, wait_s = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
ways = {"lock": RealDisk().lock, "lock_for_life": RealDisk().lock_for_life, "filelock": lambda path, s: FileLock(path, timeout=s)}
print("asks", flush=True)
try:
    with ways[way](path, wait_s):
        print("holds", flush=True)
        sys.stdin.read()
except (Busy, Timeout):
    raise SystemExit(Busy.exit_code)
"""
#: Who holds a lock, and who asks for it.
PAIRS = [
    ("lock", "lock_for_life"),
    ("lock_for_life", "lock"),
    ("lock_for_life", "lock_for_life"),
    ("filelock", "lock"),
    ("lock", "filelock"),
]


@contextlib.contextmanager
def other(way: str, path: Path, wait_s: float) -> Iterator[subprocess.Popen[str]]:
    """A process that asks for the lock in this way; it has asked when it is yielded."""
    command = [sys.executable, "-c", _OTHER, way, str(path), str(wait_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "asks\n"
        yield process
        process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize(("holder", "taker"), PAIRS)
def test_disk_locks_of_each_kind_exclude_and_wait_for_each_other(tmp_path, holder, taker):
    side = tmp_path / "history.json.lock"
    with other(holder, side, 0) as first:
        assert first.stdout
        assert first.stdout.readline() == "holds\n"
        with other(taker, side, 0) as refused:
            pass
        with other(taker, side, 60) as patient:
            assert patient.stdout
            first.communicate(timeout=PATIENCE_S)
            assert patient.stdout.readline() == "holds\n"
    assert (first.returncode, refused.returncode, patient.returncode) == (0, 75, 0)


def test_disk_lock_takes_the_file_that_has_the_name(tmp_path, monkeypatch):
    side = tmp_path / "history.json.lock"
    opened = module.open_regular

    def then_deleted(path: Path, flags: int) -> int:
        handle = opened(path, flags)
        monkeypatch.setattr(module, "open_regular", opened)
        path.unlink()  # by a program that deletes its lock file when it lets go
        return handle

    monkeypatch.setattr(module, "open_regular", then_deleted)
    with DISK.lock(side, 1):
        assert DISK.is_locked(side)


@pytest.mark.parametrize("make_place", [os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/hostname", path)])
def test_disk_lock_refuses_what_is_no_file(tmp_path, make_place):
    side = tmp_path / "history.json.lock"
    make_place(side)
    with pytest.raises(OSError, match=r"history\.json\.lock"), DISK.lock(side, 0):
        pass


def test_disk_lock_is_let_go_though_a_forked_process_has_its_handle(tmp_path):
    side = tmp_path / "history.json.lock"
    with DISK.lock(side, 0):
        handles = Path("/proc/self/fd")
        held = next(handle for handle in handles.iterdir() if handle.exists() and handle.samefile(side))
        forked = os.dup(int(held.name))  # which is what a fork does
    assert not DISK.is_locked(side)
    os.close(forked)


def test_mapped_copy_has_the_bytes_and_takes_no_others():
    copy = mapped_copy(memoryview("花生".encode()))
    assert copy[:] == "花生".encode()
    with pytest.raises(TypeError):
        copy[0] = 0
