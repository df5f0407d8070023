"""Texts of `recalld index rebuild`, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "differing": "有 {count} 个记忆文件还没有按现在的样子编入；下次提问时会编入，也可以用 `recalld index rebuild`",
}
