"""The model disk answers as the disk of this machine does, and forgets what a machine forgets in a power cut."""

import errno
import shutil
import stat as modes
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.supervisor.storage.disk import Disk, RealDisk, Stat
from tests.crash.model_disk import ModelDisk

pytestmark = pytest.mark.proof

PLACES = ("a.md", "日记.md", "memory/a.md", "memory/日记.md", "memory/summary", "memory", "没有/a.md", "a.md/b.md")
#: Most calls go to places where something stands, so that they meet.
place = st.sampled_from(PLACES[:4]) | st.sampled_from(PLACES)
folder = st.sampled_from(("", "memory", "memory/summary", "没有", "没有/没有", "a.md", "a.md/没有"))
START = (("mkdir", "memory"), ("mkdir", "memory/summary"), ("create", "a.md"), ("create", "memory/日记.md"))
words = st.binary(max_size=6) | st.just("你好\n".encode())

CALL = st.one_of(
    st.tuples(st.sampled_from(("stat", "read", "unlink", "mkdir", "touch", "create", "open_append")), place),
    st.tuples(st.sampled_from(("names", "stats", "sync_folder")), folder),
    st.tuples(st.sampled_from(("rename", "rename_new", "link")), place, place),
    st.tuples(st.just("write"), st.integers(0, 3), words),
    st.tuples(st.sampled_from(("sync", "close", "set_owner")), st.integers(0, 3)),
)


class Player:
    """Plays calls on a disk; answers are made comparable: no times, no inode numbers, no sizes of folders."""

    def __init__(self, disk: Disk, root: Path) -> None:
        self.disk, self.root = disk, root
        self.handles: list[tuple[int, int]] = []  # with the inode of a file being made, 0 of one appended to

    def play(self, call: tuple[Any, ...]) -> object:
        try:
            return self._play(*call)
        except OSError as error:
            return errno.errorcode[error.errno or 0]

    def same_files(self) -> list[int | None]:
        """For each place the first place that is another name of the same file."""
        inodes = [found.inode if (found := self.disk.stat(self.root / where)) else None for where in PLACES]
        return [None if inode is None else inodes.index(inode) for inode in inodes]

    def _play(self, name: str, *args: Any) -> object:
        if name in ("write", "sync", "close", "set_owner"):
            return self._by_handle(name, *args)
        paths = [self.root / where for where in args]
        if name in ("rename", "rename_new") and self._is_folder(paths[0]):
            return "the interface renames files"
        if name in ("create", "open_append"):
            found = self.disk.stat(paths[0])
            if found and name == "open_append" and any(inode == found.inode for _, inode in self.handles):
                return "the model has no offsets: a file being made has one writer"
            handle = getattr(self.disk, name)(*paths, 0o600)
            made = self.disk.stat(paths[0])
            self.handles.append((handle, made.inode if made and name == "create" else 0))
            return None
        answer = getattr(self.disk, name)(*paths)
        if name == "stats":
            return {found: _shown(stat) for found, stat in answer.items()}
        return _shown(answer) if name == "stat" and answer else answer

    def _by_handle(self, name: str, which: int, *args: Any) -> object:
        if which >= len(self.handles):
            return "no such handle"
        handle, _ = self.handles[which]
        if name == "close":
            del self.handles[which]
        if name == "set_owner":
            found = self.disk.stat(self.root)
            assert found is not None
            args = (0o640, found.uid, found.gid)
        return getattr(self.disk, name)(handle, *args)

    def _is_folder(self, path: Path) -> bool:
        found = self.disk.stat(path)
        return found is not None and modes.S_ISDIR(found.mode)


def _shown(stat: Stat) -> tuple[int, int, int, int]:
    return (0 if modes.S_ISDIR(stat.mode) else stat.size, stat.mode, stat.uid, stat.gid)


@settings(max_examples=300, deadline=None)
@given(st.lists(CALL, max_size=40))
def test_model_disk_answers_every_call_like_the_real_disk(calls: list[tuple[Any, ...]]) -> None:
    root = Path(tempfile.mkdtemp())
    root.chmod(0o700)
    real, model = Player(RealDisk(), root), Player(ModelDisk(root=root), root)
    model.disk.inodes[1] = model.disk.inodes[1]._replace(uid=root.stat().st_uid, gid=root.stat().st_gid)  # type: ignore[attr-defined]
    try:
        for call in (*START, *calls, *(("stat", path) for path in PLACES)):
            assert model.play(call) == real.play(call), call
        assert model.same_files() == real.same_files()
    finally:
        while real.handles:
            real.play(("close", 0))
        shutil.rmtree(root)


@pytest.mark.parametrize(
    ("taken", "wrong"),
    [
        (["supervisor.lock", "inbox.json.lock", "history.json.lock"], False),
        (["index.lock"], False),
        (["history.json.lock", "inbox.json.lock"], True),
        (["index.lock", "history.json.lock"], True),
        (["memory.md.lock", "history.json.lock"], True),
        (["inbox.json.lock", "memory.md.lock"], True),
        (["history.json.lock", "supervisor.lock"], True),
        (["其他.lock"], True),
    ],
)
def test_model_disk_reports_locks_taken_in_the_wrong_order(taken: list[str], wrong: bool) -> None:
    disk = ModelDisk()
    held = [disk.lock(disk.root / name, 1) for name in taken]
    for lock in held:
        lock.__enter__()
    for lock in reversed(held):
        lock.__exit__(None, None, None)
    assert bool(disk.locks.breaches) is wrong
    assert disk.names(disk.root) == sorted(taken)
