"""How a running supervisor takes in a changed recalld.toml: a valid file at once; an invalid one is reported and not used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..protocol.config import FILE, Config
from ..protocol.settings import Place, dotted, keys
from ..storage.disk import Stat
from ..storage.errors import BadConfig
from ..storage.texts import Text

if TYPE_CHECKING:
    from ..workspace import Workspace


class ConfigWatch:
    """
    Compares recalld.toml with the configuration that the supervisor of *ws* runs with.

    *reopen* opens the workspace with the present file. An invalid file is reported once, and the old configuration is kept.
    """

    def __init__(self, ws: Workspace, reopen: Callable[[], Workspace]) -> None:
        self._ws = ws
        self._path = ws.paths.config
        self._reopen = reopen
        self._seen: tuple[Stat | None, float] = (None, float("-inf"))
        self._taken: Stat | object | None = object()  # equals no stat: the file may have changed since the workspace was opened
        self._refused = ""

    @property
    def has_changed(self) -> bool:
        """Whether recalld.toml has changed since `changed` last looked; costs one stat."""
        return self._ws.files.disk.stat(self._path) != self._taken

    def changed(self, steady_s: float) -> Workspace | None:
        """
        Return the workspace with the changed configuration; None if nothing has changed, or the file is invalid.

        *steady_s* is the time of a monotonic clock. A file counts once it has not changed between two polls: an editor may
        empty it before writing, and without the time zone messages would be filed under other days.
        """
        stat = self._ws.files.disk.stat(self._ws.paths.config)
        if stat != self._seen[0] or self._seen[1] == float("-inf"):
            self._seen = stat, steady_s
        if stat == self._taken or steady_s - self._seen[1] < self._ws.config.care.poll.total_seconds():
            return None
        try:
            reopened = self._reopen()
            names = [dotted(place) for place in keys(Config()) if _value(reopened, place) != _value(self._ws, place)]
            if names and stat is None:  # a program that synchronizes files may put the file back soon
                raise BadConfig(FILE, Text("it is gone; put it back, or start the supervisor again to use the defaults"))
        except BadConfig as error:
            self._taken = stat
            self._refuse(error.sentence)
            return None
        self._taken = stat  # not earlier: a file that the disk refused to read is read again at the next poll
        if not names and not self._refused:
            return None
        self._ws.events.emit("config_taken", keys=names)
        self._ws, self._refused = reopened, ""
        return reopened

    def _refuse(self, why: str) -> None:
        if why != self._refused:
            self._ws.events.emit("config_refused", why=why)
        self._refused = why


def _value(ws: Workspace, place: Place) -> Any:
    section, name = place
    return getattr(getattr(ws.config, section) if section else ws.config, name)
