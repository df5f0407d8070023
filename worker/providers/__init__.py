"""Who writes a summary: a model behind an OpenAI-compatible server, or extracts where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.protocol.errors import BadConfig

if TYPE_CHECKING:
    from supervisor.protocol.config import Config
    from worker.summarise import Provider


def choose(config: Config) -> Provider:
    """Return the provider that the configuration asks for; BadConfig where there is none of that kind."""
    llm = config.llm
    if llm.provider == "extractive" or (llm.provider == "auto" and not (llm.base_url or llm.model)):
        from worker.providers.extractive import Extractive

        return Extractive()
    raise BadConfig("llm.provider", "a model can't be used yet; leave base_url and model empty, or set extractive")
