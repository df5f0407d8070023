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

from ..protocol.paths import LONG_TERM
from ..storage.errors import SupervisorError
from ..storage.files import LOCK_WAIT_S, digest_of
from ..storage.lenient_json import parse_json, render_json

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import EllipsisType

    from ..protocol.paths import WorkspacePaths
    from ..storage.disk import Stat
    from ..storage.files import Files, FileVersion

#: Hex digits of the digest.
_DIGITS: Final = 16


class KnownText:
    """The text of the long-term file of one workspace as recalld knows it."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files, self._paths = files, paths
        #: The stat of the file when it was found to be known: ... before the first look.
        self._stat: Stat | EllipsisType | None = ...

    def edit_of(self, path: str) -> str:
        """
        Return what names the edit that somebody else has made in the file at *path* since it was known last, "" for none.

        It is a digest of both texts. Where the file rests this costs a stat.
        """
        with suppress(SupervisorError, OSError):
            if self._files.disk.stat(self._paths.root / path) != self._stat:
                with self._locked(wait_s=0):
                    return self._look(path)
        return ""  # as it was, or it is being written, or can't be read: a later round sees it

    def know_edit(self, path: str) -> None:
        """Take the file as it is now for known: that it was edited has been told."""
        had_writers = self._has_writers()
        with self._locked(wait_s=LOCK_WAIT_S):
            self._keep(path, self._kept(path)[0], _digest(self._files.read_stable(self._paths.root / path)))
        if self._has_writers() and not had_writers:  # the first one began meanwhile, and its text is not known
            self.know_edit(path)

    def will_be(self, path: str, version: FileVersion | None, data: bytes) -> None:
        """
        Know the text that recalld is about to write in the place of *version*; the caller holds the file's lock.

        Not if somebody has changed that version, since a round tells that first; nor of a note, or in a folder of one's own.
        """
        before, after = _digest(version), digest_of(data)[:_DIGITS]
        if path in LONG_TERM and after != before:
            with suppress(SupervisorError, OSError):  # the text is worth more than a line about it
                kept, known = self._kept(path)
                if self._files.disk.stat(self._paths.state) and (known is None or before in known):
                    self._keep(path, kept, before, after)

    def _locked(self, wait_s: float) -> AbstractContextManager[None]:
        """Hold the lock of the long-term file; where nobody has ever written it there is none, and none is left."""
        return self._files.lock(self._paths.long_term_lock, wait_s) if self._has_writers() else nullcontext()

    def _has_writers(self) -> bool:
        return self._files.disk.stat(self._paths.long_term_lock) is not None

    # ── with the lock of the long-term file ──────────────────────────────────

    def _look(self, path: str) -> str:
        """Return "" if the file is known, or nothing was yet; then just this text of it is known. Else what names the edit."""
        kept, known = self._kept(path)
        version = self._files.read_stable(self._paths.root / path)
        digest = _digest(version)
        if known is not None and digest not in known:
            return digest_of(" ".join([*known, digest]).encode())[:_DIGITS]
        if version and known != [digest]:
            self._keep(path, kept, digest)
        self._stat = version.stat if version else None
        return ""

    def _kept(self, path: str) -> tuple[FileVersion | None, list[str] | None]:
        """Return the file of what is known, and the digests of the file at *path*; None if it has none that can be read."""
        kept = self._files.read_stable(self._paths.long_term)
        try:
            fields = parse_json(kept.data) if kept else {}
            return kept, [str(entry) for entry in fields["known"]] if fields["file"] == path else []
        except (ValueError, TypeError, KeyError):
            return kept, None

    def _keep(self, path: str, kept: FileVersion | None, *known: str) -> None:
        """Keep the digests in the place of the version *kept*; Conflict if a writer has added its own meanwhile."""
        self._files.replace(self._paths.long_term, render_json({"file": path, "known": list(known)}) + b"\n", kept)


def _digest(version: FileVersion | None) -> str:
    """Return the digest of a text without its byte order mark, which a writer keeps; no file is as an empty one."""
    return digest_of(version.data.removeprefix(BOM_UTF8) if version else b"")[:_DIGITS]
