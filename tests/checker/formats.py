"""
The formats of a workspace, read a second time and in another way, so that the checker shares no code with what it checks.

Written from docs/reference/protocol.md and from what the files look like. A reader here is strict: what it can't read is a fault.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

_BLOCK = re.compile(r"^<!-- \{", re.MULTILINE)
_SOURCE = re.compile(r"^- (.+) · ([0-9]+) · ([0-9a-f]{16})$", re.MULTILINE)
EDITED = "<!-- recalld: below this line stands newer machine text"
_CHINESE = {"用户": "user", "助手": "assistant", "系统": "system", "工具": "tool", "其他": "other"}
_MADE_FROM = "<!-- recalld: made from -->\n"


class Unreadable(Exception):
    """The file is not what its name says; the text tells why."""


@dataclass(frozen=True)
class Words:
    """One message in a dated file, the suffix of a revision taken off its id."""

    id: str
    role: str
    text: str
    created_at: str
    judged: bool = False  # it came with a time that can't be


@dataclass(frozen=True)
class Dated:
    """A dated file of ours."""

    head: dict[str, str]
    words: tuple[Words, ...]


@dataclass(frozen=True)
class Summary:
    """A summary; *sources* maps names of dated files to digests, over all machine parts of the file."""

    head: dict[str, str]
    sources: dict[str, str]
    digest_holds: bool
    ends: bool  # the last machine part comes to its list of sources


def sha16(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def plain(data: bytes) -> bytes:
    """The bytes without a BOM and with plain line ends: what an editor may change without changing a word."""
    return data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")


def collapsed(data: bytes) -> bytes:
    """The bytes of a dated file without the blank lines around its words, as a formatter saves it; the words are as they were."""
    text = re.sub(r"\n+(<!-- \{[^\n]*)\n+(\*\*\d\d:\d\d [^\n]*)\n+", r"\n\1\n\2\n", data.decode("utf-8", "surrogateescape"))
    return text.encode("utf-8", "surrogateescape")


def with_crlf(data: bytes) -> bytes:
    """The bytes with the line ends of another system."""
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def split_head(text: str) -> tuple[dict[str, str], str]:
    """The lines between the two ``---`` as strings, and what follows; no lines where there is no head."""
    lines = text.split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        return {}, text
    end = lines.index("---", 1)
    head = {}
    for line in lines[1:end]:
        key, colon, value = line.partition(": ")
        if not colon:
            return {}, text
        head[key] = json.loads(value) if value.startswith('"') else value
    return head, "\n".join(lines[end + 1 :])


@lru_cache(maxsize=4096)
def read_dated(data: bytes) -> Dated | None:
    """The messages of a dated file of ours; None for a person's own file. Unreadable when it is damaged."""
    try:
        text = plain(data).decode("utf-8")
    except UnicodeDecodeError:
        return None
    head, body = split_head(text)
    if "recalld" not in head:
        return None
    if head.get("kind") != "dated":
        raise Unreadable(f"its kind is {head.get('kind')}")
    starts = [match.start() for match in _BLOCK.finditer(body)]
    pieces = [_as_written(body[start:end]) for start, end in zip(starts, [*starts[1:], None], strict=True)]
    words = tuple(_words_of(piece) for piece in pieces)
    if head.get("count") != str(len(words)):
        raise Unreadable(f"its head counts {head.get('count')} messages, it holds {len(words)}")
    before = body[: starts[0]].strip("\n") if starts else body
    if head.get("digest") != sha16("\n".join([before, *pieces]).encode()):
        raise Unreadable("its body is not the one its head has the digest of")
    zone = ZoneInfo(head["zone"])
    for one in words:
        local = datetime.fromisoformat(one.created_at).astimezone(zone).date().isoformat()
        if local != head["period"]:
            raise Unreadable(f"{one.id} is of {local}, the file of {head['period']}")
    return Dated(head, words)


def _as_written(piece: str) -> str:
    """A block with one blank line between its line and its words, as it was before a formatter came."""
    parts = re.fullmatch(r"([^\n]*)\n+([^\n]*)\n+(.*?)\n*", piece, re.DOTALL)
    return "{}\n{}\n\n{}\n".format(*parts.groups()) if parts else piece


def _words_of(piece: str) -> Words:
    comment, line, blank, rest = piece.split("\n", 3)
    try:
        about = json.loads(comment.removeprefix("<!-- ").removesuffix(" -->"))
    except ValueError:
        raise Unreadable(f"a block begins with {comment[:60]!r}") from None
    shown = re.fullmatch(r"\*\*[0-9]{2}:[0-9]{2} (.*)\*\*", line)
    if not shown or blank:
        raise Unreadable(f"{about['id']} has the line {line[:60]!r}")
    rest = _without_parts(rest, about.get("lines", 0))
    text = rest.strip("\n") if about.get("code") else _text_of(rest)
    stem, tilde, suffix = about["id"].rpartition("~")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    revision = bool(tilde) and len(suffix) == 8 and digest.startswith(suffix)
    role = str(about.get("role", _CHINESE.get(role := shown[1].split(" · ")[0], role)))
    return Words(stem if revision else about["id"], role, text, about["createdAt"], "createdAtFound" in about)


def _without_parts(rest: str, count: int) -> str:
    """The words without the lines of pictures and tools below them."""
    lines = rest.rstrip("\n").split("\n")
    parts = lines[len(lines) - count :] if count else []
    if not all(re.fullmatch(r"\((image|audio|video|file|call|result)\b.*\)", line) for line in parts):
        raise Unreadable(f"its last {count} lines are not those of parts")
    return "\n".join(lines[: len(lines) - count])


def _text_of(rest: str) -> str:
    rest = rest.strip("\n")
    first, *inner = rest.split("\n")
    ours = re.fullmatch(r"(`{3,})(json)?", first)
    if not ours or not inner or inner[-1] != ours[1]:
        return rest  # words that begin with code of their own
    held = "\n".join(inner[:-1])
    return str(json.loads(held)) if ours[2] else held


@lru_cache(maxsize=4096)
def read_summary(data: bytes) -> Summary:
    """What the summary names; a file without a machine part names nothing."""
    parts = re.split(f"^{re.escape(EDITED)}[^\n]*\n", plain(data).decode("utf-8", "surrogateescape"), flags=re.MULTILINE)
    head: dict[str, str] = {}
    sources: dict[str, str] = {}
    holds = ends = False
    for part in parts:
        found, body = split_head(part)
        if "recalld" not in found:
            continue
        head = found
        rest = part.replace(f"digest: {found.get('digest')}\n", "", 1)  # the digest is of all but its own line
        holds = found.get("digest") == sha16(rest.encode("utf-8", "surrogateescape"))
        _, mark, listed = body.rpartition(_MADE_FROM)
        sources.update({name: digest for name, _, digest in _SOURCE.findall(listed if mark else "")})
        ends = bool(mark) and all(_SOURCE.fullmatch(line) for line in listed.splitlines()) and part.endswith("\n")
    return Summary(head, sources, holds, ends)


@lru_cache(maxsize=256)
def read_history(data: bytes) -> tuple[dict[str, Any], ...]:
    """The array; Unreadable when it is none."""
    try:
        found = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is not JSON: {error}") from None
    if not isinstance(found, list):
        raise Unreadable("it is not an array")
    return tuple(one for one in found if isinstance(one, dict))


def read_lines(data: bytes, *keys: str) -> list[dict[str, Any]]:
    """
    The objects of a file that grows by lines. A line that a crash cut is no fault where *keys* is empty; else every line but an
    unfinished last one is an object that has these keys.
    """
    found = []
    for line in data.split(b"\n")[:-1]:
        one = _object(line)
        if isinstance(one, dict) and all(key in one for key in keys):
            found.append(one)
        elif keys and line:
            raise Unreadable(f"it has the line {line[:60]!r}")
    return found


@lru_cache(maxsize=20_000)
def _object(line: bytes) -> object:
    try:
        return json.loads(line.decode("utf-8"))
    except ValueError:
        return None


def read_failure(data: bytes) -> dict[str, Any]:
    """What is written of a group's last failure."""
    found = json.loads(data)
    if not isinstance(found, dict) or not isinstance(found["attempts"], int) or not found["reason"]:
        raise Unreadable(f"it is {found}")
    for key in ("failedAt", "nextAt"):
        datetime.fromisoformat(found[key])
    return found


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON")
