"""The rules of answers: what is a request, what may be remembered, which input has an answer (protocol.md, 7.8 and 7.9)."""

import pytest

from recalld.supervisor.protocol.inbox import parse_inbox, without_inputs
from recalld.supervisor.protocol.turn import split_request
from recalld.supervisor.replies.answer import Input, answered
from tests.world import ZONE, at, message, parsed

MARK = "k7f3a9c2e51"
ASKS = f"```recalld {MARK}\nsearch_memory nginx\n```"
#: As it was shown, and as a model of half a billion parameters repeats it.
MARK_LINES = (
    *("（本轮的标记：k0123456789）", "(The mark of this turn: k7f3a9c2e51)"),
    *("本轮的标记：k7f3a9c2e51", "The mark of this turn: k7f3a9c2e51"),
)
NOW = at("2026-01-31T10:00")


@pytest.mark.parametrize(
    ("answer", "said", "asked"),
    [
        (f"我查一下。\n\n{ASKS}", "我查一下。", "search_memory nginx"),
        (ASKS, "", "search_memory nginx"),
        (f"好。\n{ASKS}\n\n```recalld {MARK}\nget_recent_history 5\n```\n", "好。", "search_memory nginx"),
    ],
)
def test_request_at_the_end_is_taken_off_and_the_first_counts(answer, said, asked):
    assert split_request(answer, MARK) == (said, asked)


@pytest.mark.parametrize("line", MARK_LINES)
def test_mark_that_a_model_repeats_is_no_part_of_its_answer(line):
    assert split_request(f"周五。\n\n{line}", MARK) == ("周五。", "")
    assert split_request(f"{line}\n周五。\n{ASKS}", MARK) == ("周五。", "search_memory nginx")


@pytest.mark.parametrize(
    "answer",
    [
        f"{ASKS}\n再说一句。",
        "\n".join(f"> {line}" for line in ASKS.split("\n")),
        f"````text\n{ASKS}\n````",
        ASKS.replace(MARK, "k0000000000"),
        ASKS.replace(f" {MARK}", ""),
        f"```recalld {MARK}\nsearch_memory nginx",
    ],
)
def test_request_elsewhere_or_in_another_form_is_text(answer):
    assert split_request(answer, MARK) == (answer, "")
    assert split_request(answer, "") == (answer, "")


@pytest.mark.parametrize(
    ("others", "has_answer"),
    [
        ([], False),
        ([message("a", "2026-01-31T09:01", "三点。", "assistant", session="甲")], True),
        ([message("a", "2026-01-31T09:01", "三点。", "assistant")], True),
        ([message("a", "2026-01-31T09:01", "三点。", "assistant", session="乙")], False),
        ([message("a", "2026-01-31T09:01", "三点。", "assistant", session="甲", inReplyTo="q9")], False),
        ([message("a", "2026-01-31T09:01", "三点。", "assistant", session="乙", inReplyTo=["q1"])], True),
        (
            [message("u", "2026-01-31T09:01", "喂？", session="乙"), message("a", "2026-01-31T09:02", "在。", "assistant")],
            False,
        ),
    ],
)
def test_input_has_an_answer_that_follows_in_its_session_or_names_it(others, has_answer):
    question = parsed(message("q1", "2026-01-31T09:00", "几点？", session="甲"))
    history = [question, *map(parsed, others)]
    assert bool(answered([Input(question, "q1", NOW)], history, lambda _: False)) is has_answer


@pytest.mark.parametrize(
    ("data", "left"),
    [
        ('["几点？", {"id": "q1", "text": "几点？", "更多": 1}, 42]', '["几点？", 42]'),
        ('{"inputs": [{"id": "q1", "text": "几点？"}], "v": 2}', '{"inputs": [], "v": 2}'),
        ('{"id": "q1", "text": "几点？"}', "[]"),
        ('[{"id": "q1", "text": "别的？"}]', None),
    ],
)
def test_inbox_loses_the_answered_inputs_and_nothing_else(data, left):
    found = without_inputs(data.encode(), {("q1", "几点？")}, ZONE)
    assert (found.decode().strip() if found else None) == left
    assert parse_inbox(data.encode(), ZONE)
