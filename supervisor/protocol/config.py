"""
The configuration of a workspace, from recalld.toml and the variables `RECALLD_<SECTION>_<KEY>`, which win over the file.

`load` turns bytes and variables into a `Config` and reads no file. The keys are in config_keys.py, their reader in settings.py.
configuration.md is generated from the keys: `python -m recalld.supervisor.protocol.config > docs/reference/configuration.md`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ..storage.clock import find_zone
from ..storage.errors import BadConfig
from ..storage.lenient_json import not_utf8
from ..storage.texts import Text, render
from ..text.lazy_re import lazy_re
from ..text.record import record
from .config_keys import (
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
from .pool_keys import Pool
from .settings import (
    Place,
    applied,
    choice,
    dotted,
    gather,
    keys,
    refuse_unknown_variables,
)
from .sources import Sources

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from ..text.language import Language

FILE: Final = "recalld.toml"
PREFIX: Final = "RECALLD_"
#: Variables that choose the workspace and the clock, that of `care.on_trouble`, and that of a service; they belong to no key.
OTHER_VARIABLES: Final = frozenset({"RECALLD_WORKSPACE", "RECALLD_NOW", "RECALLD_TROUBLE", "RECALLD_ALARM"})
#: How the variables of a fleet began (until 0.32), which the file of variables of a service may still have.
OF_A_FLEET: Final = "RECALLD_FLEET_"


@record
class Config:
    """Keys that belong to no section."""

    language: Literal["auto", "zh", "en"] = choice(
        "auto", "The language of texts for people; summaries keep the language of their messages.", "zh", "en"
    )
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
    pool: Pool = Pool()
    sources: Sources = Sources()


#: Pairs of keys: the first may not be larger than the second. If only the second is set, the first is lowered to it.
ORDER: Final = (
    (("history", "soft_cap"), ("history", "hard_cap")),
    (("archive", "keep_newest"), ("history", "soft_cap")),
    (("archive", "write_wait"), ("archive", "write_wait_limit")),
    (("context", "min_messages"), ("context", "max_messages")),
    (("worker", "beat"), ("worker", "lease")),
    (("log", "rotate_bytes"), ("log", "keep_bytes")),
)

#: Keys that the file written by `init` shows as comments, with an example where the default says little.
WORTH_KNOWING: Final = {
    ("llm", "base_url"): "http://127.0.0.1:11434/v1",
    ("llm", "model"): "qwen3:8b",
    ("llm", "max_calls_per_day"): None,
    ("recall", "max_hits"): None,
    ("recall", "memory_tokens"): None,
    ("context", "history_tokens"): None,
    ("privacy", "redact"): None,
    ("serve", "port"): 8377,
}


def load(toml: bytes | None, environ: Mapping[str, str]) -> Config:
    """
    The configuration from *toml* (the bytes of recalld.toml; None if there is none) and *environ*, whose variables win.

    BadConfig, with one sentence, for the first key or value that is unknown or wrong.
    """
    given = gather(Config(), tables(toml), environ, PREFIX)
    for smaller, larger in ORDER:
        less, more = _value(given, smaller), _value(given, larger)
        if less > more and smaller in given:
            why = Text(
                "{smaller} is more than {larger}, which is {value}; lower it or raise that",
                smaller=_written(less),
                larger=dotted(larger),
                value=_written(more),
            )
            raise BadConfig(dotted(smaller), why)
        if less > more:
            given[smaller] = more
    config = applied(Config(), given)
    if _is_ours(config.serve):
        raise BadConfig(
            "serve.upstream",
            Text("this is the address of recalld itself (`serve.host`, `serve.port`); give that of the model server"),
        )
    # The variable with a model's key may begin with the prefix too; its value is never read here.
    others = OTHER_VARIABLES | {config.llm.api_key_env, config.embeddings.api_key_env, config.pool.key_env}
    others |= {name for name in environ if name.startswith(OF_A_FLEET)}
    refuse_unknown_variables(config, environ, PREFIX, others)
    if ("archive", "timezone") in given:
        find_zone(config.archive.timezone)
    return config


def _is_ours(serve: Serve) -> bool:
    """Return whether the model server behind the proxy is the proxy itself."""
    from urllib.parse import urlsplit  # here: few configurations have a proxy

    if not (serve.upstream and serve.port):
        return False
    try:
        parts = urlsplit(serve.upstream)
        host, port = (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return False
    is_here = host in ("localhost", "::1", "0.0.0.0", "::", serve.host.lower()) or host.startswith("127.")  # noqa: S104 - compared, not bound
    return is_here and port == serve.port


def tables(toml: bytes | None, file: str = FILE) -> dict[str, object]:
    """Return the tables of *toml*, the bytes of *file*, {} for None; BadConfig if it is not TOML."""
    if toml is None:
        return {}
    import tomllib

    try:
        return tomllib.loads(toml.decode("utf-8-sig"))  # editors on Windows write a BOM
    except UnicodeDecodeError as error:
        raise BadConfig(
            file, not_utf8(toml, Path(file)) or Text("it is not UTF-8, from byte {at} on; save it as UTF-8", at=error.start)
        ) from error
    except RecursionError as error:
        raise BadConfig(
            file, Text("it is nested too deeply; docs/reference/configuration.md lists the sections and keys")
        ) from error
    except ValueError as error:
        at = re.search(r"line (\d+), column (\d+)", str(error))  # the rest of what tomllib says has no Chinese
        line, column = at.groups() if at else (toml.count(b"\n") + 1, 1)
        sentence = Text(
            "line {line}, column {column}: no TOML, or a key or a section stands twice; correct it", line=line, column=column
        )
        raise BadConfig(file, sentence) from error


def _value(given: Mapping[Place, object], place: Place) -> Any:
    section, name = place
    return given.get(place, getattr(getattr(Config(), section), name))


def _written(value: int | timedelta) -> str:
    return str(value) if isinstance(value, int) else f"{value.total_seconds():g}s"


def render_default(zone: str, language: Language = "en") -> str:
    """The recalld.toml that `init` writes, with comments in *language*: the time zone, and some keys; `load` accepts it."""
    known = keys(Config())
    lines = [
        "# "
        + render(
            Text(
                "The configuration of this workspace. Every key, its default and its meaning: docs/reference/configuration.md."
            ),
            language,
        ),
        "# " + render(Text("A key can also be set by a variable, which wins: RECALLD_RECALL_MAX_HITS=0."), language),
        "",
        "[archive]",
        f"# {render(known['archive', 'timezone'].meaning, language)}",
        f"timezone = {literal(zone)}",
    ]
    last = "archive"
    for (section, name), example in WORTH_KNOWING.items():
        if section != last:
            lines += ["", f"[{section}]"]
            last = section
        key = known[section, name]
        lines.append(f"# {name} = {literal(key.default if example is None else example)}  # {render(key.meaning, language)}")
    return "\n".join(lines) + "\n"


_INTRODUCTION: Final = """\
# Configuration

This page is generated from the source: `python -m recalld.supervisor.protocol.config > docs/reference/configuration.md`.

The file `recalld.toml` is in the workspace; a workspace without one uses the defaults. Every key can also be set by a variable,
`RECALLD_<SECTION>_<KEY>` (`RECALLD_RECALL_MAX_HITS=0`; without a section `RECALLD_LANGUAGE`), which wins over the file.

* Times: `"500ms"`, `"30s"`, `"10m"`, `"6h"`, `"1.5h"`, `"1d"`; a bare number counts seconds. At most ten years.
* Sizes: `"10MB"` is 10,000,000 bytes, `"10MiB"` is 10,485,760 (B, KB, MB, GB, KiB, MiB, GiB); a bare number counts bytes.
* In a variable commas separate the items of a list (`=10m,30m`); true and false may be yes, no, on, off, 1, 0.
* A key takes what its default is: a whole number, a number with a point, a time, a size, true or false.
* An unknown section, key or variable, or a value that is not allowed, ends the command with exit code 78; a running supervisor
  reports a wrong file (`config_refused`) and does not use it. It uses a changed one within two polls.
"""

#: What the default shows already, in the column "takes".
_KIND_OF_DEFAULT: Final = lazy_re(r"^a (?:whole number|number|time|size) |^true or false$")
_BETWEEN: Final = """\
## Between keys

In each pair the first may not be larger than the second. If only the second is set, the first is lowered to it; if both are set
and contradict each other, the configuration is refused.
"""


def main() -> None:
    """Print docs/reference/configuration.md."""
    order = "\n".join(f"* `{dotted(smaller)}` ≤ `{dotted(larger)}`" for smaller, larger in ORDER)
    print(f"{_INTRODUCTION}{_reference(Config())}\n{_BETWEEN}\n{order}")


def literal(value: object) -> str:
    """A default as TOML writes it; TOML writes strings, lists, numbers and booleans as JSON does."""
    return json.dumps(value, ensure_ascii=False)


def _reference(defaults: Config) -> str:
    """Markdown tables of every key that is there, one for each section, from the definitions of the keys."""
    parts: list[str] = []
    last = None
    for (section, name), key in keys(defaults).items():
        if section != last:
            title, table = (f"[{section}]", getattr(defaults, section)) if section else ("Top of the file", defaults)
            parts += [f"\n## {title}\n", f"{_first_line(table)}\n", "| key | default | takes | meaning |"]
            parts += ["|---|---|---|---|"]
            last = section
        takes = _KIND_OF_DEFAULT.sub("", key.kind.allowed.partition(", such as")[0])
        parts.append(f"| `{name}` | `{literal(key.default)}` | {takes} | {key.meaning} |")
    return "\n".join(parts) + "\n"


def _first_line(settings: object) -> str:
    return (type(settings).__doc__ or "").strip().splitlines()[0]


if __name__ == "__main__":
    main()
