"""Texts of several commands."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "more": "… {count} more",
}
