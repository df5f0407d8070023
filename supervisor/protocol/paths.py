"""
The paths of a workspace, the names of its dated files and summaries, and where a workspace may be (protocol.md, 1 and 5).

`check_filesystem` refuses two places. On a network file system a lock may hold on one machine and not on another, so that two
programs write at once. Through a link that leads outside the workspace recalld would write where nobody expects it.

A summary is named after its period, a local day or a month; `summary_period` says which one a day is in (protocol.md, 3.4).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final, Literal

from ..storage.disk import is_below, read_outside
from ..storage.errors import BadConfig
from ..storage.texts import Text
from ..text.foreign_text import LONGEST_NAME
from ..text.lazy_re import lazy_re

#: The folders of the task queue, in worker/: queued tasks, running tasks, results, failures by group.
QUEUE_FOLDERS: Final = ("queue", "running", "results", "failed")
#: The most workers that can run at the same time in one workspace.
WORKERS: Final = 8
#: What a new ext4 has at its top, for root alone: it belongs to no workspace, also where the workspace is a disk of its own.
LOST_AND_FOUND: Final = "lost+found"
#: Network file systems, and FUSE, where locks are whatever the program behind it makes of them.
NETWORK: Final = frozenset(
    {"9p", "afs", "ceph", "cifs", "davfs", "fuse", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"}
)
_MOUNTS: Final = "/proc/self/mountinfo"
_OCTAL: Final = lazy_re(r"\\([0-7]{3})")
#: The slug of a dated file: Latin letters, digits and, with `archive.slug = "hanzi"`, Chinese characters.
SLUG: Final = "[a-z0-9\u4e00-\u9fff-]{1,40}"
_ANY_DATED: Final = lazy_re(r"(\d{4}-\d{2}-\d{2})(?:-[^/]+)?\.md")
#: The most characters of the slug in a dated file's name; 003.
SLUG_CHARS: Final = 32
#: Paths of the long-term file; the first one that exists is used.
LONG_TERM: Final = ("memory.md", "MEMORY.md", "memory/MEMORY.md")
#: Names of files that editors, git and synchronisers leave, and of hidden and temporary files.
_UNFINISHED: Final = lazy_re(
    r"\..*|.*~|.*\.sw[a-z]|#.*#|4913|.*\.tmp"
    r"|.*conflicted copy.*|.*\(case conflict.*|.*冲突(?:副本|文件).*|.*衝突複本.*|.*\.sync-conflict-.*",
    re.IGNORECASE | re.DOTALL,
)
_CONTROL: Final = lazy_re(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
#: The folder that counts where the variable names none.
_USUAL: Final = {
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_DATA_HOME": "~/.local/share",
    "XDG_STATE_HOME": "~/.local/state",
}
RECENT_DAYS: Final = 5  # calendar days; docs/reference/protocol.md, 3.4
#: Of archive runs that begin early since the history is over its caps, at most one in this time.
OVERFLOW_INTERVAL: Final = timedelta(minutes=10)


class _Below:
    """A path at a fixed place below the root of a workspace."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __get__(self, paths: WorkspacePaths, _: type | None = None) -> Path:
        return paths.root.joinpath(*self._parts)


@dataclass(frozen=True, slots=True)
class WorkspacePaths:
    """The paths of the workspace at *root*."""

    root: Path

    history = _Below("history.json")  # the conversation
    history_lock = _Below("history.json.lock")  # held by every writer of history.json for one read, change and write
    history_backup = _Below("history.json.bak")  # the version before the last one that recalld wrote
    long_term_lock = _Below("memory.md.lock")  # held by every writer of the long-term file, whichever name that has
    inbox = _Below("inbox.json")  # user inputs that wait for a turn
    inbox_lock = _Below("inbox.json.lock")  # held while answered inputs are taken out of inbox.json
    drop_box = _Below("inbox.d", "new")  # any program may move a finished message file into it
    memory = _Below("memory")  # dated files and a person's notes
    summaries = _Below("memory", "summary")  # daily and monthly summaries
    originals = _Below("memory", "originals")  # dated files that a summary covers, one folder a month
    attachments = _Below("attachments")  # pictures and files of messages, each by its content
    turns = _Below("turns")  # receipts and prepared contexts, one file a turn
    worker = _Below("worker")  # the task queue
    config = _Below("recalld.toml")
    log = _Below("log.jsonl")  # events
    trash = _Below("trash")  # dated files that were pruned, until they are deleted
    diary = _Below("CHANGES.md")  # a plain line for each act on memory
    state = _Below(".recalld")  # machine state, mode 0700
    seen = _Below(".recalld", "seen.jsonl")  # the journal of seen messages
    acts = _Below(".recalld", "acts.jsonl")  # what `undo` needs to take an act on memory back
    ended = _Below(".recalld", "ended.jsonl")  # which messages and lines of summaries are no longer true, since when, and why
    connections = _Below(".recalld", "connections.json")  # which clients are connected, and what was put into their settings
    vectors = _Below(".recalld", "vectors")  # embeddings of memory's passages, for `recall.backend = "hybrid"`
    backup = _Below(".recalld", "backup.json")  # the result of the last `backup nightly`
    fsck = _Below(".recalld", "fsck.json")  # what the last `fsck --report` or `--repair` found, and what was reported
    sessions = _Below(".recalld", "sessions")  # how far sessions are summed up into long-term lines, a file each
    sources = _Below(".recalld", "sources")  # how far each source is read, and what was forgotten in other workspaces
    pieces = _Below(".recalld", "pieces")  # finished pieces of unfinished summaries
    quarantine = _Below(".recalld", "quarantine")  # copies of damaged files
    replaced = _Below(".recalld", "replaced")  # damaged histories, by a second name: only 0.28 and before wrote there
    previous = _Below(".recalld", "previous")  # summaries that newer ones replaced
    archive_request = _Below(".recalld", "archive.now")  # asks the supervisor to archive everything, and is deleted then
    trial = _Below(".recalld", "trial")  # shows that the disk takes a file again, and is deleted then
    forgotten = _Below(".recalld", "forgotten.jsonl")  # what must not come back, by keyed digests
    token = _Below(".recalld", "token")  # what a client of the HTTP service shows; mode 0600
    language_kept = _Below(".recalld", "language")  # empty: `language` was written into recalld.toml, or need not be
    supervisor_lock = _Below(".recalld", "supervisor.lock")  # held by the supervisor as long as it runs

    @property
    def made_with(self) -> tuple[Path, ...]:
        """One of these is there where somebody has made a workspace."""
        return (self.config, self.history, self.history_backup, self.seen)

    @property
    def holds(self) -> tuple[Path, ...]:
        """One of these is there where an assistant (CountBot, OpenClaw) keeps its memory, too: a service makes more of none."""
        return (*self.made_with, self.state, self.drop_box, self.memory, *map(self.root.joinpath, LONG_TERM))

    @property
    def folders(self) -> tuple[Path, ...]:
        """Every folder that recalld writes to, outermost first."""
        state = (self.previous, self.quarantine, self.sessions)
        inner = (self.summaries, self.originals, *state, self.drop_box)
        return (self.memory, self.attachments, self.turns, self.state, *inner, *(self.worker / name for name in QUEUE_FOLDERS))

    def worker_lock(self, slot: int) -> Path:
        """Return the lock file that a worker holds as long as it runs; *slot* is from 0 to WORKERS - 1."""
        return self.state / f"worker-{slot}.lock"

    def source(self, name: str) -> Path:
        """Return the file that says how far the source of this *name* is read."""
        return self.sources / f"{name}.json"

    def session(self, digest: str) -> Path:
        """Return the file that says how far the session of this digest is summed up."""
        return self.sessions / f"session-{digest}.json"

    def session_lock(self, digest: str) -> Path:
        """Return the lock file of the process that sums up the session of this digest."""
        return self.sessions / f"session-{digest}.lock"

    def dated(self, name: str) -> Path:
        """Return the place of a dated file that no summary covers."""
        return self.memory / name

    def original(self, name: str) -> Path:
        """Return the place of a dated file that a summary covers."""
        return self.originals / name[:7] / name

    def summary(self, period: Period) -> Path:
        """Return the place of the period's summary."""
        return self.summaries / f"{period.label}.md"

    def relative(self, path: Path) -> str:
        """Return the path relative to the workspace, with slashes."""
        return path.relative_to(self.root).as_posix()


def is_foreign(name: str) -> bool:
    """Return whether the name is an unfinished file's or has control characters; in memory/ such files are never read."""
    return is_unfinished(name) or bool(_CONTROL.search(name))


def is_unfinished(name: str) -> bool:
    """Return whether the name is one that an editor, git or a synchroniser uses, or hidden; such files are never read."""
    return bool(_UNFINISHED.fullmatch(name))


def day_of_name(name: str) -> date | None:
    """Return the day in the name of a dated file, or of a note named like one; None for other names."""
    match = _ANY_DATED.fullmatch(name)
    try:
        if not match or is_foreign(name) or len(os.fsencode(name)) > LONGEST_NAME:
            return None
        return date.fromisoformat(match[1])
    except ValueError:  # no such day, or a name that no disk can hold
        return None


def period_of_name(name: str) -> Period | None:
    """Return the period of a summary's file name; None for other names."""
    return read_period(name.removesuffix(".md")) if name.endswith(".md") and not is_foreign(name) else None


def check_filesystem(paths: WorkspacePaths, *, allow_network_fs: bool) -> None:
    """Raise BadConfig where the workspace is on a network file system (unless allowed), or one of its folders leads outside."""
    check_inside(paths)
    root = os.path.realpath(paths.root)
    kind = "" if allow_network_fs else filesystem_kind(root, _mounts())
    if kind in NETWORK or kind.startswith("fuse."):
        why = Text(
            "{path} is on {kind}, where locks may not work; move it to a disk of this machine, or set this to true",
            path=paths.root,
            kind=kind,
        )
        raise BadConfig("care.allow_network_fs", why)


def check_inside(paths: WorkspacePaths) -> None:
    """Raise BadConfig where a folder that recalld writes to leads outside the workspace now."""
    for folder in (*paths.folders, *_entries(paths.originals)):
        if not is_below(folder, paths.root):
            raise BadConfig(
                paths.relative(folder),
                Text(
                    "it leads to {path}, outside the workspace; make it a folder in the workspace, or move the whole workspace",
                    path=os.path.realpath(folder),
                ),
            )


def filesystem_kind(path: Path | str, mounts: str) -> str:
    """
    Return the kind of the file system that *path*, an absolute path without links, is on; "" where it is not known.

    *mounts* is the text of /proc/self/mountinfo. A later mount hides an earlier one at the same place.
    """
    best, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4]).rstrip("/")
        if len(point) >= len(best) and f"{path}/".startswith(f"{point}/"):
            best, kind = point, after.split(" ")[0]
    return kind


def _entries(folder: Path) -> list[Path]:
    with suppress(OSError):
        return [folder / name for name in os.listdir(folder)]
    return []


def _mounts() -> str:
    with suppress(OSError):
        return os.fsdecode(read_outside(_MOUNTS))
    return ""  # not Linux: nothing is known, so nothing is refused


def user_folder(variable: str, environ: Mapping[str, str]) -> str:
    """
    Return the folder that the *variable* names, else the usual one.

    >>> user_folder("XDG_DATA_HOME", {"XDG_DATA_HOME": "/mnt/data"})
    '/mnt/data'
    """
    return environ.get(variable, "").strip() or os.path.expanduser(_USUAL[variable])


# ── periods ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """A day or a month; *label* is "2026-01-15" or "2025-12", so that labels sort by time."""

    label: str

    @property
    def kind(self) -> Literal["day", "month"]:
        """Whether the period is a day or a month."""
        return "day" if len(self.label) == len("2026-01-15") else "month"

    @property
    def group(self) -> str:
        """The name of its group of tasks and failures: "day-2026-01-15", "month-2025-12"."""
        return f"{self.kind}-{self.label}"

    @property
    def last_day(self) -> str:
        """A label that sorts after every day of the period and before the next period; used to do the newest period first."""
        return self.label if self.kind == "day" else f"{self.label}-99"

    def holds(self, day: date) -> bool:
        """Return whether *day* is in the period."""
        return day.isoformat().startswith(self.label)


def day(of: date) -> Period:
    """Return the period of one day."""
    return Period(of.isoformat())


def month(of: date) -> Period:
    """Return the period of the month of a day."""
    return Period(of.isoformat()[:7])


def read_period(label: str) -> Period | None:
    """Return the period of *label*; None when it is not a day or a month of the calendar."""
    try:
        date.fromisoformat(label if len(label) != len("2026-01") else f"{label}-01")
    except ValueError:
        return None
    return Period(label) if re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", label) else None


def period_of_group(group: str) -> Period | None:
    """Return the period of a group's name; None for any other name."""
    period = read_period(group.partition("-")[2])
    return period if period and period.group == group else None


def summary_period(of: date, today: date, recent_days: int = RECENT_DAYS) -> Period | None:
    """
    Return the period whose summary covers the day; None while the day is recent and has no summary.

    >>> summary_period(date(2025, 12, 1), date(2026, 1, 31)), summary_period(date(2025, 11, 30), date(2026, 1, 31))
    (Period(label='2025-12-01'), Period(label='2025-11'))
    >>> summary_period(date(2025, 12, 31), date(2026, 2, 1)), summary_period(date(2026, 1, 27), date(2026, 2, 1))
    (Period(label='2025-12'), None)
    """
    if (today - of).days <= recent_days:
        return None
    first_of_last_month = (today.replace(day=1) - timedelta(days=1)).replace(day=1)
    return day(of) if of >= first_of_last_month else month(of)
