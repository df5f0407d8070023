"""
Cutting a person's own Markdown: each list item and each paragraph is a unit, each line of talk knows who said it.

Lines of memory.md in the form YYYY-MM-DD|source|item；item know their day. Front matter, rules and comments are no units, a
heading is the context of what stands below it, and a unit of its own only where nothing does.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Final

from supervisor.policy.hit import Unit
from supervisor.protocol.message import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.policy.hit import Tier

_FRONT: Final = re.compile(r"\A---\n(?:[^\n]*\n){0,60}?---\n")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*")
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)、])\s+(?:\[[ xX]\]\s+)?")
_RULE: Final = re.compile(r"\s*(?:[-*_=]\s*){3,}|\s*<!--.*-->\s*|\s*\|?[\s:|-]*-[\s:|-]*")
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_SPEAKERS: Final = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool", **ROLES}
_CHINESE_SPEAKERS: Final = {"用户": "user", "我": "user", "助手": "assistant", "助理": "assistant"}
_SAID: Final = re.compile(
    r"(?:\**\[?(?:[01]?\d|2[0-3])[:：][0-5]\d(?:[:：][0-5]\d)?\]?\**\s*)?"
    rf"(?:\**(?P<role>{'|'.join([*_SPEAKERS, *_CHINESE_SPEAKERS])})\**\s*[:：]\**\s*)?",
    re.IGNORECASE,
)
_ENTRY: Final = re.compile(r"\s*(?:[-*+]\s+)?(\d{4}-\d\d-\d\d)\|([^|\n]*)\|\s*(.*)")
_SHARED: Final = re.compile(r"(?<!\w)#(?:shared|共享)(?!\w)", re.IGNORECASE)
#: Lines of one unit, at most: a file without breaks is no single unit.
_MOST_LINES: Final = 12


def cut_note(path: str, text: str, day: date | None, tier: Tier) -> Iterator[tuple[Unit, str]]:
    """Yield each unit with the headings above it, in order."""
    headings: dict[int, str] = {}
    bare: tuple[int, str] | None = None  # a heading with nothing below it yet
    for start, end, words, is_code in _pieces(text):
        heading = None if is_code else _HEADING.fullmatch(words)
        if heading and start == end:
            level = len(heading[1])
            headings = {depth: title for depth, title in headings.items() if depth < level} | {level: heading[2]}
            if bare:
                yield _unit(path, (bare[0], bare[0]), bare[1], day, tier), ""
            bare = (start, heading[2]) if heading[2] else None
            continue
        bare = None
        yield _unit(path, (start, end), words, day, tier), " ".join(headings.values())
    if bare:
        yield _unit(path, (bare[0], bare[0]), bare[1], day, tier), ""


def _unit(path: str, lines: tuple[int, int], words: str, day: date | None, tier: Tier) -> Unit:
    """Return the unit that the piece is: an entry of memory.md, something said, or plain words."""
    role = ""
    shared = bool(_SHARED.search(words))
    entry = _ENTRY.fullmatch(words)
    if entry:
        words = entry[3]
        try:
            day = date.fromisoformat(entry[1])
        except ValueError:
            day = None
    else:
        item = _ITEM.match(words)
        words = words[item.end() :] if item else words
        said = _SAID.match(words)
        if said and said["role"]:
            role = _CHINESE_SPEAKERS.get(said["role"]) or _SPEAKERS[said["role"].lower()]
        words = words[said.end() :] if said and role else words
    return Unit(path=path, start=lines[0], end=lines[1], text=words.strip(), tier=tier, day=day, role=role, shared=shared)


def _pieces(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yield first line, last line and words of each heading, item, paragraph, row and block of code, and whether it is one."""
    front = _FRONT.match(text)
    skipped = front[0].count("\n") if front else 0
    held: list[str] = []
    start, fence, is_code = 0, "", False
    for number, line in enumerate(text.split("\n"), 1):
        if number <= skipped:
            continue
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            continue
        breaks = not line.strip() or (not fence and bool(_RULE.fullmatch(line)))
        opens = not fence and bool(
            _HEADING.fullmatch(line) or _ITEM.match(line) or _ENTRY.fullmatch(line) or line.startswith("|")
        )
        # an entry is a line (protocol.md 1): what a person writes below it neither takes its day nor shares it
        ends = bool(held) and not is_code and bool(_HEADING.fullmatch(held[0]) or _ENTRY.fullmatch(held[0]))
        closes = bool(held) and (breaks or opens or ends or len(held) == _MOST_LINES)
        if closes:
            yield start, start + len(held) - 1, "\n".join(held), is_code
            held = []
        if not breaks:
            start, is_code = (start, is_code) if held else (number, bool(fence))
            held.append(line.strip() if not fence else line)
    if held:
        yield start, start + len(held) - 1, "\n".join(held), is_code
