"""What bench/months.py counts of a summary, and that the product writes what it measures."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bench.facts import stories
from bench.months import Bench, Written, export, measured
from bench.recall import questions_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORY = stories()["zh-xuning"]
DAY = STORY.days["2026-03-24"]
TEXT = "## 搬家\n搬家改到 3 月 28 日周六，760 块。豆包放在赵磊同事阿凯家。孕酮 24.6，正常。林医生说 5 月 9 日再查。"


def written(**more) -> Written:
    made = Written("day", STORY.name, DAY.date, "qwen", TEXT, "accepted")
    return measured(replace(made, **more), DAY.said, DAY.facts, None)


@pytest.mark.proof
def test_bench_has_the_product_write_days_month_and_line(tmp_path):
    bench = Bench(tmp_path)

    found = [*bench.days_and_month(STORY), bench.line(STORY, DAY)]

    assert [one.kind for one in found] == [*["day"] * 6, "month", "line"]
    assert all(one.fate == "accepted" and one.kept and not one.invented for one in found)


def test_export_writes_what_bench_recall_reads(tmp_path):
    export(tmp_path)

    asked = questions_of(tmp_path, [])
    said = {name: {one["id"] for one in json.loads(file.read_bytes())} for name, file in histories(tmp_path)}
    assert len(asked) == 40
    assert all(set(ids) <= said[one["ws"]] for one in asked for ids in one["evidence"])


def histories(folder: Path) -> Iterator[tuple[str, Path]]:
    return ((path.parent.name, path) for path in folder.glob("workspaces/*/history.json"))
