"""One round: every step once, none stopped by another, and in the end everything at rest."""

from __future__ import annotations

import errno
import itertools
import os
from threading import Event
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.archive.append import append
from supervisor.protocol.disk import RealDisk
from supervisor.protocol.errors import BadConfig
from supervisor.service import round as rounds
from supervisor.service.daemon import Supervisor
from tests.conftest import Desk, message, talk, unreachable

if TYPE_CHECKING:
    from pathlib import Path


class Refusing(RealDisk):
    """A disk that refuses calls while *refuses* says so."""

    refuses: Any = staticmethod(lambda _call, _path: False)
    number = errno.ENOSPC

    def create(self, path: Path, mode: int) -> int:
        self._ask("create", path)
        return super().create(path, mode)

    def open_append(self, path: Path, mode: int) -> int:
        self._ask("append", path)
        return super().open_append(path, mode)

    def rename_new(self, old: Path, new: Path) -> None:
        self._ask("move", old)
        super().rename_new(old, new)

    def _ask(self, call: str, path: Path) -> None:
        if self.refuses(call, path):
            raise OSError(self.number, os.strerror(self.number), str(path))


def on(day: str, slug: str = "nginx") -> dict[str, object]:
    return message(f"{day}-{slug}", f"{day}T09:00", f"关于 {slug} 的话")


# ── counts and rest ──────────────────────────────────────────────────────────


def test_a_round_says_what_it_did(desk):
    desk.write([on("2026-01-10"), on("2026-01-30")])
    done = desk.round("all")
    assert (done.seen, done.archived, done.submitted, done.did, done.errors) == (2, 2, 1, 5, {})
    desk.work()
    done = desk.round("all")
    assert (done.seen, done.archived, done.summaries, done.did) == (0, 0, 1, 1)
    assert desk.round("all").did == 0


def test_a_round_that_is_held_back_writes_no_dated_file_and_takes_in_results(desk):
    desk.write([on("2026-01-10")])
    assert (desk.round("none").seen, desk.dated()) == (1, {})


def test_a_round_at_rest_writes_no_byte(desk):
    desk.write([on("2026-01-10"), on("2026-01-30"), "一句话"])
    desk.settle()
    before = {name: (desk.root / name).stat() for name in desk.tree(machine=True)}
    for _ in range(3):
        desk.round("all")
    assert {name: (desk.root / name).stat() for name in desk.tree(machine=True)} == before


# ── one fault does not stop the others ───────────────────────────────────────


def test_a_disk_that_refuses_half_way_through_is_told_once_by_the_name_of_the_file(desk):
    disk = Refusing()
    desk.reopen(disk=disk)
    desk.write([on("2026-01-10")])
    disk.refuses = lambda _call, path: path.name.endswith(".tmp")
    for _ in range(4):
        desk.round("all")
    (told,) = desk.told.of("degraded")
    assert "history.json could not be" in told["why"]
    assert ".tmp" not in told["why"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_disk_that_refuses_is_told_once_and_costs_nothing_once_it_is_well(desk, number):
    """I9, H6, H7."""
    disk = Refusing()
    disk.number = number
    desk.reopen(disk=disk)
    desk.write([on("2026-01-10"), on("2026-01-30")])
    disk.refuses = lambda _call, _path: True
    for _ in range(4):
        desk.round("all")
    assert (len(desk.told.of("degraded")), desk.dated(), len(desk.history())) == (1, {}, 2)
    disk.refuses = lambda _call, _path: False
    desk.settle()
    assert len(desk.told.of("recovered")) == 1
    assert len(desk.filed()) == 2
    assert desk.flags() == [True, True]
    assert not list(desk.root.rglob("*.tmp"))


def test_a_summary_that_cannot_be_written_does_not_keep_messages_from_being_filed(desk):
    disk = Refusing()
    desk.reopen(disk=disk)
    desk.write([on("2026-01-10")])
    desk.round("all")
    desk.work()
    disk.refuses = lambda _call, path: path.parent.name == "summary"
    desk.say(on("2026-01-30"))
    desk.round("all")
    assert len(desk.filed()) == 2
    assert desk.summaries() == []
    disk.refuses = lambda _call, _path: False
    desk.settle()
    assert desk.summaries() == ["2026-01-10"]


def test_a_damaged_history_does_not_keep_summaries_from_being_made(desk):
    desk.write([on("2026-01-10")])
    desk.round("all")
    desk.write(b"[")
    desk.work()
    desk.round("all")
    assert desk.summaries() == ["2026-01-10"]
    assert set(desk.round("all").errors) >= {"intake"}


def test_a_folder_that_is_made_to_lead_outside_while_the_supervisor_runs_ends_it_before_it_writes_there(desk, tmp_path_factory):
    """S2: the check at the start says nothing of later."""
    supervisor = Supervisor(desk.ws, desk.clock, None)
    supervisor.tick(desk.clock())
    outside = tmp_path_factory.mktemp("别处")
    memory = desk.layout.memory
    memory.rename(memory.with_name("memory-was"))
    memory.symlink_to(outside)
    desk.write([message(f"m{n}", "2026-01-31T03:00", f"第 {n} 句") for n in range(200)])
    with pytest.raises(BadConfig, match="outside the workspace"):
        supervisor.tick(desk.clock())
    assert list(outside.iterdir()) == []


def test_a_full_disk_brings_no_run_at_every_poll(desk):
    """4H, 15: waits of 10 s, doubling to 10 min."""
    monotonic = [0.0]
    disk = Refusing()
    desk.reopen(disk=disk)
    desk.write([message(f"m{n}", "2026-01-31T03:00", f"第 {n} 句") for n in range(3)])
    desk.round("none")
    tries = []

    def refuses(_call: str, path: Path) -> bool:
        if path.parent.name == "memory":
            tries.append(monotonic[0])
            return True
        return False

    disk.refuses = refuses
    supervisor = Supervisor(desk.ws, desk.clock, None, lambda: monotonic[0])
    for second in range(2_000):
        monotonic[0] = float(second)
        supervisor.tick(desk.clock())
    waits = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert waits == [10, 20, 40, 80, 160, 320, 600, 600]
    disk.refuses = lambda _call, _path: False
    monotonic[0] += 600
    supervisor.tick(desk.clock())
    assert len(desk.filed()) == 3


def test_a_journal_that_cannot_be_compacted_stops_nothing(desk):
    disk = Refusing()
    desk.reopen(disk=disk)
    desk.write([on("2026-01-30")])
    desk.settle()
    for _ in range(1_100):
        desk.ws.seen.looked([])
        desk.ws.seen.looked(desk.ws.history.read())
    disk.refuses = lambda _call, path: "seen.jsonl" in path.name
    assert desk.ws.seen.is_bloated()
    desk.round("all")
    disk.refuses = lambda _call, _path: False
    desk.round("all")
    assert not desk.ws.seen.is_bloated()
    assert desk.flags() == [True]


@pytest.mark.parametrize("depth", [150, 198, 199, 200, 300, 499, 500, 700, 900, 990])
def test_a_message_of_any_depth_is_archived_or_told_and_stops_no_other(desk, depth):
    deep = b"[" * depth + b"]" * depth
    first, second = (f'{{"id": "{n}", "role": "user", "text": "第 {n} 句", "createdAt": "2026-01-30T01:00:00Z"' for n in (1, 2))
    desk.write(f'[{first}, "x": '.encode() + deep + f"}},\n{second}}}]".encode())
    before = desk.layout.history.read_bytes()
    desk.settle()
    assert bool(desk.told.of("history_invalid")) == (depth >= 500)
    if depth >= 500:
        assert desk.layout.history.read_bytes() == before
    else:
        odd = ["1"] if depth >= 200 else []
        assert [text for _, text in desk.filed()] == ["第 1 句", "第 2 句"][len(odd) :]
        assert deep in desk.layout.history.read_bytes().replace(b" ", b"")
        assert [told["why"] for told in desk.told.of("message_odd")] == ["its nesting is too deep" for _ in odd]
    assert desk.told.of("error") == desk.told.of("degraded") == []


# ── until settled ────────────────────────────────────────────────────────────


def workers(desk: Desk) -> Any:
    return SimpleNamespace(failures=0, start_if_needed=desk.work, watch_leases=lambda: None, stop=lambda: None)


def until_settled(desk: Desk) -> None:
    """Run until settled, with the worker of this process; 50 looks without an end mean that there is none."""
    looks: list[object] = []

    def look(*about: object) -> None:
        looks.append(about)
        assert len(looks) < 50, "it spins"

    desk.ws.progress = look
    rounds.until_settled(desk.ws, desk.clock(), workers(desk), Event())


def test_until_settled_does_all_that_is_due_and_ends(desk):
    desk.write([on("2025-11-10"), on("2025-12-10"), on("2026-01-10"), on("2026-01-31")])
    until_settled(desk)
    assert desk.flags() == [True] * 4
    assert desk.summaries() == ["2025-11", "2025-12-10", "2026-01-10"]


def test_until_settled_does_not_wait_for_groups_that_wait(desk):
    desk.scribe.script = unreachable
    desk.write([on("2025-11-10"), on("2026-01-10")])
    until_settled(desk)
    assert desk.flags() == [False, False]


@pytest.mark.parametrize("make", ["folder", "link"])
def test_until_settled_ends_when_a_result_cannot_be_taken_in(desk, make):
    path = desk.root / "memory" / "summary" / "2026-01-10.md"
    path.mkdir() if make == "folder" else path.symlink_to(desk.root / "x")
    desk.write([on("2026-01-10")])
    until_settled(desk)
    assert desk.flags() in ([False], ["pending"])


def test_messages_from_every_door_are_in_the_files_in_the_end(desk):
    desk.write(talk("2026-01-30T09:00", 2))
    (desk.layout.drop_box / "手机.json").write_text('{"role": "user", "text": "从手机来"}')
    append(desk.ws, [{"role": "user", "text": "从命令行来"}], desk.clock(), bytes(10))
    desk.settle()
    assert {"从手机来", "从命令行来"} < {text for _, text in desk.filed()}
    assert desk.flags() == [True] * 4


# ── a clock that is moved ────────────────────────────────────────────────────


def test_after_the_clock_was_set_ahead_by_years_no_summary_is_begun_until_it_has_stood_for_a_while(desk):
    steady = [0.0]
    desk.write(talk("2026-01-31T02:00", 4))
    supervisor = Supervisor(desk.ws, desk.clock, None, lambda: steady[0])
    supervisor.tick(desk.clock())
    assert len(desk.filed()) == 4
    desk.clock.forward(days=3_650)
    for _ in range(9):
        supervisor.tick(desk.clock())
        assert desk.ws.spool.in_flight() == {}
        steady[0] += 60.0
        desk.clock.forward(minutes=1)
    desk.clock.forward(days=-3_650)  # the clock was set right
    for _ in range(20):
        supervisor.tick(desk.clock())
        steady[0] += 60.0
        desk.clock.forward(minutes=1)
    assert desk.ws.spool.in_flight() == {}
    assert [round(told["seconds"] / 86_400) for told in desk.told.of("clock_jump")] == [3_650, -3_650]


def test_words_are_written_down_at_once_whatever_the_clock_does(desk):
    steady = [0.0]
    desk.write(talk("2026-01-30T02:00", 2))
    supervisor = Supervisor(desk.ws, desk.clock, None, lambda: steady[0])
    supervisor.tick(desk.clock())
    desk.clock.forward(days=40)
    desk.say(*talk("2026-01-31T02:00", 2, prefix="新"))
    supervisor.tick(desk.clock())
    assert len(desk.filed()) == 4


def test_a_clock_that_stays_ahead_is_believed_after_ten_minutes(desk):
    steady = [0.0]
    desk.write(talk("2026-01-30T02:00", 2))
    supervisor = Supervisor(desk.ws, desk.clock, None, lambda: steady[0])
    supervisor.tick(desk.clock())
    desk.clock.forward(days=40)
    supervisor.tick(desk.clock())
    steady[0] += 601.0
    desk.clock.forward(seconds=601)
    supervisor.tick(desk.clock())
    assert list(desk.ws.spool.in_flight()) == ["month-2026-01"]
    assert len(desk.told.of("clock_jump")) == 1


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_another_file_that_can_not_be_read_is_no_damage_of_the_history(desk, kind):
    desk.write([message("a", "2026-01-10T09:00", "我对花生过敏。")])
    desk.round("all")
    (task,) = (path.name for path in desk.ws.spool.queue.iterdir())
    odd = desk.ws.spool.results / task
    odd.symlink_to(desk.layout.history) if kind == "link" else odd.mkdir()
    supervisor = Supervisor(desk.ws, desk.clock, None, lambda: 0.0)
    supervisor.tick(desk.clock())
    assert desk.told.of("history_invalid") == []
    assert task in str(desk.told.of("degraded"))
    assert not desk.layout.quarantine.exists()
