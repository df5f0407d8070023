"""Pictures and files on their way from history.json to a dated file: their bytes are kept once, and nothing is lost of them."""

import base64
import json
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.storage.errors import BadFile, BadRequest, NotFound
from tests.kinds import OTHERS
from tests.protocol.test_attachments import JPEG, PDF, PNG, path
from tests.world import World, message

FILE = path(PNG, "png")


def photo(identity: str, time: str, text: str = "看这张照片", data: bytes = PNG, **fields: Any) -> dict[str, Any]:
    """A message with a picture, as a chat-completions client writes it."""
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    parts = [*([{"type": "text", "text": text}] if text else []), {"type": "image_url", "image_url": {"url": url}}]
    raw = message(identity, time, "", **fields)
    del raw["text"]
    return {**raw, "content": parts}


def dated_text(world: World) -> str:
    return "".join(found.read_text("utf-8") for found in sorted(world.root.glob("memory/**/*.md")))


def everywhere(world: World) -> Sequence[str]:
    """The files that hold the picture's base64, but for those of the assistant."""
    needle = base64.b64encode(PNG)[:40]
    found = [one for one in sorted(world.root.rglob("*")) if one.is_file() and needle in one.read_bytes()]
    return [one.relative_to(world.root).as_posix() for one in found if not one.name.startswith("history.json")]


def test_archive_keeps_the_bytes_of_a_picture_once_and_names_them(world):
    sent = [photo("1", "2026-01-30T09:00"), photo("2", "2026-01-30T09:01", ""), message("3", "2026-01-31T09:00", "好")]
    world.write(sent)
    world.settle()
    assert (world.root / FILE).read_bytes() == PNG
    assert [one.name for one in (world.root / "attachments").iterdir()] == [FILE.rpartition("/")[2]]
    assert stat.S_IMODE((world.root / "attachments").stat().st_mode) == 0o700
    assert stat.S_IMODE((world.root / FILE).stat().st_mode) == 0o600
    assert dated_text(world).count(f"\n(image: {FILE})\n") == 2
    assert everywhere(world) == []
    assert world.history() == [{**raw, "archived": True} for raw in sent]
    assert world.fsck().is_sound


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("text", ["", "[图片]"])
def test_append_keeps_each_picture_of_an_album_of_one_second(world, together, text):
    """A bridge gives all of them the same second, the same words or none, and no ids; a batch that is sent again adds nothing."""
    album = [photo("", "2026-01-31T09:00", text, data) for data in (PNG, JPEG, PDF)]
    for raw in album:
        del raw["id"]
    batches = [album] if together else [[raw] for raw in album]
    first = [world.append(*batch) for batch in batches]
    assert [world.append(*batch) for batch in batches] == first
    assert len({identity for batch in first for identity in batch}) == 3
    assert [raw["content"] for raw in world.history()] == [raw["content"] for raw in album]
    world.settle()
    assert world.archived_texts() == [text] * 3
    assert dated_text(world).count("attachments/") == 6


# ── a file is what its name says ─────────────────────────────────────────────

WRONG = {
    **OTHERS,
    "half of it": lambda path: path.write_bytes(PNG[: len(PNG) // 2]),
    "other bytes": lambda path: path.write_bytes(PNG[::-1]),
}


def plant(world: World, kind: str) -> Path:
    """Put what is not the picture under its name."""
    place = world.root / FILE
    place.parent.mkdir(mode=0o700, exist_ok=True)
    place.unlink(missing_ok=True)
    WRONG[kind](place)
    return place


@pytest.mark.parametrize("kind", WRONG)
def test_append_writes_a_picture_whatever_has_its_name(world, kind):
    """Else history.json has the only bytes, and they are gone with the message's next trim."""
    place = plant(world, kind)
    world.append(photo("1", "2026-01-31T09:00"))
    assert place.read_bytes() == PNG
    assert not place.is_symlink()
    assert [one.name for one in place.parent.iterdir() if one != place] == [f"{place.name}.aside"]
    world.settle()
    world.write([])
    assert world.fsck().is_sound
    assert world.fsck().unnamed == [f"{FILE}.aside"]
    assert (place.parent.parent / "别处").exists() == (kind == "a link to a file")


@pytest.mark.parametrize("kind", WRONG)
def test_nightly_check_writes_a_picture_again_while_history_has_it(world, kind):
    world.append(photo("1", "2026-01-31T09:00"))
    world.settle()
    place = plant(world, kind)
    assert not world.fsck().is_sound
    ledger, wrong = world.report()
    assert (ledger.damage, [one for one in wrong if "attachments" in one]) == ([], [])
    assert place.read_bytes() == PNG
    assert world.events.of("repaired")[-1]["pictures"] == 1
    assert world.report()[0].is_sound
    assert [one.name for one in place.parent.iterdir() if one != place] == [f"{place.name}.aside"]


@pytest.mark.parametrize("kind", WRONG)
def test_nothing_is_told_of_a_picture_that_is_not_what_its_name_says(world, kind):
    world.append(photo("1", "2026-01-31T09:00"))
    plant(world, kind)
    with pytest.raises((BadFile, BadRequest, NotFound, OSError)):
        world.get(FILE)
    world.ws.journal.refresh()
    (only,) = world.ws.journal.unwritten.values()
    assert FILE in json.dumps(world.ws.attachments.original(only).raw)


# ── get and fsck ─────────────────────────────────────────────────────────────


def test_get_reads_no_attachment(world):
    world.append(photo("1", "2026-01-31T09:00"))
    for wrong in (FILE, path(PDF, "pdf"), "attachments/../history.json", f"../{FILE}"):
        with pytest.raises(BadRequest, match="is no memory file"):
            world.get(wrong)
