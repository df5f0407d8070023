"""
The reader of settings: types of keys, a table of defaults, and values from tables and variables in place of the defaults.

A section of the configuration is a record; each field is made by one of the functions `whole` to `patterns`, which
holds the key's type, default, range and meaning. The keys themselves are in config_keys.py. A wrong value raises BadConfig with
one sentence: the key, the value, what is allowed and, for a misspelt key, the one that is probably meant. This module reads no
file and no environment.
"""

from __future__ import annotations

import re
from dataclasses import field, fields, is_dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ..storage.errors import BadConfig
from ..storage.texts import Text, msgid
from ..text.lazy_re import lazy_re
from ..text.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from _typeshed import DataclassInstance

#: Milliseconds; a bare number counts seconds.
_TIME_UNITS: Final = {"": 1000, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
#: Bytes; MB is a million, as for disks and logs; MiB is the power of two.
_SIZE_UNITS: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_LONGEST: Final = 3650 * _TIME_UNITS["d"]  # far above any sensible value, far below what overflows when added to a date
_LARGEST: Final = 10**15  # bytes; for the same reasons
_AMOUNT: Final = lazy_re(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([a-z]*)")
_MOST: Final = 10**9  # of a whole number
#: What a number may be: from the least up, and between two.
_WHOLE: Final = (msgid("a whole number from {least} up"), msgid("a whole number from {least} to {most}"))
_NUMBER: Final = (msgid("a number from {least} up"), msgid("a number from {least} to {most}"))
_SHOWN_CHARS: Final = 60  # of a name in an error

T = TypeVar("T")
C = TypeVar("C", bound="DataclassInstance")
Place = tuple[str, str]  # section ("" for the top of the file) and key


@record
class Kind(Generic[T]):
    """How a value is read: *read* checks a TOML value or raises ValueError; *of_text* turns a variable's text into one."""

    read: Callable[[object], T]
    allowed: str  # for people: "give <allowed>"
    of_text: Callable[[str], object] = str
    secret: bool = False  # the value may be a password in the wrong place: errors do not repeat it


@record
class Key:
    """A key: its kind, its default as written in TOML, and its meaning."""

    kind: Kind[Any]
    default: object
    meaning: str


def whole(default: int, meaning: str, *, least: int = 0, most: int = _MOST) -> int:
    """A key that holds a whole number from *least* to *most*."""
    # `type … is`: True is not a number
    read: Callable[[object], int] = _only(lambda value: type(value) is int and least <= value <= most)
    return made_key(Kind(read, _range(_WHOLE, least, most), _number), default, meaning)


def real(default: float, meaning: str, *, least: float = 0, most: float = _MOST) -> float:
    """A key that holds a number from *least* to *most*."""
    # also refuses NaN
    read: Callable[[object], float] = _only(lambda value: type(value) in {int, float} and least <= value <= most, float)
    return made_key(Kind(read, _range(_NUMBER, least, most), _number), default, meaning)


def flag(default: bool, meaning: str) -> bool:
    """A key that holds true or false."""
    read: Callable[[object], bool] = _only(lambda value: isinstance(value, bool))
    words: Mapping[str, object] = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(
        ("false", "no", "off", "0"), False
    )
    return made_key(Kind(read, Text("true or false"), lambda text: words.get(text.strip().lower())), default, meaning)


def choice(default: str, meaning: str, *others: str) -> Any:
    """A key that holds one of a few words: the default or one of *others*; the field's type is a Literal of them."""
    words = (default, *others)
    read: Callable[[object], str] = _only(lambda value: isinstance(value, str) and value in words)
    *most, last = (f'"{word}"' for word in words)
    return made_key(Kind(read, Text("{most} or {last}", most=most, last=last) if most else last), default, meaning)


def text(default: str, meaning: str, *, pattern: str, allowed: str, secret: bool = False) -> str:
    """A key that holds a string which *pattern* matches as a whole; *allowed* says in words what matches."""
    read: Callable[[object], str] = _only(lambda value: isinstance(value, str) and re.fullmatch(pattern, value))
    return made_key(Kind(read, allowed, secret=secret), default, meaning, is_read=True)


def url(meaning: str) -> str:
    """A key that holds the address of a server, or "" for none."""
    return text(
        "",
        meaning,
        pattern=r"|https?://[^\s\x00-\x1f\x7f\ud800-\udfff]+",
        allowed=Text('an address such as "http://127.0.0.1:8080", or ""'),
    )


def duration(default: str, meaning: str, *, least: str = "0s") -> timedelta:
    """A key that holds a duration of at least *least*."""

    def read(value: object) -> timedelta:
        if (length := read_duration(value)) >= read_duration(least):
            return length
        raise ValueError(value)

    allowed = Text('a time from "{least}", such as "30s", "10m", "6h" or "1d" (a bare number counts seconds)', least=least)
    return made_key(Kind(read, allowed), default, meaning)


def durations(default: list[str], meaning: str) -> tuple[timedelta, ...]:
    """A key that holds a list of one or more durations."""
    read = _only(lambda value: isinstance(value, list) and value, lambda items: tuple(map(read_duration, items)))
    return made_key(Kind(read, Text('a list of times, such as ["10m", "30m", "2h"]'), _items), default, meaning)


def size(default: str, meaning: str, *, least: str = "0B") -> int:
    """A key that holds a size of at least *least*."""

    def read(value: object) -> int:
        if (size_read := read_size(value)) >= read_size(least):
            return size_read
        raise ValueError(value)

    allowed = Text('a size from "{least}", such as "500KB", "10MB" or "1GiB" (a bare number counts bytes)', least=least)
    return made_key(Kind(read, allowed), default, meaning)


def many(meaning: str) -> tuple[str, ...]:
    """A key that holds a list of texts."""
    read: Callable[[object], tuple[str, ...]]
    read = _only(lambda value: isinstance(value, list) and all(isinstance(item, str) and item for item in value), tuple)
    return made_key(Kind(read, Text("a list of names of sessions"), _items), [], meaning)


def patterns(default: list[str], meaning: str) -> tuple[str, ...]:
    """A key that holds a list of regular expressions."""
    read = _only(lambda value: isinstance(value, list), lambda items: tuple(map(_checked_pattern, items)))
    allowed = Text("a list of regular expressions, in Python's spelling")
    return made_key(Kind(read, allowed, _items), default, meaning)


def read_duration(value: object) -> timedelta:
    """
    The duration that *value* states; ValueError where it states none, a negative one or more than ten years.

    >>> read_duration("1.5h") == read_duration(5400) == timedelta(minutes=90)
    True
    """
    return timedelta(milliseconds=_amount(value, _TIME_UNITS, _LONGEST))


def read_size(value: object) -> int:
    """
    The number of bytes that *value* states; ValueError where it states none or a negative one.

    >>> read_size("10MB"), read_size("10MiB"), read_size(512)
    (10000000, 10485760, 512)
    """
    return int(_amount(value, _SIZE_UNITS, _LARGEST))


def keys(defaults: DataclassInstance) -> dict[Place, Key]:
    """Every key of a table of settings, in the order of its fields."""
    by_place: dict[Place, Key] = {}
    for part in fields(defaults):
        section = getattr(defaults, part.name)
        if is_dataclass(section):
            by_place |= {(part.name, key.name): key.metadata["key"] for key in fields(section)}
        else:
            by_place["", part.name] = part.metadata["key"]
    return by_place


def dotted(place: Place) -> str:
    """The name of a key in documents and errors: "recall.max_hits"."""
    return ".".join(part for part in place if part)


def variable(prefix: str, place: Place) -> str:
    """The name of a key in the environment: "RECALLD_RECALL_MAX_HITS"."""
    return prefix + "_".join(part for part in place if part).upper()


def gather(
    defaults: DataclassInstance,
    tables: Mapping[str, object],
    environ: Mapping[str, str],
    prefix: str,
) -> dict[Place, object]:
    """The values that *tables* and the variables of *prefix* set; variables win. BadConfig at the first fault."""
    known = keys(defaults)
    sections = {section for section, _ in known if section}
    given = {place: _read(known, place, value) for place, value in _flattened(tables, sections)}
    for place, key in known.items():
        name = variable(prefix, place)
        if name in environ:
            given[place] = _read_text(key, name, environ[name])
    return given


def applied(defaults: C, given: Mapping[Place, object]) -> C:
    """A copy of *defaults* with the values of *given*."""
    changed: dict[str, dict[str, object]] = {}
    for (section, name), value in given.items():
        changed.setdefault(section, {})[name] = value
    top = changed.pop("", {})
    return replace(defaults, **top, **{name: replace(getattr(defaults, name), **new) for name, new in changed.items()})


def refuse_unknown_variables(
    defaults: DataclassInstance,
    environ: Mapping[str, str],
    prefix: str,
    others: Collection[str],
) -> None:
    """Raise BadConfig for a variable of *prefix* that belongs to no key and is not in *others*; its value is never shown."""
    known = {variable("", place) for place in keys(defaults)}
    for name in sorted(environ):
        bare = name.removeprefix(prefix)
        if name.startswith(prefix) and bare not in known and name not in others:
            raise BadConfig(
                _printable(name), Text("no setting has this variable{meant}", meant=_suggestion(bare, known, prefix))
            )


def _only(is_allowed: Callable[[Any], object], made: Callable[[Any], T] = lambda value: value) -> Callable[[object], T]:
    """Return the reader that takes what is allowed, as it is *made*, and raises ValueError for all else."""

    def read(value: object) -> T:
        if is_allowed(value):
            return made(value)
        raise ValueError(value)

    return read


def made_key(kind: Kind[T], default: Any, meaning: str, *, is_read: bool = False) -> T:
    """Return the field of a key; *is_read*: its default is the value already, and no pattern is compiled to check it."""
    made: T = field(default=default if is_read else kind.read(default), metadata={"key": Key(kind, default, meaning)})
    return made


def _amount(value: object, units: Mapping[str, int], most: int) -> float:
    """*value* in the smallest of *units*; exact if it is written without a decimal point."""
    number: float
    if isinstance(value, str) and (match := _AMOUNT.fullmatch(value.strip().lower())) and match[2] in units:
        number, unit = (float(match[1]) if "." in match[1] else int(match[1])), units[match[2]]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number, unit = value, units[""]
    else:
        raise ValueError(value)
    if 0 <= number <= most and number * unit <= most:  # false for NaN, and for integers too large for a float
        return number * unit
    raise ValueError(value)


def _checked_pattern(pattern: object) -> str:
    import warnings

    if not isinstance(pattern, str):
        raise ValueError(pattern)  # noqa: TRY004 - the one error that `_checked` catches
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about syntax that a later Python may read differently
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(pattern) from error
    return pattern


def _range(texts: tuple[str, str], least: float, most: float) -> str:
    from_least, between = texts
    return Text(from_least, least=least) if most == _MOST else Text(between, least=least, most=most)


def _number(text: str) -> object:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else float(text)


def _items(text: str) -> object:
    return [item.strip() for item in text.split(",") if item.strip()]


def _flattened(tables: Mapping[str, object], sections: Collection[str]) -> Iterable[tuple[Place, object]]:
    for name, value in tables.items():
        if name in sections:
            if not isinstance(value, dict):
                why = msgid("{value} is given, but this is a section; write [{name}] and its keys below it")
                raise BadConfig(name, Text(why, value=_excerpt(value), name=name))
            yield from (((name, key), inner) for key, inner in value.items())
        elif isinstance(value, dict):
            raise BadConfig(f"[{_printable(name)}]", Text("there is no such section{meant}", meant=_suggestion(name, sections)))
        else:
            yield ("", name), value


def _read(known: Mapping[Place, Key], place: Place, value: object) -> object:
    if place not in known:
        section, name = place
        elsewhere = [dotted(other) for other in known if other[1] == name]
        suggestion = _suggestion(elsewhere[0] if elsewhere else dotted(place), map(dotted, known))
        raise BadConfig(dotted((section, _printable(name))), Text("there is no such key{meant}", meant=suggestion))
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
        given = Text("what is given") if key.kind.secret else _excerpt(value)
        raise BadConfig(name, Text("{value} is not allowed, give {allowed}", value=given, allowed=key.kind.allowed)) from error


def _suggestion(name: str, known: Iterable[str], prefix: str = "") -> str:
    """The end of an error about an unknown name: the name that is probably meant."""
    from difflib import get_close_matches

    near = get_close_matches(name[:_SHOWN_CHARS], list(known), n=1)
    return (
        Text("; perhaps {near} is meant", near=f"{prefix}{near[0]}")
        if near
        else Text("; docs/reference/configuration.md lists what there is")
    )


def _printable(name: str) -> str:
    """The name, shortened and escaped so that it fits into one line of text."""
    return name if len(name) <= _SHOWN_CHARS and name.isprintable() else repr(name[:_SHOWN_CHARS])


def _excerpt(value: object) -> str:
    """A wrong value, shortened; never fails, also for deep nesting and for hexadecimal numbers of any length."""
    import reprlib

    try:
        return reprlib.repr(value)
    except ValueError:
        return Text("a number of that length")
