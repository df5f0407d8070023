"""
A plot of the table at the top of docs/explanation/benchmarks.md, as SVG for light and dark: what each way retrieves in so many tokens.

    python -m bench.bars docs/explanation/benchmarks.md docs/explanation/beside.svg

A column of the table is a panel, a row a pair of bars: the longer budget, with its interval, and the shorter one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

LEFT, PANEL, BAR, ROW, TOP = 140, 210, 9, 27, 58
STYLE = """<style>
text { fill: #1f2328; font: 12px sans-serif } .long { fill: #0969da } .short { fill: #8cbcf0 } path { stroke: #8c959f; fill: none } .whisker { stroke: #1f2328 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .long { fill: #4493f8 } .short { fill: #2b5a94 } .whisker { stroke: #e6edf3 } }
</style>"""


class Bar(NamedTuple):
    """A share of a hundred with its interval."""

    mean: float
    low: float
    high: float


def table(text: str) -> tuple[list[str], dict[str, list[tuple[Bar, Bar]]]]:
    """Return the names of the panels, and for each way the bars of both budgets, one pair a panel; ValueError if there is no such table."""
    rows = text.partition("| messages whole")[2].partition("\n\n")[0].split("\n")
    if len(rows) < 3:
        raise ValueError("the page has no table that begins with | messages whole")
    panels = [cell.strip().replace("`", "") for cell in rows[0].strip(" |").split("|")]
    found = {}
    for row in rows[2:]:
        name, *cells = [cell.strip() for cell in row.strip(" |").split("|")]
        bars = [[Bar(*map(float, one)) for one in re.findall(r"([\d.]+) \((\d+) to (\d+)\)", cell)] for cell in cells]
        found[name.strip("*")] = [(long, short) for long, short in bars]
    return panels, found


def plot(panels: list[str], ways: dict[str, list[tuple[Bar, Bar]]]) -> str:
    """Return the SVG."""
    width, height = LEFT + PANEL * len(panels), TOP + ROW * len(ways) + 8
    scale = (PANEL - 50) / 100
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">', STYLE]
    parts.append(
        f'<rect class="long" x="{LEFT}" y="6" width="12" height="{BAR}"/><text x="{LEFT + 18}" y="15">in 2,048 tokens</text>'
    )
    parts.append(
        f'<rect class="short" x="{LEFT + 140}" y="6" width="12" height="{BAR}"/><text x="{LEFT + 158}" y="15">in 512</text>'
    )
    for n, panel in enumerate(panels):
        at = LEFT + PANEL * n
        parts.append(f'<text x="{at}" y="{TOP - 16}">{panel}</text><path d="M{at} {TOP - 8}V{height}"/>')
    for n, (name, bars) in enumerate(ways.items()):
        top = TOP + ROW * n
        parts.append(f'<text x="{LEFT - 8}" y="{top + BAR + 4}" text-anchor="end">{name}</text>')
        for panel, (long, short) in enumerate(bars):
            at = LEFT + PANEL * panel
            for bar, kind, y in ((long, "long", top), (short, "short", top + BAR + 1)):
                parts.append(f'<rect class="{kind}" x="{at}" y="{y}" width="{bar.mean * scale:.1f}" height="{BAR}"/>')
                parts.append(
                    f'<path class="whisker" d="M{at + bar.low * scale:.1f} {y + BAR / 2}H{at + bar.high * scale:.1f}"/>'
                )
            parts.append(
                f'<text x="{at + max(long.high, short.high) * scale + 6:.1f}" y="{top + BAR + 4}">{int(long.mean + 0.5)}, {int(short.mean + 0.5)}</text>'
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(plot(*table(Path(sys.argv[1]).read_text(encoding="utf-8"))), encoding="utf-8")
