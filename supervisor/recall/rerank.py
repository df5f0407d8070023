"""
Rerank the hits of the index with the configured backend, add those that it finds by itself, and have it prepare memory.

`[recall] backend` names it: `bm25` means no backend, `hybrid` finds what means the same (`recall/hybrid.py`), `auto` is
`hybrid` in a supervisor that has the model of `recalld[meaning]`, any other name is an entry point of an installed package. A
backend raises scores and adds hits: if it is absent, slow or failing, no hit of BM25 is lost. It runs in a thread of its own,
within the turn's time. Source: docs/explanation/recall.md.
"""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from recalld.supervisor.index.documents import beginning, chunk_file
from recalld.supervisor.index.hit import MEANING, NEWEST, OLDEST, BackendResult, Hit, NotYet
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.clock import within
from recalld.supervisor.storage.errors import BadConfig, SupervisorError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import tzinfo

    from recalld.supervisor.events import Events
    from recalld.supervisor.index.hit import Passage
    from recalld.supervisor.index.index import Index
    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.protocol.config_keys import Recall
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.storage.clock import Deadline
    from recalld.supervisor.storage.control import Control
    from recalld.supervisor.storage.files import Files

#: Where packages register a backend: the name is that of `[recall] backend`, the object is called with the configuration.
GROUP: Final = "recalld.backends"
#: The name of the backend that follows from what is installed.
AUTO: Final = "auto"
#: What the best score of the backend adds, as a share of the best score of BM25, and the part of it that counts for what the
#: assistant said, where its words are not asked for (measured, docs/explanation/recall.md).
WORTH: Final = 0.5
_WORTH_OF_AN_ANSWER: Final = 0.5
#: A hit with this part of the worth of the question's words leaves nothing to be found by meaning alone.
_ANSWERED: Final = 0.9
#: Seconds for which a failed backend is not called: a server that hangs costs one turn its time, not each.
_REST_S: Final = 30.0
#: The name of the contents of messages that no file holds yet.
_UNFILED: Final = "unfiled"


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
class Finder(Protocol):
    """A backend that finds passages by itself."""

    def find(self, question: str, units: Sequence[Passage], within_s: float) -> BackendResult:
        """Return the scores of *units*, and the texts of memory that answer; raises as `Backend.scores` does."""
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

    def keep(self, contents: Collection[str]) -> None:
        """Delete what was prepared for all other contents than these; called after the last `learn`."""
        ...


class Reranker:
    """Reranks hits with one backend, which *make* returns at first use (None: the scores of BM25 stay)."""

    def __init__(self, make: Callable[[], Backend | Finder | None]) -> None:
        self._make = make
        self._made: list[Backend | Finder | None] = []
        self._thread: threading.Thread | None = None
        self._rested: Deadline | None = None
        self._asking = threading.Lock()
        #: The last error of the backend, "" after a success.
        self.fault = ""

    def backend(self) -> Backend | Finder | None:
        """Return the backend, None if there is none; a wrong configuration is in `fault`."""
        if not self._made:
            try:
                self._made.append(self._make())
            except BadConfig as error:
                self._made.append(None)
                self.fault = str(error)
        return self._made[0]

    def rerank(
        self,
        question: str,
        hits: Sequence[Hit],
        deadline: Deadline,
        passages: Callable[[Collection[str]], Sequence[Passage]] = lambda _: (),
        role: str = "",
    ) -> list[Hit] | None:
        """
        Return the hits with the backend's scores added, and those that it has found, best first; None if it has neither.

        *passages* returns the passages with these words (`Passage.unit`), *role* is whose words are asked for. An error is in
        `fault` until the backend works again.
        """
        backend = self.backend()
        if backend is None or not (hits or isinstance(backend, Finder)):
            return None
        if not self._asking.acquire(timeout=min(deadline.left_s, threading.TIMEOUT_MAX)):
            return None
        try:
            return self._reranked(backend, question, hits, deadline, passages, role)
        finally:
            self._asking.release()

    def _reranked(
        self,
        backend: Backend | Finder,
        question: str,
        hits: Sequence[Hit],
        deadline: Deadline,
        passages: Callable[[Collection[str]], Sequence[Passage]],
        role: str,
    ) -> list[Hit] | None:
        if (self._rested and not self._rested.is_over) or self._is_busy():
            return None
        try:
            said = self._ask(backend, question, [hit.unit for hit in hits], deadline)
            found = add_found(hits, said, passages, role) if isinstance(said, BackendResult) else add_scores(hits, said)
        except NotYet:
            return None
        except Exception as error:  # noqa: BLE001 - whatever a backend does, the turn goes on; its text may quote a message
            ours = isinstance(error, (OSError, ValueError)) and type(backend).__module__.startswith("recalld.supervisor.")
            self.fault = str(error) if ours else f"it failed ({type(error).__name__})"
            self._rested = None if isinstance(error, BlockingIOError) else within(_REST_S, deadline.now)
            return None
        self.fault, self._rested = "", None
        return found

    def _is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _ask(
        self, backend: Backend | Finder, question: str, units: Sequence[Passage], deadline: Deadline
    ) -> Sequence[float | None] | BackendResult:
        answer: list[Sequence[float | None] | BackendResult] = []
        faults: list[BaseException] = []
        ask = backend.find if isinstance(backend, Finder) else backend.scores

        def run() -> None:
            try:
                answer.append(ask(question, units, deadline.left_s))
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                faults.append(error)

        self._thread = threading.Thread(target=run, name="backend", daemon=True)
        self._thread.start()
        self._thread.join(deadline.left_s)
        if faults:
            raise faults[0] if isinstance(faults[0], Exception) else RuntimeError(type(faults[0]).__name__)
        if not answer:
            raise TimeoutError("it did not answer in time")
        return answer[0]


def add_found(
    hits: Sequence[Hit], found: BackendResult, passages: Callable[[Collection[str]], Sequence[Passage]], role: str = ""
) -> list[Hit] | None:
    """
    Return *hits* and the other passages that were *found*, in their new order; no hit is lost, and no score is lowered.

    There are no others where a hit that tells, and is not the assistant's, has nearly all of the question's words.

    A passage that was found gets up to half of the best hit's score added, by its share of the highest score found; without
    hits up to half of 1. What the assistant said gets half of that, unless *role* says that its words are asked for. To the
    first hit, where it is first for its day, no less is added than to the second; a third one may pass it. None if nothing was
    found.
    """
    said = [max(0.0, score or 0.0) for score in found.scores]
    top = max([*said, *found.near.values()], default=0.0)
    if not top:
        return None
    most = max((hit.rank for hit in hits), default=0.0) or 1.0
    there = {(hit.unit.path, hit.unit.start) for hit in hits}
    told = (hit for hit in hits if hit.unit.role != "assistant" and not hit.unit.asks)
    is_answered = any((hit.worth or 0.0) >= _ANSWERED for hit in told)
    more = passages(found.near.keys()) if found.near and not is_answered else ()
    new = [(Hit(passage, 0.0), found.near[passage.unit]) for passage in more if (passage.path, passage.start) not in there]

    def worth(hit: Hit, score: float) -> float:
        part = _WORTH_OF_AN_ANSWER if hit.unit.role == "assistant" != role else 1.0
        return WORTH * part * most * (score / top)

    both = [*zip(hits, said, strict=True), *new]
    gained = [worth(hit, score) for hit, score in both]
    if hits and not {NEWEST, OLDEST}.isdisjoint(hits[0].because):
        gained[0] = max(gained[: len(hits[:2])])
    return _raised([hit for hit, _ in both], gained)


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
    most = max(hit.rank for hit in hits) * WORTH
    gained = [0.0 if score is None or not span else most * ((score - low) / span) for score in scores]
    return _raised(hits, gained)


def _raised(hits: Sequence[Hit], gained: Sequence[float]) -> list[Hit]:
    """Return the hits with what each has gained, best first."""
    raised = [
        replace(hit, score=round(hit.rank + gain, 4), because=(*hit.because, MEANING)) if gain else hit
        for hit, gain in zip(hits, gained, strict=True)
    ]
    return sorted(raised, key=lambda hit: -hit.rank)


def precompute_vectors(
    *,
    reranker: Reranker,
    name: str,
    index: Index,
    files: Files,
    paths: WorkspacePaths,
    zone: tzinfo,
    unfiled: Callable[[], Sequence[Passage]],
    events: Events,
    control: Control,
) -> tuple[int, str]:
    """
    Have the backend *name* prepare the messages *unfiled*, and then each file of memory that is not prepared, the newest first.

    Returns the number of files, and the reason of a failure or "". Each content is prepared once. A failure is reported by the
    event `backend_failed` and ends the call; the next call goes on.
    """
    backend = reranker.backend()
    if not isinstance(backend, Learner):
        return 0, ""
    records = index.records()
    wanted = {f"{record.kind} {record.digest}": path for path, record in records.items()}
    lacking = sorted(wanted.keys() - backend.learnt(), key=lambda content: -records[wanted[content]].mtime_ns)
    done, fault = 0, ""
    try:
        backend.learn(_UNFILED, unfiled())
        for content in lacking:
            if control.should_stop():
                break
            control.progress("vectors", done, len(lacking))
            try:
                chunks = chunk_file(files, paths, wanted[content], records[wanted[content]], zone)
            except (OSError, SupervisorError):
                continue
            backend.learn(content, [beginning(chunk).passage for chunk in chunks])
            done += 1
        backend.keep({_UNFILED, *wanted})
    except SupervisorError as error:
        fault = error.sentence
    except (OSError, ValueError) as error:  # its arguments may have a Text, which is rendered in the language of the reader
        fault = next((one for one in error.args if isinstance(one, Text)), str(error))
    events.transition("backend_failed", fault, cleared="backend_back", what="vectors", backend=name, why=fault)
    return done, fault


def used_name(config: Recall) -> str:
    """Return the name of the backend that may be used: for `auto` it is `hybrid`."""
    return "hybrid" if config.backend == AUTO else config.backend


def words_alone(config: Recall, *, is_loaded: bool) -> Text | None:
    """Return why `auto` finds nothing by meaning though `recalld[meaning]` is installed; *is_loaded*: the model is loaded."""
    if config.backend != AUTO:
        return None
    from recalld.supervisor.recall.installed import fault, is_installed

    return fault(is_loaded=is_loaded) if is_installed() else None


def backend_of(
    config: Config, environ: Mapping[str, str], files: Files, paths: WorkspacePaths, *, lasting: bool = False
) -> Backend | Finder | None:
    """
    Return the configured backend. None for `bm25`, and for `auto` except in a *lasting* process that has `recalld[meaning]`.

    *environ* holds API keys. BadConfig if it can't be made.
    """
    name = config.recall.backend
    if name == "bm25" or (name == AUTO and not lasting):
        return None
    if name == AUTO:
        from recalld.supervisor.recall.installed import is_installed

        if not is_installed():
            return None
    if name in {AUTO, "hybrid"}:
        from recalld.supervisor.recall.hybrid import make_hybrid

        return make_hybrid(config, environ, files, paths)
    from importlib.metadata import entry_points

    found = list(entry_points(group=GROUP, name=name))
    if not found:
        raise BadConfig("recall.backend", Text("config.no_backend", name=name))
    try:
        made: Backend = found[0].load()(config)
    except Exception as error:  # noqa: BLE001 - a package of somebody else's; its text may quote anything
        raise BadConfig("recall.backend", Text("config.backend_failed", name=name, kind=type(error).__name__)) from None
    return made
