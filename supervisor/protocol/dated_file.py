"""
The format of a dated file, `memory/2026-01-28-deploy.md`: messages of one day, verbatim; parsing returns the same messages.

Each message is a block: a comment line with its other fields as JSON, a line with local time, role and the speaker's name, the
text exactly as written, and a line for each picture, file and call of a tool (`parts`). To delete a block is to
delete that memory. Source: docs/reference/protocol.md, 4.

The file begins with a head, as a summary does: lines between ``---``, YAML of which the strings are read. A file without such a
head is a person's own. A person may add keys, lists, maps and comments to it; a newer format is refused.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from pathlib import Path
from typing import Any, Final

from ..storage.clock import from_wire, local, to_wire
from ..storage.errors import NewerFormat
from ..text.language import ROLES
from ..text.lazy_re import lazy_re
from ..text.llm_output import after_thoughts
from .message import OUR_FIELDS, Key, Message, digest_of_text, fingerprints_of, role_of, text_field_of
from .parts import file_lines, is_code, parse_words, readable_json, render_words, speaker_of, tool_lines, without_lines

#: Hex digits of the text's digest in a revision's id.
REVISION: Final = 8
#: Hex digits of the digest of a body.
_DIGEST: Final = 16
#: The lines above a message's words; formatters take the blank lines between them away, or add some.
_MARK: Final = lazy_re(r"^<!-- (\{.*\}) -->\n+\*\*(?:\d\d:\d\d) ([^\n]*)\*\*\n+", re.MULTILINE)
#: What may be left of messages whose words were deleted: their comments, and the lines with time and speaker.
_WORDLESS: Final = lazy_re(r"<!--.*?-->|^\*\*\d\d:\d\d [^\n]*\*\*$", re.MULTILINE | re.DOTALL)
#: The head of a message at the end of a file, with nothing below it: not even an empty message is written so.
_TORN: Final = lazy_re(rb"\n<!-- \{[^\n]*\} -->\s*(?:\*\*\d\d:\d\d [^\n]*\*\*\s*)?\Z")
_SHOWN_ROLE: Final = lazy_re(r"[a-z][a-z_-]{0,31}")
#: The roles as a new file has them in Chinese; every file is read in both languages.
_CHINESE: Final = {**ROLES, "other": "其他"}
_OF_CHINESE: Final = {shown: role for role, shown in _CHINESE.items()}
FORMAT: Final = 1
#: Of dated files with names of speakers, or lines of pictures, files and tools.
SPEAKERS_FORMAT: Final = 2
#: Of dated files with roles in Chinese, or with code as it is.
DATED_FORMAT: Final = 3
_HEAD: Final = lazy_re(r"\A\ufeff?---\r?\n((?:[^\n]*\n)+?)---\r?\n")
#: A head ends within so many characters, with all that a person has added.
_MOST_CHARS: Final = 16_000
_MOST_BYTES: Final = 4 * _MOST_CHARS
#: A line of the head; a list or a map that a person adds is indented, or begins with a sign.
_FIELD: Final = lazy_re(r"""^([a-z]+): *("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s"'][^\n]*|)""", re.MULTILINE)
_NUMBER: Final = lazy_re(r"[0-9]{1,9}")
#: Characters that YAML does not allow; they are replaced, so that the head can be parsed.
_UNREADABLE: Final = lazy_re("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_PLAIN: Final = lazy_re(r"[A-Za-z0-9](?:[A-Za-z0-9 ./_+-]*[A-Za-z0-9./_+-])?(?::[A-Za-z0-9./_+-]+)*")


@dataclass(frozen=True, slots=True)
class Block:
    """
    One message in a dated file.

    *id* is the message's; a later text of a message that is written already has the id ``<id>~<8 hex digits>``, and
    *revision_of* is the message's id. *fields* are the other fields of its JSON object; *text_field* names the field that held
    the text.
    """

    id: str
    role: str
    text: str
    created_at: datetime
    fields: Mapping[str, Any]
    text_field: str = "text"
    revision_of: str = ""

    @property
    def key(self) -> Key:
        """The key of the message: the same as `Message.key`."""
        return (self.revision_of or self.id, digest_of_text(self.text))

    @property
    def words(self) -> str:
        """The part of the text that is searched and named: not what a model has thought aloud before it, in tags."""
        return after_thoughts(self.text) if self.role == "assistant" else self.text

    @property
    def speaker(self) -> str:
        """The speaker's name, "" where it is not known."""
        return speaker_of(self.fields)

    @property
    def session(self) -> str:
        """The key of the session that the message names, "" where it names none."""
        return self._name_in("session")

    @property
    def project(self) -> str:
        """The folder of the project in which the message was said, "" where it names none."""
        return self._name_in("project")

    def _name_in(self, field: str) -> str:
        name = self.fields.get(field)
        return name if isinstance(name, str) else ""

    @property
    def shown(self) -> str:
        """The words, and a line for each picture, file and call of a tool: what is found and quoted."""
        # the line of a result says only to which call it belongs
        calls = (line for line in tool_lines(self.fields) if line.startswith("(call"))
        return "\n".join(filter(None, (self.words, *file_lines(self.fields), *calls)))

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines below the text in a dated file: of pictures, files, and of tools that are called or answer."""
        return (*file_lines(self.fields), *tool_lines(self.fields))

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The fingerprints of the message: the same as `Message.fingerprints`."""
        return fingerprints_of(self.fields, self.fields.get("role", self.role), self.text, self.created_at)


@dataclass(frozen=True, slots=True)
class DatedFile:
    """The parsed content of a dated file that recalld made."""

    created: datetime
    count: int  # of the messages that were written
    blocks: Sequence[Block]
    is_edited: bool  # the body is no longer as it was written
    has_more: bool  # something in it is no block: a person's words, or a block that was broken
    is_emptied: bool  # below its head are at most comments and the lines with time and speaker


def block_of(message: Message, *, revision: bool = False) -> Block:
    """Return the block of a message that has a time; *revision*: another text is written under its id already."""
    if message.created_at is None:
        raise ValueError("a message without a time can't be written to a dated file")
    text_field = text_field_of(message.raw) or "content"
    others = {k: v for k, v in message.raw.items() if k not in {"id", "createdAt", *OUR_FIELDS}}
    if others.get(text_field) == message.text:
        del others[text_field]
    if others.get("role") == message.role and _SHOWN_ROLE.fullmatch(message.role):
        del others["role"]
    created = message.raw.get("createdAt")
    if created != to_wire(message.created_at):
        others["createdAt"] = created
    identity, of = (f"{message.id}~{message.text_digest[:REVISION]}", message.id) if revision else (message.id, "")
    return Block(identity, message.role, message.text, message.created_at, others, text_field, of)


def render_dated(
    period: date, zone_name: str, zone: tzinfo, created: datetime, blocks: Sequence[Block], language: str = "en"
) -> bytes:
    """
    Return the bytes of the whole file, in UTF-8; its roles are in Chinese where the language that is set is "zh".

    It has the first format that is enough for it, so that older programs read it.
    """
    body = "\n" + "\n".join(_render_block(block, zone, language) for block in blocks)
    head = render_head(
        {
            "recalld": str(_format_of(blocks, language)),
            "kind": "dated",
            "period": period.isoformat(),
            "zone": zone_name,
            "created": to_wire(created),
            "count": str(len(blocks)),
            "digest": body_digest(body),
        }
    )
    return (head + body).encode()


def _format_of(blocks: Sequence[Block], language: str) -> int:
    if language == "zh" or any(is_code(block.text) for block in blocks):
        return DATED_FORMAT
    return SPEAKERS_FORMAT if any(block.speaker or block.lines for block in blocks) else FORMAT


def body_digest(body: str) -> str:
    """Return the first 16 hex digits of the sha256 of *body*, a file's text below its head."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


def parse_dated(data: bytes, path: Path) -> DatedFile | None:
    """
    Return the file's messages; None for a file that recalld did not make (it has no head of recalld, or is not UTF-8).

    Blocks that can't be parsed any more are left out. NewerFormat when a newer recalld wrote the file.
    """
    try:
        text = without_torn_end(data).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    head, body = read_head(text, path)
    if head.get("kind") != "dated":
        return None
    try:
        created = from_wire(head.get("created", ""))
    except ValueError:
        return None
    before, pieces = pieces_of(body)
    blocks = tuple(block for _, block in pieces if block)
    return DatedFile(
        created=created,
        count=number_in(head, "count") or 0,
        blocks=blocks,
        is_edited=not is_as_written(body, head),
        has_more=len(blocks) < len(pieces) or bool(before.strip()),
        is_emptied=not pieces and not _WORDLESS.sub("", body).strip(),
    )


def without_torn_end(data: bytes) -> bytes:
    """Return a dated file without the head of a last message whose words were cut off: the file ends before that message."""
    torn = _TORN.match(data, max(0, data.rfind(b"\n<!-- {")))
    return data[: torn.start() + 1] if torn else data


def is_broken(data: bytes, path: Path) -> bool:
    """True if a file that recalld made was damaged, not edited: it holds zero bytes, or has lost its end."""
    if b"\0" in data or data.endswith(b"\n"):
        return b"\0" in data
    # an editor took the last newline away, or a person wrote on below: what recalld wrote is all there
    head, body = head_and_body(data, path)
    written = hashlib.sha256()
    for line in f"{body}\n".encode("utf-8", "surrogatepass").splitlines(keepends=True):
        written.update(line)
        if written.hexdigest()[:_DIGEST] == head.get("digest"):
            return False
    return not is_as_written(body, head)


def is_as_written(body: str, head: Mapping[str, str]) -> bool:
    """True if the body has the digest of its head; an editor may have taken its last newline away."""
    return head.get("digest") in (body_digest(body), body_digest(f"{body}\n"))


def head_and_body(data: bytes, path: Path) -> tuple[dict[str, str], str]:
    """Return what `read_head` returns of the text in *data*; what is not UTF-8 in it is replaced."""
    return read_head(data.decode("utf-8-sig", "replace").replace("\r\n", "\n"), path)


def _render_block(block: Block, zone: tzinfo, language: str) -> str:
    about: dict[str, Any] = {"id": block.id, "createdAt": to_wire(block.created_at)}
    if block.revision_of:
        about["of"] = block.revision_of
    if block.text_field != "text":
        about["words"] = block.text_field
    if block.fields:
        about["fields"] = dict(block.fields)
    if lines := block.lines:
        about["lines"] = len(lines)
    if is_code(block.text):
        about["code"] = True
    # subtle: `>` is escaped, so that no field can end the comment
    comment = readable_json(about).replace(">", "\\u003e")
    shown = block.role if _SHOWN_ROLE.fullmatch(block.role) else "other"
    shown = _CHINESE.get(shown, shown) if language == "zh" else shown
    head = f"{local(block.created_at, zone):%H:%M} {' · '.join(filter(None, (shown, block.speaker)))}"
    paragraphs = [render_words(block.text)] if block.text or not lines else []
    paragraphs += ["".join(f"{line}\n" for line in lines)] if lines else []
    return f"<!-- {comment} -->\n**{head}**\n\n" + "\n".join(paragraphs)


def pieces_of(body: str) -> tuple[str, list[tuple[str, Block | None]]]:
    """
    Return the body of a dated file in pieces: what is before the first message, and the text of each message as it stands.

    With the text there is the message, None for one that a person broke. It ends where the head of the next one begins.
    """
    marks = list(_MARK.finditer(body))
    bounds = [*(mark.start() for mark in marks), len(body)]
    texts = (body[start:end] for start, end in itertools.pairwise(bounds))
    return body[: bounds[0]], [(text, _block(mark, text[len(mark[0]) :])) for mark, text in zip(marks, texts, strict=True)]


def _block(mark: re.Match[str], markdown: str) -> Block | None:
    try:
        about = json.loads(mark[1])
        fields = dict(about.get("fields", {}))
        created_at = from_wire(about["createdAt"])
        identity, text_field = str(about["id"]), str(about.get("words", "text"))
        revision_of = str(about.get("of", ""))
        markdown = without_lines(markdown, int(about.get("lines", 0)))
        text = markdown.strip("\n") if about.get("code") is True else parse_words(markdown)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    shown = mark[2].partition(" · ")[0]
    role = str(fields.get("role", _OF_CHINESE.get(shown, shown)))
    if role_of(role) != role:
        fields["role"] = role  # as found, also where an older recalld did not know what it means
    return Block(identity, role_of(role), text, created_at, fields, text_field, revision_of)


# ── the head of a file that recalld made ─────────────────────────────────────


def render_head(fields: Mapping[str, str]) -> str:
    """Return the head with its two ``---`` lines; values are quoted where YAML would parse them differently."""
    lines = "".join(f"{key}: {_scalar(value)}\n" for key, value in fields.items())
    return f"---\n{lines}---\n"


def read_head(text: str, path: Path) -> tuple[dict[str, str], str]:
    """
    Return the fields of the head and the text after it; no fields and the whole text where there is no head of recalld.

    An editor may have saved the file with a BOM or with CRLF. NewerFormat when a newer recalld wrote it.
    """
    match = _HEAD.match(text, 0, _MOST_CHARS)
    if not match or not re.search(r"^recalld:", match[1], re.MULTILINE):
        return {}, text
    fields = _fields(match[1].replace("\r\n", "\n"))
    made_by = number_in(fields, "recalld")
    if made_by is None:
        return {}, text
    if made_by > (DATED_FORMAT if fields.get("kind") == "dated" else FORMAT):
        raise NewerFormat(path, fields["recalld"])
    return fields, text[match.end() :]


def head_in(data: bytes, path: Path) -> dict[str, str]:
    """Return the fields of the head of the file with the bytes *data*; no more of it is decoded than a head may have."""
    return read_head(data[:_MOST_BYTES].decode("utf-8-sig", "replace"), path)[0]


def number_in(fields: Mapping[str, str], key: str) -> int | None:
    """Return the number under *key*; None where there is none of at most nine digits."""
    text = fields.get(key, "")
    return int(text) if _NUMBER.fullmatch(text) else None


def _scalar(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    value = _UNREADABLE.sub(" ", value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _fields(block: str) -> dict[str, str]:
    """Return the strings of the lines that recalld may have written; what a person has added is passed over."""
    return {key: _unquoted(value) for key, value in _FIELD.findall(block)}


def _unquoted(value: str) -> str:
    if value.startswith('"'):
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value[1:-1] if value.startswith("'") else f" {value}".partition(" #")[0].strip()
