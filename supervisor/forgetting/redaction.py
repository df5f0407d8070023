"""
Secrets that are stored: where they stand, and the marks that are put in their place before the old words are forgotten.

The act is written down first, with the language of the marks. The sweep that goes on with it takes the words out of what was
made from them, puts the marks, and forgets the messages and lines as they were: whoever is killed between does it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from recalld.supervisor.forgetting.wanted import Wanted, blocks_at, standing
from recalld.supervisor.longterm.lines import cut, filled
from recalld.supervisor.protocol.dated_file import body_digest, marks_in, parse_dated
from recalld.supervisor.protocol.frontmatter import read_head
from recalld.supervisor.text.marks import has_secret, marked

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from recalld.supervisor.archive.tombstones import Act
    from recalld.supervisor.forgetting.aim import Aim
    from recalld.supervisor.protocol.message import Key
    from recalld.supervisor.text.language import Language
    from recalld.supervisor.workspace import Workspace


def with_secrets(ws: Workspace, now: datetime) -> Wanted:
    """Return the filed messages and the lines of the long-term file that have a secret."""
    patterns = ws.config.privacy.forms
    messages = {key: one for key, one in standing(ws, now).items() if one.files and has_secret(one.said.text, patterns)}
    lines = (line for line in filled(cut(ws.long_term.read().text)) if has_secret(line.text, patterns))
    return Wanted(messages, tuple(lines))


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
    """Return the dated file with marks in the words of these messages; it is as much edited by hand as before."""
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    head, body = read_head(text, path)
    marks = marks_in(body)
    keys = [block.key for block in blocks_at(ws, path)]
    pieces = [body[: marks[0].start() if marks else None]]
    for number, mark in enumerate(marks):
        end = marks[number + 1].start() if number + 1 < len(marks) else len(body)
        words, key = body[mark.end() : end], keys[number] if len(keys) == len(marks) else None
        language = meant.get(key, "") if key else next(iter(meant.values()))
        pieces += [body[mark.start() : mark.end()], _with_marks(ws, words, language) if language else words]
    after = "".join(pieces)
    written = text[: len(text) - len(body)]
    if body_digest(body) == head.get("digest"):
        written = written.replace(f"digest: {head['digest']}", f"digest: {body_digest(after)}", 1)
    return (written + after).encode("utf-8", "surrogatepass")
