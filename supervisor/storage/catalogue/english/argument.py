"""What is wrong with the argument of a caller."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "not_allowed": "{value} is not allowed, give {allowed}",
    "or_more": "{least} or more",
    "not_text": "it must be text, not {kind}",
    "not_list": "it must be a list of {of}, not {kind}",
    "line_numbers": "line numbers",
    "not_folder_path": "it must be the path of a folder, not {kind}",
    "no_workspace": "{root} is not there; make it with `recalld init -w {same}`",
    "file_for_folder": "{root} is a file, not a folder",
    "not_whole_number": "it must be a whole number, not {kind}",
    "bad_slug": "{slug!r} may hold only a-z, 0-9 and -",
    "texts": "texts",
}
