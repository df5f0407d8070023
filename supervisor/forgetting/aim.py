"""What one forgetting goes for, while it goes through the places: the words, what names them, and what was made from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..archive.places import place_of
from ..longterm.lines import parse_entry
from .wanted import Trace, decoded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from ..protocol.message import Key
    from ..protocol.period import Period
    from ..workspace import Workspace
    from .wanted import Standing


@dataclass
class Aim:
    """
    The *messages*, *lines* and *files* to forget; without *applies* it is only looked what would be done.

    *touched* has the paths of the files that were changed or deleted, by place; *renamed* the dated files that were made anew.
    *notes* is the trace of those *files* that are a person's notes.
    """

    ws: Workspace
    now: datetime
    messages: Mapping[Key, Standing]
    lines: tuple[str, ...]
    files: tuple[str, ...]
    applies: bool
    touched: dict[str, list[str]] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    trace: Trace = field(init=False)
    notes: Trace = field(init=False)
    names: frozenset[str] = field(init=False)
    summaries: tuple[Period, ...] = field(init=False)

    def __post_init__(self) -> None:
        recorded = filter(None, map(self.ws.journal.file_of, self.messages))
        self.names = frozenset(recorded) | {path.name for message in self.messages.values() for path in message.files}
        contents = [entry.content if (entry := parse_entry(line)) else line for line in self.lines]
        ids = {key[0] for key in self.messages}
        self.trace = Trace([*(message.said.text for message in self.messages.values()), *contents], {*ids, *self.names})
        self.notes = Trace(line for name in self.files for line in self._lines_of_note(name))
        self.summaries = tuple(
            period
            for period, summary in sorted(self.ws.memory.summaries().items(), key=lambda item: item[0].label)
            if any(source.name in self.names for source in summary.sources) or self.trace.is_in(summary.text)
        )

    def _lines_of_note(self, name: str) -> list[str]:
        path = self.ws.paths.root / name
        is_note = path.suffix == ".md" and self.ws.paths.memory in path.parents
        version = self.ws.files.read_stable(path) if is_note else None
        return decoded(version.data).splitlines() if version else []

    def note(self, path: Path) -> bool:
        """Note that this file is changed or deleted; return whether that is to be done, not only shown."""
        relative = self.ws.paths.relative(path)
        place = place_of(relative)
        known = self.touched.setdefault(place.what if place else "others", [])
        if relative not in known:
            known.append(relative)
        return self.applies

    def remove(self, path: Path) -> None:
        """Delete the file, or show that it would be."""
        if self.note(path):
            self.ws.files.remove(path)

    def replace(self, path: Path, data: bytes) -> None:
        """Replace the file by *data*, or show that it would be; Conflict if another program writes it meanwhile."""
        if self.note(path):
            self.ws.files.replace(path, data, self.ws.files.read_stable(path))
