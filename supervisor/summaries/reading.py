"""
What a summary is made from, as the supervisor reads it: the messages of its files, and the extract of them.

The extract is computed here in milliseconds, as a worker without a model makes it: an answer is judged against it, and it is
the summary while no answer was accepted.

A summary names the files that it covers, not the message behind each line. What a line and a message have in common, and few
other messages have, says which it is (`sources_of`). Latin words and numbers count whole, Chinese by pairs of characters, so
that no dictionary is loaded.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

from ..archive.memory_folder import MemoryFolder
from ..extracts.candidates import are_courtesies
from ..extracts.extract import NOON, extract
from ..protocol.config import Config
from ..protocol.dated_file import Block
from ..protocol.llm import without_secrets
from ..protocol.paths import Period, day_of_name
from ..protocol.summary_file import Source
from ..storage.clock import local_day
from ..text.language import count_words, is_small_talk, language_of, language_of_sentences
from ..text.lazy_re import lazy_re
from .quality import NO_WORD, Material

#: The most passages that a line is traced to.
MOST: Final = 4
#: Of the worth of a line's words a passage needs at least this share, and this share of what the best passage has.
LEAST: Final = 0.15
OF_BEST: Final = 0.5
#: Characters of a passage that are looked at.
_CHARS: Final = 4_000
_WORD: Final = lazy_re(r"[a-z0-9]{2,}|[\u3400-\u9fff]+")


def blocks_of(memory: MemoryFolder, names: Iterable[str], zone: ZoneInfo) -> list[Block]:
    """Return the messages of the files, and the notes among these as messages at noon."""
    blocks: list[Block] = []
    for name in names:
        parsed, day = memory.parsed(name), day_of_name(name)
        if parsed:
            blocks += parsed.blocks
        elif day:
            noon = datetime.combine(day, NOON, zone).astimezone(UTC)
            blocks += [Block("", "note", text, noon, {}) for text in memory.message_texts(name)]
    return blocks


def extract_of(blocks: list[Block], period: Period, config: Config, longest: int | None = None) -> str:
    """Return the extract of the messages, at most *longest*, without secrets; "" where they are nothing but courtesies."""
    most, zone = longest or config.archive.summarise_chars, config.archive.zone
    hide = partial(without_secrets, privacy=config.privacy)
    return extract(blocks, period=period.label, zone=zone, kind=period.kind, longest=most, hide=hide)


def says_little(blocks: Sequence[Block], least: int) -> bool:
    """True if the messages of a day have fewer than *least* words, small talk aside, or are courtesies; never where it is 0."""
    words = sum(count_words(block.text) for block in blocks if not is_small_talk(block.text))
    return least > 0 and (words < least or are_courtesies(blocks))


def quotes_all(text: str, texts: Iterable[str]) -> bool:
    """Return whether the extract *text* has each of the texts whole, but for punctuation and blanks."""
    quoted = NO_WORD.sub("", text)
    return all(NO_WORD.sub("", text) in quoted for text in texts)


def material_of(
    memory: MemoryFolder,
    period: Period,
    sources: Iterable[Source],
    config: Config,
    previous: str = "",
    *,
    may_copy: bool = False,
) -> Material:
    """
    Return what an answer about the period, which may continue the *previous* text, is judged against.

    One that code joined from the summaries of days *may copy*.
    """
    zone = config.archive.zone
    blocks = blocks_of(memory, (source.name for source in sources), zone)
    texts: list[tuple[date | None, str]] = [(local_day(block.created_at, zone), block.text) for block in blocks]
    languages = {language_of_sentences([block.text]) for block in blocks if block.text.strip()}
    of_days: tuple[str, ...] = ()
    if period.kind == "month":  # it is made from the summaries of its days, which a person may have edited in another language
        days = [
            (day, summary)
            for day, summary in memory.summaries().items()
            if day.kind == "day" and day.label.startswith(period.label)
        ]
        texts += [(datetime.fromisoformat(day.label).date(), summary.text) for day, summary in days]
        of_days = tuple(summary.text for _, summary in days if not summary.extract)
        languages |= {language_of(summary.text) for _, summary in days}
    texts += [(None, previous)] if previous else []
    whole = language_of_sentences(text for _, text in texts)
    return Material(
        parts=((None, " · ".join({block.speaker: None for block in blocks if block.speaker})), *texts),
        extract=extract_of(blocks, period, config),
        language=whole if len(languages) == 1 else None,
        days=of_days,
        may_copy=may_copy,
    )


def marks(text: str) -> frozenset[str]:
    """
    Return what a text is recognised by: its Latin words and numbers, and its pairs of Chinese characters.

    >>> sorted(marks("NAS 备份好了"))
    ['nas', '份好', '备份', '好了']
    """
    words: set[str] = set()
    for match in _WORD.finditer(text[:_CHARS].casefold()):
        word = match[0]
        if word.isascii():
            words.add(word)
        else:
            words.update(word[n : n + 2] for n in range(max(1, len(word) - 1)))
    return frozenset(words)


def sources_of(lines: Sequence[str], passages: Sequence[str]) -> list[tuple[int, ...]]:
    """
    Return for each line the numbers of the passages that it comes from, in their order; none if nothing is near.

    >>> sources_of(["- 备份改到 NAS", "- 明天爬山"], ["把备份放到 NAS 上", "天气不错", "明天去爬山吗？"])
    [(0,), (2,)]
    """
    of_passages = [marks(passage) for passage in passages]
    frequency = Counter(mark for sources in of_passages for mark in sources)
    worth = {mark: math.log(1 + len(passages) / count) for mark, count in frequency.items()}
    return [_nearest(marks(line), of_passages, worth) for line in lines]


def _nearest(wanted: frozenset[str], passages: Sequence[frozenset[str]], worth: dict[str, float]) -> tuple[int, ...]:
    known = [mark for mark in wanted if mark in worth]
    whole = sum(worth[mark] for mark in known)
    if not whole:
        return ()
    scores = [sum(worth[mark] for mark in known if mark in passage) for passage in passages]
    least = max(LEAST * whole, OF_BEST * max(scores))
    best = sorted((number for number, score in enumerate(scores) if score >= least), key=lambda number: -scores[number])
    return tuple(sorted(best[:MOST]))
