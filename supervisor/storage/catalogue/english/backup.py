"""What is wrong with a backup or its folder."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "foreign": "it was not made by recalld, or a part of it is missing",
    "file_differs": "{name} in it is not what was put in",
    "not_a_file": "{name} in it is a link, a folder or a device",
    "bad_name": "{name} in it leads out of the folder, or is not the name of a file",
    "list_differs": "its files are not those of its list",
    "no_folder": "{folder} is not there; make the folder first",
    "in_workspace": "{folder} is in the workspace; put backups elsewhere, best on another disk",
    "unknown_file": "{file} is not known to this workspace; move it away, or give each workspace a folder of its own",
    "disk_scarce": "a backup would leave less than {count} MiB free",
    "none": "there are no backups; name their folder with --backup-to",
    "exists": "{file} exists, and no backup replaces a file; choose another name",
    "folder_filled": "{folder} is not an empty folder; name a new one",
    "no_file": "{file} is not a file; check the path",
    "no_history": "{path} is a backup of a whole workspace, no copy of history.json; `recalld backup restore FILE --into DIR` unpacks it",
    "other_memory": "-w: {root} is not the workspace that this backup was made from, and was not used.",
    "as_of": "the memory is as it was on {time}; anything that was forgotten after that is in it again. `recalld -w {into} forget --help` says how to forget it again; or, where you still have the workspace that forgot it, restore once more with `-w` and that one.",
}
