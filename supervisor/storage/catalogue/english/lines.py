"""What is wrong with a citation of lines."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "from_one": "lines count from 1",
    "beyond": "{path} has {count} lines",
    "cited_already": "#{cited} says already which lines",
    "no_citation": "#{cited} is no citation; it looks like #L4-L6,L9",
    "ends_early": "#{cited} ends before it begins; it looks like #L4-L6,L9",
    "goes_back": "#{cited} goes back; it looks like #L4-L6,L9",
    "no_memory_file": "{path!r} is no memory file; it looks like memory/2026-01-28-deploy.md",
    "through_link": "{path!r} leads through a link",
    "is_folder": "{path!r} is a folder; give the name of a file in it",
}
