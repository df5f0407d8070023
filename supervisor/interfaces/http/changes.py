"""
What has changed, for open pages: a stream of server-sent events with kinds and names, and never a word of a message.

The files are looked at once a second for each listener; the events of the log are read from its end on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Final, TypeAlias

from ...events import priority
from ...storage.disk import Stat, open_regular
from ...storage.errors import SupervisorError
from ...workspace import Workspace

#: Seconds between two looks at the files, and the looks between two signs of life.
_LOOK_S: Final = 1.0
_SIGN: Final = 10
#: The priority of an event that is no fault.
_NOTICE: Final = 6
#: The changes of one look, and the newest bytes of the log that it reads.
_MOST: Final = 100
_MOST_BYTES: Final = 100_000
#: A change, {kind, id}; the id of an event is its name.
Change: TypeAlias = "dict[str, str]"
#: What changes when something of that kind does.
Signatures: TypeAlias = "dict[str, tuple[Stat | None, ...]]"


async def stream(
    ws: Callable[[], Workspace],
    run: Callable[..., Awaitable[list[Change]]],
    ended: asyncio.Event,
    stays: Callable[[], bool],
) -> AsyncIterator[str]:
    """
    Yield the changes as server-sent events until the service has *ended*, or who listens no longer *stays*.

    *run* runs a function in a thread.
    """
    with contextlib.closing(_Look(ws)) as look:
        await run(look.changes)
        yield ": recalld\n\n"
        looks = 0
        while stays():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), _LOOK_S)
                return
            changes, looks = await run(look.changes), looks + 1
            for change in changes:
                yield f"event: change\ndata: {json.dumps(change)}\n\n"
            if looks % _SIGN == 0:
                yield ":\n\n"


class _Look:
    """What a listener has seen of the workspace that is *served*."""

    def __init__(self, served: Callable[[], Workspace]) -> None:
        self._served = served
        self._seen: Signatures | None = None
        self._log: FileIO | None = None

    def close(self) -> None:
        """Close the log."""
        if self._log:
            self._log.close()

    def changes(self) -> list[Change]:
        """Return what has changed since the last call; nothing where the disk fails, which the supervisor reports."""
        try:
            ws = self._served()
            before, self._seen = self._seen, signatures(ws)
        except (SupervisorError, OSError):
            return []
        changes = [*_events(self._lines(ws))]
        if before is None:
            return []
        kinds = [{"kind": kind, "id": ""} for kind, version in self._seen.items() if before[kind] != version]
        return [*changes, *kinds][-_MOST:]

    def _lines(self, ws: Workspace) -> Iterator[bytes]:
        """Yield the lines that have come to the log; a file that was rotated meanwhile is read to its end before the next."""
        with contextlib.suppress(OSError):
            stat = ws.files.disk.stat(ws.paths.log)
            if self._log:
                yield from _rest(self._log)
            if stat and not (self._log and os.fstat(self._log.fileno()).st_ino == stat.inode):
                log = FileIO(open_regular(ws.paths.log, os.O_RDONLY))
                self.close()
                self._log = log
                yield from _rest(log)


def _rest(log: FileIO) -> list[bytes]:
    size = os.fstat(log.fileno()).st_size
    log.seek(max(min(log.tell(), size), size - _MOST_BYTES))
    return log.read().splitlines()


def _events(lines: Iterable[bytes]) -> Iterator[Change]:
    for line in lines:
        with contextlib.suppress(ValueError, LookupError, TypeError, RecursionError):
            name = json.loads(line)["event"]
            if isinstance(name, str):
                yield {"kind": "fault" if priority(name) < _NOTICE else "event", "id": name}


def signatures(ws: Workspace) -> Signatures:
    """Return what changes in the workspace when something of a kind does; costs a few stats."""
    paths, stat = ws.paths, ws.files.disk.stat

    def of(*places: Path) -> tuple[Stat | None, ...]:
        return tuple(map(stat, places))

    return {
        "message": of(paths.history, paths.drop_box),
        "input": of(paths.inbox),
        "day": of(paths.memory, paths.originals),
        "summary": of(paths.summaries),
        "long-term": of(paths.root / ws.long_term.path),
        "turn": of(paths.turns),
        "queue": of(paths.worker / "queue", paths.worker / "running", paths.worker / "results", paths.worker / "failed"),
    }
