"""Rubbish with a seed: bytes as crashes, editors, foreign programs and people leave them."""

import json
import random
from collections.abc import Callable
from functools import partial
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


def _slice(data: bytes, pick: random.Random) -> bytes:
    """Without a piece, with it again or thirty times more, or with zeros in its place."""
    start = pick.randint(0, len(data))
    end = min(len(data), start + pick.choice((1, 4, 40, 400)))
    piece = data[start:end]
    return data[:start] + pick.choice((b"", piece * 2, piece * 31, b"\0" * len(piece))) + data[end:]


def _insertion(data: bytes, pick: random.Random) -> bytes:
    """With something odd in it."""
    odd = (
        lambda: pick.randbytes(pick.choice((1, 3, 50))),
        lambda: pick.choice(ODD_TEXT).encode("utf-8", "surrogatepass"),
        lambda: pick.choice(ODD_JSON).encode(),
    )
    at = pick.randint(0, len(data))
    return data[:at] + pick.choice(odd)() + data[at:]


def _flip(data: bytes, pick: random.Random) -> bytes:
    at = pick.randint(0, len(data))
    return data[:at] + bytes([data[at] ^ 1 << pick.randrange(8)]) + data[at + 1 :] if at < len(data) else data


def _lines(data: bytes, pick: random.Random) -> bytes:
    lines = data.split(b"\n")
    a, b = pick.randrange(len(lines)), pick.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def _whole(data: bytes, pick: random.Random) -> bytes:
    """All of it otherwise; only what is drawn is made, since some backups have megabytes."""
    text, count = partial(data.decode, "utf-8", "replace"), len(data)
    ways = (
        lambda: b"", lambda: b"\n", lambda: b"\xef\xbb\xbf" + data, lambda: text().encode("utf-16"),
        lambda: text().encode("gb18030", "replace"), lambda: data.replace(b"\n", b"\r\n"), lambda: data + data,
        lambda: b"[" * 5_000, lambda: bytes(count), lambda: pick.randbytes(count),
    )  # fmt: skip
    return pick.choice(ways)()


def _value(data: bytes, pick: random.Random) -> bytes:
    """Put another value, or none, in the place of one somewhere in a JSON document; bytes that are none get something odd."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return _insertion(data, pick)
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
    lambda data, pick: data[: pick.randint(0, len(data))],
    *[_slice] * 3, *[_insertion] * 4, *[_value] * 3, _flip, _lines, _whole,
)  # fmt: skip
