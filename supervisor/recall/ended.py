"""
What is no longer true, and where an answer has it: only where the past is asked for.

Lines are struck in their file (`protocol/struck`). A message and a line of a summary stay as they are; that they ended is in
.recalld/ended.jsonl. What a person struck without a day stands behind what is true, never alone (protocol.md, 10.8).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from ..index.hit import Hit, Passage
from ..protocol.marks import Struck, before_words, read_struck
from ..protocol.paths import WorkspacePaths
from ..query.intent import asks_past
from ..query.parse import Query
from ..storage.control import note
from ..storage.files import Files, digest_of

#: The score of what was struck, relative to the best hit that stands.
_BEHIND: Final = 0.999
#: Hex digits of the name of a line.
_NAME: Final = 32


@dataclass(frozen=True, slots=True)
class Ended:
    """The *messages*, by id, and the *lines* of summaries, by `name_of`, that are no longer true."""

    messages: Mapping[str, Struck] = field(default_factory=dict)
    lines: Mapping[str, Struck] = field(default_factory=dict)

    def of(self, unit: Passage) -> Struck | None:
        """Return what a passage says that is no longer true, None where it stands."""
        struck = self.messages.get(unit.message) if unit.message else None
        return struck._replace(words=unit.text) if struck else read_struck(unit.text)

    def line(self, text: str) -> Struck | None:
        """Return the same of one line of a summary."""
        struck = self.lines.get(name_of(text)) if self.lines else None
        words = text[len(before_words(text)) :].strip()
        return struck._replace(words=words) if struck else read_struck(words)


def name_of(line: str) -> str:
    """Return the name of a line of a summary, by its words: the summary may be made anew, or moved."""
    return digest_of(line[len(before_words(line)) :].strip().encode("utf-8", "surrogatepass"))[:_NAME]


def read_ended(files: Files, paths: WorkspacePaths) -> Ended:
    """Return what `invalidate` has named; lines that can't be read are none."""
    version = files.read_stable(paths.ended)
    ended: tuple[dict[str, Struck], dict[str, Struck]] = ({}, {})
    for line in version.data.split(b"\n") if version else ():
        try:
            entry = json.loads(line)
            struck = Struck("", date.fromisoformat(entry["until"]), str(entry.get("reason", "")))
            ended["line" in entry][str(entry["line"] if "line" in entry else entry["message"])] = struck
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return Ended(*ended)


def write_ended(files: Files, paths: WorkspacePaths, kind: str, name: str, struck: Struck) -> None:
    """Add that the message, or the line of a summary, of this *name* is no longer true; durable when it returns."""
    entry = {kind: name, "until": str(struck.until), **({"reason": struck.reason} if struck.reason else {})}
    files.make_folder(paths.state)
    files.append(paths.ended, f"{json.dumps(entry, ensure_ascii=False)}\n".encode("utf-8", "replace"))
    note("ended", of=kind, name=name)


def take_ended_back(files: Files, paths: WorkspacePaths, kind: str, name: str) -> bool:
    """Take out that the message, or the line of a summary, is no longer true; return whether it was there."""
    version = files.read_stable(paths.ended)
    lines = version.data.splitlines(keepends=True) if version else []
    mark = f"{json.dumps({kind: name}, ensure_ascii=False)[:-1]},".encode("utf-8", "replace")
    left = [line for line in lines if not line.startswith(mark)]
    if version is None or left == lines:
        return False
    if left:
        files.replace(paths.ended, b"".join(left), version)
    else:
        files.remove(paths.ended)
    return True


def of_today(hits: Sequence[Hit], query: Query, today: date, files: Files, paths: WorkspacePaths) -> list[Hit]:
    """
    Return the hits without what is no longer true; where the past is asked for, with it, and with the day on which it ended.

    What a person has struck without a day comes behind the best hit that stands, and is never the only hit.
    """
    ended = read_ended(files, paths)
    if not ended.messages and not ended.lines and not any("~~" in hit.unit.text for hit in hits):
        return list(hits)
    is_past = asks_past(query.text, query.days, today)
    gone = [(hit, struck) for hit in hits if (struck := ended.of(hit.unit))]
    others = [hit for hit in hits if not ended.of(hit.unit)]
    stand = [
        hit if left == hit.unit.text else replace(hit, unit=replace(hit.unit, text=left))
        for hit in others
        if (left := _text_now(hit.unit, ended, is_past=is_past))
    ]
    is_alone, best = not stand, max((hit.rank for hit in stand), default=0.0)
    for hit, ended_line in gone:
        if is_past if ended_line.until else not is_alone:  # a day says for itself that this is over
            unit = replace(hit.unit, text=str(ended_line)) if hit.unit.message else hit.unit
            rank = hit.rank if ended_line.until else min(hit.rank, best * _BEHIND)
            stand.append(replace(hit, unit=unit).reaching(rank, "days"))
    return sorted(stand, key=lambda hit: -hit.rank)


def _text_now(unit: Passage, ended: Ended, *, is_past: bool) -> str:
    """Return the text of a passage that stands, of a summary without the lines that ended; with *is_past* they are struck."""
    if unit.tier != "summary" or not (ended.lines or "~~" in unit.text):
        return unit.text
    lines = []
    for line in unit.text.split("\n"):
        struck = ended.line(line)
        if struck is None:
            lines.append(line)
        elif is_past:
            lines.append(before_words(line) + str(struck))
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    return "\n".join(lines) if kept else ""
