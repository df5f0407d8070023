"""The text of a file that a person, or any program, has written: its encoding and its line ends."""

from __future__ import annotations


def decoded(data: bytes) -> str:
    """
    Return the text of a file in any of these encodings: UTF-8, UTF-16 with a byte order mark, GB18030 if that gives Chinese.

    Other bytes become U+FFFD. Lines end with a line feed.
    """
    try:
        text = data.decode("utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig")
    except UnicodeDecodeError:
        try:
            text = data.decode("gb18030")
        except UnicodeDecodeError:
            text = ""
        han = sum("\u4e00" <= char <= "\u9fff" for char in text)
        if han * 2 < sum(char > "\x7f" for char in text) or not text:
            text = data.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")
