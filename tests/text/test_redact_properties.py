"""What hiding secrets does to every text: only secrets go, and what was hidden once is not hidden again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.supervisor.text.redact import HIDDEN, find_secrets, redacted
from tests.text.test_secret_forms import cases

SECRET = [case.translate({ord(sign): None for sign in "⟦⟧¦"}) for name in ("secret.en", "secret.zh") for case in cases(name)]
PLAIN = [text for name in ("plain.en", "plain.zh") for text in cases(name) if redacted(text) == text]
JOINTS = ["\n\n好。\n\n", "\n\nOk.\n\n"]  # below a label at the end of a line the next one is its value
marks = st.sampled_from(["…", *HIDDEN.values()])


def texts(lines, joint=" "):
    """Texts of some lines, and of what hypothesis thinks of between them."""
    parts = st.one_of(st.sampled_from(lines), st.text(max_size=12), st.sampled_from(["\\", "[", "*", " ", "：", "4471", "is"]))
    return st.lists(parts, max_size=5).map(joint.join)


@given(texts(SECRET + PLAIN, JOINTS[0]), marks)
@settings(max_examples=300)
def test_redacted_changes_nothing_that_it_has_redacted(text, mark):
    once = redacted(text, mark)
    assert redacted(once, mark) == once


@given(texts(SECRET + PLAIN), marks)
@settings(max_examples=300)
def test_redacted_removes_the_secrets_and_nothing_else(text, mark):
    found, parts, at = find_secrets(text), [], 0
    for one in found:
        assert at <= one.start < one.end <= len(text)
        parts.append(text[at : one.start])
        at = one.end
    hidden = redacted(text, mark)
    assert hidden == mark.join([*parts, text[at:]])
    assert hidden.count("\\") <= text.count("\\")


#: Without the number that is one of social security where a word for that stands near, as it does in another of the lines.
APART = [line for line in PLAIN if "555-12-3456" not in line]


@given(st.lists(st.sampled_from(APART), max_size=6), st.sampled_from(JOINTS))
@settings(max_examples=300)
def test_redacted_keeps_a_text_of_lines_without_a_secret(lines, joint):
    text = joint.join(lines)
    assert redacted(text) == text
