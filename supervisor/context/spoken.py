"""What was said, of the text that a client has in the name of a person or an assistant: for hooks, imports and the proxy."""

from __future__ import annotations

import re
from typing import Final

from ..text.lazy_re import lazy_re
from .render import HEADER

#: What a person marks as not to be kept; a mark that is never closed reaches to the end.
_PRIVATE: Final = lazy_re(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)
#: What recalld has put before an assistant.
_OURS: Final = lazy_re(rf"<memory>\s*{HEADER}\n.*?</memory>", re.DOTALL)
#: What a client writes into a prompt itself: notes to the model, the output of commands, what hooks gave (Gemini CLI).
_CLIENTS_OWN: Final = lazy_re(
    r"<(system-reminder|task-notification|local-command-(?:caveat|stdout|stderr)|environment_context|hook_context)>.*?</\1>",
    re.DOTALL,
)


def spoken(text: str) -> str:
    """
    Return what a person or an assistant said: without what is private, what recalld put in, and a client's own notes.

    >>> spoken("改端口 <private>口令是 1234</private> 到 8081")
    '改端口  到 8081'
    """
    for pattern in (_PRIVATE, _OURS, _CLIENTS_OWN):
        if "<" in text:
            text = pattern.sub("", text)
    return text.strip()
