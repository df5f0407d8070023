"""What a model says, less what it only thought, and less the wrapping that it puts around Markdown. Pure."""

from __future__ import annotations

import re
from typing import Final

_THOUGHT: Final = re.compile(r"\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
#: Where a chat template has opened the thinking itself, only its end is seen, on a line of its own.
_END: Final = re.compile(r"\A.*?^[ \t]*</think(?:ing)?>[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_WRAPPED: Final = re.compile(r"\A(`{3,}|~{3,})(?:markdown|md)?[ \t]*\n(.*)\n\1\Z", re.DOTALL | re.IGNORECASE)


def spoken(text: str) -> str:
    r"""
    Return the answer alone, stripped; "" when it holds nothing else than thinking.

    >>> spoken("<think>用户要摘要……</think>\n\n## 部署")
    '## 部署'
    """
    while match := _THOUGHT.match(text):
        text = text[match.end() :]
    text = _END.sub("", text).strip()
    wrapped = _WRAPPED.match(text)
    if wrapped and not re.search(rf"^{wrapped[1]}", wrapped[2], re.MULTILINE):
        text = wrapped[2].strip()
    return text
