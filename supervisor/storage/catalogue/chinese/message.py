"""Why an entry is not a message, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "no_object": "它不是对象",
    "no_role": "它没有 role",
    "no_text": "它没有文字",
    "bad_id": "它的 id 不是字符串",
}
