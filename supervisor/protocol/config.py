"""
The configuration of a workspace, from recalld.toml and the variables `RECALLD_<SECTION>_<KEY>`, which win over the file.

`load` turns bytes and variables into a `Config` and reads no file. The keys are in config_keys.py, their reader in settings.py.
`make_workspace` makes the folder of a workspace, with its configuration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, Literal

from ..storage.clock import find_zone, machine_zone
from ..storage.disk import RealDisk
from ..storage.errors import BadConfig, BadRequest, NoWorkspace
from ..storage.files import Files
from ..storage.lenient_json import not_utf8
from ..storage.texts import Text, render
from . import config_keys as table
from .paths import WorkspacePaths, check_filesystem
from .settings import PREFIX, Place, applied, choice, dotted, gather, keys, refuse_unknown_variables, variable

if TYPE_CHECKING:
    from ..text.language import Language

FILE: Final = "recalld.toml"
#: Variables that choose the workspace and the clock, that of `care.on_trouble`, and that of a service; they belong to no key.
OTHER_VARIABLES: Final = frozenset({"RECALLD_WORKSPACE", "RECALLD_NOW", "RECALLD_TROUBLE", "RECALLD_ALARM"})
#: How the variables of a fleet began (until 0.32), which the file of variables of a service may still have.
OF_A_FLEET: Final = f"{PREFIX}FLEET_"


@dataclass(frozen=True, slots=True)
class Config:
    """Keys that belong to no section."""

    language: Literal["auto", "zh", "en"] = choice(
        "auto zh en", "The language of texts for people; summaries keep the language of their messages."
    )
    history: table.History = table.History()
    archive: table.Archive = table.Archive()
    recall: table.Recall = table.Recall()
    context: table.Context = table.Context()
    llm: table.Llm = table.Llm()
    worker: table.Worker = table.Worker()
    turns: table.Turns = table.Turns()
    conversation: table.Conversation = table.Conversation()
    summarize: table.Summarize = table.Summarize()
    tools: table.Tools = table.Tools()
    embeddings: table.Embeddings = table.Embeddings()
    serve: table.Serve = table.Serve()
    privacy: table.Privacy = table.Privacy()
    log: table.Log = table.Log()
    care: table.Care = table.Care()
    pool: table.Pool = table.Pool()
    sources: table.Sources = table.Sources()
    retired: tuple[Place, ...] = field(default=(), compare=False)  # the keys of RETIRED that were given

    def notices(self) -> Iterator[Text]:
        """Yield a sentence for each key of a version before."""
        for place in self.retired:
            if isinstance(now := RETIRED[place], str):
                yield Text("{key} is not read any more, what holds is always {value}; delete it.", key=dotted(place), value=now)
            else:
                yield Text("{key} is called {name} now; rename it.", key=dotted(place), name=dotted(now))


#: By section, keys of versions before and the values that always hold now.
_LEFT: Final = {
    "archive": "max_queued=8 backlog_interval=1d overflow_interval=10m write_wait=10s write_wait_limit=10m slug_chars=32 quiet=60s backoff=10m,30m,2h,6h,12h"
    " max_attempts=5 summarise_chars=8000 jitter=0",
    "history": "hard_bytes=10MB",
    "recall": "recent_messages=5 k1=1.2 b=0.75 note=true",
    "llm": "material_share=0.8",
    "worker": "idle=60s beat=lease/8",
    "conversation": "summary_in=system overflow_min=3",
    "tokens": "cjk_weight=1.0",
    "tools": "search_results=15",
    "embeddings": "cache_bytes=500MB",
    "log": "rotate_every=1d rotate_bytes=10MB keep_bytes=500MB",
    "care": "quarantine_limit=10 previous_bytes=20MB",
    "pool": "window=0 patience=10m",
}
#: Keys of versions before, which are passed over: the value that always holds now, or the key that has taken their place.
RETIRED: Final[Mapping[Place, Place | str]] = {
    **{(section, key): now for section, pairs in _LEFT.items() for key, now in (pair.split("=") for pair in pairs.split())},
    ("recall", "honest_miss"): ("context", "say_nothing"),
}


#: Pairs of keys: the first may not be larger than the second. If only the second is set, the first is lowered to it.
ORDER: Final = (
    (("history", "soft_cap"), ("history", "hard_cap")),
    (("archive", "keep_newest"), ("history", "soft_cap")),
    (("context", "min_messages"), ("context", "max_messages")),
)

#: Keys of [llm] that the file written by `init` shows as comments, each with an example.
_EXAMPLES: Final = {"base_url": "http://127.0.0.1:11434/v1", "model": "qwen3:8b"}


def load(toml: bytes | None, environ: Mapping[str, str]) -> Config:
    """
    Return the configuration from *toml* (the bytes of recalld.toml; None if there is none) and *environ*, whose variables win.

    BadConfig, with one sentence, for the first key or value that is unknown or wrong.
    """
    read: Mapping[str, Any] = tables(toml)
    given = gather(keys(Config()), read, environ, RETIRED)
    retired = tuple(place for place in RETIRED if place[1] in read.get(place[0], ()) or variable(place) in environ)
    config = replace(_in_order(applied(Config(), given), given), retired=retired)
    # The variable with a model's key may begin with the prefix too; its value is never read here.
    others = OTHER_VARIABLES | {config.llm.api_key_env, config.embeddings.api_key_env, config.pool.key_env}
    others |= {*map(variable, retired), *(name for name in environ if name.startswith(OF_A_FLEET))}
    refuse_unknown_variables(config, environ, others)
    if ("archive", "timezone") in given:
        find_zone(config.archive.timezone)
    return config


def _in_order(config: Config, given: Mapping[Place, Any]) -> Config:
    for smaller, larger in ORDER:
        less, more = (getattr(getattr(config, section), name) for section, name in (smaller, larger))
        if less > more and smaller in given:
            what = Text(
                "{smaller} is more than {larger}, which is {value}; lower it or raise that",
                smaller=str(less),
                larger=dotted(larger),
                value=str(more),
            )
            raise BadConfig(dotted(smaller), what)
        config = applied(config, {smaller: min(less, more)})
    return config


def tables(toml: bytes | None, file: str = FILE) -> dict[str, Any]:
    """Return the tables of *toml*, the bytes of *file*, {} for None; BadConfig if it is not TOML."""
    if toml is None:
        return {}
    import tomllib

    try:
        return tomllib.loads(toml.decode("utf-8-sig"))  # editors on Windows write a BOM
    except UnicodeDecodeError as error:
        why: str = not_utf8(toml) or Text("it is not UTF-8, from byte {at} on; save it as UTF-8", at=error.start)
    except (ValueError, RecursionError) as error:
        at = re.search(r"line (\d+), column (\d+)", str(error))  # the rest of what tomllib says has no Chinese
        line, column = at.groups() if at else (toml.count(b"\n") + 1, 1)
        why = Text(
            "line {line}, column {column}: no TOML, or a key or a section stands twice; correct it", line=line, column=column
        )
    raise BadConfig(file, why)


def render_default(zone: str, language: Language = "en") -> str:
    """Return the recalld.toml that `init` writes: zone, the model, comments in *language*, which is a key unless English."""
    known = keys(Config())
    head = (
        Text("The configuration of this workspace. Every key, its default and its meaning: docs/reference/configuration.md."),
        Text("A key can also be set by a variable, which wins: RECALLD_RECALL_MAX_HITS=0."),
    )
    lines = [f"# {render(text, language)}" for text in head]
    lines += ["", f"language = {literal(language)}"] if language != "en" else []  # a service has no locale
    lines += ["", "[archive]", f"# {render(known['archive', 'timezone'].meaning, language)}", f"timezone = {literal(zone)}"]
    lines += ["", "[llm]"]
    for name, example in _EXAMPLES.items():
        lines.append(f"# {name} = {literal(example)}  # {render(known['llm', name].meaning, language)}")
    return "\n".join(lines) + "\n"


def literal(value: object) -> str:
    """Return a default as TOML writes it; TOML writes strings, lists, numbers and booleans as JSON does."""
    return json.dumps(value, ensure_ascii=False)


# ── the folder of a workspace ────────────────────────────────────────────────


def is_made(root: Path) -> bool:
    """Return whether somebody has made a workspace at *root*."""
    return any(map(RealDisk().stat, WorkspacePaths(root).made_with))


def check_made(root: Path) -> None:
    """Raise NoWorkspace where nobody has made a workspace: under the mount point of its disk a second memory would begin."""
    if not is_made(root):
        raise NoWorkspace(root)


def check_folder(root: Path, field: str = "--workspace") -> None:
    """Raise BadRequest where *root*, which *field* has given, is no folder; it says how to make one."""
    if root.is_dir():
        return
    if root.exists():
        raise BadRequest(field, Text("{root} is a file, not a folder", root=root))
    raise BadRequest(
        field, Text("{root} is not there; make it with `recalld init -w {same}`", root=root, same=quote(str(root)))
    )


def make_workspace(root: Path, environ: Mapping[str, str], language: Language = "en") -> bool:
    """
    Create what a workspace at *root* lacks and change nothing that exists; return whether it had no configuration.

    The machine's time zone is written into the configuration, so that days stay the same wherever the folder is moved.
    BadConfig, and nothing is created, where the workspace could not be opened afterwards.
    """
    files, paths = Files(RealDisk()), WorkspacePaths(root)
    if root.exists():
        check_folder(root)
    written = files.read_stable(paths.config)
    config = load(written.data if written else None, environ)
    check_filesystem(paths, allow_network_fs=config.care.allow_network_fs)
    files.make_folder(root)
    if written is None:
        zone = config.archive.timezone if "RECALLD_ARCHIVE_TIMEZONE" in environ else machine_zone()
        files.create(paths.config, render_default(zone, language).encode())
    if not any(files.disk.stat(path) for path in (paths.history, paths.history_backup, paths.seen)):
        files.create(paths.history, b"[]\n")
    files.make_folder(root / "prompts")
    return written is None
