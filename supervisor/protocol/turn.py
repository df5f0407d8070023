"""
A turn, turns/<id>.json: what is put before the assistant, what is not, and why (docs/protocol.md, 7).

It is the receipt of a command that made a turn, or the context that the supervisor made ready for what waits in inbox.json;
such a one names the version of the inbox it was made for. It holds words of the user, so the file is 0600.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from supervisor.protocol.clock import from_wire, to_wire
from supervisor.protocol.errors import BadFile, NewerFormat
from supervisor.protocol.lenient_json import parse_json, render_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from supervisor.protocol.message import Message

VERSION: Final = 1
TURN_ID: Final = re.compile(r"\d{8}T\d{9}Z-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One thing that was found: where, how well, whether it was shown, and if not, why not."""

    path: str
    start: int
    end: int
    score: float
    because: tuple[str, ...] = ()
    shown: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """
    One turn. *history* and *messages* are as they were sent; *config* holds the settings that mattered, by their names.

    *inbox* is the sha256 of the inbox.json that a ready context was made for, "" in the receipt of a command.
    """

    id: str
    at: datetime
    question: str
    inbox: str = ""
    chat: str = "direct"
    session: str = ""
    terms: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    how: str = ""
    files: int = 0
    ms: float = 0.0
    candidates: tuple[Candidate, ...] = ()
    memory: str = ""
    history: tuple[Mapping[str, Any], ...] = ()  # {id, role, content, whole}
    messages: tuple[Mapping[str, str], ...] = ()  # chat-completions
    tokens: Mapping[str, int]
    budgets: Mapping[str, int]
    config: Mapping[str, Any]


def turn_id(at: datetime, *parts: str) -> str:
    """
    Return an id that sorts by time and is the same only for the same turn.

    >>> from datetime import UTC, datetime
    >>> turn_id(datetime(2026, 1, 31, 8, tzinfo=UTC), "花生呢？")
    '20260131T080000000Z-c47dd6eede93'
    """
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{re.sub('[-:.]', '', to_wire(at))}-{digest}"


def ready_id(one: Message, written: datetime, latest: datetime) -> str:
    """
    Return the id of the turn that answers the input *one*, as an assistant can work it out for itself.

    Its time is the input's createdAt; without one, or one after *latest*, when inbox.json was *written*. The digest is of its
    id, without one of its text.
    """
    is_possible = one.created_at is not None and one.created_at <= latest
    return turn_id(one.created_at if is_possible and one.created_at else written, one.id or one.text)


def render_receipt(receipt: Receipt) -> bytes:
    """Return the file's bytes."""
    found = {"version": VERSION, **asdict(receipt), "at": to_wire(receipt.at)}
    return render_json(found) + b"\n"


def parse_receipt(data: bytes, path: Path | str) -> Receipt:
    """Return the receipt; BadFile where *data* is none, NewerFormat where it is a newer recalld's; unknown keys are skipped."""
    try:
        found = parse_json(data)
        version = found["version"]
        if isinstance(version, int) and version > VERSION:
            raise NewerFormat(path, version)
        known = _known(Receipt, found)
        known["at"] = from_wire(known["at"])
        known["candidates"] = tuple(_candidate(one) for one in known.get("candidates", ()))
        for name in ("terms", "dates", "history", "messages"):
            known[name] = tuple(known.get(name, ()))
        return Receipt(**known)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadFile(path, "it is no receipt of a turn") from None


def _candidate(found: Mapping[str, Any]) -> Candidate:
    return Candidate(**{**_known(Candidate, found), "because": tuple(found.get("because", ()))})


def _known(kind: type, found: Mapping[str, Any]) -> dict[str, Any]:
    known = {field.name: found[field.name] for field in fields(kind) if field.name in found}
    for field in fields(kind):
        if field.name in known and not _IS.get(str(field.type), lambda _: True)(known[field.name]):
            raise TypeError(field.name)
    return known


def _each(kind: type | tuple[type, ...], found: object) -> bool:
    return isinstance(found, list) and all(isinstance(one, kind) for one in found)


#: What the types above are in JSON.
_IS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "str": lambda found: isinstance(found, str),
    "int": lambda found: isinstance(found, int),
    "float": lambda found: isinstance(found, (int, float)),
    "bool": lambda found: isinstance(found, bool),
    "tuple[str, ...]": lambda found: _each(str, found),
    "tuple[Mapping[str, str], ...]": lambda found: _each(dict, found) and all(_each(str, [*one.values()]) for one in found),
    "tuple[Mapping[str, Any], ...]": lambda found: _each(dict, found),
    "Mapping[str, int]": lambda found: isinstance(found, dict) and _each((int, float), [*found.values()]),
    "Mapping[str, Any]": lambda found: isinstance(found, dict),
}


def newest(names: Sequence[str]) -> str | None:
    """Return the id of the newest turn among file names, None where there is none."""
    return max(ids(names), default=None)


def ids(names: Sequence[str]) -> list[str]:
    """Return the ids of the turns among file names, oldest first."""
    return sorted(name[:-5] for name in names if name.endswith(".json") and TURN_ID.fullmatch(name[:-5]))
