"""Of passages about the same thing the newest comes first, and nothing is hidden (supervisor/index/newest)."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from recalld.supervisor.index.bm25 import Candidate, Corpus, term_numbers
from recalld.supervisor.index.documents import encode_passage
from recalld.supervisor.index.hit import Passage
from recalld.supervisor.index.newest import newest_first
from recalld.supervisor.index.ranking import Scored
from recalld.supervisor.query.parse import parse_query
from recalld.supervisor.text.tokenizer import tokens

TODAY = date(2026, 1, 31)
COSTS = "took the first levothyroxine, 50 micrograms, the gp wants bloods"
COSTS_NOW = "the gp rang about the bloods, up to 75 micrograms levothyroxine"


def ordered(question, *texts, roles=()):
    """Return the texts, of one day after another and each scored half of the one before, in the order of the answer."""
    found = []
    for n, text in enumerate(texts):
        words = tokens(text)
        passage = encode_passage(Passage(path="", start=1, end=1, text=text, tier="dated"))
        day, role = TODAY + timedelta(days=n), (*roles, *["user"] * len(texts))[n]
        size = (len(words),) * 3
        one = Candidate(term_numbers(words), " ".join(words), size, str(n), day, role, False, False, ("", passage))
        found.append(Scored(one, 8.0 * 0.5**n))
    corpus = Corpus(200, 10.0, lambda word: sum(word in one.candidate.text.split() for one in found))
    return [texts[int(one.candidate.group)] for one in newest_first(parse_query(question, TODAY), found, corpus)]


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("how many micrograms do I take", COSTS, COSTS_NOW),
        ("爸的药现在吃多少", "爸的血压药氨氯地平每天半片", "社区大夫让爸的氨氯地平加到一整片"),
    ],
)
def test_newest_first_puts_a_change_before_what_it_changed(question, old, new):
    assert ordered(question, old, "lunch with Ben", new) == [new, old, "lunch with Ben"]


@pytest.mark.parametrize(
    ("question", "texts", "roles"),
    [
        ("how many micrograms did I take first", (COSTS, COSTS_NOW), ()),  # it asks what was
        ("how many micrograms do I take", (COSTS, "the gp rang about the bloods"), ()),  # no change is told
        ("how many micrograms do I take", (COSTS, COSTS_NOW), ("user", "assistant")),  # the user did not say so
        (
            "when is Arjun's birthday",
            ("Arjun has his birthday on 4 December", "Iris: her birthday party is now on 13 December"),
            (),
        ),
        ("fern 的端口", ("fern 是 hetzner 的服务器，端口 8000", "moss 是 hetzner 的服务器，端口换 8011"), ()),
    ],
)
def test_newest_first_leaves_what_only_looks_alike(question, texts, roles):
    assert ordered(question, *texts, roles=roles) == [*texts]
