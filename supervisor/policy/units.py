"""
Cutting the files of memory into units: the messages of a dated file, the sections of a summary, the lines of memory.md.

A unit stands in its file from line to line, so that it can be cited and read there. What goes before the assistant are the
words alone; headings above them, which the search sees too, are the unit's *context*. A person's own notes are cut by list
item and paragraph (notes). Source: design of recall, "Units"; docs/protocol.md, 4.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from supervisor.policy.hit import Unit
from supervisor.policy.notes import cut_note
from supervisor.protocol.clock import local_day
from supervisor.protocol.frontmatter import read_head
from supervisor.protocol.inbox import chat_of
from supervisor.protocol.summary import MARKER, SOURCES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, tzinfo
    from pathlib import Path

    from supervisor.policy.hit import Tier
    from supervisor.protocol.dated import Block, DatedFile

#: Part of every index: another number means that units are cut differently, and that it has to be made anew.
VERSION: Final = 2
#: Characters of a section from which on its paragraphs and items are units of their own.
_LONG_SECTION: Final = 600
_MARK: Final = re.compile(r'<!-- (\{"id": .*\}) -->')


@dataclass(frozen=True, slots=True)
class Cut:
    """
    A unit, the headings it stands under, and the talk it belongs to: units of one talk are one another's neighbours.

    Talk "" is that of the file alone; None says that what stands around it says nothing of it (a line of memory.md).
    """

    unit: Unit
    context: str = ""
    talk: str | None = None


def decoded(data: bytes) -> str:
    """
    Return the text of a person's file, whatever wrote it: UTF-8, UTF-16 with its mark, or GB18030 where that makes Chinese.

    Bytes that are neither stand as U+FFFD. Lines end with a line feed.
    """
    try:
        text = data.decode("utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig")
    except UnicodeDecodeError:
        try:
            text = data.decode("gb18030")
        except UnicodeDecodeError:
            text = ""
        han = sum("\u4e00" <= char <= "\u9fff" for char in text)
        if han * 2 < sum(char > "\x7f" for char in text) or not text:
            text = data.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def of_dated(path: str, file: DatedFile, text: str, zone: tzinfo) -> list[Cut]:
    """Return the messages of a dated file of ours; *text* is the file as `decoded`, in which its blocks are looked up."""
    lines = text.split("\n")
    marks = [(number, _id_of(line)) for number, line in enumerate(lines, 1) if line.startswith("<!-- {")]
    found, at = [], 0
    for block in file.blocks:
        # a block that a person broke has its mark still, but is not among the blocks
        while at < len(marks) and marks[at][1] != block.id:
            at += 1
        if at == len(marks):
            break
        start = marks[at][0] + 3
        end = marks[at + 1][0] - 1 if at + 1 < len(marks) else len(lines)
        while end > start and not lines[end - 1].strip():
            end -= 1
        found.append(_message(path, block, (min(start, end), end), zone))
        at += 1
    return found


def _message(path: str, block: Block, lines: tuple[int, int], zone: tzinfo) -> Cut:
    chat = chat_of(block.fields)
    day = local_day(block.created_at, zone)
    unit = Unit(
        path=path,
        start=lines[0],
        end=lines[1],
        text=block.text,
        tier="dated",
        day=day,
        at=block.created_at,
        role=block.role,
        message=block.of or block.id,
        session=chat.session,
        chat=chat.kind,
        shared=block.fields.get("shared") is True,
    )
    return Cut(unit, talk=chat.session)


def _id_of(line: str) -> str:
    match = _MARK.match(line)
    try:
        return str(json.loads(match[1])["id"]) if match else ""
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def of_summary(path: str, text: str, day: date | None, file: Path) -> list[Cut]:
    """Return the sections of a summary, and of what a person keeps above it; its list of sources is none."""
    found, line = [], 1
    for part in text.split(f"{MARKER}\n"):
        _, body = read_head(part, file)
        found += _sections(path, body.partition(f"{SOURCES}\n")[0], line + part.count("\n") - body.count("\n"), day)
        line += part.count("\n") + 1
    return found


def _sections(path: str, body: str, first: int, day: date | None) -> list[Cut]:
    found: list[Cut] = []
    lines = body.split("\n")
    starts = [n for n, line in enumerate(lines) if line.startswith("## ")]
    bounds = [0, *starts, len(lines)]
    for start, end in itertools.pairwise(bounds):
        text = "\n".join(lines[start:end]).strip()
        if not text:
            continue
        if len(text) > _LONG_SECTION:
            found += of_note(path, "\n".join(lines[start:end]), day, "summary", first + start)
            continue
        filled = [n for n in range(start, end) if lines[n].strip()]
        unit = Unit(path=path, start=first + filled[0], end=first + filled[-1], text=text, tier="summary", day=day)
        found.append(Cut(unit, talk=None))
    return found


def of_note(path: str, text: str, day: date | None, tier: Tier = "dated", first: int = 1) -> list[Cut]:
    """Return the items and paragraphs of a person's own Markdown; *first* is the number of its first line."""
    talk = None if tier == "long_term" else ""
    return [
        Cut(replace(unit, start=unit.start + first - 1, end=unit.end + first - 1), context, talk)
        for unit, context in cut_note(path, text, day, tier)
    ]


def neighbours(cuts: Sequence[Cut]) -> list[list[Cut]]:
    """Return the cuts in their talks, each in the order of time; what stands alone is a talk of one."""
    talks: dict[str, list[Cut]] = {}
    alone = []
    for cut in cuts:
        if cut.talk is None:
            alone.append([cut])
        else:
            talks.setdefault(cut.talk, []).append(cut)
    for talk in talks.values():
        if all(cut.unit.message for cut in talk):
            talk.sort(key=_time)
    return [*talks.values(), *alone]


def _time(cut: Cut) -> tuple[float, str, int]:
    at = cut.unit.at
    return (at.timestamp() if at else 0.0, cut.unit.path, cut.unit.start)
