"""Texts of summaries that are asked for."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "pruned": "dated files of {label} were pruned, and its summary has what they said: take them back from trash/ first, with `recalld undo`",
    "no_text": "the text is empty; a summary that is not wanted is deleted, not emptied",
    "no_dated_file": "memory has no dated file of {label}, so there is nothing to summarise",
    "no_period": "{label!r} is no day (2026-01-28) and no month (2026-01)",
    "queued": "{group} is queued; a supervisor takes it in.",
    "nothing_without_model": "nothing was summed up: the conversation has no model that could",
    "nothing_said": "nothing was summed up: nothing is new since the last summary",
    "nothing_answered": "nothing was summed up: the question still waits for its answer",
    "nothing_left": "nothing was summed up: the last turns are kept word for word, {turns} at most (conversation.keep_turns)",
}
