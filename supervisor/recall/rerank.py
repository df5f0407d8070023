"""
The backend `hybrid`: how near a unit's vector is to the question's, beside what its words say.

The question's vector is had within the turn; those of memory are made beforehand, beside the rounds or by `index rebuild`. A
unit without one keeps the score of its words.

What scores beside the words: `bm25` nothing, `hybrid` embeddings, another name a backend that some package brings.

A backend says of units that the words have found how well they answer; it finds none itself, so that one that is absent, slow
or failing changes nothing but the score. It is asked in a thread of its own, within the turn's time.

Showing memory to the backend while nobody waits, so that in a turn it has only the question left to look at.

The newest files come first. What is learnt stands in the backend's own cache, so that it is done once for each content.
"""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from supervisor.index.documents import cut_file
from supervisor.protocol.clock import within
from supervisor.protocol.errors import BadConfig, SupervisorError
from supervisor.recall.embeddings import Refused
from supervisor.recall.vector_cache import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.index.hit import Hit, Passage
    from supervisor.protocol.clock import Deadline
    from supervisor.protocol.config import Config
    from supervisor.protocol.files import Files
    from supervisor.recall.embeddings import Embeddings
    from supervisor.recall.vector_cache import Vectors
    from supervisor.workspace import Workspace

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

    def scores(self, question: str, units: Sequence[Passage], within_s: float) -> list[float | None]:
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

    def learn(self, content: str, units: Sequence[Passage]) -> None:
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


#: Where packages put theirs: the name is that of `[recall] backend`, the object is called with the configuration.
GROUP: Final = "recalld.backends"
#: What the best answer gains of it, beside the best score of words (measured, design of recall).
WORTH: Final = 0.5
#: How long one that has failed is left alone, in seconds: a server that hangs costs one turn its time, not each.
_REST_S: Final = 30.0


class Backend(Protocol):
    """Says how well units answer a question."""

    def scores(self, question: str, units: Sequence[Passage], within_s: float) -> Sequence[float | None]:
        """
        Return a number for each unit, in their order, more for a better answer; None where nothing can be said.

        Only their order and distances count. After *within_s* seconds nobody waits for the answer any more. One that fails is
        left alone for a while; BlockingIOError says that it has nothing to go by yet, and is asked again in the next turn.
        """
        ...


@runtime_checkable
class Learner(Protocol):
    """A backend that wants to see memory beforehand, while nobody waits."""

    def learnt(self) -> frozenset[str]:
        """Return the contents that it has seen, as `learn` named them."""
        ...

    def learn(self, content: str, units: Sequence[Passage]) -> None:
        """Take in the units of a file; *content* names what stands in it. OSError or ValueError: later again."""
        ...


def backend_of(config: Config, environ: Mapping[str, str], files: Files) -> Backend | None:
    """
    Return the backend that is configured, None for `bm25`; *environ* holds keys.

    BadConfig where it can't be had.
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

    from supervisor.recall.embeddings import Embeddings
    from supervisor.recall.vector_cache import Vectors

    embeddings = Embeddings(config, environ)
    folder = user_cache_path("recalld") / "vectors"
    return Hybrid(embeddings, Vectors(files, folder, embeddings.name, config.embeddings.cache_bytes))


class Rescoring:
    """One backend, asked turn after turn; *make* gives it at first need, None where words are all that scores."""

    def __init__(self, make: Callable[[], Backend | None]) -> None:
        self._make = make
        self._made: list[Backend | None] = []
        self._thread: threading.Thread | None = None
        self._rested: Deadline | None = None
        #: What is wrong with it, "" where nothing is.
        self.fault = ""

    def backend(self) -> Backend | None:
        """Return the backend, None where there is none."""
        if not self._made:
            try:
                self._made.append(self._make())
            except BadConfig as error:
                self._made.append(None)
                self.fault = str(error)
        return self._made[0]

    def rescored(self, question: str, hits: Sequence[Hit], deadline: Deadline) -> list[Hit] | None:
        """
        Return the hits with what the backend says added to their scores, best first; None where it has nothing to say.

        What goes wrong stands in `fault` until it goes well again.
        """
        backend = self.backend()
        if backend is None or not hits or (self._rested and not self._rested.is_over) or self._is_busy():
            return None
        try:
            found = self._asked(backend, question, hits, deadline)
        except Exception as error:  # noqa: BLE001 - whatever a backend does, the turn goes on; its text may quote a message
            ours = isinstance(error, (OSError, ValueError)) and type(backend).__module__.startswith("supervisor.")
            self.fault = str(error) if ours else f"it failed ({type(error).__name__})"
            self._rested = None if isinstance(error, BlockingIOError) else within(_REST_S, deadline.now)
            return None
        self.fault, self._rested = "", None
        return found

    def _is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _asked(self, backend: Backend, question: str, hits: Sequence[Hit], deadline: Deadline) -> list[Hit] | None:
        answer: list[Sequence[float | None]] = []
        faults: list[BaseException] = []
        units = [hit.unit for hit in hits]

        def ask() -> None:
            try:
                answer.append(backend.scores(question, units, deadline.left_s))
            except BaseException as error:  # noqa: BLE001 - told to who waits
                faults.append(error)

        self._thread = threading.Thread(target=ask, name="backend", daemon=True)
        self._thread.start()
        self._thread.join(deadline.left_s)
        if faults:
            raise faults[0] if isinstance(faults[0], Exception) else RuntimeError(type(faults[0]).__name__)
        if not answer:
            raise TimeoutError("it did not answer in time")
        return added(hits, answer[0])


def added(hits: Sequence[Hit], scores: Sequence[float | None]) -> list[Hit] | None:
    """
    Return *hits* in their new order, the best of *scores* gaining half of the best score, the worst nothing.

    None where no hit has a score. ValueError where *scores* are no answer.
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


def precompute_vectors(ws: Workspace) -> int:
    """
    Show the backend every file of memory that it has not seen, and return how many.

    Where it fails, `backend_failed` tells, and the rest is for the next time; ends early where the workspace is told to stop.
    """
    backend = ws.rescoring.backend()
    if not isinstance(backend, Learner):
        return 0
    known = backend.learnt()
    records = ws.index.records()
    wanted = {f"{record.kind} {record.digest}": path for path, record in records.items()}
    lacking = sorted(wanted.keys() - known, key=lambda content: -records[wanted[content]].mtime_ns)
    done, fault = 0, ""
    for content in lacking:
        if ws.should_stop():
            break
        ws.progress("vectors", done, len(lacking))
        path = wanted[content]
        try:
            cuts = cut_file(ws.files, ws.paths, path, records[path], ws.zone)
        except (OSError, SupervisorError):
            continue
        try:
            backend.learn(content, [cut.unit for cut in cuts])
        except (OSError, ValueError) as error:
            fault = str(error)
            break
        done += 1
    ws.events.transition("backend_failed", fault, cleared="backend_back", backend=ws.config.recall.backend, why=fault)
    return done
