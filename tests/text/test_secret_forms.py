"""What is a secret and what is none, in both languages: the tables in `secrets/`, a case a line."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from recalld.supervisor.text.redact import RULES, find_secrets, redacted

TABLES = Path(__file__).parent / "secrets"
LEAST = 120


def cases(name: str) -> list[str]:
    lines = (TABLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line.replace("⏎", "\n") for line in lines if line and not line.startswith("# ")]


@pytest.mark.parametrize("name", ["secret.en", "secret.zh", "plain.en", "plain.zh"])
def test_tables_of_secrets_have_120_cases_each(name):
    assert len(set(cases(name))) >= LEAST


@pytest.mark.parametrize("case", [*cases("secret.en"), *cases("secret.zh")])
def test_redacted_hides_a_secret_of_the_table(case):
    text = re.sub("[⟦⟧¦]", "", case)
    start = case.index("⟦")
    hidden = {n for one in find_secrets(text) for n in range(one.start, one.end)}
    assert set(range(start, case.index("⟧") - 1)) <= hidden
    kept = case.partition("¦")[2]
    assert not hidden & set(range(len(text) - len(kept), len(text)))


@pytest.mark.parametrize("text", [*cases("plain.en"), *cases("plain.zh")])
def test_redacted_keeps_what_is_no_secret(text):
    assert redacted(text) == text


def test_rules_have_a_number_that_is_raised_when_they_hide_otherwise():
    """Vectors of text with other secrets in it are made anew under another number; then write the new digest here."""
    texts = [re.sub("[⟦⟧¦]", "", case) for name in ("secret.en", "secret.zh", "plain.en", "plain.zh") for case in cases(name)]
    digest = hashlib.sha256("\n".join(redacted(text, "…") for text in texts).encode()).hexdigest()
    assert (RULES, digest[:12]) == (10, "ace045409877")
