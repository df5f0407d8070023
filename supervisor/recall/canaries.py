"""
Recall canaries: questions about messages that were archived, asked again from time to time, to see that they are still found.

A question is the most telling words of its message, as written there. It is kept as long as its message is there with these
words; what a person deletes or rewrites is no longer asked for. Source: design of recall; issue "the right memory before
every turn".

The recall canaries that are kept, `.recalld/canaries.jsonl`: a head, then one a line, the oldest first (policy/canary).

They can be deleted: the next ones come from what is archived then. A line that can't be read says nothing.

The background check of recall: new canaries from each archive run, and a few asked again, each at most once a day.

Gather what was archived and is kept, let policy/canary decide, write down how it went. A fall of the rate is an event; words
of messages never leave the file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from supervisor.protocol.clock import from_wire, to_wire
from supervisor.protocol.paths import day_of_name
from supervisor.recall.search import recall
from supervisor.text.small_talk import is_chitchat
from supervisor.text.tokenizer import spelled, tokens
from supervisor.text.word_frequency import rarity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from supervisor.archive.coverage import MemoryFile
    from supervisor.index.hit import Hit
    from supervisor.protocol.files import Files
    from supervisor.protocol.paths import WorkspacePaths
    from supervisor.workspace import Workspace

T = TypeVar("T")
#: Canaries from one archive run, words of one, all that are kept.
A_RUN: Final = 3
WORDS: Final = 4
KEPT: Final = 200
#: A word below this is everyday talk (text.rarity); one that stands in more messages than this tells them apart no more.
_TELLING: Final = 0.5
_WIDE: Final = 20
_LEAST: Final = 2
_MOST_CHARS: Final = 4_000
EVERY: Final = timedelta(days=1)
#: Below this rate something is wrong; one canary alone may be bad luck.
SOUND: Final = 0.95
_CHANCE: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A question about the message *id* in the dated file *file*; when it was last asked, and whether its answer was found."""

    file: str
    id: str
    words: tuple[str, ...]
    asked: datetime | None = None
    found: bool = False

    @property
    def question(self) -> str:
        """What is asked."""
        return " ".join(self.words)


@dataclass(frozen=True, slots=True)
class Rate:
    """How many canaries are kept, how many of them were asked, and how many of those found."""

    kept: int
    asked: int
    found: int

    @property
    def value(self) -> float:
        """The share that was found, 1.0 where none was asked."""
        return self.found / self.asked if self.asked else 1.0


def question_of(text: str, frequency: Callable[[str], int]) -> tuple[str, ...]:
    """
    Return the most telling words of a message in their order, none where it says little.

    *frequency* tells in how many messages a token stands, 0 where that is not known.
    """
    if is_chitchat(text):
        return ()
    weight: dict[str, tuple[float, str]] = {}
    for word, token in spelled(text[:_MOST_CHARS]):
        # what the index knows is looked up in parts: a word of which no part is common
        known = [frequency(part) for part in tokens(word)]
        if rarity(token) >= _TELLING and known and max(known) <= _WIDE:
            weight.setdefault(token, (rarity(token) / (1 + max(known)), word))
    best = sorted(weight, key=lambda token: -weight[token][0])[:WORDS]
    return tuple(weight[token][1] for token in weight if token in best) if len(best) >= _LEAST else ()


def choose(file: str, messages: Iterable[tuple[str, str]], frequency: Callable[[str], int]) -> Canary | None:
    """Return the canary of a dated file, about the message (id, text) whose words are the rarest; None where none says much."""
    found = [(identity, question_of(text, frequency)) for identity, text in messages]
    telling = [(identity, words) for identity, words in found if words]
    if not telling:
        return None

    def tells(one: tuple[str, tuple[str, ...]]) -> float:
        return sum(1 / (1 + max(map(frequency, tokens(word)))) for word in one[1])

    identity, words = max(telling, key=tells)
    return Canary(file=file, id=identity, words=words)


def sample(of: Sequence[T], most: int = A_RUN) -> list[T]:
    """
    Return at most *most*, spread over all, first and last among them.

    >>> sample(["1日", "2日", "3日", "4日", "5日"])
    ['1日', '3日', '5日']
    """
    if len(of) <= most:
        return list(of)
    return [of[n * (len(of) - 1) // (most - 1)] for n in range(most)]


def stands(canary: Canary, messages: Iterable[tuple[str, str]]) -> bool:
    """Tell whether the message is still there among those (id, text) of its file, with the words that are asked for."""
    text = next((text for identity, text in messages if identity == canary.id), "")
    return bool(text) and set(tokens(canary.question)) <= set(tokens(text))


def is_found(canary: Canary, hits: Iterable[Hit], covering: Collection[str]) -> bool:
    """Tell whether the message is among the *hits*, or one of the files *covering* its own (paths from the workspace)."""
    return any(hit.unit.message == canary.id or hit.unit.path in covering for hit in hits)


def due(canaries: Sequence[Canary], now: datetime, most: int) -> list[Canary]:
    """Return at most *most* that have not been asked for a day, those that wait longest first; a clock set back asks again."""
    waiting = [one for one in canaries if one.asked is None or abs(now - one.asked) >= EVERY]
    return sorted(waiting, key=lambda one: (one.asked is not None, one.asked or now))[:most]


def rate(canaries: Sequence[Canary]) -> Rate:
    """Return how many were found when they were last asked."""
    asked = [one for one in canaries if one.asked]
    return Rate(len(canaries), len(asked), sum(one.found for one in asked))


def answered(canary: Canary, now: datetime, *, found: bool) -> Canary:
    """Return the canary, asked *now*."""
    return replace(canary, asked=now, found=found)


def level(before: float, now: Rate) -> tuple[float, bool]:
    """
    Return the rate that further ones are held against, and whether it has fallen.

    It has, where less than 95 in a hundred are found and more than one canary is missing against *before*: one alone may be
    bad luck. A fall is told once, since what it fell to is what counts from then on; until then the best rate counts, so that
    it can't go down unseen one by one.

    >>> level(1.0, Rate(40, 40, 37)), level(1.0, Rate(40, 40, 38)), level(0.5, Rate(4, 4, 3)), level(1.0, Rate(8, 8, 7))
    ((0.925, True), (1.0, False), (0.75, False), (1.0, False))
    """
    has_fallen = now.value < SOUND and before * now.asked - now.found > _CHANCE
    return (now.value if has_fallen else max(before, now.value)), has_fallen


FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """
    The canaries, oldest first; the archive run they were last taken from, None for none yet; the rate to hold against.

    The rate is 1.0 in the beginning: what is really there is expected to be found.
    """

    canaries: tuple[Canary, ...] = ()
    until: datetime | None = None
    level: float = 1.0


class CanaryStore:
    """The file. Only the supervisor writes it."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files = files
        self._paths = paths

    def read(self) -> Kept:
        """Return what is kept; nothing where there is no file, or one of another format."""
        look = self._files.read_stable(self._paths.canaries)
        found = [one for line in (look.data.split(b"\n") if look else ()) if (one := _object(line))]
        if not found or found[0].get("recalld") != FORMAT:
            return Kept()
        head, level = found[0], found[0].get("level")
        return Kept(
            canaries=tuple(canary for one in found[1:] if (canary := _canary(one))),
            until=_time(head.get("until")),
            level=level if isinstance(level, float) and 0 <= level <= 1 else 1.0,
        )

    def write(self, kept: Kept) -> None:
        """Put this in its place; the oldest beyond those that are kept leave."""
        head = {"recalld": FORMAT, "until": kept.until and to_wire(kept.until), "level": kept.level}
        lines = [head, *map(_fields, kept.canaries[-KEPT:])]
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        self._files.replace(self._paths.canaries, data, self._files.read_stable(self._paths.canaries))


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
    return Canary(file=file, id=identity, words=spelled, asked=_time(one.get("asked")), found=one.get("found") is True)


def _time(found: object) -> datetime | None:
    try:
        return from_wire(found) if isinstance(found, str) else None
    except ValueError:
        return None


#: Canaries that one check asks at most; messages of a file among which one is chosen.
A_CHECK: Final = 5
_LOOKED_AT: Final = 12


def probe(ws: Workspace, now: datetime) -> int:
    """
    Take canaries from the archive runs since the last check and ask a few that are due; returns how many were asked.

    The index is as the files are. It ends early where the workspace is told to stop.
    """
    # gather
    store = CanaryStore(ws.files, ws.paths)
    before = store.read()
    kept = _with_new(ws, before, now)
    # decide, one by one
    asked = 0
    for canary in due(kept.canaries, now, A_CHECK):
        if ws.should_stop():
            break
        answer = _answer(ws, canary, now)
        after_it = [answer if one is canary else one for one in kept.canaries]
        kept = replace(kept, canaries=tuple(one for one in after_it if one))
        asked += answer is not None
    # apply
    after = rate(kept.canaries)
    expected, has_fallen = level(kept.level, after)
    kept = replace(kept, level=expected)
    if kept != before:
        store.write(kept)
    if has_fallen:
        ws.events.emit("recall_fell", found=after.found, asked=after.asked, before=round(before.level, 4))
    return asked


def _with_new(ws: Workspace, kept: Kept, now: datetime) -> Kept:
    """Return what is kept with the canaries of the runs that came after; at first of the newest runs that it can hold."""
    runs: dict[datetime, list[MemoryFile]] = {}
    until = min(kept.until, now) if kept.until else None
    for file in ws.memory.dated():
        if file.ours and file.created and (until is None or until < file.created <= now):
            runs.setdefault(file.created, []).append(file)
    found = []
    for run in sorted(runs)[-(KEPT // A_RUN) :]:
        chosen = (_choose(ws, name) for name in sample([file.name for file in runs[run]]))
        found += [canary for canary in chosen if canary]
    newest = max(runs, default=kept.until)
    return replace(kept, canaries=(*kept.canaries, *found)[-KEPT:], until=newest)


def _choose(ws: Workspace, name: str) -> Canary | None:
    messages = sample([(block.id, block.text) for block in ws.memory.blocks(name)], _LOOKED_AT)
    return choose(name, messages, ws.index.frequency)


def _answer(ws: Workspace, canary: Canary, now: datetime) -> Canary | None:
    """Return the canary, asked; None where its message is no longer there as it was, so that it is asked no more."""
    if not stands(canary, ((block.id, block.text) for block in ws.memory.blocks(canary.file))):
        return None
    standing = ws.memory.summaries()
    named = [period for period, one in standing.items() if any(source.name == canary.file for source in one.sources)]
    covering = {ws.paths.relative(ws.paths.summary(period)) for period in named}
    return answered(canary, now, found=is_found(canary, recall(ws, canary.question, now).hits, covering))
