"""The parts of a forgetting: the trace of words, a dated file without a message, the list of what was forgotten."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.archive.tombstones import Tombstones, cut
from recalld.supervisor.forgetting.wanted import Trace
from recalld.supervisor.protocol.dated_file import block_of, parse_dated, render_dated
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files
from tests.world import ZONE, at, message, parsed

if TYPE_CHECKING:
    from pathlib import Path

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


def test_cut_without_the_last_message_is_the_file_of_those_before(tmp_path: Path) -> None:
    blocks = [block_of(parsed(message(f"m{n}", f"2026-01-30T09:0{n}", f"第 {n} 句"))) for n in range(3)]
    whole, others = (render_dated(NOW.date(), "Asia/Shanghai", ZONE, NOW, some) for some in (blocks, blocks[:2]))
    assert cut(whole, tmp_path, lambda block: block.id == "m2")[0] == others


def test_cut_leaves_every_other_word_of_the_file(tmp_path: Path) -> None:
    said = [parsed(message(f"m{n}", f"2026-01-30T09:0{n}", f"第 {n} 句")) for n in range(3)]
    data = render_dated(NOW.date(), "Asia/Shanghai", ZONE, NOW, [block_of(one) for one in said])
    edited = data.replace("第 2 句".encode(), "第 2 句，我改的".encode())
    for before in (data, edited, data.replace(b"\n", b"\r\n")):
        after, kept = cut(before, tmp_path, lambda block: block.id == "m1")
        file = parse_dated(after, tmp_path)
        assert file is not None
        assert ([one.id for one in file.blocks], file.count) == (["m0", "m2"], 2)
        assert (file.is_edited, "第 1 句" in after.decode()) == (before == edited, False)
        assert [one.id for one in kept] == ["m0", "m2"]


def test_tombstones_know_a_message_and_have_no_word_of_it(tmp_path: Path) -> None:
    paths = WorkspacePaths(tmp_path)
    paths.state.mkdir()
    one = parsed(message("m1", "2026-01-30T09:00", TEXT))
    stones = Tombstones(Files(RealDisk()), paths)
    assert not stones.has(one)
    act = stones.begin([one], ["- 一行"], [], NOW, b"k" * 32)
    again = Tombstones(Files(RealDisk()), paths)
    assert again.has(one)
    assert again.has(parsed(message("another-id", "2026-01-30T09:00", TEXT)))
    assert not again.has(parsed(message("m1", "2026-01-30T09:00", "别的话")))
    assert not again.has(parsed(message("m9", "2026-01-31T09:00", TEXT)))  # said again, it is another message
    assert (again.has_line("- 一行"), again.has_line("- 两行")) == (True, False)
    assert (len(again.unfinished()), again.counts()) == (1, (1, 1, 0))
    stones.finish(act, NOW)
    assert again.unfinished() == ()
    assert TEXT[:4].encode() not in paths.forgotten.read_bytes()


def test_tombstones_with_a_broken_line_keep_the_others(tmp_path: Path) -> None:
    paths = WorkspacePaths(tmp_path)
    paths.state.mkdir()
    stones = Tombstones(Files(RealDisk()), paths)
    one = parsed(message("m1", "2026-01-30T09:00", TEXT))
    stones.begin([one], [], [], NOW, b"k" * 32)
    paths.forgotten.write_bytes(paths.forgotten.read_bytes() + b'{"begun": 3}\n{"half')
    assert stones.has(one)
