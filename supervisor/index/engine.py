"""
Find candidates with tantivy: each passage is a document, with its words and its neighbours' as fields, and itself as bytes.

Words come from `text/tokenizer` and are split at blanks only. The writer is closed after each commit, since it holds memory and
threads. Deleted documents count in tantivy's statistics until it merges; the order hardly changes (docs/explanation/recall.md).
tantivy trusts its files: a wrong length in one can end the process. So they are looked at before an index is opened, and one
with a file that was written to after its commit is made again; a copy without the times of its files is, too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
VERSION: Final = 12
#: Bytes of the writer's buffer, in one thread; tantivy needs 15 MB at least.
_WRITER_BYTES: Final = 20_000_000
#: Bytes of address space that the library takes to open an index and to write it, with room for the search. Its threads reserve
#: most of it and never use it, but if a limit refuses it, the library ends the process.
_TO_OPEN: Final = 320_000_000
_TO_WRITE: Final = 640_000_000
#: tantivy's list of committed files, which each commit replaces: a different stat means a different commit.
LIST: Final = "meta.json"
_NOTE: Final = "note"
_WORDS: Final = tuple(f"words{reach}" for reach in CONTEXT_WIDTHS)
#: How many fields, the narrowest, are searched for related words.
_NEAR: Final = 2
#: The size of this process in pages; the first number is its address space.
_OWN_SIZE: Final = "/proc/self/statm"
#: The number of a disk error in a message of tantivy's.
_OS_ERROR: Final = lazy_re(r"os error (\d+)|\bcode: (\d+)")


class Engine:
    """
    The tantivy index in one folder. BadFile if it is damaged and must be rebuilt, OSError for an error of the disk.

    A search sees the commit that was opened, also while another one is written.
    """

    def __init__(self, disk: Disk, folder: Path, *, new: bool) -> None:
        self._folder = str(folder)
        _refuse_without(_TO_OPEN, self._folder)
        import tantivy

        self._disk, self._list = disk, folder / LIST
        #: The stat of the list of files of the last commit, and the stats of these files, from before they are opened, so that
        #: the next check sees a change during it; {} before the first commit is finished.
        self.commit: Stat | None = None
        self.parts: Mapping[Path, Stat] = {}
        if not new:
            self.look_at_parts()
            self.refuse_truncated()
        self._library, self._schema = tantivy, _schema()
        self._must, self._should = tantivy.Occur.Must, tantivy.Occur.Should
        with self._faults():
            self._index = tantivy.Index(self._schema, path=self._folder) if new else tantivy.Index.open(self._folder)
            self._index.config_reader("Manual")  # otherwise a search could see a later commit than the one that was opened
            self._open_searcher()

    def _open_searcher(self) -> None:
        self._searcher: Any = self._index.searcher()

    @contextlib.contextmanager
    def writing(self, *, clear: bool = False) -> Iterator[Writing]:
        """
        Make one commit of what the block deletes and adds, *clear* everything that was there before, and open it.

        The manifest, a document beside the others, is replaced in the same commit, so that index and manifest always agree. If
        the block raises, or a signal ends it, the last commit is kept.
        """
        _refuse_without(_TO_WRITE, self._folder)
        self.refuse_truncated()  # a merge would read the truncated file, which could end the process
        with self._faults():
            writer = self._index.writer(_WRITER_BYTES, 1)
            try:
                if clear:
                    writer.delete_all_documents()
                yield Writing(writer, self._library)
                writer.commit()
            finally:
                writer.wait_merging_threads()
            self._index.reload()
            self._open_searcher()
        self.refuse_truncated()  # otherwise the new list would make a truncated file look valid

    def refuse_truncated(self) -> None:
        """Raise BadFile if a file of the index was changed in place after its commit: to read it could end the process."""
        for path, opened in self.parts.items():
            stat = self._disk.stat(path)
            is_newer = self.commit is not None and opened.mtime_ns > self.commit.mtime_ns
            # a deleted file was merged into another; this process still has it open
            if is_newer or (stat and stat.inode == opened.inode and stat != opened):
                raise BadFile(path, Text("it was cut off or written over"))

    def look_at_parts(self) -> None:
        """Take the stats of the files that the list names; those that another process is writing are not among them."""
        self.commit = self._disk.stat(self._list)
        try:
            named = [
                (segment["segment_id"].replace("-", ""), segment["deletes"])
                for segment in parse_json(self._disk.read(self._list))["segments"]
            ]
            deleted = {stem: f"{stem}.{deletes['opstamp']}.del" if deletes else "" for stem, deletes in named}
        except (ValueError, TypeError, KeyError, AttributeError, FileNotFoundError):
            raise BadFile(self._list, Text("it is no list of a commit")) from None

        def belongs(name: str) -> bool:
            stem = name.partition(".")[0]
            return stem in deleted and (not name.endswith(".del") or name == deleted[stem])

        stats = self._disk.stats(self._list.parent) if deleted else {}
        self.parts = {self._list.parent / name: stat for name, stat in stats.items() if belongs(name)}

    def note(self) -> bytes:
        """Return the note of the last commit, b"" for none."""
        with self._faults():
            clause = self._library.Query.term_query(self._schema, "group", _NOTE, "basic")
            hits = self._searcher.search(clause, 1, count=False).hits
            return bytes(self._searcher.doc(hits[0][1])["stored"][0]) if hits else b""

    def frequency(self, field: int, word: str) -> int:
        """Return how many passages have the word in that field."""
        try:
            return int(self._searcher.doc_freq(_WORDS[field], word))
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

        Each word counts by its weight, those *related* to them by their worth, in the passages themselves and in neighbouring
        messages, related words in the nearest alone. A candidate of a long span must have one of them; without words the newest
        are taken. *keys* are the contents to search, None for all.
        """
        with self._faults():
            searcher = self._searcher  # subtle: another thread may replace it with a newer one
            places = self._find(searcher, self._query(words, related) if words else None, days, keys, most)
            return self._documents(searcher, places)

    def same(self, units: Collection[int], keys: Collection[str] | None, most: int) -> list[Document]:
        """Return at most *most* passages by their vectors (`Document.unit`), of contents *keys* (None: all), in no order."""
        with self._faults():
            searcher = self._searcher
            named = self._library.Query.term_set_query(self._schema, "unit", [f"{unit:x}" for unit in units])
            return self._documents(searcher, self._collect(searcher, [(self._must, named)], keys, most))

    def seen_by(self, readers: Collection[str]) -> list[Document]:
        """Return all passages that one of the *readers* may see, in whole or in part (`Passage.readers`), in no order."""
        with self._faults():
            searcher = self._searcher
            marked = self._library.Query.term_set_query(self._schema, "reader", list(readers))
            count = searcher.search(marked, 1).count if readers else 0
            return self._documents(searcher, self._collect(searcher, [(self._must, marked)], None, count) if count else ())

    def _documents(self, searcher: Any, places: Iterable[tuple[int, int]]) -> list[Document]:
        try:
            return [read_document(searcher.doc(self._library.DocAddress(*place))["stored"][0]) for place in places]
        except (ValueError, TypeError, LookupError) as error:
            raise BadFile(self._folder, Text("a stored document is invalid ({kind})", kind=type(error).__name__)) from None

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
            of_keys = self._library.Query.term_set_query(self._schema, "key", list(keys))
            clauses = [*clauses, (self._must, self._library.Query.const_score_query(of_keys, 0.0))]
        query = clauses[0][1] if len(clauses) == 1 else self._library.Query.boolean_query(clauses)
        hits = searcher.search(query, most, count=False, order_by_field="day" if newest else None).hits
        return [(address.segment_ord, address.doc) for _, address in hits]

    def _query(self, words: Mapping[str, float], related: Mapping[str, float]) -> Any:
        query, schema = self._library.Query, self._schema
        term, boost = query.term_query, query.boost_query
        return query.boolean_query(
            [
                (self._should, boost(term(schema, field, word, "freq"), weight))
                for weights, fields in ((words, _WORDS), (related, _WORDS[:_NEAR]))
                for word, weight in weights.items()
                for field in fields
            ]
        )

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


class Writing:
    """What the next commit deletes and adds, in this order."""

    def __init__(self, writer: Any, library: Any) -> None:
        self._writer, self._library = writer, library

    def delete(self, group: str) -> None:
        """Delete the documents of the group that were added before."""
        self._writer.delete_documents_by_term("group", group)

    def add(self, documents: Iterable[Document]) -> tuple[int, tuple[int, ...]]:
        """Add the documents; return their number, and the number of words in each field."""
        units, counts = 0, (0,) * len(CONTEXT_WIDTHS)
        for document in documents:
            self._add(document)
            units += 1
            counts = tuple(count + more for count, more in zip(counts, document.lengths, strict=True))
        return units, counts

    def _add(self, document: Document) -> None:
        entry = self._library.Document()
        for name, words in zip(_WORDS, document.fields, strict=True):
            entry.add_text(name, words)
        entry.add_text("group", document.group)
        entry.add_text("key", document.key)
        entry.add_text("unit", f"{document.unit:x}")
        for reader in document.passage.readers:
            entry.add_text("reader", reader)
        entry.add_integer("day", document.day.toordinal() if document.day else 0)
        entry.add_bytes("stored", document.stored)
        self._writer.add_document(entry)

    def keep(self, note: bytes) -> None:
        """Add the note in place of the one before."""
        self.delete(_NOTE)
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
    for name in ("group", "key", "unit", "reader"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("day", indexed=True, fast=True)
    builder.add_bytes_field("stored", stored=True)
    return builder.build()
