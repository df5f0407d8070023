"""
The parser of inbox.json, the user inputs that nobody has answered yet; the assistant writes it (docs/reference/protocol.md, 7).

It is an array of {id, text, createdAt, channel?, session?, chat?}, parsed as tolerantly as a message: plain strings, other
names of fields and an object around the array are accepted. Elements that are not inputs are skipped.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from ..storage.lenient_json import parse_json, render_json
from ..storage.texts import Text
from .message import InvalidEntry, Message, read_message

ChatKind: TypeAlias = Literal["direct", "group", "channel"]
#: Marks in a session key of a common client, "agent:main:telegram:group:-1001", that others read the chat too. Both are
#: matched where "mySuperGroup" is "my_Super_Group". In doubt a key is a group's. Each is compiled when a key is first
#: asked about: a command without one does not wait for it.
_CAMEL: Final = r"(?<=[a-z])(?=[A-Z])"
_CHANNEL: Final = r"channels?(?![^\W\d_])|频道|頻道"
_GROUP: Final = r"""
      group(?!ware)
    | (?<![^\W\d_]) (?:guild|(?:chat)?rooms?) (?![^\W\d_])
    | 群(?![^\W\d_]) | (?:qq|微信|飞书|钉钉)群 | 群[聊组組] | [讨討][论論][组組] | 聊天室
    | @(?:g\.us|broadcast|newsletter)\b | @chatroom\b | @thread\. | @(?:conference|muc)\.  # WhatsApp, WeChat, Teams, XMPP
    | (?<![^\W_])-\d | -100\d{10}  # Telegram: its groups have negative numbers
    | (?<![^\W_])[!#]\w  # Matrix, IRC
    | (?<![^\W_])oc_[0-9a-z] | (?<![^\W_])spaces?[:/] | ;\+;  # Feishu, Google Chat, iMessage
    | (?<![^\W_])(?:discord(?![^\W_]).*thread|zulip(?![^\W_]).*stream|ding(?:talk|ding)?(?![^\W_]).*(?<![^\W_])cid)
    | (?<![^\W_])slack(?![^\W_]).*[\W_] (?:(?-i:[CG][A-Z0-9]+)|[cg]0[a-z0-9]+) (?![^\W_])  # people: U…, direct chats: D…
    | ^(?-i:[CG]0[A-Z0-9]{7,})$
    | (?<![^\W_])line(?![^\W_]).*[\W_] [cr][0-9a-f]{8,}  # people have U…
    """


@dataclass(frozen=True, slots=True)
class Chat:
    """The chat of a message: with the user alone, a group or a channel; *session* is its key, "" if unknown."""

    kind: ChatKind = "direct"
    session: str = ""

    @property
    def is_direct(self) -> bool:
        """Whether only the user reads the chat."""
        return self.kind == "direct"


DIRECT: Final = Chat()


def chat_of(raw: Mapping[str, Any]) -> Chat:
    """
    Return the chat of a message: by its `chat` field, else by a mark in its session key, else direct.

    A chat that is neither "direct" nor "channel" is a group, whatever it says: private memories must not go to others.

    >>> chat_of({"session": "agent:main:telegram:group:-1001"}).kind, chat_of({"chat": "channel"}).kind, chat_of({}).kind
    ('group', 'channel', 'direct')
    """
    session, chat = raw.get("session"), raw.get("chat")
    key = session if isinstance(session, str) else ""
    if chat is None:
        return _chat_by_key(key) if key else DIRECT
    return Chat("direct" if chat == "direct" else "channel" if chat == "channel" else "group", key)


@lru_cache(maxsize=1_000)  # a turn asks for the chat of each message of history.json
def _chat_by_key(key: str) -> Chat:
    words = re.sub(_CAMEL, "_", key)
    if re.search(_CHANNEL, words, re.IGNORECASE):
        return Chat("channel", key)
    return Chat("group" if re.search(_GROUP, words, re.IGNORECASE | re.VERBOSE) else "direct", key)


def parse_inbox(data: bytes, zone: tzinfo) -> tuple[Message, ...]:
    """Return the inputs in order; ValueError with a reason where *data* is not JSON. Times without an offset are in *zone*."""
    read = [_read_input(raw, zone) for raw in _elements(parse_json(data))]
    return tuple(entry for entry in read if entry)


def count_unread(data: bytes, zone: tzinfo) -> int:
    """Return how many elements would be inputs and have no words; ValueError as in `parse_inbox`."""
    ours = (raw for raw in _elements(parse_json(data)) if not (isinstance(raw, dict) and "role" in raw))
    return sum(_read_input(raw, zone) is None for raw in ours)


def without_inputs(data: bytes, taken: Collection[tuple[str, str]], zone: tzinfo) -> bytes | None:
    """
    Return *data* without the inputs of these ids and words (an input without an id by ""); None where none of them is there.

    All other elements, and an object around the array, stay as they are.
    """
    whole = parse_json(data)
    elements = _elements(whole)

    def stays(raw: object) -> bool:
        entry = _read_input(raw, zone)
        return entry is None or (entry.id, entry.text) not in taken

    left = [raw for raw in elements if stays(raw)]
    if len(left) == len(elements):
        return None
    if isinstance(whole, dict):
        whole = {key: left if value is elements else value for key, value in whole.items()}
        return render_json(whole if any(value is left for value in whole.values()) else left) + b"\n"
    return render_json(left) + b"\n"


def _elements(listed: object) -> list[object]:
    """Return the elements of the array, of an object's only array, or the object itself as the only one."""
    if isinstance(listed, dict):
        lists = [value for value in listed.values() if isinstance(value, list)]
        return lists[0] if len(lists) == 1 else [listed]
    if not isinstance(listed, list):
        raise ValueError(Text("it holds no array"))  # noqa: TRY004 - every fault of the bytes is one kind
    return listed


def _read_input(raw: object, zone: tzinfo) -> Message | None:
    fields = {"text": raw} if isinstance(raw, str) else raw
    message = read_message({"role": "user", **fields} if isinstance(fields, dict) else raw, zone)
    return message if not isinstance(message, InvalidEntry) and message.role == "user" and message.text.strip() else None
