"""
The diary of memory: `CHANGES.md`, a plain line for each act on it, and `.recalld/acts.jsonl`, what `undo` needs.

Stores say what they change (`storage/noting`) to whoever acts at this moment: an operation, or a round. That one keeps the acts
when it ends, with one append to each of the two files. The diary has counts and days, no words and no names of files;
`acts.jsonl` has the lines that were changed, so that they can be put back. Nothing else needs them. Source: protocol.md, 14.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.protocol.message import Message
from recalld.supervisor.storage.catalogue import Text, render
from recalld.supervisor.storage.clock import from_wire, local, to_wire
from recalld.supervisor.storage.lenient_json import parse_json, render_json
from recalld.supervisor.text.language import Language, language_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from recalld.supervisor.archive.history import HistoryStore
    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.storage.disk import Stat
    from recalld.supervisor.storage.files import Files

#: From so many bytes on CHANGES.md and acts.jsonl are cut to their newest half.
_MOST_LINES: Final = 256_000
_MOST_ACTS: Final = 4_000_000
#: The head of CHANGES.md: title, blank, what it is, blank.
_HEAD_LINES: Final = 4
_HEAD_BYTES: Final = 200
#: Hex digits of an id behind its letter.
_DIGITS: Final = 8
#: Held by whoever writes to the diary.
_LOCK: Final = "diary.lock"
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Act:
    """One act: its *id*, when, its *kind*, who did it (*by*, "" for recalld itself), and what `undo` needs."""

    id: str
    at: str
    kind: str
    by: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    undone: bool = False


class Diary:
    """
    The diary of one workspace, in the language that is set, else that of the newest message when its file is made.

    With `care.diary` off it keeps nothing.
    """

    def __init__(self, files: Files, paths: WorkspacePaths, config: Config, history: HistoryStore) -> None:
        self._files, self._paths, self._config, self._history = files, paths, config, history
        self._known: tuple[Stat | None, dict[str, Act]] = None, {}

    def keep(self, noted: Sequence[Mapping[str, Any]], now: datetime, by: str = "") -> list[Act]:
        """Write the acts down, durably, and return them with their ids."""
        if not noted or not self._config.care.diary:
            return []
        acts = [_act(one, now, by, number) for number, one in enumerate(noted)]
        with self._files.lock(self._paths.state / _LOCK):
            self._append([_wire(act) for act in acts])
            self._append_lines(acts)
        return acts

    def acts(self) -> dict[str, Act]:
        """Return all acts that are kept, the oldest first."""
        stat = self._files.disk.stat(self._paths.acts)
        if stat == self._known[0]:
            return self._known[1]
        version = self._files.read_stable(self._paths.acts)
        found: dict[str, Act] = {}
        for line in filter(None, version.data.split(b"\n") if version else ()):
            try:
                raw = parse_json(line)
                if "undone" in raw:
                    one = found[str(raw["undone"])]
                    found[one.id] = Act(one.id, one.at, one.kind, one.by, one.fields, undone=True)
                    continue
                fields = {name: value for name, value in raw.items() if name not in ("id", "at", "kind", "by")}
                from_wire(raw["at"])
                found[str(raw["id"])] = Act(str(raw["id"]), str(raw["at"]), str(raw["kind"]), str(raw["by"]), fields)
            except (ValueError, TypeError, KeyError):
                continue
        self._known = version.stat if version else None, found
        return found

    def record_undone(self, act: Act, now: datetime, by: str) -> None:
        """Write down that the act was undone."""
        with self._files.lock(self._paths.state / _LOCK):
            self._append([{"undone": act.id}])
            self._append_lines([Act(_id("u", to_wire(now), act.id), to_wire(now), "undone", by, {"of": act.id})])

    # ── steps ────────────────────────────────────────────────────────────────

    def _append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        self._files.make_folder(self._paths.state)
        self._files.append(self._paths.acts, b"".join(render_json(line) + b"\n" for line in lines))
        self._cut(self._paths.acts, _MOST_ACTS)

    def _append_lines(self, acts: Iterable[Act]) -> None:
        """Append a line for each act to CHANGES.md; a file of that name which somebody else made is left alone."""
        stat, path = self._files.disk.stat(self._paths.diary), self._paths.diary
        head = self._files.disk.read(path)[:_HEAD_BYTES].decode("utf-8", "replace") if stat else ""
        language = next((one for one in LANGUAGES if head.startswith(render(Text("diary.title"), one))), None)
        if stat and stat.size and language is None:
            return
        language = language or self._language()
        lines = "".join(f"- {self._local(act.at)} · {act.id} · {render(sentence_of(act), language)}\n" for act in acts)
        if not stat:
            title, about = (render(Text(code), language) for code in ("diary.title", "diary.about"))
            self._files.create(path, f"{title}\n\n{about}\n\n{lines}".encode())
            return
        self._files.append(path, lines.encode())
        self._cut(path, _MOST_LINES, _HEAD_LINES)

    def _language(self) -> Language:
        if self._config.language != "auto":
            return self._config.language
        said = (entry.text for entry in reversed(self._history.read()) if isinstance(entry, Message) and entry.text)
        return language_of(next(said, ""))

    def _cut(self, path: Path, most_bytes: int, head: int = 0) -> None:
        """Cut a file that has grown too large to its newest half, below its *head*."""
        stat = self._files.disk.stat(path)
        version = self._files.read_stable(path) if stat and stat.size > most_bytes else None
        if version:
            lines = version.data.split(b"\n")
            self._files.replace(path, b"\n".join([*lines[:head], *lines[max(head, len(lines) // 2) :]]), version)

    def _local(self, at: str) -> str:
        return f"{local(from_wire(at), self._config.archive.zone):%Y-%m-%d %H:%M}"


def sentence_of(act: Act) -> Text:
    """Return the sentence of an act in the diary."""
    fields = {name: value for name, value in act.fields.items() if isinstance(value, (int, str))}
    interface, _, what = act.by.partition(" ")
    by = Text(f"diary.by.{interface}", what=what) if interface else ""
    return Text(f"diary.{act.kind}", **{**fields, "by": by})


def _act(noted: Mapping[str, Any], now: datetime, by: str, number: int) -> Act:
    kind, at = str(noted["kind"]), to_wire(now)
    fields = {name: value for name, value in noted.items() if name != "kind"}
    return Act(_id(kind[0], at, str(number), repr(sorted(fields.items()))), at, kind, by, fields)


def _id(letter: str, *parts: str) -> str:
    return f"{letter}-{sha256(chr(0).join(parts).encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]}"


def _wire(act: Act) -> dict[str, Any]:
    return {"id": act.id, "at": act.at, "kind": act.kind, "by": act.by, **act.fields}
