"""A workspace, opened: its paths, configuration, stores and events, wired in this one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.archive.append import DropBox
from supervisor.archive.history import HistoryStore
from supervisor.archive.journal import SeenJournal
from supervisor.archive.memory_folder import MemoryFolder
from supervisor.archive.restore import Quarantine
from supervisor.events import EventLog, Events
from supervisor.index.index import Index
from supervisor.protocol.clock import machine_zone
from supervisor.protocol.config import load, render_default
from supervisor.protocol.disk import RealDisk
from supervisor.protocol.errors import BadRequest
from supervisor.protocol.files import Files
from supervisor.protocol.llm import CallLog
from supervisor.protocol.paths import WorkspacePaths, check_filesystem
from supervisor.protocol.queue import TaskQueue
from supervisor.recall.rerank import Rescoring, backend_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date, datetime
    from pathlib import Path

    from supervisor.archive.flags import Caps, Failure
    from supervisor.protocol.clock import Clock
    from supervisor.protocol.config import Config


class Workspace:
    """The stores of the workspace at *root*, over one `Files`; *environ* holds the keys of servers."""

    def __init__(
        self, root: Path, config: Config, files: Files, events: Events, environ: Mapping[str, str] | None = None
    ) -> None:
        self.paths = WorkspacePaths(root)
        self.config = config
        self.files = files
        self.events = events
        self.zone = config.archive.zone
        self.history = HistoryStore(files, self.paths, self.zone)
        self.memory = MemoryFolder(files, self.paths)
        recall = config.recall
        self.index = Index(files, self.paths, self.memory, self.zone, recall.k1, recall.b)
        self.rescoring = Rescoring(lambda: backend_of(config, environ or {}, files))
        self.journal = SeenJournal(files, self.paths, self.zone)
        self.task_queue = TaskQueue(files, self.paths)
        self.drop_box = DropBox(files, self.paths, self.zone)
        self.quarantine = Quarantine(files, self.paths.quarantine, config.care.quarantine_limit)
        self.calls = CallLog(files, self.paths, self.zone)
        #: Asked between two steps of long work; told how far it has come: what, how many of how many.
        self.should_stop: Callable[[], bool] = lambda: False
        self.progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None
        #: Told that the index was found damaged: who keeps it up to date makes it anew.
        self.index_lost: Callable[[], None] = lambda: None
        self.index.progress = lambda what, done, total: self.progress(what, done, total)  # noqa: PLW0108 - it is set later

    def prepare(self) -> None:
        """Make the folders that are absent; nothing that is there changes."""
        paths = self.paths
        tops = (paths.memory, paths.state, paths.worker, paths.drop_box.parent)
        for folder in (*tops, paths.summaries, paths.originals, paths.previous, paths.drop_box):
            self.files.make_folder(folder, lasting=True)
        self.task_queue.prepare()

    def today(self, now: datetime) -> date:
        """Return the local day."""
        return now.astimezone(self.zone).date()

    @property
    def caps(self) -> Caps:
        """The limits of history.json."""
        from supervisor.archive.flags import Caps

        history = self.config.history
        return Caps(history.soft_cap, history.hard_cap, history.hard_bytes, self.config.archive.keep_newest)

    @property
    def extracting(self) -> bool:
        """Whether no model is configured, so that every summary is an extract."""
        from supervisor.summaries.llm_state import writes_extracts

        return writes_extracts(self.config.llm)

    def failures(self) -> dict[str, Failure]:
        """Return the last failure of each group that waits."""
        from supervisor.archive.flags import Failure

        return {group: Failure(*fields) for group, fields in self.task_queue.failures().items()}


def open_workspace(
    root: Path, environ: Mapping[str, str], clock: Clock, tell: Callable[[Mapping[str, object]], None] | None = None
) -> Workspace:
    """
    Return the workspace at *root* with its configuration and its event log; nothing is written.

    BadConfig when the configuration is wrong, or the workspace stands on no ground that holds.
    """
    files = Files(RealDisk())
    found = files.read_stable(WorkspacePaths(root).config)
    config = load(found.data if found else None, environ)
    check_filesystem(WorkspacePaths(root), allow_network_fs=config.care.allow_network_fs)
    return Workspace(root, config, files, EventLog(WorkspacePaths(root).log, clock, config.log, tell), environ)


def make_workspace(root: Path, environ: Mapping[str, str]) -> bool:
    """
    Make what a workspace at *root* lacks, and change nothing that is there; tell whether it had no configuration.

    The machine's time zone is written down, so that days stay the same days wherever the folder goes.
    """
    files, paths = Files(RealDisk()), WorkspacePaths(root)
    if root.exists() and not root.is_dir():
        raise BadRequest("--workspace", f"{root} is a file, not a folder")
    files.make_folder(root)
    is_new = files.disk.stat(paths.config) is None
    if is_new:
        zone = load(None, environ).archive.timezone if "RECALLD_ARCHIVE_TIMEZONE" in environ else machine_zone()
        files.create(paths.config, render_default(zone).encode())
    if not any(files.disk.stat(path) for path in (paths.history, paths.history_backup, paths.seen)):
        files.create(paths.history, b"[]\n")
    files.make_folder(root / "prompts")
    return is_new
