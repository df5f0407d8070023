"""A history.json that can't be read: kept, reported, left to its owner, and rebuilt from what is known."""

import errno
import json
import re

import pytest

from recalld.supervisor.archive.quarantine import Unread
from recalld.supervisor.checks.memory import why_unread
from recalld.supervisor.checks.table import account
from recalld.supervisor.protocol.message import History
from recalld.supervisor.storage.errors import BadFile, Conflict
from recalld.supervisor.storage.texts import Text
from tests.world import FaultyDisk, World, message, talk, without

DAMAGED = {
    "empty": b"",
    "cut off": b'[{"id": "1", "role": "us',
    "an object": b'{"history": []}',
    "too deep": b"[" * 100_000,
}


@pytest.mark.feature("003.32")
@pytest.mark.parametrize("data", [*DAMAGED.values(), None], ids=[*DAMAGED, "deleted"])
def test_restore_history_uses_backup_and_journal_and_keeps_the_bytes(world, data):
    world.write(talk("2026-01-30T09:00", 4))
    world.settle()
    world.add(*talk("2026-01-31T09:00", 2))
    world.round()
    expected = world.ids()
    if data is None:
        world.paths.history.unlink()
    else:
        world.write(data)
    assert world.restore() == 6
    assert world.ids() == expected
    assert {path.read_bytes() for path in world.paths.quarantine.glob("*")} == ({data} if data is not None else set())
    assert world.events.of("history_restored")[0]["messages"] == 6
    world.settle()
    assert len(world.archived()) == 6
    assert set(world.flags()) == {True}


@pytest.mark.parametrize("backup", [None, b"{"])
def test_restore_history_uses_the_journal_when_no_backup_can_be_read(world, backup):
    world.write(talk("2026-01-31T09:00", 2))
    world.round()
    world.write(b"[")
    world.paths.history_backup.unlink(missing_ok=True)
    if backup:
        world.paths.history_backup.write_bytes(backup)
    world.restore()
    assert world.ids() == [raw["id"] for raw in talk("2026-01-31T09:00", 2)]


def test_restore_history_knows_what_a_program_has_stripped_of_its_id(world):
    """Nobody has met it but the backup: its writer gave it an id, another one took that away, and broke the file."""
    first = [message("7", "2026-01-31T09:00", text="备份好了。")]
    world.paths.history_backup.write_bytes(json.dumps(first).encode())
    world.write(f"{json.dumps(without(first, 'id'))[:-1]},]".encode())
    assert world.restore() == 1
    assert world.ids() == ["7"]


@pytest.mark.parametrize(
    "data", [b"{{{", json.dumps([message("1", "2026-01-31T09:00", text="备份好了。")], ensure_ascii=False).encode("gbk")]
)
def test_restore_history_leaves_a_file_of_which_nothing_is_known(world, data):
    world.write(data)
    assert world.restore() == 0
    assert world.paths.history.read_bytes() == data


# ── what could not be read ───────────────────────────────────────────────────


def spoilt(world: World, count: int, before: str, after: str) -> None:
    """A history of *count* messages that nobody has seen, in which somebody has typed."""
    data = json.dumps(talk("2026-01-31T09:00", count), ensure_ascii=False)
    assert before in data
    world.write(data.replace(before, after, 1).encode())


def wrong(world: World) -> list[str]:
    """What `status` and `fsck` say of it, both the same."""
    of_unread = why_unread(Unread(name="", messages=0, bytes=0)).msgid
    found = [why for why in account(world.look()).faults if isinstance(why, Text) and why.msgid == of_unread]
    assert [why for why in world.verdict()[0] if why in found] == found
    return found


def test_restore_history_says_what_it_could_not_read_until_it_is_deleted(world):
    said = talk("2026-01-31T09:00", 5)
    spoilt(world, 5, '"role": "user"', '"role": “user"')
    assert world.restore() == 4
    (unread,) = world.ws.quarantine.unread(world.ws.journal.known.ids)
    assert unread.messages == 1
    kept = world.paths.quarantine / unread.name
    assert kept.name == world.events.of("history_restored")[0]["kept"]
    (why,) = wrong(world)
    assert kept.name in why
    assert world.restore() == 0
    world.settle()
    assert len(wrong(world)) == 1
    world.put("inbox.d/new/修好的.json", kept.read_bytes().replace("“".encode(), b'"'))
    kept.unlink()
    assert wrong(world) == []
    world.settle()
    assert world.archived_texts() == sorted(raw["text"] for raw in said)


@pytest.mark.parametrize(
    ("data", "is_lost"),
    [
        (bytes(range(1, 256)) * 12, True),
        ("[备份放在书房的 NAS 上，钥匙在抽屉里".encode(), True),
        (b'[{"id": "a1", "text": "an earlier one"}, {"id": "a2", "role": "us', False),
        (b'[{"role": "us', False),
        (bytes(3000), False),
    ],
    ids=["rubbish", "words", "cut off behind an id", "cut off before words", "zeros"],
)
def test_restore_history_tells_of_rubbish_but_not_of_what_has_no_words(world, data, is_lost):
    world.write([message("a1", "2026-01-31T09:00", "an earlier one"), message("a2", "2026-01-31T09:01", "备份好了。")])
    world.settle()
    world.write(data)
    assert world.restore() == 2
    assert [name in why for why in wrong(world) for name in (".recalld/quarantine/history.json.",)] == [True] * is_lost


def test_status_tells_of_a_copy_that_recalld_0_40_listed_as_unread(world):
    data = b'[{"role": "user", "text": \xe2\x80\x9cthe spare key\xe2\x80\x9d}]'
    world.ws.quarantine.keep("history.json", data)
    (kept,) = world.paths.quarantine.iterdir()
    listed = {"name": kept.name, "messages": 1, "bytes": len(data), "encoding": ""}
    world.put(".recalld/unread.json", json.dumps({"format": 1, "unread": [listed]}))
    world.settle()
    assert kept.name in wrong(world)[0]
    kept.unlink()
    assert wrong(world) == []


def test_restore_history_names_the_encoding(world):
    spoken = [message("1", "2026-01-31T09:00", text="备份好了，在 /srv/backup。"), message("2", "2026-01-31T09:01", "ok")]
    world.write(json.dumps(spoken, ensure_ascii=False).encode("gbk"))
    with pytest.raises(BadFile, match=r"it is GBK, not UTF-8 \(`iconv -f GBK -t UTF-8`"):
        world.ws.history.read()
    assert world.restore() == 1
    (why,) = wrong(world)
    assert re.search(r"\d bytes of GBK\); they are kept in \.recalld/quarantine/history\.json\.\w+\.unread: mend a copy", why)


def test_restore_history_leaves_the_file_when_the_quarantine_is_full(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    for n in range(12):
        data = f"[坏了 {n}".encode()
        world.write(data)
        world.restore()
        kept = [path.read_bytes() for path in world.paths.quarantine.iterdir() if path.suffix != ".unread"]
        assert data in kept or world.paths.history.read_bytes() == data
    assert len(kept) == 10


def test_drop_box_knows_a_copy_of_history_without_its_ids(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    world.append(*talk("2026-01-31T09:00", 2))
    copy = world.paths.history.read_bytes()
    world.write(without(world.history(), "id"))
    world.put("inbox.d/new/copy.json", copy)
    world.settle()
    assert len(world.history()) == 4
    assert world.archived_texts() == sorted(raw["text"] for raw in world.history())


# ── a change ───────────────────────────────────────────────────────────────


def test_history_raises_conflict_when_another_program_keeps_writing(world):
    world.write(talk("2026-01-31T09:00", 2))

    def change(history: History) -> History:
        world.add(message(f"m{len(history)}", "2026-01-31T09:30"))
        return history[1:]

    with pytest.raises(Conflict):
        world.ws.history.change(change)


def test_history_refuses_a_backup_folder_but_allows_a_failed_rename(world):
    world.write([message("a", "2026-01-30T09:00", "我对花生过敏。")])
    before = world.paths.history.read_bytes()
    world.paths.history_backup.mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        world.ws.history.change(lambda history: history[:0])
    assert world.paths.history.read_bytes() == before
    world.paths.history_backup.rmdir()

    world.reopen(disk=FaultyDisk("rename", number=errno.EIO, refuses=lambda _, path: path.name.endswith(".bak")))
    world.ws.history.change(lambda history: history[:0])
    assert world.history() == []
    assert not list(world.root.glob(".*.tmp"))


# ── ids that a program takes away ────────────────────────────────────────────


@pytest.mark.parametrize("is_restored", [False, True])
def test_intake_tells_the_journal_of_an_id_before_history_has_it(world, is_restored):
    """Else a program that takes the id away, and keeps the time, makes another message of what the backup has as it was."""
    said = [{"role": "user", "text": text} for text in ("继续", "备份在哪？", "继续")]
    refuses_appends = FaultyDisk("open_append", refuses=lambda _, path: path.name == "seen.jsonl")
    world.reopen(disk=refuses_appends)
    world.write(said)
    world.round("none")
    assert world.history() == said
    refuses_appends.heal()
    world.round("none")
    refuses_appends.break_down()
    if is_restored:
        world.paths.seen.unlink()
        world.write(world.paths.history.read_bytes()[:-9])
        with pytest.raises(OSError, match="space"):
            world.restore()
        refuses_appends.heal()
        world.restore()
    world.write(without(world.history(), "id", "createdAtFound", "archived"))
    world.write(world.paths.history.read_bytes()[:-9])
    world.reopen()
    world.restore()
    world.settle()
    assert world.archived_texts() == sorted(raw["text"] for raw in said)


# ── very large ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_round_reports_a_damaged_history_once_and_runs_the_other_steps(world, data):
    """Nothing is written over a file that a person may still be editing."""
    world.write(talk("2026-01-10T09:00", 2))
    world.round("all")
    world.write(data)
    for _ in range(3):
        world.round("all")
        world.work()
    assert world.paths.history.read_bytes() == data
    assert len(world.events.of("history_invalid")) == 1
    assert world.summaries() == ["2026-01-10"]
