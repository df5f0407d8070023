"""Tables of what readers answered and of what blocks hold, by set and by kind of question, with 95 % intervals."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Iterator
from typing import Any, Final

Row = dict[str, Any]
#: What is no answer at all.
NO_ANSWER: Final = ("error", "refused", "empty")
SAMPLES: Final = 10_000


def interval(values: list[float], seed: int = 1) -> tuple[float, float]:
    """Return the 95 % interval of the mean, by samples with replacement."""
    pick = random.Random(seed)
    means = sorted(statistics.fmean(pick.choices(values, k=len(values))) for _ in range(SAMPLES))
    return means[round(0.025 * SAMPLES)], means[round(0.975 * SAMPLES) - 1]


def groups_of(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield all rows, those of each set and those of each kind, under their names."""
    rows = list(rows)
    yield "all", rows
    for key in ("set", "kind"):
        for name in sorted({str(row[key]) for row in rows}):
            yield name, [row for row in rows if row[key] == name]


def table(rows: list[Row]) -> str:
    """Return what a reader answered, by set and by kind of question."""
    lines = [
        "| questions | n | right % | 95 % | by the judge | not known | wrong | refused, empty, error | cut, thought | tokens | s |",
        f"|{'---|' * 11}",
    ]
    for name, group in groups_of(rows):
        right = [float(row["outcome"] == "right") for row in group]
        judged = [row["judge"] for row in group if row.get("judge") is not None]
        low, high = interval(right)
        counts = [sum(row["outcome"] == outcome for row in group) for outcome in ("unknown", "wrong", *NO_ANSWER)]
        ends = sum(row.get("end") == "length" for row in group), sum(bool(row.get("thought")) for row in group)
        lines.append(
            f"| {name} | {len(group)} | {100 * statistics.fmean(right):.1f} | {100 * low:.0f} to {100 * high:.0f} "
            f"| {f'{100 * statistics.fmean(judged):.1f} of {len(judged)}' if judged else ''} | {counts[0]} | {counts[1]} "
            f"| {counts[3]}, {counts[4]}, {counts[2]} | {ends[0]}, {ends[1]} | {statistics.fmean(row['tokens'] for row in group):.0f} "
            f"| {statistics.median(row['seconds'] for row in group):.1f} |"
        )
    return "\n".join(lines)


def table_of_blocks(rows: list[Row]) -> str:
    """Return how much of the gold is in the blocks, by set and by kind; of what was never said, how often there is a block at all."""
    lines = [
        "| questions | n | gold in the block % | messages whole % | gold first % | tokens to the gold | tokens |",
        f"|{'---|' * 7}",
    ]
    for name, group in groups_of(row for row in rows if row["kind"] != "never said"):
        after = [row["after"] for row in group if row["after"] is not None]
        shares = [f"{100 * statistics.fmean(row[key] for row in group):.1f}" for key in ("gold", "whole", "first")]
        tokens = f"{statistics.median(after):.0f}" if after else ""
        lines.append(
            f"| {name} | {len(group)} | {' | '.join(shares)} | {tokens} | {statistics.fmean(row['tokens'] for row in group):.0f} |"
        )
    if never := [row for row in rows if row["kind"] == "never said"]:
        lines.append(f"\nnever said: {len(never)}, with a block {sum(row['tokens'] > 0 for row in never)}")
    return "\n".join(lines)


def compared(before: list[Row], after: list[Row]) -> str:
    """Return the differences of two runs on the questions of both, in points, with their interval."""
    lines = ["| questions | n | first | second | difference | 95 % | won | lost |", f"|{'---|' * 8}"]
    other = {row["qid"]: row for row in after}
    for name, group in groups_of(row for row in before if row["qid"] in other):
        pairs = [(float(row["outcome"] == "right"), float(other[row["qid"]]["outcome"] == "right")) for row in group]
        differences = [second - first for first, second in pairs]
        low, high = interval(differences)
        means = [f"{100 * statistics.fmean(column):.1f}" for column in (*zip(*pairs, strict=True), differences)]
        ends = differences.count(1.0), differences.count(-1.0)
        lines.append(
            f"| {name} | {len(group)} | {' | '.join(means)} | {100 * low:+.0f} to {100 * high:+.0f} | {ends[0]} | {ends[1]} |"
        )
    return "\n".join(lines)
