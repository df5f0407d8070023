"""
Secrets that are stored: where they stand, and the marks that are put in their place before the old words are forgotten.

First the words leave what was made from them, while they still stand in their own places and are recognised by these; then the
marks are put there; then the messages and lines are forgotten as they were. Who is killed between does it again, or, where the
marks stand already, has files that look edited by hand, and `forget --removed` goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from recalld.supervisor.forgetting.aim import Aim
from recalld.supervisor.forgetting.derived import forget_made
from recalld.supervisor.forgetting.sweep import begin, sweep
from recalld.supervisor.forgetting.wanted import Wanted, blocks_at, standing
from recalld.supervisor.longterm.lines import cut, filled
from recalld.supervisor.protocol.dated_file import marks_in
from recalld.supervisor.protocol.frontmatter import read_head
from recalld.supervisor.storage.noting import noting
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.redact import find_secrets, redacted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from recalld.supervisor.text.language import Language
    from recalld.supervisor.text.redact import Secret
    from recalld.supervisor.workspace import Workspace

#: What is written in place of a secret, with what it was and without; the rules for secrets know it, and find none in it.
_MARKS: Final = {"en": ("[redacted: {label}]", "[redacted]"), "zh": ("[已隐去：{label}]", "[已隐去]")}
#: An address to which mail goes: it is hidden from models, and is no secret where it is stored.
_MAIL: Final = lazy_re(r"[^\s@:/]+@[^\s@:/]+\.\w{2,}")


def marked(text: str, patterns: Iterable[str], language: Language) -> str:
    """
    Return the text with a mark in the place of each secret, which says what stood there.

    >>> marked("登录 password: hunter2-demo 即可", (), "zh")
    '登录 [已隐去：password] 即可'
    """

    def mark(secret: Secret) -> str:
        named, bare = _MARKS[language]
        return named.format(label=secret.label) if secret.label else bare

    return redacted(text, mark, patterns, lambda secret: bool(_MAIL.fullmatch(text[secret.start : secret.end])))


def _has_secret(text: str, patterns: Iterable[str]) -> bool:
    return any(not _MAIL.fullmatch(text[one.start : one.end]) for one in find_secrets(text, patterns))


def with_secrets(ws: Workspace, now: datetime) -> Wanted:
    """Return the filed messages and the lines of the long-term file that have a secret."""
    patterns = ws.config.privacy.patterns
    messages = {key: one for key, one in standing(ws, now).items() if one.files and _has_secret(one.said.text, patterns)}
    lines = (line for line in filled(cut(ws.long_term.read().text)) if _has_secret(line.text, patterns))
    return Wanted(messages, tuple(lines))


def redact(ws: Workspace, meant: Wanted, now: datetime, language: Language, entropy: bytes) -> bool:
    """
    Put marks in the place of the secrets, and forget the words as they were; return whether nothing of them is left.

    The caller holds the supervisor's lock.
    """
    with noting():  # what it changes has the words, and is not to be undone
        forget_made(Aim(ws, now, meant.messages, tuple(line.text for line in meant.lines), (), applies=True))
        _put_marks(ws, meant, language)
    begin(ws, meant, now, entropy)
    sweep(ws, now)
    return not ws.journal.tombstones.unfinished()


def _put_marks(ws: Workspace, meant: Wanted, language: Language) -> None:
    """Put marks in the place of the secrets, in dated files and in the long-term file."""
    patterns = ws.config.privacy.patterns
    for path in sorted({path for one in meant.messages.values() for path in one.files}):
        version = ws.files.read_stable(path)
        if version:
            ws.files.replace(path, _edited(ws, path, version.data, meant, language), version)
    if meant.lines:
        old = {line.text for line in meant.lines}

        def rule(text: str) -> str:
            pieces = text.splitlines(keepends=True)
            return "".join(marked(one, patterns, language) if one.rstrip("\r\n") in old else one for one in pieces)

        ws.long_term.change(rule)


def _edited(ws: Workspace, path: Path, data: bytes, meant: Wanted, language: Language) -> bytes:
    """Return the dated file with marks in the words of its messages; what stands above them stays."""
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    _, body = read_head(text, path)
    marks = marks_in(body)
    keys = [block.key for block in blocks_at(ws, path)]
    pieces = [text[: len(text) - len(body)], body[: marks[0].start() if marks else None]]
    for number, mark in enumerate(marks):
        end = marks[number + 1].start() if number + 1 < len(marks) else len(body)
        words = body[mark.end() : end]
        pieces.append(body[mark.start() : mark.end()])
        is_meant = len(keys) != len(marks) or keys[number] in meant.messages
        pieces.append(marked(words, ws.config.privacy.patterns, language) if is_meant else words)
    return "".join(pieces).encode("utf-8", "surrogatepass")
