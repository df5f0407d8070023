"""Texts of `recalld append`."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "line_left_out": "line {number} was left out: {why}.",
    "line_dated_now": "line {number} was added with the present time: {why}.",
}
