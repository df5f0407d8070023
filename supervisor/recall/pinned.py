"""The first lines of memory.md, which a direct chat is given whatever it asks (docs/explanation/recall.md)."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Final

from supervisor.index.chunking import chunk_note
from supervisor.index.scan import PATIENCE_S, long_term_name
from supervisor.text.decoding import decoded

if TYPE_CHECKING:
    from supervisor.index.hit import Passage
    from supervisor.protocol.files import Files
    from supervisor.protocol.paths import WorkspacePaths

#: Bytes of the file that are read as its beginning: more than the largest budget takes.
_MOST_BYTES: Final = 64_000


def pinned_passages(files: Files, paths: WorkspacePaths) -> tuple[Passage, ...]:
    """Return the first lines of the long-term file in their order, none if there is no such file."""
    name = long_term_name(files, paths)
    found = files.disk.stat(paths.root / name) if name else None
    if found is None or not stat.S_ISREG(found.mode):
        return ()
    version = files.read_stable(paths.root / name, PATIENCE_S)
    data = version.data if version else b""
    whole = data if len(data) <= _MOST_BYTES else data[: data.rfind(b"\n", 0, _MOST_BYTES) + 1]
    return tuple(chunk.passage for chunk in chunk_note(name, decoded(whole), None, "long_term"))
