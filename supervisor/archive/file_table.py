"""
The table `.recalld/files.json`: what was read from each file of memory, and in which version of the file.

A process that starts reads this one file in place of all of memory/. The files stay the truth: an entry counts only while the
file is the version that it names, and the table may be deleted at any moment. Source: docs/reference/protocol.md, 1.6.
"""

from __future__ import annotations

import json
from array import array
from base64 import b64decode, b64encode
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..protocol.period import Period
from ..protocol.summary_file import Source
from ..storage.clock import from_wire, to_wire
from ..storage.disk import Stat
from ..storage.errors import SupervisorError
from ..text.record import record
from .coverage import ExistingSummary, MemoryFile

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ..protocol.paths import WorkspacePaths
    from ..storage.files import Files

_FORMAT: Final = 6

Value: TypeAlias = MemoryFile | ExistingSummary


@record
class ReadFolder:
    """The files of a folder when they were last read, and what was read from those that are memory."""

    stats: Mapping[str, Stat]
    values: Mapping[str, Any]


class FileTable:
    """The table of a workspace: read once by a process, and written by any that has read files."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files = files
        self._paths = paths

    def read(self) -> dict[Path, ReadFolder]:
        """Return what the table has of each folder; nothing where there is none, or none of this format."""
        try:
            version = self._files.read_stable(self._paths.files)
            table = json.loads(version.data) if version else {}
            if table.get("format") != _FORMAT:
                return {}
            return {self._paths.root / name: _folder(name, entries) for name, entries in table["folders"].items()}
        except (OSError, SupervisorError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return {}

    def write(self, folders: Mapping[Path, ReadFolder]) -> None:
        """Replace the table; where that fails the next process reads the files themselves."""
        named = {self._paths.relative(path): _entries(folder) for path, folder in folders.items()}
        data = json.dumps({"format": _FORMAT, "folders": named}, separators=(",", ":")).encode("ascii")
        with suppress(OSError, SupervisorError):
            self._files.replace(self._paths.files, data, self._files.read_stable(self._paths.files))


def _entries(folder: ReadFolder) -> dict[str, tuple[Any, ...]]:
    return {name: (folder.stats[name], _to_json(value)) for name, value in folder.values.items()}


def _folder(path: str, entries: Mapping[str, Any]) -> ReadFolder:
    read = _summary_of if path == "memory/summary" else _dated_of
    original = path != "memory"
    stats = {name: Stat(*map(int, stat)) for name, (stat, _) in entries.items()}
    return ReadFolder(stats, {name: read(name, value, original=original) for name, (_, value) in entries.items()})


def _to_json(value: Value) -> tuple[Any, ...]:
    if isinstance(value, ExistingSummary):
        sources = sorted((source.name, source.digest, source.count) for source in value.sources)
        stands = value.extract, value.waits, value.enough, value.refused, value.edited
        return value.period.label, value.digest, stands, sources, value.text
    created = value.created and to_wire(value.created)
    ids = None if value.ids is None else b64encode(value.ids.tobytes()).decode("ascii")
    about = value.day.isoformat(), value.digest, value.count, value.size, value.ours, created, value.period, ids, value.broken
    return *about, sorted(value.sessions), sorted(value.attachments), value.as_made, value.undated, sorted(value.groups)


def _dated_of(name: str, value: Any, *, original: bool) -> MemoryFile:
    day, digest, count, size, ours, created, period, ids, broken, sessions, attachments, as_made, undated, groups = value
    return MemoryFile(
        name=name,
        digest=digest,
        day=date.fromisoformat(day),
        count=count,
        size=size,
        ours=ours,
        original=original,
        created=from_wire(created) if created else None,
        period=period,
        ids=None if ids is None else array("I", b64decode(ids)),
        broken=broken,
        as_made=as_made,
        undated=undated,
        sessions=frozenset(sessions),
        groups=frozenset((session, kind) for session, kind in groups),
        attachments=frozenset(attachments),
    )


def _summary_of(_name: str, value: Any, *, original: bool) -> ExistingSummary:  # noqa: ARG001 - as for a dated file
    label, digest, stands, sources, text = value
    extract, waits, enough, refused, edited = stands
    return ExistingSummary(
        period=Period(label),
        sources=frozenset(Source(*source) for source in sources),
        text=text,
        extract=extract,
        waits=waits,
        enough=enough,
        refused=refused,
        edited=edited,
        digest=digest,
    )
