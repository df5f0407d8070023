"""What tools answer to a model."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "counted": "entries in memory: {total}",
    "memory_empty": "memory is empty",
    "no_keywords": "give keywords to search for",
    "no_valid_keywords": "give valid keywords to search for",
    "nothing_with": "no entry contains {keywords}",
    "and": "{before} and {after}",
    "or": "{before} or {after}",
    "left_out": "{count} matches, only {shown} of them are shown",
    "line_written": "written to memory, line {line} ({total} in all)",
    "written": "written to memory",
    "by_digest": "it must be an id or a number and a digest, such as 42@1f3a9c0d, as a search, a reading or a writing gave it",
    "deleted": "deleted from memory: {count} ({total} left)",
    "refs": "number@digest: {refs}",
    "see_log": "search again, or look at recall_failed and file_unread in log.jsonl; `recalld doctor` says what mends it",
    "see_doctor": "`recalld doctor` says what mends it",
    "none": "none",
}
