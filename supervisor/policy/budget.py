"""How many tokens memory and history may take of a model's context (003, 上下文注入预算). Budgets are ceilings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Of the context, what is kept for the answer.
_ANSWER: Final = 4  # a quarter
#: Of what is left then, memory takes one part and history two.
_PARTS: Final = 3


@dataclass(frozen=True, slots=True)
class Budgets:
    """Tokens of the memory block and of the history block."""

    memory: int = 2048  # 003
    history: int = 4096  # 003


def share(context_tokens: int, fixed_tokens: int, limits: Budgets) -> Budgets:
    """
    Return what memory and history may take in a context of *context_tokens*, 0: not known.

    A quarter is kept for the answer; *fixed_tokens* are those of system prompt, tools and question, which come first. The rest
    goes to memory and history as 1 : 2, never above *limits*.

    >>> share(8192, 500, Budgets()), share(4096, 572, Budgets()), share(0, 500, Budgets())
    (Budgets(memory=1881, history=3762), Budgets(memory=833, history=1666), Budgets(memory=2048, history=4096))
    """
    if not context_tokens:
        return limits
    part = max(0, context_tokens - -(-context_tokens // _ANSWER) - fixed_tokens) // _PARTS
    return Budgets(min(limits.memory, part), min(limits.history, part * (_PARTS - 1)))
