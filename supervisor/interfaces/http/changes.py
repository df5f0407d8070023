"""
What has changed, for open pages: a stream of server-sent events with kinds and names, and never a word of a message.

The files are looked at once a second for each listener; the events of the log are read from its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from ...events import priority
from ...storage.disk import Stat
from ...storage.errors import SupervisorError

if TYPE_CHECKING:
    from ...workspace import Workspace

#: Seconds between two looks at the files, and the looks between two signs of life.
_LOOK_S: Final = 1.0
_SIGN: Final = 10
#: The priority of an event that is no fault.
_NOTICE: Final = 6
#: The log among the signatures, and its newest bytes, of which one look takes the events.
_LOG: Final = "log"
_MOST_BYTES: Final = 100_000
#: A change, {kind, id}; the id of an event is its name.
Change: TypeAlias = "dict[str, str]"
#: What changes when something of that kind does.
Signatures: TypeAlias = "dict[str, tuple[Stat | None, ...]]"


async def stream(
    ws: Callable[[], Workspace],
    run: Callable[..., Awaitable[tuple[list[Change], Signatures | None]]],
    ended: asyncio.Event,
    stays: Callable[[], bool],
) -> AsyncIterator[str]:
    """
    Yield the changes as server-sent events until the service has *ended*, or who listens no longer *stays*.

    *run* runs a function in a thread.
    """
    (_, seen), looks = await run(_looked, ws, None), 0
    yield ": recalld\n\n"
    while stays():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), _LOOK_S)
            return
        (changes, seen), looks = await run(_looked, ws, seen), looks + 1
        for change in changes:
            yield f"event: change\ndata: {json.dumps(change)}\n\n"
        if looks % _SIGN == 0:
            yield ":\n\n"


def _looked(served: Callable[[], Workspace], before: Signatures | None) -> tuple[list[Change], Signatures | None]:
    """Return what has changed, and what the files are like now; nothing where the disk fails, which the supervisor reports."""
    try:
        ws = served()
        now = signatures(ws)
        return ([*_changes(ws, before, now)] if before else []), now
    except (SupervisorError, OSError):
        return [], before


def _changes(ws: Workspace, before: Signatures, now: Signatures) -> Iterator[Change]:
    (old,), (new,) = before[_LOG], now[_LOG]
    if new and new != old:
        begin = old.size if old and old.inode == new.inode else 0  # another file begins where the log was rotated
        begin, lines = max(begin, new.size - _MOST_BYTES), b""
        with contextlib.suppress(OSError):
            lines = ws.files.disk.read(ws.paths.log, begin, max(0, new.size - begin))
        for line in lines.splitlines():
            with contextlib.suppress(ValueError, LookupError, TypeError):
                name = str(json.loads(line)["event"])
                yield {"kind": "fault" if priority(name) < _NOTICE else "event", "id": name}
    yield from ({"kind": kind, "id": ""} for kind in now if kind != _LOG and before.get(kind) != now[kind])


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
        _LOG: of(paths.log),
    }
