"""
What `recalld doctor` looks at outside the words of memory: environment, rights, links, disk, clock and file events. Read only.

Each check yields what is wrong: "odd" for what may be meant, "bad" for what stops recalld or a part of it, and a sentence.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat as modes
import sys
from datetime import timedelta
from importlib import metadata
from pathlib import Path
from pwd import getpwuid
from shlex import quote
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from recalld.supervisor.checks.troubles import is_running
from recalld.supervisor.events import lasting_states, newest_time
from recalld.supervisor.host.daemon import LARGE, SMALL
from recalld.supervisor.protocol.paths import LOST_AND_FOUND, check_filesystem, check_inside
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.clock import find_zone, from_wire, machine_zone
from recalld.supervisor.storage.errors import BadConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from recalld.supervisor.workspace import Workspace

State: TypeAlias = Literal["good", "odd", "bad"]
Found: TypeAlias = "Iterator[tuple[State, str]]"


def odd(why: str) -> tuple[State, str]:
    """Return the finding of what may be meant."""
    return "odd", why


def bad(why: str) -> tuple[State, str]:
    """Return the finding of what stops recalld, or a part of it."""
    return "bad", why


#: Names of our packages that another program may have too; supervisord's `supervisor` is one.
_PACKAGES: Final = frozenset({"recalld", "supervisor", "worker", "prompts"})
#: Free bytes and inodes: with less than the first nothing is written soon, with less than the second it is time to make room.
_FULL_BYTES, SCARCE_BYTES = 16 << 20, 256 << 20
_FULL_INODES, _SCARCE_INODES = 64, 2_000
#: The limits of file events of this user, in this user namespace.
_LIMITS: Final = Path("/proc/sys/user")
#: Instances that a supervisor uses.
_OBSERVERS: Final = 4
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9._-]+")


def environment(_ws: Workspace, _now: datetime, _environ: Mapping[str, str]) -> Found:
    """Yield what is wrong with the Python and the packages around recalld."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    try:
        own = metadata.metadata("recalld")
    except metadata.PackageNotFoundError:
        yield odd(Text("doctor.not_installed"))
        return
    wanted = re.search(r">=\s*((\d+)\.(\d+))", own["Requires-Python"] or "")
    if wanted and sys.version_info[:2] < (int(wanted[2]), int(wanted[3])):
        least = wanted[1]
        yield bad(Text("doctor.old_python", python=python, least=least))
    needed = (_REQUIREMENT.match(line) for line in metadata.requires("recalld") or () if "extra ==" not in line)
    missing = sorted(name[0] for name in needed if name and not _is_installed(name[0]))
    if missing:
        names = ", ".join(missing)
        yield bad(Text("doctor.packages_missing", names=names))
    for name, package in sorted(_others()):
        yield bad(Text("doctor.packages_shared", name=name, package=package))


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _others() -> Iterable[tuple[str, str]]:
    """Return the other installed programs that have a package of ours, each with its name."""
    packages = metadata.packages_distributions()
    return {(name, package) for package in _PACKAGES for name in packages.get(package, ()) if name.lower() != "recalld"}


def rights(ws: Workspace, _now: datetime, _environ: Mapping[str, str]) -> Found:
    """Yield which files another user owns, which this user may not use, and which the other users may read."""
    root = ws.paths.root
    owner = os.stat(root).st_uid
    foreign: list[str] = []
    closed: list[str] = []
    open_to_all: list[str] = []
    unwanted = os.W_OK if ws.files.disk.is_read_only(root) else 0  # a disk that is mounted read-only is told elsewhere
    is_open = bool(os.stat(root).st_mode & modes.S_IXOTH)
    for path, found in walk(root):
        name = "." if path == root else ws.paths.relative(path)
        if found.st_uid != owner:
            foreign.append(name)
        elif not modes.S_ISLNK(found.st_mode) and not os.access(path, _wanted(found.st_mode) & ~unwanted):
            closed.append(name)
        elif is_open and modes.S_ISREG(found.st_mode) and found.st_mode & modes.S_IROTH and _is_reached(root, path):
            open_to_all.append(name)
    here, user = quote(str(root)), _user(owner)
    if foreign:
        yield bad(
            Text(
                "doctor.files_of_others", user=user, count=len(foreign), name=foreign[0], command=f"sudo chown -R {user} {here}"
            )
        )
    if closed:
        yield bad(Text("doctor.files_closed", count=len(closed), name=closed[0], command=f"chmod -R u+rwX {here}"))
    if open_to_all:
        yield odd(Text("doctor.files_open", count=len(open_to_all), name=open_to_all[0], command=f"chmod go-rwx {here}"))


def walk(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the workspace and all that is in it, without following links; a folder that can't be read has nothing in it."""
    yield root, os.lstat(root)
    for folder, folders, names in os.walk(root):
        for name in sorted([*folders, *names]):
            path = Path(folder) / name
            if path == root / LOST_AND_FOUND:
                continue
            with contextlib.suppress(FileNotFoundError):  # a task or a temporary file that has gone since
                yield path, os.lstat(path)


def _wanted(mode: int) -> int:
    return os.R_OK | os.W_OK | (os.X_OK if modes.S_ISDIR(mode) else 0)


def _is_reached(root: Path, path: Path) -> bool:
    """Tell whether all users may enter the folders between *root* and *path*."""
    folders = path.relative_to(root).parents
    return all(os.stat(root / folder).st_mode & modes.S_IXOTH for folder in folders)


def _user(uid: int) -> str:
    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def links(ws: Workspace, _now: datetime, _environ: Mapping[str, str]) -> Found:
    """Yield where links lead out of the workspace: recalld writes through none, and follows none in memory."""
    try:
        check_inside(ws.paths)
    except BadConfig as error:
        yield bad(error.sentence)
        return
    root = os.path.realpath(ws.paths.root)
    for path, found in walk(ws.paths.memory) if ws.paths.memory.is_dir() else ():
        place = os.path.realpath(path)
        if modes.S_ISLNK(found.st_mode) and not place.startswith(root + os.sep):
            name = ws.paths.relative(path)
            yield odd(Text("doctor.link_out", name=name, place=place))


def disk(ws: Workspace, _now: datetime, _environ: Mapping[str, str]) -> Found:
    """Yield what is wrong with the file system of the workspace: network, read-only, full."""
    try:
        check_filesystem(ws.paths, allow_network_fs=ws.config.care.allow_network_fs)
    except BadConfig as error:
        if error.key == "care.allow_network_fs":
            yield bad(error.sentence)
    found = os.statvfs(ws.paths.root)
    free, root = found.f_bavail * found.f_frsize, ws.paths.root
    if free < SCARCE_BYTES:
        found_to_be = bad if free < _FULL_BYTES else odd
        yield found_to_be(Text("doctor.disk_full", root=root, count=free >> 20, command=f"df -h {quote(str(root))}"))
    if found.f_files and found.f_favail < _SCARCE_INODES:
        found_to_be = bad if found.f_favail < _FULL_INODES else odd
        yield found_to_be(
            Text("doctor.disk_full_of_files", root=root, count=found.f_favail, command=f"df -i {quote(str(root))}")
        )


def clock(ws: Workspace, now: datetime, environ: Mapping[str, str]) -> Found:
    """Yield where the clock was set, and where the days of memory are not those of the machine."""
    with contextlib.suppress(ValueError):
        ahead = from_wire(newest_time(ws.paths.log)) - now
        if ahead > SMALL:
            hours = round(ahead / timedelta(hours=1))
            yield bad(Text("doctor.clock_behind", hours=hours))
            return
    with contextlib.suppress(ValueError):
        if now - from_wire(newest_time(ws.paths.log, "clock_jump")) < LARGE:
            yield odd(Text("doctor.clock_set"))
    machine = machine_zone(environ)
    here, there = (now.astimezone(zone).utcoffset() for zone in (ws.zone, find_zone(machine)))
    # whoever chose a zone meant it; UTC is what a workspace has where nobody chose
    if not here and there:
        yield odd(Text("doctor.zone_differs", zone=ws.config.archive.timezone, machine=machine))


def file_events(ws: Workspace, _now: datetime, _environ: Mapping[str, str]) -> Found:
    """Yield that file events are used up: changes are then found by polling, a second later."""
    if is_running(ws):
        if "watch_lost" in lasting_states(ws.paths.log, {"watch_lost": "stopped"}):
            yield odd(_few_events(ws))
        return
    watches, instances = _limit("max_inotify_watches"), _limit("max_inotify_instances")
    if watches is None or instances is None:
        return  # not Linux, where there is nothing to use up
    used_watches, used_instances = _used()
    if watches - used_watches < _watched(ws) or instances - used_instances < _OBSERVERS:
        yield odd(_few_events(ws))


def _few_events(ws: Workspace) -> str:
    watches, instances = _used()
    return Text(
        "doctor.no_file_events",
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
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            if os.stat(folder).st_uid != os.getuid():
                continue
            for handle in os.listdir(folder / "fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(folder / "fd" / handle) == "anon_inode:inotify":
                        instances += 1
                        watches += (folder / "fdinfo" / handle).read_text().count("inotify wd:")
    return watches, instances
