"""
Split the files of memory into passages: messages of a dated file, sections of a summary, list items and paragraphs of a note.

A passage has its first and last line, so that it can be cited and read. Only its own words are shown to the assistant; the
headings above it are its *context*, which is searched too. A heading is a passage of its own only if nothing is below it; front
matter, rules and comments are not passages. A line of memory.md, `YYYY-MM-DD|source|item`, has its day; a line of a
conversation has its speaker, whose name is searched too. Source: docs/reference/protocol.md, 4; docs/explanation/recall.md.
"""

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from pathlib import Path
from typing import Final

from ..protocol.dated_file import Block, DatedFile, read_head
from ..protocol.inbox import chat_of
from ..protocol.marks import is_shared, without_pin
from ..protocol.parts import only_results
from ..protocol.summary_file import MARKER, without_sources
from ..storage.clock import local_day
from ..text.language import ROLES
from ..text.lazy_re import lazy_re
from .hit import Passage, Tier

#: The version of these rules, stored in every index; an index of another version is rebuilt.
VERSION: Final = 26
#: Sections longer than this many characters are split into paragraphs and items.
_LONG_SECTION: Final = 600
_MARK: Final = lazy_re(r'<!-- (\{"id": .*\}) -->')
_FRONT: Final = lazy_re(r"\A---\n(?:[^\n]*\n){0,60}?---\n")
_HEADING: Final = lazy_re(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*")
_ITEM: Final = lazy_re(r"\s*(?:[-*+]|\d{1,3}[.)、])\s+(?:\[[ xX]\]\s+)?")
_RULE: Final = lazy_re(r"\s*(?:[-*_=]\s*){3,}|\s*<!--.*-->\s*|\s*\|?[\s:|-]*-[\s:|-]*")
_FENCE: Final = lazy_re(r"\s*(`{3,}|~{3,})(.*)")
#: What may follow the fence that opens code and is no text: its language.
_LANGUAGE: Final = lazy_re(r"[ \t]*[\w+#.-]{0,20}[ \t]*", re.ASCII)
_SPEAKERS: Final = {**{role: role for role in ROLES}, "agent": "assistant", "teller": "assistant"}
_CHINESE_SPEAKERS: Final = {"用户": "user", "我": "user", "助手": "assistant", "助理": "assistant"}
_SAID: Final = lazy_re(
    r"(?:\**\[?(?:[01]?\d|2[0-3])[:：][0-5]\d(?:[:：][0-5]\d)?\]?\**\s*)?"
    rf"(?:\**(?P<role>{'|'.join([*_SPEAKERS, *_CHINESE_SPEAKERS])})\**\s*[:：]\**\s*)?",
    re.IGNORECASE,
)
#: The first line of a part that code has written, which says so (docs/reference/protocol.md, 6.8).
_WRITTEN_BY_CODE: Final = lazy_re(r"\A(\s*)> (?:Extract: |摘录（)[^\n]*")
_ENTRY: Final = lazy_re(r"\s*(?:[-*+]\s+)?(\d{4}-\d\d-\d\d)\|([^|\n]*)\|\s*(.*)")
#: A pause of so many seconds ends a talk: what is said after it is seldom about the same.
PAUSE_S: Final = 1_800
#: The most lines of one passage: a file without breaks is split.
_MOST_LINES: Final = 12


@dataclass(frozen=True, slots=True)
class Chunk:
    """
    A passage, the headings above it (*context*), and the conversation that it belongs to (*talk*).

    Passages of one conversation are neighbours. "" is the conversation of the file; None: the passage has no neighbours, since
    the lines around it say nothing about it (a line of memory.md).
    """

    passage: Passage
    context: str = ""
    talk: str | None = None


def chunk_dated(path: str, file: DatedFile, text: str, zone: tzinfo) -> list[Chunk]:
    """Return the messages of a dated file; *text* is the whole file as `decoded`, which has the numbers of the lines."""
    lines = text.split("\n")
    marks = [(number, _id_of(line)) for number, line in enumerate(lines, 1) if line.startswith("<!-- {")]
    chunks, at = [], 0
    for block in file.blocks:
        # a block that a person has damaged still has its mark, but is not among the blocks
        while at < len(marks) and marks[at][1] != block.id:
            at += 1
        if at == len(marks):
            break
        end = marks[at + 1][0] - 1 if at + 1 < len(marks) else len(lines)
        # the first line below the mark that is not blank has the time and the role; the words follow it
        filled = [number for number in range(marks[at][0] + 1, end + 1) if lines[number - 1].strip()]
        lines_of = (filled[1], filled[-1]) if len(filled) > 1 else (end, end)
        chunks.append(chunk_message(path, block, zone, lines_of))
        at += 1
    return chunks


def chunk_message(path: str, block: Block, zone: tzinfo, lines: tuple[int, int] | None = None) -> Chunk:
    """Return a message as a chunk; *lines* are its first and last line in a dated file; None: no file holds it yet."""
    chat = chat_of(block.fields)
    shown = block.shown
    start, end = lines or (1, shown.count("\n") + 1)
    passage = Passage(
        path=path,
        start=start,
        end=end,
        text=shown,
        tier="dated" if lines else "unfiled",
        day=local_day(block.created_at, zone),
        at=block.created_at,
        role="tool" if only_results(block.fields) else block.role,
        speaker=block.speaker,
        message=block.revision_of or block.id,
        session=chat.session,
        project=block.project,
        chat=chat.kind,
        shared=block.fields.get("shared") is True,
    )
    return Chunk(passage, talk=chat.session)


def _id_of(line: str) -> str:
    match = _MARK.match(line)
    try:
        return str(json.loads(match[1])["id"]) if match else ""
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def chunk_summary(path: str, text: str, day: date | None, file: Path) -> list[Chunk]:
    """Return the sections of a summary, and of the text that a person wrote above it, without what it says of itself."""
    chunks, line = [], 1
    for part in text.split(f"{MARKER}\n"):
        head, body = read_head(part, file)
        body = _WRITTEN_BY_CODE.sub(r"\1", body) if head.keys() & {"extract", "empty"} else body
        chunks += _sections(path, without_sources(body), line + part.count("\n") - body.count("\n"), day)
        line += part.count("\n") + 1
    return chunks


def _sections(path: str, body: str, first: int, day: date | None) -> list[Chunk]:
    chunks: list[Chunk] = []
    lines = body.split("\n")
    starts = [n for n, line in enumerate(lines) if line.startswith("## ")]
    bounds = [0, *starts, len(lines)]
    for start, end in itertools.pairwise(bounds):
        text = "\n".join(lines[start:end]).strip()
        if not text:
            continue
        if len(text) > _LONG_SECTION:
            chunks += chunk_note(path, "\n".join(lines[start:end]), day, "summary", first + start)
            continue
        filled = [n for n in range(start, end) if lines[n].strip()]
        passage = Passage(path=path, start=first + filled[0], end=first + filled[-1], text=text, tier="summary", day=day)
        chunks.append(Chunk(passage, talk=None))
    return chunks


def neighbours(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """
    Return the chunks of each conversation by time, then as given; a chunk without neighbours is a conversation of one.

    A long pause ends a conversation.
    """
    talks: dict[str, list[Chunk]] = {}
    alone = []
    for chunk in chunks:
        if chunk.talk is None:
            alone.append([chunk])
        else:
            talks.setdefault(chunk.talk, []).append(chunk)
    stretches: list[list[Chunk]] = []
    for talk in talks.values():
        if all(chunk.passage.message for chunk in talk):
            # stable, since many have the same time, and the path of an unfiled message, its id, gives no order
            talk.sort(key=lambda chunk: chunk.passage.moment[1])
        stretches += _without_pauses(talk)
    return [*stretches, *alone]


def _without_pauses(talk: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """Yield the stretches of a conversation between which nobody said anything for long; one without times is whole."""
    start, seconds = 0, [chunk.passage.moment[1] for chunk in talk]
    for n in range(1, len(talk)):
        if seconds[n] - seconds[n - 1] > PAUSE_S:
            yield list(talk[start:n])
            start = n
    yield list(talk[start:])


def chunk_note(path: str, text: str, day: date | None, tier: Tier = "dated", first: int = 1) -> list[Chunk]:
    """Return the items and paragraphs of a person's Markdown; *first* is the number of its first line."""
    pieces = [
        ((start + first - 1, end + first - 1), words, None if is_code or start < end else _HEADING.fullmatch(words))
        for start, end, words, is_code in _pieces(text)
    ]
    chunks: list[Chunk] = []
    headings: dict[int, str] = {}
    talk = None if tier == "long_term" else ""
    for n, (lines, words, heading) in enumerate(pieces, 1):
        if not heading:
            chunks.append(Chunk(_passage(path, lines, words, day, tier), " ".join(headings.values()), talk))
            continue
        level = len(heading[1])
        headings = {depth: title for depth, title in headings.items() if depth < level} | {level: heading[2]}
        is_bare = n == len(pieces) or pieces[n][2]
        if heading[2] and is_bare:  # no mark shares it with groups: it is a passage only while nothing is below it
            chunks.append(Chunk(replace(_passage(path, lines, heading[2], day, tier), marked=()), "", talk))
    return chunks


def _passage(path: str, lines: tuple[int, int], words: str, day: date | None, tier: Tier) -> Passage:
    role = ""
    marked = tuple(_marked(words, lines[0])) if tier != "summary" else ()
    words = without_pin(words)
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
        match = _SAID.match(words)
        if match and match["role"]:
            role = _CHINESE_SPEAKERS.get(match["role"]) or _SPEAKERS[match["role"].lower()]
        words = words[match.end() :] if match and role else words
    return Passage(path=path, start=lines[0], end=lines[1], text=words.strip(), tier=tier, day=day, role=role, marked=marked)


def _marked(words: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a piece that are marked for groups, with their numbers; no heading, which says nothing by itself."""
    for number, line in enumerate(map(str.strip, words.split("\n")), first):
        if is_shared(line) and not _HEADING.fullmatch(line) and not _RULE.fullmatch(line):
            yield number, line


def marked_lines(passage: Passage) -> Iterator[Passage]:
    """Yield the lines that are marked for groups, each as a passage that does not depend on the lines around it."""
    for number, line in passage.marked:
        for chunk in chunk_note(passage.path, line, passage.day, passage.tier):
            yield replace(chunk.passage, start=number, end=number, shared=True, marked=())


def _pieces(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yield each heading, item, paragraph, row and block of code: first line, last line, text, and whether it is code."""
    front = _FRONT.match(text)
    skipped = front[0].count("\n") if front else 0
    held: list[str] = []
    start, fence, is_code = 0, "", False
    for number, line in enumerate(text.split("\n"), 1):
        if number <= skipped:
            continue
        mark = _FENCE.match(line)
        if mark and (not fence or (mark[1].startswith(fence) and not mark[2].strip())):
            fence = "" if fence else mark[1]
            if _LANGUAGE.fullmatch(mark[2]):
                continue  # other words are text, which nothing may hide
        breaks = not line.strip() or (not fence and bool(_RULE.fullmatch(line)))
        opens = not fence and bool(
            _HEADING.fullmatch(line) or _ITEM.match(line) or _ENTRY.fullmatch(line) or line.startswith("|")
        )
        # an entry is one line (docs/reference/protocol.md, 1): text below it has neither its day nor its mark for groups
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
