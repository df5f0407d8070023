"""A dated file without some of its messages: the one case in which recalld writes such a file a second time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..protocol.dated_file import block_at, body_digest, is_as_written, is_broken, marks_in
from ..protocol.frontmatter import number_in, read_head
from ..text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ..protocol.dated_file import Block

_COUNT: Final = lazy_re(r"^count: .*$", re.MULTILINE)
_DIGEST: Final = lazy_re(r"^digest: .*$", re.MULTILINE)


def cut(data: bytes, path: Path, is_unwanted: Callable[[Block], bool], gone: int = 0) -> tuple[bytes, list[Block]]:
    """
    Return the file without the unwanted messages, and the messages that are left; every other word of it stays.

    *gone* is how many of the messages that its head counts a person has taken out before. A file that was edited stays known as
    edited, and one that was cut off as cut off.
    """
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    head, body = read_head(text, path)
    marks = marks_in(body)
    pieces, kept, taken = [body[: marks[0].start() if marks else None]], [], 0
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(body)], strict=False):
        words = body[mark.end() : end]
        block = block_at(mark, words)  # None where a person broke it
        if block and is_unwanted(block):
            taken += 1
            continue
        pieces.append(mark[0] + words)
        kept += [block] if block else []
    whole = "".join(pieces)
    if not body.endswith(pieces[-1]):  # the last message went, and the blank line before it goes, too
        whole = whole.rstrip("\n")
    if not (whole.endswith("\n") or is_broken(data, path)):
        whole += "\n"
    digest = body_digest(whole) if is_as_written(body, head) else head.get("digest", "")
    count = max((number_in(head, "count") or 0) - taken - gone, 0)
    written = text[: len(text) - len(body)]
    written = _DIGEST.sub(f"digest: {digest}", _COUNT.sub(f"count: {count}", written, count=1), count=1)
    return (written + whole).encode("utf-8", "surrogatepass"), kept
