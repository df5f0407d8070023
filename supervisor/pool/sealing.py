"""
What leaves a host is sealed: AES-256-GCM, with a key that hosts and pool workers share and the broker does not have.

The uid and the kind are sealed in, so that no cargo can be given to another task and no answer taken for a cargo. Two keys are
accepted while one is changed: the first one seals, each of them opens.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ..protocol.llm import NO_KEY, find_key
from ..storage.errors import BadConfig
from ..storage.texts import Text, msgid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: What is sealed: a task, its answer, or a model's answer that is kept while its task goes on.
Sealed: TypeAlias = Literal["cargo", "answer", "kept"]
_VERSION: Final = b"\x01"
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
        found = find_key(name, environ, "pool.key_env")
        if found == NO_KEY:
            raise BadConfig(
                "pool.key_env",
                Text(
                    "the variable {name} has no key; `recalld pool key` prints a new one, which hosts and workers of the pool need",
                    name=name,
                ),
            )
        try:
            keys = [base64.b64decode(one, validate=True) for one in found.split(",")]
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
        head = _VERSION + self._mark
        return head + nonce + self._ciphers[self._mark].encrypt(nonce, data, _bound(head, kind, uid))

    def unseal(self, kind: Sealed, uid: str, sealed: bytes) -> bytes:
        """Return what was sealed; Unsealable where that is not what *sealed* is."""
        if sealed[:1] > _VERSION:
            raise Unsealable("newer")
        if sealed[:1] != _VERSION or len(sealed) < 1 + _MARK + _NONCE:
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
