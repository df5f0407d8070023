"""
Who writes a summary: a model behind an OpenAI-compatible server, or extracts where there is none.

A new provider is one file here that offers ``make(config, environ)`` and returns a `Model` or a `Summariser`
(completion.py), one line in PROVIDERS, and its word among the choices of ``[llm] provider``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.protocol.config import Config
    from worker.providers.completion import Model, Summariser

#: The module of each provider, imported when it is chosen: a client is heavy, and extracts need none.
PROVIDERS: Final = {
    "extractive": "worker.providers.extractive",
    "openai": "worker.providers.openai",
}


def choose(config: Config, environ: Mapping[str, str]) -> Model | Summariser:
    """
    Return the provider that the configuration asks for; "auto" is openai where base_url or model is set.

    *environ* is where a provider looks for its key. BadConfig when what it needs is not there.
    """
    llm = config.llm
    name = llm.provider
    if name == "auto":
        name = "openai" if llm.base_url or llm.model else "extractive"
    made: Model | Summariser = importlib.import_module(PROVIDERS[name]).make(config, environ)
    return made
