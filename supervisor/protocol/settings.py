"""
The reader of settings: what a key takes, and the values of tables and variables in place of the defaults.

A section of the configuration is a record, each field of which is made by one of the functions `number` to `names`: a key's
default, meaning and range. The keys are in config_keys.py. A wrong value raises BadConfig with one sentence: the key, the value
and what is allowed. No file is read here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..storage.errors import BadConfig, quoted
from ..storage.texts import Text, msgid

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: What the names of variables begin with.
PREFIX: Final = "RECALLD_"
#: Milliseconds; a bare number counts seconds.
_TIME_UNITS: Final = {"": 1000, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST: Final = 3650 * _TIME_UNITS["d"]  # far above any sensible value, far below what overflows when added to a date
_AMOUNT: Final = r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([a-z]*)"
_MOST: Final = 10**9  # of a number
#: What a number may be, whole or not: from the least up, or between two.
_FROM: Final = {int: msgid("a whole number from {least} up"), float: msgid("a number from {least} up")}
_BETWEEN: Final = {int: msgid("a whole number from {least} to {most}"), float: msgid("a number from {least} to {most}")}
#: What a variable may say of true and false.
_FLAGS: Final = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_SHOWN_CHARS: Final = 60  # of a name in an error
_UNKNOWN: Final = Text("there is no such section, key or variable; docs/reference/configuration.md lists what there is")

T = TypeVar("T")
C = TypeVar("C", bound="DataclassInstance")
N = TypeVar("N", int, float)
Place = tuple[str, str]  # section ("" for the top of the file) and key
Form = tuple[str, str]  # of a text: the pattern that it matches as a whole, and what that is for people


@dataclass(frozen=True, slots=True)
class Key:
    """
    A key: its default as TOML has it, its meaning, what it takes ("give <allowed>"), and what reads a value of TOML.

    What is not allowed is a ValueError or a TypeError. A *secret* value may be a password in the wrong place: errors hide it.
    """

    default: Any
    meaning: str
    allowed: str
    read: Callable[[Any], Any]
    secret: bool = False


def made_key(default: Any, meaning: str, allowed: str, read: Callable[[Any], T], *, secret: bool = False) -> T:
    """Return the field of a record for a key."""
    setting: T = field(default=read(default), metadata={"key": Key(default, meaning, allowed, read, secret)})
    return setting


def number(default: N, meaning: str, *, least: float = 0, most: float = _MOST) -> N:
    """Return a key that holds a whole number, or any number where its default has a point, from *least* to *most*."""
    kind = type(default)
    allowed = Text(_FROM[kind], least=least) if most == _MOST else Text(_BETWEEN[kind], least=least, most=most)
    # True is no number; NaN is between no numbers
    read: Callable[[Any], N] = _only(lambda value: type(value) in {int, kind} and least <= value <= most, kind)
    return made_key(default, meaning, allowed, read)


def flag(default: bool, meaning: str) -> bool:
    """Return a key that holds true or false."""
    return made_key(default, meaning, Text("true or false"), _only(lambda value: isinstance(value, bool)))


def choice(words: str, meaning: str) -> Any:
    """Return a key that holds one of some *words*, the default the first; the field's type is a Literal of them."""
    options = words.split()
    *most, last = (f'"{option}"' for option in options)
    return made_key(
        options[0], meaning, Text("{most} or {last}", most=most, last=last), lambda value: options[options.index(value)]
    )


def text(default: str, meaning: str, form: Form, *, secret: bool = False) -> str:
    """Return a key that holds a text of the *form*."""
    pattern, allowed = form
    # every command reads the defaults: they need no pattern
    read: Callable[[Any], str] = _only(lambda value: value == default or re.fullmatch(pattern, value))
    return made_key(default, meaning, Text(allowed), read, secret=secret)


def duration(default: str, meaning: str, *, least: str = "0s") -> timedelta:
    """Return a key that holds a time of at least *least*."""
    allowed = Text('a time from "{least}", such as "30s", "10m", "6h" or "1d" (a bare number counts seconds)', least=least)
    return made_key(default, meaning, allowed, _only(lambda value: read_duration(value) >= read_duration(least), read_duration))


def names(meaning: str) -> tuple[str, ...]:
    """Return a key that holds a list of names of sessions."""
    return _many(meaning, Text("a list of names of sessions"), _only(lambda value: isinstance(value, str) and value))


def patterns(meaning: str) -> tuple[str, ...]:
    """Return a key that holds a list of regular expressions."""
    return _many(meaning, Text("a list of regular expressions, in Python's spelling"), _read_pattern)


def _many(meaning: str, allowed: str, read: Callable[[Any], T]) -> tuple[T, ...]:
    every = _only(lambda value: isinstance(value, list), lambda value: tuple(map(read, value)))
    return made_key([], meaning, allowed, every)


def _only(is_allowed: Callable[[Any], object], convert: Callable[[Any], T] = lambda value: value) -> Callable[[Any], T]:
    """Return the reader that takes what is allowed, as *convert* makes it; for all else there is a ValueError."""

    def read(value: Any) -> T:
        if is_allowed(value):
            return convert(value)
        raise ValueError(value)

    return read


def read_duration(value: object) -> timedelta:
    """
    Return the time that *value* states; ValueError where it states none, a negative one or more than ten years.

    >>> read_duration("1.5h") == read_duration(5400) == timedelta(minutes=90)
    True
    """
    match = re.fullmatch(_AMOUNT, value.strip().lower()) if isinstance(value, str) else None
    if match and match[2] in _TIME_UNITS:
        count, unit = float(match[1]), _TIME_UNITS[match[2]]
    elif type(value) in {int, float}:
        count, unit = value, _TIME_UNITS[""]  # type: ignore[assignment]
    else:
        raise ValueError(value)
    if 0 <= count <= _LONGEST and count * unit <= _LONGEST:  # false for NaN, and for integers too large for a float
        return timedelta(milliseconds=count * unit)
    raise ValueError(value)


def _read_pattern(value: str) -> str:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about syntax that a later Python may read differently
            re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(value) from error
    return value


# ── tables and variables ─────────────────────────────────────────────────────


def keys(defaults: DataclassInstance) -> dict[Place, Key]:
    """Return every key of a table of settings, in the order of its fields."""
    by_place: dict[Place, Key] = {}
    for part in fields(defaults):
        section = getattr(defaults, part.name)
        if is_dataclass(section):
            by_place |= _keys_of(part.name, section)
        elif "key" in part.metadata:
            by_place["", part.name] = part.metadata["key"]
    return by_place


def _keys_of(name: str, section: Any) -> dict[Place, Key]:
    return {(name, key.name): key.metadata["key"] for key in fields(section)}


def dotted(place: Place) -> str:
    """Return the name of a key in documents and errors: "recall.max_hits"."""
    return ".".join(part for part in place if part)


def variable(place: Place) -> str:
    """Return the name of a key in the environment: "RECALLD_RECALL_MAX_HITS"."""
    return PREFIX + "_".join(part for part in place if part).upper()


def gather(
    known: Mapping[Place, Key], tables: Mapping[str, object], environ: Mapping[str, str], retired: Mapping[Place, Place | str]
) -> dict[Place, object]:
    """
    Return the values that *tables* and variables set; variables win. BadConfig at the first fault.

    *retired* are keys of versions before: one is passed over, or sets the key that has taken its place, unless that is given
    too.
    """
    goes = {**retired, **{place: place for place in known}}
    given = {}
    for place, value in sorted(_flattened({section for section, _ in goes}, tables), key=lambda item: item[0] not in retired):
        if place not in goes:
            section, name = place
            raise BadConfig(dotted((section, _printable(name))), _UNKNOWN)
        if isinstance(at := goes[place], tuple):
            given[at] = _checked(known[at], dotted(at), value)
    for place, at in goes.items():
        if isinstance(at, tuple) and (name := variable(place)) in environ:
            given[at] = _checked(known[at], name, _of_text(known[at], environ[name]))
    return given


def read_section(name: str, defaults: C, tables: Mapping[str, object]) -> C:
    """Return the section of that name with what *tables*, which have no other, set."""
    given = gather(_keys_of(name, defaults), tables, {}, {})
    return replace(defaults, **{key: value for (_, key), value in given.items()})


def applied(defaults: C, given: Mapping[Place, object]) -> C:
    """Return a copy of *defaults* with the values of *given*."""
    changed: dict[str, dict[str, object]] = {}
    for (section, name), value in given.items():
        changed.setdefault(section, {})[name] = value
    top = changed.pop("", {})
    return replace(defaults, **top, **{name: replace(getattr(defaults, name), **new) for name, new in changed.items()})


def refuse_unknown_variables(defaults: DataclassInstance, environ: Mapping[str, str], others: Collection[str]) -> None:
    """Raise BadConfig for a variable that belongs to no key and is not in *others*; its value is never shown."""
    known = set(map(variable, keys(defaults)))
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known and name not in others:
            raise BadConfig(_printable(name), _UNKNOWN)


def _flattened(sections: Collection[str], tables: Mapping[str, object]) -> Iterator[tuple[Place, object]]:
    for name, value in tables.items():
        if name and name in sections:
            if not isinstance(value, dict):
                why = msgid("{value} is given, but this is a section; write [{name}] and its keys below it")
                raise BadConfig(name, Text(why, value=quoted(value), name=name))
            yield from (((name, key), inner) for key, inner in value.items())
        elif isinstance(value, dict):
            raise BadConfig(f"[{_printable(name)}]", _UNKNOWN)
        else:
            yield ("", name), value


def _of_text(key: Key, text: str) -> object:
    """Return the value of TOML that the text of a variable is for; the text itself where it is none, which is then refused."""
    default = key.default
    try:
        if isinstance(default, bool):
            return _FLAGS[text.strip().lower()]
        if isinstance(default, int | float):
            return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else float(text)
        if isinstance(default, list):
            is_json = re.match(r"\s*\[\s*\{", text)  # a list of tables
            return json.loads(text) if is_json else [item.strip() for item in text.split(",") if item.strip()]
    except (ValueError, LookupError, RecursionError):
        pass
    return text


def _checked(key: Key, name: str, value: object) -> object:
    try:
        return key.read(value)
    except (ValueError, TypeError) as error:
        given = Text("what is given") if key.secret else quoted(value)
        raise BadConfig(name, Text("{value} is not allowed, give {allowed}", value=given, allowed=key.allowed)) from error


def _printable(name: str) -> str:
    return name if len(name) <= _SHOWN_CHARS and name.isprintable() else repr(name[:_SHOWN_CHARS])
