"""
A model's thinking in tags before its words. Pure.

It is stored with its message, and neither searched nor summarised. Every command that reads a dated file loads this module;
what else models put around an answer is in llm_output.py.
"""

from __future__ import annotations

import re
from typing import Final

from recalld.supervisor.text.lazy_re import lazy_re

_THOUGHT: Final = lazy_re(r"\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)


def after_thoughts(text: str) -> str:
    r"""
    Return the text after the thinking in tags at its beginning; all of it if it does not begin so.

    >>> after_thoughts("<think>用户要摘要……</think>\n周五部署。"), after_thoughts("周五部署。")
    ('\n周五部署。', '周五部署。')
    """
    while match := _THOUGHT.match(text):
        text = text[match.end() :]
    return text
