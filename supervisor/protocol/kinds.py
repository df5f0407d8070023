"""
The kinds of value that a setting can have: counts, weights, words, times, sizes, lists.

A section of the configuration is a frozen dataclass whose every field is made by one of these functions, with default,
range and meaning in that one line; from it the field is read and refused (settings.py) and documented.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from supervisor.protocol.amounts import read_duration, read_size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta

T = TypeVar("T")

_MOST: Final = 10**9


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """How a key is read: *read* takes a TOML value and raises ValueError; *of_text* makes such a value of a variable."""

    read: Callable[[object], T]
    allowed: str  # for people: "give <allowed>"
    of_text: Callable[[str], object] = str
    secret: bool = False  # what is given may be a password in the wrong place: no sentence repeats it


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key: its kind, its default as written in TOML, its meaning, 003's value where that differs."""

    kind: Kind[Any]
    default: object
    meaning: str
    seed: str


def _key(kind: Kind[T], default: object, meaning: str, seed: str) -> T:
    made: T = field(default=kind.read(default), metadata={"key": Key(kind, default, meaning, seed)})
    return made


def whole(default: int, meaning: str, *, least: int = 0, most: int = _MOST, seed: str = "") -> int:
    """A key that counts, from *least* to *most*."""

    def read(value: object) -> int:
        if type(value) is int and least <= value <= most:  # `type … is`: True is no number
            return value
        raise ValueError(value)

    return _key(Kind(read, f"a whole number {_range(least, most)}", _number), default, meaning, seed)


def real(default: float, meaning: str, *, least: float = 0, most: float = _MOST, seed: str = "") -> float:
    """A key that weighs, from *least* to *most*."""

    def read(value: object) -> float:
        if type(value) in {int, float} and least <= value <= most:  # type: ignore[operator]  # turns NaN away too
            return float(value)  # type: ignore[arg-type]
        raise ValueError(value)

    return _key(Kind(read, f"a number {_range(least, most)}", _number), default, meaning, seed)


def flag(default: bool, meaning: str, *, seed: str = "") -> bool:
    """A key that is true or false."""

    def read(value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise ValueError(value)

    words: Mapping[str, object] = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(
        ("false", "no", "off", "0"), False
    )
    return _key(Kind(read, "true or false", lambda text: words.get(text.strip().lower())), default, meaning, seed)


def choice(default: str, meaning: str, *others: str, seed: str = "") -> Any:
    """A key that is one of a few words, the default first; its field says which in a Literal."""
    words = (default, *others)

    def read(value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise ValueError(value)

    *most, last = (f'"{word}"' for word in words)
    return _key(Kind(read, f"{', '.join(most)} or {last}"), default, meaning, seed)


def text(default: str, meaning: str, *, pattern: str, allowed: str, secret: bool = False, seed: str = "") -> str:
    """A key of free words that *pattern* matches whole; *allowed* says so for people."""

    def read(value: object) -> str:
        if isinstance(value, str) and re.fullmatch(pattern, value):
            return value
        raise ValueError(value)

    return _key(Kind(read, allowed, secret=secret), default, meaning, seed)


def url(meaning: str) -> str:
    """A key that holds the address of a server, or nothing."""
    return text(
        "",
        meaning,
        pattern=r"|https?://[^\s\x00-\x1f\x7f\ud800-\udfff]+",
        allowed='an address such as "http://127.0.0.1:8080", or ""',
    )


def duration(default: str, meaning: str, *, least: str = "0s", seed: str = "") -> timedelta:
    """A key that holds a length of time, *least* or more."""

    def read(value: object) -> timedelta:
        if (length := read_duration(value)) >= read_duration(least):
            return length
        raise ValueError(value)

    allowed = f'a time from "{least}", such as "30s", "10m", "6h" or "1d" (a bare number counts seconds)'
    return _key(Kind(read, allowed), default, meaning, seed)


def durations(default: list[str], meaning: str, *, seed: str = "") -> tuple[timedelta, ...]:
    """A key that holds lengths of time, at least one."""

    def read(value: object) -> tuple[timedelta, ...]:
        if isinstance(value, list) and value:
            return tuple(read_duration(item) for item in value)
        raise ValueError(value)

    return _key(Kind(read, 'a list of times, such as ["10m", "30m", "2h"]', _items), default, meaning, seed)


def size(default: str, meaning: str, *, least: str = "0B", seed: str = "") -> int:
    """A key that holds a number of bytes, *least* or more."""

    def read(value: object) -> int:
        if (found := read_size(value)) >= read_size(least):
            return found
        raise ValueError(value)

    allowed = f'a size from "{least}", such as "500KB", "10MB" or "1GiB" (a bare number counts bytes)'
    return _key(Kind(read, allowed), default, meaning, seed)


def patterns(default: list[str], meaning: str, *, seed: str = "") -> tuple[str, ...]:
    """A key that holds regular expressions."""

    def read(value: object) -> tuple[str, ...]:
        if isinstance(value, list):
            return tuple(_compiling(item) for item in value)
        raise ValueError(value)

    allowed = "a list of regular expressions, in Python's spelling"
    return _key(Kind(read, allowed, _items), default, meaning, seed)


def _compiling(pattern: object) -> str:
    import warnings

    if not isinstance(pattern, str):
        raise ValueError(pattern)  # noqa: TRY004 - the one error that a reader of settings knows
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of spellings that a later Python may read otherwise
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(pattern) from error
    return pattern


def _range(least: float, most: float) -> str:
    return f"from {least} up" if most == _MOST else f"from {least} to {most}"


def _number(text: str) -> object:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else float(text)


def _items(text: str) -> object:
    return [item.strip() for item in text.split(",") if item.strip()]
