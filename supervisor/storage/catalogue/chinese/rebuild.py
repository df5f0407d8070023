"""Texts of `recalld index rebuild`, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "differing": "有 {count} 个文件与记忆不一致",
}
