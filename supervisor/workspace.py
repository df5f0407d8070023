"""A workspace, opened: its paths, configuration, stores and events, wired in this one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from supervisor.history import HistoryStore
from supervisor.memory import MemoryStore
from supervisor.policy.settle import Failure
from supervisor.policy.trim import Caps
from supervisor.protocol.layout import Layout
from supervisor.protocol.spool import Spool
from supervisor.seen import SeenJournal

if TYPE_CHECKING:
    from datetime import date, datetime
    from pathlib import Path

    from supervisor.protocol.config import Config
    from supervisor.protocol.files import Files


class Events(Protocol):
    """Where events go: the log, or a list in a test."""

    def emit(self, event: str, **fields: object) -> None:
        """Write one event."""
        ...

    def edge(self, event: str, state: object, over: str = "", **fields: object) -> None:
        """Write the event when *state* has become true, and *over* when it no longer is."""
        ...


class Workspace:
    """The stores of the workspace at *root*, over one `Files`."""

    def __init__(self, root: Path, config: Config, files: Files, events: Events) -> None:
        self.layout = Layout(root)
        self.config = config
        self.files = files
        self.events = events
        self.zone = config.archive.zone
        self.history = HistoryStore(files, self.layout, self.zone)
        self.memory = MemoryStore(files, self.layout)
        self.seen = SeenJournal(files, self.layout, self.zone)
        self.spool = Spool(files, self.layout)

    def prepare(self) -> None:
        """Make the folders that are absent; nothing that is there changes."""
        layout = self.layout
        for folder in (layout.summaries, layout.originals, layout.state, layout.previous, layout.drop_box):
            self.files.make_folder(folder)
        self.spool.prepare()

    def today(self, now: datetime) -> date:
        """Return the local day."""
        return now.astimezone(self.zone).date()

    @property
    def caps(self) -> Caps:
        """The limits of history.json."""
        history = self.config.history
        return Caps(history.soft_cap, history.hard_cap, history.hard_bytes, self.config.archive.keep_newest)

    @property
    def extracting(self) -> bool:
        """Whether no model is configured, so that extracts are as good as it gets (architecture.md, rule 11)."""
        llm = self.config.llm
        return llm.provider == "extractive" or (llm.provider == "auto" and not (llm.base_url or llm.model))

    def failures(self) -> dict[str, Failure]:
        """Return the last failure of each group that waits."""
        return {group: Failure(*fields) for group, fields in self.spool.failures().items()}
