"""A program that opens history.json, and only then asks its model what to write into it, while recalld restores the file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.checker.formats import read_dated
from tests.process.command import Command
from tests.world import message, talk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.proof


def test_restore_keeps_what_a_slow_writer_still_writes(tmp_path: Path) -> None:
    command = Command.made(tmp_path / "workspace", RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai")
    history, said = command.root / "history.json", talk("2026-01-29T09:00", 6)
    history.write_text(json.dumps(said), encoding="utf-8")
    assert command("run", "--until-settled", "--no-worker").code == 0

    answer = message("慢", "2026-01-30T09:00", "模型想了很久才说的话。", "assistant")
    known = json.loads(history.read_bytes())
    with history.open("w", encoding="utf-8") as file:
        assert command("restore").code == 0
        json.dump([*known, answer], file, ensure_ascii=False)
    assert command("run", "--until-settled", "--no-worker").code == 0

    assert [raw["id"] for raw in json.loads(history.read_bytes())] == [raw["id"] for raw in [*said, answer]]
    filed = [read_dated(path.read_bytes()) for path in (command.root / "memory").glob("*.md")]
    texts = sorted(words.text for dated in filed if dated for words in dated.words)
    assert texts == sorted(raw["text"] for raw in [*said, answer])
