"""
What recalld knows the long-term file to be, so that a round sees what somebody else has changed in it.

`.recalld/long-term.json` has a digest of the text that recalld wrote last, or whose change it has told. A writer adds that of
its text before it writes, under the lock of the long-term file: whatever moment it is killed at, its words are not taken for
somebody else's. Source: protocol.md, 14.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Final

from recalld.supervisor.protocol.paths import LONG_TERM
from recalld.supervisor.storage.errors import SupervisorError
from recalld.supervisor.storage.files import LOCK_WAIT_S, digest_of
from recalld.supervisor.storage.lenient_json import parse_json, render_json

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
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
                with self._locked(wait_s=0):
                    return not self._look(path)
        return False  # as it was, or it is being written, or can't be read: a later round sees it

    def know_edit(self, path: str) -> None:
        """Take the file as it is now for known: that it was edited has been told."""
        with self._locked(wait_s=LOCK_WAIT_S):
            self._keep(path, _digest(self._files.read_stable(self._paths.root / path)))

    def will_be(self, path: str, version: FileVersion | None, data: bytes) -> None:
        """
        Know the text that recalld is about to write in the place of *version*; the caller holds the file's lock.

        Not if somebody has changed that version, since a round tells that first; nor of a note, or in a folder of one's own.
        """
        before, after = _digest(version), digest_of(data)[:_DIGITS]
        if path in LONG_TERM and after != before:
            with suppress(SupervisorError, OSError):  # the text is worth more than a line about it
                if self._files.disk.stat(self._paths.state) and self._is_known(path, version):
                    self._keep(path, before, after)

    def _locked(self, wait_s: float) -> AbstractContextManager[None]:
        """Hold the lock of the long-term file; where nobody has ever written it there is none, and none is left."""
        has_writers = self._files.disk.stat(self._paths.long_term_lock) is not None
        return self._files.lock(self._paths.long_term_lock, wait_s) if has_writers else nullcontext()

    # ── with the lock of the long-term file ──────────────────────────────────

    def _look(self, path: str) -> bool:
        """Return whether the file is known, or nothing was yet; then just this text of it is known."""
        version = self._files.read_stable(self._paths.root / path)
        is_known = self._is_known(path, version) is not False
        if is_known:
            if version and self._kept(path) != [_digest(version)]:
                self._keep(path, _digest(version))
            self._stat = version.stat if version else None
        return is_known

    def _is_known(self, path: str, version: FileVersion | None) -> bool | None:
        """Return whether the text of this version is known; None where nothing is known yet of a file that is there."""
        known = self._kept(path)
        if known is None:
            return None if version else True
        return _digest(version) in known

    def _kept(self, path: str) -> list[str] | None:
        """Return the digests of what is known of the file at *path*; None if nothing was kept that can be read."""
        kept = self._files.read_stable(self._paths.long_term)
        try:
            found = parse_json(kept.data) if kept else {}
            return [str(one) for one in found["known"]] if found["file"] == path else []
        except (ValueError, TypeError, KeyError):
            return None

    def _keep(self, path: str, *known: str) -> None:
        data = render_json({"file": path, "known": list(known)}) + b"\n"
        self._files.replace(self._paths.long_term, data, self._files.read_stable(self._paths.long_term))


def _digest(version: FileVersion | None) -> str:
    """Return the digest of a text without its byte order mark, which a writer keeps; no file is as an empty one."""
    return digest_of(version.data.removeprefix(BOM_UTF8) if version else b"")[:_DIGITS]
