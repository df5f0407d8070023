"""How rare words are: the table of stems equals what it is made from."""

from __future__ import annotations

import runpy
from pathlib import Path

from recalld.supervisor.text import word_frequency

SCRIPT = Path(__file__).parents[2] / "script/stem-ranks"
TABLE = word_frequency._STEM_RANKS


def test_ranks_of_stems_are_those_of_the_lists_of_words():
    assert TABLE.read_text(encoding="ascii") == runpy.run_path(str(SCRIPT))["table"]()
