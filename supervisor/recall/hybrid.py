"""
The backend `hybrid`: finds texts that mean what a question asks, in addition to those that share its words.

Vectors of memory are made beforehand, in the background or by `index rebuild`, and kept in `.recalld/vectors/`; in
a turn only the question's vector is made. If the server fails, a turn still has what the words have found.
"""

from __future__ import annotations

import contextlib
import statistics
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np

from recalld.supervisor.index.hit import BackendResult, NotYet
from recalld.supervisor.recall.embeddings import Embeddings, Refused
from recalld.supervisor.recall.meaning import FOREIGN, WITNESSES, Calibration, calibrate, parse_calibration
from recalld.supervisor.recall.vectors import VectorStore
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadConfig, Busy, Conflict
from recalld.supervisor.text.small_talk import is_small_talk

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from recalld.supervisor.index.hit import Passage
    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.recall.embeddings import Embedder
    from recalld.supervisor.recall.meaning import Floats
    from recalld.supervisor.storage.disk import Stat
    from recalld.supervisor.storage.files import Files

#: The most texts that a question finds by meaning.
_MOST: Final = 20
#: Texts of one request; seconds that an answer may take outside of a turn.
_BATCH: Final = 32
_PATIENCE_S: Final = 60.0
#: A text that every model accepts.
_PLAIN: Final = "memory"
#: A model is calibrated again when the number of vectors has grown by this factor: while they are made, and after the last.
_GROWN: Final = 1.2
_SETTLED: Final = 1.02
#: The least cosine of two vectors that one model made of one text.
_SAME: Final = 0.98


def make_hybrid(config: Config, environ: Mapping[str, str], files: Files, paths: WorkspacePaths) -> Hybrid:
    """
    Return the backend: with the configured server for `hybrid`, with the installed model for `auto`.

    *environ* holds API keys. BadConfig without a server or a model.
    """
    if config.recall.backend != "hybrid":
        from recalld.supervisor.recall.installed import InstalledModel

        return Hybrid(InstalledModel(config.privacy), files, paths, config.embeddings.cache_bytes)
    if not config.embeddings.base_url or not config.embeddings.model:
        raise BadConfig("recall.backend", Text("config.hybrid_needs"))
    return Hybrid(Embeddings(config, environ), files, paths, config.embeddings.cache_bytes)


class Hybrid:
    """Finds passages by meaning with the model behind *embeddings*; its vectors take at most *most_bytes*."""

    def __init__(self, embeddings: Embedder, files: Files, paths: WorkspacePaths, most_bytes: int) -> None:
        self._embeddings, self._files, self._most_bytes = embeddings, files, most_bytes
        self._store = VectorStore(files, paths.vectors, paths.state / "vectors.lock", embeddings.name)
        self._read: tuple[Stat | None, Calibration | None] = (None, None)
        #: The names of the texts of each content whose vectors are made, and how many vectors there were then.
        self._done: dict[str, list[int]] = {}
        self._rows = 0
        #: The vectors of the foreign questions, once the model was asked in this process.
        self._foreign: Floats | None = None
        if calibration := self._calibration():  # opened and measured before a turn needs it
            for segment in self._store.segments():
                calibration.measure(segment)

    # ── in a turn ────────────────────────────────────────────────────────────

    def find(self, question: str, units: Sequence[Passage], within_s: float) -> BackendResult:
        """Return how near the question comes to *units* and to the nearest texts of memory (see `Finder.find`)."""
        calibration, segments = self._calibration(), self._store.segments()
        if calibration is None or not segments:
            if self._embeddings.in_process:
                raise NotYet  # the process makes them, and reports where it can't
            raise BlockingIOError("there are no vectors yet; `recalld index rebuild` makes them, and so does a supervisor")
        (asked,) = self._embeddings.vectors([question], within_s, asks=True)
        if not len(asked) == len(calibration.middle) == segments[0].size:
            raise ValueError("the question's vector has another length than those of memory")
        scores: list[float | None] = [None] * len(units)
        names = [int(unit.unit, 16) for unit in units]
        near: dict[int, float] = {}
        for segment in segments:
            found = calibration.nearness(question, asked, segment)
            best = np.argpartition(found, -_MOST)[-_MOST:] if len(found) > _MOST else np.arange(len(found))
            near |= zip(segment.names[best].tolist(), found[best].tolist(), strict=True)
            for n, row in zip(*segment.rows(names), strict=True):
                scores[n] = float(found[row])
        nearest = sorted(near, key=lambda name: -near[name])[:_MOST]
        passes = statistics.fmean(near[name] for name in nearest[:WITNESSES]) >= 1
        return BackendResult(scores, {f"{name:016x}": near[name] for name in nearest if passes and near[name] > 0})

    def _calibration(self) -> Calibration | None:
        """Return the calibration that is on disk, None for none."""
        try:
            stat = self._files.disk.stat(self._store.note)
            if stat != self._read[0]:
                self._read = stat, parse_calibration(self._files.disk.read(self._store.note)) if stat else None
        except (OSError, ValueError):
            self._read = None, None
        return self._read[1]

    # ── outside of a turn ────────────────────────────────────────────────────

    def learnt(self) -> frozenset[str]:
        """Return the contents whose vectors are made (see `Learner.learnt`); none if somebody has deleted vectors."""
        if self._count() < self._rows:
            self._done = {}
        return frozenset(self._done)

    def learn(self, content: str, units: Sequence[Passage]) -> None:
        """Make the vectors that the passages of a file lack (see `Learner.learn`); small talk gets none: it answers nothing."""
        self._embeddings.load()
        self._ask_foreign()
        texts = {int(unit.unit, 16): unit.text for unit in units if not is_small_talk(unit.text)}
        lacking = self._store.lacking(texts)
        for at in range(0, len(lacking), _BATCH):
            if self._is_full():
                break
            self._make({name: texts[name] for name in lacking[at : at + _BATCH]})
        self._done[content], self._rows = list(texts), self._count()
        self._calibrate()

    def keep(self, contents: Collection[str]) -> None:
        """Delete the vectors of all other contents, and of other models (see `Learner.keep`)."""
        self._calibrate(_SETTLED)
        self._done = {content: names for content, names in self._done.items() if content in contents}
        if self._done.keys() >= {*contents}:
            self._store.keep({name for names in self._done.values() for name in names})
            self._store.remove_others()
        self._rows = self._count()

    def _count(self) -> int:
        return sum(len(segment.names) for segment in self._store.segments())

    def _is_full(self) -> bool:
        return sum(segment.stat.size for segment in self._store.segments()) >= self._most_bytes

    def _make(self, texts: dict[int, str]) -> None:
        """Make and store the vectors of *texts*; a text that the server refuses gets a vector of zeros."""
        try:
            made = self._embeddings.vectors(list(texts.values()), _PATIENCE_S)
        except Refused:
            names = list(texts)
            if len(names) == 1:
                plain = self._embeddings.vectors([_PLAIN], _PATIENCE_S)  # a server that refuses this too refuses everything
                self._add(names, np.zeros_like(plain))
            for half in (names[: len(names) // 2], names[len(names) // 2 :]) if len(names) > 1 else ():
                self._make({name: texts[name] for name in half})
            return
        self._add(list(texts), made)

    def _add(self, names: Sequence[int], vectors: Floats) -> None:
        if self._foreign is not None and vectors.shape[1] != self._foreign.shape[1]:
            self._refuse_model()
        try:
            self._store.add(names, vectors)
        except Busy as error:
            raise BlockingIOError(str(error)) from None

    def _ask_foreign(self) -> None:
        """
        Get the vectors of the foreign questions. ValueError if the model behind the name has changed.

        All vectors are then deleted, and the next call makes them again.
        """
        if self._foreign is not None:
            return
        calibration = self._calibration()
        if calibration is None:
            parts = [FOREIGN[at : at + _BATCH] for at in range(0, len(FOREIGN), _BATCH)]
            self._foreign = np.concatenate([self._embeddings.vectors(part, _PATIENCE_S, asks=True) for part in parts])
            return
        (first,) = self._embeddings.vectors(FOREIGN[:1], _PATIENCE_S, asks=True)
        if len(first) != len(calibration.middle) or float(first @ calibration.foreign[0]) < _SAME:
            self._refuse_model()
        self._foreign = calibration.foreign

    def _refuse_model(self) -> NoReturn:
        self._store.clear()
        self._foreign, self._done = None, {}
        raise ValueError("the model behind the name has changed; the vectors of memory are made again")

    def _calibrate(self, grown: float = _GROWN) -> None:
        """Calibrate the model, if the number of vectors has grown by the factor *grown* since it was calibrated last."""
        segments, calibration = self._store.segments(), self._calibration()
        rows = self._count()
        if self._foreign is None or not rows or (calibration and rows < grown * calibration.rows):
            return
        made = calibrate(segments, self._foreign, self._embeddings.gate)
        with contextlib.suppress(Conflict):  # another process has just made it
            self._files.replace(self._store.note, made.to_bytes(), self._files.read_stable(self._store.note))
