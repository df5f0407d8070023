"""
What the summary of a task is made from: dated files, a person's notes, and for a month the summaries of its days.

Who claims a task reads it: a worker, or what carries tasks to a pool of workers. Source: docs/reference/protocol.md, 6.

What the assistant says back is none of it: words that a turn put before it are no news when they come back in its answer, and
memory that was learnt again from its own answers would be said ever more often. The receipt of a turn (`protocol/turn`) says
what was put before the assistant. An answer of the hour after it, of which each sentence is one of memory or of the question,
stays word for word in its dated file, and is no material for summaries and lines.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from ..storage.errors import SupervisorError
from ..storage.files import Files
from ..text.foreign_text import text_of
from ..text.lazy_re import lazy_re
from ..text.tokenizer import tokens
from ..text.word_frequency import rarity_of
from .dated_file import Block, parse_dated
from .paths import WorkspacePaths, day_of_name, period_of_name
from .summary_file import parse_summary
from .task import Task
from .turn import parse_receipt, turn_id, turn_ids

#: How long after a turn its answer comes, at most.
_ANSWERED: Final = timedelta(hours=1)
#: A word that is rarer, or has a digit, tells something.
_TELLING: Final = 0.3
#: Longer answers are more than what they were given.
_MOST_CHARS: Final = 2_000
_BREAK: Final = lazy_re(r"[。！？!?\n;；|]+|\.(?=\s|$)")
_NOT: Final = lazy_re(r"不|没|无|别|未|\b(?:not?|never|none|without)\b|n't\b", 2)


class MaterialLost(Exception):
    """The material is gone, or differs from what the task names: the supervisor makes a new task from the files of now."""


def read_material(task: Task, files: Files, paths: WorkspacePaths, *, with_extracts: bool) -> list[Block]:
    """
    Return the messages to read, oldest first, without answers that only say back what memory had.

    MaterialLost when a file is gone or differs from what the task names.

    *with_extracts*: a daily summary may be an extract. A model never reads one: it reads the dated files.
    """
    digests = {source.name: source.digest for source in task.sources}
    blocks: list[Block] = []
    said_back = SaidBack(files, paths)
    for name in task.material:
        version = next(filter(None, (files.read_stable(path) for path in (paths.dated(name), paths.original(name)))), None)
        period = period_of_name(name.removeprefix("summary/"))
        if period and name.startswith("summary/"):
            version = files.read_stable(paths.summary(period))
        if version is None or (name in digests and version.digest[:16] != digests[name]):
            raise MaterialLost(f"{name} is gone or was changed")
        parsed = parse_dated(version.data, paths.dated(name))
        if parsed:
            blocks.extend(said_back.without(parsed.blocks))
        elif period:
            summary = parse_summary(version.data, period.label, paths.summary(period))
            if summary.extract and not with_extracts:
                raise MaterialLost(f"{name} is an extract now")
            blocks.append(_note(summary.text, period.label, "summary", task.zone))
        elif text := text_of(version.data):
            day = day_of_name(name)
            label = day.isoformat() if day else task.period
            blocks.append(_note(text, label, "note", task.zone))
    return blocks


def _note(text: str, label: str, role: str, zone: str) -> Block:
    """Return a text that is no message as a block at noon of its day."""
    day = datetime.fromisoformat(label if len(label) > len("2026-01") else f"{label}-01").date()
    at = datetime.combine(day, time(12), ZoneInfo(zone)).astimezone(UTC)
    return Block("", role, text, at, {})


def only_says_back(answer: str, given: str) -> bool:
    """
    Return whether each sentence of the answer that tells something is one of what was *given*.

    >>> only_says_back("你的发布会定在12月15日。", "[memory.md#L3] 发布会定在12月15日，星海厅")
    True
    >>> only_says_back("发布会不在12月15日。", "[memory.md#L3] 发布会定在12月15日"), only_says_back("好的。", "x")
    (False, False)
    """
    if len(answer) > _MOST_CHARS:
        return False
    sentences = [(words, _denies(sentence)) for sentence in _BREAK.split(answer) if (words := _telling(sentence))]
    material = [(frozenset(tokens(sentence)), _denies(sentence)) for sentence in _BREAK.split(given)] if sentences else []
    return bool(sentences) and all(
        any(words <= known and no == theirs for known, theirs in material) for words, no in sentences
    )


def _telling(sentence: str) -> frozenset[str]:
    return frozenset(word for word in tokens(sentence) if rarity_of(word) >= _TELLING or any(map(str.isdigit, word)))


def _denies(sentence: str) -> bool:
    return bool(_NOT.search(sentence))


class SaidBack:
    """The receipts of a workspace, by which answers that only say back are known; each receipt is read once."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files, self._paths = files, paths
        self._ids: list[str] = []
        self._given: dict[str, tuple[str, str]] = {}

    def without(self, blocks: Iterable[Block]) -> list[Block]:
        """Return the messages without the assistant's that only say back what a turn put before it."""
        self._ids = turn_ids(self._files.disk.names(self._paths.turns))
        return [block for block in blocks if block.role != "assistant" or not self._is_said_back(block)]

    def _is_said_back(self, block: Block) -> bool:
        first, last = (turn_id(moment, "")[:18] for moment in (block.created_at - _ANSWERED, block.created_at))
        turns = (self._read(identity) for identity in reversed(self._ids) if first <= identity[:18] <= last)
        return any(session in ("", block.session) and only_says_back(block.words, given) for session, given in turns)

    def _read(self, identity: str) -> tuple[str, str]:
        """Return the session of a turn, and its memory and question; nothing of a receipt that can't be read."""
        if identity not in self._given:
            path = self._paths.turns / f"{identity}.json"
            try:
                version = self._files.read_shown(path)
                receipt = parse_receipt(version.data, path) if version else None
            except (SupervisorError, OSError):
                receipt = None
            self._given[identity] = (receipt.session, f"{receipt.memory}\n{receipt.question}") if receipt else ("", "")
        return self._given[identity]
