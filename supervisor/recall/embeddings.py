"""
Embeddings of texts from any server with OpenAI's `/v1/embeddings` (Ollama, llama.cpp, vLLM, OpenAI), and their cache.

Texts are sent to the configured address only, and without secrets, as `[privacy]` says. Size, shape and numbers of an answer
are checked. The cache is one SQLite file for each model in the user's cache folder, not in the workspace; it may be deleted at
any moment, and drops its oldest vectors at its maximum size. Folder 0700, file 0600, since vectors reveal much of the words.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
import weakref
from typing import TYPE_CHECKING, Final, TypeVar

from supervisor.protocol.llm import NO_KEY, find_key, is_local, without_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from supervisor.protocol.config import Config
    from supervisor.protocol.files import Files

#: Seconds to wait for another process that writes: a turn must not wait.
_WAIT_S: Final = 0.05
#: If the file is full, this part of its vectors (one in ten) is dropped.
_SHARE: Final = 10
_ONCE: Final = 500  # parameters of one statement
_SIZES: Final = ("page_count", "freelist_count", "page_size")
T = TypeVar("T")


def digest(text: str) -> bytes:
    """Return the key of a text's vector."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


class Vectors:
    """The vectors of the model *name* in the *folder*, at most *most_bytes* of them."""

    def __init__(self, files: Files, folder: Path, name: str, most_bytes: int) -> None:
        self._files = files
        self._path = folder / f"{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}.sqlite"
        self._most_bytes = most_bytes

    def get(self, digests: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the cached vectors by digest; none if the file can't be read."""
        asked = list(digests)

        def read(base: sqlite3.Connection) -> dict[bytes, bytes]:
            found: dict[bytes, bytes] = {}
            for at in range(0, len(asked), _ONCE):
                some = asked[at : at + _ONCE]
                marks = ",".join("?" * len(some))
                found.update(base.execute(f"SELECT digest, vector FROM vectors WHERE digest IN ({marks})", some))  # noqa: S608
            return found

        return self._with(read, {})

    def is_empty(self) -> bool:
        """Tell whether there is no vector at all; False if the file can't be read."""
        return self._with(lambda base: base.execute("SELECT 1 FROM vectors LIMIT 1").fetchone() is None, otherwise=False)

    def put(self, vectors: Mapping[bytes, bytes]) -> None:
        """Store the vectors; those of another length are deleted, since the model behind the name has changed."""
        length = len(next(iter(vectors.values()), b""))

        def write(base: sqlite3.Connection) -> None:
            kept = base.execute("SELECT length(vector) FROM vectors LIMIT 1").fetchone()
            if kept and length and kept[0] != length:
                base.execute("DELETE FROM vectors")
                base.execute("DELETE FROM learnt")
            base.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", vectors.items())
            while _bytes(base) > self._most_bytes and (count := base.execute("SELECT count(*) FROM vectors").fetchone()[0]):
                oldest = "SELECT rowid FROM vectors ORDER BY rowid LIMIT ?"
                base.execute(f"DELETE FROM vectors WHERE rowid IN ({oldest})", (count // _SHARE + 1,))  # noqa: S608

        self._with(write, None)

    def learnt(self) -> frozenset[str]:
        """Return the contents of files whose passages are all done."""
        ask = "SELECT content FROM learnt"
        return self._with(lambda base: frozenset(content for (content,) in base.execute(ask)), frozenset())

    def note_learnt(self, content: str) -> None:
        """Record that all passages of this content are done."""
        self._with(lambda base: base.execute("INSERT OR IGNORE INTO learnt VALUES (?)", (content,)), None)

    def _with(self, step: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Return the result of *step* in one transaction, *otherwise* if it fails. A damaged file is deleted."""
        try:
            self._make()
            with contextlib.closing(sqlite3.connect(self._path, timeout=_WAIT_S)) as base, base:
                base.execute("PRAGMA synchronous = OFF")
                base.execute("CREATE TABLE IF NOT EXISTS vectors (digest BLOB UNIQUE, vector BLOB)")
                base.execute("CREATE TABLE IF NOT EXISTS learnt (content TEXT PRIMARY KEY)")
                return step(base)
        except sqlite3.OperationalError:
            return otherwise  # another process has it, or the disk is full
        except sqlite3.DatabaseError:
            for path in (self._path, self._path.with_name(f"{self._path.name}-journal")):
                with contextlib.suppress(OSError):
                    self._files.remove(path)
        except OSError:
            return otherwise
        return otherwise

    def _make(self) -> None:
        """Create the file, empty, readable by its owner only."""
        if self._files.disk.stat(self._path) is None:
            self._files.make_folder(self._path.parent)
            with contextlib.suppress(FileExistsError):
                self._files.create(self._path, b"")


def _bytes(base: sqlite3.Connection) -> int:
    """Return how many bytes of the file are in use."""
    pages, free, size = (base.execute(f"PRAGMA {name}").fetchone()[0] for name in _SIZES)
    return int((pages - free) * size)


#: Characters of a text that are sent: its beginning says what it is about, and models take no more than a page.
MOST_CHARS: Final = 2_000
#: The most bytes of an answer, for each text: 8,192 numbers as JSON.
_MOST_BYTES: Final = 250_000
#: The replacement for a secret.
_HIDDEN: Final = "…"


class Refused(ValueError):
    """The server refuses these texts, for example because one is too long."""


class Embeddings:
    """A client of one model at one server; *environ* has its API key."""

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self._url = config.embeddings.base_url.rstrip("/") + "/embeddings"
        self._model = config.embeddings.model
        self._privacy = config.privacy
        self._key = find_key(config.embeddings.api_key_env, environ, "embeddings.api_key_env")
        import httpx2

        # made before a turn needs it; it keeps its connection, and uses no proxy for a server on this machine
        self._client = httpx2.Client(trust_env=not is_local(self._url), follow_redirects=False)
        weakref.finalize(self, self._client.close)

    @property
    def name(self) -> str:
        """A name that differs for other models, servers and rules of redaction, so that their vectors are not mixed."""
        return json.dumps([self._url, self._model, self._privacy.redact != "off", self._privacy.patterns, MOST_CHARS])

    def vectors(self, texts: Sequence[str], within_s: float) -> list[bytes]:
        """
        Return a vector of length 1 for each text, as float32.

        OSError if the server can't be reached within *within_s* seconds, ValueError if its answer is invalid, Refused if it
        refuses one of the texts.
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
        """Return the text without secrets, shortened; never an empty one, which servers refuse."""
        from supervisor.text.redact import redacted  # only a search with embeddings needs it

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
            raise OSError(f"{where} could not be asked ({type(error).__name__})") from None
        if answer.status_code in {400, 413, 422}:
            raise Refused(f"{where} refused a text ({answer.status_code})")
        if answer.status_code != 200:
            raise OSError(f"{where} answered {answer.status_code}")
        return bytes(data)
