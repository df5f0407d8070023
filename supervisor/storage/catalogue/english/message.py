"""Why an entry is not a message."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "no_object": "it is not an object",
    "odd_role": "{role!r} is no role; give user, assistant, system or tool",
    "no_role": "it has no role",
    "no_text": "it has no text",
    "bad_id": "its id is not a string",
    "no_json": "it has a value that JSON can't hold; give text, numbers, truth values, lists and objects",
}
