"""
A dated file, `memory/2026-01-28-deploy.md`: the verbatim words of a day, made once, and read back to the same messages.

Each message is a block: a comment line with what must survive as JSON, a line with local time and role, and the words
exactly as written. Where Markdown would hide or change them they stand in a fence longer than any in them, where it can't
hold them as a JSON string. A person who deletes a block deletes a memory. Source: docs/protocol.md, 4; 003, 归档流程.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence  # noqa: TC003 - dataclass fields
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from supervisor.protocol.clock import from_wire, local, to_wire
from supervisor.protocol.frontmatter import FORMAT, read_head, render_head
from supervisor.protocol.message import OUR_FIELDS, ROLES, Key, Message, digest_of_text, fingerprint_of

if TYPE_CHECKING:
    from datetime import date, datetime, tzinfo
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Block:
    """
    One message as a dated file holds it.

    *id* is that of the message, or ``<id>~<8 hex digits>`` for other words of the message *of*, written before; *fields* are
    the other fields of its JSON object; *words_in* names the field that held the text.
    """

    id: str
    role: str
    text: str
    created_at: datetime
    fields: Mapping[str, Any]
    words_in: str = "text"
    of: str = ""

    @property
    def key(self) -> Key:
        """Identity and words of the message as history knows it."""
        return (self.of or self.id, digest_of_text(self.text))

    @property
    def bases(self) -> tuple[str, ...]:
        """What Message.bases is for the message of this block."""
        role = self.fields.get("role", self.role)
        created_at = self.fields.get("createdAt", to_wire(self.created_at))
        bases = (fingerprint_of(created_at, role, self.text),)
        return (
            (fingerprint_of(self.fields["createdAtFound"], role, self.text), *bases)
            if "createdAtFound" in self.fields
            else bases
        )


@dataclass(frozen=True, slots=True)
class DatedFile:
    """A dated file of ours, parsed."""

    period: str  # "2026-01-28"
    zone: str  # IANA name of the zone it was made in
    created: datetime
    digest: str  # of the body, as it was written
    blocks: Sequence[Block]


#: Hex digits of the words' digest behind a revision's id.
REVISION: Final = 8
_MARK: Final = re.compile(r"^<!-- (\{.*\}) -->\n\*\*(?:\d\d:\d\d) ([^\n]*)\*\*\n\n", re.MULTILINE)
_FENCED: Final = re.compile(r"(`{3,})(json)?\n(.*)\n\1\n*", re.DOTALL)
#: What Markdown can't hold, or an editor would change: control characters, CR, lone surrogates, a BOM.
_UNWRITABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufeff\ufffe\uffff]")
#: A line that would read as the head of another block, even inside a fence.
_FORGED: Final = re.compile(r"^<!-- \{", re.MULTILINE)
#: What would hide the words that follow or pass for another speaker: HTML, a line like our own, a fence.
_UNPLAIN: Final = re.compile(r"^[ \t]{0,3}(?:<[A-Za-z!?/]|\*\*\d\d:\d\d |`{3}|~{3})", re.MULTILINE)
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)
_SHOWN_ROLE: Final = re.compile(r"[a-z][a-z_-]{0,31}")


def block_of(message: Message, *, revision: bool = False) -> Block:
    """Return the block of a message that has its time; *revision*: other words stand written under its id."""
    if message.created_at is None:
        raise ValueError("a message without a time can't be filed")
    words_in = "text" if "text" in message.raw else "content"
    foreign = {k: v for k, v in message.raw.items() if k not in {"id", "createdAt", *OUR_FIELDS}}
    if foreign.get(words_in) == message.text:
        del foreign[words_in]
    if foreign.get("role") == message.role and _SHOWN_ROLE.fullmatch(message.role):
        del foreign["role"]
    found = message.raw.get("createdAt")
    if found != to_wire(message.created_at):
        foreign["createdAt"] = found
    if not revision:
        return Block(message.id, message.role, message.text, message.created_at, foreign, words_in)
    identity = f"{message.id}~{message.words[:REVISION]}"
    return Block(identity, message.role, message.text, message.created_at, foreign, words_in, message.id)


def render_dated(period: date, zone_name: str, zone: tzinfo, created: datetime, blocks: Sequence[Block]) -> bytes:
    """Return the whole file in UTF-8."""
    body = "\n" + "\n".join(_render_block(block, zone) for block in blocks)
    head = render_head(
        {
            "recalld": str(FORMAT),
            "kind": "dated",
            "period": period.isoformat(),
            "zone": zone_name,
            "created": to_wire(created),
            "count": str(len(blocks)),
            "digest": body_digest(body),
        },
    )
    return (head + body).encode()


def body_digest(body: str) -> str:
    """Return the first 16 hex digits of the sha256 of a file's text below its head."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def parse_dated(data: bytes, path: Path) -> DatedFile | None:
    """
    Return the file's messages; None where it is a person's own file (no head of ours, or not UTF-8).

    A block that a person broke is skipped: what can still be read is returned. NewerFormat when a newer recalld wrote it.
    """
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    head, body = read_head(text, path)
    if head.get("kind") != "dated":
        return None
    try:
        created = from_wire(head.get("created", ""))
    except ValueError:
        return None
    marks = list(_MARK.finditer(body))
    ends = [*(mark.start() for mark in marks[1:]), len(body)][: len(marks)]
    blocks = (_parse_block(mark, body[mark.end() : end]) for mark, end in zip(marks, ends, strict=True))
    return DatedFile(
        period=head.get("period", ""),
        zone=head.get("zone", ""),
        created=created,
        digest=head.get("digest", ""),
        blocks=tuple(block for block in blocks if block),
    )


def is_broken(data: bytes) -> bool:
    """Tell whether the bytes of a file that recalld made are plainly no person's edit: zeros, or no end of the last line."""
    return b"\0" in data or not data.endswith(b"\n")


def _render_block(block: Block, zone: tzinfo) -> str:
    about: dict[str, Any] = {"id": block.id, "createdAt": to_wire(block.created_at)}
    if block.of:
        about["of"] = block.of
    if block.words_in != "text":
        about["words"] = block.words_in
    if block.fields:
        about["fields"] = dict(block.fields)
    # subtle: `>` escaped, so that no field can end the comment
    comment = json.dumps(about, ensure_ascii=False, allow_nan=False)
    if _UNWRITABLE.search(comment):
        comment = json.dumps(about, allow_nan=False).replace("\x7f", "\\u007f")
    comment = comment.replace(">", "\\u003e")
    shown = block.role if _SHOWN_ROLE.fullmatch(block.role) else "other"
    said_at = local(block.created_at, zone)
    return f"<!-- {comment} -->\n**{said_at:%H:%M} {shown}**\n\n{_render_words(block.text)}"


def _render_words(text: str) -> str:
    """Return the words, plain wherever they come back unchanged and hide nothing below them."""
    if _UNWRITABLE.search(text) or _FORGED.search(text):
        return f"```json\n{json.dumps(text)}\n```\n".replace("\x7f", "\\u007f")
    if text and text == text.strip() and not _needs_fence(text):
        return f"{text}\n"
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}\n"


def _needs_fence(text: str) -> bool:
    """Tell whether plain words would begin like a fence, leave one open, or hold a line that hides or forges."""
    if re.match(r"[`~]{3}", text):
        return True
    outside, fence = [], ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
        elif match:
            fence = match[1]
        else:
            outside.append(line)
    return bool(fence) or bool(_UNPLAIN.search("\n".join(outside)))


def _parse_block(mark: re.Match[str], words: str) -> Block | None:
    try:
        about = json.loads(mark[1])
        fields = dict(about.get("fields", {}))
        created_at = from_wire(about["createdAt"])
        identity, words_in, of = str(about["id"]), str(about.get("words", "text")), str(about.get("of", ""))
        text = _parse_words(words)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    role = str(fields.get("role", mark[2]))
    return Block(identity, ROLES.get(role, role), text, created_at, fields, words_in, of)


def _parse_words(words: str) -> str:
    fenced = _FENCED.fullmatch(words)
    if not fenced:
        return words.strip("\n")
    if fenced[2]:
        text = json.loads(fenced[3])
        if not isinstance(text, str):
            raise ValueError("the words are not a string")
        return text
    return fenced[3]
