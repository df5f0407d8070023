"""What is asked, in whose hearing, and what may be said there (003, 关键词提取; 001, citations)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from supervisor.context.request import Sight, admit, ask
from supervisor.protocol.inbox import Chat
from tests.archive.states import NOON, ODD, parsed_message
from tests.context.passages import hit

GROUP, OTHER = "telegram:group:一家人", "telegram:group:同事"


def said(identity: str, text: str, minute: int = 0, role: str = "user", **more: str):
    return parsed_message(identity, text, NOON + timedelta(minutes=minute), role=role, **more)


# ── the question ─────────────────────────────────────────────────────────────


def test_the_waiting_inputs_are_the_question_in_their_order():
    found = ask(None, [said("i1", "花生呢？"), said("i2", "还有虾？")], (said("m1", "你好"),))
    assert found.question == "花生呢？\n还有虾？"
    assert [m.id for m in found.before] == ["m1"]


def test_an_input_that_also_stands_in_history_stands_before_the_assistant_once():
    """A27: the assistant appends it before it answers."""
    waiting = said("i1", "花生呢？", 5)
    assert ask(None, [waiting], (said("m1", "你好"), waiting)).before == (said("m1", "你好"),)
    without_id = parsed_message("", "花生呢？", NOON + timedelta(minutes=5))
    assert [m.id for m in ask(None, [without_id], (said("m1", "你好"), said("x", "花生呢？", 5))).before] == ["m1"]
    assert [m.id for m in ask("花生呢？", [], (said("m1", "你好"), said("x", " 花生呢？", 5))).before] == ["m1"]


def test_an_input_with_an_answer_behind_it_waits_no_more():
    waiting, answer = said("i1", "花生呢？", 5), said("a1", "不能吃", 6, "assistant")
    assert ask(None, [waiting, said("i2", "虾呢？", 7)], (waiting, answer)).question == "虾呢？"
    assert ask(None, [waiting], (waiting, answer)).question == ""
    assert ask(None, [waiting], (answer, waiting)).question == "花生呢？"
    called_a_tool = said("a1", " ", 6, "assistant")
    assert ask(None, [waiting], (waiting, called_a_tool)).question == "花生呢？"


def test_an_answer_in_another_chat_is_no_answer():
    waiting, answer = said("i1", "花生呢？", 5), said("a1", "不能吃", 6, "assistant", session=GROUP)
    assert ask(None, [waiting], (waiting, answer)).question == "花生呢？"


def test_conversations_are_never_mixed_and_the_newest_input_says_which_it_is():
    history = (said("m1", "我的密码"), said("g1", "周末吃什么", session=GROUP), said("o1", "开会", session=OTHER), ODD)
    inbox = [said("i1", "密码是多少？"), said("i2", "花生呢？", session=GROUP)]
    found = ask(None, inbox, history)
    assert (found.question, found.chat) == ("花生呢？", Chat("group", GROUP))
    assert [m.id for m in found.before] == ["g1"]
    assert [m.id for m in ask(None, inbox[:1], history).before] == ["m1"]
    assert [m.id for m in ask("花生呢？", [], history).before] == ["m1"]


def test_direct_talk_is_one_conversation_over_all_sessions():
    history = (said("m1", "早上好", session="web-1"), said("m2", "中午好", session="web-2"))
    assert [m.id for m in ask(None, [said("i1", "花生呢？", session="web-3")], history).before] == ["m1", "m2"]


def test_a_group_without_a_session_has_no_history_that_could_be_anothers():
    assert ask(None, [said("i1", "花生呢？", chat="group")], (said("g", "别的群", chat="group"),)).before == ()


def test_the_talk_before_is_that_of_user_and_assistant():
    history = (said("m1", "一"), said("t", "结果", 2, "tool"), said("e", " ", 2, "assistant"), said("m3", "三", 3, "assistant"))
    assert [m.id for m in ask("它呢？", [], history).before] == ["m1", "m3"]


# ── what may be said there ───────────────────────────────────────────────────

FOUND = [
    hit(9, "我的工资", chat="direct"),
    hit(8, "群里说的花生", start=5, chat="group", session=GROUP),
    hit(7, "别的群说的", start=6, chat="group", session=OTHER),
    hit(6, "大家都可以知道", start=7, shared=True),
    hit(5, "没有名字的群", start=8, chat="group"),
    hit(4, "只对我说的", start=9, chat="direct", session=GROUP),
]


@pytest.mark.parametrize(
    ("chat", "in_groups", "shown"),
    [
        (Chat(), "own", [9, 8, 7, 6, 5, 4]),
        (Chat(), "none", [9, 8, 7, 6, 5, 4]),
        (Chat("group", GROUP), "own", [8, 6]),
        (Chat("channel", GROUP), "own", [8, 6]),
        (Chat("group", ""), "own", [6]),
        (Chat("group", GROUP), "all", [9, 8, 7, 6, 5, 4]),
        (Chat("group", GROUP), "none", []),
    ],
)
def test_a_group_hears_what_was_said_in_it_and_what_is_shared(chat, in_groups, shown):
    kept, left = admit(FOUND, Sight(chat=chat, in_groups=in_groups))
    assert [one.score for one in kept] == shown
    assert {why for _, why in left} <= {"group"}
    assert len(kept) + len(left) == len(FOUND)


def test_what_the_turn_holds_anyway_is_not_said_again():
    hits = [hit(9, "花生过敏", message="m1"), hit(8, "花生呢？", start=5), hit(7, "虾也过敏", start=6, message="m2")]
    kept, left = admit(hits, Sight(chat=Chat(), messages=frozenset({"m1"}), questions=frozenset({"花生呢？"})))
    assert [one.score for one in kept] == [7]
    assert [why for _, why in left] == ["in the history", "the question"]
