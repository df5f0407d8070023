"""Why a receipt has a passage, or has it not: the words of recalld for it."""

from __future__ import annotations

from typing import Final

from ...storage.texts import msgid

#: Why a receipt has a passage, or has it not, by the reason's word.
REASONS: Final = {
    "group": msgid("not for a group"),
    "in the history": msgid("in the history already"),
    "project": msgid("of another project"),
    "the question": msgid("it is the question itself"),
    "tokens": msgid("no room in the budget of tokens"),
    "characters": msgid("no room in the budget of characters"),
    "files": msgid("enough other files"),
    "lines": msgid("enough other lines"),
    "same words": msgid("a better passage has the same words"),
    "empty": msgid("nothing to show in it"),
    "worth": msgid("of little worth beside the best"),
    "none": msgid("nothing found"),
    "failed": msgid("the search failed"),
    "bm25": msgid("by words"),
    "hybrid": msgid("by words and meaning"),
    "literal": msgid("as it is written"),
    "window": msgid("by the messages around it"),
    "meaning": msgid("by meaning"),
    "wish": msgid("a standing wish"),
    "link": msgid("by a word of a better answer"),
    "newest": msgid("the newest about the same thing"),
    "later": msgid("said later, and close to the best one in meaning"),
    "oldest": msgid("the oldest about the same thing"),
    "long": msgid("a long answer, which counts less"),
}
#: The days of a week on which something recurs, as they stand in a reason.
WEEKLY: Final = {
    "weekly-1": msgid("every Monday"),
    "weekly-2": msgid("every Tuesday"),
    "weekly-3": msgid("every Wednesday"),
    "weekly-4": msgid("every Thursday"),
    "weekly-5": msgid("every Friday"),
    "weekly-6": msgid("every Saturday"),
    "weekly-7": msgid("every Sunday"),
}
