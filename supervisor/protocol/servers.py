"""What both programs know of a model's server: the key for it, whether it is this machine, how it is shown."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from supervisor.protocol.errors import BadConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

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
