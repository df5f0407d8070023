"""
Vectors of texts from any server with OpenAI's `/v1/embeddings`: Ollama, llama.cpp, vLLM, LM Studio, OpenAI.

Texts leave the machine only to the configured address, and without what looks like a secret, as [privacy] says. An answer is
taken for what it is, not for what it should be: its size, its shape and its numbers are looked at.
"""

from __future__ import annotations

import json
import time
import weakref
from typing import TYPE_CHECKING, Final

from supervisor.protocol.llm import NO_KEY, find_key, is_local, without_credentials
from supervisor.text.redact import redacted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from supervisor.protocol.config import Config

#: Characters of a text that are sent: what a unit is about stands at its head, and models take no more than a page.
MOST_CHARS: Final = 2_000
#: Bytes of an answer, for each text: 8,192 numbers, written out.
_MOST_BYTES: Final = 250_000
#: What a secret becomes.
_HIDDEN: Final = "…"


class Refused(ValueError):
    """The server can't take these very texts; *status* is HTTP's."""


class Embeddings:
    """One model at one server; *environ* holds its key."""

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self._url = config.embeddings.base_url.rstrip("/") + "/embeddings"
        self._model = config.embeddings.model
        self._privacy = config.privacy
        self._key = find_key(config.embeddings.api_key_env, environ, "embeddings.api_key_env")
        import httpx2

        # made here, where nobody waits yet; it keeps its connection, and what is for this machine goes through no proxy
        self._client = httpx2.Client(trust_env=not is_local(self._url), follow_redirects=False)
        weakref.finalize(self, self._client.close)

    @property
    def name(self) -> str:
        """What tells its vectors from those of another model, or of texts that were made unreadable otherwise."""
        return json.dumps([self._url, self._model, self._privacy.redact != "off", self._privacy.patterns, MOST_CHARS])

    def vectors(self, texts: Sequence[str], within_s: float) -> list[bytes]:
        """
        Return a vector of length 1 for each text, as float32.

        OSError where the server can't be had within that time, ValueError where its answer is none, Refused where it does
        not take one of the texts.
        """
        ends_at = time.monotonic() + within_s
        asked = {"model": self._model, "input": [self._plain(text) for text in texts], "encoding_format": "float"}
        answer = self._post(asked, ends_at, _MOST_BYTES * len(texts))
        try:
            data = json.loads(answer)["data"]
            rows = [one["embedding"] for one in sorted(data, key=lambda one: one.get("index", 0))]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(f"{without_credentials(self._url)} answered something that is no list of vectors") from None
        return self._checked(rows, len(texts))

    def _plain(self, text: str) -> str:
        """Return what of a text may leave the machine; never an empty one, which servers refuse."""
        text = text[:MOST_CHARS].encode("utf-8", "replace").decode()
        hidden = text if self._privacy.redact == "off" else redacted(text, _HIDDEN, self._privacy.patterns)
        return hidden.strip() or _HIDDEN

    def _checked(self, rows: Sequence[object], count: int) -> list[bytes]:
        import numpy as np

        where = without_credentials(self._url)
        try:
            found = np.array(rows, dtype=np.float32)
        except (ValueError, TypeError, OverflowError):
            raise ValueError(f"{where} answered vectors of different lengths, or of no numbers") from None
        if found.ndim != 2 or len(found) != count or not found.shape[1]:
            raise ValueError(f"{where} answered {len(rows)} vectors for {count} texts, or none of one length")
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise ValueError(f"{where} answered a vector that points nowhere")
        return [row.tobytes() for row in found / lengths]

    def _post(self, asked: Mapping[str, object], ends_at: float, most_bytes: int) -> bytes:
        """Return the body of the answer; however slowly it drips, it ends in time."""
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
            raise OSError(f"{where} could not be asked ({type(error).__name__})") from None
        if answer.status_code in {400, 413, 422}:
            raise Refused(f"{where} refused a text ({answer.status_code})")
        if answer.status_code != 200:
            raise OSError(f"{where} answered {answer.status_code}")
        return bytes(data)
