"""
The recall canaries that are kept, `.recalld/canaries.jsonl`: a head, then one a line, the oldest first (policy/canary).

They can be deleted: the next ones come from what is archived then. A line that can't be read says nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from supervisor.policy.canary import KEPT, Canary
from supervisor.protocol.clock import from_wire, to_wire
from supervisor.protocol.layout import day_of_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """
    The canaries, oldest first; the archive run they were last taken from, None for none yet; the rate to hold against.

    The rate is 1.0 in the beginning: what is really there is expected to be found.
    """

    canaries: tuple[Canary, ...] = ()
    until: datetime | None = None
    level: float = 1.0


class CanaryStore:
    """The file. Only the supervisor writes it."""

    def __init__(self, files: Files, layout: Layout) -> None:
        self._files = files
        self._layout = layout

    def read(self) -> Kept:
        """Return what is kept; nothing where there is no file, or one of another format."""
        look = self._files.look(self._layout.canaries)
        found = [one for line in (look.data.split(b"\n") if look else ()) if (one := _object(line))]
        if not found or found[0].get("recalld") != FORMAT:
            return Kept()
        head, level = found[0], found[0].get("level")
        return Kept(
            canaries=tuple(canary for one in found[1:] if (canary := _canary(one))),
            until=_time(head.get("until")),
            level=level if isinstance(level, float) and 0 <= level <= 1 else 1.0,
        )

    def write(self, kept: Kept) -> None:
        """Put this in its place; the oldest beyond those that are kept leave."""
        head = {"recalld": FORMAT, "until": kept.until and to_wire(kept.until), "level": kept.level}
        lines = [head, *map(_fields, kept.canaries[-KEPT:])]
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        self._files.replace(self._layout.canaries, data, self._files.look(self._layout.canaries))


def _fields(one: Canary) -> dict[str, Any]:
    asked = one.asked and to_wire(one.asked)
    return {"file": one.file, "id": one.id, "words": list(one.words), "asked": asked, "found": one.found}


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _canary(one: Mapping[str, Any]) -> Canary | None:
    file, identity, words = one.get("file"), one.get("id"), one.get("words")
    if not isinstance(file, str) or day_of_name(file) is None or not isinstance(identity, str) or not isinstance(words, list):
        return None
    spelled = tuple(word for word in words if isinstance(word, str))
    return Canary(file=file, id=identity, words=spelled, asked=_time(one.get("asked")), found=one.get("found") is True)


def _time(found: object) -> datetime | None:
    try:
        return from_wire(found) if isinstance(found, str) else None
    except ValueError:
        return None
