"""Texts of `recalld append`."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "line_left_out": "line {number} was left out: {why}.",
    "line_dated_now": "line {number} was added with the present time: {why}.",
    "line_undated": "line {number} was added with the present time, as are those like it: the time of a message is read from `createdAt`, not from `{key}`; `recalld forget` takes them back.",
    "output_closed": "standard output is closed: the ids of what was added can't be printed.",
    "left": "the configuration is wrong, so what you gave waits in inbox.d/new for a supervisor whose configuration is right: {why}.",
    "needs": "it needs --role and --text, or --jsonl",
    "empty": "it is empty, and nothing was added; give the words of the message",
    "secret.llm": 'it looks as if a secret were in it. It is kept in your files as you gave it, and hidden from models; `recalld forget` takes it back, `[privacy] redact = "store"` stores a mark in the place of the next one.',
    "secret.store": "it looks as if a secret were in it: a mark was stored in its place.",
    "input_closed": "standard input is closed",
}
