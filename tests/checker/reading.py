"""The files of a workspace, read strictly: every machine file parses and comes to its end."""

import hashlib
import json
import os
import re
import stat
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.checker.formats import (
    Dated,
    Summary,
    Unreadable,
    Words,
    read_dated,
    read_failure,
    read_history,
    read_lines,
    read_summary,
)
from tests.checker.given import Given

DATED = re.compile(r"memory/(?:originals/(\d{4}-\d{2})/)?((\d{4}-\d{2}-\d{2})-[a-z0-9-]{1,40}\.md)")
_SUMMARY = re.compile(r"memory/summary/(\d{4}-\d{2}(?:-\d{2})?)\.md")
_TASK = re.compile(r"worker/(queue|running|results)/[^/]*\.json")
_FAILED = re.compile(r"worker/failed/((?:day|month)-[0-9-]+)\.json")
_TURN = re.compile(r"turns/([^/.][^/]*)\.json")
#: Copies that are named by their content.
_COPY = re.compile(r"\.recalld/(?:quarantine/[^/]+|previous/[0-9-]+)\.([0-9a-f]{12})(?:\.md)?")

#: What the day has cost stays written; a fault of the provider does not.
PROVIDER = "worker/failed/provider.json"


@dataclass
class Seen:
    """The files, read."""

    history: tuple[dict[str, Any], ...] = ()
    dated: dict[str, Dated] = field(default_factory=dict)  # ours and whole, by path
    data: dict[str, bytes] = field(default_factory=dict)  # whatever is named like one, by name
    places: dict[str, list[str]] = field(default_factory=dict)  # of these, by name
    summaries: dict[str, Summary] = field(default_factory=dict)  # by period
    in_flight: set[str] = field(default_factory=set)  # dated files that a task or a result names
    failures: dict[str, dict[str, Any]] = field(default_factory=dict)  # by group
    journal: set[str] | None = None  # the dated files that it knows; None where there is no journal
    words: defaultdict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))  # id and text -> paths

    @cached_property
    def nameless(self) -> dict[tuple[str, str], set[str]]:
        """The names of the files that hold words first met without an id: they may come back with the one that they had."""
        found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for one, path in self.texts():
            if one.id.startswith("m-"):
                found[one.text, one.created_at].add(path.rpartition("/")[2])
        return dict(found)

    @cached_property
    def filed(self) -> set[str]:
        """The words of every message that is written."""
        return {text for _, text in self.words}

    @cached_property
    def ids(self) -> set[str]:
        """The ids under which any words are written."""
        return {identity for identity, _ in self.words}

    def texts(self) -> Iterator[tuple[Words, str]]:
        for path, file in self.dated.items():
            for one in file.words:
                yield one, path


def read_folder(root: Path) -> tuple[dict[str, bytes], dict[str, int], list[str]]:
    """The files of a real folder by path, the modes of all in it, and what leads out of it."""
    files, modes, wrong = {}, {}, []
    for folder, names, inside in os.walk(root):
        for name in (*names, *inside):
            path = Path(folder, name)
            where = path.relative_to(root).as_posix()
            found = path.lstat()
            if stat.S_ISLNK(found.st_mode):
                wrong += [] if path.resolve().is_relative_to(root.resolve()) else [f"{where} leads out of the workspace"]
                continue
            modes[where] = stat.S_IMODE(found.st_mode)
            if stat.S_ISREG(found.st_mode):
                files[where] = path.read_bytes()
    return files, modes, wrong


def read(files: Mapping[str, bytes], given: Given, wrong: list[str]) -> Seen:
    """Read everything; what can't be read is a fault, unless a person touched it."""
    seen = Seen()
    touched = given.touched_names
    for path, data in files.items():
        try:
            _read_one(path, data, seen)
        except (Unreadable, ValueError, KeyError, TypeError) as error:
            if path.rpartition("/")[2] not in touched:
                wrong.append(f"{path} can't be read: {error}")
    if "history.json" not in files and "history.json.bak" in files:
        wrong.append("history.json is gone")
    for one, path in seen.texts():
        seen.words[one.id, one.text].append(path)
    return seen


def _read_one(path: str, data: bytes, seen: Seen) -> None:
    if path == "history.json":
        seen.history = read_history(data)
    elif path == "history.json.bak":
        read_history(data)
    elif path == "recalld.toml":
        tomllib.loads(data.decode())
    elif path == "log.jsonl":
        read_lines(data, "ts", "event")
    elif path == ".recalld/seen.jsonl":
        seen.journal = {line["file"] for line in read_lines(data) if "written" in line}
    elif match := DATED.fullmatch(path):
        seen.data[match[2]] = data
        seen.places.setdefault(match[2], []).append(path)
        found = read_dated(data)
        if found:
            seen.dated[path] = found
            if found.head["period"] != match[3]:
                raise Unreadable(f"its period is {found.head['period']}")
    elif match := _SUMMARY.fullmatch(path):
        _read_summary(match[1], data, seen)
    else:
        _read_state(path, data, seen)


def _read_summary(period: str, data: bytes, seen: Seen) -> None:
    summary = seen.summaries[period] = read_summary(data)
    if not summary.head:
        return
    if summary.head.get("period") != period:
        raise Unreadable(f"its period is {summary.head.get('period')}")
    if not summary.digest_holds:
        raise Unreadable("its text is not the one its head has the digest of")
    if not summary.ends:
        raise Unreadable("it does not end with its sources")


def _read_state(path: str, data: bytes, seen: Seen) -> None:
    if _TASK.fullmatch(path) or _TURN.fullmatch(path) or path == PROVIDER:
        found = json.loads(data)
        if not isinstance(found, dict):
            raise Unreadable("it is no object")
        if path.startswith("worker/") and path != PROVIDER:
            seen.in_flight.update(source["name"] for source in found["sources"])
        elif path != PROVIDER and f"turns/{found['id']}.json" != path:
            raise Unreadable(f"it is the turn {found['id']}")
    elif match := _FAILED.fullmatch(path):
        seen.failures[match[1]] = read_failure(data)
    elif (match := _COPY.fullmatch(path)) and hashlib.sha256(data).hexdigest()[:12] != match[1]:
        raise Unreadable("its content is not the one it is named by")


def text_of(message: Mapping[str, Any]) -> str:
    """The words of a message in history.json, however they are spelt."""
    found = message.get("text", message.get("content", ""))
    if isinstance(found, list):
        parts = [part if isinstance(part, str) else part.get("text", "") for part in found]
        return "\n".join(part for part in parts if part)
    return str(found or "")


def time_of(message: Mapping[str, Any]) -> str:
    return str(message.get("createdAt", ""))
