"""What is wrong with a file, and what mends it."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "no_progress": "it does not say how far the session is summed up ({kind})",
    "delete_session": "delete it, and all of the session is summed up again",
    "repair": "repair it or move it away",
    "restore": "`recalld restore` puts it together again",
    "check_rights": "check its owner and mode",
    "remount": "its disk is mounted read-only, mount it writable (`mount -o remount,rw`)",
    "not_regular": "it is a link, a folder or another thing that is not a regular file",
    "no_folder": "it is a link or a file where recalld needs a folder of its own",
    "nested": "its nesting is too deep",
    "gone_with_backup": "it is gone, though its backup is there",
    "gone": "it is gone",
    "empty": "it is empty",
    "blank": "it contains only blanks",
    "not_utf8_at": "it is not UTF-8 at byte {at}",
    "not_json_in_line": "it is not JSON at line {line}, column {column}",
    "not_array": "it holds {kind}, not an array",
    "an_object": "an object",
    "a_string": "a string",
    "a_number": "a number",
    "a_truth_value": "a truth value",
    "no_array": "it holds no array",
    "no_messages": "{path} holds no array of messages",
    "not_receipt": "it is not the receipt of a turn",
    "document_invalid": "a stored document is invalid ({kind})",
    "index_fault": "{kind} in the index's library",
    "bytes_differ": "its bytes are not those that were written",
    "no_manifest": "it has no valid manifest",
    "no_commit_list": "it is no list of a commit",
    "cut_off": "it was cut off or written over",
    "read_only": "it is read-only",
    "make_writable": "make it writable (`chmod u+w`)",
    "not_utf8": "it is not UTF-8",
    "save_utf8": "save it as UTF-8",
    "not_json": "it is not JSON at column {column}",
    "unreadable": "it can't be read: {why}",
}
