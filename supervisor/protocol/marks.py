"""
The marks by which a person says who sees a line of memory.md or of a note, and when (docs/reference/protocol.md, 10).

`#shared` or its Chinese form: groups may see the line. `#pin`, too, in memory.md: the line is shown in each turn of a
direct chat; so do the lines below a heading `# Always`, but for entries, which machines append at the end of the file. A
line that is struck is not pinned. A mark is a person's word about one line: what a model writes never carries one.

What is no longer true is struck: ``~~words~~ (until 2026-11-23: reason)``, in Chinese ``~~原话~~（至 2026-11-23：原因）``.
A person may strike words through without a day; `write --replaces` and `invalidate` name it (10.8). Pure.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from typing import Final, NamedTuple

from ..text.lazy_re import lazy_re

_SHARED: Final = lazy_re(r"(?<!\w)#(?:shared|共享)(?!\w)", re.IGNORECASE)
_PIN: Final = lazy_re(r"(?<!\w)#(?:pin|置顶)(?!\w)", re.IGNORECASE)
_MARK: Final = lazy_re(rf"{_SHARED.pattern}|{_PIN.pattern}", re.IGNORECASE)
_HEADING: Final = lazy_re(r"[ \t]*(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_ALWAYS: Final = frozenset({"always", "始终"})
_FENCE: Final = lazy_re(r"[ \t]*(`{3,}|~{3,})")
_SINCE = r"(?: ?[(（](?:until|至) ?(\d{4}-\d\d-\d\d)(?:[:：] ?(.*))?[)）])?"
_STRUCK = lazy_re(rf"~~((?:(?!~~).)+)~~{_SINCE}[.。]?(?:\s+#\w+)*", re.DOTALL)
#: What is before the words of a line, and has no mark: the sign of a list, day and source of an entry, a chat named #shared.
_BEFORE = lazy_re(r"\s*(?:[-*+]\s+|\d{1,3}[.)、]\s+)?(?:\[[ xX]\]\s+)?(?:\d{4}-\d\d-\d\d\|[^|\n]*\|\s*)?")


def is_shared(line: str) -> bool:
    """
    Return whether the words of the line have the mark for groups.

    >>> is_shared("钥匙在信箱里 #共享"), is_shared("2026-01-28|irc:#shared|I owe Mara 40 euros")
    (True, False)
    """
    return _has(_SHARED, line)


def without_marks(text: str) -> str:
    """
    Return the text without marks; one that has none is returned as it is.

    >>> without_marks("told #shared today")
    'told today'
    """
    while _MARK.search(text):  # again: the text around a mark may be one now
        text = _parted(_MARK).sub("", text)
    return text


def marks_of(words: str) -> str:
    """
    Return the marks in the words of a line, each behind a blank.

    >>> marks_of("钥匙在信箱里 #共享 #pin")
    ' #共享 #pin'
    """
    return "".join(f" {mark}" for mark in _MARK.findall(words))


def without_pin(text: str) -> str:
    """
    Return the words as they are shown and searched, without the mark that pins them.

    >>> without_pin("- 对花生过敏。 #置顶")
    '- 对花生过敏。'
    """
    return _parted(_PIN).sub("", text) if _PIN.search(text) else text


def with_marks_of(before: str, after: str) -> str:
    """Return the text *after* a change by a machine: a line that was not marked as it is now, in *before*, has no mark."""
    if not _MARK.search(after):
        return after
    lines_before = {line.rstrip("\r") for line in before.split("\n")}
    lines = after.split("\n")
    return "\n".join(
        line if line.rstrip("\r") in lines_before or not _has(_MARK, line) else without_marks(line) for line in lines
    )


def only_pinned(text: str) -> str:
    r"""
    Return the text with all lines blank that are not pinned, so that the others keep their numbers.

    >>> only_pinned("# 始终\n叫我小林。\n# 其他\n护照在保险柜里\n对花生过敏 #pin")
    '\n叫我小林。\n\n\n对花生过敏 #pin'
    """
    if not _PIN.search(text) and not any(word in text.casefold() for word in _ALWAYS):
        return ""
    lines = text.split("\n")
    return "\n".join(line if pinned else "" for line, pinned in zip(lines, _pinned(lines), strict=True))


def pins_more(before: str, after: str) -> bool:
    """Return whether the text *after* a change has a pinned line that was none *before*."""
    was, is_now = (Counter(map(str.strip, only_pinned(text).split("\n"))) for text in (before, after))
    return any(line and count > was[line] for line, count in is_now.items())


def _pinned(lines: list[str]) -> Iterator[bool]:
    """Yield whether each line is pinned; a heading and what is in a fence have no marks, but may be below the heading."""
    always, fence = 0, ""  # the level of the heading that pins, and the fence that is open
    for line in lines:
        mark, heading = _FENCE.match(line), None if fence else _HEADING.fullmatch(line.rstrip("\r"))
        if heading:
            level = len(heading[1])
            if not always or level <= always:
                always = level if heading[2].casefold() in _ALWAYS else 0
            yield False
            continue
        before = before_words(line)
        stands = "~~" not in line or read_struck(without_pin(line[len(before) :])) is None
        is_entry = before.rstrip().endswith("|")
        yield stands and (bool(always and not is_entry) or (not fence and _has(_PIN, line)))
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]


def _has(mark: re.Pattern[str], line: str) -> bool:
    return bool(mark.search(line, len(before_words(line))))


def _parted(mark: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(rf"^(?:{mark.pattern})[ \t]*|[ \t]*(?:{mark.pattern})", re.IGNORECASE | re.MULTILINE)


class Struck(NamedTuple):
    """Words that are no longer true, since the day *until* (None: nobody says since when), and the *reason*, if any."""

    words: str
    until: date | None = None
    reason: str = ""

    def __str__(self) -> str:
        """Return the words as a file has them, the day and the reason in their language."""
        from ..text.language import language_of  # here: most commands strike nothing

        words = f"~~{self.words.replace('~~', '')}~~"
        if self.until is None:
            return words
        if language_of(self.words) == "zh":
            return f"{words}（至 {self.until}{f'：{self.reason}' if self.reason else ''}）"
        return f"{words} (until {self.until}{f': {self.reason}' if self.reason else ''})"


def read_struck(words: str) -> Struck | None:
    """
    Return what the words say that is no longer true, None where a part of them still stands.

    >>> read_struck("~~住在杭州~~ (until 2026-11-23)")
    Struck(words='住在杭州', until=datetime.date(2026, 11, 23), reason='')
    >>> read_struck("12月~~1~~15日发布")
    """
    match = _STRUCK.fullmatch(words.strip()) if words.lstrip().startswith("~~") else None
    if match is None:
        return None
    try:
        until = date.fromisoformat(match[2]) if match[2] else None
    except ValueError:  # there is no such day
        until = None
    return Struck(match[1], until, match[3] or "")


def struck_line(line: str, until: date, reason: str = "") -> str:
    """
    Return a line with its words struck; what comes before them, day and source or the sign of a list, stays.

    >>> struck_line("2026-02-14|web-chat|住在杭州", date(2026, 11, 23))
    '2026-02-14|web-chat|~~住在杭州~~（至 2026-11-23）'
    """
    before = before_words(line)
    return before + str(Struck(line[len(before) :].strip(), until, reason))


def before_words(line: str) -> str:
    """Return what is before the words of a line."""
    match = _BEFORE.match(line)
    return match[0] if match else ""
