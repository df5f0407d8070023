"""Files of a workspace in another encoding: named, with the command that converts them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest

from recalld.supervisor.checks.incoming import dropped, history
from recalld.supervisor.checks.memory import encodings, older_encodings
from tests.world import message, talk

GBK = "it is GBK, not UTF-8 (`iconv -f GBK -t UTF-8 "
WORDS = "- 2026-01-31 我对花生过敏，备份在家里的柜子上。\n"


@pytest.mark.parametrize("name", ["memory.md", "memory/2026-01-30-note.md", "memory/旅行.md"])
def test_encodings_names_a_file_in_gbk(world, name):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    world.put(name, WORDS.encode("gbk"))
    (fault,) = [fault.why for fault in encodings(world.look())]
    assert GBK in fault
    assert f"(1), the first is {name}" in fault
    world.put(name, WORDS)
    assert [*encodings(world.look())] == []


@pytest.mark.parametrize("name", ["memory.md", "memory/旅行.md", "memory/家/旅行.md"])
def test_status_names_a_file_in_gbk_before_any_other_check_has_run(world, name):
    world.put(name, WORDS.encode("gbk"))
    sentences, is_well = world.verdict()
    assert not is_well
    assert f"the first is {name}" in sentences[0]
    assert GBK in sentences[0]
    world.put(name, WORDS)
    assert world.verdict()[1]


def test_slow_check_names_a_note_in_gbk_that_is_not_among_the_newest(world, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.checks.memory._NEWEST_NOTES", 1)
    for name, written in {"旧": 1_700_000_000, "新": 1_800_000_000}.items():
        world.put(f"memory/{name}.md", WORDS.encode("gbk"))
        os.utime(world.root / f"memory/{name}.md", (written, written))
    (quick,), (slow,) = ([fault.why for fault in check(world.look())] for check in (encodings, older_encodings))
    assert ("memory/新.md" in quick, "memory/旧.md" in slow) == (True, True)


@pytest.mark.skipif(not shutil.which("iconv"), reason="iconv is not installed")
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "name", ["history.json", "inbox.d/new/a b.json", "memory.md", "memory/2026-01-30-我的 $HOME.md", "memory/旅 行.md"]
)
def test_command_that_converts_a_file_works_in_any_folder(world, tmp_path_factory, name, language):
    message_in_gbk = json.dumps([message("1", "2026-01-30T09:00", "我对花生过敏，备份在家里的柜子上。")], ensure_ascii=False)
    before = message_in_gbk if name.endswith(".json") else WORDS
    world.put(name, before.encode("gbk"))
    look = world.look()
    (fault,) = [one.why for check in (history, dropped, encodings) for one in check(look)]
    (command,) = re.findall("`(iconv [^`]+)`", fault.in_language(language))
    subprocess.run(["sh", "-c", command], cwd=tmp_path_factory.mktemp("elsewhere"), check=True)
    assert (world.root / name).read_text(encoding="utf-8") == before
    assert [one for check in (history, dropped, encodings) for one in check(world.look())] == []


@pytest.mark.parametrize("content", ["Café".encode("latin-1"), "Røkt ørret".encode("latin-1"), bytes(range(256)) * 9])
def test_encodings_names_a_note_that_is_no_text(world, content):
    world.put("memory/photo.md", content)
    (fault,) = encodings(world.look())
    assert "memory/photo.md: it is not UTF-8" in fault.why


def test_encodings_reads_no_link_folder_or_pipe(world):
    world.put("outside.md", "Café".encode("latin-1"))
    (world.root / "memory").mkdir(exist_ok=True)
    (world.root / "memory/link.md").symlink_to(world.root / "outside.md")
    (world.root / "memory/folder.md").mkdir()
    os.mkfifo(world.root / "memory/pipe.md")
    assert [*encodings(world.look())] == []


def test_fsck_names_the_encoding_of_a_dated_file(world):
    world.write([message("1", "2026-01-30T09:00", "我对花生过敏。")])
    world.settle()
    (name,) = world.dated_files()
    path = world.root / name
    path.write_bytes(path.read_text().encode("gbk"))
    assert world.fsck().damage[0].startswith(f"{path.name}: {GBK}")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (
            json.dumps(message("1", "2026-01-31T09:00", text="备份好了，在家里。"), ensure_ascii=False).encode("gbk"),
            "it is GBK",
        ),
        ('{"role"：1}'.encode(), "it has ： in place of :"),
        (b'{"role": 7}', "it has no role"),
        (b"", "it is empty"),
    ],
)
def test_dropped_names_a_file_of_the_drop_box_that_is_not_taken_in(world, data, why):
    world.put("inbox.d/new/a.json", data)
    world.round()
    sentences, is_well = world.verdict()
    assert not is_well
    assert "inbox.d/new" in sentences[0]
    assert "a.json: " + why in sentences[0]
    (world.paths.drop_box / "a.json").unlink()
    assert world.verdict()[1]


@pytest.mark.parametrize("name", ["备忘.md", "b.txt", "n.jsonl"])
def test_dropped_names_a_file_of_the_drop_box_that_has_another_ending(world, name):
    world.put(f"inbox.d/new/{name}", "买牛奶\n")
    path = world.paths.drop_box / name
    os.utime(path, (world.clock().timestamp(),) * 2)
    world.round()
    assert world.verdict()[1], "a program may be about to name it"
    world.clock.forward(minutes=2)
    sentences, is_well = world.verdict()
    assert (is_well, f"{name}: its name does not end in .json" in sentences[0]) == (False, True)
