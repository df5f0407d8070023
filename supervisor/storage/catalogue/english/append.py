"""Texts of `recalld append`."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "line_left_out": "line {number} was left out: {why}.",
    "line_dated_now": "line {number} was added with the present time: {why}.",
    "output_closed": "standard output is closed: the ids of what was added can't be printed.",
    "needs": "it needs --role and --text, or --jsonl",
    "empty": "it is empty, and nothing was added; give the words of the message",
    "input_closed": "standard input is closed",
}
