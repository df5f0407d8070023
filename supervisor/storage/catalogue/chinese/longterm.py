"""What is said of the long-term file, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "line_is": "现在是 {line}，{text}",
    "no_line": "那里没有行",
}
