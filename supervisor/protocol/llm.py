"""
The model's server, as supervisor and worker know it: the daily cap of calls (`CallLog`), its API key, its address.

Every call is recorded in `.recalld/calls.jsonl` before it is made, and a call that can't be recorded is not made. So the cap
holds although processes are killed, results are lost and disks are full. Deleting the file starts the day's count again.
Source: docs/reference/protocol.md, 6.7.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from ..storage.clock import from_wire, local, local_day, to_wire
from ..storage.disk import read_outside
from ..storage.errors import BadConfig
from ..storage.files import Files
from ..storage.lenient_json import parse_json, render_json
from ..storage.texts import Text
from ..text.record import record
from .config_keys import Llm
from .paths import WorkspacePaths

#: The key where none is configured: local servers need none, but the client library needs a value.
NO_KEY: Final = "none"
#: The name of the key in systemd's folder of credentials.
CREDENTIAL: Final = "recalld-api-key"
#: Material beyond this share of the context is summarised in pieces.
MATERIAL_SHARE: Final = 0.8
#: With more lines than _MANY, calls older than _KEPT are dropped: that is enough for today in any time zone.
_MANY: Final = 4_096
_KEPT: Final = timedelta(days=3)
#: What a call is counted for: each has a cap of its own.
Account: TypeAlias = Literal["summaries", "replies"]


class CallLog:
    """Records and counts the calls of one workspace; days are local days of *zone*."""

    def __init__(self, files: Files, paths: WorkspacePaths, zone: tzinfo) -> None:
        self._files = files
        self._path = paths.state / "calls.jsonl"
        self._lock = paths.state / "calls.lock"
        self._zone = zone

    def today(self, now: datetime, account: Account = "summaries") -> int:
        """Return how many calls of the *account* began on the local day of *now*."""
        return self._count(self._calls(), now, account)

    def begin(self, now: datetime, most: int | None, account: Account = "summaries", count: int = 1) -> bool:
        """
        Record, durably, that *count* calls begin; returns False and records nothing where the day's *most* would be passed.

        Busy or OSError when it can't be recorded.
        """
        with self.locked():
            calls = self._calls()
            if most is not None and self._count(calls, now, account) + count > most:
                return False
            if len(calls) >= _MANY:
                recent = [_line(at, whose) for at, whose in calls if abs(now - at) < _KEPT]
                self._files.replace(self._path, b"".join(recent), self._files.read_stable(self._path))
            self._files.append(self._path, _line(now, account) * count)
        return True

    def give_back(self, at: datetime, count: int, account: Account) -> None:
        """Take *count* calls that were recorded at this time out again, as far as they are there: they were not made."""
        with self.locked():
            before = self._files.read_stable(self._path)
            lines = before.data.splitlines(keepends=True) if before else []
            for _ in range(min(count, lines.count(_line(at, account)))):
                lines.remove(_line(at, account))
            if before:
                self._files.replace(self._path, b"".join(lines), before)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock under which the calls, and the state of the provider, are read and changed."""
        self._files.make_folder(self._path.parent)
        with self._files.lock(self._lock):
            yield

    def _count(self, calls: Iterable[tuple[datetime, Account]], now: datetime, account: Account) -> int:
        return sum(whose == account and at.date() == local_day(now, self._zone) for at, whose in calls)

    def _calls(self) -> list[tuple[datetime, Account]]:
        """Return the local time of each call, and its account; lines that can't be parsed are skipped."""
        if self._files.disk.stat(self._path) is None:
            return []
        calls: list[tuple[datetime, Account]] = []
        for line in self._files.disk.read(self._path).splitlines():
            try:
                raw = parse_json(line)
                account: Account = "replies" if raw.get("for") == "replies" else "summaries"
                calls.append((local(from_wire(raw["at"]), self._zone), account))
            except (ValueError, TypeError, LookupError, AttributeError):
                continue
        return calls


@record
class Endpoint:
    """Which model is asked, where, and with which key: marks of 4 hex digits, enough to see a change, too few to find a key."""

    server: str
    key: str


def model_of(llm: Llm) -> str:
    """Return the name of the configured model; BadConfig where none is named."""
    if not llm.model:
        raise BadConfig("llm.model", Text('no model is named; give the name that the server knows, such as "qwen3:8b"'))
    return llm.model


def endpoint_of(llm: Llm, environ: Mapping[str, str]) -> Endpoint:
    """Return the marks of the configured model and of its key, which *environ* or systemd has."""
    return Endpoint(_mark(llm.provider, llm.base_url, llm.model), _mark(_stored_key(llm.api_key_env, environ)))


def find_key(name: str, environ: Mapping[str, str], option: str = "llm.api_key_env") -> str:
    """
    Return the key from the variable *name*, else from systemd's credential of that name or CREDENTIAL; else NO_KEY.

    BadConfig, which names the configuration key *option*, where the value can't be a key.
    """
    key = _stored_key(name, environ)
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise BadConfig(option, Text("the key found there has characters that no key has; check what was pasted"))
    return key or NO_KEY


def _stored_key(name: str, environ: Mapping[str, str]) -> str:
    key = environ.get(name, "").strip()
    folder = environ.get("CREDENTIALS_DIRECTORY", "")
    for path in (Path(folder) / name, Path(folder) / CREDENTIAL) if folder and not key else ():
        with contextlib.suppress(OSError, UnicodeDecodeError):
            key = key or read_outside(path).decode().strip()
    return key


def _mark(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:4]


def without_credentials(url: str) -> str:
    """Return the address without path, user and password, for events and errors."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def is_local(url: str) -> bool:
    """Return whether the address is on this machine."""
    host = urlsplit(url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


def _line(at: datetime, account: Account) -> bytes:
    return render_json({"at": to_wire(at), **({"for": account} if account == "replies" else {})}) + b"\n"
