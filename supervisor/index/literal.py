"""
The literal search, for what the tokeniser can't find: a part of an identifier, of a path, of a word.

Hits are in the order of path and line; if there are more than wanted, or too little time for all files, the newest files and
the last lines of a file are preferred. Source: 003, 检索 (失败或无命中回退 rg); docs/explanation/recall.md.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, tzinfo
from typing import Final

from ..protocol.paths import WorkspacePaths
from ..storage.clock import NEVER, Deadline
from ..storage.errors import SupervisorError
from ..storage.files import Files
from ..text.language import CHINESE, ENGLISH, HAN
from ..text.lazy_re import lazy_re
from .documents import chunk_file
from .hit import Hit, Passage
from .manifest import Record

#: The fewest characters of a part that is searched for.
_LATIN, _CHINESE = 4, 2
_PART: Final = lazy_re(rf"[{HAN}]+|[A-Za-z0-9_./:@+#-]+")
_MOST_PARTS: Final = 8
#: The bytes of a file in letters, such as a line of base64: a word is in them only by chance.
_BYTES: Final = lazy_re(r"[A-Za-z0-9+/=]{76,}")
#: Larger files, in bytes, are not searched within a turn: chunking one takes a second and can't be interrupted.
_MOST_BYTES: Final = 1_000_000


def literal_terms(question: str, is_known: Callable[[str], bool]) -> list[str]:
    """
    Return the parts of a question to search for literally: runs of letters or Han characters that are not words of the index.

    A word of the index has been scored already, and must not be found again if its score was too low.
    """
    terms = []
    for match in _PART.finditer(question):
        run = match[0].strip(".:/-").casefold() if match[0][0].isascii() else match[0]
        if run.isascii():
            is_part = len(run) >= _LATIN and run not in ENGLISH and any(char.isalpha() for char in run)
            terms += [run] * (is_part and not is_known(run))
        else:
            terms += [run] * (len(run) >= _CHINESE and run not in CHINESE and not is_known(run))
    return list(dict.fromkeys(terms))[:_MOST_PARTS]


def search_files(
    files: Files,
    paths: WorkspacePaths,
    records: Mapping[str, Record],
    wanted: Sequence[str],
    limit: int,
    zone: tzinfo,
    deadline: Deadline = NEVER,
) -> list[Hit]:
    """
    Return at most *limit* passages of the files *records* that contain one of *wanted*, ignoring case.

    The newest files are searched first, until the *deadline*; those larger than a megabyte are skipped.
    """
    hits: list[Hit] = []
    small = [path for path in records if records[path].size <= _MOST_BYTES]
    for path in sorted(small, key=lambda path: -records[path].mtime_ns):
        if deadline.is_over or len(hits) >= limit:
            break
        with contextlib.suppress(OSError, SupervisorError):
            if not _may_hold(files.disk.read(paths.root / path), wanted):
                continue
            chunks = chunk_file(files, paths, path, records[path], zone)
            passages = [replace(chunk.passage, tier=records[path].tier) for chunk in chunks]
            hits += reversed(hits_of(passages, wanted))  # the last lines of a file are the newest
    return sorted(hits[:limit], key=lambda hit: (hit.unit.path, hit.unit.start))


def hits_of(passages: Iterable[Passage], wanted: Sequence[str]) -> list[Hit]:
    """Return the passages that contain one of *wanted*, in the words or the speaker's name, ignoring case."""
    return [Hit(passage, 0.0, ("literal",)) for passage in passages if any(part in _words_of(passage) for part in wanted)]


def newest_and_fullest(hits: Iterable[Hit], wanted: Sequence[str]) -> list[Hit]:
    """Return the hits, those with most of the words *wanted* first, then the newest; one without a day counts as the newest."""

    def key(hit: Hit) -> tuple[int, int, float, int]:
        text, day = _words_of(hit.unit), hit.unit.day or date.max
        return (-sum(word in text for word in wanted), -day.toordinal(), -hit.unit.moment[1], -hit.unit.start)

    return sorted(hits, key=key)


def _words_of(passage: Passage) -> str:
    return _BYTES.sub(" ", passage.searched).casefold()


def _may_hold(data: bytes, wanted: Sequence[str]) -> bool:
    try:
        low = data.decode("utf-8").casefold()
    except UnicodeDecodeError:
        return True
    return any(part in low for part in wanted)
