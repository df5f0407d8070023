"""
A plot of what bench/speed.py --json wrote, as SVG: milliseconds a search takes over the number of messages, both in powers of ten.

    python -m bench.plot speed.json docs/explanation/speed.svg
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 380, 56, 150, 34, 44
KIND = "six words"
COLOURS = {
    "search": "#0b5394",
    "inject": "#38761d",
    "search, asked": "#6fa8dc",
    "inject, asked": "#93c47d",
    "rank-bm25": "#cc0000",
    "FTS5": "#e69138",
    "bm25s": "#674ea7",
}


def plot(sizes: list[dict[str, Any]]) -> str:
    """Return the SVG of those figures; at least two sizes."""
    counts = [size["messages"] for size in sizes]
    lines = {
        name: [(size["messages"], size["ms"][KIND][name]) for size in sizes if name in size["ms"][KIND]] for name in COLOURS
    }
    times = [ms for points in lines.values() for _, ms in points]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    first, last = math.log10(min(counts)), math.log10(max(counts))

    def x(count: float) -> float:
        return LEFT + (math.log10(count) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(ms: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(ms) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="20">milliseconds to answer {KIND}, by messages in memory</text>',
    ]
    for power in range(low, high + 1):
        at = y(10**power)
        parts.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{10**power:g}</text>')
    parts += [f'<text x="{x(count):.1f}" y="{HEIGHT - 22}" text-anchor="middle">{count:,}</text>' for count in counts]
    ends = sorted((y(points[-1][1]), name) for name, points in lines.items() if points)
    label = 0.0
    for at, name in ends:
        label = max(at, label + 14)  # labels that would stand on each other move down
        path = "L".join(f"{x(count):.1f} {y(ms):.1f}" for count, ms in lines[name])
        parts.append(f'<path d="M{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
        parts.append(f'<text x="{x(lines[name][-1][0]) + 8:.1f}" y="{label + 4:.1f}" fill="{COLOURS[name]}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    source, target = sys.argv[1:]
    Path(target).write_text(plot(json.loads(Path(source).read_text(encoding="utf-8"))), encoding="utf-8")
