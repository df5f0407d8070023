"""What the server of a model did."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "too_large": "the request is too large for the server",
    "prompt_long": "the prompt is longer than the model's context",
    "bad_key": "the server refuses the key",
    "no_credit": "the account has no credit left",
    "no_model": "the server does not know the model",
    "no_model_or_url": "the server does not know the model, or base_url is not where it answers",
    "filtered": "the server's filter refused it",
    "rejects": "the server rejects the request",
    "gave_up": "the server gave up waiting",
    "slow_down": "the server asks to slow down",
    "broke_off": "the server broke the answer off",
    "loading": "the server is still loading the model",
    "fault": "the server has a fault",
    "elsewhere": "the server sends the request elsewhere; give the address that answers in llm.base_url",
    "no_chat": "the server does not take chat completions there",
    "no_completion": "the server answers with something else than a chat completion; check base_url",
    "endless": "the server's answer has no end",
    "compressed": "the server compresses its answer, unasked",
    "unreachable": "the server can't be reached",
    "timeout": "the server did not answer in time",
    "connection_broke": "the connection broke in the middle of the answer",
    "length": "the answer was cut off at its length",
    "refused": "the model refused",
    "empty": "the answer is empty",
    "only_thought": "the answer is only thinking",
}
