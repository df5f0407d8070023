"""Texts of the diary of memory and of undoing."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "title": "# What was done to memory",
    "about": "A line for each act, written by recalld. `recalld undo ID` takes back what was written, changed, deleted or moved to trash/, as long as nothing was built on it; what was filed or forgotten stays so. Editing this file changes nothing.",
    "written": "a line was written into {path}{by}",
    "replaced": "a line was written into {path} in the place of an older one, which ended{by}",
    "ended": "something was marked as no longer true{by}",
    "deleted": "lines were deleted from {path}{by}",
    "text": "the text of {path} was changed{by}",
    "summary": "the summary of {period} was written{by}",
    "edited": "the summary of {period} was edited{by}",
    "hand": "a dated file of {day} was edited by hand",
    "archived": "messages were filed: {messages}{by}",
    "forgotten": "forgotten for good: messages {messages}, lines {lines}, files {files}{by}",
    "pruned": "dated files that a summary covers were moved to trash/: {count}{by}",
    "undone": "{of} was undone{by}",
    "by.python": ", by a program ({what})",
    "by.command": ", by a command ({what})",
    "by.socket": ", over the socket ({what})",
    "by.tool": ", by a tool ({what})",
    "by.http": ", over HTTP ({what})",
    "would_prune": "files that would go to trash/: {count} ({bytes} bytes)",
    "pruned_now": "files that went to trash/: {count} ({bytes} bytes); `recalld undo` with the id in CHANGES.md brings them back",
    "uncovered": "files as old as these that stay, since no summary of a model covers them as they are: {count}",
    "no_act": "CHANGES.md has no act {id!r}, or what it needs is no longer kept; the id is in the line of the act",
    "not_undone.archived": "filing can't be undone: the words are where they belong; `recalld forget` takes words back",
    "not_undone.forgotten": "what was forgotten is gone for good; that is what forgetting is for",
    "not_undone.hand": "you did this by hand; your editor can take it back",
    "built_on": "what it wrote was changed since, and would be lost",
    "not_kept": "what was there before is no longer kept",
    "month_built_on": "the summary of {month} was made from it since; undo that first, or `recalld summary redo {month}`",
    "did": "undone: {what}",
    "was_undone": "it was undone already; nothing changes.",
}
