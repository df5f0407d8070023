"""
LlamaIndex: its chat memory over recalld; `recalld.llamaindex` has the names.

Here is what needs no LlamaIndex: `configs/memory.yaml`, the configuration of a chat memory, as in 002.
"""

from __future__ import annotations

import os
from typing import Any, Final

import yaml

from ...storage.disk import read_outside
from ...storage.errors import BadConfig, why_refused
from ...storage.texts import Text

#: The defaults (docs/features.md, 002).
DEFAULTS: Final = {"token_limit": 64000, "summarize_prompt": None}
_RESERVED: Final = "persistence"


def load_memory_config(config_path: str | os.PathLike[str] = "configs/memory.yaml") -> dict[str, Any]:
    """
    Return `token_limit` and `summarize_prompt` as the file's `memory` has them, for `build_chat_memory(llm, **config)`.

    If the file or a key is missing, the defaults apply: 64000, and the prompt that recalld ships. BadConfig, in one sentence,
    if the file is not such YAML; no Python object is ever made from it.
    """
    name = os.fspath(config_path)
    try:
        config = yaml.safe_load(read_outside(name).decode("utf-8-sig"))
    except FileNotFoundError:
        return dict(DEFAULTS)
    except OSError as error:
        raise BadConfig(name, Text("it can't be read: {why}", why=why_refused(error))) from error
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError):
        raise BadConfig(name, Text("it is not plain YAML in UTF-8; correct it, or delete it for the defaults")) from None
    memory = config.get("memory") if isinstance(config, dict) else None
    if not isinstance(memory, dict):
        raise BadConfig(name, Text("it has no section `memory`; add it, or delete the file for the defaults"))
    return _checked(name, memory)


def why_no_token_limit(limit: object) -> str:
    """Return why this is not a valid limit, "" if it is."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        return Text("token_limit is {limit!r}, and must be a whole number of 1 or more", limit=limit)
    return ""


def _checked(name: str, memory: dict[Any, Any]) -> dict[str, Any]:
    for key in memory:
        if key not in (*DEFAULTS, _RESERVED):
            raise BadConfig(name, Text("memory.{key} is not known; it has token_limit and summarize_prompt", key=key))
    reserved = memory.get(_RESERVED)
    if reserved and (not isinstance(reserved, dict) or reserved.get("enabled")):
        raise BadConfig(name, Text("memory.persistence is reserved; delete it, and give build_chat_memory a chat_store"))
    config = {key: default if memory.get(key) is None else memory[key] for key, default in DEFAULTS.items()}
    if why := why_no_token_limit(config["token_limit"]):
        raise BadConfig(name, why)
    prompt = config["summarize_prompt"]
    if prompt is not None and not isinstance(prompt, str):
        raise BadConfig(name, Text("memory.summarize_prompt is no text; put it in quotes, or delete it for the default"))
    return config
