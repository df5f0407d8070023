"""Texts of summaries that are asked for."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "no_dated_file": "memory has no dated file of {label}, so there is nothing to summarise",
    "no_period": "{label!r} is no day (2026-01-28) and no month (2026-01)",
    "queued": "{group} is queued; a supervisor takes it in.",
}
