"""
What recalld knows the long-term file to be, so that a round sees what somebody else has changed in it.

`.recalld/long-term.json` has a digest of the text that recalld wrote last, or whose change it has told. It is written under the
lock of the long-term file, so that what a command is writing is not taken for somebody else's; a command that is killed between
the two writes is. Source: protocol.md, 14.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from recalld.supervisor.protocol.paths import LONG_TERM
from recalld.supervisor.storage.errors import SupervisorError
from recalld.supervisor.storage.files import digest_of
from recalld.supervisor.storage.lenient_json import parse_json, render_json

if TYPE_CHECKING:
    from types import EllipsisType

    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.storage.disk import Stat
    from recalld.supervisor.storage.files import Files, FileVersion

#: Hex digits of the digest.
_DIGITS: Final = 16


class KnownText:
    """The text of the long-term file of one workspace as recalld knows it."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files, self._paths = files, paths
        #: The stat of the file when it was found to be known: ... before the first look.
        self._stat: Stat | EllipsisType | None = ...

    def is_edited(self, path: str) -> bool:
        """Return whether somebody else has changed the file at *path* since it was known last; a stat where it rests."""
        with suppress(SupervisorError, OSError):
            if self._files.disk.stat(self._paths.root / path) != self._stat:
                with self._files.lock(self._paths.long_term_lock, wait_s=0):
                    return self._look(path) is False
        return False  # as it was, or it is being written, or can't be read: a later round sees it

    def know_edit(self, path: str) -> None:
        """Take the file as it is now for known: that it was edited has been told."""
        with self._files.lock(self._paths.long_term_lock):
            if self._look(path) is False:
                self._keep(path, _data(self._files.read_stable(self._paths.root / path)))

    # ── with the lock of the long-term file ──────────────────────────────────

    def is_known(self, path: str, version: FileVersion | None) -> bool | None:
        """Return whether this is the text that is known; None where nothing is known yet."""
        kept = self._files.read_stable(self._paths.long_term)
        try:
            known = parse_json(kept.data) if kept else None
        except ValueError:
            known = None
        if known is None:
            return None if version else True
        return bool(known == _line(path, _data(version)))

    def wrote(self, path: str, data: bytes, *, was_known: bool | None) -> None:
        """Know the text that recalld wrote, unless somebody has changed the one before: a round tells that first."""
        if was_known and path in LONG_TERM and self._files.disk.stat(self._paths.state):  # no note, no folder of somebody's own
            with suppress(SupervisorError, OSError):  # it stands in the long-term file
                self._keep(path, data)

    def _keep(self, path: str, data: bytes) -> None:
        known = render_json(_line(path, data)) + b"\n"
        self._files.replace(self._paths.long_term, known, self._files.read_stable(self._paths.long_term))

    def _look(self, path: str) -> bool | None:
        """Return whether the file is known, and know it if nothing was."""
        version = self._files.read_stable(self._paths.root / path)
        is_known = self.is_known(path, version)
        if is_known is None:
            self._keep(path, _data(version))
        if is_known is not False:
            self._stat = version.stat if version else None
        return is_known


def _line(path: str, data: bytes) -> dict[str, str]:
    return {"file": path, "digest": digest_of(data.removeprefix(BOM_UTF8))[:_DIGITS]}


def _data(version: FileVersion | None) -> bytes:
    return version.data if version else b""
