"""
The pages configuration.md, events.md and rest.md of docs/reference, which are made of the tables of keys and of events, and of REST.

    python -m tests.pages
"""

import re
from pathlib import Path
from typing import Any, Final

from recalld.supervisor.events import EVENTS, priority
from recalld.supervisor.interfaces.http.openapi import REFUSED, WHO, description
from recalld.supervisor.protocol.config import ORDER, RETIRED, Config, literal
from recalld.supervisor.protocol.settings import dotted, keys

_CONFIGURATION: Final = """\
# Configuration

This page is generated from the source: `python -m tests.pages`.

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
_KIND_OF_DEFAULT: Final = r"^a (?:whole number|number|time|size) |^true or false$"
_BETWEEN: Final = """
## Between keys

In each pair the first may not be larger than the second. If only the second is set, the first is lowered to it; if both are set
and contradict each other, the configuration is refused.
"""
_OF_BEFORE: Final = """
## Keys of versions before

They may still be set. One that has a new name sets that key; the others are passed over, and `doctor` names them.
"""

_EVENTS: Final = """# Events

This page is generated from the source: `python -m tests.pages`.

Each event is a line of `log.jsonl` in the workspace, and one that `recalld run` prints. It has a time, a name, counts, groups
and durations, never the text of a message. What lasts is written once, when it begins. Its fields, an example, and how long the
log is kept are in [protocol.md 8.1](protocol.md#8-events-and-exit-codes)."""
#: The headings of that page, each with a sentence and the priority of its events.
_LEVELS: Final = (
    ("Somebody should act", "Errors in the journal of a service.", 3),
    ("Something works less well", "Warnings in the journal of a service.", 4),
    ("The course of things", "Nothing to do.", 6),
)
_REST: Final = """# REST

This page is generated from the source: `python -m tests.pages`.

With `[serve] port` a running supervisor answers over HTTP on 127.0.0.1 ([cli.md](cli.md#http)), with the token of the workspace:
`Authorization: Bearer TOKEN`. Bodies and answers are JSON; `/openapi.json` describes the requests for programs.

## Refusals

| status | when |
|---|---|"""
_COUNTBOT: Final = """
## The memory of CountBot

Paths, bodies and texts are those of CountBot.

| request | body | answer |
|---|---|---|"""
_OPERATIONS: Final = """
## Every operation

`POST /api/NAME` performs the operation of that name, with its request as the body; what has to be given is in bold. The
parameters `session` and `chat` of the address say which conversation reads the answer, if it is not the owner alone
([who listens](api.md#who-listens)). The answers are those of [Python](api.md), in camelCase.

| request | body | answer |
|---|---|---|"""


def configuration() -> str:
    """The page of keys: a table for each section, and what holds between keys."""
    defaults = Config()
    lines = [_CONFIGURATION]
    last = None
    for (section, name), key in keys(defaults).items():
        if section != last:
            title, table = (f"[{section}]", getattr(defaults, section)) if section else ("Top of the file", defaults)
            about = (type(table).__doc__ or "").strip().splitlines()[0]
            lines += [*([""] if last is not None else []), f"## {title}\n", f"{about}\n"]
            lines += ["| key | default | takes | meaning |", "|---|---|---|---|"]
            last = section
        takes = re.sub(_KIND_OF_DEFAULT, "", key.allowed.partition(", such as")[0])
        lines.append(f"| `{name}` | `{literal(key.default)}` | {takes} | {key.meaning} |")
    order = [f"* `{dotted(smaller)}` ≤ `{dotted(larger)}`" for smaller, larger in ORDER]
    before = [
        f"* `{dotted(place)}`: {f'always {now}' if isinstance(now, str) else f'`{dotted(now)}`'}"
        for place, now in RETIRED.items()
    ]
    return "\n".join([*lines, _BETWEEN, *order, _OF_BEFORE, *before]) + "\n"


def events() -> str:
    """The page of events: a table for each level."""
    lines = [_EVENTS]
    for heading, sentence, level in _LEVELS:
        rows = "\n".join(f"| `{event}` | {meaning} |" for event, meaning in EVENTS.items() if priority(event) == level)
        lines.append(f"\n## {heading}\n\n{sentence}\n\n| event | meaning |\n|---|---|\n{rows}")
    return "\n".join(lines) + "\n"


def rest() -> str:
    """The page of the service: what it refuses, and a table of requests for CountBot's memory and for the operations."""
    rows = {(path, method): route for path, methods in description()["paths"].items() for method, route in methods.items()}
    theirs = [place for place in rows if place[0].startswith(("/api/memory/", "/api/chat/"))]
    refusals = [f"| {status} | {why} |" for status, why in REFUSED.items()]
    of_them = [_row(*place, rows[place]) for place in theirs]
    others = [_row(*place, route) for place, route in rows.items() if place not in theirs]
    return "\n".join([_REST, *refusals, _COUNTBOT, *of_them, _OPERATIONS, *others]) + "\n"


def _row(path: str, method: str, route: dict[str, Any]) -> str:
    body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    answer = route["responses"]["200"]["content"]["application/json"]["schema"]
    query = [
        parameter["name"] for parameter in route.get("parameters", ()) if parameter["in"] == "query" and parameter not in WHO
    ]
    address = f"`{method.upper()} {path}{'?' + '='.join([*query, '']) if query else ''}`"
    summary = route["summary"].removeprefix("Return ").removesuffix(".")
    given = f": {', '.join(f'`{name}`' for name in answer['properties'])}" if answer else ""
    return f"| {address} | {_fields(body)} | {summary[0].upper()}{summary[1:]}{given} |"


def _fields(kind: dict[str, Any]) -> str:
    names = (f"**`{name}`**" if name in kind["required"] else f"`{name}`" for name in kind.get("properties", ()))
    return ", ".join(names) or "–"


#: The pages by their names.
PAGES: Final = {"configuration": configuration, "events": events, "rest": rest}

if __name__ == "__main__":
    for name, make in PAGES.items():
        page = Path(__file__).parent.parent / f"docs/reference/{name}.md"
        page.write_text(make(), encoding="utf-8")
