"""
tantivy, which finds the candidates: one document a unit, its words and its neighbours' as fields, itself as stored bytes.

Words come from our own tokeniser and are split at blanks alone. One writer at a time, closed after each commit: it holds
memory and threads. What is deleted counts in its statistics until it merges; the order hardly moves (docs/recall.md).
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any, Final

from supervisor.index.bm25 import CONTEXT_WIDTHS
from supervisor.index.documents import Document, candidate
from supervisor.index.ranking import AFTER, SHORT
from supervisor.protocol.errors import BadFile, SupervisorError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from supervisor.index.bm25 import Candidate
    from supervisor.query.calendar import Days

#: Part of the index's version: another number means that fields or stored bytes are others.
VERSION: Final = 4
#: Bytes that the writer may hold, in one thread; tantivy wants 15 MB at least.
_WRITER_BYTES: Final = 20_000_000
_NOTE: Final = "note"
_WORDS: Final = tuple(f"words{reach}" for reach in CONTEXT_WIDTHS)
#: The number of a fault of the disk, as tantivy's messages have it.
_OS_ERROR: Final = re.compile(r"os error (\d+)|\bcode: (\d+)")


class Engine:
    """
    The index in one folder; BadFile where it can't be read, and has to be made anew, OSError where the disk refuses.

    What was opened is searched as it was, also while it is being written to.
    """

    def __init__(self, folder: str, *, new: bool) -> None:
        import tantivy

        self._folder = folder
        self._library = tantivy
        self._schema = _schema()
        with self._faults():
            self._index = tantivy.Index(self._schema, path=folder) if new else tantivy.Index.open(folder)
            self._index.config_reader("Manual")  # else a thread looks for another commit twice a second
            self._searcher = self._index.searcher()

    def write(self, gone: Iterable[str], made: Iterable[Document], note: Callable[[], bytes], *, clear: bool = False) -> None:
        """
        Take away the groups *gone* (all: *clear*), put in what was *made*, and the *note*, in one commit; search what now is.

        The note, which is asked for when all is put in, replaces the one before: what the index holds and what is known of
        it are never two things. Where *made* raises, or a signal ends it, the last commit stands.
        """
        with self._faults():
            writer = self._index.writer(_WRITER_BYTES, 1)
            try:
                if clear:
                    writer.delete_all_documents()
                for group in (*gone, _NOTE):
                    writer.delete_documents_by_term("group", group)
                for document in made:
                    writer.add_document(self._document(document))
                kept = self._library.Document()
                kept.add_text("group", _NOTE)
                kept.add_bytes("stored", note())
                writer.add_document(kept)
                writer.commit()
            finally:
                writer.wait_merging_threads()
            self._index.reload()
            self._searcher = self._index.searcher()

    def note(self) -> bytes:
        """Return the note of the last commit, b"" where there is none."""
        with self._faults():
            asked = self._library.Query.term_query(self._schema, "group", _NOTE, "basic")
            hits = self._searcher.search(asked, 1, count=False).hits
            return bytes(self._searcher.doc(hits[0][1])["stored"][0]) if hits else b""

    def frequency(self, field: int, word: str) -> int:
        """Return in how many units the word stands, within the reach of that field."""
        try:
            return int(self._searcher.doc_freq(_WORDS[field], word))
        except BaseException:  # asked hundreds of times a search, so the context manager is entered only where it fails
            with self._faults():
                raise

    def candidates(
        self, words: Sequence[str], days: Sequence[Days], keys: Collection[str] | None, most: int
    ) -> list[Candidate]:
        """
        Return the units in which *words* stand best, at most *most*, and as many of each stretch of *days*; no order.

        Of a long stretch they are those that have the words; without words the newest. *keys* are the contents that are
        searched, None all.
        """
        found: dict[tuple[int, int], bytes] = {}
        with self._faults():
            self._find(found, words, days, keys, most)
        try:
            return [candidate(stored) for stored in found.values()]
        except (ValueError, IndexError) as error:
            raise BadFile(self._folder, f"a unit in it is no unit ({type(error).__name__})") from None

    def _find(
        self,
        found: dict[tuple[int, int], bytes],
        words: Sequence[str],
        days: Sequence[Days],
        keys: Collection[str] | None,
        most: int,
    ) -> None:
        searcher = self._searcher  # subtle: another thread may put a newer one in its place
        asked = self._query(words) if words else None
        if asked:
            self._collect(searcher, found, [(self._must, asked)], keys, most)
        for span in days:
            low, high = span.first.toordinal() - 1, span.last.toordinal() + AFTER[-1][0]
            within = self._library.Query.range_query(self._schema, "day", self._library.FieldType.Integer, low, high)
            clauses = [(self._must, self._library.Query.const_score_query(within, 0.0))]
            if asked:
                clauses.append((self._should if span.length <= SHORT else self._must, asked))
            self._collect(searcher, found, clauses, keys, most, newest=not asked)

    def _collect(
        self,
        searcher: Any,
        found: dict[tuple[int, int], bytes],
        clauses: list[Any],
        keys: Collection[str] | None,
        most: int,
        *,
        newest: bool = False,
    ) -> None:
        if keys is not None:
            allowed = self._library.Query.term_set_query(self._schema, "key", list(keys))
            clauses = [*clauses, (self._must, self._library.Query.const_score_query(allowed, 0.0))]
        query = clauses[0][1] if len(clauses) == 1 else self._library.Query.boolean_query(clauses)
        for _, address in searcher.search(query, most, count=False, order_by_field="day" if newest else None).hits:
            place = (address.segment_ord, address.doc)
            if place not in found:
                found[place] = searcher.doc(address)["stored"][0]

    def _query(self, words: Sequence[str]) -> Any:
        term = self._library.Query.term_query
        return self._library.Query.boolean_query(
            [(self._should, term(self._schema, field, word, "freq")) for word in words for field in _WORDS],
        )

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        """Make what tantivy raises an error of ours; what we raise ourselves, and what ends the process, passes."""
        try:
            yield
        except (OSError, SupervisorError, KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic in the library is no Exception
            number = _OS_ERROR.search(str(error))
            if number:
                code = int(number[1] or number[2])
                raise OSError(code, os.strerror(code), self._folder) from None
            raise BadFile(self._folder, f"{type(error).__name__} in the index's library") from None

    @property
    def _must(self) -> Any:
        return self._library.Occur.Must

    @property
    def _should(self) -> Any:
        return self._library.Occur.Should

    def _document(self, document: Document) -> Any:
        made = self._library.Document()
        for name, words in zip(_WORDS, document.fields, strict=True):
            made.add_text(name, " ".join(words))
        made.add_text("group", document.group)
        made.add_text("key", document.key)
        made.add_integer("day", document.day)
        made.add_bytes("stored", document.stored)
        return made


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in _WORDS:
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("group", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("key", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("day", indexed=True, fast=True)
    builder.add_bytes_field("stored", stored=True)
    return builder.build()
