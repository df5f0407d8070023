"""The history block of a turn: the messages before the question, without secrets, in the budget of the history."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..protocol.parts import readable
from ..query.parse import MOST_CHARS
from ..text.language import language_of
from .history_window import Window, WindowLimits, window
from .secrets import redact_history

if TYPE_CHECKING:
    from datetime import datetime

    from ..protocol.config import Config
    from ..text.language import Language
    from .request import Asked

#: For each message of the block so many messages are read: results of tools are not shown, and no message is shown twice.
_LOOKED_AT: Final = 3


def oldest_shown(asked: Asked, config: Config) -> datetime | None:
    """Return the time of the oldest message that the history of a turn shows; None if it shows all of them."""
    shown = history_block(asked, config.context.history_tokens, config).said
    place = next((n for n, one in enumerate(asked.before) if shown and one.id == shown[0].id), 0)
    return asked.before[place].created_at if place else None


def history_block(asked: Asked, tokens: int, config: Config) -> Window:
    """Return the history block in so many *tokens*, without secrets."""
    limits = WindowLimits(
        tokens=tokens,
        least=config.context.min_messages,
        most=config.context.max_messages,
        message_chars=config.context.message_chars,
        cjk_weight=config.tokens.cjk_weight,
        zone=config.archive.zone,
        language=turn_language(asked, config),
    )
    shown = replace(asked, before=tuple(readable(one) for one in asked.before[-_LOOKED_AT * limits.most :]))
    redacted = redact_history(shown, limits.most, turn_language(asked, config), config.privacy)
    return window(redacted.before, limits, len(asked.before) - len(shown.before))


def turn_language(asked: Asked, config: Config) -> Language:
    """Return the language of the texts around what is quoted."""
    return config.language if config.language != "auto" else language_of(asked.question[:MOST_CHARS])
