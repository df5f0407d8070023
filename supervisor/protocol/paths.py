"""
Where everything of a workspace lies, and how dated files and summaries are named (docs/protocol.md, 1; 003).

The ground that a workspace stands on: a disk of this machine, and folders that lie inside the workspace.

On a network file system a lock may hold on one machine and not on another, so that two programs write at once; behind a
link that leads outside, recalld would write where nobody expects it. Both are refused (docs/protocol.md, 5).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path  # noqa: TC003 - a dataclass field
from typing import Final

from supervisor.protocol.errors import BadConfig, BadRequest
from supervisor.protocol.period import Period, read_period

_DATED: Final = re.compile(r"(\d{4}-\d{2}-\d{2})-([a-z0-9-]{1,40})\.md")
_ANY_DATED: Final = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-[^/]+)?\.md")
#: Bytes of a file name, on every disk of today.
_LONGEST_NAME: Final = 255
#: What editors, git and synchronisers leave beside a file, what is no plain file of ours, and names that no line can hold.
_FOREIGN: Final = re.compile(
    r"\..*|.*~|.*\.sw[a-z]|#.*#|4913|.*\.tmp|.*[\x00-\x1f\x7f\x85\u2028\u2029].*"
    r"|.*conflicted copy.*|.*\(case conflict.*|.*冲突(?:副本|文件).*|.*衝突複本.*|.*\.sync-conflict-.*",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class WorkspacePaths:
    """The paths of the workspace at *root*."""

    root: Path

    @property
    def history(self) -> Path:
        """The conversation."""
        return self.root / "history.json"

    @property
    def history_lock(self) -> Path:
        """Taken by every writer of history.json for one read, change and write."""
        return self.root / "history.json.lock"

    @property
    def history_backup(self) -> Path:
        """The version before the last one that recalld wrote."""
        return self.root / "history.json.bak"

    @property
    def inbox(self) -> Path:
        """User inputs waiting for a turn."""
        return self.root / "inbox.json"

    @property
    def drop_box(self) -> Path:
        """Where any program may move a finished message file."""
        return self.root / "inbox.d" / "new"

    @property
    def memory(self) -> Path:
        """Dated files and a person's notes."""
        return self.root / "memory"

    @property
    def summaries(self) -> Path:
        """Daily and monthly summaries."""
        return self.memory / "summary"

    @property
    def originals(self) -> Path:
        """Dated files that a summary covers, a folder a month."""
        return self.memory / "originals"

    @property
    def turns(self) -> Path:
        """What was, or is to be, put before the assistant: a file a turn."""
        return self.root / "turns"

    @property
    def worker(self) -> Path:
        """The spool."""
        return self.root / "worker"

    @property
    def folders(self) -> tuple[Path, ...]:
        """Every folder that recalld writes to, outermost first."""
        inner = (self.summaries, self.originals, self.previous, self.quarantine, self.drop_box)
        return (self.memory, self.turns, self.state, *inner, *(self.worker / name for name in QUEUE_FOLDERS))

    @property
    def config(self) -> Path:
        """Configuration."""
        return self.root / "recalld.toml"

    @property
    def log(self) -> Path:
        """Events."""
        return self.root / "log.jsonl"

    @property
    def state(self) -> Path:
        """Machine state, mode 0700."""
        return self.root / ".recalld"

    @property
    def seen(self) -> Path:
        """The seen journal."""
        return self.state / "seen.jsonl"

    @property
    def canaries(self) -> Path:
        """Questions about what was archived, asked again from time to time."""
        return self.state / "canaries.jsonl"

    @property
    def pieces(self) -> Path:
        """Answered pieces of summaries that are not finished."""
        return self.state / "pieces"

    @property
    def quarantine(self) -> Path:
        """Copies of what could not be read."""
        return self.state / "quarantine"

    @property
    def previous(self) -> Path:
        """Texts that a newer machine text replaced."""
        return self.state / "previous"

    @property
    def supervisor_lock(self) -> Path:
        """Held for life by the one supervisor."""
        return self.state / "supervisor.lock"

    def worker_lock(self, slot: int) -> Path:
        """Held for life by a worker; *slot* from 0 to WORKERS - 1."""
        return self.state / f"worker-{slot}.lock"

    def dated(self, name: str) -> Path:
        """Where a dated file lies while nothing covers it."""
        return self.memory / name

    def original(self, name: str) -> Path:
        """Where a dated file lies once a summary covers it."""
        return self.originals / name[:7] / name

    def summary(self, period: Period) -> Path:
        """Return the place of the period's summary."""
        return self.summaries / f"{period.label}.md"

    def relative(self, path: Path) -> str:
        """Return the path as people and other programs see it: from the workspace, with slashes."""
        return path.relative_to(self.root).as_posix()


#: The folders of the spool, in worker/: what waits, what is being done, what is done, which group failed.
QUEUE_FOLDERS: Final = ("queue", "running", "results", "failed")
#: How many workers can live at once in one workspace.
WORKERS: Final = 8


def is_foreign(name: str) -> bool:
    """Tell whether an editor, git or a synchroniser made the file: such files are never read."""
    return bool(_FOREIGN.fullmatch(name))


def day_of_name(name: str) -> date | None:
    """Return the day of a dated file or of a person's note named like one; None for other names."""
    match = _ANY_DATED.fullmatch(name)
    try:
        if not match or is_foreign(name) or len(os.fsencode(name)) > _LONGEST_NAME:
            return None
        return date.fromisoformat(match[1])
    except ValueError:  # no such day, or no name that a disk can hold
        return None


def dated_name(day: date, slug: str) -> str:
    """
    Return the name of a dated file (003, slug 规则).

    >>> dated_name(date(2026, 1, 28), "deploy")
    '2026-01-28-deploy.md'
    """
    name = f"{day.isoformat()}-{slug}.md"
    if not _DATED.fullmatch(name):
        raise BadRequest("slug", f"{slug!r} may hold only a-z, 0-9 and -")
    return name


def period_of_name(name: str) -> Period | None:
    """Return the period of a summary's file name; None for other names."""
    return read_period(name.removesuffix(".md")) if name.endswith(".md") and not is_foreign(name) else None


#: File systems of other machines, and those of programs (FUSE), whose locks are whatever the program makes of them.
NETWORK: Final = frozenset(
    {"9p", "afs", "ceph", "cifs", "davfs", "fuse", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"}
)
_MOUNTS: Final = "/proc/self/mountinfo"
_OCTAL: Final = re.compile(r"\\([0-7]{3})")


def check_filesystem(paths: WorkspacePaths, *, allow_network_fs: bool) -> None:
    """BadConfig where the workspace lies on a network file system (unless allowed), or a folder of it leads outside."""
    check_inside(paths)
    root = os.path.realpath(paths.root)
    kind = "" if allow_network_fs else file_system(root, _mounts())
    if kind in NETWORK or kind.startswith("fuse."):
        why = f"{paths.root} lies on {kind}, where locks may not hold; move it to a disk of this machine, or set this to true"
        raise BadConfig("care.allow_network_fs", why)


def check_inside(paths: WorkspacePaths) -> None:
    """BadConfig where a folder that recalld writes to leads outside the workspace, as the files lie now."""
    root = os.path.realpath(paths.root)
    for folder in (*paths.folders, *_within(paths.originals)):
        place = os.path.realpath(folder)
        if place != root and not place.startswith(root + os.sep):
            name = paths.relative(folder)
            raise BadConfig(
                name, f"it leads to {place}, outside the workspace; make it a folder of its own, or move all of it there"
            )


def file_system(path: Path | str, mounts: str) -> str:
    """
    Return the kind of the file system that *path*, an absolute path without links, lies on; "" where it is not known.

    *mounts* is the text of /proc/self/mountinfo. A later mount hides an earlier one at the same place.
    """
    best, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = _OCTAL.sub(lambda found: chr(int(found[1], 8)), fields[4]).rstrip("/")
        if len(point) >= len(best) and f"{path}/".startswith(f"{point}/"):
            best, kind = point, after.split(" ")[0]
    return kind


def _within(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in os.listdir(folder)]
    except OSError:
        return []


def _mounts() -> str:
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""  # no Linux: nothing is known, and nothing refused
