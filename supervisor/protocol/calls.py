"""
The calls to the model, `.recalld/calls.jsonl`: each is written down before it is made (docs/protocol.md, 6.7).

So no process that is killed, no result that is lost and no disk that is full hides one, and the day's cap holds: a call that
can't be written down is not made. The file may be deleted; then the day begins anew.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from supervisor.protocol.clock import from_wire, local, local_day, to_wire
from supervisor.protocol.json_text import parse_json, render_json

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout

#: Lines from which on those of earlier days are dropped, and how far back a day may lie that still counts somewhere.
_MANY: Final = 4_096
_KEPT: Final = timedelta(days=3)


class CallLog:
    """The calls of one workspace; a day is one of *zone*."""

    def __init__(self, files: Files, layout: Layout, zone: tzinfo) -> None:
        self._files = files
        self._path = layout.state / "calls.jsonl"
        self._lock = layout.state / "calls.lock"
        self._zone = zone

    def today(self, now: datetime) -> int:
        """Return how many calls were begun on the local day of *now*."""
        return self._on_day_of(now, self._begun())

    def begin(self, now: datetime, most: int | None) -> bool:
        """
        Write down, durably, that a call begins; False, and nothing is written, where the day has had *most* of them.

        Busy or OSError where it can't be written down.
        """
        self._files.make_folder(self._path.parent)
        with self._files.lock(self._lock):
            begun = self._begun()
            if most is not None and self._on_day_of(now, begun) >= most:
                return False
            if len(begun) >= _MANY:
                recent = [at for at in begun if abs(now - at) < _KEPT]
                self._files.replace(self._path, b"".join(map(_line, recent)), self._files.look(self._path))
            self._files.append(self._path, _line(now))
        return True

    def _on_day_of(self, now: datetime, begun: list[datetime]) -> int:
        return sum(at.date() == local_day(now, self._zone) for at in begun)

    def _begun(self) -> list[datetime]:
        """Return when each call began, in the zone; a line that can't be read says nothing."""
        if self._files.disk.stat(self._path) is None:
            return []
        found = []
        for line in self._files.disk.read(self._path).splitlines():
            try:
                found.append(local(from_wire(parse_json(line)["at"]), self._zone))
            except (ValueError, TypeError, LookupError):
                continue
        return found


def _line(at: datetime) -> bytes:
    return render_json({"at": to_wire(at)}) + b"\n"
