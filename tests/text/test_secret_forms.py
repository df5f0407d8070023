"""
How many secrets are found, and how many plain lines are taken for one: the lists in `secrets/`, a case a line.

Rules of former versions were made from the lists; those in `secrets/fresh` were written before the rule of today was, which
was mended by them afterwards: a bar against getting worse, no measure of new sentences.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from recalld.supervisor.text.redact import RULES, find_secrets, redacted

TABLES = Path(__file__).parent / "secrets"
#: The least secrets of a list that are hidden whole, and the most plain lines of which something is.
HIDDEN = {"secret.en": 155, "secret.zh": 147, "fresh/secret.en": 40, "fresh/secret.zh": 39}
MISTAKEN = {"plain.en": 2, "plain.zh": 0, "fresh/plain.en": 1, "fresh/plain.zh": 0}


def cases(name: str) -> list[str]:
    lines = (TABLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line.replace("⏎", "\n") for line in lines if line and not line.startswith("# ")]


def without_signs(case: str) -> str:
    return re.sub("[⟦⟧¦]", "", case)


def is_hidden(case: str) -> bool:
    """True if the secret is hidden whole, and nothing behind ¦ is."""
    text = without_signs(case)
    hidden = {n for one in find_secrets(text) for n in range(one.start, one.end)}
    kept = case.partition("¦")[2]
    is_kept = not hidden & set(range(len(text) - len(kept), len(text)))
    return is_kept and set(range(case.index("⟦"), case.index("⟧") - 1)) <= hidden


@pytest.mark.parametrize("name", HIDDEN)
def test_redacted_hides_so_many_secrets_of_a_list(name):
    found = [case for case in cases(name) if is_hidden(case)]
    assert len(found) >= HIDDEN[name], sorted(set(cases(name)) - set(found))


@pytest.mark.parametrize("name", MISTAKEN)
def test_redacted_takes_so_few_plain_lines_for_secrets(name):
    mistaken = [text for text in cases(name) if redacted(text) != text]
    assert len(mistaken) <= MISTAKEN[name], mistaken


def test_rules_have_a_number_that_is_raised_when_they_hide_otherwise():
    """Vectors of text with other secrets in it are made anew under another number; then write the new digest here."""
    texts = [without_signs(case) for name in ("secret.en", "secret.zh", "plain.en", "plain.zh") for case in cases(name)]
    digest = hashlib.sha256("\n".join(redacted(text, "…") for text in texts).encode()).hexdigest()
    assert (RULES, digest[:12]) == (11, "a9bc0095ea2a")
