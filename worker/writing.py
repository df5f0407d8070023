"""
The summary of a task by a model: the template of the material's language, the material quoted, in pieces if need be.

Each piece is read together with the summary so far. Finished pieces of an unfinished summary are kept in
`.recalld/pieces/<group>.<digest>.md`, found by what was asked for them, so that a worker that was killed, a second worker
and the next attempt pay for none of them again. They are deleted when their task is done, may be deleted at any time, and
are limited in number. Source: protocol.md, 6.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from recalld.supervisor.protocol.period import period_of_group
from recalld.supervisor.protocol.prompts import PromptTemplate, load_template, version_of, without_secrets
from recalld.supervisor.storage.clock import local
from recalld.supervisor.text.folding import MIN_PIECE, Fold
from recalld.supervisor.text.language import Language, language_of
from recalld.supervisor.text.llm_output import continued
from recalld.supervisor.text.quoting import Entry, quote
from recalld.supervisor.text.small_talk import is_chitchat
from recalld.worker.calls import SERVER_TOKENS
from recalld.worker.providers import ProviderError, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from recalld.supervisor.protocol.dated_file import Block
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.protocol.task import Task
    from recalld.supervisor.storage.files import Files
    from recalld.worker.calls import Calls

#: The most pieces that are kept, of all groups together; the oldest are deleted first.
_MAX_PIECES: Final = 512
_DIGEST_DIGITS: Final = 24
_ROLE: Final = re.compile(r"[a-z][a-z_-]{0,31}")


class Pieces:
    """The finished pieces of one group's unfinished summary."""

    def __init__(self, files: Files, paths: WorkspacePaths, group: str) -> None:
        if period_of_group(group) is None:
            raise ValueError(f"{group!r} is no group")
        self._files = files
        self._folder = paths.pieces
        self._group = group

    def find(self, request: str) -> str | None:
        """Return the kept answer to *request*, None when there is none."""
        with suppress(NotADirectoryError):
            self._files.check_folder(self._folder)
            version = self._files.read_stable(self._path(request))
            return version.data.decode("utf-8", "replace") if version else None
        return None

    def keep(self, request: str, answer: str) -> None:
        """Keep the answer. An error of the disk costs this piece at the next try, not the summary."""
        with suppress(OSError):  # FileExistsError among them: another worker was faster
            self._files.make_folder(self._folder)
            self._files.check_folder(self._folder)
            self._make_room()
            self._files.create(self._path(request), answer.encode("utf-8", "replace"))

    def clear(self) -> None:
        """Delete the group's pieces, and temporary files that a crash left of them."""
        with suppress(OSError):
            self._files.check_folder(self._folder)
            for name in self._files.disk.names(self._folder):
                if name.removeprefix(".").startswith(f"{self._group}."):
                    self._files.remove(self._folder / name)

    def _make_room(self) -> None:
        names = self._files.disk.names(self._folder)
        if len(names) < _MAX_PIECES:
            return
        stats = {name: self._files.disk.stat(self._folder / name) for name in names}
        oldest = sorted((stat.mtime_ns, name) for name, stat in stats.items() if stat)
        for _, name in oldest[: len(names) - _MAX_PIECES + 1]:
            self._files.remove(self._folder / name)

    def _path(self, request: str) -> Path:
        digest = hashlib.sha256(request.encode("utf-8", "replace")).hexdigest()[:_DIGEST_DIGITS]
        return self._folder / f"{self._group}.{digest}.md"


@dataclass(slots=True)
class Writing:
    """The summary of one task while it is written by *calls*; *version* (of the templates) is right at any time."""

    calls: Calls
    _templates: dict[str, PromptTemplate] = field(default_factory=dict)
    _used: set[PromptTemplate] = field(default_factory=set)

    @property
    def version(self) -> str:
        """The digest of the templates that were used."""
        return version_of(self._used)

    def write(self, task: Task, blocks: Sequence[Block]) -> str:
        """Return the summary, "" when there is nothing to record; or ProviderError, Cancelled, NoCall, BadConfig."""
        if all(is_chitchat(block.text) for block in blocks):
            return task.previous.strip()
        language = language_of("\n".join(block.text for block in blocks if block.role != "tool"))
        entries = entries_of(blocks, ZoneInfo(task.zone), self._hiding(language), dates=task.kind != "daily-summary")
        so_far = self._hiding(language)(task.previous).strip()
        if so_far and self._room("merge-summary", language, so_far) < MIN_PIECE:
            entries.insert(
                0, Entry(f"{task.period} summary", so_far)
            )  # too long to go with each piece: it is read again, in pieces
            so_far = ""
        return self._piece_by_piece(task, entries, so_far, language)

    def _piece_by_piece(self, task: Task, entries: list[Entry], so_far: str, language: Language) -> str:
        """Return the summary of everything, each piece read with the summary so far."""
        config = self.calls.config
        pieces = Pieces(self.calls.files, self.calls.paths, task.group)
        fold = Fold(entries, so_far, language, config.tokens.cjk_weight)
        while fold.left:
            name = "merge-summary" if fold.so_far else task.kind
            room = self._room(name, language, fold.so_far)
            if room < MIN_PIECE:
                raise ProviderError(
                    "input", "prompt and summary so far fill the context: raise llm.context_tokens", usage=Usage()
                )
            previous = quote(fold.so_far, language) if fold.so_far else ""
            template = self._template(name, language)
            prompt = template.fill(**_values(task.period, quote(fold.piece(room), language), previous))
            self._used.add(template)
            try:
                answer = self._answer(prompt, pieces, last=fold.is_last)
            except ProviderError as error:
                if not error.overflow or not fold.halve():
                    raise
            else:
                fold.take(continued(fold.so_far, answer))
        return fold.so_far

    def _answer(self, prompt: str, pieces: Pieces, *, last: bool) -> str:
        """Return the model's answer, or the kept piece. The last answer is the result and is not kept."""
        model = self.calls.model
        request = f"{model.name}\n{model.model}\n{prompt}"
        kept = None if last else pieces.find(request)
        if kept is not None:
            return kept
        calls = self.calls
        if calls.is_asked and calls.usage.calls >= calls.config.llm.max_calls_per_day:
            raise ProviderError("input", "it needs more calls than llm.max_calls_per_day; it goes on from here", usage=Usage())
        answer = calls.complete(prompt)
        if not last:
            pieces.keep(request, answer)
        return answer

    def _room(self, name: str, language: Language, so_far: str) -> int:
        """Return the tokens for material: a share of the context, less if template, summary so far and answer need room."""
        llm = self.calls.config.llm
        values = _values("2026-01-28", quote("", language), quote(so_far, language))
        frame = self.calls.tokens(self._template(name, language).fill(**values))
        left = llm.context_tokens - SERVER_TOKENS - frame - self.calls.reserve
        return min(int(llm.context_tokens * llm.material_share), left)

    def _template(self, name: str, language: Language) -> PromptTemplate:
        file = f"{name}.{language}.md"
        if file not in self._templates:
            self._templates[file] = load_template(name, language, self.calls.files, self.calls.paths)
        return self._templates[file]

    def _hiding(self, language: Language) -> Callable[[str], str]:
        return lambda text: without_secrets(text, language, self.calls.config.privacy)


def _values(period: str, material: str, previous: str) -> dict[str, str]:
    """Return the values of the placeholders: {date} and {month} are both the period, {daily_summaries} is {messages} too."""
    return {"date": period, "month": period, "messages": material, "daily_summaries": material, "previous": previous}


def entries_of(blocks: Sequence[Block], zone: tzinfo, hide: Callable[[str], str], *, dates: bool) -> list[Entry]:
    """Return the messages that have words as entries, with names, secrets hidden; *dates* adds the day to the time of each."""
    written = (block for block in blocks if block.words.strip())
    return [Entry(_head(block, zone, hide(block.speaker), dates=dates), hide(block.words).strip()) for block in written]


def _head(block: Block, zone: tzinfo, name: str, *, dates: bool) -> str:
    said_at = local(block.created_at, zone)
    role = block.role if _ROLE.fullmatch(block.role) else "other"
    if role in {"summary", "note"}:  # of a whole day: its time of noon means nothing
        return f"{said_at:%Y-%m-%d} {role}"
    return (f"{said_at:%Y-%m-%d %H:%M}" if dates else f"{said_at:%H:%M}") + f" {role} {name}".rstrip()
