"""Texts of `recalld index rebuild`."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "differing": "{count} differing from memory",
}
