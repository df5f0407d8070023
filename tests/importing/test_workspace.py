"""A workspace, or a backup of one, as what is imported: word for word, and nothing in it is waited for without an end."""

from __future__ import annotations

from typing import Any

from recalld.supervisor.importing.run import bring_in
from recalld.supervisor.storage.control import UNLIMITED
from tests.importing import made
from tests.world import WITHOUT_MODEL, World, at, message, talk

NOW = at("2026-01-31T10:00")


def blocks(world: World) -> dict[str, Any]:
    return {block.id: block for blocks in world.dated_files().values() for block in blocks}


def test_message_of_another_workspace_keeps_its_fields_and_picture(tmp_path):
    picture = "data:image/png;base64,iVBORw0KGgo="
    there = made.other(
        tmp_path / "lap",
        message("x1", "2026-01-20T09:00", "在群里说的 <private>字</private>", session="g1", chat="group", name="小林"),
        message("x2", "2026-01-20T09:01", "", content=[{"type": "image_url", "image_url": {"url": picture}}]),
    )
    world = World(tmp_path / "ws", NOW, WITHOUT_MODEL)
    bring_in(world.ws, tmp_path / "lap", NOW, UNLIMITED)
    assert blocks(world) == blocks(there)
    assert [path.name for path in (world.root / "attachments").iterdir()]


def test_time_far_ahead_is_believed_from_dated_files_alone(tmp_path):
    there = World(tmp_path / "lap", at("2099-01-01T10:00"), WITHOUT_MODEL)
    there.write([message("x1", "2026-01-20T09:00", "die Fähre"), message("x2", "2098-12-31T10:00", "渡轮九点开", session="s")])
    there.intake()
    there.archive(everything=True)
    there.add(message("x3", "2099-01-01T10:00", "pier 7"))
    world = World(tmp_path / "ws", NOW, WITHOUT_MODEL)
    assert bring_in(world.ws, there.root, NOW, UNLIMITED).undated == 1
    times = {identity: block.created_at for identity, block in blocks(world).items()}
    assert times == {"x1": at("2026-01-20T09:00"), "x2": at("2098-12-31T10:00"), "x3": at("2026-01-20T09:00")}


def test_words_that_a_person_edited_here_do_not_come_back_as_others(tmp_path):
    there = made.other(tmp_path / "lap", message("x1", "2026-01-20T09:00", "am Freitag"))
    path = next((there.root / "memory").glob("2*.md"))
    path.write_text(path.read_text(encoding="utf-8").replace("am Freitag", "am Samstag"), encoding="utf-8")
    world = World(tmp_path / "ws", NOW, WITHOUT_MODEL)
    bring_in(world.ws, there.root, NOW, UNLIMITED)
    assert bring_in(there.ws, world.root, NOW, UNLIMITED).added == 0


def test_history_that_is_cut_off_is_named_and_the_rest_is_added(tmp_path):
    there = made.other(tmp_path / "lap", *talk("2026-01-20T09:00", 3))
    (there.root / "history.json").write_text('[{"id": "x"', encoding="utf-8")
    done = bring_in(World(tmp_path / "ws", NOW, WITHOUT_MODEL).ws, there.root, NOW, UNLIMITED)
    assert (done.added, done.unread) == (3, {"file": 1})
