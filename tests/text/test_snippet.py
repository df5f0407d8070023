"""Where a text is cut: outside grapheme clusters, within a length, around the words that matter."""

from fractions import Fraction
from itertools import accumulate, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.text.snippet import _densest, excerpt, is_grapheme_boundary, snippet_span

#: What a person sees as one character, each by a rule of UAX 29.
CLUSTERS = {
    "CR LF (GB3)": "\r\n",
    "hangul jamo, L V T (GB6, GB7, GB8)": "\u1100\u1161\u11a8",
    "an accent (GB9)": "e\u0301",
    "kana with a voiced mark (GB9)": "か\u3099",
    "Chinese with a variation selector of the supplement (GB9)": "葛\U000e0100",
    "a keycap (GB9)": "1\ufe0f\u20e3",
    "a skin tone (GB9)": "👍🏽",
    "the flag of Scotland, of tags (GB9)": "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "a vowel sign of Devanagari (GB9a)": "नि",
    "a number sign of Arabic before its digit (GB9b)": "\u0600\u0661",
    "a conjunct of Devanagari (GB9c)": "क्षि",
    "a family (GB11)": "👨‍👩‍👧‍👦",
    "the flag of China (GB12)": "🇨🇳",
    "a surrogate pair, by our own rule": "\ud83d\ude00",
    "an ordinary Chinese character": "花",
    "an astral Chinese character": "𠮷",
    "a lone surrogate": "\ud83d",
}
MADE_OF_CLUSTERS = st.lists(st.sampled_from(list(CLUSTERS.values())), max_size=40)


def boundaries(clusters):
    return set(accumulate(map(len, clusters), initial=0))


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
def test_grapheme_boundary_is_at_both_ends_of_a_cluster_and_not_inside(cluster):
    for clusters in (["花", cluster, "a"], ["🇺🇸", cluster, "🇺🇸"], [cluster] * 5):
        text = "".join(clusters)
        assert {at for at in range(len(text) + 1) if is_grapheme_boundary(text, at)} == boundaries(clusters)


@given(MADE_OF_CLUSTERS, st.integers(0, 60), st.lists(st.sampled_from(["花", "a", "1", "e", "👍", "国"]), max_size=3))
def test_snippet_is_short_enough_and_cuts_no_cluster(clusters, chars, terms):
    text = "".join(clusters)
    start, end = snippet_span(text, chars, terms)
    assert {start, end} <= boundaries(clusters)
    assert 0 <= start <= end <= len(text)
    assert end - start <= chars
    assert end - start == len(text) or len(text) > chars


@given(MADE_OF_CLUSTERS, MADE_OF_CLUSTERS, st.sampled_from(["花生", "peanut"]), st.integers(0, 40))
def test_snippet_holds_the_term_that_is_not_longer_than_it(before, after, term, more):
    text = "".join((*before, term, *after))
    start, end = snippet_span(text, len(term) + more, [term])
    assert term in text[start:end]


@given(st.text(st.characters(), max_size=30), st.integers(0, 30), st.integers(0, 20), st.text(max_size=2))
def test_snippet_is_within_any_text(text, at, chars, term):
    start, end = snippet_span(text, chars, [term])
    assert 0 <= start <= end <= len(text)
    assert isinstance(is_grapheme_boundary(text, at), bool)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12), st.sampled_from("abcdef")), min_size=1, max_size=14),
    st.integers(1, 25),
)
def test_snippet_takes_the_first_span_with_most_terms_and_the_rarest(found, chars):
    finds = sorted((start, start + length, term) for start, length, term in found)
    often = {term: sum(one[2] == term for one in finds) for _, _, term in finds}
    spans = [[*takewhile(lambda one, at=at: one[1] - finds[at][0] <= chars, finds[at:])] for at in range(len(finds))]
    terms = [{term for _, _, term in span} for span in spans]
    best = max(range(len(finds)), key=lambda at: (len(terms[at]), sum(Fraction(1, often[term]) for term in terms[at]), -at))
    inside = spans[best] or finds[:1]
    assert _densest(finds, chars) == (inside[0][0], max(end for _, end, _ in inside))


@pytest.mark.parametrize(
    ("text", "term", "snippet"),
    [
        (
            "Rain fell for a whole week. The mower takes thin oil, and little of it. Then came frost, and more rain, and mud.",
            "mower",
            "The mower takes thin oil, and little of it.",
        ),
        ("雨下了一整个星期。割草机用薄机油，只要一点点。后来下霜了。", "机油", "割草机用薄机油，只要一点点。后来下霜了。"),
        ("Put it into .env and into no other file, as we said before, please.", "env", ".env and into no other"),
    ],
)
def test_snippet_does_not_begin_with_the_end_of_a_sentence(text, term, snippet):
    start, end = snippet_span(text, len(snippet), [term])
    assert text[start:end] == snippet


def test_excerpt_keeps_the_fence_and_language_of_code():
    code = "```python\n" + "".join(f"step_{n}()\n" for n in range(90)) + "restore(backup)\n```\n"
    text = "Some advice. " * 60 + "\n" + code + "More advice. " * 60
    assert excerpt(text, 60, ["restor", "backup"]) == "…\n```python\nrestore(backup)\n```\n…"


def test_excerpt_is_the_beginning_without_terms_and_never_cuts_a_character():
    assert excerpt("第一句。第二句。", 100, ["花生"]) == "第一句。第二句。"
    assert excerpt("一" * 50, 10, []) == "一" * 10 + "\n…"
    assert "e\u0301" in excerpt("cafe\u0301 " * 200, 20, ["cafe"])
