"""
What has changed, for open pages: one stream of server-sent events with kinds and names, and never a word of a message.

The files are looked at once a second while somebody listens; the supervisor's own events come at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from ...events import priority
from ...storage.disk import Stat
from ...storage.errors import SupervisorError

if TYPE_CHECKING:
    from ...workspace import Workspace

#: Seconds between two looks at the files, and between two signs of life.
_LOOK_S: Final = 1.0
_SIGN_S: Final = 10.0
#: The priority of an event that is no fault.
_NOTICE: Final = 6
#: Changes that wait for a listener; one that takes none loses the oldest.
_MOST_WAITING: Final = 100
#: A change, {kind, id}, with the name of an event as its id; None is the end.
Change: TypeAlias = "dict[str, str] | None"
#: What changes when something of that kind does.
Signature: TypeAlias = "tuple[Stat | None, ...]"


class Changes:
    """The changes of a workspace, for any number of listeners in the event loop of the service."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[asyncio.Queue[Change]] = set()
        self._seen: dict[str, Signature] = {}
        self._served: Callable[[], Workspace] | None = None

    # ── from elsewhere ───────────────────────────────────────────────────────

    def event(self, entry: Mapping[str, object]) -> None:
        """Pass on an event of the log, by its name; any thread may call it."""
        name = str(entry.get("event"))
        change = {"kind": "fault" if priority(name) < _NOTICE else "event", "id": name}
        if self._loop and self._listeners:
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self.publish, change)

    async def watch(self, ws: Callable[[], Workspace], run: Callable[..., Awaitable[list[dict[str, str]]]]) -> None:
        """Look at the files once a second while somebody listens, for ever; *run* runs a function in a thread."""
        self._loop, self._served = asyncio.get_running_loop(), ws
        while True:
            await asyncio.sleep(_LOOK_S)
            if not self._listeners:
                self._seen = {}
                continue
            with contextlib.suppress(SupervisorError, OSError):  # the supervisor reports it
                for change in await run(self._look, ws):
                    self.publish(change)

    def _look(self, served: Callable[[], Workspace]) -> list[dict[str, str]]:
        ws = served()
        before, self._seen = self._seen, signatures(ws)
        kinds = [kind for kind, version in self._seen.items() if before and before.get(kind) != version]
        return [{"kind": kind, "id": ""} for kind in kinds]

    # ── to the listeners ─────────────────────────────────────────────────────

    def publish(self, change: Change) -> None:
        """Pass on a change, in the event loop; a listener that takes none loses the oldest."""
        for listener in self._listeners:
            if listener.full():
                listener.get_nowait()
            listener.put_nowait(change)

    def close(self) -> None:
        """End all streams."""
        self.publish(None)

    @contextlib.contextmanager
    def subscribed(self) -> Iterator[asyncio.Queue[Change]]:
        """Yield a queue of the changes from now on."""
        listener: asyncio.Queue[Change] = asyncio.Queue(_MOST_WAITING)
        if self._served and not self._seen:  # what changes before the next look is a change for the first listener, too
            with contextlib.suppress(SupervisorError, OSError):
                self._seen = signatures(self._served())
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    async def stream(self, stays: Callable[[], bool] | None = None) -> AsyncIterator[str]:
        """Yield the changes as server-sent events, with a comment from time to time, for as long as who listens *stays*."""
        with self.subscribed() as listener:
            yield ": recalld\n\n"
            while stays is None or stays():
                try:
                    change = await asyncio.wait_for(listener.get(), _SIGN_S)
                except TimeoutError:
                    yield ":\n\n"
                    continue
                if change is None:
                    return
                yield f"event: change\ndata: {json.dumps(change)}\n\n"


def signatures(ws: Workspace) -> dict[str, Signature]:
    """Return what changes in the workspace when something of a kind does; costs a few stats."""
    paths, stat = ws.paths, ws.files.disk.stat

    def of(*places: Path) -> Signature:
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
