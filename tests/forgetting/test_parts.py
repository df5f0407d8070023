"""The parts of a forgetting: the trace of words, a dated file without a message, the list of what was forgotten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recalld.supervisor.archive.tombstones import Tombstones
from recalld.supervisor.forgetting.cleaning import without_names
from recalld.supervisor.forgetting.wanted import Trace
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files
from tests.world import at, message, parsed

TEXT = "保险柜的密码写在蓝色笔记本的第七页，别告诉别人"
NOW = at("2026-01-31T10:00")


@pytest.mark.parametrize(
    "found",
    [
        f"他说：{TEXT}。",
        json.dumps({"text": TEXT}),
        "保险柜的 密码\\n写在蓝色笔记本的第七页……[截断]",
        "…笔记本的第七页，别告诉别人。然后",
    ],
)
def test_trace_finds_a_stretch_of_the_words_however_they_are_written(found: str) -> None:
    assert Trace([TEXT]).is_in(found)


@pytest.mark.parametrize("text", ["好的", "ok", "保险柜买好了"])
def test_trace_passes_by_what_is_short_or_only_alike(text: str) -> None:
    assert not Trace([TEXT, "好的"]).is_in(text)
    assert not Trace(["好的"]).is_in("好的，明天见")


def test_tombstones_with_a_broken_line_keep_the_others(tmp_path: Path) -> None:
    paths = WorkspacePaths(tmp_path)
    paths.state.mkdir()
    stones = Tombstones(Files(RealDisk()), paths)
    one = parsed(message("m1", "2026-01-30T09:00", TEXT))
    stones.begin([one], [], [], NOW, b"k" * 32)
    paths.forgotten.write_bytes(paths.forgotten.read_bytes() + b'{"begun": 3}\n{"half')
    assert stones.has(one)


@pytest.mark.parametrize(("day", "left"), [("2026-01-28", "2026-01-28-forgotten"), ("2026-02-31", "forgotten")])
def test_name_of_a_file_that_is_gone_is_the_same_with_a_path_and_without(day: str, left: str) -> None:
    log = f'{{"file": "memory/{day}-钥匙.md", "name": "{day}-钥匙"}}'.encode()
    assert without_names([], lambda _: True, False, log).decode() == f'{{"file": "memory/{left}.md", "name": "{left}"}}'
