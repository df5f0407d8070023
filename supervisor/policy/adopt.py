"""Whether words stand in a file that another program kept (docs/protocol.md, 1, Adoption)."""

from __future__ import annotations

import re
from typing import Final

#: What other programs put before a message on its line: a list mark, a time, who said it.
_LABEL: Final = re.compile(
    r"[-*+>\s]*(?:\[?[\d:T.\-\sZ]{4,24}\]?\s*)?[*_]{0,2}(?:\w[\w -]{0,30}[*_]{0,2}\s*[:：][*_]{0,2})?\s*"
)


def standing_in(words: str, text: str) -> bool:
    """
    Tell whether the words stand whole in the text: as paragraphs, or as a line behind a label.

    >>> standing_in("对花生过敏", "- 09:02 user: 对花生过敏"), standing_in("花生", "- 09:02 user: 对花生过敏")
    (True, False)
    """
    words = words.strip().replace("\r\n", "\n")
    if not words:
        return False
    place = text.find(words)
    while place >= 0:
        before = text[text.rfind("\n", 0, place) + 1 : place]
        after = text[place + len(words) :]
        whole_before = not before.strip() or bool(_LABEL.fullmatch(before))
        if whole_before and (not after or after.lstrip(" \t\r").startswith("\n") or not after.strip()):
            return True
        place = text.find(words, place + 1)
    return False
