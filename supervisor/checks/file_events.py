"""The check of file events, of which the system has a limited number (inotify)."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..events import lasting_states
from ..storage.texts import Text
from .check import Look, odd

if TYPE_CHECKING:
    from ..workspace import Workspace
    from .check import Faults

#: The kernel's limits of file events for this user.
_LIMITS: Final = Path("/proc/sys/user")
#: The inotify instances that a supervisor uses.
_OBSERVERS: Final = 4


def file_events(look: Look) -> Faults:
    """Yield a fault if file events are used up: changes are then found by polling, a second later."""
    if look.is_running:
        if "watch_lost" in lasting_states(look.ws.paths.log, {"watch_lost": "stopped"}):
            yield odd(_few_events(look.ws))
        return
    watches, instances = _limit("max_inotify_watches"), _limit("max_inotify_instances")
    if watches is None or instances is None:
        return  # not Linux: there is no such limit
    used_watches, used_instances = _used()
    if watches - used_watches < _watched(look.ws) or instances - used_instances < _OBSERVERS:
        yield odd(_few_events(look.ws))


def _few_events(ws: Workspace) -> str:
    watches, instances = _used()
    return Text(
        "there are no file events for the workspace: {watches} of {most} watches and {instances} of {limit} instances are used, and it needs {needed} and {others}; `{command}` raises both.",
        watches=watches,
        most=_limit("max_inotify_watches"),
        instances=instances,
        limit=_limit("max_inotify_instances"),
        needed=_watched(ws),
        others=_OBSERVERS,
        command="sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512",
    )


def _limit(name: str) -> int | None:
    try:
        return int((_LIMITS / name).read_text())
    except (OSError, ValueError):
        return None


def _watched(ws: Workspace) -> int:
    """Return how many folders a supervisor watches: the workspace, drop-box, results, and memory with all below it."""
    return 3 + sum(1 for _ in os.walk(ws.paths.memory))


def _used() -> tuple[int, int]:
    """Return how many watches and instances the programs of this user have, as far as they can be seen."""
    watches = instances = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended, or is somebody else's
            if os.stat(folder).st_uid != os.getuid():
                continue
            for handle in os.listdir(folder / "fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(folder / "fd" / handle) == "anon_inode:inotify":
                        instances += 1
                        watches += (folder / "fdinfo" / handle).read_text().count("inotify wd:")
    return watches, instances
