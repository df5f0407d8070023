"""
The configuration of a workspace: recalld.toml, and over it the variables `RECALLD_<SECTION>_<KEY>`.

`load` turns bytes and variables into a `Config` and touches no file. The numbers are 003's and protocol.md's; where
another one measures better, 003's stands beside it. docs/configuration.md is made from the keys:
`python -m supervisor.protocol.config > docs/configuration.md`.
"""

# ruff: noqa: RUF009 - the defaults are frozen
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from supervisor.protocol.clock import find_zone
from supervisor.protocol.config_keys import (
    Archive,
    Care,
    Context,
    Conversation,
    Embeddings,
    History,
    Llm,
    Log,
    Privacy,
    Recall,
    Serve,
    Summarize,
    Tokens,
    Tools,
    Turns,
    Worker,
)
from supervisor.protocol.errors import BadConfig
from supervisor.protocol.settings import (
    Place,
    applied,
    choice,
    dotted,
    gather,
    keys,
    literal,
    parse,
    reference,
    refuse_unknown_variables,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

FILE: Final = "recalld.toml"
PREFIX: Final = "RECALLD_"
#: Variables of ours that choose the workspace and the clock; they are no settings.
OTHER_VARIABLES: Final = frozenset({"RECALLD_WORKSPACE", "RECALLD_NOW"})


@dataclass(frozen=True, slots=True)
class Config:
    """Keys that belong to no section."""

    language: Literal["auto", "zh", "en"] = choice("auto", "Of messages to people; material keeps its own.", "zh", "en")
    history: History = History()
    archive: Archive = Archive()
    recall: Recall = Recall()
    context: Context = Context()
    llm: Llm = Llm()
    worker: Worker = Worker()
    tokens: Tokens = Tokens()
    turns: Turns = Turns()
    conversation: Conversation = Conversation()
    summarize: Summarize = Summarize()
    tools: Tools = Tools()
    embeddings: Embeddings = Embeddings()
    serve: Serve = Serve()
    privacy: Privacy = Privacy()
    log: Log = Log()
    care: Care = Care()


#: Two keys of which the first may not be more than the second. Where only the second is set, the first follows it.
ORDER: Final = (
    (("history", "soft_cap"), ("history", "hard_cap")),
    (("archive", "keep_newest"), ("history", "soft_cap")),
    (("archive", "write_wait"), ("archive", "write_wait_limit")),
    (("context", "min_messages"), ("context", "max_messages")),
    (("worker", "beat"), ("worker", "lease")),
    (("log", "rotate_bytes"), ("log", "keep_bytes")),
)

#: What the file that `init` writes shows as comments, with an example where the default says little.
WORTH_KNOWING: Final = {
    ("llm", "base_url"): "http://127.0.0.1:11434/v1",
    ("llm", "model"): "qwen3:8b",
    ("llm", "max_calls_per_day"): None,
    ("recall", "max_hits"): None,
    ("recall", "memory_tokens"): None,
    ("context", "history_tokens"): None,
    ("privacy", "redact"): None,
}


def load(toml: bytes | None, environ: Mapping[str, str]) -> Config:
    """
    The configuration that *toml* (the bytes of recalld.toml, None where there is none) and *environ* make.

    Variables win over the file. BadConfig, with one sentence, for the first thing that is unknown or wrong.
    """
    given = gather(Config(), parse(toml, FILE), environ, PREFIX)
    for smaller, larger in ORDER:
        less, more = _value(given, smaller), _value(given, larger)
        if less > more and smaller in given:
            why = f"{_written(less)} is more than {dotted(larger)}, which is {_written(more)}; lower it or raise that"
            raise BadConfig(dotted(smaller), why)
        if less > more:
            given[smaller] = more
    config = applied(Config(), given)
    # A variable that holds a model's key may well be one of ours by its name; its value is never looked at.
    refuse_unknown_variables(config, environ, PREFIX, OTHER_VARIABLES | {config.llm.api_key_env, config.embeddings.api_key_env})
    if ("archive", "timezone") in given:
        find_zone(config.archive.timezone)
    return config


def _value(given: Mapping[Place, object], place: Place) -> Any:
    section, name = place
    return given.get(place, getattr(getattr(Config(), section), name))


def _written(value: int | timedelta) -> str:
    return str(value) if isinstance(value, int) else f"{value.total_seconds():g}s"


def render_default(zone: str) -> str:
    """The recalld.toml that `init` writes: the zone set, some keys to know as comments; `load` reads it."""
    known = keys(Config())
    lines = [
        "# The configuration of this workspace. Every key, its default and its meaning: docs/configuration.md.",
        "# A key can also be set by a variable, which wins: RECALLD_RECALL_MAX_HITS=0.",
        "",
        "[archive]",
        f"# {known['archive', 'timezone'].meaning}",
        f"timezone = {literal(zone)}",
    ]
    last = "archive"
    for (section, name), example in WORTH_KNOWING.items():
        if section != last:
            lines += ["", f"[{section}]"]
            last = section
        key = known[section, name]
        lines.append(f"# {name} = {literal(key.default if example is None else example)}  # {key.meaning}")
    return "\n".join(lines) + "\n"


_INTRODUCTION: Final = """\
# Configuration

This page is made from the source: `python -m supervisor.protocol.config > docs/configuration.md`.

`recalld.toml` lies in the workspace; a workspace without one has the defaults. Every key can also be set by a variable,
`RECALLD_<SECTION>_<KEY>` (`RECALLD_RECALL_MAX_HITS=0`; without a section `RECALLD_LANGUAGE`), which wins over the file.
`RECALLD_WORKSPACE` and `RECALLD_NOW` choose the workspace and the clock and are no keys.

* Times: `"500ms"`, `"30s"`, `"10m"`, `"6h"`, `"1.5h"`, `"1d"`; a bare number counts seconds. At most ten years.
* Sizes: `"10MB"` is 10,000,000 bytes, `"10MiB"` is 10,485,760 (B, KB, MB, GB, KiB, MiB, GiB); a bare number counts bytes.
* Lists in a variable are separated by commas (`RECALLD_ARCHIVE_BACKOFF=10m,30m`): what has a comma in itself belongs in
  the file. True and false may there be written yes, no, on, off, 1, 0.
* An unknown section, key or variable, and a value that is not allowed, ends the command with one sentence and exit code 78.

The column 003 holds the value of the design document where the default differs from it.
"""

_BETWEEN: Final = """\
## Between keys

Where only the larger of two is set, the smaller follows it down; where what is set contradicts, it is refused.
"""


def main() -> None:
    """Print docs/configuration.md."""
    order = "\n".join(f"* `{dotted(smaller)}` ≤ `{dotted(larger)}`" for smaller, larger in ORDER)
    print(f"{_INTRODUCTION}{reference(Config())}\n{_BETWEEN}\n{order}")


if __name__ == "__main__":
    main()
