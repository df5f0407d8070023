"""The summary of a task without a model: an extract of its material (`supervisor/extracts/`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from zoneinfo import ZoneInfo

from recalld.supervisor.extracts.extract import Hide, Kind, extract
from recalld.supervisor.protocol.config import Config
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.prompts import without_secrets
from recalld.supervisor.protocol.task import Task


def make(config: Config, _environ: Mapping[str, str]) -> Extractive:
    """Return the provider, its extracts no longer than a summary may be, and without secrets."""
    return Extractive(config.archive.summarise_chars, partial(without_secrets, privacy=config.privacy))


class Extractive:
    """The provider that needs no model."""

    name = "extractive"
    model = ""
    extract = True

    def __init__(self, longest: int | None = None, hide: Hide | None = None) -> None:
        """*longest* is how many characters an extract may have; None leaves it to LIMITS."""
        self._longest, self._hide = longest, hide

    def summarise(self, task: Task, blocks: Sequence[Block]) -> str:
        """Return the Markdown body, "" when there is nothing to record."""
        kind: Kind = "day" if task.kind == "daily-summary" else "month"
        zone, text, most = ZoneInfo(task.zone), task.previous, self._longest
        return extract(blocks, period=task.period, zone=zone, previous=text, kind=kind, longest=most, hide=self._hide)
