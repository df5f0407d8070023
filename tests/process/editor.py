"""A person at an editor that saves by rename: a summary, memory.md and a note of one's own have to hold what was saved last."""

import os
import random
from pathlib import Path

from tests.checker.formats import EDITED, read_summary

#: Files that nobody but the person writes.
OWN = ("memory.md", "memory/2026-01-05-搬家.md")


class Editor:
    """Edits the files of the workspace at *root*; *saved* has the text of each as it was saved last."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self.saved: dict[str, str] = {}
        self.count = 0
        self._chance = chance

    def edit(self) -> None:
        """Open one, type a line somewhere, save: another file under a name of the editor's own, then a rename."""
        summaries = sorted((self.root / "memory" / "summary").glob("20*.md"))
        path = self._chance.choice([*(self.root / name for name in OWN), *summaries[-2:]])
        lines = (path.read_text(encoding="utf-8") if path.exists() else "").split("\n")
        lines.insert(self._chance.randrange(len(lines) + 1), f"我补一句：{self._chance.randrange(10**6)}")
        other = path.with_name(f".{path.name}.swp")
        other.write_text("\n".join(lines), encoding="utf-8")
        other.chmod(0o600)
        os.rename(other, path)
        self.saved[path.relative_to(self.root).as_posix()] = "\n".join(lines)
        self.count += 1

    def missing(self) -> list[str]:
        """The files that do not hold what was saved last: to the letter, and a summary a person's part as its beginning."""
        found = {name: self.root / name for name in sorted(self.saved)}
        texts = {name: path.read_text(encoding="utf-8") if path.exists() else "" for name, path in found.items()}
        return [name for name, text in texts.items() if not _holds(text, self.saved[name], is_own=name in OWN)]


def _holds(text: str, saved: str, *, is_own: bool) -> bool:
    return text == saved if is_own else text.startswith(_by_hand(saved))


def _by_hand(summary: str) -> str:
    """What of a saved summary is the person's: all of it but an untouched part of the machine's at its end."""
    above, mark, _ = summary.rpartition(EDITED)
    return above if mark and read_summary(summary.encode()).digest_holds else summary
