"""
What was forgotten, `.recalld/forgotten.jsonl`: of each message its id, its time and keyed digests, and no word of it.

The list says what must not come back: a writer that sends a message again, a program that rewrites history.json, a copied
file, an import and a restored backup are compared with it. An act of forgetting is in it before anything is deleted, and
finished when nothing is left; so whoever finds one that is not finished goes on with it. Source: protocol.md, 13.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

from ..protocol.dated_file import (
    Block,
    body_digest,
    is_as_written,
    is_broken,
    number_in,
    parse_dated,
    pieces_of,
    read_head,
)
from ..protocol.message import Key, Message, fingerprint_of
from ..protocol.paths import LONG_TERM, WorkspacePaths
from ..storage.clock import to_wire
from ..storage.disk import Stat
from ..storage.errors import NewerFormat, SupervisorError
from ..storage.files import Files, digest_of
from ..storage.lenient_json import parse_json, render_json
from ..text.lazy_re import lazy_re

FORMAT: Final = 1
_KEY_BYTES: Final = 32
_DIGEST_BYTES: Final = 16
_COUNT: Final = lazy_re(r"^count: .*$", re.MULTILINE)
_DIGEST: Final = lazy_re(r"^digest: .*$", re.MULTILINE)
#: Day and source of a long-term line that came from another workspace.
_HOME: Final = lazy_re(r"^(\d{4}-\d{2}-\d{2}\|[^|@\n]*)@[^|\n]*\|")
#: A message, or the block of one in a dated file.
Said: TypeAlias = "Message | Block"


@dataclass(frozen=True, slots=True)
class Act:
    """
    One act of forgetting, as a line of the file: *finished* is "" until nothing of it is left.

    Of each message it has the id, the time in wire form ("" for none), and keyed digests; *lines* and *files* are such digests.
    *versions* are those of the dated files that had the messages: what a worker still makes of them is refused.

    *by* is who asked for it, as the diary keeps it. *begun* is its name, too: no two acts of a workspace begin in one
    millisecond.
    """

    begun: str
    finished: str = ""
    messages: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    by: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """How many messages, lines and files are forgotten."""
        return {"messages": len(self.messages), "lines": len(self.lines), "files": len(self.files)}


@dataclass(frozen=True)
class _Known:
    """What the file says, and what is looked up in it."""

    stat: Stat | None = None
    key: bytes = b""
    acts: tuple[Act, ...] = ()
    digests: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()  # of files, in acts of which nothing is left
    ids: frozenset[bytes] = frozenset()  # of messages, in such acts


class Tombstones:
    """The list of one workspace; it is read again when the file has changed."""

    def __init__(self, files: Files, paths: WorkspacePaths, place: Path | None = None) -> None:
        self._files, self._paths, self._place = files, paths, place or paths.forgotten
        self._known = _Known()
        #: The files that have nothing forgotten, as they were looked at (`forgetting/sweep.py`).
        self.clean: dict[Path, Stat] = {}

    def acts(self) -> tuple[Act, ...]:
        """Return all acts, the oldest first; NewerFormat when a newer recalld wrote the list."""
        stat = self._files.disk.stat(self._place)
        if stat != self._known.stat:
            version = self._files.read_stable(self._place)
            self._known = _known(version.data, version.stat, self._paths) if version else _Known()
            self.clean = {}
        return self._known.acts

    def unfinished(self) -> tuple[Act, ...]:
        """Return the acts of which something may be left."""
        return tuple(act for act in self.acts() if not act.finished)

    def ids(self) -> frozenset[str]:
        """Return the ids of the forgotten messages."""
        return frozenset(message[0] for act in self.acts() for message in act.messages)

    # ── what is in it ────────────────────────────────────────────────────────

    def has(self, message: Said) -> bool:
        """Return whether this message was forgotten: the same id and words, or the same moment, role and words."""
        if not self.acts():
            return False
        return any(self._keyed(part) in self._known.digests for part in _marks(message))

    def has_key(self, key: Key) -> bool:
        """Return whether the message with this id and this digest of its words was forgotten."""
        return bool(self.acts()) and self._keyed(_mark("message", *key)) in self._known.digests

    def has_line(self, text: str) -> bool:
        """Return whether this line of the long-term file was forgotten, wherever it came from."""
        return bool(self.acts()) and any(self._keyed(_mark("line", form)) in self._known.digests for form in _forms(text))

    def has_file(self, name: str, digest: str) -> bool:
        """Return whether the file *name* was forgotten, or made anew without a message, in the version of this digest."""
        return bool(self.acts()) and self._keyed(_mark("file", name, digest)) in self._known.digests

    def shown(self, path: Path, data: bytes) -> bytes | None:
        """Return the bytes of a file without its forgotten messages, its forgotten lines blank; None for what goes whole."""
        if not self.acts():
            return data
        with suppress(SupervisorError):  # a file of a newer recalld says nothing to this one
            return self._shown(path, data)
        return data

    def _shown(self, path: Path, data: bytes) -> bytes | None:
        from ..protocol.summary_file import sources_in  # lazy: most workspaces have forgotten nothing

        files = [(name, digest_of(data)[:16]) for name in (self._paths.relative(path), path.name, "")]
        if path.parent == self._paths.turns and any(identity in data for identity in self._known.ids):
            return None
        dated = parse_dated(data, path) if ".md" in path.name else None
        if ".md" in path.name and not dated:
            files += [(source.name, source.digest) for source in sources_in(data)]
        if any(self._keyed(_mark("file", *file)) in self._known.gone for file in files):
            return None
        if path.parent == self._paths.previous or self._paths.relative(path) in LONG_TERM:
            lines = data.split(b"\n")
            return b"\n".join(b"" if self.has_line(line.rstrip(b"\r").decode("utf-8", "replace")) else line for line in lines)
        return cut(data, path, self.has)[0] if dated and any(map(self.has, dated.blocks)) else data

    # ── changes ──────────────────────────────────────────────────────────────

    def begin(
        self,
        messages: Iterable[Said],
        lines: Iterable[str],
        files: Iterable[tuple[str, str]],
        now: datetime,
        entropy: bytes,
        by: str = "",
    ) -> Act:
        """Write down, durably, what is to be forgotten; the first act takes its key from *entropy*, 32 random bytes."""
        with self._files.lock(self._paths.history_lock):
            acts = self.acts()
            key = self._known.key or entropy[:_KEY_BYTES]
            act = Act(
                to_wire(now),
                messages=tuple(
                    (message.key[0], _moment(message), *(_keyed(key, mark) for mark in _marks(message))) for message in messages
                ),
                lines=tuple(_keyed(key, _mark("line", _forms(line)[-1])) for line in lines),
                files=tuple(_keyed(key, _mark("file", *file)) for file in files),
                by=by,
            )
            self._write(key, (*acts, act))
        return act

    def add(self, act: Act, files: Iterable[tuple[str, str]]) -> None:
        """Add versions of files to the act, each with the name of its file, "" for any."""
        more = [self._keyed(_mark("file", *file)) for file in files]
        self._change(act, lambda act: replace(act, versions=tuple(dict.fromkeys([*act.versions, *more]))))

    def finish(self, act: Act, now: datetime) -> None:
        """Write down that nothing of the act is left."""
        self._change(act, lambda act: replace(act, finished=to_wire(now)))

    def is_of(self, others: Tombstones) -> bool:
        """Return whether the other list is of the same memory, as far as this one can tell: it has the same key, or none."""
        return not (self.acts() and others.acts()) or self._known.key == others._known.key

    def merge(self, others: Tombstones) -> int:
        """Take over, as unfinished, the acts of another list of the same memory that this one lacks; return how many."""
        acts = others.acts()  # first: it reads the key
        return self.take_over(others._known.key, acts)

    def take_over(self, key: bytes, acts: Iterable[Act]) -> int:
        """Take over, as unfinished, those of the acts that this list lacks, under their *key*; return how many."""
        with self._files.lock(self._paths.history_lock):
            mine = self.acts()
            begun = {act.begun for act in mine}
            new = [replace(act, finished="") for act in acts if act.begun not in begun]
            if new:
                self._write(key, (*mine, *new))
            return len(new)

    # ── steps ────────────────────────────────────────────────────────────────

    def _change(self, act: Act, rule: Callable[[Act], Act]) -> None:
        with self._files.lock(self._paths.history_lock):
            before = self.acts()
            acts = tuple(rule(entry) if entry.begun == act.begun else entry for entry in before)
            if acts != before:
                self._write(self._known.key, acts)

    def _write(self, key: bytes, acts: Sequence[Act]) -> None:
        fields = ({name: value for name, value in asdict(act).items() if value or name != "by"} for act in acts)
        lines: list[Any] = [{"recalld": FORMAT, "key": key.hex()}, *fields]
        data = b"".join(render_json(line) + b"\n" for line in lines)
        self._files.replace(self._place, data, self._files.read_stable(self._place))

    def _keyed(self, mark: bytes) -> str:
        return _keyed(self._known.key, mark)


def foreign_lists(files: Files, paths: WorkspacePaths) -> list[Tombstones]:
    """Return what was forgotten in other workspaces that are sources of this one, each list under its key."""
    names = files.disk.names(paths.sources) if files.disk.stat(paths.sources) else ()
    return [Tombstones(files, paths, paths.sources / name) for name in names if name.endswith(".jsonl")]


def keep_foreign(files: Files, paths: WorkspacePaths, data: bytes) -> Tombstones | None:
    """
    Keep what another workspace has forgotten, by the *data* of its list, and return the list here; None where it says nothing.

    Its acts are not finished until that is forgotten here, too.
    """
    theirs = _known(data, None, paths)
    if not (theirs.key and theirs.acts):
        return None
    files.make_folder(paths.sources)
    kept = Tombstones(files, paths, paths.sources / f"forgotten-{sha256(theirs.key).hexdigest()[:16]}.jsonl")
    kept.take_over(theirs.key, theirs.acts)
    return kept


def _forms(line: str) -> tuple[str, ...]:
    """Return a long-term line, and as it stands in the workspace that it came from: there its source has no `@NAME`."""
    return (line, bare) if (bare := _HOME.sub(r"\1|", line)) != line else (line,)


def _marks(message: Said) -> list[bytes]:
    """Return what a message is known by: its id and words; its moment, role and words."""
    moment = _moment(message)
    moments = [_mark("moment", fingerprint_of(moment, message.role, message.text))] if moment else []
    return [_mark("message", *message.key), *moments]


def _mark(kind: str, *parts: str) -> bytes:
    return "\0".join((kind, *parts)).encode("utf-8", "surrogatepass")


def _keyed(key: bytes, mark: bytes) -> str:
    return blake2b(sha256(mark).digest(), key=key, digest_size=_DIGEST_BYTES).hexdigest()


def _moment(message: Said) -> str:
    return to_wire(message.created_at) if message.created_at else ""


def _known(data: bytes, stat: Stat | None, paths: WorkspacePaths) -> _Known:
    """Return what the lines say; one that can't be read says nothing, nor a redaction that 0.28 or older did not finish."""
    key, acts = b"", []
    for line in filter(None, data.split(b"\n")):
        with suppress(ValueError, TypeError, KeyError):
            raw = parse_json(line)
            if "recalld" in raw:
                if raw["recalld"] > FORMAT:
                    raise NewerFormat(paths.forgotten, raw["recalld"])
                key = bytes.fromhex(raw["key"])
                continue
            messages = tuple((str(identity), str(at), *map(str, digests)) for identity, at, *digests in raw["messages"])
            lines, files, versions = (tuple(map(str, raw[name])) for name in ("lines", "files", "versions"))
            begun, finished, by = (str(raw.get(name, "")) for name in ("begun", "finished", "by"))
            if begun and (finished or not raw.get("marks")):
                acts.append(Act(begun, finished, messages, lines, files, versions, by))
    of_messages = (digest for act in acts for message in act.messages for digest in message[2:])
    digests = frozenset((*of_messages, *(digest for act in acts for digest in (*act.lines, *act.files, *act.versions))))
    ended = [act for act in acts if act.finished]
    gone = frozenset(digest for act in ended for digest in (*act.files, *act.versions))
    ids = frozenset(message[0].encode("utf-8", "surrogatepass") for act in ended for message in act.messages)
    return _Known(stat, key, tuple(acts), digests, gone, ids)


# ── a dated file without a message ───────────────────────────────────────────


def cut(data: bytes, path: Path, is_unwanted: Callable[[Block], bool], gone: int = 0) -> tuple[bytes, list[Block]]:
    """
    Return the dated file without the unwanted messages, and the messages that are left; every other word of it stays.

    It is the one case in which recalld writes such a file a second time.

    *gone* is how many of the messages that its head counts a person has taken out before. A file that was edited stays known as
    edited, and one that was cut off as cut off.
    """
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    head, body = read_head(text, path)
    before, pieces = pieces_of(body)
    kept = [(words, block) for words, block in pieces if not (block and is_unwanted(block))]
    whole = before + "".join(words for words, _ in kept)
    if kept[-1:] != pieces[-1:]:  # the last message went, and the blank line before it goes, too
        whole = whole.rstrip("\n")
    if not (whole.endswith("\n") or is_broken(data, path)):
        whole += "\n"
    digest = body_digest(whole) if is_as_written(body, head) else head.get("digest", "")
    count = max((number_in(head, "count") or 0) - (len(pieces) - len(kept)) - gone, 0)
    written = text[: len(text) - len(body)]
    written = _DIGEST.sub(f"digest: {digest}", _COUNT.sub(f"count: {count}", written, count=1), count=1)
    return (written + whole).encode("utf-8", "surrogatepass"), [block for _, block in kept if block]
