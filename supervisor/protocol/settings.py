"""
Times and sizes as a person writes them ("6h", "10MB"), read.

The kinds of value that a setting can have: counts, weights, words, times, sizes, lists.

A section of the configuration is a frozen dataclass whose every field is made by one of these functions, with default,
range and meaning in that one line; from it the field is read and refused (settings.py) and documented.

The reader of settings: a table of defaults, filled from TOML and then from variables; and the table as a document.

It knows no single key: config.py says which there are. What is wrong ends in one sentence that names the key, the value,
what is allowed and, for a slip of the pen, the key that was meant. Reads no file and no environment of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from supervisor.protocol.errors import BadConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from _typeshed import DataclassInstance

#: Milliseconds; a bare number counts seconds.
_TIME_UNITS: Final = {"": 1000, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
#: Bytes; MB is a million, as disks are sold and as logs count; who means the power of two says MiB.
_SIZE_UNITS: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_LONGEST: Final = 3650 * _TIME_UNITS["d"]  # far above any sense, far below what overflows when added to a date
_LARGEST: Final = 10**15  # bytes; the same
_AMOUNT: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([a-z]*)")


def read_duration(value: object) -> timedelta:
    """
    The length of time that was written; ValueError where it is none, is negative or passes ten years.

    >>> read_duration("1.5h") == read_duration(5400) == timedelta(minutes=90)
    True
    """
    return timedelta(milliseconds=_amount(value, _TIME_UNITS, _LONGEST))


def read_size(value: object) -> int:
    """
    The number of bytes that was written; ValueError where it is none or is negative.

    >>> read_size("10MB"), read_size("10MiB"), read_size(512)
    (10000000, 10485760, 512)
    """
    return int(_amount(value, _SIZE_UNITS, _LARGEST))


def _amount(value: object, units: Mapping[str, int], most: int) -> float:
    """*value* in the smallest of *units*, exact where it is written without a point."""
    number: float
    if isinstance(value, str) and (found := _AMOUNT.fullmatch(value.strip().lower())) and found[2] in units:
        number, unit = (float(found[1]) if "." in found[1] else int(found[1])), units[found[2]]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number, unit = value, units[""]
    else:
        raise ValueError(value)
    if 0 <= number <= most and number * unit <= most:  # NaN is not; an integer that no float holds neither
        return number * unit
    raise ValueError(value)


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


C = TypeVar("C", bound="DataclassInstance")
Place = tuple[str, str]  # section ("" for the top of the file) and key

_SHOWN: Final = 60  # characters of a name that a sentence repeats


def keys(defaults: DataclassInstance) -> dict[Place, Key]:
    """Every key of a table of settings, in the order in which it is written there."""
    found: dict[Place, Key] = {}
    for part in fields(defaults):
        section = getattr(defaults, part.name)
        if is_dataclass(section):
            found |= {(part.name, key.name): key.metadata["key"] for key in fields(section)}
        else:
            found["", part.name] = part.metadata["key"]
    return found


def dotted(place: Place) -> str:
    """A key's name for people: "recall.max_hits"."""
    return ".".join(part for part in place if part)


def variable(prefix: str, place: Place) -> str:
    """A key's name in the environment: "RECALLD_RECALL_MAX_HITS"."""
    return prefix + "_".join(part for part in place if part).upper()


def parse(toml: bytes | None, name: str) -> dict[str, object]:
    """The tables of *toml*, {} where there is none; BadConfig(*name*, …) where it is no TOML."""
    if toml is None:
        return {}
    import tomllib

    try:
        return tomllib.loads(toml.decode("utf-8-sig"))  # editors on Windows leave the mark
    except UnicodeDecodeError as error:
        raise BadConfig(name, f"it is not UTF-8, from byte {error.start} on; save it as UTF-8") from error
    except RecursionError as error:
        raise BadConfig(name, "it is nested too deeply to be TOML of ours; see docs/configuration.md") from error
    except ValueError as error:
        raise BadConfig(name, f"it is not valid TOML, mend it: {str(error)[:200]}") from error


def gather(
    defaults: DataclassInstance, tables: Mapping[str, object], environ: Mapping[str, str], prefix: str
) -> dict[Place, object]:
    """What *tables* set, and over it what variables of *prefix* set, read; BadConfig at the first fault."""
    known = keys(defaults)
    sections = {section for section, _ in known if section}
    given = {place: _read(known, place, value) for place, value in _places(tables, sections)}
    for place, key in known.items():
        name = variable(prefix, place)
        if name in environ:
            given[place] = _read_text(key, name, environ[name])
    return given


def applied(defaults: C, given: Mapping[Place, object]) -> C:
    """*defaults* with the values of *given* in their places."""
    changed: dict[str, dict[str, object]] = {}
    for (section, name), value in given.items():
        changed.setdefault(section, {})[name] = value
    top = changed.pop("", {})
    return replace(defaults, **top, **{name: replace(getattr(defaults, name), **new) for name, new in changed.items()})


def refuse_unknown_variables(
    defaults: DataclassInstance, environ: Mapping[str, str], prefix: str, others: Collection[str]
) -> None:
    """BadConfig where a variable of *prefix* is neither a key's nor one of *others*; its value is never shown."""
    known = {variable("", place) for place in keys(defaults)}
    for name in sorted(environ):
        bare = name.removeprefix(prefix)
        if name.startswith(prefix) and bare not in known and name not in others:
            raise BadConfig(_plain(name), f"no setting has this variable{_meant(bare, known, prefix)}")


def _places(tables: Mapping[str, object], sections: Collection[str]) -> Iterable[tuple[Place, object]]:
    for name, value in tables.items():
        if name in sections:
            if not isinstance(value, dict):
                raise BadConfig(name, f"{_shown(value)} is given, but this is a section; write [{name}], keys below it")
            yield from (((name, key), inner) for key, inner in value.items())
        elif isinstance(value, dict):
            raise BadConfig(f"[{_plain(name)}]", f"there is no such section{_meant(name, sections)}")
        else:
            yield ("", name), value


def _read(known: Mapping[Place, Key], place: Place, value: object) -> object:
    if place not in known:
        section, name = place
        elsewhere = [dotted(other) for other in known if other[1] == name]
        meant = _meant(elsewhere[0] if elsewhere else dotted(place), map(dotted, known))
        raise BadConfig(dotted((section, _plain(name))), f"there is no such key{meant}")
    return _checked(known[place], dotted(place), value)


def _read_text(key: Key, name: str, text: str) -> object:
    try:
        value = key.kind.of_text(text)
    except ValueError:
        value = None
    return _checked(key, name, text if value is None else value)


def _checked(key: Key, name: str, value: object) -> object:
    try:
        return key.kind.read(value)
    except ValueError as error:
        given = "what is given" if key.kind.secret else _shown(value)
        raise BadConfig(name, f"{given} is not allowed, give {key.kind.allowed}") from error


def _meant(name: str, known: Iterable[str], prefix: str = "") -> str:
    """The end of a sentence about an unknown name."""
    from difflib import get_close_matches

    near = get_close_matches(name[:_SHOWN], list(known), n=1)
    return f"; perhaps {prefix}{near[0]} is meant" if near else "; docs/configuration.md lists what there is"


def _plain(name: str) -> str:
    """A name that can stand in a sentence on one line."""
    return name if len(name) <= _SHOWN and name.isprintable() else repr(name[:_SHOWN])


def _shown(value: object) -> str:
    """A wrong value, shortened; never fails, whatever a file can hold (depth, hexadecimal numbers of any length)."""
    import reprlib

    try:
        return reprlib.repr(value)
    except ValueError:
        return "a number of that length"


def literal(value: object) -> str:
    """A default as TOML writes it; strings, lists, numbers and truth look there as they do in JSON."""
    import json

    return json.dumps(value, ensure_ascii=False)


def reference(defaults: DataclassInstance) -> str:
    """Markdown tables of every key, a section each, made from what stands beside the keys."""
    parts: list[str] = []
    last = None
    for place, key in keys(defaults).items():
        section, name = place
        if section != last:
            title, meaning = (f"[{section}]", getattr(defaults, section)) if section else ("Top of the file", defaults)
            parts += [f"\n## {title}\n", f"{_first_line(meaning)}\n", "| key | default | takes | 003 | meaning |"]
            parts += ["|---|---|---|---|---|"]
            last = section
        takes = key.kind.allowed.partition(", such as")[0]
        seed = f"`{key.seed}`" if key.seed else ""
        parts.append(f"| `{name}` | `{literal(key.default)}` | {takes} | {seed} | {key.meaning} |".replace("|  |", "| |"))
    return "\n".join(parts) + "\n"


def _first_line(settings: object) -> str:
    return (type(settings).__doc__ or "").strip().splitlines()[0]
