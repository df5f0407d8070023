"""
The literal search, for what the tokeniser can't see: a part of an identifier, of a path, of a word.

ripgrep says in which files to look, where it is installed; what is found there is the same without it. Order: path, line.
Source: 003, 检索 (失败或无命中回退 rg); design of recall, "Nothing found".
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from supervisor.documents import cut_file
from supervisor.policy.hit import Hit
from supervisor.text.stopwords import CHINESE, ENGLISH
from supervisor.text.words import HAN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import tzinfo

    from supervisor.catalogue import Record
    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout

#: Characters of a part that is worth looking for.
_LATIN, _CHINESE = 4, 2
_PART: Final = re.compile(rf"[{HAN}]+|[A-Za-z0-9_./:@+#-]+")
_MOST_PARTS: Final = 8
_SECONDS: Final = 0.2


def parts(question: str, is_known: Callable[[str], bool]) -> list[str]:
    """
    Return what to look for literally: the runs of letters and of Han characters that no unit has as a word.

    What the index knows has been scored, and stays out where the score rejected it.
    """
    found = []
    for match in _PART.finditer(question):
        run = match[0].strip(".:/-").casefold() if match[0][0].isascii() else match[0]
        if run.isascii():
            is_part = len(run) >= _LATIN and run not in ENGLISH and any(char.isalpha() for char in run)
            found += [run] * (is_part and not is_known(run))
        else:
            found += [run] * (len(run) >= _CHINESE and run not in CHINESE and not is_known(run))
    return list(dict.fromkeys(found))[:_MOST_PARTS]


def look_up(
    files: Files, layout: Layout, records: Mapping[str, Record], wanted: Sequence[str], limit: int, zone: tzinfo
) -> list[Hit]:
    """Return the units of the files *records* in which one of *wanted* stands, whatever its case; at most *limit*."""
    found: list[Hit] = []
    for path in sorted(_holding(layout, records, wanted)):
        for cut in cut_file(files, layout, path, records[path], zone):
            if len(found) == limit:
                return found
            low = cut.unit.text.casefold()
            if any(part in low for part in wanted):
                found.append(Hit(replace(cut.unit, tier=records[path].tier), 0.0, ("literal",)))
    return found


def _holding(layout: Layout, records: Mapping[str, Record], wanted: Sequence[str]) -> Collection[str]:
    """Return the paths of files in which one of *wanted* may stand: all, where ripgrep is not there or fails."""
    if not all(part.isascii() or not part.isalpha() or part.lower() == part for part in wanted):
        return records.keys()
    asked = [argument for part in wanted for argument in ("-e", part)]
    command = ["rg", "-l", "-0", "-i", "-F", "--no-ignore", "--hidden", "--no-messages", *asked, "--", *sorted(records)]
    try:
        done = subprocess.run(command, cwd=layout.root, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return records.keys()
    if done.returncode not in (0, 1):
        return records.keys()
    return records.keys() & {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}
