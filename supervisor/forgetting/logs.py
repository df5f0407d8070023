"""How a forgetting cleans the names of files: in logs, in last night's check and backup, and in the diary."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from ..protocol.paths import SLUG, day_of_name
from ..text.lazy_re import lazy_re
from ..workspace import Workspace
from .wanted import unescaped

#: In a log: a dated file by its name up to the end of the slug, in JSON with escapes; any file of memory by its path.
DATED: Final = lazy_re(rf"\d{{4}}-\d{{2}}-\d{{2}}-(?:{SLUG}|\\u[0-9a-f]{{4}})+")
_PATH: Final = lazy_re(r"(?:memory|trash)/[^\"\n]+?\.md")
#: What a packed log that is cut off or no gzip raises.
TORN: Final = (EOFError, gzip.BadGzipFile, zlib.error)


def named_files(ws: Workspace) -> tuple[Path, ...]:
    """Return the files in which names of others stand: the logs, last night's check and backup, the diary."""
    paths = ws.paths
    names = (name for name in sorted(ws.files.disk.names(paths.root)) if name.startswith("log"))
    logs = (paths.root / name for name in names if name.endswith((".jsonl", ".jsonl.gz")))
    return (*logs, paths.fsck, paths.backup, paths.diary)


def without_names(names: Iterable[str], leaves: Callable[[str], bool], is_packed: bool, data: bytes) -> bytes:
    """Return *data* without the *names* of dated files, and without a name that *leaves*; TORN for cut-off data."""
    text = (gzip.decompress(data) if is_packed else data).decode("utf-8", "surrogateescape")
    after = text
    for name in sorted(names):  # whole, since a person may have given it what no slug has
        if day_of_name(f"{name[:10]}.md"):
            for spelling in (name, json.dumps(name)[1:-1]):
                after = after.replace(spelling, f"{_nameless(name)}.md")

    def without(match: re.Match[str]) -> str:
        name = unescaped(match[0])
        top, slash, rest = name.partition("/")
        if not leaves(name):
            return match[0]
        return f"{top}/{_nameless(rest.rpartition('/')[2])}.md" if slash else _nameless(name)

    after = DATED.sub(without, _PATH.sub(without, after))
    if after == text:
        return data
    new = after.encode("utf-8", "surrogateescape")
    return gzip.compress(new, mtime=0) if is_packed else new


def _nameless(name: str) -> str:
    return f"{name[:10]}-forgotten" if day_of_name(f"{name[:10]}.md") else "forgotten"
