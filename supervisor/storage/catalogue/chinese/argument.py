"""What is wrong with arguments, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "not_allowed": "不能是 {value}，请给 {allowed}",
    "or_more": "{least} 或更大的数",
}
