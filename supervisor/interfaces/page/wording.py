"""How the page writes days, times, numbers and stored words, in English and in Chinese."""

import re
from collections.abc import Sequence
from datetime import date, datetime, tzinfo
from itertools import groupby
from typing import Final

from markupsafe import Markup, escape

from ...storage.clock import from_wire, local
from ...storage.texts import msgid
from ...text.foreign_text import printable
from ...text.language import Language
from ...text.lazy_re import lazy_re
from ...text.llm_input import day_words
from ...text.snippet import snippet_span

#: Characters of a message that a page shows before it offers the rest, and of a hit.
MOST_CHARS: Final = 4_000
HIT_CHARS: Final = 420
#: The words of the page for the values of the product: by what they say, and the value.
NAMES: Final = {
    "nav": {
        "today": msgid("Today"),
        "days": msgid("Days"),
        "search": msgid("Search"),
        "memory": msgid("Long-term"),
        "sessions": msgid("Sessions"),
        "health": msgid("Health"),
    },
    "live": {
        "gone": msgid("recalld does not answer; what you see may be old."),
        "ended": msgid("Enter again with `recalld open`; what you see may be old."),
        "on": msgid("Live"),
        "off": msgid("Connecting…"),
        "copied": msgid("Copied."),
        "changed": msgid("The file has changed meanwhile."),
        "nothing_new": msgid("There was nothing to record."),
        "failed": msgid("That did not work."),
        "kept": msgid("Kept:"),
    },
    "role": {
        "user": msgid("You"),
        "assistant": msgid("Assistant"),
        "system": msgid("System"),
        "tool": msgid("Tool"),
    },
    "chat": {
        "group": msgid("group"),
        "channel": msgid("channel"),
    },
    "kind": {
        "long_term": msgid("long-term"),
        "dated": msgid("words"),
        "summary": msgid("summary"),
        "unfiled": msgid("not filed yet"),
        "original": msgid("original"),
    },
    "amount": {
        "messages": msgid("{count:message|messages}"),
        "lines": msgid("{count:line|lines}"),
        "files": msgid("{count:file|files}"),
    },
}
#: A block of code, an item of a list, and what is marked in a line; limits keep a long line from being read again and again.
_CODE_BLOCK: Final = lazy_re(
    r"^ {0,3}(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^ {0,3}\1[`~]*[ \t]*(?:\n|\Z)|\Z)", re.MULTILINE | re.DOTALL
)
_ITEM: Final = lazy_re(r" {0,8}(?:[-*+•]|([0-9]{1,3})[.)])[ \t]+")
_MARKED: Final = lazy_re(r"`([^`\n]{1,300})`|\*\*(?=[^\s*])([^\n]{0,300}?\S)\*\*|~~(?=[^\s~])([^\n]{0,300}?\S)~~")
#: A command in a sentence of recalld.
_COMMAND: Final = lazy_re(r"`([^`\n]+)`")
_PLAIN_WORD: Final = lazy_re(r"(?!recalld\b)[a-z]+(?=[ ,;-]|$)")


class Counted(int):
    """
    A number in a text: `{count:message|messages}` is the number with its noun in the singular or plural.

    >>> "{0:message|messages}, {1:day|days}, {0:,}".format(Counted(1_200), Counted(1))
    '1,200 messages, 1 day, 1,200'
    """

    def __format__(self, spec: str) -> str:
        singular, bar, many = spec.partition("|")
        return f"{int(self):,} {singular if self == 1 else many}" if bar else format(int(self), spec)


def day_text(day: date | str, language: Language, *, weekday: bool = False) -> str:
    """
    Return the day as people write it.

    >>> day_text("2026-01-28", "en", weekday=True), day_text("2026-01-28", "zh", weekday=True)
    ('Wednesday, 28 January 2026', '2026年1月28日 星期三')
    """
    words = day_words(date.fromisoformat(day) if isinstance(day, str) else day, language)
    if language == "zh":
        day_alone, week, name = words.partition("星期")
        return f"{day_alone} {week}{name}" if weekday else day_alone
    return words if weekday else words.partition(", ")[2]


def month_text(label: str, language: Language, *, year: bool = True) -> str:
    """
    Return the month "2026-01" as people write it.

    >>> month_text("2026-01", "en"), month_text("2026-01", "zh"), month_text("2026-01", "en", year=False)
    ('January 2026', '2026年1月', 'January')
    """
    first = date.fromisoformat(f"{label}-01")
    if language == "zh":
        return f"{first.year}年{first.month}月" if year else f"{first.month}月"
    return f"{first:%B} {first.year}" if year else f"{first:%B}"


def clock_text(at: datetime | str, zone: tzinfo) -> str:
    """Return the local time of day."""
    return f"{local(from_wire(at) if isinstance(at, str) else at, zone):%H:%M}"


def moment_text(at: datetime | str, zone: tzinfo, language: Language) -> str:
    """
    Return day and time of day.

    >>> from datetime import UTC
    >>> moment_text(datetime(2026, 1, 28, 8, 5, tzinfo=UTC), UTC, "en")
    '28 January 2026, 08:05'
    """
    moment = local(from_wire(at) if isinstance(at, str) else at, zone)
    return f"{day_text(moment.date(), language)}{' ' if language == 'zh' else ', '}{moment:%H:%M}"


def sentence_html(text: str) -> Markup:
    """
    Return a sentence of recalld with its commands as code; whatever is in it is text, and a text of the page is markup already.

    >>> sentence_html("say `recalld run` <b>")
    Markup('say <code>recalld run</code> &lt;b&gt;')
    """
    safe = text if isinstance(text, Markup) else escape(printable(text))
    return Markup(_COMMAND.sub(r"<code>\1</code>", str(safe)))  # noqa: S704 - it is escaped above


def marked_html(text: str) -> Markup:
    """
    Return words with their code blocks, lists, bold, code and strike of Markdown; whatever is in them is text.

    >>> marked_html("- **now** `<b>`")
    Markup('<ul><li><b>now</b> <code>&lt;b&gt;</code></li></ul>')
    """
    pieces, last = [], 0
    for match in _CODE_BLOCK.finditer(text):
        code = Markup('<pre class="block"><code>{}</code></pre>').format(printable(match[2].removesuffix("\n")))
        pieces += [_lines_html(text[last : match.start()]), code]
        last = match.end()
    return Markup("").join([*pieces, _lines_html(text[last:])])


def _lines_html(text: str) -> Markup:
    pieces: list[Markup] = []
    for kind, lines in groupby(text.splitlines(keepends=True), _list_of):
        if not kind:
            pieces.append(line_html("".join(lines)))
            continue
        items = [item for line in lines if (item := _ITEM.match(line))]
        shown = (
            Markup("<li{}>{}</li>").format(
                Markup(' value="{}"').format(item[1]) if item[1] else "", line_html(item.string[item.end() :].rstrip("\n"))
            )
            for item in items
        )
        pieces.append(Markup("<{0}>{1}</{0}>").format(kind, Markup("").join(shown)))
    return Markup("").join(pieces)


def _list_of(line: str) -> str:
    """Return the element of the list that the line is an item of, "" for none."""
    match = _ITEM.match(line)
    return ("ol" if match[1] else "ul") if match else ""


def line_html(text: str) -> Markup:
    """
    Return words with their bold, code and strike; whatever is in them is text.

    >>> line_html("~~4 <p>~~ 2 * 3 ** 4")
    Markup('<s>4 &lt;p&gt;</s> 2 * 3 ** 4')
    """
    pieces, last = [], 0
    for match in _MARKED.finditer(text):
        code, bold, struck = match.groups()
        tag, words = ("code", printable(code)) if code else ("b", line_html(bold)) if bold else ("s", line_html(struck))
        pieces += [escape(printable(text[last : match.start()])), Markup("<{0}>{1}</{0}>").format(tag, words)]
        last = match.end()
    return Markup("").join([*pieces, escape(printable(text[last:]))])


def capitalised(text: str) -> str:
    """
    Return an English sentence with a capital letter at its beginning, unless that is a name.

    >>> capitalised("all is well."), capitalised("recalld.toml is wrong."), capitalised("supervisor 正在运行。")
    ('All is well.', 'recalld.toml is wrong.', 'supervisor 正在运行。')
    """
    return text[:1].upper() + text[1:] if _PLAIN_WORD.match(text) and text.isascii() else text


def cut(text: str, most: int = MOST_CHARS) -> tuple[str, int]:
    """Return the beginning of a text, and how many characters are left out."""
    return (text, 0) if len(text) <= most else (text[:most], len(text) - most)


def excerpt_html(text: str, terms: Sequence[str], most: int = HIT_CHARS) -> Markup:
    """
    Return the part of a text around the *terms*, which are marked; whatever is in it is text.

    >>> excerpt_html("备份 <NAS>", ["备份", "nas"])
    Markup('<mark>备份</mark> &lt;<mark>NAS</mark>&gt;')
    """
    start, end = snippet_span(text, most, terms)
    shown = f"{'…' * (start > 0)}{text[start:end].strip()}{'…' * (end < len(text))}"
    wanted = [_pattern(term) for term in terms if term.strip()]
    if not wanted:
        return escape(printable(shown))
    parts = map(printable, re.split(f"({'|'.join(wanted)})", shown, flags=re.IGNORECASE))
    return Markup("").join(Markup("<mark>{}</mark>").format(part) if n % 2 else escape(part) for n, part in enumerate(parts))


def _pattern(term: str) -> str:
    """Return the pattern of a word: English ones are stems, which other letters may follow."""
    return rf"\b{re.escape(term)}[a-z]{{0,4}}\b" if term.isascii() and term.isalpha() else re.escape(term)
