"""
What the pages of a server say about itself: its list of models, and of llama.cpp its slots and their window. Pure.

No value is trusted to have the type that it should have; what is not understood counts as not said.
"""

from __future__ import annotations

import re
from typing import Any, Final

from recalld.supervisor.text.record import record

_SHOWN_MODELS: Final = 5
#: The fields of a listed model with its window: LM Studio, vLLM, llama.cpp, OpenRouter, Mistral; what is loaded comes first.
_WINDOWS: Final = ("loaded_context_length", "max_model_len", "n_ctx", "n_ctx_train", "context_length", "max_context_length")


@record
class Capacity:
    """How many answers a server writes at once, and the window of each in tokens; None where it does not say."""

    slots: int | None = None
    window: int | None = None
    is_here: bool = False  # on this machine


@record
class Listed:
    """Whether a server has the model, some of those that it has, and its window in tokens; None where it does not say."""

    known: bool | None
    models: tuple[str, ...]
    window: int | None


def capacity_in(props: Any) -> Capacity:
    """
    Return what llama.cpp's page `/props` says.

    >>> capacity_in({"total_slots": 1, "default_generation_settings": {"n_ctx": 2048}})
    Capacity(slots=1, window=2048, is_here=False)
    """
    fields = props if isinstance(props, dict) else {}
    settings = fields.get("default_generation_settings")
    return Capacity(_count(fields.get("total_slots")), _count(settings.get("n_ctx")) if isinstance(settings, dict) else None)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def listed_in(model: str, answer: Any) -> Listed:
    """
    Return what a list of models says of *model*; ValueError when it is no such list.

    A dated or ":latest" name counts as the model's. llama.cpp answers whatever the model is called.
    """
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("id"), str) for entry in entries
    ):
        raise ValueError("no list of models")
    same = re.compile(rf"(?:models/)?{re.escape(model)}(?::latest|-\d{{8}}|-\d{{4}}-\d\d-\d\d)?")
    models = [entry for entry in entries if same.fullmatch(entry["id"])]
    if not models and len(entries) == 1 and entries[0].get("owned_by") == "llamacpp":
        models = entries
    windows = [_window(entry) for entry in models]
    return Listed(bool(models), tuple(entry["id"] for entry in entries[:_SHOWN_MODELS]), next(filter(None, windows), None))


def _window(entry: dict[str, Any]) -> int | None:
    """Return the window of a model by its entry in the list, None where no field has it."""
    meta = entry.get("meta")
    fields = {**entry, **(meta if isinstance(meta, dict) else {})}
    return next((n for name in _WINDOWS if isinstance(n := fields.get(name), int) and n > 0), None)
