"""What must hold of the diary, CHANGES.md and `.recalld/acts.jsonl`: each act stands there once, and no line is half written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tests.checker.formats import read_lines

_TITLES = ("# What was done to memory", "# 记忆里发生过什么")
_LINE = re.compile(r"- \d{4}-\d\d-\d\d \d\d:\d\d · ([aefhdprstuw]-[0-9a-f]{8}) · (\S.*[^\s{}])")
#: What `undo` needs of an act, by its kind.
_NEEDED = {
    **dict.fromkeys(("written", "replaced", "deleted", "text"), "hunks"),
    **dict.fromkeys(("summary", "edited"), "digest"),
    "pruned": "files",
}
_HEAD_LINES = 4


def diary(files: Mapping[str, bytes], *, calm: bool) -> list[str]:
    """Return what is wrong with the diary; unless *calm* its last line may be one that is being written."""
    acts = [one for one in read_lines(files.get(".recalld/acts.jsonl", b"")) if "id" in one]
    data = files.get("CHANGES.md", b"")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.rpartition(b"\n")[0].decode() + "\n\N{REPLACEMENT CHARACTER}"
    if not text:
        return []
    if not text.startswith(_TITLES):
        return ["CHANGES.md does not begin with its title"]
    *lines, last = text.split("\n")[_HEAD_LINES:]
    wrong = [f"CHANGES.md has a line that is not whole: {line!r}" for line in lines if not _LINE.fullmatch(line)]
    wrong += [f"CHANGES.md ends within a line: {last!r}"] if last and calm else []
    told = [match[1] for line in lines if (match := _LINE.fullmatch(line))]
    wrong += _once("CHANGES.md", told) + _once("acts.jsonl", [str(one["id"]) for one in acts])
    wrong += [f"acts.jsonl lacks {needed} of {one['id']}" for one in acts if (needed := _lacks(one))]
    return wrong + (_untold(told, [str(one["id"]) for one in acts]) if calm else [])


def _once(name: str, ids: Sequence[str]) -> list[str]:
    return [f"{name} has {one} {count} times" for one, count in Counter(ids).items() if count > 1]


def _lacks(act: Mapping[str, Any]) -> str:
    needed = _NEEDED.get(str(act.get("kind")), "")
    return needed if needed not in ("", *act) else ""


def _untold(told: Sequence[str], acts: Sequence[str]) -> list[str]:
    """Every act behind one that is told is told."""
    first = next((n for n, one in enumerate(acts) if one in told), len(acts))
    return [f"CHANGES.md does not tell of {one}" for one in acts[first:] if one not in told]
