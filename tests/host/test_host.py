"""The host of a workspace: it looks where something may have changed, and has rounds done."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recalld.supervisor.archive.places import LEFT
from recalld.supervisor.host.daemon import Supervisor
from recalld.supervisor.host.jobs import Background
from recalld.supervisor.host.lock import supervisor_lock
from recalld.supervisor.host.watcher import ConfigWatch
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import LockLost, SupervisorError
from recalld.supervisor.workspace import read_config
from tests.patience import PATIENCE_S
from tests.world import IN_SHANGHAI, Diarist, FaultyDisk, UnsyncedDisk, at, message, patient

TOML = f"[archive]\n{IN_SHANGHAI}\nexchange_wait = '0s'\n"


def look(host: Supervisor) -> None:
    """Run the jobs that are due until none is."""
    while sum(job.run_due() for job in host.jobs):
        pass


class Hosted:
    """A workspace, and a host of it whose jobs run when a test says so."""

    def __init__(self, folder: Path) -> None:
        self.world = Diarist(folder / "工作区", at("2026-01-31T10:00"), TOML)
        self.world.put("recalld.toml", TOML)
        self.clock = self.world.clock
        self.make_disk: Callable[[], RealDisk] = UnsyncedDisk
        self.hints: list[Callable[[str], None]] = []

    @contextlib.contextmanager
    def host(self) -> Iterator[Supervisor]:
        world = self.world.reopen(self.world.paths.config.read_text(encoding="utf-8"), disk=self.make_disk())
        ws = world.ws
        background = Background(ws, self.clock, now_s=self.clock.monotonic)
        config = ConfigWatch(ws, lambda: patient(read_config(ws.files, ws.paths, {})))
        with (
            supervisor_lock(ws) as check,
            Supervisor(ws, self.clock, None, self.clock.monotonic, background, config, check_lock=check) as host,
        ):
            yield host

    def rest(self, host: Supervisor) -> None:
        """Let it look and work for some seconds."""
        for _ in range(12):
            self.clock.forward(seconds=1)
            look(host)

    def say(self, text: str = "我对花生过敏。") -> None:
        self.world.add(message("m0", "2026-01-31T09:00", text))


@pytest.fixture
def hosted(tmp_path, monkeypatch):
    """A workspace without file events, as where the system has no room for more: the look finds everything."""

    def refuse(*_: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr("recalld.supervisor.host.watcher.watch", refuse)
    return Hosted(tmp_path)


def test_host_waits_for_a_step_before_another_configuration_is_used(hosted, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.host.daemon._JOIN_S", 0.01)
    with hosted.host() as host:
        hosted.rest(host)
        host.is_outdated = host.jobs[1].is_running = True
        host.jobs[0].wake()
        running = threading.Thread(target=host.run)
        running.start()
        running.join(0.1)
        assert running.is_alive()
        host.jobs[1].is_running = False
        running.join(PATIENCE_S)
        assert not running.is_alive()


@pytest.mark.parametrize("name", LEFT)
def test_host_deletes_what_versions_before_left(hosted, name):
    hosted.world.put(name, "{}")
    with hosted.host():
        assert not (hosted.world.root / name).exists()


def test_host_ends_where_a_newer_recalld_has_written(hosted):
    with hosted.host() as host:
        hosted.rest(host)
        hosted.world.paths.seen.write_bytes(b'{"recalld":999}\n')
        hosted.say()
        hosted.rest(host)
        assert host._stopping.is_set()
        with pytest.raises(SupervisorError, match="newer"):
            host.run()


@pytest.mark.parametrize("event", ["history.json", "memory", ""])
def test_host_begins_no_round_once_its_lock_is_lost(hosted, event):
    world = hosted.world
    with hosted.host() as host:
        hosted.rest(host)
        hosted.say()
        world.paths.state.rename(world.root / "away")
        world.paths.state.mkdir(mode=0o700)
        world.paths.supervisor_lock.touch()  # another supervisor has it
        if event:
            host._hint(event)
        hosted.clock.forward(seconds=5)
        look(host)
        with pytest.raises(LockLost):
            host.run()
        assert list(world.paths.state.iterdir()) == [world.paths.supervisor_lock], "no round has written"


@pytest.fixture
def told(tmp_path, monkeypatch):
    """A workspace whose file events a test makes itself, by the function in `hints`."""
    hosted = Hosted(tmp_path)
    monkeypatch.setattr("recalld.supervisor.host.watcher.watch", lambda _, hint: hosted.hints.append(hint) or (lambda: None))
    return hosted


def test_host_tells_memory_of_changes_while_the_system_tells_it(told):
    with told.host() as host:
        memory = host.ws.memory
        before = memory.generation
        told.hints[0]("history.json")
        assert memory.generation is before is not None
        told.hints[0]("2026-01-31-allergy.md")
        assert memory.generation not in (before, None)
        told.rest(host)
    assert memory.generation is None


def test_host_takes_few_stats_for_a_message_that_an_event_tells_of(told):
    disks = []
    for day in range(1, 29):
        told.world.put(f"memory/2025-12-{day:02}-花生.md", "花生过敏")
    told.make_disk = lambda: disks.append(FaultyDisk()) or disks[-1]
    with told.host() as host:
        told.rest(host)
        counts = []
        for name in ("2025-12-01-花生.md", "history.json"):
            told.hints[0](name)
            before = len(disks[0].made)
            host.jobs[0].run_due()
            counts.append(len(disks[0].made) - before)
    assert counts[1] < 13 <= counts[0]


def test_host_looks_again_at_a_file_that_changed_during_a_step(told, monkeypatch):
    with told.host() as host:
        told.rest(host)
        looks = []

        def poll(*, memory_hinted: bool) -> bool:
            looks.append(memory_hinted)
            if len(looks) == 1:
                told.hints[0]("2026-01-31-花生.md")
            return False

        monkeypatch.setattr(host, "poll", poll)
        told.hints[0]("history.json")
        look(host)
    assert looks == [False, True]


def test_host_gathers_for_a_second_what_follows_a_change(told, monkeypatch):
    with told.host() as host:
        told.rest(host)
        rounds = []
        tick = host.tick
        monkeypatch.setattr(host, "tick", lambda *given: rounds.append(told.clock()) or tick(*given))
        told.hints[0]("history.json.tmp")  # nothing has changed
        look(host)
        began = told.clock()
        for eighth in range(17):
            told.say("我对花生过敏。" * (eighth + 1))
            told.hints[0]("history.json")
            look(host)
            told.hints[0]("inbox.json")
            assert host.jobs[1].run_due(), "an input is answered at once"
            told.clock.forward(seconds=0.125)
    assert [(moment - began).total_seconds() for moment in rounds] == [0, 1, 2]
