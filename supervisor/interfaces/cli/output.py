"""
Answers as people and programs read them: JSON, short text, a tree of files.

Progress of long work, on a terminal only.
"""

from __future__ import annotations

import contextlib
import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from supervisor.context.render import tag
from supervisor.protocol.clock import to_wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from rich.progress import Progress, TaskID

    from supervisor.context.replay import Replay
    from supervisor.protocol.turn import Receipt

#: Folders of which only the first and last files are shown, with the number of those between.
_MANY: Final = 8


def as_json(value: object) -> str:
    """Return one line of JSON; keys are English and stable, times as everywhere on the wire."""
    return json.dumps(value, ensure_ascii=False, default=lambda one: to_wire(one) if isinstance(one, datetime) else str(one))


def wire(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields under the names that --json promises: camelCase, as everywhere on the wire."""
    return {_camel(key): value for key, value in fields.items()}


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)


def as_line(event: Mapping[str, object]) -> str:
    """Return an event as a line: when, what, and its fields."""
    when, what, *fields = event.items()
    return " ".join([str(when[1]), str(what[1]), *(f"{key}={value}" for key, value in fields)])


def as_text(found: Mapping[str, Any], indent: str = "") -> str:
    """Return a line a key, nested values further in."""
    width = max((len(_label(key)) for key in found), default=0)
    return "\n".join(_line(key, value, indent, width) for key, value in found.items())


def _line(key: str, value: object, indent: str, width: int) -> str:
    label = f"{indent}{_label(key):<{width}}"
    if isinstance(value, dict):
        return f"{indent}{_label(key)}\n{as_text(value, indent + '  ')}" if value else f"{label}  none"
    if isinstance(value, (list, tuple)):
        rows = "\n".join(f"{indent}  {_row(item)}" for item in value)
        return f"{indent}{_label(key)}\n{rows}" if value else f"{label}  none"
    return f"{label}  {'-' if value is None else value}"


def _row(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    return "  ".join(f"{_label(k)} {v}" if not isinstance(v, str) else v for k, v in item.items() if v not in (None, False))


def _label(key: str) -> str:
    """Return "oldestUnwritten" as words."""
    return "".join(f" {c.lower()}" if c.isupper() else c for c in key)


def told(receipt: Receipt) -> str:
    """Return a turn as it is read: what was asked and searched, what was shown and why, what was not, and the block."""
    words = ", ".join([*receipt.terms, *receipt.dates]) or "nothing"
    spent = "  ".join(f"{name} {receipt.tokens[name]} of {receipt.budgets.get(name, 0)} tokens" for name in receipt.tokens)
    lines = [
        f"{receipt.id}  {to_wire(receipt.at)}  {receipt.chat} {receipt.session}".rstrip(),
        f"asked     {receipt.question}",
        f"searched  {words} ({receipt.how}, {receipt.files} files, {receipt.ms:.1f} ms)",
        f"spent     {spent}",
    ]
    for heading, rows in (
        ("shown", [(one, ", ".join(one.because)) for one in receipt.candidates if one.shown]),
        ("not shown", [(one, one.why) for one in receipt.candidates if not one.shown]),
    ):
        lines += ["", heading if rows else f"{heading}: nothing"]
        lines += [f"{one.score:8.2f}  {tag(one.path, one.start, one.end, lines=True)}  {why}".rstrip() for one, why in rows]
    return "\n".join([*lines, "", receipt.memory.rstrip() or "(no memory was put before it)"])


def replayed(again: Replay) -> str:
    """Return a turn that was asked again: as it was, and the lines in which it would differ now."""
    difference = "\n".join(again.difference) or "Asked now, it would get the same."
    return f"{told(again.receipt)}\n\n{difference}"


def tree(root: Path) -> str:
    """Return the folders and files below *root* as an indented tree; long folders are cut in the middle."""
    return "\n".join([f"{root.name}/", *_branches(root, "")])


def _branches(folder: Path, indent: str) -> list[str]:
    entries = sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name))
    shown = entries if len(entries) <= _MANY else [*entries[: _MANY // 2], None, *entries[-_MANY // 2 + 1 :]]
    lines = []
    for n, path in enumerate(shown):
        last = n == len(shown) - 1
        mark = "└── " if last else "├── "
        if path is None:
            lines.append(f"{indent}{mark}… {len(entries) - len(shown) + 1} more")
            continue
        lines.append(f"{indent}{mark}{path.name}{'/' if path.is_dir() else ''}")
        if path.is_dir():
            lines += _branches(path, indent + ("    " if last else "│   "))
    return lines


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that is told what is done, how much of it and of how much; silent where nobody watches."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    bars: list[Progress] = []
    tasks: dict[str, TaskID] = {}

    def show(what: str, done: int, total: int) -> None:
        if not bars:  # loaded only where there is something to be shown: most commands are done at once
            from rich.console import Console
            from rich.progress import Progress

            bars.append(Progress(console=Console(stderr=True), transient=True))
            bars[0].start()
        if what not in tasks:
            tasks[what] = bars[0].add_task(what, total=total)
        bars[0].update(tasks[what], completed=done, total=total)

    try:
        yield show
    finally:
        for bar in bars:
            bar.stop()
