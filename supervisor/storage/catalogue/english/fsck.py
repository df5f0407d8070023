"""The findings of `recalld fsck`."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "all_accounted": "every message is accounted for ({count}), and nothing is wrong.",
    "not_whole": "{name} is no longer whole: its head or its end is missing, or it holds zeros; `recalld fsck --repair`, with the supervisor stopped, has the next run write its messages again",
    "id_repeats": "message {id} is there {count} times: {names}",
    "copy": "{copy} is a copy of {kept}",
    "attachment": "{name} {state}, and {by} names it: put a copy of it back, or delete the message",
    "in_both": "{name} is in memory/ and in originals/",
    "flag_unfounded": "message {id} is flagged true, but no dated file was ever made of it",
    "was_in": "{id} (was in {name})",
    "is_gone": "is gone",
    "other_bytes": "its bytes are not those of its name",
    "holds_others": "holds other bytes than it did",
    "ends_early": "{name} ends after {found} of its {count} messages: put a whole copy of it back, or `recalld fsck --repair` with the supervisor stopped; if you deleted the others, `recalld fsck --accept {name}`",
    "moved": "{name} is now {path}, and is read there",
    "not_utf8": "{name}: {why}",
}
