"""`fsck --repair` and `restore`: what can be repaired is repaired, and no byte is removed without a copy."""

import contextlib
import json

import pytest

from recalld.supervisor.checks.fsck import Repairs
from tests.world import Killed, World, dying, talk


def settled(world: World) -> list[str]:
    """A workspace whose first days are written; returns what was said."""
    world.write(talk("2026-01-29T09:00", 4) + talk("2026-01-30T09:00", 4))
    world.settle()
    return world.archived_texts()


def test_repair_saves_the_rest_of_a_broken_file_and_fsck_names_the_lost(world):
    said = settled(world)
    world.write([])
    world.settle()
    world.paths.history_backup.unlink(missing_ok=True)
    path = world.root / min(world.dated_files())
    path.write_bytes(path.read_bytes()[:-12])
    assert world.repair().saved == 3
    world.settle()
    assert len(world.archived_texts()) == len(said) - 1
    assert len(world.fsck().lost) == 1


def test_repair_saves_the_rest_of_a_file_that_breaks_after_it_was_accepted(world):
    """What a person accepts is the file as it is then."""
    settled(world)
    path = world.root / min(world.dated_files())
    accepted = path.read_bytes()[: path.read_bytes().rindex(b"<!-- {")].rstrip(b"\n") + b"\n"
    path.write_bytes(accepted)
    world.accept(path.name)
    assert world.fsck().damage == []
    start = accepted.index(b"<!-- {")
    path.write_bytes(accepted[:start] + b"\0" * 60 + accepted[start + 60 :])
    world.repair()
    assert not path.exists()
    world.settle()
    assert (len(world.archived_texts()), world.fsck().damage) == (7, [])


def test_repair_saves_messages_of_a_deleted_file_from_the_backup(world):
    said = settled(world)
    world.write([])
    world.paths.history_backup.write_bytes(json.dumps(talk("2026-01-29T09:00", 4)).encode())
    (world.root / min(world.dated_files())).unlink()
    assert len(world.fsck().lost) == 4
    assert world.repair().saved == 4
    assert world.fsck().is_sound
    world.settle()
    assert world.archived_texts() == said


def test_repair_saves_messages_from_a_quarantined_history(world):
    said = settled(world)
    data = json.dumps(world.history(), ensure_ascii=False).encode()[:-1]
    world.write(data)
    world.round()  # a copy goes to quarantine
    world.write([])
    world.paths.history_backup.unlink()
    for name in world.dated_files():
        (world.root / name).unlink()
    assert world.repair().saved == 8
    world.settle()
    assert world.archived_texts() == said


def test_repair_keeps_two_different_files_of_one_name(world):
    settled(world)
    path = world.root / min(world.dated_files())
    double = world.paths.original(path.name)
    double.parent.mkdir(parents=True)
    double.write_bytes(path.read_bytes() + "\n我加的一句\n".encode())
    before = world.tree()
    assert world.repair().doubles == ()
    assert world.tree() == before


@pytest.mark.parametrize(("made", "messages"), [("2026-01-29T08:00:00.000Z", 4), ("2026-01-30T23:00:00.000Z", 4), ("", 3)])
def test_repair_keeps_one_of_two_files_whose_messages_are_the_same(world, made, messages):
    """A synchroniser brings the file of the same name after recalld has written, summarised and moved its own."""
    said = settled(world)
    path = world.root / min(world.dated_files())
    text = path.read_text()
    (own,) = (line for line in text.splitlines() if line.startswith("created: "))
    text = text.replace(own, f"created: {made}") if made else text
    second = "<!-- ".join(text.split("<!-- ")[: messages + 1]).replace("count: 4", f"count: {messages}")
    double = world.paths.original(path.name)
    double.parent.mkdir(parents=True)
    double.write_text(second)
    texts = {path.read_bytes(), double.read_bytes()}
    assert world.fsck().damage
    assert world.repair().doubles == (path.name,)
    assert world.fsck().is_sound
    assert world.archived_texts() == said
    left = [one.read_bytes() for one in (path, double, *world.paths.quarantine.iterdir()) if one.exists()]
    assert set(left) == texts
    assert world.repair() == Repairs()


def test_repair_writes_nothing_again_that_a_whole_double_has(world):
    said = settled(world)
    path = world.root / min(world.dated_files())
    double = world.paths.original(path.name)
    double.parent.mkdir(parents=True)
    double.write_bytes(path.read_bytes())
    path.write_bytes(path.read_bytes()[:-12])
    assert world.repair() == Repairs(doubles=(path.name,))
    world.settle()
    assert world.archived_texts() == said
    assert world.fsck().is_sound


@pytest.mark.parametrize("step", range(24))
def test_repair_loses_nothing_when_killed_at_any_step(world, step):
    said = settled(world)
    path = world.root / min(world.dated_files())
    path.write_bytes(b"\0" * 100)
    world.open(world.ws.config, dying(step))
    with contextlib.suppress(Killed):
        world.repair()
    world.reopen()
    world.repair()
    world.settle()
    assert world.archived_texts() == said
    assert world.fsck().is_sound
