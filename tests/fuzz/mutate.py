"""Rubbish with a seed: bytes as crashes, editors, foreign programs and people leave them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

#: What has broken readers of JSON, Markdown, YAML and TOML before.
ODD_TEXT = (
    "\0", "\ufeff", "\u2028", "\r\n", "\ud83d", "\x1b[31m", "---\n", "---\nrecalld: 99\n---\n", "```", "````json\n", "<!-- {", "-->",
    "<!-- recalld: made from -->", "<!-- recalld: below this line stands newer machine text; what is above was edited and is kept -->",
    "**09:02 user**", "[memory.md] ", "## ", "无需记录", "<think>", "../../etc/passwd", "\u202e反", "é", "é", "ｆｕｌｌ", "🐈‍⬛",
    "'''", '"""', "[[[", "= =", "!!python/object:x", "&a *a", "%s %d {0}", "{" * 40, "a" * 3_000, "字" * 3_000, "\t", "\u200b",
)  # fmt: skip
ODD_JSON = (
    "NaN", "-Infinity", "1e999", "7" * 5_000, "null", "true", '"pending"', "{}", "[]", "-1", "1.5", '""', '"\\ud800"', "[" * 600,
    '{"id": 1, "id": 2}', '"2026-13-45T99:99:99Z"', '"0001-01-01T00:00:00Z"', '"9999-12-31T23:59:60Z"', "1e18", '["a", {"text": "b"}]',
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1 << 70, 1.5, "", "pending", "true", "\0", "\ud800", [], {}, [None], {"x": 1}, "../x", "2026-02-30T25:61:00Z", 1e300,
)  # fmt: skip


def mutated(data: bytes, pick: random.Random) -> bytes:
    """Return *data* with one to four things done to it."""
    for _ in range(pick.choice((1, 1, 1, 2, 4))):
        data = pick.choice(WAYS)(data, pick)
    return data


def _place(data: bytes, pick: random.Random) -> int:
    return pick.randint(0, len(data))


def _slice(data: bytes, pick: random.Random) -> tuple[int, int]:
    start = _place(data, pick)
    return start, min(len(data), start + pick.choice((1, 4, 40, 400)))


def _cut(data: bytes, pick: random.Random) -> bytes:
    return data[: _place(data, pick)]


def _without(data: bytes, pick: random.Random) -> bytes:
    start, end = _slice(data, pick)
    return data[:start] + data[end:]


def _twice(data: bytes, pick: random.Random) -> bytes:
    start, end = _slice(data, pick)
    return data[:end] + data[start:end] * pick.choice((1, 1, 30)) + data[end:]


def _zeros(data: bytes, pick: random.Random) -> bytes:
    start, end = _slice(data, pick)
    return data[:start] + b"\0" * (end - start) + data[end:]


def _flip(data: bytes, pick: random.Random) -> bytes:
    at = _place(data, pick)
    return data[:at] + bytes([data[at] ^ 1 << pick.randrange(8)]) + data[at + 1 :] if at < len(data) else data


def _noise(data: bytes, pick: random.Random) -> bytes:
    at = _place(data, pick)
    return data[:at] + pick.randbytes(pick.choice((1, 3, 50))) + data[at:]


def _text(data: bytes, pick: random.Random) -> bytes:
    at = _place(data, pick)
    return data[:at] + pick.choice(ODD_TEXT).encode("utf-8", "surrogatepass") + data[at:]


def _token(data: bytes, pick: random.Random) -> bytes:
    at = _place(data, pick)
    return data[:at] + pick.choice(ODD_JSON).encode() + data[at:]


def _lines(data: bytes, pick: random.Random) -> bytes:
    lines = data.split(b"\n")
    a, b = pick.randrange(len(lines)), pick.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def _whole(data: bytes, pick: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return pick.choice(
        (
            b"", b"\n", b"\xef\xbb\xbf" + data, text.encode("utf-16"), text.encode("gb18030", "replace"), data.replace(b"\n", b"\r\n"),
            data + data, b"[" * 5_000, b"\0" * len(data), pick.randbytes(len(data)),
        )
    )  # fmt: skip


def _value(data: bytes, pick: random.Random) -> bytes:
    """Put another value, or none, in the place of one somewhere in a JSON document; bytes that are none stay."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return _token(data, pick)
    holder: Any = document
    while isinstance(holder, (dict, list)) and holder:
        place = pick.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        if not isinstance(holder[place], (dict, list)) or not holder[place] or pick.random() < 0.3:
            if pick.random() < 0.2:
                del holder[place]
            else:
                holder[place] = pick.choice(ODD_VALUES)
            break
        holder = holder[place]
    return json.dumps(document, ensure_ascii=pick.random() < 0.5).encode("utf-8", "surrogatepass")


WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut, _without, _twice, _zeros, _flip, _noise, _text, _text, _token, _lines, _whole, _value, _value, _value,
)  # fmt: skip
