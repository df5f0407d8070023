"""Why a file is not TOML."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "overwrite": "Cannot overwrite a value",
    "value": "Invalid value",
    "statement": "Invalid statement",
    "key_character": "Invalid initial character for a key part",
    "date": "Invalid date or datetime",
    "equals": "Expected '=' after a key in a key/value pair",
    "after_value": "Expected newline or end of document after a statement",
    "table_end": "Expected ']' at the end of a table declaration",
    "array_open": "Unclosed array",
    "string_open": "Unterminated string",
    "character": "Illegal character {character}",
    "backslash": "Unescaped '\\' in a string",
}
