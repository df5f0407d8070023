"""Answers of recalld itself: what stands in for the words of a model."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "from_memory": "No model is set (`llm.base_url`, `llm.model`), so this is what memory holds:\n{passages}",
    "nothing_in_memory": "No model is set (`llm.base_url`, `llm.model`), and memory holds nothing that fits.",
    "how_to_remember": "`/remember {line}` in the chat, or `recalld write`, writes that to long-term memory.",
    "looking": "Let me look that up.",
    "remembered": "Remembered.",
    "not_remembered": "There is nothing in your message that I was asked to remember.",
    "no_operation": "There is no {name}; there are {names}.",
    "nothing_found": "nothing was found",
    "odd_days": "The days are written as 2026-01-15, one or two of them.",
}
