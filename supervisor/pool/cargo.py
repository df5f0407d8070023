"""
What passes through a pool of workers, which may forget everything at any moment, how it is packed, and how it is sealed.

Files are the truth: what a pool loses is offered again, what it repeats adds nothing. A *cargo* is a task with all that is
needed to do it; an *answer* is a result, or why there is none. Outside its workspace a task is named by its *uid*, the
workspace's name and the task's id. Source: docs/reference/protocol.md, 6.11.

A cargo has the task, its material with every secret hidden, the keys of the workspace's configuration that a worker needs, the
prompts that the workspace has of its own, and how many calls it may make. It names a profile of the pool, never an address or a
key. What is read here may come from another version, or from whoever has taken over a machine of the pool: it is checked like
any file.

Both are JSON, compressed, and sealed before they leave: AES-256-GCM, with a key that hosts and workers share and the broker
does not have. The uid and the kind are sealed in, so that no cargo can be given to another task and no answer taken for a
cargo. Two keys are accepted while one is changed: the first one seals, each of them opens.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ..protocol.config import Config, load
from ..protocol.dated_file import Block
from ..protocol.llm import NO_KEY, Account, find_key
from ..protocol.settings import variable
from ..protocol.task import AskedTask, Result, Task, parse_result, parse_task, render_result, render_task
from ..storage.clock import from_wire, to_wire
from ..storage.errors import BadConfig
from ..storage.lenient_json import read_record, record_fields
from ..storage.texts import Text, msgid

Uid: TypeAlias = str
#: What became of a task that was offered: it waits for a worker, a worker has it, or its answer waits for its host.
Sign: TypeAlias = Literal["waits", "runs", "done"]
#: What is sealed: a task, or its answer.
Sealed: TypeAlias = Literal["cargo", "answer"]
_VERSION: Final = 1
#: Of zlib's: 40 % of the time of the usual 6, and 7 % more bytes.
_LEVEL: Final = 1
#: The most bytes of a cargo or an answer as it is read.
_MOST_BYTES: Final = 64_000_000
#: The keys that a worker needs; where the model is and what opens it are the pool's.
_KEYS: Final = (
    *(("llm", name) for name in ("model", "temperature", "context_tokens", "timeout")),
    *(("llm", name) for name in ("provider", "max_calls_per_day")),
    ("archive", "timezone"),
    ("summarize", "char_limit"),
    ("turns", "max_calls_per_day"),
)
#: Why a task comes back undone: it needs more calls than were reserved for it; its worker had to end, or could not do it.
Why: TypeAlias = Literal["short", "ended"]


@dataclass(frozen=True, slots=True)
class Cargo:
    """A sealed task on its way to the pool; a person waits for one that *is_asked*."""

    uid: Uid
    sealed: bytes
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What the pool has made of a task, sealed; *refused* says in one word why a worker could not read the cargo."""

    uid: Uid
    sealed: bytes
    refused: str = ""


class PoolAway(Exception):
    """The pool can't be reached, or can't be used; the sentence says why. What was asked of it is asked again."""


# ── packed ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """The calls that were written down before the cargo left, as lines of *at* in the log of calls."""

    calls: int
    at: str
    account: Account = "summaries"
    mark: str = ""  # of this one reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What is in a cargo."""

    task: Task | AskedTask
    host: str  # whose answers these are
    profile: str  # of the pool
    reserve: Reserve
    blocks: tuple[Block, ...] = ()
    prompts: Mapping[str, str] = field(default_factory=dict)  # the workspace's own, by file name
    config: Config = field(default_factory=Config)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is in an answer: a result, or *why* there is none."""

    reserve: Reserve
    used: int  # calls that were made or may have been
    result: Result | None = None
    why: Why = "ended"


def packed(contents: Contents) -> bytes:
    """Return the bytes of a cargo."""
    return _deflated(
        {
            "task": render_task(contents.task).decode(),
            "host": contents.host,
            "profile": contents.profile,
            "reserve": asdict(contents.reserve),
            "blocks": [record_fields(block) for block in contents.blocks],
            "prompts": dict(contents.prompts),
            "config": {variable(place): _written(contents.config, place) for place in _KEYS},
        }
    )


def unpacked(data: bytes) -> Contents:
    """Return what is in a cargo; ValueError with a reason where it is none, Unsealable if a newer recalld packed it."""
    raw = _inflated(data)
    with _checking("cargo"):
        environ = {name: raw["config"][name] for place in _KEYS if (name := variable(place)) in raw["config"]}
        return Contents(
            task=parse_task(raw["task"].encode()),
            host=str(raw["host"]),
            profile=str(raw["profile"]),
            reserve=_reserve(raw["reserve"]),
            blocks=tuple(read_record(Block, block) for block in raw["blocks"]),
            prompts={str(name): str(text) for name, text in raw["prompts"].items()},
            config=load(None, environ),
        )


def rendered(outcome: Outcome) -> bytes:
    """Return the bytes of an answer."""
    result = render_result(outcome.result).decode() if outcome.result else None
    return _deflated({"result": result, "reserve": asdict(outcome.reserve), "used": outcome.used, "why": outcome.why})


def read(data: bytes) -> Outcome:
    """Return what is in an answer; ValueError as in `unpacked`."""
    raw = _inflated(data)
    with _checking("answer"):
        return Outcome(
            reserve=_reserve(raw["reserve"]),
            used=max(0, int(raw["used"])),
            result=parse_result(raw["result"].encode()) if raw["result"] is not None else None,
            why="short" if raw["why"] == "short" else "ended",
        )


@contextmanager
def _checking(kind: Sealed) -> Iterator[None]:
    try:
        yield
    except (ArithmeticError, AttributeError, BadConfig, LookupError, TypeError) as error:
        raise ValueError(f"these are not the contents of: {kind} ({type(error).__name__})") from None


def _written(config: Config, place: tuple[str, str]) -> str:
    """Return the value of a key as a variable has it."""
    value = getattr(getattr(config, place[0]), place[1])
    return f"{round(value.total_seconds() * 1000)}ms" if isinstance(value, timedelta) else str(value)


def _reserve(raw: Mapping[str, Any]) -> Reserve:
    account: Account = "replies" if raw["account"] == "replies" else "summaries"
    return Reserve(calls=max(0, int(raw["calls"])), at=to_wire(from_wire(raw["at"])), account=account, mark=str(raw["mark"]))


def _deflated(fields: Mapping[str, Any]) -> bytes:
    text = json.dumps({"version": _VERSION, **fields}, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "surrogatepass"), _LEVEL)


def _inflated(data: bytes) -> dict[str, Any]:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data, _MOST_BYTES)
        raw = json.loads(text.decode("utf-8", "surrogatepass"))
    except (zlib.error, RecursionError) as error:
        raise ValueError(f"it can't be unpacked: {type(error).__name__}") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("version"), int):
        raise ValueError("it is not an object with a version")  # noqa: TRY004 - every fault of the bytes is one kind
    if raw["version"] > _VERSION:
        raise Unsealable("newer")
    return raw


# ── sealed ───────────────────────────────────────────────────────────────────

_SEAL: Final = b"\x01"
_MARK: Final = 4
_NONCE: Final = 12
_KEY_BYTES: Final = 32
_MOST_KEYS: Final = 2


class Unsealable(ValueError):
    """It can't be opened; *why* is "key" (sealed with another one), "newer" (by a newer recalld) or "changed"."""

    def __init__(self, why: Literal["key", "newer", "changed"]) -> None:
        super().__init__(why)
        self.why = why


class Seal:
    """Seals and opens with *keys* of 32 bytes."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = {hashlib.sha256(key).digest()[:_MARK]: AESGCM(key) for key in keys}
        self._mark = next(iter(self._ciphers))

    @classmethod
    def of(cls, name: str, environ: Mapping[str, str]) -> Seal:
        """Return the seal of the key in the variable *name*, or of two with a comma between; BadConfig if it has none."""
        value = find_key(name, environ, "pool.key_env")
        if value == NO_KEY:
            raise BadConfig(
                "pool.key_env",
                Text(
                    "the variable {name} has no key; `recalld pool key` prints a new one, which hosts and workers of the pool need",
                    name=name,
                ),
            )
        try:
            keys = [base64.b64decode(part, validate=True) for part in value.split(",")]
        except binascii.Error:
            keys = []
        if not 1 <= len(keys) <= _MOST_KEYS or any(len(key) != _KEY_BYTES for key in keys):
            raise BadConfig(
                "pool.key_env",
                Text("the variable {name} has no key of 32 bytes in base64; `recalld pool key` prints one", name=name),
            )
        return cls(keys)

    def seal(self, kind: Sealed, uid: str, data: bytes) -> bytes:
        """Return the data, readable only with the key and for this uid."""
        nonce = os.urandom(_NONCE)
        head = _SEAL + self._mark
        return head + nonce + self._ciphers[self._mark].encrypt(nonce, data, _bound(head, kind, uid))

    def unseal(self, kind: Sealed, uid: str, sealed: bytes) -> bytes:
        """Return what was sealed; Unsealable where that is not what *sealed* is."""
        if sealed[:1] > _SEAL:
            raise Unsealable("newer")
        if sealed[:1] != _SEAL or len(sealed) < 1 + _MARK + _NONCE:
            raise Unsealable("changed")
        head, nonce = sealed[: 1 + _MARK], sealed[1 + _MARK : 1 + _MARK + _NONCE]
        cipher = self._ciphers.get(head[1:])
        if cipher is None:
            raise Unsealable("key")
        try:
            return cipher.decrypt(nonce, sealed[1 + _MARK + _NONCE :], _bound(head, kind, uid))
        except InvalidTag:
            raise Unsealable("changed") from None


def refusal(why: str) -> Text:
    """Return the sentence of what a worker could not read, or could not do."""
    known = {
        "key": msgid("a task is sealed with another key; hosts and workers of a pool need the same in RECALLD_POOL_KEY"),
        "newer": msgid("a task is of a newer recalld; update this worker"),
        "profile": msgid("a task wants a profile that pool.toml does not have; see pool.profile"),
    }
    return Text(known[why]) if why in known else Text("a task was changed or cut on its way; it is not done")


def new_key() -> str:
    """Return a new key as the variable has it."""
    return base64.b64encode(os.urandom(_KEY_BYTES)).decode()


def _bound(head: bytes, kind: Sealed, uid: str) -> bytes:
    return head + f"{kind} {uid}".encode()
