"""The operation that puts a mark in the place of each secret in what is stored: first it shows where they are."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from recalld.supervisor.archive.diary import amounts_of
from recalld.supervisor.operations.operation import Visible, operation
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest, refuse_no_text
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from recalld.supervisor.forgetting.wanted import Wanted
    from recalld.supervisor.text.language import Language
    from recalld.supervisor.workspace import Workspace


@record(kw_only=True)
class RedactRequest:
    """Without *yes* it is only shown. *shown* is the digest of what was shown: nothing else is redacted."""

    yes: bool = False
    shown: str = ""

    def __post_init__(self) -> None:
        refuse_no_text("shown", self.shown)


@record
class WithSecret:
    """A message or line with a secret: its *ref*, and how it begins, with marks."""

    ref: str
    text: str


@record
class Redacted:
    """
    The *messages* and *lines* with secrets; *done* once these have left every place, and marks stand in the dated files.

    *digest* names exactly these. *unfiled* messages have no dated file yet, and were not looked at.
    """

    messages: tuple[WithSecret, ...]
    lines: tuple[WithSecret, ...]
    digest: str
    unfiled: int
    done: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """How many messages and lines there are."""
        return {"messages": len(self.messages), "lines": len(self.lines)}

    @property
    def amounts(self) -> tuple[Text, ...]:
        """The same in words, without what there is none of."""
        return amounts_of(self.counts)


@operation("redact", RedactRequest, owner=True, within_s=600.0)
def redact(memory: Visible, request: RedactRequest) -> Redacted:
    """
    Show the filed messages and the lines with secrets; with *yes* put marks in their place, and forget the words as they were.

    A running supervisor is waited for, as in forgetting.
    """
    from recalld.supervisor.forgetting import redaction, sweep
    from recalld.supervisor.operations.forget import finish
    from recalld.supervisor.storage.noting import author

    ws, now, language = memory.ws, memory.caller.clock(), memory.caller.language
    ws.journal.refresh()
    meant = redaction.with_secrets(ws, now)
    if request.shown and meant.digest != request.shown:
        raise BadRequest("shown", Text("forget.changed"))
    shown = _shown(ws, meant, len(ws.unfiled.messages(now)), language)
    if not request.yes or not meant:
        return shown
    by = author(memory.caller.interface, "redact")
    sweep.begin(ws, meant, now, os.urandom(32), marks=language, by=by)
    return replace(shown, done=finish(ws, now))


def _shown(ws: Workspace, meant: Wanted, unfiled: int, language: Language) -> Redacted:
    from recalld.supervisor.text.marks import marked
    from recalld.supervisor.text.printable import shortened

    def short(text: str) -> str:
        return shortened(marked(text, ws.config.privacy.forms, language))

    messages = (WithSecret(f"{key[0]}@{one.digest}", short(one.said.text)) for key, one in sorted(meant.messages.items()))
    lines = (WithSecret(line.ref, short(line.text)) for line in meant.lines)
    return Redacted(tuple(messages), tuple(lines), meant.digest, unfiled)
