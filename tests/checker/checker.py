"""
What must hold of a workspace, whatever happened to it: the judge of every trial. It shares no code with the product.

It is given the files, what was acknowledged to writers, the time, and what people did on purpose; it answers with sentences,
none when all is well. Source: docs/protocol.md, 3 to 6; the invariants I1 to I11.
"""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

from tests.checker.formats import Dated, Summary, Unreadable, Words, read_dated, read_history, read_summary, sha16

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import date, datetime

_DATED = re.compile(r"memory/(?:originals/(\d{4}-\d{2})/)?((\d{4}-\d{2}-\d{2})-[a-z0-9-]{1,40}\.md)")
_TASK = re.compile(r"worker/(queue|running|results|failed)/[^/]*\.json")
_SUMMARY = re.compile(r"memory/summary/(\d{4}-\d{2}(?:-\d{2})?)\.md")

#: What the day has cost stays written; a fault of the provider does not.
PROVIDER = "worker/failed/provider.json"


class Acked(NamedTuple):
    """A message whose writer was told that it is kept; *id* is "" where the writer gave none."""

    id: str
    text: str
    created_at: str


@dataclass(frozen=True)
class Given:
    """
    What the judge knows besides the files: the time, and what people did on purpose (ids whose words they deleted, paths
    they edited or deleted). *calm*: everything due was done; *all_written*: even what was not due (`--until-settled`).
    """

    now: datetime
    zone: str
    calm: bool = True
    all_written: bool = False
    ordered: bool = True
    deleted_ids: Collection[str] = ()
    touched_paths: Collection[str] = ()
    recent_days: int = 5

    @property
    def today(self) -> date:
        return self.now.astimezone(ZoneInfo(self.zone)).date()


@dataclass
class _Seen:
    """The files, read."""

    history: tuple[dict[str, Any], ...] = ()
    dated: dict[str, Dated] = field(default_factory=dict)  # by path
    data: dict[str, bytes] = field(default_factory=dict)
    summaries: dict[str, Summary] = field(default_factory=dict)  # by period
    in_flight: set[str] = field(default_factory=set)  # dated files that a task or a result names
    words: defaultdict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))  # id and text -> paths

    @property
    def ids(self) -> set[str]:
        """The ids under which any words are written."""
        return {identity for identity, _ in self.words}

    def texts(self) -> Iterator[tuple[Words, str]]:
        for path, file in self.dated.items():
            for one in file.words:
                yield one, path


def check(
    files: Mapping[str, bytes], acked: Sequence[Acked], given: Given, modes: Mapping[str, int] | None = None
) -> list[str]:
    """Return what is wrong with the workspace whose *files* are these, by their path from its root."""
    wrong: list[str] = []
    seen = _read(files, given, wrong)
    wrong += _kept(seen, acked, given)
    wrong += _once(seen, given)
    wrong += _flags(seen, given)
    wrong += _sources(seen, given)
    wrong += _order(seen, acked) if given.ordered else []
    if given.calm:
        wrong += _calm(files, seen, given)
    for path, mode in (modes or {}).items():
        if mode & 0o077:
            wrong.append(f"{path} has mode {mode:04o}")
    return wrong


# ── reading: every machine file parses ───────────────────────────────────────


def _read(files: Mapping[str, bytes], given: Given, wrong: list[str]) -> _Seen:
    seen = _Seen()
    for path, data in files.items():
        try:
            _read_one(path, data, seen)
        except (Unreadable, ValueError, KeyError) as error:
            if path not in given.touched_paths:
                wrong.append(f"{path} can't be read: {error}")
    if "history.json" not in files and "history.json.bak" in files:
        wrong.append("history.json is gone")
    for one, path in seen.texts():
        seen.words[one.id, one.text].append(path)
    return seen


def _read_one(path: str, data: bytes, seen: _Seen) -> None:
    if path == "history.json":
        seen.history = read_history(data)
    elif path == "history.json.bak":
        read_history(data)
    elif path == "recalld.toml":
        tomllib.loads(data.decode())
    elif match := _DATED.fullmatch(path):
        found = read_dated(data)
        seen.data[match[2]] = data
        if found:
            seen.dated[path] = found
            if found.head["period"] != match[3]:
                raise Unreadable(f"its period is {found.head['period']}")
    elif match := _SUMMARY.fullmatch(path):
        summary = read_summary(data)
        seen.summaries[match[1]] = summary
        if summary.head and summary.head.get("period") != match[1]:
            raise Unreadable(f"its period is {summary.head.get('period')}")
        if summary.head and not summary.digest_holds:
            raise Unreadable("its text is not the one its head has the digest of")
    elif match := _TASK.fullmatch(path):
        task = json.loads(data)
        if not isinstance(task, dict):
            raise Unreadable("it is no object")
        if match[1] != "failed":
            seen.in_flight.update(source["name"] for source in task["sources"])


# ── the promises ─────────────────────────────────────────────────────────────


def _kept(seen: _Seen, acked: Sequence[Acked], given: Given) -> list[str]:
    """Every acknowledged message stands word for word in history.json or in a dated file."""
    in_history = {(str(one.get("id", "")), _text(one)) for one in seen.history}
    nameless = Counter((_text(one), _time(one)) for one in seen.history)
    for words, _ in seen.texts():
        if (words.id, words.text) not in in_history:
            nameless[words.text, words.created_at] += 1
    wrong = []
    for one, count in Counter(acked).items():
        if one.id in given.deleted_ids:
            continue
        if one.id and (one.id, one.text) not in in_history and (one.id, one.text) not in seen.words:
            wrong.append(f"LOST: {one.id} {one.text[:40]!r}")
        if not one.id and nameless[one.text, one.created_at] < count:
            wrong.append(f"LOST: {one.created_at} {one.text[:40]!r}")
    return wrong


def _once(seen: _Seen, given: Given) -> list[str]:
    """No message is written twice; a dated file lies in one place, but for a move that a crash cut in half."""
    wrong = []
    for (identity, _), paths in seen.words.items():
        names = {path.rpartition("/")[2] for path in paths}
        if len(names) > 1 or len(set(paths)) < len(paths):
            wrong.append(f"DOUBLE: {identity} is in {' and '.join(paths)}")
    if given.calm:
        places = Counter(path.rpartition("/")[2] for path in seen.dated)
        wrong += [f"{name} lies in {count} places" for name, count in places.items() if count > 1]
    return wrong


def _flags(seen: _Seen, given: Given) -> list[str]:
    """`true` means that the words are in a dated file; what a task is made from is no longer `false`."""
    return [
        f"{one.get('id')} has the flag {one.get('archived', False)!r}, but {why}"
        for one in seen.history
        for why in _contradictions(one, seen, given)
    ]


def _contradictions(one: Mapping[str, Any], seen: _Seen, given: Given) -> Iterator[str]:
    flag = one.get("archived", False)
    files = {path.rpartition("/")[2] for path in seen.words.get((str(one.get("id", "")), _text(one)), ())}
    if flag not in (True, False, "pending"):
        yield "there is no such flag"
    revised = not given.calm and str(one.get("id", "")) in seen.ids  # the words before these are written
    if flag is True and not files and not revised and one.get("id") not in given.deleted_ids:
        yield "its words are in no dated file"
    if flag is False and files & seen.in_flight:
        yield "a task with its words is in flight"
    if given.calm and flag == "pending":
        yield "nothing is in flight"
    if given.calm and flag is not True and files:
        yield "its words are written"
    if given.all_written and flag is not True:
        yield "every message was to be archived"


def _order(seen: _Seen, acked: Sequence[Acked]) -> list[str]:
    """Messages stand in history.json in the order they came."""
    place = {one.id: n for n, one in reversed(list(enumerate(acked)))}  # of words said anew, the first time counts
    found = [str(one["id"]) for one in seen.history if one.get("id") in place]
    if len(found) != len(set(found)):
        return [f"history.json holds an id twice: {Counter(found).most_common(1)[0][0]}"]
    wrong = [f"{b} stands behind {a}" for a, b in itertools.pairwise(found) if place[a] > place[b]]
    return wrong[:1]


def _sources(seen: _Seen, given: Given) -> list[str]:
    """Every summary names files that are there, with the bytes that they have, each once and of its own period."""
    wrong = []
    named: Counter[tuple[str, int]] = Counter()
    gone = {path.rpartition("/")[2] for path in given.touched_paths}
    for period, summary in seen.summaries.items():
        for name, digest in summary.sources.items():
            named[name, len(period)] += 1
            if not name.startswith(period):
                wrong.append(f"summary {period} names {name}")
            if name in gone:
                continue
            if name not in seen.data:
                wrong.append(f"summary {period} names {name}, which is not there")
            elif sha16(seen.data[name]) != digest:
                wrong.append(f"summary {period} names {name} with another digest")
    return wrong + [f"{name} is named by {count} summaries of one kind" for (name, _), count in named.items() if count > 1]


# ── after calm ───────────────────────────────────────────────────────────────


def _calm(files: Mapping[str, bytes], seen: _Seen, given: Given) -> list[str]:
    wrong = [f"{path} was left behind" for path in files if path.endswith(".tmp")]
    for folder in ("queue", "running", "results", "failed"):
        wrong += [f"{path} is still there" for path in files if path.startswith(f"worker/{folder}/") and path != PROVIDER]
    if PROVIDER in files and json.loads(files[PROVIDER]).get("attempts"):
        wrong.append(f"{PROVIDER} still holds a fault")
    standing = {(name, digest) for summary in seen.summaries.values() for name, digest in summary.sources.items()}
    last_month = _month_before(given.today)
    for path in seen.dated:
        match = _DATED.fullmatch(path)
        assert match
        month, name, day = match.groups()
        covered = (name, sha16(seen.data[name])) in standing
        old = _days_between(day, given.today) > given.recent_days
        if old and not covered:
            wrong.append(f"{path} is old and no summary names it")
        if month is None and old and covered:
            wrong.append(f"{path} is covered and lies in memory/")
        if month is not None and (not covered or month != name[:7]):
            wrong.append(f"{path} lies in originals/, {'in another month' if covered else 'and no summary names it'}")
        if old and name[:7] < last_month and name not in _named_by(seen, name[:7]):
            wrong.append(f"{name} is of a closed month, and {name[:7]}.md does not name it")
    return wrong


def _named_by(seen: _Seen, period: str) -> Collection[str]:
    return seen.summaries[period].sources if period in seen.summaries else ()


def _month_before(today: date) -> str:
    year, month = (today.year, today.month - 1) if today.month > 1 else (today.year - 1, 12)
    return f"{year:04d}-{month:02d}"


def _days_between(day: str, today: date) -> int:
    return (today - type(today).fromisoformat(day)).days


def _text(message: Mapping[str, Any]) -> str:
    found = message.get("text", message.get("content", ""))
    if isinstance(found, list):
        parts = [part if isinstance(part, str) else part.get("text", "") for part in found]
        return "\n".join(part for part in parts if part)
    return str(found or "")


def _time(message: Mapping[str, Any]) -> str:
    return str(message.get("createdAt", ""))
