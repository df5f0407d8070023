"""
The wording that a model is given: files `daily-summary.zh.md`, … in the package `prompts`, or in the workspace's `prompts/`.

Placeholders are replaced literally and in one pass: braces in a dialogue break nothing, and what stands in the material is
never taken for a placeholder (holes.md B10). Source: 003, 汇总 prompt 模板; protocol.md, 1, prompts/.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final, get_args

from supervisor.protocol.errors import BadConfig
from supervisor.text.language import Language

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout

#: The placeholders that a file must have. {date} and {month} both stand for the period, {daily_summaries} for {messages}.
NEEDED: Final = {
    "daily-summary": ("date", "messages"),
    "monthly-summary": ("month", "daily_summaries"),
    "merge-summary": ("previous", "messages"),
}
_PLACEHOLDER: Final = re.compile(r"\{(date|messages|month|daily_summaries|previous)\}")
_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class Wording:
    """One file: its *name* without a folder, and its words."""

    name: str
    text: str

    def fill(self, period: str, material: str, previous: str = "") -> str:
        """Return the prompt."""
        values = {
            "date": period,
            "month": period,
            "messages": material,
            "daily_summaries": material,
            "previous": previous,
        }
        return _PLACEHOLDER.sub(lambda match: values[match[1]], self.text)


def load(name: str, language: Language, files: Files, layout: Layout) -> Wording:
    """Return the workspace's wording, else the shipped one; BadConfig when a placeholder is missing in it."""
    file = f"{name}.{language}.md"
    look = files.look(layout.root / "prompts" / file)
    data = look.data if look else resources.files("prompts").joinpath(file).read_bytes()
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise BadConfig(
            f"prompts/{file}", "it is not UTF-8; save it anew, or delete it for the wording that recalld ships"
        ) from None
    there = {match[1] for match in _PLACEHOLDER.finditer(text)}
    for needed in NEEDED[name]:
        if needed not in there:
            raise BadConfig(
                f"prompts/{file}", f"it lacks {{{needed}}}; add it, or delete the file for the wording that recalld ships"
            )
    return Wording(file, text)


def load_all(files: Files, layout: Layout) -> Mapping[tuple[str, Language], Wording]:
    """Return every wording by name and language; BadConfig for the first that is wrong."""
    return {(name, language): load(name, language, files, layout) for name in NEEDED for language in get_args(Language)}


def version_of(used: Iterable[Wording]) -> str:
    """Return the first 12 digits of what `cat FILES | sha256sum` says of the files in the order of their names."""
    found = sorted({(wording.name, wording.text) for wording in used})
    return hashlib.sha256("".join(text for _, text in found).encode()).hexdigest()[:_DIGITS] if found else ""
