"""
The backend `hybrid`: how near a unit's vector is to the question's, beside what its words say.

The question's vector is had within the turn; those of memory are made beforehand, beside the rounds or by `index rebuild`. A
unit without one keeps the score of its words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from supervisor.backends.embeddings import Refused
from supervisor.backends.vectors import digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.backends.embeddings import Embeddings
    from supervisor.backends.vectors import Vectors
    from supervisor.policy.hit import Unit

#: Texts of one request; seconds that an answer may take while nobody waits.
_BATCH: Final = 32
_PATIENCE_S: Final = 60.0
#: A text that every model takes.
_PLAIN: Final = "memory"


class Hybrid:
    """Vectors of one model, and what was made of them before."""

    def __init__(self, embeddings: Embeddings, vectors: Vectors) -> None:
        self._embeddings = embeddings
        self._vectors = vectors

    def scores(self, question: str, units: Sequence[Unit], within_s: float) -> list[float | None]:
        """Return the cosine of each unit with the question, None where it has no vector yet (`Backend.scores`)."""
        import numpy as np

        digests = [digest(unit.text) for unit in units]
        known = self._vectors.get(set(digests))
        if not known and self._vectors.is_empty():
            raise BlockingIOError("there are no vectors yet; `recalld index rebuild` makes them, and so does a supervisor")
        if not known:
            return [None] * len(units)
        (asked,) = self._embeddings.vectors([question], within_s)
        alike = {key: vector for key, vector in known.items() if len(vector) == len(asked)}
        if not alike:
            raise ValueError("the question's vector has another length than those of memory")
        near = np.frombuffer(b"".join(alike.values()), np.float32).reshape(len(alike), -1) @ np.frombuffer(asked, np.float32)
        cosines = dict(zip(alike, near.tolist(), strict=True))
        return [cosines.get(key) for key in digests]

    def learnt(self) -> frozenset[str]:
        """Return the contents of files that are dealt with (`Learner.learnt`)."""
        return self._vectors.learnt()

    def learn(self, content: str, units: Sequence[Unit]) -> None:
        """Make the vectors of a file's units that have none (`Learner.learn`)."""
        texts = {digest(unit.text): unit.text for unit in units}
        known = self._vectors.get(texts)
        lacking = [key for key in texts if key not in known]
        for at in range(0, len(lacking), _BATCH):
            self._make({key: texts[key] for key in lacking[at : at + _BATCH]})
        self._vectors.note_learnt(content)

    def _make(self, texts: dict[bytes, str]) -> None:
        """Make and keep the vectors of *texts*; one that the server does not take has none, and costs no other."""
        try:
            made = self._embeddings.vectors(list(texts.values()), _PATIENCE_S)
        except Refused:
            keys = list(texts)
            if len(keys) == 1:
                self._embeddings.vectors([_PLAIN], _PATIENCE_S)  # a server that refuses this as well refuses everything
            for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]) if len(keys) > 1 else ():
                self._make({key: texts[key] for key in half})
            return
        self._vectors.put(dict(zip(texts, made, strict=True)))
