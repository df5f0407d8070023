"""Words of a question that a passage says in two parts: 停车 in 我的车停在地下二层, haircut in "had my hair cut". Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from recalld.supervisor.index.documents import decode_passage
from recalld.supervisor.query.compounds import is_in_halves
from recalld.supervisor.query.parse import REQUEST_WEIGHT
from recalld.supervisor.query.said_apart import is_said_apart, is_separable
from recalld.supervisor.text.word_frequency import rarity_asked

if TYPE_CHECKING:
    from recalld.supervisor.index.bm25 import Candidate
    from recalld.supervisor.query.parse import Query

#: The weight of the half of a compound, relative to that of the word.
_HALF: Final = 0.5


def halves_in(query: Query) -> set[str]:
    """Return the halves by which passages are found that have a compound of the question in two words (`Query.compounds`)."""
    return {half for compound in query.compounds.values() for one in compound for half in one.stems}


def said_apart(query: Query, candidates: list[Candidate]) -> tuple[Query, list[Candidate]]:
    """Return the query and the candidates with the words of the question that they have only in two parts (`Query.apart`)."""
    separable = [word for word, counts in query.words.items() if counts > REQUEST_WEIGHT and is_separable(word)]
    if not separable and not query.compounds:
        return query, candidates
    apart: set[str] = set()
    halves: dict[str, float] = {}
    side_by_side = {pair: f" {' '.join(pair.stems)} " for compound in query.compounds.values() for pair in compound}

    def read(one: Candidate) -> Candidate:
        there, padded = one.text.split() if separable else (), f" {one.text} "
        said = [word for word in separable if word not in there and is_said_apart(word, _text(one), there)]
        for word, compound in query.compounds.items():
            near = [pair for pair in compound if side_by_side[pair] in padded]
            parts = [pair for pair in near if f" {word} " not in padded and is_in_halves(pair, lambda: _text(one), one.text)]
            said += [word] * bool(parts)
            halves.update((half, _HALF * query.words[word]) for pair in parts for half in pair.stems)
        apart.update(said)
        return one._replace(text=" ".join((one.text, *said))) if said else one

    candidates = [read(one) for one in candidates]
    more = {half: counts for half, counts in halves.items() if half not in query.words}
    return (
        replace(
            query,
            words={**query.words, **more},
            rarity={**query.rarity, **{half: rarity_asked(half) for half in more}},
            characters=query.characters | more.keys(),
            apart=frozenset(apart),
        ),
        candidates,
    )


def _text(one: Candidate) -> str:
    return decode_passage(one.source[1], "", "dated").text
