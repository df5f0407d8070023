"""
What a model writes beside its words: its thinking, and marks of a web search. Pure.

It is stored with its message, and neither searched nor summarised. Every command that reads a dated file loads this module;
what else models put around an answer is in llm_output.py.
"""

from __future__ import annotations

import re
from typing import Final

from .lazy_re import lazy_re

_THOUGHT: Final = lazy_re(r"\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
#: If the chat template itself opens the thinking, the answer has only its end, on a line of its own.
_END: Final = lazy_re(r"\A.*?^[ \t]*</think(?:ing)?>[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)
#: The channels of Harmony, the format of gpt-oss: an answer is in the last one, if that is "final".
_CHANNEL: Final = lazy_re(r"(?:<\|start\|>\w+)?<\|channel\|>(\w+)[^<]*<\|message\|>")
_CHANNEL_END: Final = lazy_re(r"<\|(?:end|return|call)\|>\s*\Z")
#: The marks of sources in answers of ChatGPT, as its exports have them.
_CITATION: Final = lazy_re("\ue200[^\ue201]*\ue201|【\\d+(?::\\d+)?†[^】\\n]*】")


def after_thoughts(text: str) -> str:
    r"""
    Return what is said in the text: what comes after thinking at its beginning, without marks of sources.

    >>> after_thoughts("<think>用户要摘要……</think>\n周五部署。"), after_thoughts("周五部署。")
    ('\n周五部署。', '周五部署。')
    >>> after_thoughts("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Friday.")
    'Friday.'
    """
    while match := _THOUGHT.match(text):
        text = text[match.end() :]
    if "</think" in text:
        text = _END.sub("", text)
    if "<|channel|>" in text:
        *_, last = _CHANNEL.split(text) if (channels := _CHANNEL.findall(text)) else (text,)
        text = _CHANNEL_END.sub("", last) if channels and channels[-1] == "final" else "" if channels else text
    return _CITATION.sub("", text) if "\ue200" in text or "†" in text else text
