"""How a forgetting cleans the names of files: in logs, in last night's check and backup, and in the diary."""

from __future__ import annotations

import gzip
import json
import zlib
from functools import partial
from typing import TYPE_CHECKING, Final

from ..protocol.paths import SLUG, day_of_name
from ..text.lazy_re import lazy_re
from .wanted import unescaped

if TYPE_CHECKING:
    import re

    from .cleaning import Aim

#: In a log: a dated file by its name up to the end of the slug, in JSON with escapes; any file of memory by its path.
DATED: Final = lazy_re(rf"\d{{4}}-\d{{2}}-\d{{2}}-(?:{SLUG}|\\u[0-9a-f]{{4}})+")
_PATH: Final = lazy_re(r"(?:memory|trash)/[^\"\n]+?\.md")


def clean_logs(aim: Aim) -> None:
    """Give the files their new names; a packed log that is cut off or no gzip is deleted, since nobody can read its names."""
    paths, files = aim.ws.paths, aim.ws.files
    names = (name for name in sorted(files.disk.names(paths.root)) if name.startswith("log"))
    logs = [paths.root / name for name in names if name.endswith((".jsonl", ".jsonl.gz"))]
    for path in (*logs, paths.fsck, paths.backup, paths.diary):
        try:
            aim.clean(path, partial(_with_new_names, aim, is_packed=path.suffix == ".gz"))
        except (EOFError, gzip.BadGzipFile, zlib.error):
            aim.remove(path)


def _with_new_names(aim: Aim, data: bytes, *, is_packed: bool) -> bytes:
    text = (gzip.decompress(data) if is_packed else data).decode("utf-8", "surrogateescape")
    before = text
    for name in sorted(aim.names):  # whole, since a person may have given it what no slug has
        if day_of_name(f"{name[:10]}.md"):
            for spelling in (name, json.dumps(name)[1:-1]):
                text = text.replace(spelling, aim.renamed.get(name) or _nameless(name))
    renamed = {old.removesuffix(".md"): new.removesuffix(".md") for old, new in aim.renamed.items()}

    def new_name(match: re.Match[str]) -> str:
        name = unescaped(match[0])
        return (renamed.get(name) or f"{name[:10]}-forgotten") if aim.leaves(name) else match[0]

    def new_path(match: re.Match[str]) -> str:
        path = unescaped(match[0])
        return f"{path.partition('/')[0]}/{_nameless(path.rpartition('/')[2])}" if aim.leaves(path) else match[0]

    after = DATED.sub(new_name, _PATH.sub(new_path, text))
    if after == before:
        return data
    new = after.encode("utf-8", "surrogateescape")
    return gzip.compress(new, mtime=0) if is_packed else new


def _nameless(name: str) -> str:
    return f"{name[:10]}-forgotten.md" if day_of_name(f"{name[:10]}.md") else "forgotten.md"
