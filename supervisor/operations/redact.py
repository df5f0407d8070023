"""The operation that puts a mark in the place of each secret in what is stored: first it shows where they are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from recalld.supervisor.operations.operation import Visible, operation
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest, refuse_no_text

if TYPE_CHECKING:
    from recalld.supervisor.forgetting.wanted import Wanted
    from recalld.supervisor.text.language import Language
    from recalld.supervisor.workspace import Workspace

#: Characters of a message that are shown.
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactRequest:
    """Without *yes* it is only shown. *shown* is the digest of what was shown: nothing else is redacted."""

    yes: bool = False
    shown: str = ""

    def __post_init__(self) -> None:
        refuse_no_text("shown", self.shown)


@dataclass(frozen=True, slots=True)
class WithSecret:
    """A message or line with a secret: its *ref*, and how it begins, with marks."""

    ref: str
    text: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """
    The *messages* and *lines* with secrets; *done* once these have left every place, and marks stand in the dated files.

    *digest* names exactly these.
    """

    messages: tuple[WithSecret, ...]
    lines: tuple[WithSecret, ...]
    digest: str
    done: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """How many messages and lines there are."""
        return {"messages": len(self.messages), "lines": len(self.lines)}


@operation("redact", RedactRequest, owner=True, within_s=600.0)
def redact(memory: Visible, request: RedactRequest) -> Redacted:
    """
    Show the filed messages and the lines with secrets; with *yes* put marks in their place, and forget the words as they were.

    AlreadyRuns while a supervisor runs.
    """
    from recalld.supervisor.forgetting import redaction
    from recalld.supervisor.host.lock import supervisor_lock

    ws, now, language = memory.ws, memory.caller.clock(), memory.caller.language
    ws.journal.refresh()
    meant = redaction.with_secrets(ws, now)
    if request.shown and meant.digest != request.shown:
        raise BadRequest("shown", Text("forget.changed"))
    shown = _shown(ws, meant, language)
    if not request.yes or not meant:
        return shown
    with supervisor_lock(ws), ws.journal.held():
        is_done = redaction.redact(ws, meant, now, language, os.urandom(32))
    return Redacted(shown.messages, shown.lines, shown.digest, is_done)


def _shown(ws: Workspace, meant: Wanted, language: Language) -> Redacted:
    from recalld.supervisor.forgetting.redaction import marked

    def short(text: str) -> str:
        return " ".join(marked(text, ws.config.privacy.patterns, language).split())[:_SHOWN]

    messages = (WithSecret(f"{key[0]}@{one.digest}", short(one.said.text)) for key, one in sorted(meant.messages.items()))
    return Redacted(tuple(messages), tuple(WithSecret(line.ref, short(line.text)) for line in meant.lines), meant.digest)
