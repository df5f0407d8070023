"""What is under way, cut off, changed meanwhile or named by a person when words are forgotten: only the words go, and what has them."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.forgetting.sweep import begin
from recalld.supervisor.forgetting.wanted import wanted
from recalld.supervisor.storage.control import noting
from recalld.supervisor.storage.errors import Conflict
from recalld.supervisor.storage.files import Files
from tests.forgetting.test_forget import SECRET, forget, where
from tests.protocol.test_attachments import PNG
from tests.world import Diarist, World, at, message

WORDS = message("m-secret-0001", "2026-01-10T09:00", SECRET)
OTHER = message("m-plain-00001", "2026-01-10T09:10", "周五去游泳馆，带上泳镜。")


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "w", at("2026-01-31T10:00"))
    world.write([WORDS])
    world.settle()
    return world


@pytest.mark.parametrize("name", [".phone.json", "phone.json.tmp"])
def test_drop_box_file_under_way_is_left_and_loses_the_words_later(world: World, name: str) -> None:
    path = world.put(f"inbox.d/new/{name}", json.dumps([OTHER, WORDS]))
    assert forget(world, "match", "山茶花").done
    path.rename(path.with_name("phone.json"))
    world.settle()
    assert where(world, "山茶花") == []
    assert [entry["id"] for entry in world.history()] == ["m-plain-00001"]


def test_fsck_counts_what_is_forgotten_once_and_only_when_it_is_done(world: World) -> None:
    world.add(OTHER)
    for _ in range(3):
        begin(world.ws, wanted(world.ws, "match", "山茶花", world.clock()), world.clock.forward(seconds=1), bytes(32))
    ledger = world.fsck()
    assert (ledger.seen, ledger.in_files, ledger.in_history, ledger.forgotten) == (2, 1, 1, 0)
    world.round()
    ledger = world.fsck()
    assert (ledger.seen, ledger.forgotten) == (1, 1)


def test_half_a_picture_of_a_killed_program_goes_with_its_message(world: World) -> None:
    said = message("m-secret-0002", "2026-01-20T09:00", f"看：{SECRET}", images=[base64.b64encode(PNG).decode()])
    world.add(said)
    world.settle()
    [picture] = (world.root / "attachments").iterdir()
    picture.with_name(f".{picture.name}.777-1.tmp").write_bytes(PNG[:9])
    picture.with_name(f"{picture.name}.aside").write_bytes(PNG[:9])
    assert forget(world, "match", "山茶花").done
    assert [*(world.root / "attachments").iterdir()] == []


def test_preview_says_which_drop_box_files_are_deleted(world: World) -> None:
    world.drop("phone.json", [OTHER, WORDS])
    world.put("inbox.d/new/half.json", json.dumps([OTHER, WORDS])[:-1])
    world.put("inbox.d/new/other.json", json.dumps([OTHER])[:-1])
    sentences = [str(spot.sentence) for spot in forget(world, "match", "山茶花", yes=False).places if spot.place == "drop_box"]
    assert sentences == ["written again without the words, or deleted with them: inbox.d/new/half.json, inbox.d/new/phone.json"]
    forget(world, "match", "山茶花")
    assert sorted(path.name for path in (world.root / "inbox.d/new").iterdir()) == ["other.json", "phone.json"]


def test_preview_says_of_summaries_alone_that_a_person_may_write_there(world: World) -> None:
    world.put(".recalld/pieces/day-2026-01-10.json", SECRET)
    sentences = {spot.place: str(spot.sentence) for spot in forget(world, "match", "山茶花", yes=False).places}
    assert "deleted, and if need be made again" in sentences["pieces"]
    assert [place for place, sentence in sentences.items() if "you may have written" in sentence] == ["summaries"]


def test_preview_takes_no_lock_of_the_history(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.put("turns/.t-1.json.777-1.tmp", SECRET)
    monkeypatch.setattr(world.ws.history, "lock", None)
    assert "temporary" in [spot.place for spot in forget(world, "match", "山茶花", yes=False).places]


@pytest.mark.parametrize(
    "name",
    [
        "2026-01-10-水管_山茶花",
        "2026-01-10-水管 山茶花",
        "2026-01-10-Camellia山茶花",
        "memory/阁楼 山茶花",
        "memory/from/a/山茶花",
        'memory/say "山茶花" now',
    ],
)
def test_lines_of_the_log_that_name_a_file_of_memory_go_and_older_logs(world: World, name: str) -> None:
    packed = world.put("log-20260127T000000.jsonl.gz", gzip.compress(json.dumps({"file": f"{name}.md"}).encode()))
    lines = [json.dumps({"file": f"{name}.md"}, ensure_ascii=False), json.dumps({"file": f"{name}.md"}), '{"port": 8787}']
    world.put("log.jsonl", "\n".join(lines))
    assert forget(world, "match", "山茶花").done
    assert (packed.exists(), (world.root / "log.jsonl").read_text()) == (False, '{"port": 8787}')


def test_backup_that_is_cut_off_and_alone_has_the_words_is_deleted(world: World) -> None:
    world.write([OTHER])
    world.put("history.json.bak", json.dumps([WORDS, OTHER])[:-8])
    shown = {spot.place: str(spot.sentence) for spot in forget(world, "match", "山茶花", yes=False).places}
    assert "history.json.bak" in shown["backup_version"]
    assert forget(world, "match", "山茶花").done
    assert (where(world, "山茶花"), world.ws.journal.tombstones.unfinished()) == ([], ())


def test_acts_that_could_be_undone_go_and_a_hand_edit_is_not_told_again(tmp_path: Path) -> None:
    world = Diarist(tmp_path / "w", at("2026-01-31T10:00"))
    world.write([WORDS, message("m-plain-00002", "2026-01-11T09:10", "周五去游泳馆，带上泳镜。")])
    world.settle()
    [edited] = (world.root / "memory").rglob("2026-01-11-*.md")
    edited.write_text(edited.read_text("utf-8") + "我加的。\n", "utf-8")
    world.settle()
    with noting() as noted:
        world.ws.long_term.append("web-chat", "茶", world.clock())
        world.ws.trash.prune(world.names())
    world.ws.diary.keep(noted, world.clock(), "command prune")
    assert forget(world, "match", "山茶花").done
    world.settle()
    assert [act.kind for act in world.ws.diary.acts().values()] == ["hand", "forgotten"]


# ── what changes meanwhile ───────────────────────────────────────────────────


NEXT = {"text": "周五去游泳馆，带上泳镜。"}
CHAT = ".recalld/sessions/chat-0123456789abcdef.jsonl"


def line(*values: Any) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def lived(tmp_path: Path) -> World:
    world = World(tmp_path / "w", at("2026-01-31T10:00"))
    world.write([message("m-secret-0001", "2026-01-10T09:00", SECRET)])
    world.settle()
    world.put("log.jsonl", line({"files": [*world.dated_files()]}))
    world.put(CHAT, line({"format": 1}, {"text": SECRET}))
    world.put(".recalld/acts.jsonl", line({"text": SECRET}))
    world.put("inbox.json", line([{"text": SECRET}]))
    return world


@pytest.mark.parametrize("name", ["log.jsonl", ".recalld/acts.jsonl", CHAT, "inbox.json"])
def test_file_that_changes_while_it_is_cleaned_keeps_no_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    world = lived(tmp_path)
    changed, replace = [], Files.replace

    def replaced(files: Files, path: Path, *others: Any, **more: Any) -> None:
        if path == world.root / name and len(changed) < 2:
            before = path.read_text()
            changed.append(before)
            path.write_text(line([*json.loads(before), NEXT]) if name == "inbox.json" else before + line(NEXT))
        replace(files, path, *others, **more)

    monkeypatch.setattr(Files, "replace", replaced)
    assert forget(world, by="match", value="山茶花").done
    data = (world.root / name).read_text()
    assert (len(changed), data.count("游泳馆")) == (2, 2)
    assert ["山茶花" in data, "shanchahua" in data] == [False, False]
    assert world.ws.journal.tombstones.unfinished() == ()


def test_file_that_is_always_written_ends_the_try_and_not_the_act(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, replace = lived(tmp_path), Files.replace
    with monkeypatch.context() as patch:

        def replaced(files: Files, path: Path, *others: Any, **more: Any) -> None:
            (world.root / CHAT).write_text((world.root / CHAT).read_text() + line(NEXT))
            replace(files, path, *others, **more)

        patch.setattr(Files, "replace", replaced)
        with pytest.raises(Conflict, match=r"chat-0123456789abcdef\.jsonl was changed by another program"):
            forget(world, "match", "山茶花")
        assert {CHAT, "history.json"} <= {*where(world, "山茶花")}
    world.round()
    assert (where(world, "山茶花"), world.ws.journal.tombstones.unfinished()) == ([], ())


@pytest.mark.parametrize(
    ("name", "other"),
    [
        (".recalld/quarantine/dropped.0123456789ab", ".recalld/quarantine/copy"),
        (".recalld/previous/2025-12.md.1", ".recalld/previous/2025-12.md.2"),
        (".recalld/replaced/memory.md.1", ".recalld/replaced/memory.md.2"),
        ("turns/t-1.json", "turns/t-2.json"),
    ],
)
def test_copy_of_a_forgotten_file_under_another_name_goes(tmp_path: Path, name: str, other: str) -> None:
    world = World(tmp_path / "w", at("2026-01-31T10:00"))
    world.put(name, SECRET)
    assert forget(world, by="match", value="山茶花").done
    world.put(other, SECRET)
    world.forward(minutes=1)
    world.round()
    assert not (world.root / other).exists()
