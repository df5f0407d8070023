"""A host of many workspaces: each gets its rounds, one that fails stops no other, and what is used least is closed."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from recalld.supervisor.host.background import Background
from recalld.supervisor.host.config_watch import ConfigWatch
from recalld.supervisor.host.daemon import Supervisor
from recalld.supervisor.host.host import Host
from recalld.supervisor.host.jobs import Threads
from recalld.supervisor.host.lock import supervisor_lock
from recalld.supervisor.host.watcher import Watching
from recalld.supervisor.storage.control import UNLIMITED, Control
from recalld.supervisor.storage.errors import AlreadyRuns, LockLost
from tests.world import IN_SHANGHAI, FaultyDisk, UnsyncedDisk, World, at, message

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recalld.supervisor.storage.disk import RealDisk

TOML = f"[archive]\n{IN_SHANGHAI}\nexchange_wait = '0s'\n"
MANY = 50
#: File events of which a test makes each itself.
TOLD_ALL = Watching(lambda: None, lambda: True)


class Fleet:
    """Workspaces by name, and a host of them whose jobs run when a test says so; their clocks are one."""

    def __init__(self, folder: Path, count: int) -> None:
        self.worlds = {n: World(folder / f"工作区-{n}", at("2026-01-31T10:00"), TOML) for n in range(count)}
        self.clock = self.worlds[0].clock
        for world in self.worlds.values():
            world.clock = self.clock
            world.events.now = self.clock
        self.by_root = {world.root: world for world in self.worlds.values()}
        self.threads = Threads(0, self.clock.monotonic)
        self.opened: list[Path] = []
        self.make_disk: Callable[[], RealDisk] = UnsyncedDisk

    def open(self, root: Path, _before: object, _reopened: object) -> Supervisor:
        self.opened.append(root)
        world = self.by_root[root].reopen(disk=self.make_disk())
        background = Background(world.ws, self.clock, self.threads)
        config = ConfigWatch(world.ws, lambda: world.ws)
        return Supervisor(world.ws, self.clock, None, self.clock.monotonic, background, config)

    def host(self, **more: Any) -> Host:
        return Host(self.by_root, self.open, self.clock, self.threads, now_s=self.clock.monotonic, **more)

    def rest(self, host: Host) -> int:
        """Let it look and work until there is nothing to do; returns how many jobs ran."""
        ran = 0
        for _ in range(60):
            self.clock.forward(seconds=1)
            host.look()
            did = self.threads.run_due()
            ran += did
            if not did and self.clock.seconds % 6 == 0:
                break
        return ran

    def say(self, n: int, text: str = "我对花生过敏。") -> None:
        self.worlds[n].add(message(f"m{n}", "2026-01-31T09:00", text))


@pytest.fixture
def without_events(monkeypatch):
    """No file events, as where the system has no room for more: the look finds everything."""

    def refuse(*_: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr("recalld.supervisor.host.watcher.watch", refuse)


@pytest.fixture
def fleet(tmp_path, without_events):
    return partial(Fleet, tmp_path)


def test_host_of_fifty_archives_the_messages_of_each_when_they_are_due(fleet):
    many = fleet(MANY)
    with many.host(open_most=8, indexes_most=4) as host:
        many.rest(host)
        for n in range(MANY):
            many.say(n)
        many.rest(host)
        assert [world.archived_texts() for world in many.worlds.values()] == [[]] * MANY
        many.clock.forward(hours=5)  # 09:00 and six hours
        many.rest(host)
        many.rest(host)
        assert [world.archived_texts() for world in many.worlds.values()] == [["我对花生过敏。"]] * MANY


def test_host_closes_what_there_is_no_room_for(fleet):
    many = fleet(MANY)
    with many.host(open_most=8, indexes_most=4) as host:
        many.rest(host)
        opened = [one for one in host.hosted.values() if one.supervisor]
        assert len(opened) <= 8
        assert sum(one.supervisor.ws.index.is_readable for one in opened) <= 4
        assert all(one.is_held for one in host.hosted.values())


def test_host_opens_no_dormant_workspace_in_which_nothing_happens(fleet):
    many = fleet(6)
    with many.host(open_most=2) as host:
        for _ in range(3):
            many.rest(host)
        many.opened.clear()
        many.rest(host)
        assert many.opened == []
        dormant = next(n for n, world in many.worlds.items() if host.hosted[world.root].supervisor is None)
        many.say(dormant)
        many.rest(host)
        assert set(many.opened) == {many.worlds[dormant].root}


def test_host_finds_a_message_that_came_after_the_last_look(fleet):
    many = fleet(2)
    many.clock.forward(hours=6)
    with many.host() as host:
        many.rest(host)
        hosted = host.hosted[many.worlds[0].root]
        many.say(0)
        hosted.close(watched=False)
        assert hosted.supervisor is not None
        many.rest(host)
        hosted.close(watched=False)
        assert (hosted.supervisor, many.worlds[0].archived_texts()) == (None, ["我对花生过敏。"])


def test_host_closes_a_workspace_right_after_its_first_round(fleet):
    many = fleet(6)
    with Host((), many.open, many.clock, many.threads, now_s=many.clock.monotonic, open_most=2, dormant_s=60) as host:
        for root in many.by_root:
            host.add(root)
        for _ in range(5):
            many.clock.forward(seconds=1)
            host.look()
            many.threads.run_due()
        assert sum(one.is_held for one in host.hosted.values()) == 6
        assert sum(one.supervisor is not None for one in host.hosted.values()) == 2


def test_host_finds_a_setting_that_was_changed_before_or_after_a_closing(fleet):
    many = fleet(2)
    with many.host() as host:
        many.rest(host)
        world = many.worlds[0]
        hosted = host.hosted[world.root]
        world.put("recalld.toml", TOML)
        hosted.close(watched=False)
        assert hosted.supervisor is not None
        many.rest(host)
        hosted.close(watched=False)
        assert hosted.supervisor is None
        many.opened.clear()
        with world.paths.config.open("a", encoding="utf-8") as file:  # in place: the folder does not change
            file.write("[care]\npoll = '2s'\n")
        many.rest(host)
        assert many.opened == [world.root]


@pytest.mark.parametrize("is_dropped", [False, True])
def test_hosted_takes_what_its_own_round_has_written_for_no_change(fleet, is_dropped):
    alone = fleet(1)
    with alone.host() as host:
        alone.rest(host)
        (hosted,), (world,) = host.hosted.values(), alone.worlds.values()
        if is_dropped:
            world.drop("m0.json", message("m0", "2026-01-31T09:00", "我对花生过敏。"))
        else:
            alone.say(0)
        assert hosted.look(alone.clock())
        rounds = 1
        while hosted.work(lambda *_: None, None, UNLIMITED):
            rounds += 1
        assert (rounds, hosted.look(alone.clock()), world.ids()) == (1, False, ["m0"])


def test_hosted_finds_a_file_that_comes_as_the_drop_box_is_emptied(fleet):
    alone = fleet(1)
    with alone.host() as host:
        alone.rest(host)
        (hosted,), (world,) = host.hosted.values(), alone.worlds.values()
        world.drop("m0.json", message("m0", "2026-01-31T09:00", "我对花生过敏。"))
        hosted.look(alone.clock())
        hosted.work(lambda *_: None, None, UNLIMITED)
        emptied = world.paths.drop_box.stat().st_mtime_ns
        world.drop("m1.json", message("m1", "2026-01-31T09:01", "我对青霉素过敏。"))
        os.utime(world.paths.drop_box, ns=(emptied, emptied))
        assert hosted.look(alone.clock())


@pytest.mark.parametrize("event", ["history.json", "memory", ""])
def test_hosted_begins_no_round_once_its_lock_is_lost(fleet, event):
    alone = fleet(1)
    with alone.host() as host:
        alone.rest(host)
        (hosted,), (world,) = host.hosted.values(), alone.worlds.values()
        alone.say(0)
        world.paths.state.rename(world.root / "away")
        world.paths.state.mkdir(mode=0o700)
        world.paths.supervisor_lock.touch()  # another supervisor has it
        if event:
            host._hint(hosted, event)
        with pytest.raises(LockLost):
            hosted.look(alone.clock())


@pytest.mark.parametrize("moment", range(4, 19, 2))
def test_hosted_takes_in_what_another_program_writes_during_a_round(fleet, moment):
    alone, steps = fleet(1), itertools.count()
    with alone.host() as host:
        alone.rest(host)
        (hosted,), (world,) = host.hosted.values(), alone.worlds.values()
        alone.say(0)
        assert hosted.look(alone.clock())

        def another_program_writes() -> bool:
            if next(steps) == moment:
                world.write([message("m1", "2026-01-31T09:30", "我对青霉素过敏。")])  # and loses the first
            return False

        assert hosted.work(lambda *_: None, None, Control(another_program_writes))
        while hosted.work(lambda *_: None, None, UNLIMITED):
            pass
        assert not hosted.look(alone.clock())
        assert sorted(world.ids()) == ["m0", "m1"]
        assert sorted(one.id for one in world.unwritten()) == ["m0", "m1"]


def test_host_tells_memory_of_changes_while_the_system_tells_it(tmp_path, monkeypatch):
    hints = []
    monkeypatch.setattr("recalld.supervisor.host.watcher.watch", lambda _, hint: hints.append(hint) or TOLD_ALL)
    fleet = Fleet(tmp_path, 1)
    (root,) = fleet.by_root
    with fleet.host() as host:
        memory = host.workspace(root).memory
        told = memory.told
        hints[0]("history.json")
        assert memory.told is told is not None
        hints[0]("2026-01-31-allergy.md")
        assert memory.told not in (told, None)
        fleet.rest(host)
        host.hosted[root].close(watched=False)
        assert memory.told is None


@pytest.mark.parametrize(("tells_all", "seconds"), [(True, 5), (False, 1)])
def test_host_looks_rarely_where_file_events_tell_of_every_change(tmp_path, monkeypatch, tells_all, seconds):
    hints = []
    watching = Watching(lambda: None, lambda: tells_all)
    monkeypatch.setattr("recalld.supervisor.host.watcher.watch", lambda _, hint: hints.append(hint) or watching)
    fleet = Fleet(tmp_path, 1)
    (root,) = fleet.by_root
    with fleet.host() as host:
        fleet.rest(host)
        while not 0 < (wait_s := host.look()) <= seconds:
            fleet.clock.forward(seconds=1)
        fleet.clock.forward(seconds=wait_s)
        assert host.look() == seconds
        fleet.say(0)
        hints[0]("history.json")
        host.look()
        assert host.hosted[root].job.at_s == fleet.clock.monotonic()


def test_host_looks_first_where_an_event_was_also_amid_other_looks(tmp_path, monkeypatch):
    hints, woken = [], []
    monkeypatch.setattr("recalld.supervisor.host.watcher.watch", lambda _, hint: hints.append(hint) or TOLD_ALL)
    fleet = Fleet(tmp_path, 5)

    def sign() -> None:
        woken.append(sum(one.job.at_s <= fleet.clock.monotonic() for one in host.hosted.values()))
        if len(woken) == 1:
            fleet.say(4)
            hints[4]("history.json")

    with fleet.host() as host:
        fleet.rest(host)
        fleet.clock.forward(seconds=5)
        host._sign = sign
        host.look()
    assert woken[:2] == [0, 1]


def test_host_takes_few_stats_for_a_message_that_an_event_tells_of(tmp_path, monkeypatch):
    hints, disks = [], []
    monkeypatch.setattr("recalld.supervisor.host.watcher.watch", lambda _, hint: hints.append(hint) or TOLD_ALL)
    fleet = Fleet(tmp_path, 1)
    (world,) = fleet.worlds.values()
    for day in range(1, 29):
        world.put(f"memory/2025-12-{day:02}-花生.md", "花生过敏")
    fleet.make_disk = lambda: disks.append(FaultyDisk()) or disks[-1]
    with fleet.host() as host:
        fleet.rest(host)
        (hosted,) = host.hosted.values()
        counts = []
        for name in ("2025-12-01-花生.md", "history.json"):
            hints[0](name)
            before = len(disks[0].made)
            hosted.look(fleet.clock())
            counts.append(len(disks[0].made) - before)
    assert counts[1] < 13 < 28 < counts[0]


def test_host_looks_more_rarely_at_resting_workspaces_where_many_are_open(tmp_path, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.host.watcher.watch", lambda *_: TOLD_ALL)
    monkeypatch.setattr("recalld.supervisor.host.host._RESTING_LOOKS", 0.2)
    fleet = Fleet(tmp_path, 3)
    with fleet.host() as host:
        fleet.rest(host)
        looks: list[float] = []
        host._sign = lambda: looks.append(fleet.clock.seconds)
        for _ in range(60):
            fleet.clock.forward(seconds=1)
            host.look()
            fleet.threads.run_due()
    assert len(looks) == 12, "three of them, each every 15 seconds"


def test_host_gives_memory_back_once_after_its_last_step(fleet, monkeypatch):
    one, given = fleet(1), []
    monkeypatch.setattr("recalld.supervisor.host.host.give_back_memory", lambda: given.append(one.clock.monotonic()))
    with one.host() as host:
        one.rest(host)
        one.say(0)
        for _ in range(60):
            one.clock.forward(seconds=1)
            host.look()
            one.threads.run_due()
    assert len(given) == 1


def test_host_keeps_what_is_open_out_of_collections_and_frees_it_later(fleet):
    many = fleet(12)
    with many.host(open_most=20) as host:
        many.rest(host)
        opened = [one.supervisor for one in host.hosted.values() if one.supervisor]
        assert len(opened) == 12
        assert not {id(one) for one in opened[:10]} & set(map(id, gc.get_objects())), "the collector leaves them alone"
        first = next(iter(host.hosted))
        left = weakref.ref(host.hosted[first].supervisor)
        opened.clear()
        host.let_go(first, None)
        many.rest(host)
        assert left() is not None, "a circle of objects, which were frozen"
        many.clock.forward(hours=1)
        many.say(1)
        many.rest(host)
        many.clock.forward(seconds=20)
        host.look()
        assert left() is None


def test_host_looks_again_at_a_file_that_changed_during_a_step(tmp_path, monkeypatch):
    hints = []
    monkeypatch.setattr("recalld.supervisor.host.watcher.watch", lambda _, hint: hints.append(hint) or TOLD_ALL)
    fleet = Fleet(tmp_path, 1)
    (root,) = fleet.by_root
    with fleet.host() as host:
        fleet.rest(host)
        job = host.hosted[root].job
        job.is_running = True
        fleet.say(0)
        hints[0]("history.json")
        assert host.look() <= 1
        job.is_running = False
        host.look()
        assert job.at_s == fleet.clock.monotonic()


def test_host_without_file_events_tells_memory_nothing(fleet):
    one = fleet(1)
    with one.host() as host:
        assert [host.workspace(root).memory.told for root in one.by_root] == [None]


def test_host_goes_on_when_one_workspace_fails(fleet):
    many = fleet(5)
    with many.host() as host:
        many.rest(host)
        broken = many.worlds[2]
        (broken.paths.seen).write_bytes(b'{"recalld":999}\n')  # a newer recalld has written it
        for n in range(5):
            many.say(n)
        many.clock.forward(hours=6)
        many.rest(host)
        assert [len(world.archived()) for world in many.worlds.values()] == [1, 1, 0, 1, 1]
        assert not host.hosted[broken.root].is_held
        assert any("newer" in str(fields["why"]) for fields in broken.events.of("degraded"))
        broken.paths.seen.unlink()
        many.clock.forward(hours=1)
        many.rest(host)
        assert len(broken.archived()) == 1


def test_host_lets_a_workspace_rest_that_another_program_has(fleet):
    many = fleet(2)
    theirs = many.worlds[1]
    with contextlib.ExitStack() as stack:
        with supervisor_lock(theirs.another().ws):
            host = stack.enter_context(many.host())
            many.rest(host)
            assert [one.is_held for one in host.hosted.values()] == [True, False]
        many.clock.forward(hours=1)
        many.rest(host)
        assert [one.is_held for one in host.hosted.values()] == [True, True]


def test_host_of_one_ends_when_another_program_has_the_workspace(fleet):
    alone = fleet(1)
    with alone.host(), contextlib.ExitStack() as stack, pytest.raises(AlreadyRuns):
        stack.enter_context(alone.host())


def test_host_searches_an_index_that_was_closed(fleet):
    many = fleet(3)
    with many.host(indexes_most=1) as host:
        for n in range(3):
            many.say(n, f"第 {n} 个电钢琴")
        many.clock.forward(hours=6)
        for _ in range(3):
            many.rest(host)
        spaces = [host.workspace(world.root) for world in many.worlds.values()]
        assert sum(ws.index.is_readable for ws in spaces) == 1
        found = [[hit.unit.text for hit in ws.searcher.search("电钢琴", many.clock()).hits] for ws in spaces]
        assert found == [[f"第 {n} 个电钢琴"] for n in range(3)]


def test_host_closes_an_index_that_nobody_uses_until_the_next_search(fleet, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.host.host.INDEX_REST_S", 0.0)
    alone = fleet(1)
    with alone.host() as host:
        alone.say(0, "电钢琴在阁楼上。")
        alone.clock.forward(hours=6)
        alone.rest(host)
        ws = host.workspace(alone.worlds[0].root)
        for _ in range(2):
            assert alone.rest(host) == 0, "a closed index is no lost index: no job makes it again"
            assert not ws.index.is_readable
            assert [hit.unit.text for hit in ws.searcher.search("电钢琴", alone.clock()).hits] == ["电钢琴在阁楼上。"]
