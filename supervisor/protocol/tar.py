"""
A reader of tars that trusts none: each header is checked before anything behind it is used (docs/reference/protocol.md, 9.5).

A backup may come from anybody, and Python's tarfile is the user's: in many versions a header with a negative size is read for
ever (CVE-2025-8194). A backup needs little of what a tar can hold: regular files, with long names as POSIX (pax) or GNU have
them. Links, sparse files, headers for all files and whatever else there is are refused.
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Final

from ..storage.texts import Text, msgid
from ..text.lazy_re import lazy_re
from ..text.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK: Final = 512
#: Bytes of what comes before the header of a file: its name, where it is long, and its size, where it is large.
_MOST_BEFORE: Final = 1 << 14
_OCTAL: Final = lazy_re(rb" *([0-7]+)[ \0]*")
#: The first byte of a number that is too large for octal digits; that of a negative one is 0xff.
_BINARY: Final = 0x80
_RECORD: Final = lazy_re(rb"([1-9][0-9]{0,4}) ([^=]+)=")
_POSIX, _GNU = b"ustar\x0000", b"ustar  \x00"
#: The types of a file (an older form has NUL), and of what comes before it: records of pax, a long name of GNU's tar.
_FILE, _OLD_FILE, _RECORDS, _LONG_NAME = b"0", b"\0", b"x", b"L"
#: What is said of a member that is no plain file.
NOT_A_FILE: Final = msgid("{name} in it is a link, a folder or a device")


@record
class Member:
    """A regular file in a tar: its *size* bytes begin at *offset*."""

    name: str
    size: int
    offset: int


def is_tar(data: bytes) -> bool:
    """Return whether the data begin like a tar."""
    return data[257:265] in (_POSIX, _GNU)


def members(file: IO[bytes]) -> Iterator[Member]:
    """Yield the files of a tar, in order; ValueError, with a Text where there is more to say than that it is none."""
    end = file.seek(0, os.SEEK_END)
    offset, before = 0, dict[bytes, bytes]()  # what a record states of the next file
    while block := _read(file, offset, _BLOCK):
        if block == bytes(_BLOCK):
            break
        kind, name, size = _header(block)
        offset += _BLOCK
        if kind in (_RECORDS, _LONG_NAME) and size <= _MOST_BEFORE and kind not in before:
            data = _read(file, offset, size)
            before |= {kind: data, **(_records(data) if kind == _RECORDS else {b"path": data.partition(b"\0")[0]})}
        elif kind in (_FILE, _OLD_FILE) and not any(key.startswith(b"GNU.sparse") for key in before):
            name, size = before.get(b"path", name), _decimal(before[b"size"]) if b"size" in before else size
            if size > end - offset:
                raise ValueError
            yield Member(_decoded(name), size, offset)
            before = {}
        else:
            raise ValueError(Text(NOT_A_FILE, name=_decoded(before.get(b"path", name))))
        offset += -(-size // _BLOCK) * _BLOCK  # never backwards: no size is negative
    if before:
        raise ValueError


def _header(block: bytes) -> tuple[bytes, bytes, int]:
    """Return type, name and size of a header; ValueError for a block that is none."""
    own_sum = sum(block[:148]) + sum(block[156:]) + 8 * ord(" ")
    magic = block[257:265]
    if magic not in (_POSIX, _GNU) or _number(block[148:156]) != own_sum:
        raise ValueError
    name, prefix = (block[start:stop].partition(b"\0")[0] for start, stop in ((0, 100), (345, 500)))
    return block[156:157], prefix + b"/" + name if prefix and magic == _POSIX else name, _number(block[124:136])


def _number(field: bytes) -> int:
    if field[0] == _BINARY:
        return int.from_bytes(field[1:], "big")
    digits = _OCTAL.fullmatch(field)
    if not digits:
        raise ValueError
    return int(digits[1], 8)


def _decimal(digits: bytes) -> int:
    if not (digits.isdigit() and len(digits) < 20):
        raise ValueError
    return int(digits)


def _records(data: bytes) -> dict[bytes, bytes]:
    """Return the records of pax by their keys; each has its own length, "28 path=…" with the line break."""
    found = {}
    while data:
        head = _RECORD.match(data)
        length = int(head[1]) if head else 0
        if not head or not head.end() < length <= len(data) or data[length - 1 : length] != b"\n":
            raise ValueError
        found[head[2]] = data[head.end() : length - 1]
        data = data[length:]
    return found


def _read(file: IO[bytes], offset: int, size: int) -> bytes:
    """Return the bytes at *offset*, none at the end of the file; ValueError where only some of them are there."""
    file.seek(offset)
    data = file.read(size)
    if data and len(data) < size:
        raise ValueError
    return data


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
