"""
Finished pieces of a summary that is not finished: `.recalld/pieces/<group>.<digest>.md`, each made once.

A piece is found by what was asked for it, so that a killed or doubled worker, and the next attempt, pay for none of them again
(protocol.md, 6). They go when their task is done; what a crash leaves is bounded, and may be deleted at any moment.

A model's summary of a task: the right wording, the material quoted, and piece by piece where it is more than the context holds.

Each piece is read together with the summary so far. The bill is kept whatever comes of it, since a failure has cost as well.
Source: protocol.md, 6; holes.md A13 (a day may be larger than any context).
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from supervisor.protocol.errors import Busy
from supervisor.protocol.llm import CallLog
from supervisor.protocol.period import period_of_group
from supervisor.text.language import Language, language_of
from supervisor.text.redact import redacted
from supervisor.text.small_talk import is_chitchat, says_nothing
from supervisor.text.token_count import estimate_tokens
from worker.prompts import Entry, Wording, entries_of, load, quote, take, version_of
from worker.providers import NoCall, ProviderError, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from supervisor.protocol.clock import Clock
    from supervisor.protocol.config import Config
    from supervisor.protocol.dated_file import Block
    from supervisor.protocol.files import Files
    from supervisor.protocol.paths import WorkspacePaths
    from supervisor.protocol.task import Task
    from worker.providers import Model

#: Pieces that are kept at most, of all groups together; the oldest go first.
MOST: Final = 512
_DIGITS: Final = 24


class Pieces:
    """The pieces of one group."""

    def __init__(self, files: Files, paths: WorkspacePaths, group: str) -> None:
        if period_of_group(group) is None:
            raise ValueError(f"{group!r} is no group")
        self._files = files
        self._folder = paths.pieces
        self._group = group

    def find(self, asked: str) -> str | None:
        """Return what was answered to *asked* before, None when nothing was."""
        look = self._files.read_stable(self._path(asked))
        return look.data.decode("utf-8", "replace") if look else None

    def keep(self, asked: str, answer: str) -> None:
        """Keep the answer. A disk that can't costs a piece on the next try, not the work at hand."""
        with suppress(OSError):  # FileExistsError among them: another worker was faster
            self._files.make_folder(self._folder)
            self._make_room()
            self._files.create(self._path(asked), answer.encode("utf-8", "replace"))

    def clear(self) -> None:
        """Delete the group's pieces, and what a crash left of them: its summary is done."""
        with suppress(OSError):
            for name in self._files.disk.names(self._folder):
                if name.removeprefix(".").startswith(f"{self._group}."):
                    self._files.remove(self._folder / name)

    def _make_room(self) -> None:
        names = self._files.disk.names(self._folder)
        if len(names) < MOST:
            return
        stats = {name: self._files.disk.stat(self._folder / name) for name in names}
        oldest = sorted((stat.mtime_ns, name) for name, stat in stats.items() if stat)
        for _, name in oldest[: len(names) - MOST + 1]:
            self._files.remove(self._folder / name)

    def _path(self, asked: str) -> Path:
        digest = hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
        return self._folder / f"{self._group}.{digest}.md"


#: Tokens kept for the answer: this part of the context, at most so many. A model that thinks may use more where there is room.
_ANSWER: Final = 4
_ANSWER_MOST: Final = 2_048
_THOUGHT_MOST: Final = 8_192
#: By how much an estimate may be too low, in percent, and the server's own frame around a prompt, in tokens.
_DOUBT: Final = 10
_FRAME: Final = 32
#: Tokens of a piece below which it is not made smaller: then it is not the piece that is too long.
_LEAST: Final = 64
_HIDDEN: Final = {"zh": "[已隐去]", "en": "[hidden]"}
#: A whole that is so much shorter than what it was to contain has left it out.
_SHRUNK: Final = 3


@dataclass(slots=True)
class Writing:
    """One task being written; *usage* and *version* (of the wording) say at any time what it has cost and how it was asked."""

    model: Model
    config: Config
    files: Files
    paths: WorkspacePaths
    clock: Clock
    cancelled: Callable[[], bool]
    usage: Usage = Usage()  # noqa: RUF009 - immutable
    _wordings: dict[str, Wording] = field(default_factory=dict)
    _used: set[Wording] = field(default_factory=set)
    _is_asked: bool = False

    @property
    def version(self) -> str:
        """The digest of the wording that was used."""
        return version_of(self._used)

    def write(self, task: Task, blocks: Sequence[Block]) -> str:
        """Return the summary, "" when there is nothing to record; ProviderError, Cancelled, or BadConfig of a wording."""
        if all(is_chitchat(block.text) for block in blocks):
            return task.previous.strip()
        self._is_asked = task.redo
        language = language_of("\n".join(block.text for block in blocks if block.role != "tool"))
        entries = entries_of(blocks, ZoneInfo(task.zone), self._hiding(language), dates=task.kind != "daily-summary")
        so_far = self._hiding(language)(task.previous).strip()
        if so_far and self._room("merge-summary", language, so_far) < _LEAST:
            entries.insert(0, Entry(f"{task.period} summary", so_far))  # too long to be carried along: read again, in pieces
            so_far = ""
        return self._piece_by_piece(task, entries, so_far, language)

    def _piece_by_piece(self, task: Task, entries: list[Entry], so_far: str, language: Language) -> str:
        """Return the summary of everything, each piece read with the summary so far."""
        pieces = Pieces(self.files, self.paths, task.group)
        longest = self.config.llm.context_tokens
        while entries:
            name = "merge-summary" if so_far else task.kind
            room = min(longest, self._room(name, language, so_far))
            if room < _LEAST:
                raise ProviderError(
                    "input", "prompt and summary so far fill the context: raise llm.context_tokens", usage=Usage()
                )
            piece, tokens, rest = take(entries, room, language, self.config.tokens.cjk_weight)
            previous = quote(so_far, language) if so_far else ""
            wording = self._wording(name, language)
            prompt = wording.fill(task.period, quote(piece, language), previous)
            self._used.add(wording)
            try:
                answer = self._answer(prompt, pieces, last=not rest)
            except ProviderError as error:
                if not error.overflow or tokens // 2 < _LEAST:
                    raise
                longest = tokens // 2  # the server knows its tokens better than our estimate
                continue
            so_far = _joined(so_far, answer)
            entries = rest
        return so_far

    def _answer(self, prompt: str, pieces: Pieces, *, last: bool) -> str:
        """Return the model's answer, from a finished piece where there is one. The last is the result: it is never kept."""
        asked = f"{self.model.name}\n{self.model.model}\n{prompt}"
        kept = None if last else pieces.find(asked)
        if kept is not None:
            return kept
        llm = self.config.llm
        if self._is_asked and self.usage.calls >= llm.max_calls_per_day:
            raise ProviderError("input", "it needs more calls than llm.max_calls_per_day; it goes on from here", usage=Usage())
        left = llm.context_tokens - _FRAME - self._tokens(prompt) * (100 + _DOUBT) // 100
        longest = max(self._reserve, min(left, _THOUGHT_MOST))
        try:
            done = self.model.complete(prompt, max_tokens=longest, calling=self._begin_call, cancelled=self.cancelled)
        except ProviderError as error:
            self.usage += error.usage
            raise
        self.usage += done.usage
        if not last:
            pieces.keep(asked, done.text)
        return done.text

    def _begin_call(self) -> None:
        """Write the call down before it is made; NoCall where the day has had its calls, but for what a person asked for."""
        most = None if self._is_asked else self.config.llm.max_calls_per_day
        calls = CallLog(self.files, self.paths, ZoneInfo(self.config.archive.timezone))
        try:
            may_call = calls.begin(self.clock(), most)
        except (OSError, Busy) as error:
            raise NoCall(f"a call can't be written down: {error}") from None
        if not may_call:
            raise NoCall("the day's calls are used up")

    def _room(self, name: str, language: Language, so_far: str) -> int:
        """Return the tokens that are left for material: a share of the context, and never the room of prompt and answer."""
        llm = self.config.llm
        frame = self._tokens(self._wording(name, language).fill("2026-01-28", quote("", language), quote(so_far, language)))
        return min(int(llm.context_tokens * llm.material_share), llm.context_tokens - _FRAME - frame - self._reserve)

    @property
    def _reserve(self) -> int:
        return min(_ANSWER_MOST, self.config.llm.context_tokens // _ANSWER)

    def _tokens(self, text: str) -> int:
        return estimate_tokens(text, self.config.tokens.cjk_weight)

    def _wording(self, name: str, language: Language) -> Wording:
        file = f"{name}.{language}.md"
        if file not in self._wordings:
            self._wordings[file] = load(name, language, self.files, self.paths)
        return self._wordings[file]

    def _hiding(self, language: Language) -> Callable[[str], str]:
        privacy = self.config.privacy
        if privacy.redact == "off":
            return str
        return lambda text: redacted(text, _HIDDEN[language], privacy.patterns)


def _joined(so_far: str, answer: str) -> str:
    """Return what stands after the answer. A model that tells only what is new must not cost what it was told before."""
    if says_nothing(answer):
        return so_far
    return f"{so_far}\n\n{answer}" if len(answer) * _SHRUNK < len(so_far) else answer
