"""
The table `.recalld/files.json`: what was read from each file of memory, and in which version of the file.

A process that starts reads this one file in place of all of memory/. The files stay the truth: an entry counts only while the
file is the version that it names, and the table may be deleted at any moment. Source: docs/reference/protocol.md, 1.6.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from ..protocol.paths import Period, WorkspacePaths
from ..protocol.summary_file import Source
from ..storage.clock import from_wire, to_wire
from ..storage.disk import Stat
from ..storage.errors import SupervisorError
from ..storage.files import Files
from ..text.record import record
from .coverage import ExistingSummary, MemoryFile

_FORMAT: Final = 7


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
    kind, read = (ExistingSummary, _OF_SUMMARY) if path == "memory/summary" else (MemoryFile, _OF_DATED)
    names = _stored(kind)
    stats, values = {}, {}
    for file, (stat, stored) in entries.items():
        stats[file] = Stat(*map(int, stat))
        pairs = zip(names, stored, strict=True)
        values[file] = kind(
            **{name: read[name](value) if name in read and value is not None else value for name, value in pairs}
        )
    return ReadFolder(stats, values)


def _stored(kind: type[Any]) -> list[str]:
    return [field.name for field in fields(kind) if field.init]


#: How a value for which JSON has no form is read again, by the name of its field.
_OF_DATED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "day": date.fromisoformat,
    "created": from_wire,
    "ids": lambda numbers: array("I", numbers),
    "sessions": frozenset,
    "groups": lambda pairs: frozenset(map(tuple, pairs)),
    "attachments": frozenset,
}
_OF_SUMMARY: Final[Mapping[str, Callable[[Any], Any]]] = {
    "period": Period,
    "sources": lambda sources: frozenset(Source(*source) for source in sources),
}


def _to_json(value: object) -> Any:
    match value:
        case MemoryFile() | ExistingSummary():
            return [_to_json(getattr(value, name)) for name in _stored(type(value))]
        case frozenset():
            return sorted(map(_to_json, value))
        case Source():
            return value.name, value.digest, value.count
        case Period():
            return value.label
        case datetime():
            return to_wire(value)
        case date():
            return value.isoformat()
        case array():
            return value.tolist()
        case _:
            return value
