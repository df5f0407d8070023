"""
The lines of the long-term file: how they are cut, written, named and shown (000; docs/reference/protocol.md, 10).

A line has the number that an editor shows. An entry is one line, ``YYYY-MM-DD|source|content``; lines of other kinds are a
person's own Markdown, which is read and searched like entries and never changed. What parts the items of a line, of which one
may end with a newer line, is punctuation alone: ；, ; before a blank, and the end of a sentence. Pure.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from hashlib import sha256
from typing import Final, NamedTuple

from ..protocol.marks import before_words, marks_of, read_struck, struck_line, without_marks, without_pin
from ..storage.errors import BadRequest, StaleLine
from ..storage.texts import Text
from ..text.comparing import same_words
from ..text.lazy_re import lazy_re
from ..text.tokenizer import tokens

#: The most characters of one entry's content.
MOST_CHARS: Final = 20_000
#: The source of an entry that nobody names a source for; 000.
DEFAULT_SOURCE: Final = "web-chat"
#: Hex digits of a line's digest.
_DIGEST: Final = 8
#: Characters of a line that an error quotes.
_MOST_QUOTED: Final = 200
#: What parts an item from the next one, and is no part of its words.
_BETWEEN: Final = " ；;"
#: The item that a line is about has at least so many times as many words in common with it as any other.
_CLEARLY: Final = 2
_BREAK: Final = lazy_re(r"\r\n|\r|\n")
_CONTROL: Final = lazy_re(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SURROGATE: Final = lazy_re(r"[\ud800-\udfff]")
_ENTRY: Final = lazy_re(r"(\d{4}-\d{2}-\d{2})\|([^|]*)\|(.*)", re.DOTALL)
_REF: Final = lazy_re(rf"([1-9]\d{{0,8}})(?:@([0-9a-f]{{{_DIGEST}}}))?")


class Line(NamedTuple):
    """One line of the file without its line break; *number* counts from 1."""

    number: int
    text: str

    @property
    def digest(self) -> str:
        """Eight hex digits that distinguish the line from another one at its place."""
        return sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]

    @property
    def ref(self) -> str:
        """The line as a deletion names it: "42@1f3a9c0d"."""
        return f"{self.number}@{self.digest}"

    def __str__(self) -> str:
        """Return the line as 000 shows it: "[42] 2026-02-15|web-chat|…"."""
        return f"[{self.number}] {self.text}"


class Entry(NamedTuple):
    """The three parts of an entry."""

    day: date
    source: str
    content: str

    def __str__(self) -> str:
        """Return the line: 000's MEMORY_ENTRY_TEMPLATE."""
        return f"{self.day.isoformat()}|{self.source}|{self.content}"


# ── cutting ──────────────────────────────────────────────────────────────────


def cut(text: str) -> list[str]:
    r"""
    Return all lines of the text without their line breaks, blank ones too; the first one has the number 1.

    >>> cut("一\r\n\r\n二\n")
    ['一', '', '二']
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    pieces = text.split("\n")
    if not pieces[-1]:
        pieces.pop()
    return pieces


def filled(pieces: Iterable[str]) -> tuple[Line, ...]:
    """Return the lines that are not blank; they are what is counted."""
    return tuple(Line(number, piece) for number, piece in enumerate(pieces, 1) if piece and not piece.isspace())


def all_numbers(text: str) -> range:
    """Return the numbers of all lines: those that their owner may see."""
    return range(1, len(cut(text)) + 1)


def only_lines(text: str, numbers: Iterable[int]) -> str:
    r"""
    Return the lines of these numbers, which exist, and no others.

    >>> only_lines("一\n\n二\n三", [1, 4])
    '一\n三'
    """
    pieces = cut(text)
    return "\n".join(pieces[number - 1] for number in numbers)


def recent_lines(lines: tuple[Line, ...], count: int) -> tuple[Line, ...]:
    """Return the last *count* lines; none for 0 and less."""
    return lines[max(0, len(lines) - max(0, count)) :]


def text_of(lines: Iterable[Line]) -> str:
    """Return the lines as 000 shows them, one below the other."""
    return "\n".join(map(str, lines))


# ── entries ──────────────────────────────────────────────────────────────────


def one_line(text: str) -> str:
    r"""
    Return the text as one line: control characters and lone surrogates are blanks, and a run of blanks is one.

    >>> one_line("用户喜欢\n  Python\0")
    '用户喜欢 Python'
    """
    return " ".join(_CONTROL.sub(" ", text).split())


def without_surrogates(text: str) -> str:
    """Return the text with a blank for each lone surrogate, which UTF-8 can't encode."""
    return _SURROGATE.sub(" ", text)


def entry_content(content: str) -> str:
    """Return the content as it is written; BadRequest if there is none, or more than MOST_CHARS."""
    line = one_line(content)
    if not line:
        raise BadRequest("content", Text("it is empty, and nothing was written; give what is to last"))
    if len(line) > MOST_CHARS:
        raise BadRequest(
            "content",
            Text(
                "it has {count:,} characters, and nothing was written; give at most {most:,}", count=len(line), most=MOST_CHARS
            ),
        )
    return line


def entry_source(source: str) -> str:
    """Return the source as it is written, without the mark that ends it; DEFAULT_SOURCE for a blank one."""
    return one_line(source.replace("|", " ")) or DEFAULT_SOURCE


def parse_entry(text: str) -> Entry | None:
    """Return the parts of an entry, None for a line of another kind."""
    match = _ENTRY.fullmatch(text.strip())
    try:
        return Entry(date.fromisoformat(match[1]), match[2], match[3]) if match else None
    except ValueError:  # there is no such day
        return None


def line_with(text: str, content: str) -> Line | None:
    """
    Return the last line that says *content*, as an entry or alone, and nothing else but a mark; None if none does.

    A full stop at the end makes no difference.
    """
    wanted = _without_stop(content)
    if wanted not in text:  # nearly always so, and cutting a long text takes longer
        return None
    for line in reversed(filled(cut(text))):
        if wanted in line.text:
            entry = parse_entry(line.text)
            texts = (line.text, entry.content if entry else "")
            if any(wanted in (_without_stop(words), _without_stop(without_marks(words))) for words in texts):
                return line
    return None


def _without_stop(words: str) -> str:
    bare = words.strip()
    return bare[:-1] if bare.endswith((".", "。")) and not bare.endswith("..") else bare


# ── changing ─────────────────────────────────────────────────────────────────


def with_line(text: str, line: str) -> str:
    """
    Return the text with *line* as its last one; every character that is there stays.

    The line break is that of the last line; a text that ends without one still does.
    """
    last = text.rfind("\n")
    end = "\r\n" if last > 0 and text[last - 1] == "\r" else "\n"
    if not text or last == len(text) - 1:
        return f"{text}{line}{end}"
    return f"{text}{end}{line}"


def without_lines(text: str, numbers: Collection[int]) -> tuple[str, int]:
    """Return the text without the lines of these numbers, and how many of them it had; blank lines stay."""
    parts = re.split(f"({_BREAK.pattern})", text)
    pairs = list(zip(parts[::2], [*parts[1::2], ""], strict=True))
    kept = [pair for number, pair in enumerate(pairs, 1) if number not in numbers or not pair[0].strip()]
    if len(kept) == len(pairs):
        return text, 0
    if pairs[-1][0] and kept and kept[-1] is not pairs[-1]:
        kept[-1] = (kept[-1][0], "")  # a text without a last line break still has none
    return "".join(piece + end for piece, end in kept), len(pairs) - len(kept)


def standing_line(visible: str, ref: str, field: str) -> Line:
    """
    Return the line that *ref* names, as in "42@1f3a9c0d", among the *visible* ones.

    BadRequest, of *field*, or StaleLine where it names no line that still stands.
    """
    named = parse_refs([ref], field)
    refuse_stale(visible, named)
    line = next(line for line in filled(cut(visible)) if line.number in named)
    if struck := read_struck(_words(line)):
        ended = struck.until or ""
        why = Text("line {line} ended already ({until}); search for what is true now", line=line.ref, until=ended)
        raise BadRequest(field, why)
    if _words(line).startswith(("#", "```", "<!--", "---", "|")):
        raise BadRequest(
            field, Text("line {line} is a heading, code or a table, which can't be replaced; edit it by hand", line=line.ref)
        )
    return line


def struck_at(
    text: str, line: Line, shown: Sequence[int], until: date, reason: str = "", parted: tuple[str, str] | None = None
) -> tuple[str, Line, Line | None]:
    """
    Return the text with the words of one line struck, as no longer true from the day *until* on, and the line as it is then.

    *parted* splits the line: what ends, and what goes on. The second keeps its place and is returned, too; what ended is put
    below it, so that it is not taken for what replaces it. It loses its `#pin`. The number of the
    *line* is one among those *shown*.
    """
    ended, others = parted or (line.text, "")
    pieces = [*filter(None, [others]), struck_line(without_pin(ended), until, reason)]
    parts = re.split(f"({_BREAK.pattern})", text)
    place = 2 * shown[line.number - 1] - 2
    parts[place] = (parts[place + 1 : place + 2] or parts[1:2] or ["\n"])[0].join(pieces)
    now = [Line(number, piece) for number, piece in enumerate(pieces, line.number)]
    return "".join(parts), now[-1], now[0] if others else None


def _words(line: Line) -> str:
    return line.text[len(before_words(line.text)) :].strip()


def parse_refs(refs: Iterable[str], field: str = "lines") -> dict[int, str]:
    """
    Return the digest by line number, "" where none is given; BadRequest, of *field*, for what names no line.

    >>> parse_refs(["42@1f3a9c0d", "43"])
    {42: '1f3a9c0d', 43: ''}
    """
    by_number: dict[int, str] = {}
    for ref in refs:
        match = _REF.fullmatch(ref.strip().casefold()) if isinstance(ref, str) else None
        if match is None:
            raise BadRequest(
                field,
                Text("{ref!r} names no line, and nothing was changed; give number and digest, as in 42@1f3a9c0d", ref=ref),
            )
        by_number[int(match[1])] = match[2] or ""
    if not by_number:
        raise BadRequest(field, Text("none is named, and nothing was changed; give number and digest, as in 42@1f3a9c0d"))
    return by_number


def refuse_stale(text: str, named: Mapping[int, str]) -> None:
    """Raise StaleLine if a line has another digest than the one given, so that it may not be the line that was seen."""
    lines = {line.number: line for line in filled(cut(text)) if line.number in named}
    for number, digest in sorted(named.items()):
        line, ref = lines.get(number), f"{number}@{digest}" if digest else str(number)
        if line is None:
            raise StaleLine(ref, "", "")
        if line.digest != digest:
            raise StaleLine(ref, line.ref, line.text[:_MOST_QUOTED])


# ── items ────────────────────────────────────────────────────────────────────


def items_in(words: str) -> list[str]:
    """
    Return the items of the words, each with what parts it from the next.

    >>> items_in("老婆小雨不吃羊肉；我开始学游泳，周二周四")
    ['老婆小雨不吃羊肉；', '我开始学游泳，周二周四']
    >>> items_in("Dr. Weber left. Version 1.5 is out")
    ['Dr. Weber left. ', 'Version 1.5 is out']
    """
    from ..extracts.sentences import ITEM_END, split  # here: most commands replace nothing

    starts, at = [0], 0
    for piece in split(words, ITEM_END):
        at = words.index(piece, at)
        starts.append(at)
        at += len(piece)
    starts[1:2] = []  # what is before the first item belongs to it
    return [words[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


def parted(line: Line, content: str, item: int | None = None) -> tuple[str, str]:
    """
    Return the line as two: the item that ends, and the others, which go on; both with what is before the words of the line.

    What ends is the item that the newer *content* is about, or that has the number *item*; the first is 1. An item that the
    content says itself does not go on. BadRequest, which lists the items, where it can't be told which one it is about, and
    where none has this number.
    """
    before = before_words(line.text)
    words = line.text[len(before) :].strip()
    items = items_in(without_marks(words))
    known = {same_words(item) for item in items_in(content)}
    left = [n for n, item in enumerate(items) if same_words(item) not in known and not read_struck(item.strip(_BETWEEN))]
    if item is None and (len(items) == 1 or not left):
        return line.text, ""
    about = _about(items, left, content) if item is None else item - 1
    if about is None or not 0 <= about < len(items):
        listed = " ".join(f"({number}) {item.strip(_BETWEEN).rstrip('。.')}" for number, item in enumerate(items, 1))
        raise BadRequest(
            "item",
            Text(
                "nothing was written: line {line} has several items; give the number of the one that ends, as in --item 2 (item): {items}",
                line=line.ref,
                items=listed,
            ),
        )
    others = [item for n, item in enumerate(items) if n != about and same_words(item) not in known]
    marks = marks_of(words)
    if not others:
        return line.text, ""
    return f"{before}{items[about].strip(_BETWEEN)}{marks}", f"{before}{''.join(others).strip(_BETWEEN)}{marks}"


def _about(items: Sequence[str], left: Sequence[int], content: str) -> int | None:
    """Return which of the items that are *left* the newer content is about; None where that can't be told."""
    old = {same_words(item) for item in items}
    fresh = {word for item in items_in(content) if same_words(item) not in old for word in tokens(item)}
    if not fresh or len(left) == 1:
        return left[0] if fresh else None
    *_, second, first = sorted((len(fresh & {*tokens(items[n])}), n) for n in left)
    return first[1] if first[0] and first[0] >= _CLEARLY * second[0] else None
