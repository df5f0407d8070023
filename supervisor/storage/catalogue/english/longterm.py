"""What is said of the long-term file."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "line_is": "it is {line}, {text}",
    "no_line": "there is none",
}
