"""
The exports of messengers: Telegram's `result.json`, of one chat or of all, and WhatsApp's text file.

Every person in them has the role `user` and is named. A chat of more than two people is a group (protocol.md, 2.9).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from ..storage.catalogue import Text
from ..text.lazy_re import lazy_re
from .source import NotImported
from .talk import Conversation, Said, when

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

    from .source import Source
    from .talk import Reading, Talk

#: What kind of chat each of Telegram's types is; the others are direct.
_TELEGRAM_CHATS: Final = {
    **dict.fromkeys(("private_group", "private_supergroup", "public_supergroup"), "group"),
    **dict.fromkeys(("private_channel", "public_channel"), "channel"),
}
#: The beginning of a message of WhatsApp, on an iPhone in brackets: date, time, and "Name: text".
_WHATSAPP: Final = lazy_re(
    r"[\u200e\u200f\ufeff]*\[?(?P<date>\d{1,4}[./-]\d{1,2}[./-]\d{1,4}),?[\s\u202f]+"
    r"(?P<before>上午|下午|凌晨|中午|晚上)?[\s\u202f]*(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    r"(?:[\s\u202f]*(?P<after>[AaPp])\.?[Mm]\.?)?(?:\]|\s+-)\s+(?P<said>.*)",
    re.DOTALL,
)
_NAME: Final = lazy_re(r"(?P<name>[^:：\n]{1,100})[:：][ \u200e](?P<text>.*)", re.DOTALL)
_MARKS: Final = str.maketrans("", "", "\u200e\u200f\ufeff")
#: What WhatsApp writes in place of a picture that the export does not have.
_OMITTED: Final = lazy_re(
    r"[<‹]?(?:(?:media|image|video|audio|sticker|document|GIF|Contact card) omitted|省略多媒体(?:文件)?|忽略多媒体文件"
    r"|图片已省略|未包含媒体|Medien ausgeschlossen|(?:Bild|Video|Audio|Sticker|Dokument) weggelassen)[>›]?",
    re.IGNORECASE,
)
#: A picture or file that the export has, by its name.
_ATTACHED: Final = lazy_re(
    r"[<‹][^<>‹›:：\n]{1,30}[:：]\s*(?P<file>[^<>‹›\n]{1,200})[>›]"
    r"|(?P<name>\S{1,200}) \((?:file attached|Datei angehängt|文件附件)\)"
)
#: What a session of WhatsApp begins with, and how many equal messages make two exports one chat.
_WHATSAPP_SESSION: Final = "whatsapp:"
_SAME_CHAT: Final = 3
_CHAT_NAME: Final = lazy_re(
    r"(?:WhatsApp (?:Chat with|Chat -|Chat)|与)\s*(?P<name>.+?)(?:的\s*WhatsApp\s*(?:聊天|对话))?", re.IGNORECASE
)
#: The orders of year, month and day, as places in the date.
_ORDERS: Final = {"ymd": (0, 1, 2), "dmy": (2, 1, 0), "mdy": (2, 0, 1)}
_TWO_DIGITS: Final = 100
_MONTHS: Final = 12
_DAYS: Final = 31
_NOON: Final = 12


def telegram_files(source: Source) -> list[str]:
    """Return the files of an export of Telegram's."""
    return source.json_with(frozenset({"messages", "type", "id"}), frozenset({"chats", "about"}))


def telegram(log: Reading) -> Talk:
    """Yield the messages of Telegram's export; what only says that somebody joined or called is left out."""
    for name in telegram_files(log.source):
        keys = log.source.keys(name)
        for prefix in ("chats.list.item", "left_chats.list.item") if "chats" in keys else ("",):
            path = f"{prefix}." if prefix else ""
            for around, raw in log.source.records(name, f"{path}messages.item"):
                chat = around.get(f"{path}id", 0)
                kind = _TELEGRAM_CHATS.get(str(around.get(f"{path}type")), "")
                title = str(around.get(f"{path}name") or "")
                conversation = Conversation(id=f"telegram:{chat}", channel="telegram", title=title, chat=kind)
                if raw.get("type") == "message":
                    yield conversation, _telegram_message(raw, chat, log.zone)
                elif raw.get("type") != "service":
                    log.unread.note("message", f"{name} {chat} {raw.get('id')}")


def _telegram_message(raw: Mapping[str, Any], chat: object, zone: tzinfo) -> Said:
    pieces = raw.get("text")
    parts = [pieces] if isinstance(pieces, str) else pieces if isinstance(pieces, list) else []
    text = "".join(
        part if isinstance(part, str) else str(part.get("text") or "") for part in parts if isinstance(part, (str, dict))
    )
    for field in ("photo", "file"):
        if isinstance(raw.get(field), str):
            kind = raw.get("media_type") or ("photo" if field == "photo" else "file")
            text = f"{text}\n[{raw.get('file_name') or kind}]".strip("\n")
    at = when(raw.get("date_unixtime"), zone) or when(raw.get("date"), zone)
    return Said(id=f"telegram:{chat}:{raw.get('id')}", at=at, role="user", text=text, name=str(raw.get("from") or ""))


def whatsapp_files(source: Source) -> list[str]:
    """Return the text files of the source that begin like an export of WhatsApp's."""
    found = []
    for name in source.named("*.txt"):
        with source.text(name, "replace") as file:
            head = file.read(4_000).splitlines()
        if any(_WHATSAPP.match(line) for line in head[:3]):
            found.append(name)
    return found


def whatsapp(log: Reading) -> Talk:
    """
    Yield the messages of WhatsApp's text files.

    The order of day and month is that of the phone, and the file does not say which: a day above twelve tells it, else the one
    order in which no message is older than the one before. NotImported where both remain.
    """
    for name in whatsapp_files(log.source):
        order = _order(log.source, name, log.dates)
        people = {said["name"] for _, said in _entries(log.source, name) if said}
        title = _title(log.source, name)
        chat = _known_chat(log, name, title)
        conversation = Conversation(
            id=f"{_WHATSAPP_SESSION}{chat}", channel="whatsapp", title=title, chat="group" if len(people) > 2 else ""
        )
        for number, found, key in _whatsapp_said(log.source, name):
            at = _time(found, order, log.zone)
            if at is None:
                log.unread.note("time", f"{name}#{number}")
            *_, person, text, _ = key
            yield conversation, Said(id=_whatsapp_id(chat, key), at=at, role="user", text=text, name=person.strip("~ \u202f"))


def _whatsapp_said(source: Source, name: str) -> Iterator[tuple[int, re.Match[str], tuple[str, ...]]]:
    """Yield number and beginning of what people said, and what tells it from the rest: time, person, text, its number."""
    same: Counter[tuple[str, ...]] = Counter()
    for number, (found, said) in enumerate(_entries(source, name), 1):
        text = _whatsapp_text(said["text"]) if said else ""  # else who joined, and that messages are encrypted
        if said and text:
            key = (found["date"], found["hour"], found["minute"], str(found["second"]), said["name"], text)
            same[key] += 1
            yield number, found, (*key, str(same[key]))


def _whatsapp_id(chat: str, key: tuple[str, ...]) -> str:
    digest = hashlib.sha256("\n".join((chat, *key)).encode()).hexdigest()
    return f"{_WHATSAPP_SESSION}{digest[:16]}"


def _known_chat(log: Reading, name: str, title: str) -> str:
    """
    Return the chat of the workspace that has messages of the file; *title*, by the name of the file, where none has.

    An export says nothing of its chat but what was said in it, and its file may have been renamed.
    """
    sessions = {one for one in log.sessions() if one.startswith(_WHATSAPP_SESSION)}
    chats = sorted(one.removeprefix(_WHATSAPP_SESSION) for one in sessions)
    if not chats or title in chats:
        return title
    found: Counter[str] = Counter()
    chat, count, total = title, 0, 0
    for _, _, key in _whatsapp_said(log.source, name):
        total += 1
        found.update(chat for chat in chats if log.is_known(_whatsapp_id(chat, key)))
        chat, count = max(found.items(), key=lambda one: one[1], default=(title, 0))
        if count >= _SAME_CHAT:
            return chat
    return chat if count == total else title


def _whatsapp_text(found: str) -> str:
    """Return what was said, a picture as its name or "[image]"; "" for a sentence of WhatsApp's own: it begins with a mark."""
    text = found.translate(_MARKS).strip()
    if _OMITTED.fullmatch(text):
        return "[image]"
    if attached := _ATTACHED.fullmatch(text):
        return f"[{attached['file'] or attached['name']}]"
    return "" if found.startswith("\u200e") else text


def _title(source: Source, name: str) -> str:
    stem = PurePosixPath(name).stem
    if stem.lower() in ("_chat", "chat"):  # an iPhone names the archive alone
        stem = PurePosixPath(name).parent.name.removesuffix(".zip") or source.path.stem
        stem = source.path.parent.name if stem.lower() in ("_chat", "chat") else stem
    found = _CHAT_NAME.fullmatch(stem)
    return found["name"] if found else stem


def _entries(source: Source, name: str) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    """Yield each message, with the lines that follow: its beginning, and its name and text, None for what WhatsApp says."""
    held: list[str] = []

    def entry() -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
        found = _WHATSAPP.fullmatch("\n".join(held))
        if found:
            yield found, _NAME.fullmatch(found["said"])

    with source.text(name) as file:
        for line in file:
            text = line.rstrip("\r\n")
            if _WHATSAPP.match(text):
                yield from entry()
                held = [text]
            elif held:
                held.append(text)
    yield from entry()


def _order(source: Source, name: str, given: str) -> str:
    """Return the order of the dates in the file, which is *given* or found; NotImported where it could be two."""
    possible = dict.fromkeys([given] if given else _ORDERS)
    last: dict[str, tuple[int, ...]] = {}
    falling: set[str] = set()
    for found, _ in _entries(source, name):
        numbers = _numbers(found)
        for order in [*possible]:
            year, month, day = (numbers[n] for n in _ORDERS[order])
            is_date = 1 <= month <= _MONTHS and 1 <= day <= _DAYS
            if not is_date or (max(numbers) >= _TWO_DIGITS and year != max(numbers)):
                del possible[order]
            elif last.get(order, ()) > (year, month, day):
                falling.add(order)
            last[order] = (year, month, day)
    left = [order for order in possible if order not in falling] or [*possible]
    if len(left) > 1:  # years of two digits come last, but where they can't
        left = [order for order in left if order != "ymd"]
    if len(left) != 1:
        raise NotImported(source.path, Text("importing.two_dates", name=name), Text("importing.give_dates"))
    return left[0]


def _numbers(found: re.Match[str]) -> list[int]:
    return [int(piece) for piece in re.split("[./-]", found["date"])]


def _time(found: re.Match[str], order: str, zone: tzinfo) -> datetime | None:
    year, month, day = (_numbers(found)[n] for n in _ORDERS[order])
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    half = found["after"] or {"上午": "a", "凌晨": "a", "下午": "p", "晚上": "p", "中午": "p"}.get(found["before"], "")
    if half:
        hour = hour % _NOON + (_NOON if half in "Pp" else 0)
    try:
        t = datetime(year + 2000 if year < _TWO_DIGITS else year, month, day, hour, minute, second, tzinfo=zone)
    except ValueError:
        return None
    return when(t.isoformat(), zone)
