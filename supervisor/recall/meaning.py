"""
What is found by meaning in a workspace: the model that makes a vector of the question, and those of the passages.

Vectors are made in the background, the newest first; a passage without one is found by its words. How near they come is said by
`recall/question`.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from datetime import tzinfo
from functools import cached_property, partial
from itertools import chain
from typing import Final

import numpy as np

from ..events import Events
from ..index.chunking import Chunk, neighbours
from ..index.documents import Meant, meant_by, meant_in
from ..index.hit import BOTH, WORDS, Passage
from ..index.index import Index
from ..index.manifest import Manifest
from ..protocol.config import Config
from ..protocol.paths import WorkspacePaths
from ..storage.clock import NEVER, Deadline, within
from ..storage.control import UNLIMITED, Control
from ..storage.errors import BadConfig, SupervisorError, why_refused
from ..storage.files import Files
from ..storage.texts import Text
from .embedders import AUTO, IDLE_S, Embedder, InProcess, Refused, embedder_of
from .question import PROBE_UNIT, TALKS, Question
from .vectors import Array, VectorStore

#: Texts of one request, and seconds that an answer may take outside of a turn.
_BATCH: Final = 8
_PATIENCE_S: Final = 60.0
#: The text whose vector says whether the model behind a name is still the same (`PROBE_UNIT`), and the least cosine.
_PROBE: Final = "memory"
#: The vectors of a memory of which one passage has one: the other is that of the probe.
_LEAST_VECTORS: Final = 2
_SAME: Final = 0.98
#: Seconds for which a server that failed is not asked: one that hangs costs one turn its time, not each.
_REST_S: Final = 30.0


class Meaning:
    """
    What is found by meaning in one workspace; *wake* has the background make what is missing.

    The embedder is made at first use. An error of it is in `fault` until it works again.
    """

    def __init__(self, config: Config, files: Files, paths: WorkspacePaths) -> None:
        self._config, self._files, self._paths = config, files, paths
        self.idle_s = IDLE_S
        self._thread: threading.Thread | None = None
        self._rested: Deadline = within(0.0)
        #: The units of each group whose vectors are made, by the name and the contents of the group.
        self._done: dict[object, list[int]] = {}
        self._is_proved = False
        self._talks: Array | None = None
        #: Whether the model is to be loaded, once there are vectors to compare a question with.
        self.is_wanted = False
        self.wake: Callable[[], None] = lambda: None
        self.fault = ""

    @cached_property
    def embedder(self) -> tuple[Embedder, VectorStore] | None:
        """The embedder with its vectors, None if there is none; a wrong configuration is in `fault`."""
        try:
            embedder = embedder_of(self._config)
        except BadConfig as error:
            self.fault = str(error)
            return None
        return embedder, VectorStore(self._files, self._paths.vectors, self._paths.state / "vectors.lock", embedder.name)

    # ── in a turn ────────────────────────────────────────────────────────────

    def ask(self, question: str, deadline: Deadline) -> Question | None:
        """
        Return how near passages come to the question, None where that can't be said in time; `fault` says what failed.

        A model that was given back is loaded in the background, for the next question.
        """
        model = self.embedder
        is_busy = self._thread is not None and self._thread.is_alive()
        table = model[1].table() if model and self._rested.is_over and not is_busy else None
        if model is None or table is None or len(table.units) < _LEAST_VECTORS:
            return None
        try:
            vector = self._vector(model[0], question, deadline)
            if len(vector) != table.size:
                raise ValueError("the question's vector has another length than those of memory")
        except BlockingIOError:
            self._want()
            return None
        except Exception as error:  # noqa: BLE001 - whatever a model does, the turn goes on; its text may quote a message
            is_server = not isinstance(model[0], InProcess)
            if is_server:
                self._rested = within(_REST_S, deadline.now)
            # a model of this process is late where the machine is busy: that is no fault of it
            self.fault = _reason(model[0], error) if is_server or not isinstance(error, TimeoutError) else ""
            return None
        self.fault = ""
        if self._talks is None:
            self._want()
        return Question(table, vector, self._talks, self._config.recall.meaning)

    def _want(self) -> None:
        self.is_wanted = True
        self.wake()

    def _vector(self, embedder: Embedder, question: str, deadline: Deadline) -> Array:
        """Return the vector of the question; TimeoutError at the deadline, whatever the embedder does."""
        answer: Future[Array] = Future()

        def run() -> None:
            try:
                answer.set_result(embedder.vectors([question], deadline.left_s, asks=True)[0])
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                answer.set_exception(error if isinstance(error, Exception) else RuntimeError(type(error).__name__))

        self._thread = threading.Thread(target=run, name="meaning", daemon=True)
        self._thread.start()
        try:
            return answer.result(min(deadline.left_s, threading.TIMEOUT_MAX))
        except TimeoutError:
            raise TimeoutError("it did not answer in time") from None

    # ── outside of a turn ────────────────────────────────────────────────────

    def rest(self) -> None:
        """Give the model back if nobody has asked for it for `idle_s`."""
        model = self.embedder
        if model and time.monotonic() - InProcess.used_s > self.idle_s:
            model[0].unload()

    def make(
        self,
        index: Index,
        zone: tzinfo,
        unfiled: Callable[[], Sequence[Passage]],
        events: Events,
        control: Control = UNLIMITED,
        deadline: Deadline = NEVER,
    ) -> tuple[int, str]:
        """
        Make the vectors that passages lack until the *deadline*: of messages *unfiled*, then of each group, the newest first.

        Returns how many groups were looked at, and the reason of a failure or "". A failure is reported by the event
        `backend_failed`; the next call goes on.
        """
        model, fault, done = self.embedder, "", 0
        if model is None:
            return 0, self.fault
        try:
            done = self._make(*model, partial(self._lacking, index, zone, unfiled), control, deadline)
        except SupervisorError as error:
            fault = error.sentence
        except Exception as error:  # noqa: BLE001 - a model may be somebody else's
            fault = _reason(model[0], error)
        events.transition(
            "backend_failed", fault, cleared="backend_back", what="vectors", backend=name_of(self._config), why=fault
        )
        return done, fault

    def _lacking(
        self, index: Index, zone: tzinfo, unfiled: Callable[[], Sequence[Passage]]
    ) -> Iterator[tuple[object, Iterable[Meant]]]:
        """Yield each group whose vectors are not known to be made, with what they are made of; forget those that are gone."""
        days: dict[object, list[Chunk]] = {}
        for passage in unfiled():
            days.setdefault(passage.day, []).append(Chunk(passage, talk=passage.session))
        waiting = [passage for chunks in days.values() for talk in neighbours(chunks) for passage in meant_in(talk)]
        members = Manifest(files=index.records()).members()
        names = {(name, *(record.key for record in files.values())): name for name, files in members.items()}
        newest = sorted(names, key=lambda key: -max(record.mtime_ns for record in members[names[key]].values()))
        waits: object = ("unfiled", *(passage.unit for passage in waiting))
        self._done = {key: units for key, units in self._done.items() if key in names or key == waits}
        if waiting and waits not in self._done:
            yield waits, waiting
        for key in newest:
            if key not in self._done:
                with contextlib.suppress(OSError, SupervisorError):
                    yield key, [*meant_by(self._files, self._paths, members[names[key]], zone)]

    def _make(
        self,
        embedder: Embedder,
        store: VectorStore,
        groups: Callable[[], Iterator[tuple[object, Iterable[Meant]]]],
        control: Control,
        deadline: Deadline,
    ) -> int:
        done = 0
        if self.is_wanted and store.table():
            embedder.load()
            self._talks = embedder.vectors([text for _, text in TALKS], _PATIENCE_S, asks=True)
            self.is_wanted = False
        most_bytes = self._config.embeddings.cache_bytes
        # a `forget` deletes all vectors
        gone = {*store.lacking([PROBE_UNIT, *chain.from_iterable(self._done.values())], most_bytes)}
        self._is_proved = self._is_proved and PROBE_UNIT not in gone
        self._done = {key: units for key, units in self._done.items() if gone.isdisjoint(units)}
        for key, texts in groups():
            texts_by_unit = {passage.unit: passage for passage in texts}
            if store.lacking(texts_by_unit) and not self._is_proved:
                embedder.load()
                if self._prove(embedder, store):
                    return self._make(embedder, store, groups, control, deadline)  # also those that were looked at
            lacking = store.lacking(texts_by_unit, most_bytes)
            for at in range(0, len(lacking), _BATCH):
                if control.should_stop() or deadline.is_over:
                    return done
                embedder.load()
                batch = lacking[at : at + _BATCH]
                store.add(batch, _vectors_of(embedder, [texts_by_unit[unit] for unit in batch]))
            self._done[key] = [*texts_by_unit]
            done += 1
        store.keep({PROBE_UNIT, *(unit for units in self._done.values() for unit in units)})
        store.remove_others()
        return done

    def _prove(self, embedder: Embedder, store: VectorStore) -> bool:
        """Delete all vectors if the model behind the name has changed, and return whether it has: they are made again."""
        probe, table = embedder.vectors([_PROBE], _PATIENCE_S), store.table()
        known = table.vector(PROBE_UNIT) if table else None
        is_other = table is not None and table.size != probe.shape[1]
        is_other = is_other or (known is not None and bool(known @ probe[0] < _SAME))
        if is_other:
            store.clear()
            self._done = {}
        if is_other or known is None:
            store.add([PROBE_UNIT], probe)
        self._is_proved = True
        return is_other


def _vectors_of(embedder: Embedder, texts: Sequence[Meant]) -> Array:
    """Return a vector for each text, of it and of it behind the one before it; zeros for one that the model refuses."""
    both = [text.text for text in texts] + [f"{text.before}\n{text.text}" for text in texts if text.before]
    try:
        all_vectors = embedder.vectors(both, _PATIENCE_S)
    except Refused:
        if len(texts) > 1:
            return np.concatenate([_vectors_of(embedder, [text]) for text in texts])
        return np.zeros_like(embedder.vectors([_PROBE], _PATIENCE_S))  # a server that refuses this too refuses everything
    vectors, rest = all_vectors[: len(texts)].copy(), iter(all_vectors[len(texts) :])
    for row, passage in enumerate(texts):
        if passage.before:
            vectors[row] += next(rest)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _reason(embedder: Embedder, error: Exception) -> str:
    """Return why the model could not be asked; the words of another's package may quote a message."""
    ours = isinstance(error, (OSError, ValueError)) and type(embedder).__module__.startswith("recalld.supervisor.")
    sentence = next((argument for argument in error.args if isinstance(argument, Text)), None)
    words = why_refused(error) if isinstance(error, OSError) else str(error)
    return sentence or (words if ours else f"it failed ({type(error).__name__})")


def name_of(config: Config) -> str:
    """Return the name by which results name the search by meaning: that of `auto` is `hybrid`."""
    return BOTH if config.recall.backend == AUTO else config.recall.backend


def vectors_made(config: Config, files: Files, paths: WorkspacePaths) -> int:
    """Return how many passages are found by meaning in a supervisor, 0 where none is to be; small talk has no vector."""
    is_wanted = config.recall.meaning and config.recall.backend != WORDS
    model = Meaning(config, files, paths).embedder if is_wanted else None
    table = model[1].table() if model else None
    return int(np.count_nonzero(table.units != PROBE_UNIT)) if table else 0
