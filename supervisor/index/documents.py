"""
Documents of the index: the words of a passage and of its neighbours, and the passage itself, stored as JSON.

Neighbours are the messages of the same conversation and day, up to one and up to three away (docs/explanation/recall.md).
"""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, tzinfo
from functools import cache, lru_cache
from typing import Any, Final

from ..protocol.dated_file import parse_dated
from ..protocol.paths import WorkspacePaths
from ..query.dates import days_about
from ..storage.clock import from_wire, to_wire
from ..storage.files import Files
from ..text.foreign_text import decoded
from ..text.language import is_small_talk
from ..text.secret_forms import personal
from ..text.tokenizer import tokens
from .chunking import Chunk, chunk_dated, chunk_note, chunk_summary, neighbours
from .hit import Passage
from .manifest import PATIENCE_S, Kind, Record

#: One field each: the words of a passage and of its neighbours up to this many messages away.
CONTEXT_WIDTHS: Final = (0, 1, 3)
#: Characters of one passage that are searched: a message of megabytes must not delay the others.
MOST_CHARS: Final = 50_000
#: Roles that a question may ask for.
_ROLES: Final = ("user", "assistant")
#: What is stored of a passage.
_STORED: Final = tuple(column.name for column in fields(Passage) if column.name not in {"path", "tier"})
#: Passages whose words are kept: those that no file holds yet are read again with each new message.
_KEPT: Final = 1_024
#: The words that ask for what is known by its form.
_PHONE_WORDS: Final = "phone number mobile 电话 手机 号码 手机号"
_MAIL_WORDS: Final = "email mail address 邮箱 邮件 地址"
#: Characters of a passage, and of the message before it, of which its vector is made.
_MEANT_CHARS: Final = 1_500
_BEFORE_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Document:
    """
    A passage in the index, without its path and tier, which may change; *group* is its day or file, *key* its file's content.

    *words* are its words, then those that each wider field adds, with blanks between them. *unit* names what its vector is made
    of (`Meant.unit`).
    """

    group: str
    key: str
    passage: Passage
    words: tuple[str, ...]
    unit: int = 0

    @property
    def own_words(self) -> list[str]:
        """The words of the passage itself."""
        return self.words[0].split()

    @property
    def source(self) -> tuple[str, int, int, str]:
        """What identifies the passage, its key first."""
        return self.key, self.passage.start, self.passage.end, self.passage.text

    @property
    def day(self) -> date | None:
        """The day of the passage."""
        return self.passage.day

    @property
    def role(self) -> str:
        """Who speaks: "user", "assistant" or ""; nobody asks for the words of others."""
        return self.passage.role if self.passage.role in _ROLES else ""

    @property
    def fields(self) -> tuple[str, ...]:
        """The words of each field: of the passage, with its nearest neighbours, with all."""
        return tuple(itertools.accumulate(self.words, lambda narrower, more: f"{narrower} {more}"))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of words of each field."""
        return tuple(itertools.accumulate(len(words.split()) for words in self.words))

    @property
    def stored(self) -> bytes:
        """The document as JSON, which `read_document` reads."""
        values = {
            "group": self.group,
            "key": self.key,
            "unit": self.unit,
            "words": self.words,
            "passage": _fields_of(self.passage),
        }
        return json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass")


def read_document(stored: bytes) -> Document:
    """Return the document that was stored."""
    values = json.loads(stored.decode("utf-8", "surrogatepass"))
    return Document(values["group"], values["key"], _passage_of(values["passage"]), tuple(values["words"]), values["unit"])


def document_of(group: str, key: str, passage: Passage, words: Iterable[Iterable[str]], unit: int) -> Document:
    """Return the document of a passage; *words* are its words, then those that each wider field adds."""
    return Document(group, key, passage, tuple(map(" ".join, words)), unit)


def _fields_of(passage: Passage) -> dict[str, Any]:
    """Return the passage for JSON, without its path and tier, which may change, and without what it does not have."""
    values = {name: getattr(passage, name) for name in _STORED}
    values |= {"day": passage.day and passage.day.isoformat(), "at": passage.at and to_wire(passage.at)}
    return {name: value for name, value in values.items() if value or name == "text"}


def _passage_of(values: dict[str, Any]) -> Passage:
    day, at = values.get("day"), values.get("at")
    values["day"] = date.fromisoformat(day) if day else None
    values["at"] = from_wire(at) if at else None
    values["marked"] = tuple((number, line) for number, line in values.get("marked", ()))
    return Passage(path="", tier="dated", **values)


def documents(
    files: Files, paths: WorkspacePaths, zone: tzinfo, group: str, members: Mapping[str, Record]
) -> Iterator[Document]:
    """Yield the documents of a group from the present text of its files, *members* by path."""
    keys = {path: record.key for path, record in members.items()}
    for talk in _talks(files, paths, members, zone):
        yield from talk_documents(group, keys, talk)


def _talks(files: Files, paths: WorkspacePaths, members: Mapping[str, Record], zone: tzinfo) -> list[list[Chunk]]:
    chunks = (chunk for path in sorted(members) for chunk in chunk_file(files, paths, path, members[path], zone))
    return neighbours([beginning(chunk) for chunk in chunks])


@dataclass(frozen=True, slots=True)
class Meant:
    """What the vector of a passage is made of: its text, and the text of the message before it in the same conversation."""

    text: str
    before: str

    @property
    def unit(self) -> int:
        """A name for both: the same words after the same words have the same name wherever they are."""
        digest = hashlib.sha256(f"{self.before}\0{self.text}".encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big")


def vector_input(talk: Sequence[Chunk], n: int) -> Meant:
    """Return what the vector of passage *n* of a conversation is made of."""
    before = talk[n - 1].passage.text[:_BEFORE_CHARS] if n else ""
    return Meant(talk[n].passage.text[:_MEANT_CHARS], before)


def meant_by(files: Files, paths: WorkspacePaths, members: Mapping[str, Record], zone: tzinfo) -> Iterator[Meant]:
    """Yield what the vectors of a group's passages are made of; nothing is tokenised."""
    for talk in _talks(files, paths, members, zone):
        yield from meant_in(talk)


def meant_in(talk: Sequence[Chunk]) -> Iterator[Meant]:
    """Yield what the vectors of a conversation's passages are made of; small talk has none, since it answers nothing."""
    for n, chunk in enumerate(talk):
        if _has_words(chunk) and not is_small_talk(chunk.passage.text):
            yield vector_input(talk, n)


def beginning(chunk: Chunk) -> Chunk:
    """Return the chunk with only the part of its words that is searched, since each step of a turn copies them."""
    if len(chunk.passage.text) <= MOST_CHARS:
        return chunk
    return replace(chunk, passage=replace(chunk.passage, text=chunk.passage.text[:MOST_CHARS]))


def _has_words(chunk: Chunk) -> bool:
    """Return whether the chunk has anything to show: a message that is only a thought has nothing."""
    return bool(chunk.passage.text.strip())


def chunk_file(files: Files, paths: WorkspacePaths, path: str, record: Record, zone: tzinfo) -> list[Chunk]:
    """Return the chunks of the present text of a file, none if it does not exist."""
    version = files.read_shown(paths.root / path, PATIENCE_S)
    return chunk_data(version.data, paths, path, record.kind, record.day, zone) if version else []


def chunk_data(data: bytes, paths: WorkspacePaths, path: str, kind: Kind, day_label: str, zone: tzinfo) -> list[Chunk]:
    """Return the chunks of the bytes of the file at *path*, whose kind and day are those of a scan."""
    text = decoded(data)
    day = date.fromisoformat(day_label) if len(day_label) == len("2026-01-28") else None
    match kind:
        case "dated":
            parsed = parse_dated(data, paths.root / path)
            return chunk_dated(path, parsed, text, zone) if parsed else []
        case "summary":
            return chunk_summary(path, text, day, paths.root / path)
        case "long_term":
            return chunk_note(path, text, None, "long_term")
        case "note":
            return chunk_note(path, text, day)


def talk_documents(
    group: str, keys: Mapping[str, str], talk: Sequence[Chunk], places: range | None = None
) -> Iterator[Document]:
    """Yield the documents of a conversation, or those at *places* in it; *keys* are those of the contents, by path."""
    for n in places or range(len(talk)):
        words = with_neighbours(n, len(talk), lambda i: words_in(talk[i].passage))
        words[1].extend(tokens(talk[n].context))
        if _has_words(talk[n]):
            yield document_of(group, keys[talk[n].passage.path], talk[n].passage, words, vector_input(talk, n).unit)


@lru_cache(maxsize=_KEPT)
def words_in(passage: Passage) -> tuple[str, ...]:
    """
    Return the words of a passage: its speaker, its text, and the days that it is about, as if it named their dates.

    One with a phone number or a mail address has the words that ask for these, too: "I'm on 07700 900874 now".
    """
    text = passage.text[:MOST_CHARS]
    asked_by = [word for words, form in _forms() if form.search(text) for word in words]
    return (*tokens(passage.speaker), *tokens(text), *asked_by, *(days_about(text, passage.day) if passage.day else ()))


@cache
def _forms() -> tuple[tuple[list[str], re.Pattern[str]], ...]:
    mail, *phones = personal()
    return (tokens(_PHONE_WORDS), re.compile("|".join(phones))), (tokens(_MAIL_WORDS), re.compile(mail))


def with_neighbours(n: int, count: int, words_of: Callable[[int], Sequence[str]]) -> tuple[list[str], ...]:
    """Return the words of passage *n* of a conversation of *count*, and the words of neighbours that each wider field adds."""
    words = [[*words_of(n)]]
    for before, reach in itertools.pairwise(CONTEXT_WIDTHS):
        around = (*range(n - reach, n - before), *range(n + before + 1, n + reach + 1))
        words.append([word for i in around if 0 <= i < count for word in words_of(i)])
    return tuple(words)
