"""
A plot of the table of methods under "Recall" in docs/explanation/benchmarks.md, as SVG: a group of bars a method, one bar a set.

    python -m bench.bars docs/explanation/benchmarks.md docs/explanation/recall.svg
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LEFT, WIDTH, BAR, GAP, TOP = 330, 800, 11, 10, 40
COLOURS = ("#0b5394", "#38761d", "#e69138", "#674ea7")


def table(text: str) -> tuple[list[str], list[tuple[str, list[float]]]]:
    """Return the sets, and the methods with a figure for each set."""
    rows = text.partition("## Recall\n")[2].partition("| method |")[2].partition("\n\n")[0].split("\n")
    sets = [cell.strip() for cell in rows[0].strip(" |").split("|")]
    found = []
    for row in rows[2:]:
        name, *cells = [cell.strip() for cell in row.strip(" |").split("|")]
        found.append((re.sub("[`*]", "", name), [float(cell) for cell in cells]))
    return sets, found


def plot(sets: list[str], methods: list[tuple[str, list[float]]]) -> str:
    """Return the SVG."""
    tall = len(sets) * BAR + GAP
    height = TOP + tall * len(methods) + GAP
    scale = (WIDTH - LEFT - 50) / 100
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for n, name in enumerate(sets):
        parts.append(f'<text x="{LEFT + 110 * n}" y="22" fill="{COLOURS[n]}">{name}</text>')
    for row, (method, figures) in enumerate(methods):
        top = TOP + row * tall
        parts.append(f'<text x="{LEFT - 8}" y="{top + tall / 2}" text-anchor="end">{method}</text>')
        for n, figure in enumerate(figures):
            at = top + n * BAR
            parts.append(f'<rect x="{LEFT}" y="{at}" width="{figure * scale:.1f}" height="{BAR - 2}" fill="{COLOURS[n]}"/>')
            parts.append(f'<text x="{LEFT + figure * scale + 4:.1f}" y="{at + BAR - 2}" font-size="9">{figure:.1f}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(plot(*table(Path(sys.argv[1]).read_text(encoding="utf-8"))), encoding="utf-8")
