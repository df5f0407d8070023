"""
The calls to the model, `.recalld/calls.jsonl`: each is written down before it is made (docs/protocol.md, 6.7).

So no process that is killed, no result that is lost and no disk that is full hides one, and the day's cap holds: a call that
can't be written down is not made. The file may be deleted; then the day begins anew.

What both programs know of a model's server: the key for it, whether it is this machine, how it is shown.
"""

from __future__ import annotations

import contextlib
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from supervisor.protocol.clock import from_wire, local, local_day, to_wire
from supervisor.protocol.errors import BadConfig
from supervisor.protocol.lenient_json import parse_json, render_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, tzinfo

    from supervisor.protocol.files import Files
    from supervisor.protocol.paths import WorkspacePaths

#: Lines from which on those of earlier days are dropped, and how far back a day may lie that still counts somewhere.
_MANY: Final = 4_096
_KEPT: Final = timedelta(days=3)


class CallLog:
    """The calls of one workspace; a day is one of *zone*."""

    def __init__(self, files: Files, paths: WorkspacePaths, zone: tzinfo) -> None:
        self._files = files
        self._path = paths.state / "calls.jsonl"
        self._lock = paths.state / "calls.lock"
        self._zone = zone

    def today(self, now: datetime) -> int:
        """Return how many calls were begun on the local day of *now*."""
        return self._on_day_of(now, self._begun())

    def begin(self, now: datetime, most: int | None) -> bool:
        """
        Write down, durably, that a call begins; False, and nothing is written, where the day has had *most* of them.

        Busy or OSError where it can't be written down.
        """
        self._files.make_folder(self._path.parent)
        with self._files.lock(self._lock):
            begun = self._begun()
            if most is not None and self._on_day_of(now, begun) >= most:
                return False
            if len(begun) >= _MANY:
                recent = [at for at in begun if abs(now - at) < _KEPT]
                self._files.replace(self._path, b"".join(map(_line, recent)), self._files.read_stable(self._path))
            self._files.append(self._path, _line(now))
        return True

    def _on_day_of(self, now: datetime, begun: list[datetime]) -> int:
        return sum(at.date() == local_day(now, self._zone) for at in begun)

    def _begun(self) -> list[datetime]:
        """Return when each call began, in the zone; a line that can't be read says nothing."""
        if self._files.disk.stat(self._path) is None:
            return []
        found = []
        for line in self._files.disk.read(self._path).splitlines():
            try:
                found.append(local(from_wire(parse_json(line)["at"]), self._zone))
            except (ValueError, TypeError, LookupError):
                continue
        return found


def _line(at: datetime) -> bytes:
    return render_json({"at": to_wire(at)}) + b"\n"


#: Given where no key is: local servers ask for none, and clients for something.
NO_KEY: Final = "none"
#: The name of a key among systemd's credentials.
CREDENTIAL: Final = "recalld-api-key"


def find_key(name: str, environ: Mapping[str, str], option: str = "llm.api_key_env") -> str:
    """
    Return the key in the variable *name*, else in a credential file of systemd of that name or CREDENTIAL; else NO_KEY.

    BadConfig, which names the *option*, where it can't be a key.
    """
    key = environ.get(name, "").strip()
    folder = environ.get("CREDENTIALS_DIRECTORY", "")
    for path in (Path(folder) / name, Path(folder) / CREDENTIAL) if folder and not key else ():
        with contextlib.suppress(OSError, UnicodeDecodeError):
            key = key or path.read_text(encoding="utf-8").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise BadConfig(option, "the key found there has characters that no key has; look at what was pasted")
    return key or NO_KEY


def shown(url: str) -> str:
    """Return the address without path, user and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def is_here(url: str) -> bool:
    """Tell whether the address is this machine's own."""
    host = urlsplit(url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")
