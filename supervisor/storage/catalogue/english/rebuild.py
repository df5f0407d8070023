"""Texts of `recalld index rebuild`."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "differing": "files of memory that are not in it as they are now: {count}; the next question takes them in, or `recalld index rebuild`",
}
