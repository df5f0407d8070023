"""What is wrong with a backup or its folder."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "foreign": "it was not made by recalld, or a part of it is missing",
    "file_differs": "{name} in it is not what was put in",
    "not_a_file": "{name} in it is a link, a folder or a device",
    "leads_out": "{name} in it leads out of the folder",
    "bad_name": "{name} in it is not the name of a file",
    "list_differs": "its files are not those of its list",
}
