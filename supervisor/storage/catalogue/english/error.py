"""The sentences of errors."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "bad_config": "{key}: {why}.",
    "bad_request": "{field}: {why}.",
    "not_imported": "{path} can't be imported: {why}; {mend}.",
    "not_found": "{path} does not exist; check the path, relative to the workspace.",
    "nothing_asked": "no question to memory is kept, so there is none to explain; `recalld inject --query` asks one.",
    "no_turn": "{path} is no turn that is kept: an id is like {newest}, which is the newest; `recalld why` without one explains that, and turns/ has a file for each.",
    "stale_line": "{ref} is not the name of the line that is there now: {found}; nothing was changed.",
    "bad_file": "{path} can't be read: {why}; {mend}; it was not overwritten.",
    "unchangeable": "{path} can't be changed: {why}; {mend}; it was left as it is.",
    "bad_backup": "{path} is no sound backup: {why}; nothing was unpacked, use another one.",
    "busy": "{path} is in use by another program and was not free within {waited_s:g} s; try again.",
    "already_runs": "{who} already runs in {root}; {mend}.",
    "a_supervisor": "a supervisor",
    "use_that": "use that one, or stop it first: Ctrl-C where it runs, a service with `systemctl --user stop recalld`",
    "lock_lost": "{root}/.recalld was deleted or moved away while the supervisor ran, or a disk was mounted over it; the supervisor stops, start it again.",
    "no_workspace": "{root} has no workspace, and none was made there; mount its disk or move it back, `recalld init` makes a new one.",
    "stale_text": "{path} was changed after it was read, and nothing was written; bring both texts together, and save again.",
    "conflict": "{path} was changed by another program in the meantime; try again.",
    "newer_format": "{path} has format {found} of a newer recalld; upgrade recalld to open it.",
    "storage_error": "{path} could not be read or written: {why}; check the disk and its free space.",
    "no_process": "the system starts no more processes and threads: {why}; end other programs, or raise the limit of processes (ulimit -u) or memory.",
    "no_permission": "{path} can't be accessed: {why}; {mend}.",
    "no_service": "the service can't run: {why}; {mend}.",
    "service_forbidden": "the service may not be managed: {why}; {mend}.",
    "no_summary": "no summary was written: {why}; what was there stays, try again later.",
    "no_unit": "no service is installed, {path} is not there; `recalld service install` installs one.",
    "foreign_unit": "{path} is not as `recalld service install` made it for this workspace; move it away, and what you change in a unit goes into `systemctl edit`.",
    "internal_error": "{step} failed with an unexpected error ({kind} at {where}); please report it.",
}
