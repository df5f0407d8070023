"""
The memory block: which hits of a search it shows, and how they are written and measured (003, 上下文注入预算).

By default a hit is a source *file* with those of its lines that answer, at most fifteen files, the best first. Its lines are in
the order of time, below one tag that names the day: a line out of its order would be read as an answer to the one before it. So
the best line of all, which comes first if it was searched for, has a tag of its own. Code and lists are an entry of their own.
`hit = "line"` with `max_hits = 5` is 003 to the letter: five lines `[path] text` below a heading.

`pack` adds the hits one by one, the best for their length first (`in_order`), until the budget is used up. A line is
added, whole or else cut around the question's words, if the whole block, with header and tags, then still fits the budget of
tokens; a smaller line may follow a larger one that did not fit. A long answer of the assistant that does not fit is shown as
the sentences with the question's words. `max_chars` is the clamp of 001: whole snippets while they fit, then one cut snippet,
then none. `render` writes lines, tags and entries, `text/llm_input` says what a text costs.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, NamedTuple

from ..index.hit import LONG, Hit, Passage
from ..recall.audience import nameless
from ..recall.neighbours import company, is_neighbour, line_order, stretches
from ..text.comparing import same_words
from ..text.llm_input import day_in_brackets, token_cost, whole_tokens
from ..text.snippet import excerpt
from . import render
from .render import BETWEEN, BlockLimits

#: How many of the best hits bring what they need beside them.
_BEST: Final = 3
#: The score of a passage with more characters is divided by the root of its length in these, so that it goes in later.
_LONG_CHARS: Final = 500
#: A hit that is only the neighbour of an answer, without a word of the question, goes in as if it had this share of its score.
_NEIGHBOUR: Final = 0.6
#: The reason for a line that a person has pinned, so that it is always shown.
PINNED: Final = "pinned"
#: A snippet that is cut shorter than this says nothing, in characters.
_MIN_CUT_CHARS: Final = 20
#: A smaller block has no day in its head, in tokens or characters: it would have no words.
_LEAST_DATED: Final = 128
_LEAST_DATED_CHARS: Final = 400
#: An answer of the assistant of more bytes that does not fit is shown as an excerpt of so many bytes, or of `line_chars` if
#: those are more; where the assistant's words are asked for, of so many characters.
_ANSWER_BYTES: Final = 1_200
_EXCERPT_BYTES: Final = 500  # a Han character has three, and says as much as three letters
_ASKED_EXCERPT_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """The text of a memory block ("" if nothing fits), the hits it shows by score, and those it leaves out, with the reason."""

    text: str = ""
    tokens: int = 0
    pinned_tokens: int = 0  # of these, those of the pinned lines of memory.md
    entries: int = 0
    shown: tuple[Hit, ...] = ()
    left_out: tuple[tuple[Hit, str], ...] = ()


def pack(hits: Sequence[Hit], terms: Sequence[str], limits: BlockLimits, pinned: Sequence[Passage] = ()) -> PackedBlock:
    """
    Return the memory block for the hits of a search; a longer line is cut around *terms*.

    The *pinned* lines of memory.md come before the hits, in a budget of their own, which the first of them use first. If
    characters are limited, they come after the hits, so that they never crowd out an answer. Hits of the same score keep their
    order. The reasons why a hit is left out: "tokens" or "characters" (the block would be over its budget),
    "files" or "lines" (more than max_hits), "same words" (a better hit has them), "empty" (nothing to see).
    """
    block = MemoryBlock(limits, terms)
    if not limits.max_chars:
        block.pin(pinned, hits)
    kept, rejected = distinct(hits, block.shown)
    block.best = max((hit for hit in kept if hit.because), key=lambda hit: hit.rank, default=None)
    order = in_order(kept, limits)
    left_out = [(hit, why) for hit in order if (why := block.add(hit))]
    if len(left_out) == len(order) > 0 and block.add_cut(order[0]):  # the budget is smaller than any line
        del left_out[0]
    if limits.max_chars:
        block.pin(pinned, hits)
    return block.packed((*left_out, *rejected))


class _Size(NamedTuple):
    tokens: float
    chars: int


class _Line(NamedTuple):
    """A hit as it is written in an entry; *cost* is what it adds to the block, with the bar before it."""

    hit: Hit
    text: str
    cost: _Size
    is_fenced: bool = False


class MemoryBlock:
    """
    A memory block while it is filled, best hits first; at no time has it more tokens, characters or files than *limits* allow.

    *terms* are the words that a longer line is cut around. *shown* are the hits in it, in the order in which they were added.
    """

    def __init__(self, limits: BlockLimits, terms: Sequence[str] = ()) -> None:
        self.shown: list[Hit] = []
        self.best: Hit | None = None  # it has a tag of its own, before the other lines of its file
        self._limits, self._terms = limits, terms
        is_line = limits.hit == "line"  # 003, to the letter
        has_room = limits.tokens >= _LEAST_DATED and (not limits.max_chars or limits.max_chars >= _LEAST_DATED_CHARS)
        today = limits.today if has_room and not is_line else None
        self._head = render.head(limits.language, note=not is_line, today=today)
        self._size = _Size(token_cost(self._head), len(self._head))
        self._groups: dict[object, list[_Line]] = {}  # in the order in which they were added
        self._is_closed = False
        self._pinned_tokens = 0.0

    def pin(self, passages: Sequence[Passage], hits: Sequence[Hit]) -> None:
        """Add the *passages* that fit into their budget and are not shown yet; one that is among the *hits* keeps its score."""
        by_lines, before, limits = {hit.unit.place: hit for hit in hits}, self._size.tokens, self._limits
        shown = {hit.unit.place for hit in self.shown}
        self._limits = replace(limits, tokens=min(limits.tokens, int(before)) + limits.pinned_tokens)
        for passage in passages if limits.pinned_tokens else ():
            if passage.place in shown or not render.is_visible(passage.text):
                continue
            hit = by_lines.get(passage.place, Hit(passage, 0.0))
            hit = replace(hit, because=(*hit.because, PINNED))
            line = self._fitting(self._without_secrets(hit))
            if line and self._fits(line):
                self._put(line)
        self._pinned_tokens = self._size.tokens - before
        self._limits = replace(limits, tokens=limits.tokens + int(self._pinned_tokens))

    def add(self, hit: Hit) -> str:
        """Add the hit, whole or cut at line_chars. Return "", or the reason why it is left out."""
        limits, group = self._limits, group_of(hit, self._limits)
        if self._is_closed:
            return "characters"
        groups = {each for each, lines in self._groups.items() if not _is_pinned(lines[0].hit)}  # a pin counts for none
        if 0 < limits.max_hits <= len(groups) and group not in groups:
            return "files" if limits.hit == "file" else "lines"
        hit = self._without_secrets(hit)
        line = self._fitting(hit)
        if not line:
            return "tokens"
        if limits.max_chars and not self._fits(line):
            self._is_closed = True
            return "" if self.add_cut(hit) else "characters"
        self._put(line)
        return ""

    def add_cut(self, hit: Hit) -> bool:
        """Add as many characters of the hit as fit; return False if they are too few to say anything."""
        hit = self._without_secrets(hit)
        lengths = range(_MIN_CUT_CHARS, len(hit.unit.text))
        count = bisect_left(lengths, 1, key=lambda chars: not self._fits(self._line(hit, chars)))
        if count:  # subtle: a longer line may cost less, by where it is cut; this length was tried and fits
            self._put(self._line(hit, lengths[count - 1]))
        return count > 0

    def packed(self, left_out: tuple[tuple[Hit, str], ...]) -> PackedBlock:
        """Return the block as it is now."""
        if not self.shown:
            return PackedBlock(left_out=left_out)
        entries = [
            f"{source}{text[0].text}" if text[0].is_fenced else render.entry(source, [line.text for line in text]) + "\n"
            for lines in sorted(self._groups.values(), key=_worth_of_file)
            for text, source in self._entries(lines)
        ]
        hits = sorted(self.shown, key=lambda hit: -hit.rank)
        tokens = whole_tokens(self._size.tokens)
        text = self._head + "".join(entries)
        return PackedBlock(text, tokens, whole_tokens(self._pinned_tokens), len(entries), tuple(hits), left_out)

    def _without_secrets(self, hit: Hit) -> Hit:
        """Return the hit with its secrets hidden; called before it is cut, since half a secret does not look like one."""
        text = self._limits.hide(hit.unit.text)
        return hit if text == hit.unit.text else replace(hit, unit=replace(hit.unit, text=text))

    def _fitting(self, hit: Hit) -> _Line | None:
        """Return the hit as a line within the budget of tokens: whole if it may be, else cut; None if neither fits."""
        chars, room = self._limits.line_chars, self._limits.tokens - self._size.tokens
        if not 0 < chars < len(hit.unit.text):
            return self._within(room, hit, 0)
        whole = self._within(room, hit, 0) if self._limits.hit == "file" else None
        if not whole and self._is_long_answer(hit.unit):
            whole = self._within(room, hit, max(chars, self._excerpt_chars(hit.unit.text)))
        return whole or self._within(room, hit, chars)

    def _is_long_answer(self, unit: Passage) -> bool:
        """Return whether the passage is shown as an excerpt, of the sentences with the question's words, if it does not fit."""
        return self._limits.hit == "file" and unit.role == "assistant" and _bytes(unit.text) > _ANSWER_BYTES

    def _excerpt_chars(self, text: str) -> int:
        return _ASKED_EXCERPT_CHARS if self._limits.role == "assistant" else _EXCERPT_BYTES * len(text) // _bytes(text)

    def _within(self, room: float, hit: Hit, chars: int) -> _Line | None:
        line = self._line(hit, chars)
        return line if self._with(line).tokens - self._size.tokens <= room else None

    def _line(self, hit: Hit, chars: int) -> _Line:
        """Return the hit as a line of at most *chars* characters, 0: whole; code and lists as several lines."""
        unit, language, is_line = hit.unit, self._limits.language, self._limits.hit == "line"
        words, mark = unit.text, ""
        if 0 < chars < len(words) and self._is_long_answer(unit):
            words, chars, mark = excerpt(words, chars, self._terms), 0, render.TRUNCATED
        if not is_line and render.has_layout(words):
            lines = render.shown_lines(words, chars, self._terms)
            if "\n" in lines:
                text = render.fenced(unit.role, lines + mark, unit.speaker, language)
                return _Line(hit, text, _Size(token_cost(text), len(text)), is_fenced=True)
        text = render.with_speaker(
            "" if is_line else unit.role, render.shown(words, chars, self._terms) + mark, unit.speaker, language
        )
        return _Line(hit, text, _Size(token_cost(BETWEEN + text), len(BETWEEN + text)))

    def _fits(self, line: _Line) -> bool:
        tokens, chars = self._with(line)
        return tokens <= self._limits.tokens and (not self._limits.max_chars or chars <= self._limits.max_chars)

    def _with(self, line: _Line) -> _Size:
        """Return the exact size of the block with the line added, tags included."""
        lines = self._groups.get(group_of(line.hit, self._limits), [])
        old, new = self._measure(lines), self._measure([*lines, line])
        return _Size(self._size.tokens - old.tokens + new.tokens, self._size.chars - old.chars + new.chars)

    def _put(self, line: _Line) -> None:
        self._size = self._with(line)
        self._groups.setdefault(group_of(line.hit, self._limits), []).append(line)
        self.shown.append(line.hit)

    def _measure(self, lines: Sequence[_Line]) -> _Size:
        tokens, chars = 0.0, 0
        for text, source in self._entries(lines):
            tokens += token_cost(source) + sum(line.cost.tokens for line in text)
            # subtle: one bar less than lines, but a line break, which costs as many tokens; in characters, a blank more
            chars += len(source) + sum(line.cost.chars for line in text) + (not text[0].is_fenced) * (len(" \n") - len(BETWEEN))
        return _Size(tokens, chars)

    def _entries(self, lines: Sequence[_Line]) -> Iterator[tuple[list[_Line], str]]:
        """Yield the entries of one file: the lines, and the tag and the day before them."""
        before = None
        for each in _entries_of(lines, self.best):
            day = each[0].hit.unit.day if self._limits.hit == "file" else None
            yield each, self._source(each, None if day == before else day)
            before = day

    def _source(self, lines: Sequence[_Line], day: date | None) -> str:
        first, spans = lines[0].hit.unit, stretches([line.hit.unit for line in lines])
        path = first.path if self._limits.names else nameless(first.path)
        source = render.tag(path, spans, lines=self._limits.citations)
        return f"{source} {day_in_brackets(day, self._limits.language, path)}" if day else source


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _is_pinned(hit: Hit) -> bool:
    return PINNED in (hit.because or ())


def _worth_of_file(lines: Sequence[_Line]) -> tuple[bool, float]:
    """Return the sort key of the files of a block: pinned ones first, then by the best answer."""
    return not _is_pinned(lines[0].hit), -max(line.hit.rank for line in lines)


def _entries_of(lines: Sequence[_Line], best: Hit | None) -> list[list[_Line]]:
    """Return the entries of one file, one for each day: the *best* line of all, the others."""
    entries: list[list[_Line]] = []
    first = best and best.unit.place
    for line in sorted(lines, key=lambda line: (line.hit.unit.place != first, line_order(line.hit.unit))):
        if entries and _share_an_entry(entries[-1][-1], line):
            entries[-1].append(line)
        else:
            entries.append([line])
    return entries


def _share_an_entry(line: _Line, other: _Line) -> bool:
    """Return whether one tag names both lines, of which *other* is the later; each unfiled message has its own, with its id."""
    is_alone = line.is_fenced or other.is_fenced or line.hit.unit.tier == "unfiled"
    return not is_alone and line.hit.unit.day == other.hit.unit.day and line_order(line.hit.unit) <= line_order(other.hit.unit)


# ── which hits, in which order ───────────────────────────────────────────────
#
# What is the same but for case, width, punctuation, courtesy or the day on which it was said is shown once, the newest
# (`text/same_words`). A text of several lines has to be the same to the letter. Each number was measured
# (docs/explanation/recall.md).


def in_order(hits: Sequence[Hit], limits: BlockLimits) -> list[Hit]:
    """
    Return the hits in the order in which they go into the block: the best for their length first.

    What one of the best hits needs beside it (`neighbours.company`) goes in with it, a long answer of the assistant's later,
    and so does what is only a neighbour.
    """
    best = sorted(hits, key=lambda hit: -hit.rank)
    if limits.hit == "line":
        return best
    needed = company([hit for hit in best if not is_neighbour(hit)][:_BEST], best)

    def value(hit: Hit) -> float:
        worth = _density(hit, limits) * (_NEIGHBOUR if is_neighbour(hit) else 1.0)
        return max(worth, _density(needed[hit], limits)) if hit in needed and LONG not in hit.because else worth

    return sorted(best, key=lambda hit: (-value(hit), hit in needed))


def _density(hit: Hit, limits: BlockLimits) -> float:
    """Return the worth of the hit for its length; for the assistant's words, if they are asked for, length does not matter."""
    if limits.role == hit.unit.role == "assistant":
        return hit.rank
    return hit.rank / math.sqrt(max(1.0, len(hit.unit.text) / _LONG_CHARS))


def group_of(hit: Hit, limits: BlockLimits) -> object:
    """Return what counts as one hit of 003, a file or a line; pinned lines are apart from the hits of their file."""
    return (hit.unit.file, _is_pinned(hit)) if limits.hit == "file" else hit.unit.place


def distinct(hits: Sequence[Hit], pinned: Sequence[Hit]) -> tuple[list[Hit], list[tuple[Hit, str]]]:
    """Return the hits to show beside the *pinned* ones, best first, and the others: "same words" or "empty"."""
    places, present = {hit.unit.place for hit in pinned}, {_words_of(hit.unit) for hit in pinned}
    seen: set[tuple[str, int, int]] = set()
    groups: dict[str, list[Hit]] = {}
    rejected: list[tuple[Hit, str]] = []
    for hit in sorted((hit for hit in hits if hit.unit.place not in places), key=lambda hit: -hit.rank):
        if not render.is_visible(hit.unit.text):
            rejected.append((hit, "empty"))
        elif hit.unit.place in seen:
            rejected.append((hit, "same words"))
        else:
            seen.add(hit.unit.place)
            groups.setdefault(_words_of(hit.unit), []).append(hit)
    kept = []
    for words, group in groups.items():
        newest = max(group, key=lambda hit: (hit.unit.role != "assistant", hit.unit.moment))
        if words not in present:
            kept.append(replace(newest, score=group[0].score, parts=group[0].parts))
        rejected += [(hit, "same words") for hit in group if words in present or hit is not newest]
    return kept, rejected


def _words_of(unit: Passage) -> str:
    """Return the words by which passages are compared; who said them counts where somebody has a name."""
    return f"{unit.speaker}\n{unit.text if chr(10) in unit.text else same_words(unit.text)}"
