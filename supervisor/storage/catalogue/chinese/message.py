"""Why an entry is not a message, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "no_object": "它不是对象",
    "odd_role": "没有 {role!r} 这个角色；请用 user、assistant、system 或 tool",
    "no_role": "它没有 role",
    "no_text": "它没有文字",
    "bad_id": "它的 id 不是字符串",
    "no_json": "里面有 JSON 存不了的值；请给文字、数、真假值、列表和对象",
}
