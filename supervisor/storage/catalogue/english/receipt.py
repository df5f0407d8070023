"""Texts of `recalld why`."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "same_now": "Asked now, it would get the same.",
    "no_memory": "(no memory was put before it)",
    "then": "--- then",
    "now": "+++ now",
    "spent": "{count} of {most} tokens",
    "shown_nothing": "shown: nothing",
    "not_shown_nothing": "not shown: nothing",
    "shown": "shown",
    "not_shown": "not shown",
    "group": "group",
    "in_the_history": "in the history",
    "project": "of another project",
    "the_question": "the question",
    "tokens": "tokens",
    "characters": "characters",
    "files": "files",
    "lines": "lines",
    "same_words": "same words",
    "empty": "empty",
    "worth": "of little worth beside the best",
    "literal": "as it is written",
    "window": "by the messages around it",
    "meaning": "by meaning",
    "wish": "a standing wish",
    "newest": "the newest about the same thing",
    "long": "a long answer, which counts less",
    "words": "words: {words}",
    "related": "related: {words}",
    "day": "day {label}",
    "role": "role {label}",
    "spent_of": "{count} of {most} tokens",
}
