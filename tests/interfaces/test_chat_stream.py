"""What a person sees of an answer while it comes in: whatever the pieces, no thinking and no request (interfaces/chat/stream.py)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.interfaces.chat.stream import Seen

ASKS = "```recalld k7f3a9c2e51\nsearch_memory nginx\n```"


def shown(answer: str, whole: str, cuts: list[int]) -> str:
    """All that is shown of *answer*, which comes in pieces, and of which *whole* is the text of the result."""
    seen, places = Seen(), sorted({min(cut, len(answer)) for cut in cuts} | {0, len(answer)})
    pieces = [answer[start:end] for start, end in itertools.pairwise(places)]
    return "".join(map(seen.add, pieces)) + seen.rest(whole)


@given(st.lists(st.integers(0, 120)))
@pytest.mark.parametrize(
    ("answer", "whole"),
    [
        ("好。周五部署。", "好。周五部署。"),
        (f"我查一下。\n\n{ASKS}", "我查一下。"),
        ("周五。\n\n（本轮的标记：k7f3a9c2e51）", "周五。"),
        ("周五。\n\n本轮的标记：k7f3a9c2e51", "周五。"),
        ("<think>先想想 <b>…</b></think>\n\n周五。", "周五。"),
        ("<b>粗体</b>不是思考。", "<b>粗体</b>不是思考。"),
        ("看：\n```python\nprint(1)\n```\n就这样。", "看：\n```python\nprint(1)\n```\n就这样。"),
        ("一行\n\n两行\n", "一行\n\n两行"),
    ],
)
def test_seen_shows_the_whole_answer_in_any_pieces_and_nothing_else(answer, whole, cuts):
    assert shown(answer, whole, cuts) == whole


def test_seen_keeps_what_was_shown_of_an_answer_that_was_ended():
    seen = Seen()
    assert [seen.add(piece) for piece in ("<thi", "nk>想</think>\n周", "五", "\n``", "`reca")] == ["", "周", "五", "", ""]
    assert seen.text == "周五"
