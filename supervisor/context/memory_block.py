"""
The memory block: which hits of a search it shows, and how they are written and measured (003, 上下文注入预算).

By default a hit is a source *file* with those of its lines that answer, at most five files, the best first. Within a file lines
are in the order of time, and a run of neighbours has one tag. `hit = "line"` is 003 to the letter: five lines. `pack` takes the
hits once, best first. A line goes in if the whole block, header and tags included, then still has at most the tokens of the
budget; a smaller line may follow a larger one that did not fit. `max_chars` is the clamp of 001: whole snippets while they fit,
then one cut snippet, then none. `render` writes lines, tags and entries, `text/token_count` says what a text costs.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from supervisor.context.render import BETWEEN, HEADER, NOTE, Language, entry, nameless, shown, spoken, tag
from supervisor.text.token_count import token_cost, whole_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.index.hit import Hit, Passage

#: A snippet that is cut shorter than this says nothing. In characters.
_MIN_CUT_CHARS: Final = 20
#: The share of the budget up to which a message is shown whole where a hit is a file. A longer one is cut at line_chars.
_WHOLE_SHARE: Final = 0.25
#: What the next best line of a file adds to the worth of the file, beside the line before it (docs/explanation/recall.md).
_NEXT_LINE: Final = 0.3
#: A token has at most this many ASCII characters: a word of five letters and its blank.
_CHARS_PER_TOKEN: Final = 6
#: Lines from the end of one message to the start of the next, at most: blank, comment, time, blank, fence.
_NEXT_MESSAGE: Final = 6
_NEXT_SECTION: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLimits:
    """What a memory block may hold and how it is written; the defaults are those of 003, except `hit`."""

    tokens: int = 2048
    max_hits: int = 5  # 0: no limit
    hit: Literal["file", "line"] = "file"
    line_chars: int = 300  # 0: every message whole, however few then fit
    max_chars: int = 0  # of the block, header and tags included (001); 0: no limit
    citations: bool = True  # line numbers in the tags
    names: bool = True  # of dated files; their words may be from a chat that the readers did not take part in
    hide: Callable[[str], str] = str  # the secrets of a text
    cjk_weight: float = 1.0
    language: Language = "en"


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """The text of a memory block ("" if nothing fits), the hits it shows by score, and those it leaves out, with the reason."""

    text: str = ""
    tokens: int = 0
    entries: int = 0
    shown: tuple[Hit, ...] = ()
    left_out: tuple[tuple[Hit, str], ...] = ()


def pack(hits: Sequence[Hit], terms: Sequence[str], limits: BlockLimits) -> PackedBlock:
    """
    Return the memory block for the hits of a search; a longer line is cut around *terms*.

    Hits of the same score keep their order. The reasons for what is left out: "tokens" or "characters" (the block would be over
    its budget), "files" or "lines" (more than max_hits), "same words" (a better hit says them), "empty" (nothing to see).
    """
    distinct, rejected = _distinct(hits)
    order = _best_files_first(distinct, limits)
    block = MemoryBlock(limits, terms)
    left_out = [(hit, why) for hit in order if (why := block.add(hit))]
    if order and not block.shown and block.add_cut(order[0]):  # the budget is smaller than any line
        del left_out[0]
    return block.packed((*left_out, *rejected))


def _distinct(hits: Sequence[Hit]) -> tuple[list[Hit], list[tuple[Hit, str]]]:
    """Return the hits to show, best first, and the rejected ones with the reason: "same words" or "empty"."""
    seen: set[tuple[object, ...]] = set()
    kept: list[Hit] = []
    rejected: list[tuple[Hit, str]] = []
    for hit in sorted(hits, key=lambda hit: -hit.score):
        unit = hit.unit
        keys = {(unit.path, unit.start, unit.end), (unit.day, unit.role, unit.text)}
        if not _is_visible(unit.text):
            rejected.append((hit, "empty"))
            continue
        if seen & keys:
            rejected.append((hit, "same words"))
        else:
            kept.append(hit)
        seen |= keys
    return kept, rejected


def _is_visible(text: str) -> bool:
    return bool(text.strip()) and (text.isprintable() or bool(shown(text, 1)))


def _best_files_first(hits: Sequence[Hit], limits: BlockLimits) -> list[Hit]:
    """Return the hits with those of the max_hits best files first. The others come in if one of these has no line that fits."""
    worth: dict[object, float] = {}
    share: dict[object, float] = {}
    for hit in hits:
        group = _group(hit, limits)
        share[group] = share[group] * _NEXT_LINE if group in share else 1.0
        worth[group] = worth.get(group, 0.0) + share[group] * hit.score
    if not 0 < limits.max_hits < len(worth):
        return list(hits)
    best = set(sorted(worth, key=lambda group: -worth[group])[: limits.max_hits])
    return sorted(hits, key=lambda hit: _group(hit, limits) not in best)


def _group(hit: Hit, limits: BlockLimits) -> object:
    """Return what counts as one hit of 003: the file, or the single line."""
    unit = hit.unit
    return unit.path if limits.hit == "file" else (unit.path, unit.start, unit.end)


class _Line(NamedTuple):
    """A hit as it is written in an entry; *tokens* with the bar before it."""

    hit: Hit
    text: str
    tokens: float


class _Size(NamedTuple):
    """What a part of the block costs."""

    tokens: float
    chars: int


class MemoryBlock:
    """
    A memory block while it is filled, best hits first; at no time has it more tokens, characters or files than *limits* allow.

    *terms* are the words that a longer line is cut around. *shown* are the hits in it, in the order in which they were added.
    """

    def __init__(self, limits: BlockLimits, terms: Sequence[str] = ()) -> None:
        self.shown: list[Hit] = []
        self._limits, self._terms = limits, terms
        self._head = f"{HEADER}\n{NOTE[limits.language]}\n"
        self._size = _Size(token_cost(self._head, limits.cjk_weight), len(self._head))
        self._groups: dict[object, list[_Line]] = {}  # in the order in which they came in
        self._tags: dict[tuple[str, int, int], tuple[str, float]] = {}  # with their tokens
        self._is_closed = False

    def add(self, hit: Hit) -> str:
        """Add the hit, whole or cut at line_chars. Return "", or the reason why it is left out."""
        limits, group = self._limits, _group(hit, self._limits)
        if self._is_closed:
            return "characters"
        if 0 < limits.max_hits <= len(self._groups) and group not in self._groups:
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
        runs = [run for lines in self._groups.values() for run in _runs(lines)]
        entries = [entry(self._tag(run)[0], [line.text for line in run]) for run in runs]
        text = self._head + "".join(f"{line}\n" for line in entries)
        hits = sorted(self.shown, key=lambda hit: -hit.score)
        return PackedBlock(text, whole_tokens(self._size.tokens), len(entries), tuple(hits), left_out)

    def _without_secrets(self, hit: Hit) -> Hit:
        """Return the hit with its secrets hidden: before it is cut, since half a secret does not look like one."""
        text = self._limits.hide(hit.unit.text)
        return hit if text == hit.unit.text else replace(hit, unit=replace(hit.unit, text=text))

    def _fitting(self, hit: Hit) -> _Line | None:
        """Return the hit as a line within the budget of tokens: whole if it may be, else cut; None if neither fits."""
        chars, room = self._limits.line_chars, self._limits.tokens - self._size.tokens
        if not 0 < chars < len(hit.unit.text):
            return self._within(room, hit, 0)
        share = self._limits.tokens * _WHOLE_SHARE if self._limits.hit == "file" else 0.0
        return self._within(min(room, share), hit, 0) or self._within(room, hit, chars)

    def _within(self, room: float, hit: Hit, chars: int) -> _Line | None:
        """Return the hit as a line of at most *chars* characters, 0: whole, if it adds at most *room* tokens."""
        least = _min_tokens(hit.unit.text, self._limits.cjk_weight)
        if least * (chars / len(hit.unit.text) / 2 if chars else 1.0) > room:  # half: parts of a text differ
            return None
        line = self._line(hit, chars)
        return line if self._size_with(line).tokens - self._size.tokens <= room else None

    def _line(self, hit: Hit, chars: int) -> _Line:
        """Return the hit as a line of at most *chars* characters, 0: whole."""
        text = spoken(hit.unit.role, shown(hit.unit.text, chars, self._terms))
        return _Line(hit, text, token_cost(BETWEEN + text, self._limits.cjk_weight))

    def _fits(self, line: _Line) -> bool:
        tokens, chars = self._size_with(line)
        return tokens <= self._limits.tokens and (not self._limits.max_chars or chars <= self._limits.max_chars)

    def _size_with(self, line: _Line) -> _Size:
        """Return the exact size of the block if the line is added, however runs of its file then grow or join."""
        lines = self._groups.get(_group(line.hit, self._limits), [])
        old, new = self._measure(lines), self._measure([*lines, line])
        return _Size(self._size.tokens - old.tokens + new.tokens, self._size.chars - old.chars + new.chars)

    def _put(self, line: _Line) -> None:
        self._size = self._size_with(line)
        self._groups.setdefault(_group(line.hit, self._limits), []).append(line)
        self.shown.append(line.hit)

    def _measure(self, lines: Sequence[_Line]) -> _Size:
        """Return the exact size of the entries of one file."""
        tags = [self._tag(run) for run in _runs(lines)]
        # subtle: a run has one bar less than lines, but a line break, which costs as many tokens; in characters, a blank more
        tokens = sum(tokens for _, tokens in tags) + sum(line.tokens for line in lines)
        chars = sum(len(text) + len(" \n") - len(BETWEEN) for text, _ in tags) + sum(len(BETWEEN + line.text) for line in lines)
        return _Size(tokens, chars)

    def _tag(self, run: Sequence[_Line]) -> tuple[str, float]:
        """Return the tag of a run of lines, and its tokens."""
        first = run[0].hit.unit
        place = first.path, first.start, max(line.hit.unit.end for line in run)
        if place not in self._tags:
            path = first.path if self._limits.names else nameless(first.path)
            text = tag(path, *place[1:], lines=self._limits.citations)
            self._tags[place] = text, token_cost(text, self._limits.cjk_weight)
        return self._tags[place]


def _min_tokens(text: str, cjk_weight: float) -> float:
    """Return a number of tokens that the text has at least: once the block is nearly full, most lines need no estimate."""
    wide = (len(text.encode("utf-8", "surrogatepass")) - len(text)) / 2  # a Han character has three bytes
    return max(0.0, len(text) - wide) / _CHARS_PER_TOKEN + wide * min(1.0, cjk_weight)


def _runs(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Return the lines of one file in the order of the file, in runs of neighbours."""
    runs: list[list[_Line]] = []
    for line in sorted(lines, key=lambda line: (line.hit.unit.start, line.hit.unit.end)):
        if runs and _are_neighbours(runs[-1][-1].hit.unit, line.hit.unit):
            runs[-1].append(line)
        else:
            runs.append([line])
    return runs


def _are_neighbours(one: Passage, other: Passage) -> bool:
    """Return whether no other message, section or line is between two units of a file."""
    between = other.start - one.end
    if one.message and other.message:
        return between <= _NEXT_MESSAGE
    return between <= (_NEXT_SECTION if one.tier == other.tier == "summary" else 1)
