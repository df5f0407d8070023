"""The files that a service leaves outside the workspace: its alarm, caches, and systemd's stamps of its timers."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .units import TEMPLATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .units import Installation

#: Where systemd keeps the stamps of system timers, and the folders of system services.
_STAMPS: Final = Path("/var/lib/systemd/timers")
_FOLDERS: Final = (Path("/var/cache/recalld"), Path("/run/recalld"))


def remains(what: Installation, environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the caches and the stamps of timers that exist."""
    if what.user:
        stamps, caches = _STAMPS, [folder / what.alarm.name for folder in _FOLDERS]
    else:
        stamps = Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "systemd" / "timers"
        caches = [Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recalld"]
    timers = (what.unit(template) for template in TEMPLATES if template.endswith(".timer"))
    return [path for path in (*caches, *(stamps / f"stamp-{name}" for name in timers)) if path.exists()]


def delete(paths: Iterable[Path]) -> None:
    """Delete these files and folders, as far as they exist and can be deleted."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
