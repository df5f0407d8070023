"""
Sources: logs, folders and other workspaces that the supervisor takes in by itself, by [sources] of recalld.toml.

What is new is read by the readers of `import`, under the same ids, so that what a hook has kept, or a hand has imported, is not
added twice. `.recalld/sources/NAME.json` says how far a source is read, and holds no word of it. A source that is away is left
alone. It may be anybody's folder: nothing in it is believed, waited for, or read without an end.
"""

import json
import os
import stat as modes
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from functools import partial
from itertools import accumulate, chain
from pathlib import Path, PurePosixPath
from typing import Any, Final

from ..forgetting.wanted import Wanted
from ..protocol.connections import State, TakenSource, read_state
from ..protocol.message import digest_of_text
from ..storage.clock import Clock, local_day, to_wire, truncate_to_ms, wire_time
from ..storage.control import Control, Step
from ..storage.errors import BadRequest, why_refused
from ..storage.texts import Text, stored
from ..text.foreign_text import printable_line
from ..workspace import Workspace
from .kinds import CLIENTS, UNDATED, WORKSPACE, logs_of
from .memories import copy_notes, files_of, forget_theirs, is_taken, take_texts
from .run import Import
from .source import Source, names_below

#: How long a file has not changed before it is read, and before one is that may have been cut off.
_QUIET: Final = timedelta(minutes=10)
_SETTLED: Final = timedelta(days=1)
#: Seconds between two looks, and the share of a core that reading may have: with what a supervisor does besides, a tenth.
_LOOK_EVERY_S: Final = 300.0
_SHARE: Final = 0.09
_LONGEST_REST_S: Final = 3600.0
#: Files and bytes that are read at once, unless one alone has more.
_BATCH_FILES: Final = 200
_BATCH_BYTES: Final = 32_000_000
#: The largest file that is read by itself, and what a folder holds at most, its own folders among it.
_MOST_BYTES: Final = 500_000_000
_MOST_ENTRIES: Final = 100_000
#: Files that were left out and are named one by one.
_MOST_NAMED: Final = 20


class Taking:
    """One source, and what is taken of it."""

    def __init__(self, ws: Workspace, source: TakenSource, clock: Clock) -> None:
        self._ws, self._source, self._clock = ws, source, clock
        self._now = truncate_to_ms(clock())
        self._is_workspace = source.kind == WORKSPACE.name
        self.state = State()
        #: The folders or files that it has here, each with what it holds: names, signatures and sizes.
        self._roots: dict[Path, dict[str, tuple[str, int]]] = {}

    # ── looking ──────────────────────────────────────────────────────────────

    def look(self) -> bool:
        """Look what there is; False where the source is away, or is none that is read."""
        state = self.state = read_state(self._ws.files, self._ws.paths.source(self._source.name))
        state.left = {name: why for name, why in state.left.items() if why.get("key") in state.done}
        why = ""
        try:
            self._roots = {root: self._listed(root) for root in _places(self._ws, self._source)}
        except ValueError as error:
            why = error.args[0]
        except OSError as error:
            path = error.filename or self._source.name
            why = Text("{path} can't be read ({why})", path=path, why=why_refused(error))
        state.trouble = _stored(why) if why else None
        is_there = any(self._roots.values())
        state.away = "" if is_there or why else state.away or to_wire(self._now)
        if is_there:
            self._note_changes()
        return is_there

    def _listed(self, root: Path) -> dict[str, tuple[str, int]]:
        """Return the files below a folder, or the one file; links, pipes, hidden folders are none. ValueError for no source."""
        here = self._ws.paths.root.resolve()
        if any(map(root.samefile, (here, *here.parents))) or any(map(here.samefile, root.resolve().parents)):
            raise ValueError(Text("{path} is this workspace, or a folder around it or in it", path=root))
        files: dict[str, tuple[str, int]] = {}
        names = files_of(root) if self._is_workspace else names_below(root, root)
        for n, name in enumerate(names if root.is_dir() else [""]):
            if n >= _MOST_ENTRIES:
                why = Text("{path} has more than {count} files; give a folder of its own", path=root, count=_MOST_ENTRIES)
                raise ValueError(why)
            with suppress(FileNotFoundError):
                stat = os.stat(root / name, follow_symlinks=not name)
                is_read = modes.S_ISREG(stat.st_mode) and (not (name and self._is_workspace) or is_taken(name))
                if is_read and stat.st_size > _MOST_BYTES:
                    why = Text("it is larger than 500 MB; `recalld import PATH` reads it")
                    self._leave_out(_key(root, name), name or root.name, why)
                elif is_read:
                    files[name] = (f"{stat.st_size}-{stat.st_mtime_ns}-{stat.st_ino}", stat.st_size)
        return files

    def _note_changes(self) -> None:
        state, now = self.state, self._now
        listed = {_key(root, name): signature for root, names in self._roots.items() for name, (signature, _) in names.items()}
        state.done = {key: signature for key, signature in state.done.items() if listed.get(key) == signature}
        before, state.pending = state.pending, {}
        for key, signature in listed.items():
            if key not in state.done:
                known, since, first = before.get(key, (signature, now, now))
                is_same = known == signature and since <= now
                state.pending[key] = (signature, since if is_same else now, min(first, now))

    # ── reading ──────────────────────────────────────────────────────────────

    def round(self, control: Control, *, at_once: bool = False) -> Iterator[bool]:
        """Look, and read what is due: yield after each batch, when it is written down how far the source is read."""
        batches = [*self._batches(at_once=at_once)] if self.look() else []
        self.keep()
        name, why = self._source.name, self.state.why()
        self._ws.events.transition("source_refused", why, what=name, source=name, why=why)
        if self._source.forgets:
            self.forget()
        for root, names in batches:
            self._now, before = truncate_to_ms(self._clock()), self.state.messages
            try:
                self._read(root, names, control)
                if names is batches[-1][1]:  # else a round that is broken off would wait
                    self.state.taken = to_wire(self._now)
            finally:
                self.keep()
            if added := self.state.messages - before:
                self._ws.events.emit("taken_in", source=name, messages=added)
            yield True

    def _batches(self, *, at_once: bool) -> Iterator[tuple[Path, list[str]]]:
        for root, files in self._roots.items():
            waiting = {name: self.state.pending.get(_key(root, name)) for name in sorted(files)}
            due = [name for name, since in waiting.items() if since and (at_once or self._is_due(*since))]
            while due:
                sizes = accumulate(files[name][1] for name in due[:_BATCH_FILES])
                count = max(1, sum(size <= _BATCH_BYTES for size in sizes))
                yield root, due[:count]
                del due[:count]

    def _is_due(self, _signature: str, since: datetime, first: datetime) -> bool:
        last, every, zone = wire_time(self.state.taken), self._source.every, self._ws.zone
        if every:
            return not (last and timedelta() <= self._now - last < every)
        # it is read at night at the latest, though it goes on changing
        return self._now - since >= _QUIET or local_day(first, zone) < local_day(self._now, zone)

    def _read(self, root: Path, names: list[str], control: Control) -> None:
        """Add what is new in the files; those that may not be whole yet wait."""
        ws, state, keys = self._ws, self.state, {name: _key(root, name) for name in names}
        settled = {name for name, key in keys.items() if self._now - state.pending[key][1] >= _SETTLED}
        with closing(Source(root, names)) as source:
            work = Import(
                ws, source, self._now, self._source.kind, settled=settled if root.is_dir() else None, is_wanted=self._is_wanted
            )
            done = work.add(work.read(), control)
            state.messages += done.added
            state.unread += sum(done.unread.values())
            became = dict[str, str]()
            if self._is_workspace:
                became = take_texts(ws, source, self._source.name, self._now, state)
            elif not self._source.kind and WORKSPACE not in work.files:
                became = copy_notes(ws, source, state.notes)
                strange = sorted({*source.names} - {*chain(became, *work.files.values())} - source.left_out.keys())
                others = Text("one of {count} files that are no log and no export that recalld knows", count=len(strange))
                source.left_out |= dict.fromkeys(strange[:1], others)
            left = source.left_out | {name: what for name, what in became.items() if isinstance(what, Text)}
        state.left = {name: why for name, why in state.left.items() if why.get("key") not in keys.values()}
        for name, why in left.items():
            places = (name, *map(str, PurePosixPath(name).parents), names[0])  # what is in an archive goes with it
            self._leave_out(next(keys[place] for place in places if place in keys), name or root.name, why)
        if not control.should_stop():
            for key in (keys[name] for name in keys.keys() - work.reading.waits):
                state.done[key] = state.pending.pop(key)[0]

    def _is_wanted(self, message: Mapping[str, Any]) -> bool:
        since, patterns = self._source.since, self._source.sessions or self._ws.config.sources.sessions
        if since and (at := message["createdAt"]) and local_day(at, self._ws.zone) < since:
            return False
        return not patterns or any(fnmatchcase(str(message.get("session", "")), pattern) for pattern in patterns)

    def forget(self, *, yes: bool | None = None) -> Wanted:
        """Forget what was forgotten there, a few a day, all of it with *yes*, none with False; return what waits here."""
        left = Wanted()
        for root in self._roots:
            left = forget_theirs(self._ws, root, self._source.name, self._now, yes=yes)
            self.state.waits = len(left)
            self.keep()
        return left

    def _leave_out(self, key: str, name: str, why: str) -> None:
        """Name what was left out of the file that has this key, until that changes."""
        if len(self.state.left) < _MOST_NAMED:
            undated = {"undated": True} if why is UNDATED else {}
            self.state.left[printable_line(name)] = {**_stored(why), "key": key, **undated}

    def keep(self) -> None:
        """Write down how far the source is read."""
        ws, place = self._ws, self._ws.paths.source(self._source.name)
        ws.files.make_folder(ws.paths.sources)
        data = json.dumps(vars(self.state), default=to_wire).encode() + b"\n"
        if (before := ws.files.read_stable(place)) is None or before.data != data:
            ws.files.replace(place, data, before)


def _places(ws: Workspace, source: TakenSource) -> list[Path]:
    kind = next((kind for kind in CLIENTS if kind.name == source.kind), None)
    if kind and not source.path:
        return logs_of(kind, ws.environ)
    home, path = ws.environ.get("HOME") or str(Path.home()), source.path
    place = ws.paths.root / (Path(home, path[1:].lstrip("/")) if path == "~" or path.startswith("~/") else path)
    return [place] if place.exists() else []


def _key(root: Path, name: str) -> str:
    return digest_of_text(f"{root}\0{name}")


def _stored(why: str) -> dict[str, Any]:
    return {"english": str(why), **(stored(why) or {})}


# ── all of them ──────────────────────────────────────────────────────────────


def named(ws: Workspace, name: str) -> list[TakenSource]:
    """Return the source of this name, all for ""; BadRequest where there is none of this name."""
    sources = [source for source in ws.config.sources.take if name in ("", source.name)]
    if name and not sources:
        raise BadRequest("import", Text("recalld.toml has no source {name}", name=name))
    return sources


def take_in(ws: Workspace, clock: Clock, control: Control, name: str = "") -> Iterator[bool]:
    """
    Take in what is due of each source, and yield after each batch. One that fails keeps no other away.

    The source *name* alone is taken in at once. BadRequest where there is none of this name.
    """
    for source in named(ws, name):
        batches = Taking(ws, source, clock).round(control, at_once=bool(name))
        following = partial(next, batches, False)
        step = following if name else partial(ws.events.attempt, f"source {source.name}", following, False, once=False)
        while not control.should_stop() and step():
            yield True


def step_of(ws: Workspace, clock: Clock) -> Step:
    """
    Return the step of a supervisor's job that takes in what is due, a tenth of a core on average.

    What follows from a batch is counted too: the days that are filed, their index, vectors and summaries.
    """
    began_s, used_s = time.monotonic(), time.process_time()
    batches: Iterator[bool] | None = None

    def step(until_end: Control) -> float:
        nonlocal began_s, used_s, batches
        rest_s = began_s + min((time.process_time() - used_s) / _SHARE, _LONGEST_REST_S) - time.monotonic()
        if rest_s > 0:
            return rest_s
        began_s, used_s = time.monotonic(), time.process_time()
        batches = batches or take_in(ws, clock, until_end)
        if next(batches, False):
            return 0  # when it is called again, it knows how long it rests
        batches = None
        return _LOOK_EVERY_S

    return step
