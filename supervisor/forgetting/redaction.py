"""
The end of a redaction that 0.28 or older began: marks in the place of secrets, before the words as they were are forgotten.

Such an act is in the list of what was forgotten, with the language of the marks. The sweep that goes on with it takes the words
out of what was made from them, puts the marks, and forgets the messages and lines as they were: whoever is killed between does
it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..archive.cut import rewritten
from ..protocol.dated_file import parse_dated
from ..text.marks import marked

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ..archive.tombstones import Act
    from ..protocol.dated_file import Block
    from ..protocol.message import Key
    from ..text.language import Language
    from ..workspace import Workspace
    from .aim import Aim


def put_marks(aim: Aim, act: Act) -> None:
    """Put marks in the place of the secrets of what a redaction that is under way goes for, in dated and long-term files."""
    ws, stones = aim.ws, aim.ws.journal.tombstones
    meant = {key: marks for key, one in aim.messages.items() if (marks := stones.marks_for(one.said))}
    for path in sorted({path for key in meant for path in aim.messages[key].files}):
        version = ws.files.read_stable(path)
        if version:
            stones.add_versions(act, [(path.name, version.digest[:16])])
            edited = _edited(ws, path, version.data, meant)
            parsed, ids = parse_dated(edited, path), {identity for identity, _ in meant}
            # under their new words they are known before they stand there: the old ones are about to be forgotten
            ws.journal.record_written(path.name, [one for one in parsed.blocks if one.id in ids] if parsed else ())
            ws.files.replace(path, edited, version)
    old = {line: marks for line in aim.lines if (marks := stones.marks_for_line(line))}

    def rule(text: str) -> str:
        pieces = text.splitlines(keepends=True)
        found = ((one, old.get(one.rstrip("\r\n"), "")) for one in pieces)
        return "".join(_with_marks(ws, one, marks) if marks else one for one, marks in found)

    if old:
        ws.long_term.change(rule)


def _with_marks(ws: Workspace, text: str, language: str) -> str:
    return marked(text, ws.config.privacy.forms, cast("Language", language))


def _edited(ws: Workspace, path: Path, data: bytes, meant: Mapping[Key, str]) -> bytes:
    """Return the dated file with marks in the words of these messages, and of blocks that a person broke."""
    of_broken = next(iter(meant.values()))

    def rule(block: Block | None, words: str) -> str:
        language = meant.get(block.key, "") if block else of_broken
        return _with_marks(ws, words, language) if language else words

    return rewritten(data, path, rule)[0]
