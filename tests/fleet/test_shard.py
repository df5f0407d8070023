"""A shard: which workspaces it takes and lets go, and that one that is broken or endless disturbs no other."""

from __future__ import annotations

import os
import shutil
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from recalld.supervisor.fleet.settings import Fleet, FleetPaths
from recalld.supervisor.fleet.shard import Shard
from recalld.supervisor.host.daemon import Supervisor
from recalld.supervisor.host.jobs import Threads
from recalld.supervisor.host.lock import supervisor_lock
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import NoWorkspace
from tests.patience import PATIENCE_S
from tests.process.command import until
from tests.world import IN_SHANGHAI, EventList, UnsyncedDisk, World, at, message

TOML = f"[archive]\n{IN_SHANGHAI}\nexchange_wait = '0s'\n"
NAMES = ("安娜", "ben", "carla")


class Root:
    """Three workspaces and a shard of them, whose clock is moved by the test."""

    def __init__(self, folder: Path, threads: int = 0, open_most: int = 200) -> None:
        self.paths = FleetPaths(folder)
        for one in (self.paths.folder, self.paths.drained, self.paths.sick):
            one.mkdir(mode=0o700)
        self.worlds = {name: World(folder / name, at("2026-01-31T10:00"), TOML) for name in NAMES}
        for world in self.worlds.values():
            world.put("recalld.toml", TOML)
        self.clock = self.worlds["安娜"].clock
        self.events = EventList(self.clock)
        self.hangs, self.may_end = set[str](), threading.Event()
        self.threads = Threads(threads, self.clock.monotonic)
        self.settings = Fleet(open=open_most, round_limit=timedelta(seconds=60))
        self.shard = self.another_shard()

    def another_shard(self) -> Shard:
        mine = (self.paths, self.settings, (0, 1), self.open)
        return Shard(*mine, self.clock, self.threads, self.events, self.clock.monotonic)

    def open(self, root: Path, _before: object, _reopened: object) -> Supervisor:
        if root.name in self.hangs:
            self.may_end.wait(PATIENCE_S)
        if not root.is_dir():
            raise NoWorkspace(root)
        world = World(root, self.clock(), None, disk=UnsyncedDisk()) if root.name not in self.worlds else self.worlds[root.name]
        world.clock = self.clock
        return Supervisor(world.reopen(disk=UnsyncedDisk()).ws, self.clock, None, self.clock.monotonic)

    def rest(self) -> None:
        for _ in range(70):
            self.clock.forward(seconds=1)
            self.shard.look()
            self.shard.host.look()
            self.threads.run_due()

    def held(self) -> list[str]:
        return sorted(root.name for root, one in self.shard.host.hosted.items() if one.is_held)

    def why(self, event: str) -> dict[str, str]:
        return {str(fields["workspace"]): str(fields["why"]) for fields in self.events.of(event)}


@pytest.fixture
def root(tmp_path):
    return Root(tmp_path)


def test_shard_takes_every_workspace_and_archives_its_messages(root):
    root.rest()
    assert root.held() == sorted(NAMES)
    for n, world in enumerate(root.worlds.values()):
        world.add(message(f"m{n}", "2026-01-31T09:00"))
    root.clock.forward(hours=6)
    root.rest()
    assert [world.archived_texts() for world in root.worlds.values()] == [["我对花生过敏。"]] * 3


def test_shard_lets_a_drained_workspace_go_and_takes_it_again(root):
    root.rest()
    (root.paths.drained / "ben").write_bytes(b"")
    root.rest()
    assert root.held() == ["carla", "安娜"]
    with supervisor_lock(root.worlds["ben"].another().ws):
        (root.paths.drained / "ben").unlink()
        root.rest()
        assert root.why("degraded") == {
            "ben": f"a supervisor already runs in {root.paths.root / 'ben'}; use that one, or stop it first: "
            "Ctrl-C where it runs, a service with `systemctl --user stop recalld`."
        }
    root.clock.forward(hours=1)
    root.rest()
    assert root.held() == sorted(NAMES)


def test_shard_tells_that_one_is_drained_when_it_has_let_it_go(root):
    root.rest()
    (root.paths.drained / "ben").write_bytes(b"")
    assert root.shard.status()["drained"] == [], "it has not seen the note"
    root.clock.forward(seconds=1)
    root.shard.look()
    assert (root.held(), root.shard.status()["drained"]) == (["carla", "安娜"], []), "its lock is still taken"
    root.rest()
    assert root.shard.status()["drained"] == ["ben"]


def test_shard_lets_go_what_was_renamed_or_deleted_and_takes_the_new_name(root):
    root.rest()
    (root.paths.root / "ben").rename(root.paths.root / "本")
    root.worlds["本"] = World(root.paths.root / "本", root.clock())
    root.rest()
    assert root.held() == ["carla", "安娜", "本"]
    assert root.why("stopped") == {"ben": "it is no longer there under that name"}
    folder = (root.paths.root / "本").stat()
    assert root.shard.roots[folder.st_dev, folder.st_ino].name == "本"


def test_shard_writes_nothing_into_a_workspace_that_somebody_deletes(root):
    root.rest()
    shutil.rmtree(root.worlds["ben"].paths.state)
    root.clock.forward(seconds=5)
    root.shard.host.look()
    assert root.held() == ["carla", "安娜"]
    assert root.worlds["ben"].events.of("stopped") == []
    assert "its .recalld was deleted or moved away" in root.why("degraded")["ben"]


def test_shard_opens_at_once_what_no_round_has_seen_whatever_the_times(tmp_path):
    root = Root(tmp_path, open_most=1)
    root.rest()
    root.shard.keep_signatures()
    asleep = {one.root.name for one in root.shard.host.hosted.values() if one.rest_signature}
    root.shard.host.__exit__()
    name = min(asleep)
    root.worlds[name].add(message("m0", "2026-01-31T09:00"))
    os.utime(root.worlds[name].paths.history, (0, 0))
    later = root.another_shard()
    later.look()
    later.host.look()
    root.threads.run_due()
    held = {found.name for found, one in later.host.hosted.items() if one.is_held}
    assert (len(asleep), held) == (2, {*NAMES} - asleep | {name})


def test_shard_tells_a_broken_workspace_once_and_goes_on_with_the_others(root):
    seen = root.worlds["ben"].paths.seen
    seen.write_bytes(b'{"recalld":999}\n')  # a newer recalld has written it
    root.rest()
    root.rest()
    assert root.held() == ["carla", "安娜"]
    told = root.events.of("degraded")
    assert [fields["workspace"] for fields in told] == ["ben"]
    assert "newer recalld" in str(told[0]["why"])
    assert root.worlds["ben"].events.of("degraded") == []  # it would be printed a second time
    assert [one["name"] for one in root.shard.status()["refused"]] == ["ben"]
    root.clock.forward(hours=1)
    root.rest()
    seen.unlink()
    root.rest()
    assert (root.held(), root.shard.status()["refused"]) == (sorted(NAMES), []), "it is mended: its growing wait is over"


def test_shard_gives_a_workspace_with_a_huge_history_to_the_sick_bay(root, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.fleet.shard.MOST_BYTES", 1 << 20)
    with (root.worlds["ben"].root / "history.json").open("ab") as file:
        file.truncate(2 << 20)
    root.rest()
    assert root.held() == ["carla", "安娜"]
    assert (root.paths.sick / "ben").read_text() == "its history.json has more than 1 MiB, so it gets a process of its own\n"
    assert not root.shard.host.is_stopping


def test_shard_refuses_a_history_that_no_process_should_read(root):
    history = root.worlds["ben"].root / "history.json"
    with history.open("ab") as file:
        file.truncate(10 << 30)
    root.rest()
    (root.paths.drained / "carla").write_bytes(b"")
    root.rest()
    (root.paths.drained / "carla").unlink()
    root.rest()
    assert root.held() == ["carla", "安娜"]
    assert (
        root.why("degraded")
        == root.shard.told
        == {"ben": "its history.json has more than 1024 MiB, which is not read; move it away"}
    )
    assert len(root.events.of("degraded")) == 1
    history.write_text("[]")
    root.rest()
    assert (len(root.held()), root.shard.told) == (3, {})


def test_shard_takes_the_others_where_one_can_not_be_read(root, monkeypatch):
    def stat(disk, path):
        if Path(path).parent == root.worlds["ben"].root / ".recalld":
            raise PermissionError(13, "Permission denied", str(path))
        return stat_of(disk, path)

    stat_of = RealDisk.stat
    monkeypatch.setattr(RealDisk, "stat", stat)
    root.rest()
    root.rest()
    assert (root.held(), list(root.shard.told)) == (["carla", "安娜"], ["ben"])
    assert [one["workspace"] for one in root.events.of("degraded")] == ["ben"]
    monkeypatch.undo()
    root.rest()
    assert (len(root.held()), root.shard.told) == (3, {})


def test_shard_ends_to_be_replaced_when_a_step_does_not_end(tmp_path):
    root = Root(tmp_path, threads=3)
    root.hangs = {"ben"}
    try:
        root.threads.start()
        root.shard.look()
        root.shard.host.look()
        ben = root.shard.host.hosted[root.paths.root / "ben"]
        until(lambda: ben.since_s == root.clock.seconds)
        root.clock.forward(seconds=119)
        root.shard.look()
        assert not root.shard.has_sick
        root.clock.forward(seconds=2)
        root.shard.look()
        assert (root.shard.has_sick, root.shard.host.is_stopping) == (True, True)
        assert (root.paths.sick / "ben").read_text().startswith("a round did not end within 120 s")
    finally:
        root.may_end.set()
        root.threads.stop(20)
