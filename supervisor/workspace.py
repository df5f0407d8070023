"""
The composition root: an open workspace is its paths, configuration, stores and events, wired in this one place.

A store is made, and its module imported, when it is first used: a command loads what it needs and no more. Only `host/`,
`checks/` and `interfaces/` see a `Workspace`; they pass each step the stores that it uses.
"""

# ruff: noqa: D102 - a store is described in its own class

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import cached_property, partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .events import Events
from .protocol.config import Config, load
from .protocol.paths import SLUG_CHARS, WorkspacePaths, check_filesystem
from .storage.clock import Clock
from .storage.disk import Disk, RealDisk
from .storage.files import Files

if TYPE_CHECKING:
    from .archive.append import DropBox
    from .archive.deletions import Deletions, ShownHistory
    from .archive.diary import Diary
    from .archive.history import Attachments, HistoryStore
    from .archive.journal import SeenJournal
    from .archive.memory_folder import MemoryFolder
    from .archive.plan import Caps
    from .archive.quarantine import Quarantine
    from .archive.run import Trash
    from .context.turns import ReceiptStore
    from .conversation.groups import Groups
    from .conversation.session_files import SessionFiles, SessionTalk
    from .conversation.session_lines import SessionLines
    from .index.index import Index
    from .longterm.long_term_file import LongTermFile
    from .protocol.llm import CallLog, Endpoint
    from .protocol.message import Failure
    from .protocol.queue import TaskQueue
    from .recall.lines import LineReader
    from .recall.meaning import Meaning
    from .recall.search import Searcher
    from .recall.unfiled import Unfiled
    from .recall.visible import Parts
    from .storage.keeping import ReplacedTexts
    from .summaries.llm_state import ModelUse
    from .text.redact import Marks

T = TypeVar("T")


class store(cached_property[T]):  # noqa: N801 - it is used as a decorator
    """A store of a workspace: made when it is first used, once, by whichever thread comes first."""

    def __get__(self, ws: Any, owner: type[Any] | None = None) -> T:  # type: ignore[override]
        with ws.making:
            value: T = super().__get__(ws, owner)
            return value


def wired(home: str, *parts: str, **named: str) -> Any:
    """
    Return the store that is made by *home*, a class in a module of this package, from these *parts* of its workspace.

    *named* are those that it takes by name.
    """
    module, _, name = home.rpartition(".")

    def make(ws: Workspace) -> Any:
        maker = getattr(import_module(f".{module}", __package__), name)
        by_name = {name: attrgetter(part)(ws) for name, part in named.items()}
        return maker(*(attrgetter(part)(ws) for part in parts), **by_name)

    return store(make)


class Workspace:
    """
    The stores of the workspace at *root*, over one `Files`, for any thread; *environ* has the keys of model servers.

    *lasting*: its process runs for months, so work that loads large dictionaries is done in a process that ends.
    """

    history: HistoryStore = wired("archive.history.HistoryStore", "files", "paths", "zone")
    journal: SeenJournal = wired("archive.journal.SeenJournal", "files", "paths", "zone")
    deletions: Deletions = wired("archive.deletions.Deletions", "files", "paths", "journal", "memory", "zone")
    shown_history: ShownHistory = wired("archive.deletions.ShownHistory", "history", "deletions")
    attachments: Attachments = wired("archive.history.Attachments", "files", "paths")
    drop_box: DropBox = wired("archive.append.DropBox", "files", "paths", "zone")
    quarantine: Quarantine = wired("archive.quarantine.Quarantine", "files", "paths.quarantine", "config.care.quarantine_limit")
    trash: Trash = wired("archive.run.Trash", "files", "paths", "journal")
    diary: Diary = wired("archive.diary.Diary", "files", "paths", "config")
    replaced_texts: ReplacedTexts = wired("storage.keeping.ReplacedTexts", "files", "paths.previous")
    memory: MemoryFolder = wired("archive.memory_folder.MemoryFolder", "files", "paths")
    task_queue: TaskQueue = wired("protocol.queue.TaskQueue", "files", "paths")
    calls: CallLog = wired("protocol.llm.CallLog", "files", "paths", "zone")
    endpoint: Endpoint = wired("protocol.llm.endpoint_of", "config.llm", "environ")
    index: Index = wired("index.index.Index", "files", "paths", "memory", "zone")
    unfiled: Unfiled = wired(
        "recall.unfiled.Unfiled", "files", "paths", "history", "drop_box", "deletions", "config.archive", "mark"
    )
    parts: Parts = wired("recall.visible.Parts", "index", "unfiled")
    long_term: LongTermFile = wired("longterm.long_term_file.LongTermFile", "files", "paths", "zone", mark="mark")
    receipts: ReceiptStore = wired("context.turns.ReceiptStore", "files", "paths", mark="mark")
    searcher: Searcher = wired(
        "recall.search.Searcher",
        **{part: part for part in ("files", "paths", "zone", "index", "meaning", "unfiled", "events", "parts")},
        settings="config.recall",
    )
    session_files: SessionFiles = wired("conversation.session_files.SessionFiles", "files", "paths")
    session_talk: SessionTalk = wired(
        "conversation.session_files.SessionTalk", "shown_history", "journal", "memory", "unfiled", "config"
    )
    session_lines: SessionLines = wired(
        "conversation.session_lines.SessionLines", "session_files", "session_talk", "long_term", "config", "events"
    )

    def __init__(
        self,
        root: Path,
        config: Config,
        files: Files,
        events: Events,
        environ: Mapping[str, str] | None = None,
        *,
        lasting: bool = False,
    ) -> None:
        self.paths, self.config, self.files, self.events = WorkspacePaths(root), config, files, events
        self.zone = config.archive.zone
        self.environ = environ or {}
        has_forgotten = partial(files.disk.stat, self.paths.forgotten)  # nearly no workspace has
        files.shown = lambda path, data: self.journal.tombstones.shown(path, data) if has_forgotten() else data
        self._lasting = lasting
        #: Held while a store is made.
        self.making = threading.RLock()

    @store
    def groups(self) -> Groups:
        from .conversation.groups import Groups

        return Groups(lambda: self.session_files, lambda: self.memory, lambda: self.unfiled, self.config.privacy.direct)

    @store
    def meaning(self) -> Meaning | None:
        """What finds by meaning; None for the words alone, and where a model would be loaded for one command."""
        recall = self.config.recall
        if not recall.meaning or recall.backend in {"bm25", *(() if self._lasting else ("auto", "use", "e5"))}:
            return None
        from .recall.meaning import Meaning

        return Meaning(self.config, self.files, self.paths)

    @store
    def line_reader(self) -> LineReader:
        from .recall.lines import LineReader

        return LineReader(
            files=self.files,
            paths=self.paths,
            zone=self.zone,
            memory=lambda: self.memory,
            journal=lambda: self.journal,
            unfiled=lambda: self.unfiled,
            parts=lambda: self.parts,
        )

    @property
    def mark(self) -> Marks | None:
        """What puts marks in the place of secrets before a text is stored; None where it is stored as it is."""
        if self.config.privacy.redact != "store":
            return None
        from .text.redact import Marks

        return Marks(self.config.privacy.forms)

    def slugs(self, days: Sequence[Sequence[tuple[str, str]]]) -> Sequence[str]:
        """Return the slug of each day of messages (role, text); words that other days have, too, are worth less."""
        from .archive.slug import BESIDE, slugs_of

        style = self.config.archive.slug
        beside = [
            "\n".join(block.words for block in self.memory.blocks(file.name))
            for file in self.memory.dated()[-BESIDE:]
            if file.ours
        ]
        if not self._lasting:
            return slugs_of(days, SLUG_CHARS, style, beside)
        from .storage.process import call_in_own_process

        return list(call_in_own_process(slugs_of, days, SLUG_CHARS, style, beside))

    def prepare(self) -> None:
        """Create the missing folders; nothing that exists is changed."""
        paths = self.paths
        parents = (paths.memory, paths.state, paths.worker, paths.drop_box.parent)
        for folder in (*parents, paths.summaries, paths.originals, paths.previous, paths.drop_box):
            self.files.make_folder(folder, lasting=True)
        self.task_queue.prepare()

    def today(self, now: datetime) -> date:
        """Return the local day of *now*."""
        return now.astimezone(self.zone).date()

    @property
    def caps(self) -> Caps:
        """The limits of history.json."""
        from .archive.plan import Caps

        history = self.config.history
        return Caps(history.soft_cap, history.hard_cap, keep_newest=self.config.archive.keep_newest)

    @property
    def model_use(self) -> ModelUse:
        """What the use of the model is recorded in and limited by."""
        from .summaries.llm_state import ModelUse, asked_for_summaries

        use = asked_for_summaries(self.config.llm, self.endpoint, self.files, self.paths)
        return ModelUse(self.task_queue, self.calls, self.config, self.endpoint, use, self.events)

    @property
    def extracting(self) -> bool:
        """Whether no model is configured, so that every summary is an extract."""
        from .protocol.llm import writes_extracts

        return writes_extracts(self.config.llm)

    def failures(self) -> dict[str, Failure]:
        """Return the last failure of each group that waits for a retry."""
        from .summaries.llm_state import waiting_failures

        return waiting_failures(self.task_queue)


def open_workspace(
    root: Path,
    environ: Mapping[str, str],
    clock: Clock,
    report: Callable[[Mapping[str, object]], None] | None = None,
    config: Config | None = None,
    *,
    lasting: bool = False,
    disk: Disk | None = None,
) -> Workspace:
    """
    Return the workspace at *root* with its configuration and its event log; nothing is written.

    *report* is called with each event. *config* is used in place of recalld.toml and the variables. *lasting* is as for
    `Workspace`, *disk* is where it lies. BadConfig if the configuration is wrong, or the file system is not suitable.
    """
    files = Files(disk or RealDisk())
    paths = WorkspacePaths(root)
    config = config or read_config(files, paths, environ)
    check_filesystem(paths, allow_network_fs=config.care.allow_network_fs)
    return Workspace(root, config, files, Events(paths.log, clock, config.log, report), environ, lasting=lasting)


def read_config(files: Files, paths: WorkspacePaths, environ: Mapping[str, str]) -> Config:
    """Return the configuration as recalld.toml and the variables have it now; BadConfig if it is wrong."""
    version = files.read_stable(paths.config)
    return load(version.data if version else None, environ)
