"""
One thing swapped in a good answer, for one that its material does not have: whether the gate refuses the answer or marks the place.

    python -m tests.summaries.swaps            how many are found, by language, half and kind
    python -m tests.summaries.swaps --passed   which are not

`answers/swaps.md` has them: the first half of each language was made before the rules of 0.26 were written, the other after.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from recalld.supervisor.summaries.quality import UNVERIFIED, judge
from recalld.supervisor.text.llm_output import cleaned
from tests.summaries.hand_made import FOLDER, answers, material_of

if TYPE_CHECKING:
    from recalld.supervisor.summaries.material import Material

#: How many swaps of a language were made before the rules.
FIRST: Final = 20


@dataclass(frozen=True)
class Swap:
    """A good answer with *new* in the place of *old*."""

    kind: str
    old: str
    new: str
    answer: str
    material: Material
    language: str
    is_first: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.old} → {self.new}"

    @property
    def is_found(self) -> bool:
        """Whether the answer is refused, or the mark is at what was swapped."""
        start = self.answer.index(self.old)
        text = self.answer.replace(self.old, self.new, 1)
        verdict = judge(cleaned(text), self.material)
        pieces = verdict.text.split(UNVERIFIED[self.language])
        ends = [sum(map(len, pieces[:n])) for n in range(1, len(pieces))]
        return verdict.reason is not None or any(start < end <= start + len(self.new) for end in ends)


def swaps() -> list[Swap]:
    """Return the swaps."""
    good = [answer for answer in answers() if answer.is_good]
    made = Counter[str]()
    found = []
    for line in (FOLDER / "swaps.md").read_text(encoding="utf-8").splitlines():
        place, kind, change = line.removeprefix("=== ").split(" | ")
        name, period, number = place.split()
        answer = [one for one in good if (one.story.name, one.period) == (name, period)][int(number) - 1]
        old, new = change.split(" → ")
        language = answer.story.language
        made[language] += 1
        found.append(Swap(kind, old, new, answer.text, material_of(answer), language, made[language] <= FIRST))
    return found


def main() -> None:
    of, found = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for swap in swaps():
        half = "first half" if swap.is_first else "second half"
        for what in (half, swap.kind):
            of[swap.language, what] += 1
            found[swap.language, what] += swap.is_found
        if "--passed" in sys.argv and not swap.is_found:
            print(swap.language, half, swap)
    for language, what in sorted(of):
        print(f"{language} {what}: {found[language, what]} of {of[language, what]}")


if __name__ == "__main__":
    main()
