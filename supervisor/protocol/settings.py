"""
The reader of settings: a table of defaults, filled from TOML and then from variables; and the table as a document.

It knows no single key: config.py says which there are. What is wrong ends in one sentence that names the key, the value,
what is allowed and, for a slip of the pen, the key that was meant. Reads no file and no environment of its own.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from supervisor.protocol.errors import BadConfig

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from _typeshed import DataclassInstance

    from supervisor.protocol.kinds import Key

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
