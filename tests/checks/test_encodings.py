"""Files of a workspace in another encoding: named, with the command that converts them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest

from recalld.supervisor.checks.memory import dropped, encodings, history
from tests.world import message

WORDS = "- 2026-01-31 我对花生过敏，备份在家里的柜子上。\n"


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


def test_encodings_reads_no_link_folder_or_pipe(world):
    world.put("outside.md", "Café".encode("latin-1"))
    (world.root / "memory").mkdir(exist_ok=True)
    (world.root / "memory/link.md").symlink_to(world.root / "outside.md")
    (world.root / "memory/folder.md").mkdir()
    os.mkfifo(world.root / "memory/pipe.md")
    assert [*encodings(world.look())] == []


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
