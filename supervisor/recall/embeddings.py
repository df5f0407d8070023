"""
Embeddings of texts from any server with OpenAI's `/v1/embeddings` (Ollama, llama.cpp, vLLM, OpenAI).

Texts are sent to the configured address only, and without secrets, as `[privacy]` says. Size, shape and numbers of an answer
are checked. `recall/installed.py` makes embeddings in this process, by the same rules.
"""

from __future__ import annotations

import json
import time
import weakref
from typing import TYPE_CHECKING, Any, Final, Protocol

from recalld.supervisor.protocol.llm import NO_KEY, find_key, is_local, without_credentials
from recalld.supervisor.storage.catalogue import Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.protocol.config_keys import Privacy

#: The gate of a model that was not measured: how far beyond chance a question must come, in standard deviations.
GATE: Final = 1.75
#: Characters of a text that are sent: its beginning says what it is about, and models read about a page.
MOST_CHARS: Final = 2_000
#: The most bytes of an answer, for each text: 8,192 numbers as JSON.
_MOST_BYTES: Final = 250_000
#: The replacement for a secret.
_HIDDEN: Final = "…"


class Refused(ValueError):
    """The server refuses these texts, for example because one is too long."""


class Embedder(Protocol):
    """One model that makes vectors of texts."""

    #: How far beyond chance a question must come with this model, in standard deviations.
    gate: float
    #: Whether the model runs in this process, which then makes all vectors.
    in_process: bool

    @property
    def name(self) -> str:
        """A name that differs for other models and rules of redaction, so that their vectors are not mixed."""
        ...

    def load(self) -> None:
        """Load the model if it runs in this process; OSError if that fails. Never called in a turn."""
        ...

    def vectors(self, texts: Sequence[str], within_s: float, *, asks: bool = False) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return a vector of length 1 for each text, row by row; *asks*: they are questions. OSError, ValueError, Refused."""
        ...


class Embeddings:
    """A client of one model at one server; *environ* has its API key."""

    gate, in_process = GATE, False

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self._url = config.embeddings.base_url.rstrip("/") + "/embeddings"
        self._model = config.embeddings.model
        #: What is written before a question, and before a text of memory.
        self._prefixes = (config.embeddings.question_prefix, config.embeddings.text_prefix)
        self._privacy = config.privacy
        self._key = find_key(config.embeddings.api_key_env, environ, "embeddings.api_key_env")
        import httpx2

        # made before a turn needs it; it keeps its connection, and uses no proxy for a server on this machine
        self._client = httpx2.Client(trust_env=not is_local(self._url), follow_redirects=False)
        weakref.finalize(self, self._client.close)

    @property
    def name(self) -> str:
        """A name that differs for other models, servers and rules of redaction, so that their vectors are not mixed."""
        return json.dumps([self._url, self._model, *self._prefixes, *hidden_by(self._privacy), MOST_CHARS])

    def load(self) -> None:
        """Do nothing: the server has the model."""

    def vectors(self, texts: Sequence[str], within_s: float, *, asks: bool = False) -> np.ndarray[Any, np.dtype[np.float32]]:
        """
        Return a vector of length 1 for each text, row by row; *asks*: they are questions.

        OSError if the server can't be reached within *within_s* seconds, ValueError if its answer is invalid, Refused if it
        refuses one of the texts.
        """
        ends_at = time.monotonic() + within_s
        prefix = self._prefixes[0 if asks else 1]
        asked = {
            "model": self._model,
            "input": [prefix + plain(text, self._privacy) for text in texts],
            "encoding_format": "float",
        }
        answer = self._post(asked, ends_at, _MOST_BYTES * len(texts))
        try:
            data = json.loads(answer)["data"]
            rows = [one["embedding"] for one in sorted(data, key=lambda one: one.get("index", 0))]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(f"{without_credentials(self._url)} answered something that is no list of vectors") from None
        return unit_rows(rows, len(texts), without_credentials(self._url))

    def _post(self, asked: Mapping[str, object], ends_at: float, most_bytes: int) -> bytes:
        """Return the body of the answer; a slow answer ends with TimeoutError at *ends_at*."""
        import httpx2

        headers = {} if self._key == NO_KEY else {"Authorization": f"Bearer {self._key}"}
        where = without_credentials(self._url)
        data = bytearray()
        try:
            timeout = max(0.001, ends_at - time.monotonic())
            with self._client.stream("POST", self._url, json=asked, headers=headers, timeout=timeout) as answer:
                for chunk in answer.iter_bytes():
                    data += chunk
                    if len(data) > most_bytes:
                        raise ValueError(f"{where} answered more than vectors of {most_bytes:,} bytes")
                    if time.monotonic() > ends_at:
                        raise TimeoutError(f"{where} did not answer in time")
        except httpx2.HTTPError as error:
            raise OSError(Text("search.embeddings_silent", where=where, kind=type(error).__name__)) from None
        if answer.status_code in {400, 413, 422}:
            raise Refused(f"{where} refused a text ({answer.status_code})")
        if answer.status_code != 200:
            raise OSError(f"{where} answered {answer.status_code}")
        return bytes(data)


def hidden_by(privacy: Privacy) -> list[object]:
    """Return the settings by which secrets are hidden: other settings make other vectors."""
    from recalld.supervisor.text.redact import RULES  # only a search with embeddings needs it

    return [privacy.redact != "off" and RULES, privacy.forms]


def plain(text: str, privacy: Privacy) -> str:
    """Return the text without secrets, shortened; never an empty one, which models refuse."""
    from recalld.supervisor.text.redact import redacted  # only a search with embeddings needs it

    text = text[:MOST_CHARS].encode("utf-8", "replace").decode()
    hidden = text if privacy.redact == "off" else redacted(text, _HIDDEN, privacy.forms)
    return hidden.strip() or _HIDDEN


def unit_rows(rows: Sequence[object], count: int, where: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the vectors that *where* has made of *count* texts, each with length 1; ValueError if the rows are not vectors."""
    import numpy as np

    try:
        found = np.array(rows, dtype=np.float32)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"{where} answered vectors of different lengths, or of no numbers") from None
    if found.ndim != 2 or len(found) != count or not found.shape[1]:
        raise ValueError(f"{where} answered {len(rows)} vectors for {count} texts, or none of one length")
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError(f"{where} answered a vector that points nowhere")
    return np.asarray(found / lengths, np.float32)
