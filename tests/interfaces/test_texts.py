"""What commands say to people, in Chinese: errors with the texts in them, rows, receipts."""

from __future__ import annotations

import re
from functools import partial

import pytest

from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import run_command
from recalld.supervisor.interfaces.output import _REASONS, as_text, because, by_name
from recalld.supervisor.storage.texts import Text, render
from tests.world import message

HAN = re.compile("[\u4e00-\u9fff]")
chinese = partial(render, language="zh")


@pytest.mark.parametrize(
    "words",
    [
        *("status --all", "status --plan", "run --once", "fsck", "fsck --repair", "read --stats"),
        *("index status", "index rebuild", "prune --dry-run", "why"),
    ],
)
def test_every_row_that_a_command_prints_has_a_chinese_label(world, capsys, words):
    world.write([message("1", "2026-01-28T09:00")])
    command = ["-w", str(world.root), "--now", "2026-01-31T10:00:00+08:00"]
    run_command(Call([*command, "inject", "--query", "花生"]))
    capsys.readouterr()
    run_command(Call([*command, *words.split()], {"RECALLD_LANGUAGE": "zh"}))
    printed = capsys.readouterr().out
    assert HAN.search(printed)
    assert re.findall("^ *[a-z]+(?: [a-z]+)*  ", printed, re.MULTILINE) == []


@pytest.mark.parametrize("reason", [*_REASONS, "words: 茶", "related: 茶", "day 2026-01-28", "role user"])
def test_every_reason_of_a_receipt_is_said_in_plain_words(reason):
    assert HAN.search(chinese(because(reason)))


def test_reason_of_a_receipt_says_what_recurs_as_people_do():
    reason = because("related: weekly-3, monthly-30, within-2026-11-30, push")
    assert str(reason) == "related: every Wednesday, day 30 of every month, 2026-11-30, push"
    assert chinese(reason) == "相近的字词：每周三、每月 30 号、2026-11-30、push"


def test_sentences_of_a_list_are_in_the_language_of_who_asked():
    why = Text("the worker ended without a result; `recalld worker` shows why")
    assert not re.search("[a-z]{3,} [a-z]{3,} [a-z]{3,}", as_text({"faults": [why], "damage": [{"why": why}]}, chinese))


def test_names_of_a_user_stay_as_they_are_in_rows():
    assert as_text(by_name({"odd": 1, "MyBot": {"notes": 2}}), chinese) == "odd    1\nMyBot\n  笔记  2"
