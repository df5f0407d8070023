"""
Rerank the hits of the index with the configured backend, and precompute the vectors that it needs.

`[recall] backend` names it: `bm25` is none, `hybrid` compares embeddings, any other name is an entry point of an installed
package. A backend only scores passages that BM25 has found: one that is absent, slow or failing changes the order, and never
loses a hit. It runs in a thread of its own, within the turn's time. Vectors of memory are made beforehand, in the background
or by `index rebuild`; in a turn only the question's vector is made. Source: docs/explanation/recall.md.
"""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from supervisor.index.documents import chunk_file
from supervisor.protocol.clock import within
from supervisor.protocol.errors import BadConfig, SupervisorError
from supervisor.recall.embeddings import Refused, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import tzinfo

    from supervisor.events import Events
    from supervisor.index.hit import Hit, Passage
    from supervisor.index.index import Index
    from supervisor.protocol.clock import Deadline
    from supervisor.protocol.config import Config
    from supervisor.protocol.files import Files
    from supervisor.protocol.paths import WorkspacePaths
    from supervisor.recall.embeddings import Embeddings, Vectors

#: Where packages register a backend: the name is that of `[recall] backend`, the object is called with the configuration.
GROUP: Final = "recalld.backends"
#: What the best score of the backend adds, as a share of the best score of BM25 (measured, docs/explanation/recall.md).
WORTH: Final = 0.5
#: Seconds for which a failed backend is not called: a server that hangs costs one turn its time, not each.
_REST_S: Final = 30.0
#: Texts of one request; seconds that an answer may take outside of a turn.
_BATCH: Final = 32
_PATIENCE_S: Final = 60.0
#: A text that every model accepts.
_PLAIN: Final = "memory"


class Backend(Protocol):
    """Scores how well passages answer a question."""

    def scores(self, question: str, units: Sequence[Passage], within_s: float) -> Sequence[float | None]:
        """
        Return a score for each passage, in their order, higher for a better answer; None where it has none.

        Only order and distances of the scores count. After *within_s* seconds the answer is no longer used. A backend that
        raises is not called for a while; if it raises BlockingIOError (no vectors yet), it is called again in the next turn.
        """
        ...


@runtime_checkable
class Learner(Protocol):
    """A backend that prepares the passages of memory beforehand, outside of a turn."""

    def learnt(self) -> frozenset[str]:
        """Return the contents that are prepared, as `learn` named them."""
        ...

    def learn(self, content: str, units: Sequence[Passage]) -> None:
        """Prepare the passages of a file; *content* identifies its text. OSError or ValueError: try again later."""
        ...


class Reranker:
    """Reranks hits with one backend, which *make* returns at first use (None: the scores of BM25 stay)."""

    def __init__(self, make: Callable[[], Backend | None]) -> None:
        self._make = make
        self._made: list[Backend | None] = []
        self._thread: threading.Thread | None = None
        self._rested: Deadline | None = None
        #: The last error of the backend, "" after a success.
        self.fault = ""

    def backend(self) -> Backend | None:
        """Return the backend, None if there is none; a wrong configuration is in `fault`."""
        if not self._made:
            try:
                self._made.append(self._make())
            except BadConfig as error:
                self._made.append(None)
                self.fault = str(error)
        return self._made[0]

    def rerank(self, question: str, hits: Sequence[Hit], deadline: Deadline) -> list[Hit] | None:
        """
        Return the hits with the backend's scores added, best first; None if it gives no scores.

        An error is in `fault` until the backend works again.
        """
        backend = self.backend()
        if backend is None or not hits or (self._rested and not self._rested.is_over) or self._is_busy():
            return None
        try:
            found = self._ask(backend, question, hits, deadline)
        except Exception as error:  # noqa: BLE001 - whatever a backend does, the turn goes on; its text may quote a message
            ours = isinstance(error, (OSError, ValueError)) and type(backend).__module__.startswith("supervisor.")
            self.fault = str(error) if ours else f"it failed ({type(error).__name__})"
            self._rested = None if isinstance(error, BlockingIOError) else within(_REST_S, deadline.now)
            return None
        self.fault, self._rested = "", None
        return found

    def _is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _ask(self, backend: Backend, question: str, hits: Sequence[Hit], deadline: Deadline) -> list[Hit] | None:
        answer: list[Sequence[float | None]] = []
        faults: list[BaseException] = []
        units = [hit.unit for hit in hits]

        def ask() -> None:
            try:
                answer.append(backend.scores(question, units, deadline.left_s))
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                faults.append(error)

        self._thread = threading.Thread(target=ask, name="backend", daemon=True)
        self._thread.start()
        self._thread.join(deadline.left_s)
        if faults:
            raise faults[0] if isinstance(faults[0], Exception) else RuntimeError(type(faults[0]).__name__)
        if not answer:
            raise TimeoutError("it did not answer in time")
        return add_scores(hits, answer[0])


def add_scores(hits: Sequence[Hit], scores: Sequence[float | None]) -> list[Hit] | None:
    """
    Return *hits* in their new order: the best of *scores* adds half of the best hit's score, the worst adds nothing.

    None if no passage has a score. ValueError if *scores* are not one finite number or None for each hit.
    """
    if len(scores) != len(hits):
        raise ValueError(f"it answered {len(scores)} scores for {len(hits)} units")
    known = [score for score in scores if score is not None]
    if not all(isinstance(score, (int, float)) and math.isfinite(score) for score in known):
        raise ValueError("it answered scores that are no numbers")
    if not known:
        return None
    low, span = min(known), max(known) - min(known)
    most = max(hit.score for hit in hits) * WORTH
    gained = [0.0 if score is None or not span else most * ((score - low) / span) for score in scores]
    raised = [
        replace(hit, score=round(hit.score + gain, 4), because=(*hit.because, "meaning")) if gain else hit
        for hit, gain in zip(hits, gained, strict=True)
    ]
    return sorted(raised, key=lambda hit: -hit.score)


def precompute_vectors(
    *,
    reranker: Reranker,
    name: str,
    index: Index,
    files: Files,
    paths: WorkspacePaths,
    zone: tzinfo,
    events: Events,
    should_stop: Callable[[], bool],
    progress: Callable[[str, int, int], None],
) -> int:
    """
    Have the backend *name* prepare each file of memory that it has not prepared yet, the newest first; returns how many.

    Each content is prepared once. A failure is the event `backend_failed` and ends the call; the next one goes on.
    """
    backend = reranker.backend()
    if not isinstance(backend, Learner):
        return 0
    records = index.records()
    wanted = {f"{record.kind} {record.digest}": path for path, record in records.items()}
    lacking = sorted(wanted.keys() - backend.learnt(), key=lambda content: -records[wanted[content]].mtime_ns)
    done, fault = 0, ""
    for content in lacking:
        if should_stop():
            break
        progress("vectors", done, len(lacking))
        try:
            chunks = chunk_file(files, paths, wanted[content], records[wanted[content]], zone)
        except (OSError, SupervisorError):
            continue
        try:
            backend.learn(content, [chunk.passage for chunk in chunks])
        except (OSError, ValueError) as error:
            fault = str(error)
            break
        done += 1
    events.transition("backend_failed", fault, cleared="backend_back", backend=name, why=fault)
    return done


def backend_of(config: Config, environ: Mapping[str, str], files: Files) -> Backend | None:
    """
    Return the configured backend, None for `bm25`; *environ* holds API keys.

    BadConfig if it can't be made.
    """
    name = config.recall.backend
    if name == "bm25":
        return None
    if name == "hybrid":
        return _hybrid(config, environ, files)
    from importlib.metadata import entry_points

    found = list(entry_points(group=GROUP, name=name))
    if not found:
        raise BadConfig("recall.backend", f'no installed package brings {name!r}; "bm25" is used')
    try:
        made: Backend = found[0].load()(config)
    except Exception as error:  # noqa: BLE001 - a package of somebody else's; its text may quote anything
        raise BadConfig("recall.backend", f'{name!r} could not be made ({type(error).__name__}); "bm25" is used') from None
    return made


def _hybrid(config: Config, environ: Mapping[str, str], files: Files) -> Backend:
    if not config.embeddings.base_url or not config.embeddings.model:
        why = '"hybrid" needs embeddings.base_url and embeddings.model; "bm25" is used'
        raise BadConfig("recall.backend", why)
    from platformdirs import user_cache_path

    from supervisor.recall.embeddings import Embeddings, Vectors

    embeddings = Embeddings(config, environ)
    folder = user_cache_path("recalld") / "vectors"
    return Hybrid(embeddings, Vectors(files, folder, embeddings.name, config.embeddings.cache_bytes))


class Hybrid:
    """The backend `hybrid`: the cosine between a passage's vector and the question's; a passage may have no vector yet."""

    def __init__(self, embeddings: Embeddings, vectors: Vectors) -> None:
        self._embeddings = embeddings
        self._vectors = vectors

    def scores(self, question: str, units: Sequence[Passage], within_s: float) -> list[float | None]:
        """Return the cosine of each passage with the question, None for one without a vector (see `Backend.scores`)."""
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
        """Return the contents of files that are done (see `Learner.learnt`)."""
        return self._vectors.learnt()

    def learn(self, content: str, units: Sequence[Passage]) -> None:
        """Make the vectors that the passages of a file lack (see `Learner.learn`)."""
        texts = {digest(unit.text): unit.text for unit in units}
        known = self._vectors.get(texts)
        lacking = [key for key in texts if key not in known]
        for at in range(0, len(lacking), _BATCH):
            self._make({key: texts[key] for key in lacking[at : at + _BATCH]})
        self._vectors.note_learnt(content)

    def _make(self, texts: dict[bytes, str]) -> None:
        """Make and store the vectors of *texts*; a text that the server refuses gets none, the others do."""
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
