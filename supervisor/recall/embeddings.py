"""
Embeddings of texts from any server with OpenAI's `/v1/embeddings` (Ollama, llama.cpp, vLLM, OpenAI).

Texts are sent to the configured address only, and without secrets, as `[privacy]` says. Size, shape and numbers of an answer
are checked.
"""

import json
import os
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Final

from ..protocol.config import Config
from ..protocol.llm import NO_KEY, find_key, is_local, without_credentials
from ..storage.errors import BadConfig
from ..storage.texts import Text
from .embedders import MOST_CHARS, Embedder, Refused, hidden_by, plain, unit_rows
from .vectors import Array

#: The most bytes of an answer, for each text: 8,192 numbers as JSON.
_MOST_BYTES: Final = 250_000


def server(config: Config) -> Embedder:
    """Return the client of the configured server; the environment of this process has its API key."""
    return Server(config, os.environ)


class Server:
    """A client of one model at one server, an `Embedder`; *environ* has its API key. BadConfig without server or model."""

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        if not config.embeddings.base_url or not config.embeddings.model:
            raise BadConfig("recall.backend", Text('"hybrid" needs embeddings.base_url and embeddings.model; "bm25" is used'))
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

    def unload(self) -> None:
        """Do nothing: the server has the model."""

    def vectors(self, texts: Sequence[str], within_s: float, *, asks: bool = False) -> Array:
        """
        Return a vector of length 1 for each text, row by row; *asks*: they are questions.

        OSError if the server can't be reached within *within_s* seconds, ValueError if its answer is invalid, Refused if it
        refuses one of the texts.
        """
        ends_at = time.monotonic() + within_s
        prefix = self._prefixes[0 if asks else 1]
        body = {
            "model": self._model,
            "input": [prefix + plain(text, self._privacy) for text in texts],
            "encoding_format": "float",
        }
        answer = self._post(body, ends_at, _MOST_BYTES * len(texts))
        try:
            data = json.loads(answer)["data"]
            rows = [row["embedding"] for row in sorted(data, key=lambda row: row.get("index", 0))]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(f"{without_credentials(self._url)} answered something that is no list of vectors") from None
        return unit_rows(rows, len(texts), without_credentials(self._url))

    def _post(self, body: Mapping[str, object], ends_at: float, most_bytes: int) -> bytes:
        import httpx2

        headers = {} if self._key == NO_KEY else {"Authorization": f"Bearer {self._key}"}
        where = without_credentials(self._url)
        data = bytearray()
        try:
            timeout = max(0.001, ends_at - time.monotonic())
            with self._client.stream("POST", self._url, json=body, headers=headers, timeout=timeout) as answer:
                for chunk in answer.iter_bytes():
                    data += chunk
                    if len(data) > most_bytes:
                        raise ValueError(f"{where} answered more than vectors of {most_bytes:,} bytes")
                    if time.monotonic() > ends_at:
                        raise TimeoutError(f"{where} did not answer in time")
        except httpx2.HTTPError as error:
            raise OSError(Text("{where} could not be asked ({kind})", where=where, kind=type(error).__name__)) from None
        if answer.status_code in {400, 413, 422}:
            raise Refused(f"{where} refused a text ({answer.status_code})")
        if answer.status_code != 200:
            raise OSError(f"{where} answered {answer.status_code}")
        return bytes(data)
