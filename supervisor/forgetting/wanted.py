"""
What a person means when they ask to forget: the messages, lines and files, found wherever they stand.

A message is looked for in dated files (also copies and files that were moved), in history.json and its copies, in the journal
and in the drop-box; so one that a person has deleted from its file is still found where it is left. Its words are found in what
was made from them by a `Trace`: whole, or a part of them, however they are spelled and escaped.
"""

import hashlib
import stat as modes
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

from ..archive.history import history_copies
from ..longterm.lines import Line, cut, filled, parse_entry, parse_refs, refuse_stale
from ..protocol.dated_file import Block, parse_dated
from ..protocol.message import Key, Message
from ..protocol.paths import LONG_TERM, is_unfinished
from ..storage.clock import local_day
from ..storage.errors import BadRequest, SupervisorError
from ..storage.texts import Text
from ..text.language import CHINESE, ENGLISH
from ..text.lazy_re import lazy_re
from ..workspace import Workspace

#: By what the words to forget are named.
By: TypeAlias = Literal["message", "line", "match", "session", "day", "file", "removed"]
KINDS: Final[tuple[By, ...]] = ("message", "line", "match", "session", "day", "file", "removed")
#: From so many hits on a text is refused that stands in a third of all messages.
_MANY: Final = 10
#: How much of a text has to stand in one piece, so that it is no chance: a Chinese character counts for two letters.
_WEIGHT: Final = 20
#: The least that a text of its own has to weigh; what is shorter ("ok", 好的) is in every file.
_LEAST: Final = 8
_ESCAPED: Final = lazy_re(r"\\u([0-9a-fA-F]{4})")
_NO_WORD: Final = lazy_re(r"\\[nrtbf]|[\W_]+")
_WIDE: Final = "\u2e80"
_ONE_SIGN: Final = lazy_re(r"[⺀-鿿가-힯]{2,}|.{3,}")


@dataclass(frozen=True, slots=True)
class Standing:
    """A message that stands somewhere: as an *entry*, and the dated files that hold it."""

    entry: Message | Block
    files: tuple[Path, ...] = ()

    @property
    def ref(self) -> str:
        """Its id and the digest of its words, by which a tool names it."""
        return f"{self.entry.key[0]}@{self.entry.key[1][:8]}"

    @property
    def session(self) -> str:
        """The session that it names, "" where it names none."""
        return self.entry.session if isinstance(self.entry, Block) else str(self.entry.raw.get("session") or "")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The messages, long-term lines and whole files to forget."""

    messages: Mapping[Key, Standing] = field(default_factory=dict)
    lines: tuple[Line, ...] = ()
    files: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.messages) + len(self.lines) + len(self.files)

    @property
    def digest(self) -> str:
        """What names exactly these, so that nothing else is forgotten than what was shown."""
        parts = [*map(str, sorted(self.messages)), *(line.text for line in self.lines), *self.files]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Spot:
    """What forgetting does in one place: its code, a sentence, and the files, as paths from the workspace."""

    place: str
    sentence: str
    files: tuple[str, ...]


def files_below(ws: Workspace, folder: Path, but: Path | None = None) -> Iterator[Path]:
    """Yield every regular file below the folder, *but* for those of one folder."""
    for name, stat in sorted(ws.files.disk.stats(folder).items()):
        if modes.S_ISDIR(stat.mode) and folder / name != but:
            yield from files_below(ws, folder / name, but)
        elif modes.S_ISREG(stat.mode):
            yield folder / name


def dated_paths(ws: Workspace) -> Iterator[Path]:
    """Yield every file of memory/ and trash/ that may be a dated file, whatever its name and place: also copies of editors."""
    for folder in (ws.paths.memory, ws.paths.trash):
        yield from (path for path in files_below(ws, folder, ws.paths.summaries) if ".md" in path.name)


def blocks_at(ws: Workspace, path: Path) -> tuple[Block, ...]:
    """Return the messages of a dated file; none of any other file."""
    version = ws.files.read_stable(path)
    with suppress(SupervisorError):
        parsed = parse_dated(version.data, path) if version else None
        return tuple(parsed.blocks) if parsed else ()
    return ()


def standing(ws: Workspace, now: datetime) -> dict[Key, Standing]:
    """Return every message of the workspace, wherever it stands."""
    places: dict[Key, Standing] = {}
    unfiled = (*ws.unfiled.with_forgotten(now), *ws.journal.unwritten.values())
    for message in (*history_copies(ws.files, ws.paths, ws.zone), *unfiled):
        places.setdefault(message.key, Standing(message))
    for path in dated_paths(ws):
        for block in blocks_at(ws, path):
            before = places.get(block.key)
            places[block.key] = Standing(block, (*(before.files if before else ()), path))
    return places


def wanted(ws: Workspace, by: By, value: str, now: datetime) -> Wanted:
    """Return what is meant; nothing where it stands nowhere. BadRequest for a value that means too much or nothing."""
    if by == "line":
        return _lines(ws, value)
    places = standing(ws, now)
    if by == "file":
        return _file(ws, value, places)
    taken = ws.deletions.taken_out() if by == "removed" else ()
    chosen = {key: place for key, place in places.items() if key in taken or _is_meant(ws, by, value, key, place)}
    if by != "match":
        return Wanted(chosen, _with_made_lines(ws, chosen))
    if len(chosen) > _MANY and len(chosen) * 3 > len(places):
        raise BadRequest(
            "--match",
            Text(
                "it stands in {count} of {total} messages; give words that say more exactly which ones are meant",
                count=len(chosen),
                total=len(places),
            ),
        )
    ids, sought = {key[0] for key in chosen if key[0]}, plain(value)
    chosen |= {key: place for key, place in places.items() if key[0] in ids}  # other versions of what has the text
    also = [line for line in every_line(ws) if sought in plain(line.text)]
    return Wanted(chosen, _with_made_lines(ws, chosen, also), _copies_with(ws, sought, chosen))


def refuse_vague(text: str) -> None:
    """Refuse a text that is no words: "", one letter, a word that says nothing alone."""
    if not _ONE_SIGN.search(text.strip()) or plain(text) in ENGLISH | CHINESE:
        raise BadRequest(
            "--match",
            Text(
                "{value!r} is too little to look for: give words that stand in what is to be forgotten and nowhere else",
                value=text,
            ),
        )


def plain(text: str) -> str:
    """Return the text as it is compared: without case and width."""
    return unicodedata.normalize("NFKC", text).casefold()


def _is_meant(ws: Workspace, by: By, value: str, key: Key, place: Standing) -> bool:
    entry = place.entry
    match by:
        case "message":
            identity, _, digest = value.partition("@")
            ids = (key[0], entry.id)  # in a dated file a later text of a message has an id of its own
            return identity in ids and key[1].startswith(digest)
        case "match":
            return plain(value) in plain(entry.text)
        case "session":
            return place.session == value
        case "day":
            return entry.created_at is not None and local_day(entry.created_at, ws.zone).isoformat() == value
    return False


def standing_lines(ws: Workspace) -> tuple[Line, ...]:
    """Return the lines of the long-term file, those that were forgotten and are there again among them."""
    return filled(cut(text_at(ws, ws.paths.root / ws.long_term.path).removeprefix("\ufeff")))


def copies(ws: Workspace) -> Iterator[Path]:
    """
    Yield the receipts, earlier versions, set-aside files, and files of the drop-box that can't be read.

    Not those that a program has not finished yet: they are taken in later, without what was forgotten.
    """
    paths = ws.paths
    for folder in (paths.turns, paths.quarantine, paths.replaced, paths.previous):
        yield from files_below(ws, folder)
    finished = {path: _is_understood(ws, path) for path in ws.drop_box.finished()}
    yield from (path for path in files_below(ws, paths.drop_box) if not finished.get(path, is_unfinished(path.name)))


def _is_understood(ws: Workspace, path: Path) -> bool:
    with suppress(ValueError):
        version = ws.files.read_stable(path)
        return version is None or bool(ws.drop_box.parse(path, version))
    return False


def _copies_with(ws: Workspace, sought: str, chosen: Mapping[Key, Standing]) -> tuple[str, ...]:
    """Return the copies in which the text stands, but for those that show the chosen messages, and go with them."""
    trace = Trace((message.entry.text for message in chosen.values()), {key[0] for key in chosen})
    texts = ((path, text_at(ws, path)) for path in copies(ws))
    return tuple(ws.paths.relative(path) for path, text in texts if sought in plain(text) and not trace.is_in(text))


def left_alone(ws: Workspace, wanted: Wanted, text: str, gone: Collection[str]) -> tuple[str, ...]:
    """
    Return a person's own files in which the same words stand, or the *text*: they are never changed.

    A summary that is not *gone* then has them since somebody wrote them into it.
    """
    if not (wanted or text):
        return ()
    trace = Trace(message.entry.text for message in wanted.messages.values())
    paths = (*(path for path in dated_paths(ws) if not blocks_at(ws, path)), *files_below(ws, ws.paths.summaries))
    named = [path for path in paths if ws.paths.relative(path) not in (*wanted.files, ws.long_term.path, *gone)]
    texts = ((path, text_at(ws, path)) for path in named)
    return tuple(ws.paths.relative(path) for path, body in texts if trace.is_in(body) or (text and plain(text) in plain(body)))


def every_line(ws: Workspace) -> tuple[Line, ...]:
    """Return the lines of the long-term file, and behind them, with the number 0, others that `undo` could bring back."""
    lines = standing_lines(ws)
    hunks = (hunk for act in ws.diary.acts().values() for hunk in act.fields.get("hunks", ()))
    undoable = {line.text for hunk in hunks for text in hunk[1:] for line in filled(cut(str(text)))}
    return (*lines, *(Line(0, text) for text in sorted(undoable - {line.text for line in lines})))


def _with_made_lines(ws: Workspace, chosen: Mapping[Key, Standing], also: Iterable[Line] = ()) -> tuple[Line, ...]:
    """Return the lines, and those that a session's summary made of the messages: they have its name, and the words."""
    sources = {"auto-overflow", *(message.session for message in chosen.values())}
    trace = Trace(message.entry.text for message in chosen.values())
    derived = [
        line
        for line in (standing_lines(ws) if chosen else ())
        if (entry := parse_entry(line.text)) and entry.source in sources and trace.is_in(entry.content)
    ]
    return tuple(sorted({*also, *derived}))


def _lines(ws: Workspace, value: str) -> Wanted:
    named = parse_refs([value], "--line")
    text = ws.long_term.read().text
    refuse_stale(text, named)
    return Wanted(lines=tuple(line for line in filled(cut(text)) if line.number in named))


def _file(ws: Workspace, name: str, messages: Mapping[Key, Standing]) -> Wanted:
    """Return a dated file as its messages, any other file of memory/ or attachments/ as a whole."""
    paths = [path for path in dated_paths(ws) if name in (path.name, ws.paths.relative(path))]
    keys = {block.key for path in paths for block in blocks_at(ws, path)}
    if keys:
        return Wanted({key: messages[key] for key in keys if key in messages})
    if name in LONG_TERM or ".." in name.split("/") or name.startswith("memory/summary/"):
        raise BadRequest(
            "--file",
            Text(
                "{name} can't be forgotten as a whole: give a dated file, a note of memory/ or a file of attachments/",
                name=name,
            ),
        )
    others = (*files_below(ws, ws.paths.memory, ws.paths.summaries), *files_below(ws, ws.paths.attachments))
    files = (ws.paths.relative(path) for path in others)
    return Wanted(files=tuple(file for file in files if name in (file, file.partition("/")[2], file.rpartition("/")[2])))


# ── traces ───────────────────────────────────────────────────────────────────


class Trace:
    """
    The *texts* that are looked for, and the *names*: ids and file names that stand for them.

    Texts are compared without case, blanks and punctuation. Of a long text each stretch of some characters counts, so that the
    part that a receipt shows is found, too.
    """

    def __init__(self, texts: Iterable[str], names: Iterable[str] = ()) -> None:
        plain = {_plain(text) for text in texts}
        self._parts = tuple(dict.fromkeys(part for text in sorted(plain) for part in _parts(text)))
        self._names = tuple(sorted({name for name in names if len(name) >= _LEAST}))

    def is_in(self, text: str) -> bool:
        """Return whether the words, or a part of them, or a name stand in the text."""
        if any(name in text for name in self._names):
            return True
        plain = _plain(text) if self._parts else ""
        return any(part in plain for part in self._parts)


def text_at(ws: Workspace, path: Path) -> str:
    """Return what the file says; "" where there is none."""
    version = ws.files.read_stable(path)
    return decoded(version.data) if version else ""


def decoded(data: bytes) -> str:
    """Return what a file says, in UTF-8 or UTF-16; JSON's escapes are the characters that they stand for."""
    return unescaped(data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "ignore"))


def unescaped(text: str) -> str:
    """Return the text with the characters that JSON's escapes stand for."""
    if "\\u" in text:
        text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")  # pairs of escapes are one character
    return text


def _plain(text: str) -> str:
    return _NO_WORD.sub("", unicodedata.normalize("NFKC", unescaped(text)).casefold())


def _parts(text: str) -> list[str]:
    """Return the stretches of the text that count, one behind the other, and all of a text that is short."""
    parts, part, weight = [], "", 0
    for sign in text:
        part, weight = part + sign, weight + 1 + (sign >= _WIDE)
        if weight >= _WEIGHT:
            parts.append(part)
            part, weight = "", 0
    if not parts and weight >= _LEAST:
        parts.append(part)
    return parts
