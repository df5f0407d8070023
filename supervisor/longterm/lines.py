"""
The lines of the long-term file: how they are cut, written, named, searched and shown (000; docs/reference/protocol.md, 10).

A line has the number that an editor shows. An entry is one line, ``YYYY-MM-DD|source|content``; lines of other kinds are a
person's own Markdown, which is read and searched like entries and never changed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import reduce
from hashlib import sha256
from typing import Final, NamedTuple

from ..protocol.marks import Dated, before_words, in_place_of, read_struck, struck_line, without_marks, without_pin
from ..storage.errors import BadRequest, StaleLine
from ..storage.texts import Text, msgid, render
from ..text.language import Language
from ..text.lazy_re import lazy_re

#: The most characters of one entry's content.
MOST_CHARS: Final = 20_000
#: The source of an entry that nobody names a source for; 000.
DEFAULT_SOURCE: Final = "web-chat"
#: Hex digits of a line's digest.
_DIGEST: Final = 8
#: Characters of a line that an error quotes.
_MOST_QUOTED: Final = 200
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


def standing_line(text: str, ref: str, field: str, shown: Sequence[int] | None = None) -> Line:
    """
    Return the line that *ref* names, as in "42@1f3a9c0d", among the lines *shown* (None: all).

    BadRequest, of *field*, or StaleLine where it names no line that still stands.
    """
    visible = text if shown is None else only_lines(text, shown)
    named = parse_refs([ref], field)
    lines = filled(cut(visible))
    for line in lines:
        if line.number in named:
            _refuse_ended(lines, line, field)  # first: a line that was struck has another digest than the one that was seen
    refuse_stale(visible, named)
    line = next(line for line in lines if line.number in named)
    if _words(line).startswith(("#", "```", "<!--", "---", "|")):
        raise BadRequest(
            field, Text("line {line} is a heading, code or a table, which can't be replaced; edit it by hand", line=line.ref)
        )
    return line


def struck_at(
    text: str,
    line: Line,
    until: date,
    reason: str = "",
    shown: Sequence[int] | None = None,
    parted: tuple[str, str] | None = None,
) -> tuple[str, Line, Line | None]:
    """
    Return the text with the words of one line struck, as no longer true from the day *until* on, and the line as it is then.

    *parted* splits the line: what ends, and what goes on. The second keeps its place and is returned, too; what ended is put
    below it, so that it is not taken for what replaces it. It loses its `#pin`. The number of the
    *line* is one among those *shown* (None: all).
    """
    ended, others = parted or (line.text, "")
    pieces = [*filter(None, [others]), struck_line(without_pin(ended), until, reason)]
    parts = re.split(f"({_BREAK.pattern})", text)
    place = 2 * (line.number if shown is None else shown[line.number - 1]) - 2
    parts[place] = (parts[place + 1 : place + 2] or parts[1:2] or ["\n"])[0].join(pieces)
    now = [Line(number, piece) for number, piece in enumerate(pieces, line.number)]
    return "".join(parts), now[-1], now[0] if others else None


def what_stands(lines: Sequence[Line], ended: Line) -> Line | None:
    """Return the line that stands in the place of an *ended* one, None if none does."""
    entries = [(line, parse_entry(line.text)) for line in lines]
    number = in_place_of(ended.number, [Dated(line.number, entry and entry.day, _words(line)) for line, entry in entries])
    return next((line for line in lines if line.number == number), None)


def _words(line: Line) -> str:
    return line.text[len(before_words(line.text)) :].strip()


def _refuse_ended(lines: Sequence[Line], line: Line, field: str) -> None:
    """Raise BadRequest, which names the line that stands, for a line that has ended already."""
    if struck := read_struck(_words(line)):
        stands = what_stands(lines, line)
        now = Text("no line stands in its place")
        if stands:
            now = Text("it is {line}, {text}", line=stands.ref, text=_quoted(stands.text))
        raise BadRequest(
            field, Text("line {line} ended already ({until}); now {found}", line=line.ref, until=struck.until or "", found=now)
        )


def _quoted(text: str) -> str:
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"


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
        if by_number.setdefault(int(match[1]), match[2] or "") != (match[2] or ""):
            raise BadRequest(
                field,
                Text("line {number} is named with two digests, and nothing was changed; give the right one", number=match[1]),
            )
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
            raise StaleLine(ref, line.ref, _quoted(line.text))


# ── searching ───────────────────────────────────────────────────


def matching(lines: Iterable[Line], keywords: Sequence[str], *, every: bool) -> tuple[Line, ...]:
    """Return the lines that contain one of the keywords, with *every* all of them; case does not count."""
    wanted = [word.casefold() for word in keywords]
    test = all if every else any
    return tuple(line for line in lines if test(word in line.text.casefold() for word in wanted))


def search_text(lines: Sequence[Line], keywords: Sequence[str], max_results: int, match_mode: str, language: Language) -> str:
    """
    Return the newest matches in the order of the file, or the sentence that says why there are none; never all lines.

    BadRequest if *match_mode* is neither "or" nor "and".
    """
    if match_mode not in {"or", "and"}:
        allowed = Text("{most} or {last}", most='"or"', last='"and"')
        raise BadRequest("match_mode", Text("{value} is not allowed, give {allowed}", value=repr(match_mode), allowed=allowed))
    words = [word for word in (one_line(keyword) for keyword in keywords) if word]
    if not lines:
        return render(Text("memory is empty"), language)
    if not words:
        return render(Text("give valid keywords to search for") if keywords else Text("give keywords to search for"), language)
    matches = matching(lines, words, every=match_mode == "and")
    if not matches:
        both = msgid("{before} and {after}") if match_mode == "and" else msgid("{before} or {after}")
        joined = reduce(lambda before, after: render(Text(both, before=before, after=after), language), words)
        return render(Text("no entry contains {keywords}", keywords=joined), language)
    shown = matches[max(0, len(matches) - max(0, max_results)) :]
    rows = [str(line) for line in shown]
    if len(shown) < len(matches):
        rows.append(
            render(Text("{count} matches, only {shown} of them are shown", count=len(matches), shown=len(shown)), language)
        )
    return "\n".join(rows)


def text_of(lines: Iterable[Line]) -> str:
    """Return the lines as 000 shows them, one below the other."""
    return "\n".join(map(str, lines))
