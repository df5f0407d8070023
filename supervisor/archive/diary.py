"""
The diary of memory: `CHANGES.md`, a plain line for each act on it, and `.recalld/acts.jsonl`, what `undo` needs.

Stores say what they change (`storage/noting`) to whoever acts at this moment: an operation, or a round. That one keeps the acts
when it ends, with one append to each of the two files, `acts.jsonl` first: what a crash kept from the diary is told from there.
The diary has counts and days, no words and no digests of them, since nothing is forgotten in it; `acts.jsonl`
has the lines that were changed, so that they can be put back. Nothing else needs them. Source: protocol.md, 14.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from ..protocol.config import Config
from ..protocol.paths import WorkspacePaths
from ..storage.clock import from_wire, local, to_wire
from ..storage.control import tell_kept
from ..storage.disk import Stat
from ..storage.files import Files
from ..storage.lenient_json import parse_json, render_json
from ..storage.texts import Text, msgid, render
from ..text.language import Language
from ..text.lazy_re import lazy_re

#: From so many bytes on CHANGES.md and acts.jsonl are cut to their newest half.
_MOST_LINES: Final = 256_000
_MOST_ACTS: Final = 4_000_000
_TITLE: Final = msgid("# What was done to memory")
_ABOUT: Final = msgid(
    "A line for each act, written by recalld. `recalld undo ID` takes back what was written, changed, deleted or moved to trash/, as long as nothing was built on it; what was filed or forgotten stays so. Editing this file changes nothing."
)
#: The head of CHANGES.md: title, blank, what it is, blank.
_HEAD_LINES: Final = 4
_HEAD_BYTES: Final = 200
#: Hex digits of an id behind its letter.
_DIGITS: Final = 8
#: Held by whoever writes to the diary.
_LOCK: Final = "diary.lock"
#: The id in a line of CHANGES.md.
_ID: Final = lazy_re(rb"^- [-\d]+ [:\d]+ \xc2\xb7 ([a-z]-[0-9a-f]{8}) ")
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
#: The sentence of an act, by its kind.
_ACTS: Final = {
    "written": msgid("a line was written into {path}{by}"),
    "replaced": msgid("a line was written into {path} in the place of an older one, which ended{by}"),
    "ended": msgid("something was marked as no longer true{by}"),
    "ended message": msgid("the message {name} was marked as no longer true{by}"),
    "deleted": msgid("lines were deleted from {path}{by}"),
    "text": msgid("the text of {path} was changed{by}"),
    "summary": msgid("the summary of {period} was written{by}"),
    "edited": msgid("the summary of {period} was edited{by}"),
    "hand": msgid("a dated file of {day} was edited by hand"),
    "hand path": msgid("{path} was edited by hand, or by another program"),
    "archived": msgid("messages were filed: {messages}{by}"),
    "forgotten": msgid("forgotten for good: {amounts}{by}"),
    "pruned": msgid("dated files that a summary covers were moved to trash/: {count}{by}"),
    "undone": msgid("{of} was undone{by}"),
}
#: By whom an act was, by the interface.
_BY: Final = {
    "python": msgid(", by a program ({what})"),
    "command": msgid(", by a command ({what})"),
    "socket": msgid(", over the socket ({what})"),
    "tool": msgid(", by a tool ({what})"),
    "source": msgid(", from the source {what}"),
    "http": msgid(", over HTTP ({what})"),
}
#: How much is forgotten: a single one, and several.
_AMOUNTS: Final = {
    "messages": (msgid("{count} message"), msgid("{count} messages")),
    "lines": (msgid("{count} line"), msgid("{count} lines")),
    "files": (msgid("{count} file"), msgid("{count} files")),
}


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
    The diary of one workspace, in the language that is set when its file is made, else in English.

    Its title keeps the language, also where another one is set later: a file has one language. With `care.diary` off it keeps
    nothing.
    """

    def __init__(self, files: Files, paths: WorkspacePaths, config: Config) -> None:
        self._files, self._paths, self._config = files, paths, config
        self._known: tuple[Stat | None, dict[str, Act]] = None, {}
        self._is_whole = False  # whether the diary tells all acts that are kept, as far as this process knows

    def keep(self, noted: Sequence[Mapping[str, Any]], now: datetime, by: str = "") -> list[Act]:
        """Write the acts down, durably, and return them with their ids; what a crash kept from the diary is told first."""
        if not self._config.care.diary or (self._is_whole and not noted):
            return []
        stat = self._files.disk.stat(self._paths.acts)
        before = stat.size if stat else 0  # no two acts have the same behind them
        acts = [_act(line, now, by, f"{before} {number}") for number, line in enumerate(noted)]
        if acts or self._files.disk.stat(self._paths.diary):
            self._tell(acts, [_wire(act) for act in acts])
        tell_kept(act.id for act in acts)
        return acts

    def acts(self) -> dict[str, Act]:
        """Return all acts that are kept, the oldest first, undoings among them."""
        stat = self._files.disk.stat(self._paths.acts)
        if stat == self._known[0]:
            return self._known[1]
        version = self._files.read_stable(self._paths.acts)
        kept_acts = _parsed(version.data if version else b"")
        self._known = version.stat if version else None, kept_acts
        return kept_acts

    def record_undone(self, act: Act, now: datetime, by: str) -> None:
        """Write down that the act was undone."""
        undoing = Act(_id("u", to_wire(now), act.id), to_wire(now), "undone", by, {"of": act.id})
        self._tell([undoing], [{"undone": act.id, **_wire(undoing)}])

    # ── steps ────────────────────────────────────────────────────────────────

    def _tell(self, acts: Sequence[Act], lines: Sequence[Mapping[str, Any]]) -> None:
        """Append the *lines* of the acts to acts.jsonl, then tell of all in CHANGES.md that it does not tell of yet."""
        self._is_whole = False
        with self._files.lock(self._paths.state / _LOCK):
            if lines:
                self._files.make_folder(self._paths.state)
                self._files.append(self._paths.acts, b"".join(render_json(line) + b"\n" for line in lines))
            kept = self._files.read_stable(self._paths.acts)
            if kept and len(kept.data) > _MOST_ACTS:
                self._files.replace(self._paths.acts, _newest_half(kept.data), kept)
            version = self._files.read_stable(self._paths.diary)
            data = version.data if version else b""
            language = _language_of(data) if data else "zh" if self._config.language == "zh" else "en"
            if language is None:
                return  # somebody else's file of that name is left alone
            content = self._with_untold(data or _head(language), kept.data if kept else b"", len(acts), language)
            if content != data:
                self._files.ensure_durable(self._paths.acts)  # else the power may take the act that a line tells of
                self._files.replace(self._paths.diary, _cut(content), version)
        self._is_whole = True

    def _with_untold(self, data: bytes, acts: bytes, new: int, language: Language) -> bytes:
        """Return the diary with the lines of the *new* acts, the newest ones, and of those that a crash kept from it."""
        *whole, torn = data.split(b"\n")
        ids = [match[1].decode() for line in whole if (match := _ID.match(line))]
        kept = _parsed(acts)
        place = [*kept].index(ids[-1]) + 1 if ids and ids[-1] in kept else len(kept) - new
        lines = b"".join(self._line(act, language) for act in [*kept.values()][place:])
        # the power may leave zeros; else a person writes without a line break
        if torn and lines.startswith(torn.rstrip(b"\0")):
            data = data[: -len(torn)]
        return data + (b"\n" if lines and not data.endswith(b"\n") else b"") + lines

    def _line(self, act: Act, language: Language) -> bytes:
        when = f"{local(from_wire(act.at), self._config.archive.zone):%Y-%m-%d %H:%M}"
        return f"- {when} · {act.id} · {render(sentence_of(act), language)}\n".encode()


def _cut(diary: bytes) -> bytes:
    """Return CHANGES.md, of one that has grown too large the newest half, below its head."""
    if len(diary) <= _MOST_LINES:
        return diary
    *head, lines = diary.split(b"\n", _HEAD_LINES)
    return b"\n".join([*head, _newest_half(lines)])


def _newest_half(lines: bytes) -> bytes:
    return lines[lines.find(b"\n", len(lines) // 2) + 1 :]


def _language_of(diary: bytes) -> Language | None:
    head = diary[:_HEAD_BYTES].decode("utf-8-sig", "replace")
    return next((language for language in LANGUAGES if head.startswith(render(Text(_TITLE), language))), None)


def _head(language: Language) -> bytes:
    return "".join(f"{render(Text(text), language)}\n\n" for text in (_TITLE, _ABOUT)).encode()


def sentence_of(act: Act) -> Text:
    """Return the sentence of an act in the diary."""
    fields = {name: value for name, value in act.fields.items() if isinstance(value, (int, str))}
    interface, what, client = (*act.by.split(" ", 2), "", "")[:3]
    what = Text("{what}, {client}", what=what, client=client) if client else what
    by = Text(_BY[interface], what=what) if interface else ""
    english = _ACTS.get(f"{act.kind} {'path' if 'path' in fields else fields.get('of', '')}") or _ACTS[act.kind]
    gone = {name: int(fields.get(name, 0)) for name in ("messages", "lines", "files")} if act.kind == "forgotten" else {}
    return Text(english, **{**fields, "by": by, "amounts": amounts_of(gone)})


def amounts_of(counts: Mapping[str, int]) -> tuple[Text, ...]:
    """Return in words how much is forgotten, without the counts of 0."""
    return tuple(Text(_AMOUNTS[of][count > 1], count=count) for of, count in counts.items() if count)


def _act(noted: Mapping[str, Any], now: datetime, by: str, place: str) -> Act:
    kind, at = str(noted["kind"]), to_wire(now)
    fields = {name: value for name, value in noted.items() if name not in ("kind", "by")}
    return Act(_id(kind[0], at, place, repr(sorted(fields.items()))), at, kind, str(noted.get("by", by)), fields)


def _id(letter: str, *parts: str) -> str:
    return f"{letter}-{sha256(chr(0).join(parts).encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]}"


def _parsed(acts: bytes) -> dict[str, Act]:
    kept_acts: dict[str, Act] = {}
    for line in filter(None, acts.split(b"\n")):
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            raw = parse_json(line)
            if (undone := str(raw.get("undone"))) in kept_acts:
                kept_acts[undone] = replace(kept_acts[undone], undone=True)
            from_wire(raw["at"])
            fields = {name: value for name, value in raw.items() if name not in ("id", "at", "kind", "by", "undone")}
            act = Act(str(raw["id"]), str(raw["at"]), str(raw["kind"]), str(raw["by"]), fields)
            sentence_of(act)  # of a kind or a form that this version does not know, it is nobody's act
            kept_acts[act.id] = act
    return kept_acts


def _wire(act: Act) -> dict[str, Any]:
    return {"id": act.id, "at": act.at, "kind": act.kind, "by": act.by, **act.fields}
