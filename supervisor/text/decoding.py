"""The text of a file that a person, or any program, has written: its encoding and its line ends."""

from __future__ import annotations

from typing import Final

#: How UTF-16 begins: with a mark, or, in JSON, with a bracket and its zero byte.
_UTF16: Final = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"[\0": "UTF-16LE",
    b"{\0": "UTF-16LE",
    b"\0[": "UTF-16BE",
    b"\0{": "UTF-16BE",
}


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
