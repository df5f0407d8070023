"""What Anthropic's memory tool refuses."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "no_memory": "{path!r} is no memory; give a file that ends in .md",
    "inside_itself": "{path!r} is inside the old path; give another one",
    "kept": "{path!r} is kept by recalld, so it can be viewed, not changed; write to memory.md or a note",
    "never_read": "{name!r} is a name that memory never reads; give a plain one",
    "long_name": "{name!r} has {count} bytes, and no copy could be kept of what it says when it changes; give a name of at most {most}",
    "file_name": "{name!r} is a name for a file; give the folder another one",
    "not_found": "{name!r} would not be found by a search; give a name that ends in .md",
    "for_user": "this tool shows whole files, so it is for the user alone; give a group the other tools",
    "needs": "{command} needs it; nothing was done",
    "lacks": "{command} has no such argument; give {names}",
    "no_range": "it must be two whole numbers, the first and the last line",
}
