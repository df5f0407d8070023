"""
The output of commands: JSON for programs, text for people, and the progress of work on a terminal.

Stored text must not steer a terminal: commands print through `Call.show` alone, and events become
lines by `as_line` or `as_json`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias
from unicodedata import east_asian_width
from zoneinfo import ZoneInfo

from ..events import EVENTS, priority
from ..operations.codec import camel
from ..storage.clock import from_wire, local, to_wire
from ..storage.process import is_journal, line_printer
from ..storage.texts import Text, msgid, template
from ..text.foreign_text import printable_json, printable_line
from ..text.lazy_re import lazy_re

if TYPE_CHECKING:
    from ..protocol.turn import Receipt
    from ..text.language import Language

#: Renders a text in the language of the reader, with the commands in it as they must be typed.
Render: TypeAlias = "Callable[[object], str]"
#: The labels of keys that say little to people: the values of the flag `archived`, and words of the code. JSON has the keys.
_LABELS: Final = {
    "false": "to do",
    "pending": "summary asked for",
    "true": "done",
    "odd": "not understood",
    "unwritten": "not filed yet",
    "oldestUnwritten": "oldest not filed",
    "covered": "files with a summary",
    "differing": "out of date",
    "vectors": "found by meaning",
    "coveredFiles": "files with a summary",
    "previous": "earlier texts kept",
    "undated": "without a time",
    "noTalk": "no talk, left out",
    "different": "not copied: another has the name",
}
_WIRE_TIME: Final = lazy_re(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

#: Why a receipt has a passage, or has it not, by the reason's word.
_REASONS: Final = {
    "group": msgid("not for a group"),
    "in the history": msgid("in the history already"),
    "project": msgid("of another project"),
    "the question": msgid("it is the question itself"),
    "tokens": msgid("no room in the budget of tokens"),
    "characters": msgid("no room in the budget of characters"),
    "files": msgid("enough other files"),
    "lines": msgid("enough other lines"),
    "same words": msgid("a better passage has the same words"),
    "empty": msgid("nothing to show in it"),
    "worth": msgid("of little worth beside the best"),
    "none": msgid("nothing found"),
    "failed": msgid("the search failed"),
    "bm25": msgid("by words"),
    "hybrid": msgid("by words and meaning"),
    "literal": msgid("as it is written"),
    "window": msgid("by the messages around it"),
    "meaning": msgid("by meaning"),
    "link": msgid("by a word of a better answer"),
    "newest": msgid("the newest about the same thing"),
    "later": msgid("said later, and close to the best one in meaning"),
    "oldest": msgid("the oldest about the same thing"),
    "long": msgid("a long answer, which counts less"),
}


def as_json(value: object) -> str:
    """Return one line of JSON; datetimes are written as wire times."""
    line = json.dumps(
        value, ensure_ascii=False, default=lambda value: to_wire(value) if isinstance(value, datetime) else str(value)
    )
    return printable_json(line)


def wire(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with camelCase names, as --json promises them."""
    return {camel(key): value for key, value in fields.items()}


def as_line(event: Mapping[str, object]) -> str:
    """
    Return an event as a line of text that is safe for a terminal: time, name, fields.

    >>> as_line({"ts": "1", "event": "submitted", "tasks": 2, "groups": ["day-2026-01-15", "month-2025-12"]})
    '1 submitted tasks=2 groups=day-2026-01-15, month-2025-12'
    """
    when, what, *fields = event.items()
    parts = (f"{key}={', '.join(map(str, value)) if isinstance(value, list) else value}" for key, value in fields)
    return printable_line(" ".join([str(when[1]), str(what[1]), *parts]))


def as_journal_line(event: Mapping[str, object]) -> str:
    """
    Return an event as a line for systemd's journal: priority, name and fields; the journal has the time.

    >>> as_journal_line({"ts": "1", "event": "degraded", "why": "the disk is full"})
    '<4>degraded why=the disk is full'
    """
    return f"<{priority(str(event['event']))}>{as_line(event).partition(' ')[2]}"


def as_sentence(event: Mapping[str, object], render: Render) -> str:
    """
    Return an event as a person at a terminal reads it: times on this machine, what it means, its name and its fields.

    >>> as_sentence({"ts": "2026-01-31T08:00:00.000Z", "event": "moved", "files": 2}, str)[8:]
    '  dated files that a summary covers went to originals/ (moved, files 2)'
    """
    when, what, *fields = event.items()
    parts = (f"{render(word(key.replace('_', ' ')))} {render(value)}" for key, value in fields)
    sentence = Text("{meaning} ({fields})", meaning=Text(EVENTS[str(what[1])]), fields=[str(what[1]), *parts])
    line = f"{from_wire(str(when[1])).astimezone():%H:%M:%S}  {render(sentence)}"
    return printable_line(_WIRE_TIME.sub(lambda at: f"{from_wire(at[0]).astimezone():%Y-%m-%d %H:%M}", line))


@contextlib.contextmanager
def event_printer(render: Render, *, json: bool) -> Iterator[Callable[[Mapping[str, object]], None]]:
    """Yield what prints an event to standard output: as JSON, as a journal reads it, for a terminal, or as a plain line."""
    form: Callable[[Mapping[str, object]], str] = as_json if json else as_line
    if not json and is_journal(sys.stdout, os.environ):
        form = as_journal_line
    elif not json and sys.stdout and sys.stdout.isatty():
        form = partial(as_sentence, render=render)

    with line_printer(sys.stdout) as print_line:
        yield lambda event: print_line(form(event))


def in_local_times(tree: Any, zone: ZoneInfo) -> Any:
    """
    Return *tree* with wire times as people read them; keys, and texts that contain a time, are not changed.

    >>> from zoneinfo import ZoneInfo
    >>> in_local_times({"nextRun": "2026-01-31T08:00:00.000Z"}, ZoneInfo("Asia/Shanghai"))
    {'nextRun': '2026-01-31 16:00 Asia/Shanghai'}
    """
    if isinstance(tree, dict):
        return {key: in_local_times(value, zone) for key, value in tree.items()}
    if isinstance(tree, list):
        return [in_local_times(item, zone) for item in tree]
    if isinstance(tree, str) and _WIRE_TIME.fullmatch(tree):
        return f"{local(from_wire(tree), zone):%Y-%m-%d %H:%M} {zone.key}"
    return tree


def as_text(values: Mapping[str, Any], render: Render = str, indent: str = "") -> str:
    """Return text with one line for each key; nested values are indented. *render* puts the words of recalld in a language."""
    width = max((columns(render(_label(key))) for key in values), default=0)
    return "\n".join(_line(key, value, render, indent, width) for key, value in values.items())


def _line(key: str, value: object, render: Render, indent: str, width: int) -> str:
    label = indent + render(_label(key))
    nothing = render(Word("none"))
    padded = label + " " * (len(indent) + width - columns(label))
    if isinstance(value, dict):
        return f"{label}\n{as_text(value, render, indent + '  ')}" if value else f"{padded}  {nothing}"
    if isinstance(value, (list, tuple)):
        rows = "\n".join(f"{indent}  {_row(item, render)}" for item in value)
        return f"{label}\n{rows}" if value else f"{padded}  {nothing}"
    if isinstance(value, str):
        value = printable_line(render(word(value)))
    return f"{padded}  {'-' if value is None else value}"


def _row(item: object, render: Render) -> str:
    if not isinstance(item, dict):
        return printable_line(render(word(item if isinstance(item, str) else str(item))))
    named, *others = ((key, value) for key, value in item.items() if value not in (None, False))
    parts = (render(_label(key)) + ("" if value is True else f" {value}") for key, value in others)
    return "  ".join([render(named[1]) if isinstance(named[1], str) else str(named[1]), *parts])


def _label(key: str) -> str:
    """Return "oldestUnwritten" as "oldest unwritten", and a key that says little in other words; a Text unchanged."""
    words = _LABELS.get(key) or "".join(f" {c.lower()}" if c.isupper() else c for c in key)
    return key if isinstance(key, Text) else word(words)


def by_name(rows: Mapping[str, Any]) -> dict[str, Any]:
    """Return rows whose keys are a user's own names: no words of recalld, so that they stay as they are."""
    return {Text("{name}", name=name): row for name, row in rows.items()}


class Word(Text):
    """A word of recalld in a row, such as "not running"; one that the translation does not have stays as it is."""

    def __new__(cls, word: str) -> Self:
        """Return the *word*, which has no fields."""
        text = str.__new__(cls, word)
        text.msgid, text.fields = msgid(word, "label"), {}
        return text

    def in_language(self, language: Language) -> str:
        """Return the word in *language*."""
        return template(self.msgid, language)


def word(value: str) -> str:
    """Return a value in a row as a word of recalld; a Text unchanged."""
    return value if isinstance(value, Text) else Word(value)


def columns(text: str) -> int:
    """Return how many columns of a terminal the text takes: a Chinese character takes two."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def receipt_text(receipt: Receipt, zone: ZoneInfo, render: Render = str) -> str:
    """Return a receipt as text: what was asked and searched, which hits were shown or not and why, and the memory block."""
    from ..context.render import tag

    first = f"{receipt.id}  {in_local_times(to_wire(receipt.at), zone)}  {receipt.chat} {receipt.session}".rstrip()
    head = as_text(_receipt_head(receipt, render), render)
    rows: dict[str, list[str]] = {"shown": [], "not shown": []}
    for row in receipt.candidates:
        why = [because(reason) for reason in (row.because if row.shown else [row.why])]
        place = tag(row.path, [(row.start, row.end)], lines=True)
        listed = rows["shown" if row.shown else "not shown"]
        listed.append(f"{row.score:6.2f}  {place}  {render(why)}".rstrip())
        if row.parts:
            parts = {part: f"{share:z.2f}" for part, share in row.parts.items()}
            sum_of = Text("= {words} for words, {meaning} for meaning, {days} for days, {who} for who speaks", **parts)
            listed.append(f"        {render(sum_of)}")
    lists = ["\n" + as_text({name: lines}, render) for name, lines in rows.items()]
    return "\n".join([first, head, *lists, "", receipt.memory.rstrip() or render(Text("(no memory was put before it)"))])


def _receipt_head(receipt: Receipt, render: Render) -> dict[str, str]:
    words = render([*receipt.terms, *receipt.dates]) or render(Word("nothing"))
    cost = render(Text("({how}, {files} files, {ms:.1f} ms)", how=because(receipt.how), files=receipt.files, ms=receipt.ms))
    spent = (
        render(word(name)) + " " + render(Text("{count} of {most} tokens", count=n, most=receipt.budgets.get(name, 0)))
        for name, n in receipt.tokens.items()
    )
    head = {"asked": Text("{name}", name=receipt.question), "searched": f"{words} {cost}", "spent": "  ".join(spent)}
    if receipt.client:
        head["client"] = f"{receipt.client}  {receipt.project}".rstrip()
    if receipt.unsent:
        head["not sent"] = render(Text("it came too late, and the question went to the model without it"))
    if nowhere := receipt.miss.get("nowhere"):
        head["found nothing"] = render(
            Text("nowhere in memory: {words} (words of one language do not find those of another)", words=nowhere)
        )
    return head


def because(reason: str) -> str:
    """Return the text of a reason of a receipt: "window", or one with a value, as in "words: tea" and "day 2026-01-28"."""
    kind, _, value = reason.partition(" ")
    match kind:
        case "words:":
            return Text("words: {words}", words=value.split(", "))
        case "related:":
            return Text("related: {words}", words=value.split(", "))
        case "day":
            return Text("day {label}", label=value)
        case "role":
            return Text("asked for what the {label} said", label=word(value))
    return Text(_REASONS[reason]) if reason in _REASONS else word(reason)


@contextlib.contextmanager
def progress(render: Render) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function (what, done, total) that shows how far work is; it does nothing if standard error is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    write_over = partial(print, "\r\x1b[K", sep="", end="", file=sys.stderr, flush=True)
    try:
        yield lambda what, done, total: write_over(f"{render(word(what))} {done}/{total}")
    finally:
        write_over()
