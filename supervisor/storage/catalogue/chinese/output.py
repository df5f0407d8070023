"""Texts of several commands, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "more": "… 还有 {count} 项",
}
