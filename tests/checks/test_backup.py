"""Backups: one state of the workspace in a file, whoever writes meanwhile; what is refused; nothing half written; and each night."""

import contextlib
import errno
import io
import json
import os
import socket
import tarfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from recalld.supervisor.checks import backup as service
from recalld.supervisor.checks.backup import Backup, nightly_backup
from recalld.supervisor.checks.check import Look
from recalld.supervisor.checks.machine import SCARCE_BYTES
from recalld.supervisor.checks.table import verdict
from recalld.supervisor.host.last_night import read_last_backup
from recalld.supervisor.protocol.backup_file import FORMAT, LIST
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import BadBackup, BadRequest, Busy, Conflict, NewerFormat, StorageError
from tests.world import WITHOUT_MODEL, FaultyDisk, World, at, message, message_on


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder beside the workspace."""
    folder = tmp_path / "备份 盘"
    folder.mkdir()
    return folder


@pytest.fixture
def lived(tmp_path: Path) -> World:
    """A workspace with dated files, originals, summaries, a picture, notes, a file in the drop-box and a message to archive."""
    world = World(tmp_path / "工作区", at("2026-01-31T10:00"), WITHOUT_MODEL)
    world.put("recalld.toml", WITHOUT_MODEL)
    world.write([message_on(day) for day in ("2025-12-03", "2026-01-10", "2026-01-30")])
    world.settle()
    world.settle()
    world.append(message("m1", "2026-01-31T09:00", "周五的部署取消。", images=["iVBORw0KGgo="]))
    world.drop("手机.json", {"role": "user", "text": "在路上说的"})
    os.utime(world.paths.drop_box / "手机.json", ns=(1_769_800_000_123_456_789, 1_769_800_000_123_456_789))
    world.note("想法.md", "- 学骑马\n")
    world.put("memory.md", "- 我对花生过敏\n")
    return world


def created(world: World, file: Path) -> Backup:
    return service.create(world.ws, file, world.clock(), "recalld 1")


# ── what is in it ────────────────────────────────────────────────────────────


def test_backup_restores_every_byte_and_time_of_the_workspace(lived, place):
    lived.put(b".recalld/pieces/\xff.json".decode("utf-8", "surrogateescape"), "名字不是 UTF-8")
    lived.put("脚本/报警.sh", "#!/bin/sh\n").chmod(0o755)
    made = created(lived, place / "一.tar")
    service.restore(made.file, place / "新的")
    there = {path.relative_to(lived.root): path for path in lived.root.rglob("*") if path.is_file() and path.suffix != ".lock"}
    here = {path.relative_to(place / "新的"): path for path in (place / "新的").rglob("*") if path.is_file()}
    assert there.keys() == here.keys()
    assert len(there) == len(made.contents.files)
    for name, path in here.items():
        assert (path.read_bytes(), path.stat().st_mtime_ns) == (there[name].read_bytes(), there[name].stat().st_mtime_ns)
        assert path.stat().st_mode & 0o777 == (0o700 if name.suffix == ".sh" else 0o600)
    assert all(path.stat().st_mode & 0o777 == 0o700 for path in (place / "新的").rglob("*") if path.is_dir())
    assert (place / "一.tar").stat().st_mode & 0o777 == 0o600
    assert (place / "新的").stat().st_mode & 0o777 == 0o700


def test_backup_has_no_locks_sockets_index_links_or_temporary_files(lived, place):
    kept = created(lived, place / "一.tar").contents.files
    lived.refresh()
    for name in (
        ".recalld/vectors/a",
        ".recalld/files.json",
        ".recalld/archive.now",
        ".recalld/socket.path",
        ".recalld/worker-0.lock",
        "memory/.git/HEAD",
        "lost+found/#123",
    ):
        lived.put(name, "x")
    for name in ("history.json.lock", f"memory/.a.md.{1}-0.tmp", LIST):
        lived.put(name, "x")
    (lived.root / "memory" / "链接.md").symlink_to("想法.md")
    (lived.root / "照片").symlink_to(place)
    os.mkfifo(lived.root / "管道")
    with socket.socket(socket.AF_UNIX) as line:
        with contextlib.chdir(lived.root / ".recalld"):  # its path may have 107 bytes
            line.bind("socket")
        made = created(lived, place / "二.tar")
    assert {entry.path for entry in made.contents.files} == {entry.path for entry in kept}
    assert set(made.left_out) == {"memory/链接.md", "照片", "管道"}


def test_verify_says_what_fsck_says_of_the_workspace(lived, place):
    made = created(lived, place / "一.tar")
    contents, ledger, _ = service.verify(made.file, {}, lived.clock)
    assert (contents, replace(ledger, seen=0)) == (made.contents, replace(lived.fsck(), seen=0))
    assert ledger.is_sound
    next(lived.root.glob("memory/2026-01-30-*.md")).unlink()
    lived.write([])
    _, ledger, ws = service.verify(created(lived, place / "二.tar").file, {}, lived.clock)
    assert (ledger.lost != [], ws.zone) == (True, lived.ws.zone)


# ── while others write ───────────────────────────────────────────────────────


class Hasty(FaultyDisk):
    """A disk of one who hardly waits for locks."""

    def lock(self, path: Path, _wait_s: float) -> Any:
        return super().lock(path, 0.01)


def at_call(number: int, deed: Callable[[], object]) -> Callable[..., bool]:
    """What a FaultyDisk asks: it refuses nothing, and does *deed* at its call of this number, from 0 on."""
    calls = count()

    def ask(*_: object) -> bool:
        if next(calls) == number:
            deed()
        return False

    return ask


def test_backup_is_refused_while_another_program_keeps_the_lock(lived, place):
    lived.open(lived.ws.config, Hasty())
    with lived.another().ws.history.lock(), pytest.raises(Busy):
        created(lived, place / "一.tar")
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("ends", ["moved", "deleted"])
def test_backup_has_a_dated_file_once_until_a_person_deletes_it(lived, place, ends):
    path = next(lived.root.glob("memory/2026-01-30-*.md"))
    original = lived.paths.original(path.name)
    original.parent.mkdir(exist_ok=True)
    data = path.read_bytes()
    times = []
    for when in range(100):
        path.write_bytes(data)
        original.unlink(missing_ok=True)
        lived.open(lived.ws.config, Hasty(*vars(RealDisk)))
        lived.disk.refuses = at_call(when, path.unlink if ends == "deleted" else lambda: path.rename(original))
        contents = created(lived, place / f"{when}.tar").contents
        times.append([entry.path.rpartition("/")[2] for entry in contents.files].count(path.name))
    assert set(times) == ({0, 1} if ends == "deleted" else {1})


# ── refused ──────────────────────────────────────────────────────────────────


def test_create_refuses_places_that_it_would_damage(lived, place):
    (place / "有了.tar").write_text("别的")
    (place / "链接").symlink_to(lived.root / "memory")
    (place / "断的.tar").symlink_to(place / "没有")
    for file in ("有了.tar", "断的.tar", "没有/一.tar", "链接/一.tar", "."):
        with pytest.raises(BadRequest):
            created(lived, place / file)
    for file in (lived.root / "一.tar", lived.root / "memory" / "一.tar"):
        with pytest.raises(BadRequest, match="in the workspace"):
            created(lived, file)
    assert (place / "有了.tar").read_text() == "别的"
    assert {path.name for path in place.iterdir()} == {"有了.tar", "链接", "断的.tar"}
    assert not list(lived.root.rglob("*.tar"))


def raising(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "told", "says"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), StorageError, "一.tar could not be read or written: No space left"),
        (KeyboardInterrupt(), KeyboardInterrupt, ""),
    ],
    ids=["full", "interrupted"],
)
def test_create_leaves_nothing_on_a_full_disk_or_when_interrupted(lived, place, error, told, says):
    writes = len(created(lived, place / "一.tar").contents.files) + 1
    (place / "一.tar").unlink()
    for n in range(writes):
        lived.open(lived.ws.config, FaultyDisk("write"))
        lived.disk.refuses = at_call(n, partial(raising, error))
        with pytest.raises(told) as refused:
            created(lived, place / "一.tar")
        assert says in str(refused.value)
        assert list(place.iterdir()) == []


def test_restore_needs_a_new_or_empty_folder_that_is_no_disk(lived, place, monkeypatch):
    made = created(lived, place / "一.tar")
    for name in ("空的", "深/一点/的", "一.md"):
        into = place / name
        if name == "空的":
            into.mkdir()
        service.restore(made.file, into)
        assert (into / "history.json").exists()
        with pytest.raises(BadRequest, match="not an empty folder"):
            service.restore(made.file, into)
    (place / "文件").write_text("x")
    for into in (place / "文件", place):
        with pytest.raises(BadRequest, match="not an empty folder"):
            service.restore(made.file, into)
    (place / "磁盘").mkdir()
    monkeypatch.setattr("os.path.ismount", lambda path: path == place / "磁盘")
    with pytest.raises(BadRequest, match="where a disk is mounted; name a new folder on it"):
        service.restore(made.file, place / "磁盘")
    with pytest.raises(BadRequest, match="is not a file"):
        service.restore(place / "没有.tar", place / "新的")
    assert not any(path.name.startswith(".recalld-") for path in place.iterdir())


def test_restore_replaces_nothing_that_came_into_the_folder_meanwhile(lived, place, monkeypatch):
    made = created(lived, place / "一.tar")
    disk = place / "磁盘"
    disk.mkdir()
    sync_file = RealDisk.sync_file

    def synced(self: RealDisk, path: Path) -> None:
        (disk / "history.json").write_text("[]")
        sync_file(self, path)

    monkeypatch.setattr(RealDisk, "sync_file", synced)
    with pytest.raises(StorageError):
        service.restore(made.file, disk)
    assert [(path.name, path.read_text()) for path in disk.iterdir()] == [("history.json", "[]")]


def aged(path: Path, now: datetime, **ago: int) -> Path:
    """Give the file or folder a time so long before *now*."""
    then = (now - timedelta(**ago)).timestamp()
    os.utime(path, (then, then))
    return path


def test_create_deletes_what_killed_backups_of_any_name_left_an_hour_ago(lived, place):
    left = (".memory-2026-01-02.tar.a1-0.tmp", ".一.tar.a2-0.tmp", ".备份.a3-0.tmp")
    for name in (*left, ".别人的.tmp", ".memory.tar.a1.tmp", ".现在.a4-0.tmp"):
        (place / name).write_text("x")
        aged(place / name, lived.clock(), minutes=59 if "现在" in name else 61)
    (place / ".文件夹.a1-0.tmp").mkdir()
    aged(place / ".文件夹.a1-0.tmp", lived.clock(), minutes=61)
    created(lived, place / "三.tar")
    kept = {".别人的.tmp", ".memory.tar.a1.tmp", ".文件夹.a1-0.tmp", ".现在.a4-0.tmp"}
    assert {path.name for path in place.iterdir()} == {"三.tar", *kept}


def rewritten(file: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], object]) -> Path:
    """A copy of the backup with other members."""
    with tarfile.open(file) as source:
        members = [(member, source.extractfile(member).read()) for member in source.getmembers()]
    change(members)
    with tarfile.open(file.with_suffix(".other"), "w", format=tarfile.PAX_FORMAT) as target:
        for member, data in members:
            target.addfile(member, io.BytesIO(data))
    return file.with_suffix(".other")


def relisted(listed: Any) -> Callable[[list[Any]], None]:
    def change(members: list[Any]) -> None:
        data = listed if isinstance(listed, bytes) else json.dumps(listed).encode()
        members[-1][0].size = len(data)
        members[-1] = (members[-1][0], data)

    return change


def of_first(**fields: Any) -> Callable[[list[Any]], None]:
    """Say this of the first file in the list."""

    def change(members: list[Any]) -> None:
        listed = json.loads(members[-1][1])
        listed["files"][0] |= fields
        relisted(listed)(members)

    return change


def renamed(name: str) -> Callable[[list[Any]], None]:
    """Give the first file this name, in the list too."""

    def change(members: list[Any]) -> None:
        members[0][0].name = name
        of_first(path=name)(members)

    return change


def typed(kind: bytes) -> Callable[[list[Any]], None]:
    """Make the first file a thing of this type."""

    def change(members: list[Any]) -> None:
        member = members[0][0]
        member.type, member.linkname, member.size = kind, "/etc/passwd", 0

    return change


def spoiled(members: list[Any]) -> None:
    member, data = members[1]
    members[1] = (member, bytes([data[0] ^ 1]) + data[1:])


BAD: dict[str, tuple[Callable[[list[Any]], object], str]] = {
    "above": (renamed("memory/../../逃.md"), "leads out"),
    "long path": (renamed(f"{'/'.join(['a' * 200] * 21)}.md"), "is not the name of a file"),
    "symbolic link": (typed(tarfile.SYMTYPE), "is a link"),
    "device": (typed(tarfile.CHRTYPE), "device"),
    "sparse file": (typed(tarfile.GNUTYPE_SPARSE), "."),
    "wrong digest": (spoiled, "is not what was put in"),
    "twice": (lambda members: members.insert(1, members[0]), "not those of its list"),
    "missing": (lambda members: members.pop(0), "not those of its list"),
    "too many": (lambda members: members.insert(0, (tarfile.TarInfo("x"), b"")), "not those of its list"),
    "below a file": (lambda members: renamed(f"{members[1][0].name}/x")(members), "not those of its list"),
    "without a list": (lambda members: members.pop(), "was not made by"),
    "list not last": (lambda members: members.reverse(), "was not made by"),
    "list of nothing": (relisted(b"[]"), "was not made by"),
    "list of rubbish": (relisted(b"{\xff"), "was not made by"),
    "list without files": (relisted({"recalld": 1}), "was not made by"),
    "list of no day": (
        relisted({"recalld": 1, "createdAt": "2026-13-28T04:00:00.000Z", "madeBy": "", "files": []}),
        "was not made by",
    ),
    "time with a fraction": (of_first(mtime_ns=1.5), "was not made by"),
    "time out of reach": (of_first(mtime_ns=1 << 63), "was not made by"),
    "list with room for more": (lambda members: relisted(members[-1][1] + b" " * 20_000)(members), "was not made by"),
    "newer": (relisted({"recalld": FORMAT + 1, "files": {}}), f"has format {FORMAT + 1} of a newer recalld"),
}


@pytest.mark.parametrize("name", [".git/hooks/x", "memory/.git/config", ".recalld/token", ".recalld/index/a"])
def test_restore_unpacks_nothing_that_no_backup_of_recalld_has(lived, place, name):
    service.restore(rewritten(created(lived, place / "一.tar").file, renamed(name)), place / "新的")
    assert (place / "新的/memory").is_dir()
    assert not (place / "新的" / name).exists()


@pytest.mark.parametrize("kind", BAD)
def test_restore_refuses_a_bad_archive_before_anything_is_written(lived, place, kind):
    change, why = BAD[kind]
    file = rewritten(created(lived, place / "一.tar").file, change)
    before = sorted(place.parent.rglob("*"))
    for attempt in (lambda: service.restore(file, place / "新的"), lambda: service.verify(file, {}, lived.clock)):
        with pytest.raises(NewerFormat if kind == "newer" else BadBackup, match=why) as refused:
            attempt()
        assert refused.value.exit_code == (78 if kind == "newer" else 65)
        assert sorted(place.parent.rglob("*")) == before


def test_create_leaves_out_folders_that_no_backup_gives_back(lived, place):
    deep = lived.root.joinpath(*["深"] * 64)
    deep.mkdir(parents=True)
    (deep / "一.md").write_text("在")
    (deep / "太深").mkdir()
    (deep / "太深" / "二.md").write_text("不在")
    made = created(lived, place / "一.tar")
    assert made.left_out[-1:] == (f"{'深/' * 64}太深",)
    service.restore(made.file, place / "新的")
    assert (place / "新的").joinpath(*["深"] * 64, "一.md").read_text() == "在"


def test_restore_refuses_what_is_no_tar_and_every_part_of_a_backup(lived, place):
    data = created(lived, place / "一.tar").file.read_bytes()
    end = data.rstrip(b"\0").rfind(b"\n") + 1
    cuts = [data[:n] for n in (*range(0, end, 401), end - 1)]
    for n, part in enumerate([b"", b"\0" * 10_240, "花生".encode() * 400, data[: end - 1], *cuts]):
        (place / f"{n}").write_bytes(part)
        with pytest.raises(BadBackup):
            service.restore(place / f"{n}", place / "新的")
    assert not (place / "新的").exists()


def test_conflict_is_told_when_dated_files_vanish_again_and_again(lived, place):
    class Vanishing(RealDisk):
        """A disk whose dated files are listed and are gone."""

        def names(self, folder: Path) -> list[str]:
            return [*super().names(folder), *(["2026-01-01-mei-you.md"] if folder.name == "memory" else [])]

    lived.reopen(disk=Vanishing())
    with pytest.raises(Conflict):
        created(lived, place / "一.tar")
    assert list(place.iterdir()) == []


# ── each night ───────────────────────────────────────────────────────────────


@pytest.fixture
def memory(tmp_path: Path) -> World:
    world = World(tmp_path / "记忆[1]", at("2026-01-28T04:20"))
    world.write([message("m1", "2026-01-27T03:00", "我对花生过敏。")])
    world.settle()
    return world


def night(world: World, place: Path, day: str, keep: int = 2) -> list[str]:
    """The names that are in the folder after the backup of that day."""
    nightly_backup(world.ws, place, keep, at(f"{day}T04:20"), "recalld 1")
    return sorted(path.name for path in place.iterdir())


def test_backup_of_a_night_keeps_the_last_and_nothing_of_others_is_deleted(memory, place):
    others = ["记忆[1]-2026-01-01.tar", "记忆1-nightly-2026-01-01.tar", "记忆[1]-nightly-2026-01-01.tar.txt"]
    for name in others:
        (place / name).touch()
    for day in ("2026-01-28", "2026-01-29", "2026-01-30", "2026-02-02"):
        found = night(memory, place, day)
    assert found == sorted([*others, "记忆[1]-nightly-2026-01-30.tar", "记忆[1]-nightly-2026-02-02.tar"])


def test_backup_of_a_day_is_made_once_and_read_back_again(memory, place):
    night(memory, place, "2026-01-28")
    file = place / "记忆[1]-nightly-2026-01-28.tar"
    before = file.stat()
    night(memory, place, "2026-01-28")
    assert file.stat() == before
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(BadBackup):
        night(memory, place, "2026-01-28")


def test_backup_of_another_memory_of_the_same_name_is_left_alone(memory, place, tmp_path):
    (tmp_path / "other").mkdir()
    other = World(tmp_path / "other" / memory.root.name, at("2026-01-28T04:20"))
    other.write([message("m2", "2026-01-27T03:00", "我对青霉素过敏。")])
    other.settle()
    night(other, place, "2026-01-28")
    with pytest.raises(BadRequest, match="is not known to this workspace"):
        night(memory, place, "2026-01-28")


def test_backup_that_fails_deletes_nothing_and_is_told_until_one_succeeds(memory, place):
    night(memory, place, "2026-01-28", keep=1)
    place.rename(place.with_name("fort"))
    with pytest.raises(BadRequest, match="is not there"):
        night(memory, place, "2026-01-29", keep=1)
    (sentence, *_), is_well = verdict(Look(memory.ws, at("2026-01-29T08:00")))
    assert not is_well
    assert sentence == (
        f"the nightly backup failed on 2026-01-29 04:20: {place} is not there; make the folder first; "
        f"`recalld backup nightly '{place}' --keep 1` tries again."
    )
    assert verdict(Look(memory.ws, at("2026-01-31T05:00")))[1], "no night has repeated it: nothing makes backups any more"
    last = read_last_backup(memory.ws)
    assert last
    assert last.file.endswith("2026-01-28.tar")
    place.with_name("fort").rename(place)
    assert night(memory, place, "2026-01-30", keep=1) == ["记忆[1]-nightly-2026-01-30.tar"]
    assert verdict(Look(memory.ws, at("2026-01-30T08:00")))[1]


def test_backup_is_not_begun_where_it_would_fill_the_disk(memory, place, monkeypatch):
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=SCARCE_BYTES + 100, f_frsize=1))
    with pytest.raises(StorageError, match="would leave less than 256 MiB free"):
        night(memory, place, "2026-01-28")
    assert [*place.iterdir()] == []
