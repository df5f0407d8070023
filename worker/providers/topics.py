"""
What the chosen lines are about: grouped by shared words and closeness in time, with a heading for each group.

A heading is made of the group's own words as they were written: rare in the language, frequent in the group, and not in the
other groups. A word that no list has must be in two lines, or it may be a typo, and there is one of them at most. At most a
few hundred lines come here, so that comparing them pairwise is cheap.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Final

from supervisor.text.chinese import is_noun
from supervisor.text.tokenizer import HAN, spelled
from supervisor.text.word_frequency import is_known, rarity
from worker.providers.sentences import columns, names_nothing, substance, topical

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from worker.providers.talk import Line

#: Mean likeness (cosine of words) from which two groups are one; what following at once in the same talk adds to it.
_ALIKE: Final = 0.07
_NEAR: Final = 0.25
_TALK_MINUTES: Final = 20.0
_TALK_MESSAGES: Final = 5
_TITLE_WORDS: Final = 3
_TITLE_COLUMNS: Final = 44
#: A word of a line that was not chosen counts so much of one that was.
_UNCHOSEN: Final = 0.4
_NAMING: Final = re.compile(r"[^\W\d_]{2}|[^\W\d_]\W?\d")
_HAN: Final = re.compile(f"[{HAN}]")
_PARTS: Final = re.compile(r"[\s._-]+")
_PART: Final = re.compile(r"[\d.+#_-]")
_LINES_OF_UNKNOWN: Final = 2
_NO_NOUN: Final = 0.35
_QUALITY: Final = re.compile(r"(?:ed|ing|ly|est|ous|ful|ive|able|ible|less)$", re.IGNORECASE)
#: Verbs whose form does not show it.
_VERBS: Final = frozenset(
    """
        went saw made make took take told tell got get gave give came come said say felt feel left met found
    kept began bought built thought     thank try tri ask want let put use run ran set know knew seem look talk
    call made love like wish happen chang start stop finish
    """.split(),  # noqa: SIM905 - a list to be read
)
#: What may be a password must not be in a heading.
_SECRET: Final = re.compile(
    r"(?:密码|口令|密钥|password|passwd|passphrase|secret|api[ _-]?key|token)\W+(?:is\s)?\s*\S+", re.IGNORECASE
)
_POSSESSIVE: Final = re.compile(r"['’](?:s|re|ve|ll|d|m)$", re.IGNORECASE)


def grouped(chosen: Sequence[Line], everything: Sequence[Line], most: int) -> tuple[list[list[Line]], list[Line]]:
    """
    Return the *chosen* lines in at most *most* groups, and the rest, which belongs to none of them.

    Each group is in the order of time, the groups are in that of their first lines. *everything* is all lines: what a message
    says beside its chosen line helps to see what it is about.
    """
    groups: dict[int, list[Line]] = defaultdict(list)
    for line in chosen:
        groups[line.message].append(line)
    vectors = _vectors(groups, everything)
    near = {(a, b): _likeness(groups[a][0], groups[b][0], vectors[a], vectors[b]) for a, b in combinations(groups, 2)}
    while len(groups) > 1:
        (a, b), alike = max(near.items(), key=lambda pair: (pair[1], -pair[0][0], -pair[0][1]))
        if alike < _ALIKE:
            break
        _join(groups, near, a, b)
    by_size = sorted(groups.values(), key=lambda group: (-sum(line.cost for line in group), group[0].place))
    found = [sorted(group, key=_time) for group in by_size[:most]]
    rest = sorted((line for group in by_size[most:] for line in group), key=_time)
    return sorted(found, key=lambda group: _time(group[0])), rest


def _time(line: Line) -> tuple[datetime, int]:
    return line.at, line.place


def _join(groups: dict[int, list[Line]], near: dict[tuple[int, int], float], a: int, b: int) -> None:
    """Put group *b* into *a*; the likeness to each other group becomes the mean over its lines."""
    weight_a, weight_b = len(groups[a]), len(groups[b])
    del near[a, b]
    for other in groups:
        if other not in (a, b):
            to_b = near.pop((min(other, b), max(other, b)))
            key = (min(other, a), max(other, a))
            near[key] = (near[key] * weight_a + to_b * weight_b) / (weight_a + weight_b)
    groups[a] += groups.pop(b)


def _vectors(groups: Mapping[int, Sequence[Line]], everything: Iterable[Line]) -> dict[int, dict[str, float]]:
    """Return for each message that was chosen from its words and their weights, of length 1."""
    counts: dict[int, Counter[str]] = {message: Counter() for message in groups}
    for line in everything:
        if line.message in counts:
            counts[line.message].update({token for _, token in spelled(line.text) if not token.isdigit()})
    spread = Counter(word for count in counts.values() for word in count)
    vectors = {}
    for message, count in counts.items():
        weights = {word: rarity(word) * math.log(1 + len(counts) / spread[word]) for word in count}
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        vectors[message] = {word: weight / length for word, weight in weights.items()}
    return vectors


def _likeness(a: Line, b: Line, words_a: Mapping[str, float], words_b: Mapping[str, float]) -> float:
    minutes = abs((b.at - a.at).total_seconds()) / 60
    alike = sum(weight * words_b[word] for word, weight in words_a.items() if word in words_b)
    near = max(0.0, 1 - minutes / _TALK_MINUTES) * max(0.0, 1 - (abs(b.message - a.message) - 1) / _TALK_MESSAGES)
    return alike + _NEAR * near


def titles(groups: Sequence[Sequence[Line]], everything: Iterable[Line], names: Collection[str]) -> list[list[str]]:
    """Return for each group the one to three words that say best what it is about; *names* of the speakers are none."""
    chosen = {line.place for group in groups for line in group}
    home = {line.message: number for number, group in enumerate(groups) for line in group}
    counts: list[dict[str, float]] = [defaultdict(float) for _ in groups]
    shown: dict[str, Counter[str]] = defaultdict(Counter)
    pairs: Counter[tuple[str, str]] = Counter()
    lines_with: Counter[str] = Counter()
    for line in everything:
        if line.message not in home or not (line.place in chosen or substance(line.text)):
            continue
        text = topical(_SECRET.sub("", line.text))
        words = [(_POSSESSIVE.sub("", surface), token) for surface, token in spelled(text)]
        lines_with.update({token for _, token in words})
        for surface, token in words:
            shown[token][surface] += 1
        for token in {token for _, token in words}:
            counts[home[line.message]][token] += 1 if line.place in chosen else _UNCHOSEN
        pairs.update({(a, b) for (sa, a), (sb, b) in pairwise(words) if _adjoin(sa, sb, text)})
    overall: dict[str, float] = defaultdict(float)
    for count in counts:
        for token, times in count.items():
            overall[token] += times
    called = [token for name in names for _, token in spelled(name)]
    barred = {token for token in shown if any(name.startswith(token) for name in called)}
    barred |= {token for token in shown if lines_with[token] < _LINES_OF_UNKNOWN and not is_known(token)}
    barred |= {token for token, spellings in shown.items() if not _NAMING.search(token) or any(map(names_nothing, spellings))}
    return [_title(count, overall, shown, pairs, barred) for count in counts]


def _adjoin(a: str, b: str, text: str) -> bool:
    """Tell whether the two words are side by side, as the parts of one name do."""
    return f"{a}{b}" in text or f"{a} {b}" in text


def _title(
    count: Mapping[str, float],
    overall: Mapping[str, float],
    shown: Mapping[str, Counter[str]],
    pairs: Counter[tuple[str, str]],
    barred: Collection[str],
) -> list[str]:
    def worth(token: str) -> float:
        often = 0.5 + math.log2(max(1.0, count[token]))
        return rarity(token) * often * math.sqrt(count[token] / overall[token]) * _naming(token, shown[token])

    telling = [token for token in count if token not in barred and worth(token)]
    title: list[str] = []
    used: set[str] = set()
    for token in sorted(telling, key=lambda token: (-worth(token), -shown[token].total(), token)):
        if token in used:
            continue
        unknown = {word for word in overall if not is_known(word)} if is_known(token) else set()
        words = _whole_name(token, pairs, overall, {*used, *barred, *unknown})
        spelling = _joined([min(shown[word], key=lambda s: (-shown[word][s], s)) for word in words])
        known = all(map(is_known, words))
        if columns(" · ".join([*title, spelling])) > _TITLE_COLUMNS or not (known or all(map(is_known, used))):
            continue
        if any(_same(spelling, other) for other in title):
            continue
        title.append(spelling)
        used.update(words)
        if len(title) == _TITLE_WORDS:
            break
    return title


def _same(a: str, b: str) -> bool:
    """Tell whether one of two names is the other, or is in it: 尿酸 in 尿酸值, sqlite in better-sqlite."""
    short, long = sorted((a.casefold(), b.casefold()), key=len)
    return short in long if _HAN.match(short) else short in _PARTS.split(long)


def _naming(token: str, spellings: Collection[str]) -> float:
    """Return how well the word serves as a name of a topic: nouns and names do, verbs and qualities hardly."""
    if _HAN.match(token):
        return 1.0 if is_noun(token) else _NO_NOUN
    if token in _VERBS:
        return _NO_NOUN / 2
    if any(spelling[1:] != spelling[1:].lower() or _PART.search(spelling) for spelling in spellings):
        return 1.0  # NAS, iPhone, better-sqlite3
    return _NO_NOUN if any(_QUALITY.search(spelling) for spelling in spellings) else 1.0


def _whole_name(token: str, pairs: Counter[tuple[str, str]], overall: Mapping[str, float], used: Collection[str]) -> list[str]:
    """Return the word with its neighbours, where two words come together twice and mostly: 柳汀 花园, support group."""
    words = [token]
    for (a, b), times in sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0])):
        together = times > 1 and times >= max(overall[a], overall[b]) / 2
        if together and a == token and len(words) == 1 and b not in used:
            words.append(b)
        elif together and b == token and len(words) == 1 and a not in used:
            words.insert(0, a)
    return words


def _joined(words: Sequence[str]) -> str:
    """Return the words as one name: Latin ones with a space between."""
    name = words[0]
    for word in words[1:]:
        name += f" {word}" if name[-1].isascii() or word[0].isascii() else word
    return name
