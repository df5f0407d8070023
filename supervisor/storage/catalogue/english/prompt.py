"""What is wrong with a prompt."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "not_utf8": "it is not UTF-8; save it as UTF-8, or delete it for the wording that recalld ships",
    "lacks": "it lacks {{{name}}}; add it, or delete the file for the wording that recalld ships",
    "no_entry": "no line made by it is an entry; let it be one line that begins with {{date}}|{{source}}| and has {{content}} once",
    "unknown": "there is no prompt {name!r}; give one of {names}",
    "no_language": "{language!r} is no language of the prompts; give zh or en",
}
