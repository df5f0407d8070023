"""
The pages configuration.md and events.md of docs/reference, which are made of the tables of keys and of events.

    python -m tests.pages
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from recalld.supervisor.events import EVENTS, priority
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


if __name__ == "__main__":
    reference = Path(__file__).parent.parent / "docs/reference"
    (reference / "configuration.md").write_text(configuration(), encoding="utf-8")
    (reference / "events.md").write_text(events(), encoding="utf-8")
