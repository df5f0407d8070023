"""The question of a turn, its audience, and what may be shown to that audience."""

from datetime import timedelta

import pytest

from recalld.supervisor.context.request import Contained, admit, for_project, resolve_input
from recalld.supervisor.protocol.inbox import Chat
from recalld.supervisor.recall.audience import ALONE
from tests.archive.states import NOON, ODD, parsed_message
from tests.context.passages import hit

GROUP, OTHER = "telegram:group:一家人", "telegram:group:同事"


def said(identity: str, text: str, minute: int = 0, role: str = "user", **more: str):
    return parsed_message(identity, text, NOON + timedelta(minutes=minute), role=role, **more)


# ── the question ─────────────────────────────────────────────────────────────


@pytest.mark.feature("003.15")
def test_resolve_input_joins_waiting_inputs_in_order():
    found = resolve_input(None, [said("i1", "花生呢？"), said("i2", "还有虾？")], (said("m1", "你好"),))
    assert found.question == "花生呢？\n还有虾？"
    assert [m.id for m in found.before] == ["m1"]


def test_resolve_input_removes_the_question_from_the_messages_before():
    """The assistant appends it before it answers."""
    waiting = said("i1", "花生呢？", 5)
    assert resolve_input(None, [waiting], (said("m1", "你好"), waiting)).before == (said("m1", "你好"),)
    without_id = parsed_message("", "花生呢？", NOON + timedelta(minutes=5))
    assert [m.id for m in resolve_input(None, [without_id], (said("m1", "你好"), said("x", "花生呢？", 5))).before] == ["m1"]
    assert [m.id for m in resolve_input("花生呢？", [], (said("m1", "你好"), said("x", " 花生呢？", 5))).before] == ["m1"]


def test_resolve_input_skips_an_answered_input():
    waiting, answer = said("i1", "花生呢？", 5), said("a1", "不能吃", 6, "assistant")
    assert resolve_input(None, [waiting, said("i2", "虾呢？", 7)], (waiting, answer)).question == "虾呢？"
    assert resolve_input(None, [waiting], (waiting, answer)).question == ""
    assert resolve_input(None, [waiting], (answer, waiting)).question == "花生呢？"
    for called_a_tool_or_spoke_elsewhere in (
        said("a1", " ", 6, "assistant"),
        said("a1", "不能吃", 6, "assistant", session=GROUP),
    ):
        assert resolve_input(None, [waiting], (waiting, called_a_tool_or_spoke_elsewhere)).question == "花生呢？"


def test_resolve_input_keeps_only_the_chat_of_the_newest_input():
    history = (said("m1", "我的密码"), said("g1", "周末吃什么", session=GROUP), said("o1", "开会", session=OTHER), ODD)
    inbox = [said("i1", "密码是多少？"), said("i2", "花生呢？", session=GROUP)]
    found = resolve_input(None, inbox, history)
    assert (found.question, found.chat) == ("花生呢？", Chat("group", GROUP))
    assert [m.id for m in found.before] == ["g1"]
    assert [m.id for m in resolve_input(None, inbox[:1], history).before] == ["m1"]
    assert [m.id for m in resolve_input("花生呢？", [], history).before] == ["m1"]


def test_resolve_input_gives_a_group_without_session_no_history():
    assert resolve_input(None, [said("i1", "花生呢？", chat="group")], (said("g", "别的群", chat="group"),)).before == ()


# ── what may be said there ───────────────────────────────────────────────────


def test_audience_drops_hits_already_in_the_turn():
    hits = [hit(9, "花生过敏", message="m1"), hit(8, "花生呢？", start=5), hit(7, "虾也过敏", start=6, message="m2")]
    kept, left = admit(hits, ALONE, Contained(messages=frozenset({"m1"}), questions=frozenset({"花生呢？"}), now=NOON))
    assert [one.score for one in kept] == [7]
    assert [why for _, why in left] == ["in the history", "the question"]


# ── projects ─────────────────────────────────────────────────────────────────

SHOP, BLOG = "/home/mia/shop", "/home/mia/blog"
SAID = [hit(9, "端口是 8080", project=BLOG), hit(8, "端口是 9090", start=5, project=SHOP), hit(7, "我习惯用 pnpm", start=6)]


@pytest.mark.parametrize(
    ("project", "rule", "scores", "left"),
    [(SHOP, "prefer", [5.4, 8, 7], 0), (SHOP, "only", [8, 7], 1), (SHOP, "all", [9, 8, 7], 0), ("", "only", [9, 8, 7], 0)],
)
def test_for_project_lets_other_projects_count_by_the_rule(project, rule, scores, left):
    kept, rejected = for_project(SAID, project, rule)
    assert [round(one.rank, 1) for one in kept] == scores
    assert [why for _, why in rejected] == ["project"] * left
