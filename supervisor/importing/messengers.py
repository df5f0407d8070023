"""
The exports of messengers: Telegram's `result.json`, of one chat or of all, WhatsApp's text file, and WeChat's from its tools.

Every person in them has the role `user` and is named. A chat of more than two people is a group (protocol.md, 2.9).
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from .source import NotImported, Source
from .talk import SOMEONE, Reading, Talk, objects_in

#: What Telegram's export of all chats has, besides "about".
_TELEGRAM_ALL: Final = ("chats", "left_chats", "personal_information", "contacts")
_FILES: Final = ("photo", "file")
#: The beginning of a message of WhatsApp, on an iPhone in brackets: date, time, and "Name: text". Around the time
#: stands what the language of the phone needs: a word for "at", for the hour, for the half of the day.
_WHATSAPP: Final = lazy_re(
    r"[\u200e\u200f\ufeff]*\[?(?P<date>\d{1,4}(?:\u200f?[./年년月월-]\s?)\d{1,2}(?:\u200f?[./年년月월-]\s?)\d{1,4})"
    r"[.,،日일]?(?P<before>\s[^\d\n:]{0,12}?|[^\d\n:]{1,6}?\s|)\s*(?P<hour>\d{1,2})(?:[:.]|\sh\s)(?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    r"(?P<after>[^\d\n:\]]{0,12}?)(?:\]\s+|\s+[-–]\s+|,\s(?=[^:\n]{1,100}\s:\s))(?P<said>.*)",
    re.DOTALL,
)
#: The line before a message in the text files that tools for WeChat and QQ write: time and name, or name and time.
_WECHAT: Final = lazy_re(
    r"(?:(?P<first>[^\s\d(（][^\n]{0,40}?)\s*[(（]?)?(?P<date>\d{4}[-/年]\d{1,2}[-/月]\d{1,2})日?(?P<before>\s+)"
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?P<after>)[)）]?(?(first):?|\s+(?P<last>\S[^\n]{0,40}))\s*"
)
_NAME: Final = lazy_re(r"(?P<name>[^:：\n]{1,100}?)[ \u00a0]?[:：][ \u200e](?P<text>.*)", re.DOTALL)
#: How a sentence of WhatsApp's own begins.
_OWN: Final = "\u200e"
_MARKS: Final = str.maketrans("", "", "\u200e\u200f\ufeff")
#: In place of what the export does not have: an Android phone writes it in brackets, in its own language.
_OMITTED: Final = lazy_re(r"[<‹][^<>‹›\n]{1,40}[>›]")
#: A picture or file that the export has, by its name.
_ATTACHED: Final = lazy_re(r"[<‹][^<>‹›:：\n]{1,30}[:：]\s*([^<>‹›\n]{1,200})[>›]")
#: The characters of a text file by which it is known.
_HEAD_CHARS: Final = 4_000
#: How many equal messages make two exports one chat.
_SAME_CHAT: Final = 3
#: The orders of year, month and day, as places in the date.
_ORDERS: Final = {"ymd": (0, 1, 2), "dmy": (2, 1, 0), "mdy": (2, 0, 1)}
_TWO_DIGITS: Final = 100
#: A phone in Thai counts the years of the Buddhist calendar, which are so many more; no other year has these numbers.
_BUDDHIST: Final = 543
_BUDDHIST_YEARS: Final = range(2000 + _BUDDHIST, 2100 + _BUDDHIST)
#: The quotation marks around the name of a group.
_QUOTES: Final = ("“”", "„“", "«»", "「」")
_NOON: Final = 12


def is_telegram(source: Source, name: str) -> bool:
    """True if a file is Telegram's export of a chat, or of all: these come behind what may be a long list of contacts."""
    first = source.first(name)
    if {"messages", "type", "id"} <= first.keys():  # a conversation with a model may have these, too: its messages have a role
        return "role" not in next(objects_in(first["messages"]), {})
    return "about" in first and not first.keys().isdisjoint(_TELEGRAM_ALL)


def telegram(log: Reading, name: str) -> Talk:
    """Yield the messages of Telegram's export; what only says that somebody joined or called is left out."""
    is_chat = "messages" in log.source.first(name)
    for path in ("",) if is_chat else ("chats.list.item", "left_chats.list.item"):
        for around, raw in log.source.records(name, path, "messages.item"):
            chat, name_of_kind = around.get("id", 0), str(around.get("type"))  # as in "public_supergroup"
            kind = next((kind for kind in ("group", "channel") if name_of_kind.endswith(kind)), "")
            if raw.get("type") == "message":
                session = f"telegram:{chat}"
                yield {"id": f"{session}:{raw.get('id')}", "session": session, "chat": kind, **_telegram_message(raw)}
            elif raw.get("type") == "service":
                log.leave_out(str(raw.get("action") or "service"))
            else:
                log.unread["message"] += 1


def _telegram_message(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message; what is forwarded is the words of its author, and who has no name any more is someone."""
    pieces = raw.get("text")
    runs = (part.get("text") if isinstance(part, dict) else part for part in (pieces if isinstance(pieces, list) else [pieces]))
    text = "".join(part for part in runs if isinstance(part, str))
    attached = [str(raw.get("file_name") or raw.get("media_type") or of) for of in _FILES if isinstance(raw.get(of), str)]
    things = {field: ", ".join(_leaves(value)) for field, value in raw.items() if isinstance(value, dict) and field != "text"}
    attached += [f"{field.removesuffix('_information')}: {words}" for field, words in things.items() if words]
    text = "\n".join(filter(None, [text, *(f"[{name}]" for name in attached)]))
    is_forwarded = any(field.startswith(("forwarded_from", "saved_from")) for field in raw)  # its author, or the id of one
    author = raw.get("forwarded_from") or raw.get("saved_from") if is_forwarded else raw.get("from")
    times = {"timestamp": raw.get("date_unixtime"), "date": raw.get("date")}
    return {"role": "user", "content": [text], "name": str(author or SOMEONE), **times}


def _leaves(value: object) -> Iterator[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in inner:
        yield from _leaves(part)
    if isinstance(value, (str, float)) and str(value).strip():
        yield str(value)


def is_text(channel: str, source: Source, name: str) -> bool:
    """True if a text begins like an export of WhatsApp's; for WeChat, with a line of time and name, and another after it."""
    with source.text(name, "replace") as file:
        lines = [line.strip("\r") for line in file.read(_HEAD_CHARS).split("\n")]
    if channel == "whatsapp":
        return any(map(_WHATSAPP.match, lines[:3]))
    heads = [bool(_WECHAT.fullmatch(line)) for line in lines if line]
    return heads[:1] == [True] and any(heads[1:])


def messages_of(channel: str, log: Reading, name: str) -> Talk:
    """
    Yield the messages of a text file, as WhatsApp exports it or tools for WeChat write it: a line of time and name, the words.

    The order of day and month in WhatsApp's is that of the phone, and the file does not say which: a day above twelve tells it,
    else the one order in which no message is older than the one before. NotImported where both remain.
    """
    entries = _entries(log.source, name, channel)
    dates = [date for date, _ in groupby(_numbers(head) for head, _, _ in entries)]
    order = _order(log, name, dates) if channel == "whatsapp" else "ymd"
    same: Counter[tuple[str, ...]] = Counter()
    read = list[tuple[tuple[str, ...], str]]()  # of each message what tells it from the rest, and what is shown
    for head, person, line in entries:
        text, shown = _words(channel, line)
        key: tuple[str, ...] = (head["date"], head["hour"], head["minute"], str(head["second"]), person, text)
        same[key] += 1
        read.append(((*key, str(same[key])), shown if person else ""))
    chat = _known_chat(log, channel, _title(log.source, name), [key for key, shown in read if shown])
    is_group = len({person for _, person, line in entries if line.strip()}) > 2
    about = {"role": "user", "session": f"{channel}:{chat}", "chat": "group" if is_group else ""}
    for (head, person, _), (key, shown) in zip(entries, read, strict=True):
        if shown:
            by = {"id": _identity(channel, chat, key), "name": person.strip("~ \u202f")}
            yield {**about, **by, "content": shown, "timestamp": _time(head, order)}
        else:
            log.leave_out(channel)


def _words(channel: str, line: str) -> tuple[str, str]:
    """
    Return what was said as it was first read, by which a message is known, and as it is shown.

    A picture is its name, or in brackets what stands in its place, as are known sentences of the messenger's own; any other
    that it marks as its own is "": that messages are encrypted, what happens to a group. The note of an edit is not shown.
    """
    plain = line.translate(_MARKS).strip()
    is_own, text = False, line.strip()
    if channel == "whatsapp":
        is_own = line.startswith(_OWN)
        text = f"[{plain}]" if is_own else plain
        if match := _ATTACHED.fullmatch(plain) or _known_words("attached").fullmatch(plain):
            text = f"[{match[match.lastindex or 0]}]"
            return text, text
        if _OMITTED.fullmatch(plain) or _known_words("omitted").fullmatch(plain):
            text = "[image]"
    if text == "[image]" or _known_words(channel).fullmatch(plain.rstrip(".。")):
        return text, f"[{plain.strip('<‹›[] >')}]"
    edited = re.search(rf"(?:{_OWN}<[^<>:：\n]+>|<(?:{_known_words('edited').pattern})\.?>)\s*\Z", line)
    shown = line[: edited.start()].translate(_MARKS).strip() or text if edited else text
    return text, "" if is_own else shown


def _identity(channel: str, chat: str, key: tuple[str, ...]) -> str:
    digest = hashlib.sha256("\n".join((chat, *key)).encode()).hexdigest()
    return f"{channel}:{digest[:16]}"


def _known_chat(log: Reading, channel: str, title: str, keys: Sequence[tuple[str, ...]]) -> str:
    """
    Return the chat of the workspace that has messages of the file; *title*, by the name of the file, where none has.

    An export says nothing of its chat but what was said in it, and its file may have been renamed.
    """
    prefix = f"{channel}:"
    chats = sorted(session.removeprefix(prefix) for session in log.sessions() if session.startswith(prefix))
    known = Counter[str]()
    for key in keys if title not in chats else ():
        known.update(chat for chat in chats if log.is_known(_identity(channel, chat, key)))
        if max(known.values(), default=0) >= min(len(keys), _SAME_CHAT):
            return known.most_common(1)[0][0]
    return title


def _title(source: Source, name: str) -> str:
    """Return the chat by the name of its file, or of what that is in: an iPhone names the archive alone."""
    parts = (re.sub(r"\.(txt|zip)\Z", "", part) for part in reversed([*source.path.parts, *name.split("/")]))
    title = next(part for part in parts if part.lower() not in ("_chat", "chat"))
    match = _known_words("chat").fullmatch(title)
    return match[match.lastindex or 0] if match else title


@cache
def _known_words(kind: str) -> re.Pattern[str]:
    """Return the pattern of what a messenger itself writes of one kind; a name in it is the last group."""
    forms = (re.escape(words).replace(r"\ ", r"\s*") for name, words in _rows("messengers.tsv") if name == kind)
    names = (form.replace(r"\{name\}", "(.+?)").replace(r"\{file\}", r"(\S{1,200})") for form in forms)
    return re.compile("|".join(names), 0 if kind == "whatsapp" else re.IGNORECASE)  # "Null" is a number in German


def _rows(table: str) -> Iterator[list[str]]:
    """Yield the fields of each row of a table beside this module, whose first line says where it is from."""
    lines = Path(__file__).with_name(table).read_text(encoding="utf-8").splitlines()
    yield from (line.split("\t") for line in lines[1:])


def _entries(source: Source, name: str, channel: str) -> list[tuple[re.Match[str], str, str]]:
    """Return each message: its head, its person, "" for the messenger itself, and its words with the lines that follow."""
    begins, parts = (_WHATSAPP.match, _of_whatsapp) if channel == "whatsapp" else (_WECHAT.fullmatch, _of_wechat)
    entries: list[tuple[re.Match[str], list[str]]] = []
    with source.text(name) as file:
        for line in file:
            text = line.rstrip("\r\n")
            if match := begins(text):
                entries.append((match, []))
            elif entries:
                entries[-1][1].append(text)
    return [(head, *parts(head, lines)) for head, lines in entries]


def _of_wechat(head: re.Match[str], following: list[str]) -> tuple[str, str]:
    return (head["first"] or head["last"]).strip(), "\n".join(following)


def _of_whatsapp(head: re.Match[str], following: list[str]) -> tuple[str, str]:
    named = _NAME.fullmatch("\n".join([head["said"], *following]))
    name, text = (named["name"], named["text"]) if named else ("", "")
    if name.count('"') % 2 or any(name.count(pair[0]) > name.count(pair[1]) for pair in _QUOTES):
        return "", ""  # of WhatsApp's own: a group was given a name with a colon
    return name, text


def _order(log: Reading, name: str, dates: list[list[int]]) -> str:
    """Return the order of the dates in the file, which is given or found; NotImported where it could be two."""
    orders = [log.dates] if log.dates else [*_ORDERS]
    days = {order: [[date[place] for place in _ORDERS[order]] for date in dates] for order in orders}
    possible = [order for order, listed in days.items() if all(map(_is_day, listed))]
    left = [order for order in possible if days[order] == sorted(days[order])] or possible
    if len(left) > 1:  # years of two digits come last, but where they can't
        left = [order for order in left if order != "ymd"]
    if len(left) != 1:
        why = Text("its dates may have the day or the month first: say which one with --dates: dmy, mdy or ymd")
        raise NotImported(log.source.path / name, why)
    return left[0]


def _is_day(numbers: list[int]) -> bool:
    year, month, day = numbers
    return month in range(1, 13) and day in range(1, 32) and (max(numbers) < _TWO_DIGITS or year == max(numbers))


def _numbers(match: re.Match[str]) -> list[int]:
    return [int(piece) for piece in re.findall(r"\d+", match["date"])]


@lru_cache
def _hours_of(period: str) -> tuple[int, ...]:
    """Return the hours that a word for a part of the day means, such as "p. m." or "凌晨"; none for another word."""
    word = re.sub(r"[\s.,،\u200f]", "", period).casefold()
    return next((tuple(map(int, hours)) for known, *hours in _rows("day_periods.tsv") if known == word), ())


def _time(match: re.Match[str], order: str) -> str:
    year, month, day = map(_numbers(match).__getitem__, _ORDERS[order])
    year += 2000 if year < _TWO_DIGITS else -_BUDDHIST if year in _BUDDHIST_YEARS else 0
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    if hours := _hours_of(match["before"]) or _hours_of(match["after"]):
        hour = min((hour % _NOON, hour % _NOON + _NOON), key=lambda number: min(abs(number - of) for of in hours))
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
