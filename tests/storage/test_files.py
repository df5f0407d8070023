"""Files, the only writer: durable, all or nothing, and never over a version that it has not read."""

import errno
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import Busy, Conflict
from recalld.supervisor.storage.files import Files, FileVersion
from recalld.supervisor.storage.keeping import LEAST_AGE, ReplacedTexts, move_across
from tests.world import at

OLD, NEW, THEIRS = "[旧]".encode(), "[新的]".encode(), "[别人的]".encode()


class Meddled(RealDisk):
    """A disk on which somebody does *deed* right before the call named *before*, once."""

    def __init__(self, before: str, deed: Any) -> None:
        self.before, self.deed = before, deed

    def __getattribute__(self, name: str) -> Any:
        if name == object.__getattribute__(self, "__dict__").get("before"):
            self.__dict__["before"] = ""
            self.__dict__["deed"]()
        return super().__getattribute__(name)


def files(disk: RealDisk | None = None) -> Files:
    return Files(disk or RealDisk(), pause=lambda _: None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "history.json"
    found.write_bytes(OLD)
    return found


def look(path: Path) -> FileVersion:
    found = files().read_stable(path)
    assert found
    return found


def names(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir())


# ── reading ──────────────────────────────────────────────────────────────────


def test_read_stable_raises_busy_when_a_file_keeps_changing(path):
    class Restless(RealDisk):
        count = 0

        def read(self, path: Path, offset: int = 0, most: int = -1) -> bytes:
            self.count += 1
            path.write_bytes(OLD * self.count)
            return super().read(path, offset, most)

    with pytest.raises(Busy, match="try again"):
        files(Restless()).read_stable(path)


def test_read_stable_reads_again_when_a_file_is_replaced_meanwhile(path):
    def replace() -> None:
        path.unlink()
        path.write_bytes(NEW)

    found = files(Meddled("read", replace)).read_stable(path)
    assert found
    assert found.data == NEW
    assert files(Meddled("read", path.unlink)).read_stable(path) is None


# ── replacing ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_replace_keeps_the_file_mode_and_makes_new_files_private(path, mode):
    path.chmod(mode)
    files().replace(path, NEW, look(path))
    assert stat.S_IMODE(path.stat().st_mode) == mode
    files().replace(path.with_name("新"), NEW, None)
    assert stat.S_IMODE(path.with_name("新").stat().st_mode) == 0o600


def rename_theirs(path: Path) -> None:
    path.with_name("x").write_bytes(THEIRS)
    path.with_name("x").rename(path)


@pytest.mark.parametrize(
    ("deed", "left"),
    [
        (lambda path: path.write_bytes(THEIRS), THEIRS),
        (rename_theirs, THEIRS),
        (lambda path: os.utime(path, (1, 1)), OLD),
        (Path.unlink, None),
        (lambda path: path.write_bytes("[人]".encode()), "[人]".encode()),
    ],
    ids=["write", "replace", "touch", "remove", "same size"],
)
def test_replace_refuses_when_another_program_changed_the_file(path, deed, left):
    seen = look(path)
    deed(path)
    with pytest.raises(Conflict):
        files().replace(path, NEW, seen, keep=path.with_name("history.json.bak"))
    assert (path.read_bytes() if path.exists() else None) == left
    assert not [name for name in names(path.parent) if name != "history.json"]


@pytest.mark.parametrize("call", ["sync_file", "read"])
def test_replace_refuses_a_file_renamed_into_place_during_sync_or_read(path, call):
    seen = look(path)
    with pytest.raises(Conflict):
        files(Meddled(call, lambda: rename_theirs(path))).replace(path, NEW, seen, keep=path.with_name("history.json.bak"))
    assert path.read_bytes() == THEIRS


@pytest.mark.feature("003.27")
def test_replace_keeps_the_old_file_after_a_short_write(path):
    class Lying(RealDisk):
        def write(self, handle: int, data: bytes) -> None:
            super().write(handle, data[1:])

    with pytest.raises(OSError, match="less than was written"):
        files(Lying()).replace(path, NEW, look(path))
    assert path.read_bytes() == OLD
    assert names(path.parent) == ["history.json"]


def test_replace_skips_a_temporary_name_left_by_a_crash(path):
    one = Files(RealDisk(), token="7")  # noqa: S106 - part of a name
    path.with_name(".history.json.7-0.tmp").write_bytes(b"left")
    one.replace(path, NEW, look(path))
    assert path.read_bytes() == NEW
    assert names(path.parent) == [".history.json.7-0.tmp", "history.json"]


# ── making once, adding, moving, removing ────────────────────────────────────


def test_create_refuses_an_existing_file_and_writes_a_new_one(path):
    with pytest.raises(FileExistsError):
        files().create(path, NEW)
    assert path.read_bytes() == OLD
    files().create(path.with_name("新"), NEW)
    assert path.with_name("新").read_bytes() == NEW
    assert names(path.parent) == ["history.json", "新"]


# ── sweep ─────────────────────────────────────────────────────


def test_sweep_beside_writers_keeps_what_is_younger_than_an_hour(tmp_path):
    now = datetime.now(UTC)
    young, left = (tmp_path / f".seen.jsonl.7-{n}.tmp" for n in range(2))
    for path in (young, left):
        path.write_bytes(b"[")
    os.utime(left, (0, 0))
    assert files().sweep(tmp_path, now=now) == 1
    assert [*tmp_path.iterdir()] == [young]
    assert files().sweep(tmp_path) == 1


# ── another file system ──────────────────────────────────────────────────────


class TwoDisks(RealDisk):
    """A disk on which `旁` is a mount of its own: no name goes from there to elsewhere, or back."""

    def rename_new(self, old, new):
        if ("旁" in old.parts) != ("旁" in new.parts):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(new))
        super().rename_new(old, new)


def test_move_across_keeps_bytes_and_times(tmp_path):
    (tmp_path / "旁").mkdir()
    old, moved = tmp_path / "京都.md", tmp_path / "旁" / "京都.md"
    old.write_text("去京都")
    os.utime(old, ns=(5, 7))
    move_across(Files(TwoDisks()), old, moved)
    assert (moved.read_text(), moved.stat().st_mtime_ns, old.exists()) == ("去京都", 7, False)
    with pytest.raises(FileExistsError):
        move_across(Files(TwoDisks()), moved, moved)


def test_move_across_leaves_a_folder_and_what_is_changed_meanwhile(tmp_path):
    class Editor(TwoDisks):
        def touch(self, path, mtime_ns=None):
            super().touch(path, mtime_ns)
            (tmp_path / "笔记.md").write_text("刚改的")

    (tmp_path / "旁").mkdir()
    (tmp_path / "笔记.md").write_text("旧的")
    with pytest.raises(Conflict):
        move_across(Files(Editor()), tmp_path / "笔记.md", tmp_path / "旁" / "笔记.md")
    (tmp_path / "夹").mkdir()
    with pytest.raises(OSError, match="cross-device") as refused:
        move_across(Files(TwoDisks()), tmp_path / "夹", tmp_path / "旁" / "夹")
    assert refused.value.errno == errno.EXDEV
    assert (tmp_path / "笔记.md").read_text() == "刚改的"
    assert sorted(one.name for one in tmp_path.rglob("*")) == sorted(["旁", "笔记.md", "夹"])


# ── texts that newer ones replaced: kept for a year, as far as there is room ─────

NOW = at("2026-11-23T10:00")
YEAR = timedelta(days=365)


@pytest.fixture
def texts(tmp_path) -> ReplacedTexts:
    return ReplacedTexts(Files(RealDisk()), tmp_path / "previous")


def aged(texts: ReplacedTexts, name: str, days: float, data: bytes = "旧的一版".encode()) -> None:
    texts.keep(name, data)
    os.utime(texts._folder / name, ((NOW - timedelta(days=days)).timestamp(),) * 2)


def kept(texts: ReplacedTexts) -> set[str]:
    return {path.name for path in texts._folder.iterdir()}


def test_drop_counts_a_deleted_folder_as_all_that_is_in_it(texts):
    (texts._folder / "花园").mkdir(parents=True)
    for name in "番茄", "黄瓜":
        (texts._folder / "花园" / f"{name}.md").write_bytes(bytes(600))
    os.utime(texts._folder / "花园", ((NOW - timedelta(days=2)).timestamp(),) * 2)
    aged(texts, "0.md", 0, bytes(400))
    assert texts.drop(NOW, YEAR, 1_000) == 1
    assert kept(texts) == {"0.md"}


def test_text_that_is_replaced_once_more_is_as_old_as_the_last_time(texts):
    aged(texts, "a.md", 400)
    texts.keep("a.md", "旧的一版".encode())
    texts.keep("b.md", b"b")
    assert texts.drop(at("2036-01-01T00:00"), YEAR, 10**9) == 0


@given(ages=st.lists(st.integers(0, 500), min_size=1, max_size=12), age=st.integers(0, 400), most=st.integers(0, 3_000))
def test_drop_keeps_the_newest_within_the_bytes_and_thirty_days(tmp_path_factory, ages, age, most):
    texts = ReplacedTexts(Files(RealDisk()), tmp_path_factory.mktemp("w") / "previous")
    for n, days in enumerate(ages):
        aged(texts, f"{n}.md", days, bytes(300))
    texts.drop(NOW, timedelta(days=age), most)
    left = sorted(int(name.removesuffix(".md")) for name in kept(texts))
    room = max(most // 300, 1)
    young = [n for n, days in enumerate(ages) if timedelta(days=days - min(ages)) <= max(timedelta(days=age), LEAST_AGE)]
    assert sorted(ages[n] for n in left) == sorted(ages[n] for n in young)[:room]
