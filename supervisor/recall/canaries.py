"""
Recall canaries: questions about archived messages that are asked again from time to time, to see that recall still finds them.

A question consists of the rarest words of its message, as they are written there. A few are taken from each archive run and
kept in `.recalld/canaries.jsonl`, a head and then one line each, oldest first; each is asked at most once a day, and dropped
when a person has deleted or rewritten its message. If the share that is found falls, an event reports it. The words of messages
never leave the file. The file can be deleted: later archive runs give new canaries. Source: docs/explanation/recall.md.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from recalld.supervisor.protocol.paths import day_of_name
from recalld.supervisor.protocol.said_back import SaidBack
from recalld.supervisor.storage.clock import to_wire, wire_time
from recalld.supervisor.text.record import record
from recalld.supervisor.text.small_talk import is_chitchat
from recalld.supervisor.text.tokenizer import spelled, tokens
from recalld.supervisor.text.word_frequency import rarity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from recalld.supervisor.archive.coverage import MemoryFile
    from recalld.supervisor.archive.memory_folder import MemoryFolder
    from recalld.supervisor.events import Events
    from recalld.supervisor.index.hit import Hit
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.recall.search import Searcher
    from recalld.supervisor.storage.control import Control
    from recalld.supervisor.storage.files import Files

T = TypeVar("T")
#: A word as it is written, its token, and its rarity.
RareWord: TypeAlias = tuple[str, str, float]
#: The format of the file; another number is read as an empty file.
FORMAT: Final = 1
#: Canaries from one archive run, words of one question, canaries that are kept, canaries that one check asks.
PER_RUN: Final = 3
QUESTION_WORDS: Final = 4
KEPT: Final = 200
PER_CHECK: Final = 5
#: How long a canary is not asked again.
EVERY: Final = timedelta(days=1)
#: Below this rate something is wrong; a single canary more or less may be chance.
SOUND: Final = 0.95
_CHANCE: Final = 1.0
#: A word below this rarity (`text.word_frequency`) is an everyday word; one in more messages than this does not identify one.
_MIN_RARITY: Final = 0.5
_MAX_MESSAGES: Final = 20
_MIN_WORDS: Final = 2
_MAX_CHARS: Final = 4_000
#: Messages of a file among which one is chosen.
_SAMPLE: Final = 12


@record(kw_only=True)
class Canary:
    """A question about the message *id* in the dated file *file*; when it was last asked, and whether the message was found."""

    file: str
    id: str
    words: tuple[str, ...]
    asked: datetime | None = None
    found: bool = False

    @property
    def question(self) -> str:
        """The text of the question."""
        return " ".join(self.words)


@record
class Rate:
    """How many canaries are kept, how many of them were asked, and how many of those found."""

    kept: int
    asked: int
    found: int

    @property
    def value(self) -> float:
        """The share that was found, 1.0 if none was asked."""
        return self.found / self.asked if self.asked else 1.0


def rare_words(texts: Sequence[str]) -> list[list[RareWord]]:
    """Return the rare words of each message in their order; a courtesy has none."""
    return [
        []
        if is_chitchat(text)
        else [(word, token, rarity(token)) for word, token in spelled(text[:_MAX_CHARS]) if rarity(token) >= _MIN_RARITY]
        for text in texts
    ]


def question_of(rare: Iterable[RareWord], frequency: Callable[[str], int]) -> tuple[str, ...]:
    """
    Return the rarest of a message's rare words in their order; none if the message has too few.

    *frequency* returns how many messages contain a token, 0 if that is not known.
    """
    weight: dict[str, tuple[float, str]] = {}
    for word, token, rarity_of_word in rare:
        # the index has parts of words: take a word only if none of its parts is common
        known = [frequency(part) for part in tokens(word)]
        if known and max(known) <= _MAX_MESSAGES:
            weight.setdefault(token, (rarity_of_word / (1 + max(known)), word))
    best = sorted(weight, key=lambda token: -weight[token][0])[:QUESTION_WORDS]
    return tuple(weight[token][1] for token in weight if token in best) if len(best) >= _MIN_WORDS else ()


def choose_canary(
    file: str, messages: Iterable[tuple[str, Sequence[RareWord]]], frequency: Callable[[str], int]
) -> Canary | None:
    """Return a canary about the message (id, rare words) of a file that has the rarest words; None if none has enough."""
    found = [(identity, question_of(rare, frequency)) for identity, rare in messages]
    telling = [(identity, words) for identity, words in found if words]
    if not telling:
        return None

    def weight(one: tuple[str, tuple[str, ...]]) -> float:
        return sum(1 / (1 + max(map(frequency, tokens(word)))) for word in one[1])

    identity, words = max(telling, key=weight)
    return Canary(file=file, id=identity, words=words)


def sample(items: Sequence[T], most: int = PER_RUN) -> list[T]:
    """
    Return at most *most* items, evenly spread, with the first and the last.

    >>> sample(["1日", "2日", "3日", "4日", "5日"])
    ['1日', '3日', '5日']
    """
    if len(items) <= most:
        return list(items)
    return [items[n * (len(items) - 1) // (most - 1)] for n in range(most)]


def is_current(canary: Canary, messages: Iterable[tuple[str, str]]) -> bool:
    """Return whether the message is still in its file, *messages* (id, text), with the words of the question."""
    text = next((text for identity, text in messages if identity == canary.id), "")
    return bool(text) and set(tokens(canary.question)) <= set(tokens(text))


def is_found(canary: Canary, hits: Iterable[Hit], covering: Collection[str]) -> bool:
    """Return whether the *hits* have the message, or a file of *covering* (summaries of its file, relative paths)."""
    return any(hit.unit.message == canary.id or hit.unit.path in covering for hit in hits)


def due(canaries: Sequence[Canary], now: datetime, most: int) -> list[Canary]:
    """Return at most *most* canaries not asked for a day, longest waiting first; one asked in the future is due too."""
    waiting = [one for one in canaries if one.asked is None or abs(now - one.asked) >= EVERY]
    return sorted(waiting, key=lambda one: (one.asked is not None, one.asked or now))[:most]


def next_due(canaries: Sequence[Canary]) -> datetime | None:
    """Return when the first of the canaries that were asked is due again; None if none was asked."""
    return min((one.asked + EVERY for one in canaries if one.asked), default=None)


def rate(canaries: Sequence[Canary]) -> Rate:
    """Return how many canaries were found when they were last asked."""
    asked = [one for one in canaries if one.asked]
    return Rate(len(canaries), len(asked), sum(one.found for one in asked))


def with_answer(canary: Canary, now: datetime, *, found: bool) -> Canary:
    """Return the canary with the answer of *now*."""
    return replace(canary, asked=now, found=found)


def expected_rate(before: float, now: Rate) -> tuple[float, bool]:
    """
    Return the rate to expect from now on, and whether the rate has fallen below the one expected *before*.

    It has fallen if less than 95 % are found and more than one canary is missing: a single one may be chance. The lower rate
    is then expected, so that a fall is reported once; otherwise the best rate so far, so that no slow fall goes unseen.

    >>> expected_rate(1.0, Rate(40, 40, 37)), expected_rate(1.0, Rate(40, 40, 38)), expected_rate(0.5, Rate(4, 4, 3))
    ((0.925, True), (1.0, False), (0.75, False))
    """
    has_fallen = now.value < SOUND and before * now.asked - now.found > _CHANCE
    return (now.value if has_fallen else max(before, now.value)), has_fallen


@record
class CanaryState:
    """
    The canaries, oldest first; *until* is the archive run they were last taken from, *level* the rate to expect.

    The rate begins with 1.0: every archived message should be found.
    """

    canaries: tuple[Canary, ...] = ()
    until: datetime | None = None
    level: float = 1.0


class CanaryStore:
    """Reads and writes `.recalld/canaries.jsonl`. Only the supervisor writes it; a line that can't be read is skipped."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files = files
        self._paths = paths

    def read(self) -> CanaryState:
        """Return the canaries; none if there is no file, or one of another format."""
        version = self._files.read_stable(self._paths.canaries)
        found = [one for line in (version.data.split(b"\n") if version else ()) if (one := _object(line))]
        if not found or found[0].get("recalld") != FORMAT:
            return CanaryState()
        head, level = found[0], found[0].get("level")
        return CanaryState(
            canaries=tuple(canary for one in found[1:] if (canary := _canary(one))),
            until=wire_time(head.get("until")),
            level=level if isinstance(level, float) and 0 <= level <= 1 else 1.0,
        )

    def write(self, state: CanaryState) -> None:
        """Replace the file; beyond `KEPT` the oldest canaries are dropped."""
        head = {"recalld": FORMAT, "until": state.until and to_wire(state.until), "level": state.level}
        lines = [head, *map(_fields, state.canaries[-KEPT:])]
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        self._files.replace(self._paths.canaries, data, self._files.read_stable(self._paths.canaries))


def probe(
    *,
    files: Files,
    paths: WorkspacePaths,
    memory: MemoryFolder,
    searcher: Searcher,
    events: Events,
    now: datetime,
    control: Control,
    rare: Callable[[Sequence[str]], Sequence[Sequence[RareWord]]] = rare_words,
) -> int:
    """
    Take canaries from the archive runs since the last check, ask some that are due, and return how many were asked.

    The index must be up to date. The event `recall_fell` says that fewer are found than expected. *control* is asked
    before each question whether to stop. *rare* finds the rare words of messages.
    """
    # gather
    store = CanaryStore(files, paths)
    before = store.read()
    state = _with_new(before, memory, SaidBack(files, paths), searcher.index.frequency, now, rare)
    # decide, one by one
    asked = 0
    for canary in due(state.canaries, now, PER_CHECK):
        if control.should_stop():
            break
        answer = _ask(canary, memory, paths, searcher, now)
        after_it = [answer if one is canary else one for one in state.canaries]
        state = replace(state, canaries=tuple(one for one in after_it if one))
        asked += answer is not None
    # apply
    after = rate(state.canaries)
    expected, has_fallen = expected_rate(state.level, after)
    state = replace(state, level=expected)
    if state != before:
        store.write(state)
    if has_fallen:
        events.emit("recall_fell", found=after.found, asked=after.asked, before=round(before.level, 4))
    return asked


def _with_new(
    state: CanaryState,
    memory: MemoryFolder,
    said_back: SaidBack,
    frequency: Callable[[str], int],
    now: datetime,
    rare: Callable[[Sequence[str]], Sequence[Sequence[RareWord]]],
) -> CanaryState:
    """Return the state with canaries of the archive runs since the last check, of the newest runs if there are too many."""
    runs: dict[datetime, list[MemoryFile]] = {}
    until = min(state.until, now) if state.until else None
    for file in memory.dated():
        if file.ours and file.created and (until is None or until < file.created <= now):
            runs.setdefault(file.created, []).append(file)
    files = [file for run in sorted(runs)[-(KEPT // PER_RUN) :] for file in sample(runs[run])]
    news = [said_back.without(memory.blocks(file.name)) for file in files]
    sampled = [sample([(block.id, block.words) for block in blocks], _SAMPLE) for blocks in news]
    words = iter(rare([text for messages in sampled for _, text in messages]) if sampled else ())
    found = [
        choose_canary(file.name, [(identity, next(words)) for identity, _ in messages], frequency)
        for file, messages in zip(files, sampled, strict=True)
    ]
    newest = max(runs, default=state.until)
    return replace(state, canaries=(*state.canaries, *filter(None, found))[-KEPT:], until=newest)


def _ask(canary: Canary, memory: MemoryFolder, paths: WorkspacePaths, searcher: Searcher, now: datetime) -> Canary | None:
    """Return the canary with its answer; None if its message has changed or is gone."""
    if not is_current(canary, ((block.id, block.words) for block in memory.blocks(canary.file))):
        return None
    summaries = memory.summaries()
    named = [period for period, one in summaries.items() if any(source.name == canary.file for source in one.sources)]
    covering = {paths.relative(paths.summary(period)) for period in named}
    return with_answer(canary, now, found=is_found(canary, searcher.search(canary.question, now).hits, covering))


def _fields(one: Canary) -> dict[str, Any]:
    asked = one.asked and to_wire(one.asked)
    return {"file": one.file, "id": one.id, "words": list(one.words), "asked": asked, "found": one.found}


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _canary(one: Mapping[str, Any]) -> Canary | None:
    file, identity, words = one.get("file"), one.get("id"), one.get("words")
    if not isinstance(file, str) or day_of_name(file) is None or not isinstance(identity, str) or not isinstance(words, list):
        return None
    spelled = tuple(word for word in words if isinstance(word, str))
    return Canary(file=file, id=identity, words=spelled, asked=wire_time(one.get("asked")), found=one.get("found") is True)
