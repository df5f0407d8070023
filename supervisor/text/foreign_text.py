"""
Text that others made: bytes in any encoding, names that a file gives, and what a terminal would obey.

Stored text comes from people, models and web pages. On a terminal, what would move the cursor, write the clipboard or turn the
direction of writing is shown as an escape; this changes neither what is stored nor what a model gets. An archive, a backup, a
task or an event may come from anybody: a name in it is a claim, which leads to a place below its folder or nowhere.
"""

import json
import os
import re
from typing import Final

from .lazy_re import lazy_re

#: How UTF-16 begins: with a mark, or, in JSON, with a bracket and its zero byte.
_UTF16: Final = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"[\0": "UTF-16LE",
    b"{\0": "UTF-16LE",
    b"\0[": "UTF-16BE",
    b"\0{": "UTF-16BE",
}
#: Control characters except tab and line feed, separators of lines, marks of direction, surrogates, which can't be encoded, and
#: characters without width, in which words hide from the reader (tags among them). The joiners U+200C and U+200D stay: Persian,
#: scripts of India and families of emoji are written with them.
_UNPRINTABLE: Final = lazy_re(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
#: Bytes of a file's name and of a path, at most; Linux, NAME_MAX and PATH_MAX.
LONGEST_NAME: Final = 255
_LONGEST_PATH: Final = 4096
#: The most bytes of a new name: the names of its kept versions are longer.
LONGEST_GIVEN: Final = 200
#: Folders in one another, at most: one name might otherwise make thousands of folders.
MOST_FOLDERS: Final = 64
#: Bytes of a name's end, such as ".md", that stay where it is shortened.
_LONGEST_END: Final = 16
#: What leads elsewhere on another system, a drive's letter or a backslash, and control characters, which memory never reads.
_ELSEWHERE: Final = r"\A[A-Za-z]:|[\\\x00-\x1f\x7f\x85\u2028\u2029]"


def decoded(data: bytes) -> str:
    """
    Return the text of a file in any of these encodings: UTF-8, UTF-16 with a byte order mark, GB18030 if that gives Chinese.

    Other bytes become U+FFFD. Lines end with a line feed.
    """
    try:
        text = data.decode("utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig")
    except UnicodeDecodeError:
        text = (_chinese(data, "gb18030") if _is_chinese(data) else "") or data.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def text_of(data: bytes) -> str:
    """Return the text of a file in one of these encodings, and "" for bytes that are none: a picture, a damaged disk."""
    return decoded(data) if encoding_of(data) else ""


def encoding_of(data: bytes) -> str:
    """
    Return the encoding of a file as iconv calls it: "UTF-8", "UTF-16", "UTF-16LE", "UTF-16BE", "GBK", "GB18030", or "".

    UTF-16 and UTF-8 are certain. GBK is a guess: other encodings of East Asia look like it.
    """
    if data[:2] in _UTF16:
        return _UTF16[data[:2]]
    try:
        data.decode()
    except UnicodeDecodeError:
        return next((name for name in ("GBK", "GB18030") if _is_chinese(data) and _chinese(data, name)), "")
    return "UTF-8"


def _is_chinese(data: bytes) -> bool:
    """
    Return whether the bytes are GB18030 and at least half of their characters beyond ASCII are Chinese.

    The second byte of most Chinese characters is not ASCII either; a Latin-1 letter before an ASCII one looks like a rare one.
    """
    text = _chinese(data, "gb18030")
    not_ascii = sum(char > "\x7f" for char in text)
    is_dense = sum(byte > 0x7F for byte in data) * 2 >= not_ascii * 3
    return is_dense and sum("\u4e00" <= char <= "\u9fff" for char in text) * 2 >= not_ascii


def _chinese(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return ""


def printable(text: str) -> str:
    r"""
    Return the text with each unprintable character as an escape.

    >>> printable("标题\x1b]52;c;cm0=\x07 \u202egnp.exe\tab")
    '标题\\x1b]52;c;cm0=\\x07 \\u202egnp.exe\tab'
    """
    return _UNPRINTABLE.sub(_escape, text)


def printable_line(text: str) -> str:
    r"""
    Return the text as one line: a line break, such as one in the name of a file, becomes an escape too.

    >>> printable_line("记忆\nfiles: 999.tar")
    '记忆\\nfiles: 999.tar'
    """
    return printable(text).replace("\n", r"\n")


def shortened(text: str, most: int = 80) -> str:
    r"""
    Return the text as one line of at most *most* characters; "…" stands where it was cut.

    >>> shortened("我对花生\n 过敏。"), shortened("abcdef", 4)
    ('我对花生 过敏。', 'abc…')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def printable_json(line: str) -> str:
    r"""
    Return a line of JSON with each unprintable character as a JSON escape; it means the same.

    >>> printable_json('{"name": "\u202egnp.exe"}')
    '{"name": "\\u202egnp.exe"}'
    """
    return _UNPRINTABLE.sub(_json_escape, line)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match[0])  # JSON writes a character beyond the first plane as two halves
    return f"\\u{code:04x}" if code < 0x10000 else json.dumps(match[0])[1:-1]


def parts_of(name: str, *, from_here: bool = False) -> tuple[str, ...]:
    r"""
    Return the names in a path that a file gives, each short enough for a disk; none where it may lead out of its folder.

    A name *from_here* is one of this system's own, where a backslash is a letter as any other.

    >>> parts_of("./notes/a.md"), parts_of("/etc/a.md"), parts_of("../a.md"), parts_of("C:a.md"), parts_of("..\\a.md")
    (('notes', 'a.md'), (), (), (), ())
    """
    try:
        parts = tuple(shortened_name(part) for part in name.split("/") if part not in {"", "."})
    except UnicodeEncodeError:  # most lone surrogates stand for no byte
        return ()
    leads_out = name.startswith("/") or ".." in parts or "\0" in name or (not from_here and re.search(_ELSEWHERE, name))
    is_too_long = len(parts) > MOST_FOLDERS + 1 or len(os.fsencode("/".join(parts))) > _LONGEST_PATH
    return () if leads_out or is_too_long else parts


def shortened_name(name: str, most: int = LONGEST_NAME) -> str:
    """
    Return the name of a file; of one with more than *most* bytes the beginning and the end, and a digest of all of it.

    >>> shortened_name("深" * 100 + ".md")[-16:], len(shortened_name("深" * 100 + ".md").encode())
    ('深深深深-1b8cde15.md', 198)
    """
    data = os.fsencode(name)
    if len(data) <= most:
        return name
    import hashlib

    stem, dot, end = name.rpartition(".")
    tail = f"-{hashlib.sha256(data).hexdigest()[:8]}{dot + end if stem and len(os.fsencode(end)) < _LONGEST_END else ''}"
    room = min(most, LONGEST_GIVEN) - len(os.fsencode(tail))
    return data[:room].decode("utf-8", "ignore") + tail
