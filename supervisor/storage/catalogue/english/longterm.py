"""Texts of the long-term file."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "line_is": "it is {line}, {text}",
    "no_line": "there is none",
    "too_large": "it would have more than {bytes:,} bytes, and is not searched then",
    "delete_first": "delete lines first",
    "several_files": "write it as several files",
    "no_session": "no message names {session!r}; give it as the messages have it",
    "nothing_written": "it is empty, and nothing was written; give what is to last",
    "too_long": "it has {count:,} characters, and nothing was written; give at most {most:,}",
    "no_ref": "{ref!r} names no line, and nothing was changed; give number and digest, as in 42@1f3a9c0d",
    "two_digests": "line {number} is named with two digests, and nothing was changed; give the right one",
    "no_lines": "none is named, and nothing was changed; give number and digest, as in 42@1f3a9c0d",
    "no_fact": "line {line} is a heading, code or a table, which can't be replaced; edit it by hand",
    "says_it": "line {line} says this already; give what is true now",
    "which_item": "line {line} says several things, and which of them ends can't be told; nothing was written; give its number, as in --item 2 (item): {items}",
    "no_item": "line {line} has {count} items, and none with this number; nothing was written; give one of these: {items}",
    "item_alone": "it is the number of an item in the line of `replaces`; name that line, too",
    "ended_already": "line {line} ended already ({until}); now {found}",
    "ended_before": "it has counted as no longer true since {until}, and nothing changes",
    "none_stands": "no line stands in its place",
    "unseen_unshared": "what is written here is not shown in this conversation unless the owner marks the line `#shared`.",
    "mark_taken": "the mark was taken off: `#shared` shows a line in groups, `#pin` in every turn, and only the owner sets them.",
    "pinned_by_owner": "lines below `# Always` are shown in every turn, and only the owner puts them there; write the line below another heading.",
    "unseen_closed": "what is written here is not shown in this conversation, which is shown nothing of memory (`recall.in_groups`).",
    "nothing_new": "nothing in this session is new and worth a line; `--again` takes all of it.",
    "nothing_to_record": "nothing in this session is worth a line.",
    "empty": "the long-term memory is empty.",
    "one_of": "it takes a line, or --start and --end, or --recent",
    "written": "written to memory, line {line} ({total} in all)",
    "written_plain": "written to memory.",
    "replaced": "line {line} is struck: it is shown only where the past is asked for.",
    "others": "what else it said still holds, and goes on as line {line}.",
    "ended": "{place} is no longer true from {until} on; it is shown only where the past is asked for.",
    "nothing_to_end": "it names no line, message or line of a summary; give 42@1f3a9c0d, the id of a message, or memory/summary/2026-01-15.md#L7",
    "long_reason": "it has {count:,} characters; give at most {most:,}",
    "saved": "saved to memory, line {line} ({total} in all)",
    "known": "in memory already, line {line} ({total} in all)",
}
