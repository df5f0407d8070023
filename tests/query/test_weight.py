"""The weight of a question's words: an everyday word counts half, a verb of every sentence a fifth, a rare one in full."""

from __future__ import annotations

from datetime import date

import pytest

from recalld.supervisor.query.parse import parse_query, weighed


@pytest.mark.parametrize(
    ("question", "light", "everyday", "rare"),
    [("did Oskar go by train", "go", "train", "oskar"), ("谁弄丢了露营的伞", "弄", "伞", "露营")],
)
def test_light_verb_weighs_less_than_an_everyday_word(question, light, everyday, rare):
    found = weighed(parse_query(question, date(2026, 1, 31)))
    assert found[light] == 0.2 < 0.5 <= found[everyday] < found[rare]
