"""`fsck --report`: what is wrong is kept, is an event, and is told once to the user's command; quiet hours are waited out."""

import json
from pathlib import Path

import pytest

from recalld.supervisor.host.last_night import read_last_fsck
from recalld.supervisor.interfaces.cli.care import await_quiet_end
from tests.patience import PATIENCE_S
from tests.world import ASK, IN_SHANGHAI, World, at, message_on

#: What the user's command is given, a line for each time that it is run.
TOLD = 'printf "%s|%s\\n" "$RECALLD_WORKSPACE" "$RECALLD_TROUBLE" >> "$RECALLD_WORKSPACE/told.txt"'


def with_command(world: World, command: str) -> World:
    world.reopen(f"[archive]\n{IN_SHANGHAI}\n[care]\non_trouble = {json.dumps(command)}\n")
    return world


def told(world: World) -> list[str]:
    path: Path = world.root / "told.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def lose_a_file(world: World) -> None:
    world.write([message_on("2026-01-30")])
    world.settle()
    (file,) = world.root.glob("memory/2026-01-30-*.md")
    world.write([])
    file.rename(world.root / "gone")


def find_it_again(world: World) -> None:
    (world.root / "gone").rename(world.root / "memory" / "2026-01-30-nginx.md")


def test_report_of_a_lost_message_is_in_status_log_and_told_once(world):
    with_command(world, TOLD)
    lose_a_file(world)
    ledger, (sentence,) = world.report()
    assert len(ledger.lost) == 1
    assert sentence.startswith(
        "messages are lost (1), the first was in 2026-01-30-nginx.md, which is gone; `recalld fsck` says"
    )
    assert world.verdict() == ([sentence], False)
    assert world.events.of("fsck_failed") == [{"lost": 1, "damage": 0}]
    assert told(world) == [f"{world.root}|{sentence}"]
    world.forward(days=1)
    assert world.report()[1] != []
    assert len(told(world)) == 1
    assert len(world.events.of("fsck_failed")) == 2


def test_report_tells_again_what_was_mended_and_came_again(world):
    with_command(world, TOLD)
    lose_a_file(world)
    world.report()
    find_it_again(world)
    assert world.report()[1] == []
    assert world.events.of("fsck_passed") == [{}]
    (world.root / "memory" / "2026-01-30-nginx.md").rename(world.root / "gone")
    world.report()
    assert len(told(world)) == 2


@pytest.mark.parametrize(
    ("command", "wait_s", "why"),
    [("exit 3", PATIENCE_S, "it ended with exit code 3"), ("sleep 600", 0.2, "it was killed after 0.2 s")],
    ids=["fails", "hangs"],
)
def test_report_tells_once_that_the_command_failed_and_tries_it_again(world, command, wait_s, why):
    with_command(world, command)
    lose_a_file(world)
    world.report(wait_s=wait_s)
    assert world.events.of("on_trouble_failed") == [{"why": why}]
    sentences, _ = world.verdict()
    assert f"the command of care.on_trouble failed: {why}; correct it in recalld.toml." in sentences
    world.report(wait_s=wait_s)
    assert len(world.events.of("on_trouble_failed")) == 1
    with_command(world, TOLD)
    world.report()
    assert len(told(world)) == 1
    assert "care.on_trouble" not in "".join(world.verdict()[0])


@pytest.mark.parametrize("data", [b"[" * 3000, b"[]", b"{}", b"\xff"])
def test_outcome_of_a_check_that_can_not_be_read_is_none(world, data):
    world.paths.fsck.write_bytes(data)
    assert read_last_fsck(world.ws) is None


def test_await_quiet_end_returns_when_the_hours_are_over(world):
    world.reopen(f'[archive]\n{IN_SHANGHAI}\n[care]\nquiet_hours = "22:00-07:00"\n')
    world.clock.now = at("2026-01-31T03:20")
    pauses = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        world.clock.forward(seconds=seconds)

    await_quiet_end(world.ws, world.clock, pause)
    assert world.clock() == at("2026-01-31T07:00")
    assert set(pauses) == {60.0}
    await_quiet_end(world.ws, world.clock, pause)
    assert world.clock() == at("2026-01-31T07:00")


def test_supervisor_begins_no_summary_in_quiet_hours_but_archives(world):
    world.reopen(f'{ASK}[archive]\n{IN_SHANGHAI}\n[care]\nquiet_hours = "09:00-11:00"\n')
    supervisor = world.supervisor()
    world.write([message_on("2026-01-10"), message_on("2026-01-30")])
    done = supervisor.tick(world.clock())
    assert (done.archived, done.begun) == (2, 0)
    world.forward(hours=1)
    assert supervisor.tick(world.clock()).begun == 1
