"""
Sixty days of talk with a hand-cranked clock, as a user experiences them, and the resulting tree.

The tree is in tests/golden/month: `pytest --update-golden` rewrites it, `git diff` shows what changed for users.
"""

from __future__ import annotations

import shutil
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.world import World, at, message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from recalld.supervisor.protocol.dated_file import Block
    from recalld.supervisor.protocol.task import Task

GOLDEN = Path(__file__).parent.parent / "golden" / "month"
FIRST = date(2025, 12, 3)
DAYS = 61  # to 1 February, on which December becomes a month

#: What is talked about, in turn: question, answer.
TALK = (
    ("我对花生过敏，点外卖时提醒我。", "记住了：花生过敏，点外卖时会提醒。"),
    (
        "nginx 的超时怎么改？昨晚 Cloudflare 又 504 了。",
        "把 `proxy_read_timeout` 改成 120s：\n\n```nginx\nproxy_read_timeout 120s;\n```",
    ),
    ("Move the backup to 03:30, and keep 14 copies.", "Done: restic runs at 03:30 and keeps 14 snapshots."),
    ("三月去大理，订哪家？预算每晚 400。", "看了三家，「云上小院」每晚 380，可以取消。"),
    ("好的", "好的，需要时叫我。"),
    ("pnpm install 卡在 sharp，怎么办？", "删掉 node_modules，设 `npm_config_sharp_binary_host` 再装。"),
    ("妈妈生日是农历二月初二，别忘。", "记下了，今年是公历 3 月 20 日。"),
)


def sentences(task: Task, blocks: Sequence[Block]) -> str:
    """What the model of this story writes: what stood, what the days say, and the first line of what says something."""
    stood = [task.previous, *(block.text for block in blocks if block.role == "summary")]
    lines = [line for text in stood for line in text.splitlines() if line.startswith("- ")]
    said = (block.text.splitlines()[0] for block in blocks if len(block.text) > 8 and block.role != "summary")
    lines += [f"- {line}" if line[-1] in "。？." else f"- {line.rstrip('：:')}。" for line in said]
    return f"## {task.period} 说过的事\n\n" + "\n".join(dict.fromkeys(lines)) if lines else ""


def of_day(n: int) -> Iterator[dict[str, Any]]:
    """The messages of day *n*: on every third one exchange or two, the second over midnight."""
    day = FIRST + timedelta(days=n)
    if n % 3:
        return
    for part in range(1 + n % 2):
        question, answer = TALK[(n // 3 + 3 * part) % len(TALK)]
        hour = "09:02" if part == 0 else "23:58"
        asked = at(f"{day}T{hour}")
        yield message(f"q{n:02d}{part}", asked.isoformat(), question, session="家", channel="telegram")
        yield message(f"a{n:02d}{part}", (asked + timedelta(minutes=3)).isoformat(), answer, "agent", session="家")


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The workspace after the sixty days."""
    world = World(tmp_path_factory.mktemp("month"), at(f"{FIRST}T09:00"))
    world.model.script = sentences
    for n in range(DAYS):
        midnight = at(f"{FIRST + timedelta(days=n)}T00:00")
        for quarter in range(4):
            world.clock.now = midnight + timedelta(hours=6 * (quarter + 1))
            quarter_ago = world.clock() - timedelta(hours=6)
            world.add(*(raw for raw in (*of_day(n - 1), *of_day(n)) if quarter_ago <= at(raw["createdAt"]) < world.clock()))
            if n == 20 and quarter == 1:
                world.add(message("late", "2025-12-06T20:00", "补记：12 月 6 日给房东转了押金 3,200 元。"))
            world.supervisor().tick(world.clock())
            world.work()
        if n == 30:
            world.reopen()
    world.settle()
    return world


def everything() -> list[dict[str, Any]]:
    return [
        message("late", "2025-12-06T20:00", "补记：12 月 6 日给房东转了押金 3,200 元。"),
        *(raw for n in range(DAYS) for raw in of_day(n)),
    ]


def test_archive_writes_every_message_into_one_file_of_its_local_day(lived):
    said = {raw["id"]: raw for raw in everything()}
    assert [identity for identity, _ in lived.archived()] == sorted(said)
    for path, blocks in lived.dated_files().items():
        for block in blocks:
            local = block.created_at + timedelta(hours=8)
            assert block.text == said[block.id]["text"]
            assert Path(path).name.startswith(local.date().isoformat())


def test_collect_covers_days_older_than_five_and_moves_them_to_originals(lived):
    recent = {(date(2026, 2, 2) - timedelta(days=n)).isoformat() for n in range(6)}
    for path in lived.dated_files():
        name = Path(path).name
        if name[:10] in recent:
            assert path == f"memory/{name}"
        else:
            assert path == f"memory/originals/{name[:7]}/{name}"
            label = "2025-12" if name.startswith("2025-12") else name[:10]
            assert name in lived.summary(label)


def test_summaries_keep_daily_files_beside_the_monthly_one(lived):
    labels = lived.summaries()
    assert [label for label in labels if len(label) == 7] == ["2025-12"]
    assert sum(label.startswith("2025-12-") for label in labels) >= 10
    assert "3,200" in lived.summary("2025-12")
    assert "3,200" in lived.summary("2025-12-06")


def test_events_report_no_trouble_in_sixty_days(lived):
    quiet = {"seen", "archived", "submitted", "extracted", "summarised", "moved", "trimmed"}
    assert {event for event, _ in lived.events.all} <= quiet


@pytest.mark.feature("003.1")
def test_workspace_equals_the_golden_tree(lived, golden: Callable[[str, bytes], None], request: pytest.FixtureRequest):
    tree = {name: data for name, data in lived.tree().items() if not name.endswith(".bak")}
    if request.config.getoption("--update-golden"):
        shutil.rmtree(GOLDEN, ignore_errors=True)
    golden("month/tree.txt", "".join(f"{name}\n" for name in sorted(tree)).encode())
    for name, data in tree.items():
        golden(f"month/{name}", data)


# ── the golden tree, opened ──────────────────────────────────────────────────


@pytest.fixture
def opened(tmp_path: Path) -> World:
    """The golden workspace of this release, opened by recalld as it is now, one month and a day after its last message."""
    shutil.copytree(GOLDEN, tmp_path / "ws")
    (tmp_path / "ws" / "tree.txt").unlink()
    return World(tmp_path / "ws", at("2026-02-02T10:00"))
