"""The checks of the machine around the memory: rights, links, disk, clock, and what a running supervisor reports."""

import contextlib
import errno
import os
import stat as modes
from collections.abc import Iterator
from datetime import timedelta
from glob import escape, glob
from pathlib import Path
from shlex import quote
from typing import Final

from ..events import EVENTS, lasting_states, newest_events
from ..protocol.paths import LOST_AND_FOUND, check_filesystem, check_inside
from ..storage.clock import SMALL, from_wire
from ..storage.disk import is_below
from ..storage.errors import BadConfig, from_os_error
from ..storage.texts import Text, msgid
from .check import Faults, Look, bad, odd

#: Free bytes: below the first number writes will soon fail, below the second it is time to make room.
_FULL_BYTES, SCARCE_BYTES = 16 << 20, 256 << 20
#: The same limits as shares of the disk; the smaller limit counts, so that a small disk is not full from its first day.
_FULL_PART, _SCARCE_PART = 1 / 20, 1 / 10
#: Files of earlier versions that nothing writes any more, from the workspace; what `archive.places.LEFT` names, a supervisor
#: deletes itself. Versions of history.json that were replaced while a program had them open and whose messages were taken in
#: (until 0.28), what a fleet kept in the folder of its workspaces (until 0.32), a form of the long-term file's lines.
LEFT_OVER: Final = (
    ".recalld/replaced/history.json.*.*.*",
    "prompts/memory-entry.*.md",
    "../.fleet",
    "../fleet.toml",
)
#: Lasting faults that a running supervisor reports, the worst first, each with the event that ends it.
_LASTING: Final = {
    "config_refused": "config_taken",
    "degraded": "recovered",
    "index_stale": "index_fresh",
    "backend_failed": "backend_back",
    "pool_waits": "pool_goes_on",
    "port_refused": "port_open",
}


def rights(look: Look) -> Faults:
    """
    Yield the files of another user, those that this user may not use, and those that all users may read.

    A quick look sees the folders alone in which files are made, for their owner.
    """
    ws, root = look.ws, look.ws.paths.root
    top, here = os.stat(root), quote(str(root))
    wanted = os.R_OK if ws.files.disk.is_read_only(root) else os.R_OK | os.W_OK  # the check `disk` reports it
    folders = (root, ws.paths.memory, ws.paths.state) if top.st_uid == os.geteuid() else ()
    quick = ((folder, os.stat(folder)) for folder in folders if os.path.isdir(folder))
    foreign, closed, open_to_all, is_open = list[str](), list[str](), list[str](), top.st_mode & modes.S_IXOTH
    for path, stat in [(root, top), *walk(root)] if look.slow else quick:
        name = "." if path == root else ws.paths.relative(path)
        if stat.st_uid != top.st_uid:
            foreign.append(name)
        elif modes.S_ISLNK(stat.st_mode):
            continue
        elif not os.access(path, wanted | os.X_OK if modes.S_ISDIR(stat.st_mode) else wanted):
            closed.append(name)
        elif is_open and modes.S_ISREG(stat.st_mode) and stat.st_mode & modes.S_IROTH:
            open_to_all.append(name)
    wrong = (
        (bad, foreign, msgid("files belong to another user than the workspace"), f"sudo chown -R {top.st_uid} {here}"),
        (bad, closed, msgid("files can't be read or written by this user"), f"chmod -R u+rwX {here}"),
        (odd, open_to_all, msgid("all users of this machine can read files of the workspace"), f"chmod go-rwx {here}"),
    )
    for kind, names, what, command in wrong:
        if names:
            sentence = msgid("{what} ({count}), the first is {name}; `{command}` mends it.")
            yield kind(sentence, what=Text(what), count=len(names), name=names[0], command=command)


def walk(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield everything in the folder, without following links; one that is gone or can't be read is empty."""
    for folder, folders, names in os.walk(root):
        for name in sorted([*folders, *names]):
            path = Path(folder) / name
            if path == root / LOST_AND_FOUND:
                continue
            with contextlib.suppress(FileNotFoundError, PermissionError):  # it may have gone since; `rights` has its folder
                yield path, os.lstat(path)


def links(look: Look) -> Faults:
    """Yield a folder that recalld writes to and that leads out of the workspace; a slow look finds links in memory that do."""
    paths = look.ws.paths
    try:
        check_inside(paths)
    except BadConfig as error:
        yield bad(error.sentence)
        return
    for path, stat in walk(paths.memory) if look.slow else ():
        if modes.S_ISLNK(stat.st_mode) and not is_below(path, paths.root):
            yield odd(
                "{name} leads to {place}, outside the workspace, and is not read; `cp -rL` in its place makes it a part of memory.",
                name=paths.relative(path),
                place=os.path.realpath(path),
            )


def disk(look: Look) -> Faults:
    """Yield what is wrong with the disk of the workspace: it is read-only, on the network, full, or (odd) nearly full."""
    root = look.ws.paths.root
    if look.ws.files.disk.is_read_only(root):
        yield bad(from_os_error(OSError(errno.EROFS, os.strerror(errno.EROFS)), root).sentence)
    try:
        check_filesystem(look.ws.paths, allow_network_fs=look.ws.config.care.allow_network_fs)
    except BadConfig as error:
        if error.key == "care.allow_network_fs":
            yield bad(error.sentence)
    stats = os.statvfs(root)
    free, size = stats.f_bavail * stats.f_frsize, stats.f_blocks * stats.f_frsize
    if free < min(SCARCE_BYTES, size * _SCARCE_PART):
        fault = bad if free < min(_FULL_BYTES, size * _FULL_PART) else odd
        yield fault(
            msgid("the disk of {root} has only {count} MiB free; make room, `{command}` shows the disk."),
            root=root,
            count=free >> 20,
            command=f"df -h {quote(str(root))}",
        )


def left_over(look: Look) -> Faults:
    """Yield one fault with the files of earlier versions that nothing writes any more."""
    root = escape(str(look.ws.paths.root))
    if files := [path for pattern in LEFT_OVER for path in sorted(glob(os.path.normpath(f"{root}/{pattern}")))]:
        yield odd(
            "no version writes or reads these any more, and no memory is in them that is not elsewhere; they may be deleted: {files}.",
            files=list(map(quote, files)),
        )


def clock(look: Look) -> Faults:
    """Yield a fault if the clock was set back."""
    with contextlib.suppress(ValueError):
        ahead = from_wire(next((at for _, at, _ in newest_events(look.ws.paths.log)), "")) - look.now
        if ahead > SMALL:
            yield bad(
                "the clock is {hours} hours behind the last event of log.jsonl, so it was set back; `timedatectl` shows the clock.",
                hours=round(ahead / timedelta(hours=1)),
            )


def lasting(look: Look) -> Faults:
    """Yield the lasting faults that a running supervisor reports; each says itself what to do."""
    states = lasting_states(look.ws.paths.log, _LASTING) if look.is_running else {}
    for event in (event for event in _LASTING if event in states):
        why = states[event].get("why") or states[event].get("reason", "")
        yield bad("{what}: {why}.", what=Text(EVENTS[event]), why=[why])
