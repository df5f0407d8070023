"""
Find candidates with tantivy: each passage is a document, with its words and its neighbours' as fields, and itself as bytes.

Words come from `text/tokenizer` and are split at blanks only. The writer is closed after each commit, since it holds memory and
threads. Deleted documents count in tantivy's statistics until it merges; the order hardly changes (docs/explanation/recall.md).
tantivy trusts its files: a wrong length in one can end the process, so they are looked at before an index is opened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..query.calendar import Days
from ..storage.disk import Disk, Stat
from ..storage.errors import BadFile, SupervisorError
from ..storage.lenient_json import parse_json
from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from .documents import CONTEXT_WIDTHS, Document, read_document
from .ranking import SHORT

#: The version of fields and stored bytes, part of the version of the index.
VERSION: Final = 10
#: Bytes of the writer's buffer, in one thread; tantivy needs 15 MB at least.
_WRITER_BYTES: Final = 20_000_000
#: Bytes of address space that the library takes to open an index and to write it, with room for the search. Its threads reserve
#: most of it and never use it, but if a limit refuses it, the library ends the process.
_TO_OPEN: Final = 320_000_000
_TO_WRITE: Final = 640_000_000
_NOTE: Final = "note"
_WORDS: Final = tuple(f"words{reach}" for reach in CONTEXT_WIDTHS)
#: An index of at most so many passages keeps those that it has decoded, some 1.5 kB each; in a larger one the same passage is
#: seldom needed again.
_KEPT: Final = 16_000
#: How many fields, the narrowest, are searched for related words.
_NEAR: Final = 2
#: The size of this process in pages; the first number is its address space.
_OWN_SIZE: Final = "/proc/self/statm"
#: The end of each of tantivy's files: the length of the JSON object before it, and a magic number.
_END: Final = struct.Struct("<II")
_MAGIC: Final = 1337
#: The number of a disk error in a message of tantivy's.
_OS_ERROR: Final = lazy_re(r"os error (\d+)|\bcode: (\d+)")


class Engine:
    """
    The tantivy index in one folder. BadFile if it is damaged and must be rebuilt, OSError for an error of the disk.

    A search sees the commit that was opened, also while another one is written.
    """

    def __init__(self, folder: str, *, new: bool) -> None:
        _refuse_without(_TO_OPEN, folder)
        import tantivy

        self._folder = folder
        self._library = tantivy
        self._schema = _schema()
        with self._faults():
            self._index = tantivy.Index(self._schema, path=folder) if new else tantivy.Index.open(folder)
            self._index.config_reader("Manual")  # otherwise a search could see a later commit than the one that was opened
            self._open_searcher()

    def _open_searcher(self) -> None:
        #: The searcher, with the candidates that it has decoded, by their address.
        self._opened: tuple[Any, dict[tuple[int, int], Document]] = self._index.searcher(), {}

    @property
    def _searcher(self) -> Any:
        return self._opened[0]

    def write(self, fill: Callable[[Writing], bytes], *, clear: bool = False) -> None:
        """
        Make one commit, and open it: *clear* deletes everything first, *fill* deletes groups, adds documents, returns the note.

        The note, the manifest, replaces the previous one in the same commit, so that index and manifest always agree. If
        *fill* raises, or a signal ends it, the last commit is kept.
        """
        _refuse_without(_TO_WRITE, self._folder)
        with self._faults():
            writer = self._index.writer(_WRITER_BYTES, 1)
            try:
                if clear:
                    writer.delete_all_documents()
                writing = Writing(writer, self._library)
                note = fill(writing)
                writing.delete(_NOTE)
                writing.keep(note)
                writer.commit()
            finally:
                writer.wait_merging_threads()
            self._index.reload()
            self._open_searcher()

    def note(self) -> bytes:
        """Return the note of the last commit, b"" for none."""
        with self._faults():
            clause = self._library.Query.term_query(self._schema, "group", _NOTE, "basic")
            hits = self._searcher.search(clause, 1, count=False).hits
            return bytes(self._searcher.doc(hits[0][1])["stored"][0]) if hits else b""

    def frequency(self, field: int, word: str) -> int:
        """Return how many passages have the word in that field."""
        try:
            return int(self._opened[0].doc_freq(_WORDS[field], word))
        except BaseException:  # called hundreds of times in a search: the context manager is entered only on failure
            with self._faults():
                raise

    def candidates(
        self,
        words: Mapping[str, float],
        related: Mapping[str, float],
        days: Sequence[Days],
        keys: Collection[str] | None,
        most: int,
    ) -> list[Document]:
        """
        Return at most *most* candidates with the best score for *words*, and as many of each span of *days*, in no order.

        Each word counts by its weight, those *related* to them for their share, in the passages themselves and in neighbouring
        messages. A candidate of a long span must have one of the words; without words the newest are taken. *keys* are the
        contents to search, None for all.
        """
        with self._faults():
            opened = self._opened  # subtle: another thread may replace it with a newer one
            places = self._find(opened[0], self._query(words, related) if words else None, days, keys, most)
            return self._candidates(opened, places)

    def same(self, units: Collection[int], keys: Collection[str] | None, most: int) -> list[Document]:
        """Return at most *most* passages by their vectors (`Document.unit`), of contents *keys* (None: all), in no order."""
        with self._faults():
            opened = self._opened
            named = self._library.Query.term_set_query(self._schema, "unit", [f"{unit:x}" for unit in units])
            return self._candidates(opened, self._collect(opened[0], [(self._must, named)], keys, most))

    def seen_by(self, readers: Collection[str]) -> list[Document]:
        """Return all passages that one of the *readers* may see, in whole or in part (`Passage.readers`), in no order."""
        with self._faults():
            opened = self._opened
            marked = self._library.Query.term_set_query(self._schema, "reader", list(readers))
            count = opened[0].search(marked, 1).count if readers else 0
            return self._candidates(opened, self._collect(opened[0], [(self._must, marked)], None, count) if count else ())

    def _candidates(
        self, opened: tuple[Any, dict[tuple[int, int], Document]], places: Iterable[tuple[int, int]]
    ) -> list[Document]:
        searcher, kept = opened
        if searcher.num_docs > _KEPT:
            kept = {}
        candidates = []
        for place in places:
            known = kept.get(place)
            if known is None:
                stored = searcher.doc(self._library.DocAddress(*place))["stored"][0]
                try:
                    kept[place] = known = read_document(stored)
                except (ValueError, TypeError, LookupError) as error:
                    raise BadFile(
                        self._folder, Text("a stored document is invalid ({kind})", kind=type(error).__name__)
                    ) from None
            candidates.append(known)
        return candidates

    def _find(
        self, searcher: Any, clause: Any, days: Sequence[Days], keys: Collection[str] | None, most: int
    ) -> Iterable[tuple[int, int]]:
        places = dict.fromkeys(self._collect(searcher, [(self._must, clause)], keys, most)) if clause else {}
        for span in days:
            low, high = span.first.toordinal(), span.last.toordinal()
            within = self._library.Query.range_query(self._schema, "day", self._library.FieldType.Integer, low, high)
            clauses = [(self._must, self._library.Query.const_score_query(within, 0.0))]
            if clause:
                clauses.append((self._should if span.length <= SHORT else self._must, clause))
            places |= dict.fromkeys(self._collect(searcher, clauses, keys, most, newest=not clause))
        return places

    def _collect(
        self, searcher: Any, clauses: list[Any], keys: Collection[str] | None, most: int, *, newest: bool = False
    ) -> list[tuple[int, int]]:
        if keys is not None:
            clauses = [*clauses, (self._must, self._of_keys(keys))]
        query = clauses[0][1] if len(clauses) == 1 else self._library.Query.boolean_query(clauses)
        hits = searcher.search(query, most, count=False, order_by_field="day" if newest else None).hits
        return [(address.segment_ord, address.doc) for _, address in hits]

    def _of_keys(self, keys: Collection[str]) -> Any:
        return self._library.Query.const_score_query(self._library.Query.term_set_query(self._schema, "key", list(keys)), 0.0)

    def _query(self, words: Mapping[str, float], related: Mapping[str, float]) -> Any:
        query, schema, should = self._library.Query, self._schema, self._should
        term, boost = query.term_query, query.boost_query
        clauses = [
            (should, boost(term(schema, field, word, "freq"), weight)) for word, weight in words.items() for field in _WORDS
        ]
        others = [
            (should, boost(term(schema, field, word, "freq"), worth))
            for word, worth in related.items()
            for field in _WORDS[:_NEAR]
        ]
        return query.boolean_query(clauses + others)

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn an error of tantivy into BadFile or OSError; our own errors, and those that end the process, pass."""
        try:
            yield
        except (OSError, SupervisorError, KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic in the library is not an Exception
            number = _OS_ERROR.search(str(error))
            if number:
                code = int(number[1] or number[2])
                raise OSError(code, os.strerror(code), self._folder) from None
            raise BadFile(self._folder, Text("{kind} in the index's library", kind=type(error).__name__)) from None

    @property
    def _must(self) -> Any:
        return self._library.Occur.Must

    @property
    def _should(self) -> Any:
        return self._library.Occur.Should


class Writing:
    """What the next commit deletes and adds, in this order."""

    def __init__(self, writer: Any, library: Any) -> None:
        self._writer, self._library = writer, library

    def delete(self, group: str) -> None:
        """Delete the documents of the group that were added before."""
        self._writer.delete_documents_by_term("group", group)

    def add(self, document: Document) -> None:
        """Add the document."""
        made = self._library.Document()
        for name, words in zip(_WORDS, document.fields, strict=True):
            made.add_text(name, words)
        made.add_text("group", document.group)
        made.add_text("key", document.key)
        made.add_text("unit", f"{document.unit:x}")
        for reader in document.passage.readers:
            made.add_text("reader", reader)
        made.add_integer("day", document.day.toordinal() if document.day else 0)
        made.add_bytes("stored", document.stored)
        self._writer.add_document(made)

    def keep(self, note: bytes) -> None:
        """Add the note."""
        kept = self._library.Document()
        kept.add_text("group", _NOTE)
        kept.add_bytes("stored", note)
        self._writer.add_document(kept)


def _refuse_without(size: int, folder: str) -> None:
    """Raise OSError (ENOMEM) if a limit (`ulimit -v`) leaves this process less than *size* bytes of address space."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    try:
        with open(_OWN_SIZE, encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux
        used = 0
    if limit - used < size:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), folder)


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in _WORDS:
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("group", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("key", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("unit", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("reader", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("day", indexed=True, fast=True)
    builder.add_bytes_field("stored", stored=True)
    return builder.build()


def segment_files(disk: Disk, commits: Path) -> dict[Path, Stat] | None:
    """
    Return the stats of the files that the list of the last commit names; None if it names none.

    Files that another process is writing for its next commit are not among them.
    """
    try:
        named = [
            (segment["segment_id"].replace("-", ""), segment["deletes"])
            for segment in parse_json(disk.read(commits))["segments"]
        ]
        deleted = {stem: f"{stem}.{deletes['opstamp']}.del" if deletes else "" for stem, deletes in named}
    except (ValueError, TypeError, KeyError, AttributeError, FileNotFoundError):
        raise BadFile(commits, Text("it is no list of a commit")) from None

    def belongs(name: str) -> bool:
        stem = name.partition(".")[0]
        return stem in deleted and (not name.endswith(".del") or name == deleted[stem])

    stats = disk.stats(commits.parent) if deleted else {}
    return {commits.parent / name: stat for name, stat in stats.items() if belongs(name)} if deleted else None


def refuse_damaged(disk: Disk, parts: Mapping[Path, Stat], committed: Stat) -> None:
    """Raise BadFile if one of *parts* was written to after the commit *committed* and lacks the checksum at its end."""
    for path, stat in parts.items():
        if stat.mtime_ns > committed.mtime_ns:
            try:
                data = disk.read(path)
            except FileNotFoundError:
                raise BadFile(path, Text("it is gone")) from None
            if not _is_whole(data):
                raise BadFile(path, Text("its bytes are not those that were written"))


def _is_whole(data: bytes) -> bool:
    if len(data) < _END.size:
        return False
    size, magic = _END.unpack_from(data, len(data) - _END.size)
    body = len(data) - _END.size - size
    if magic != _MAGIC or body < 0:
        return False
    try:
        footer = parse_json(data[body : -_END.size])
        return bool(footer["crc"] == zlib.crc32(memoryview(data)[:body]))
    except (ValueError, TypeError, KeyError):
        return False
