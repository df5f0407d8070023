"""The turn: gathered, decided, written down; and no fault of a file or a memory costs it (003, 检索与注入)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from supervisor.index.hit import Hit, SearchResult, Unit
from supervisor.text.token_count import estimate
from tests.context.passages import HITS, TERMS, hit
from tests.world import WITH_MODEL, World, message, talk

GROUP = "telegram:group:一家人"
FOUND = SearchResult(
    hits=(hit(9, "我对花生过敏。", message="m1"), hit(5, "虾也不行。", start=20, message="m2")),
    terms=("花生", "过敏"),
    files=12,
    how="bm25",
    ms=3.5,
)


def configured(world: World, **recall: Any) -> Any:
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in recall.items())
    return world.reopen(f"{WITH_MODEL}[recall]\n{lines}\n")


# ── inject ───────────────────────────────────────────────────────────────────


def test_the_memory_block_for_a_question_and_nothing_else(world):
    found = world.inject("我能吃花生酱吗？", FOUND)
    assert found.memory.endswith(
        "[memory/2026-01-28-allergy.md#L4] 我对花生过敏。\n[memory/2026-01-28-allergy.md#L20] 虾也不行。\n"
    )
    assert found.history == ()
    assert found.memory_tokens <= 2048
    assert [one.score for one in found.shown] == [9, 5]


def test_beside_a_history_that_the_client_sends_memory_leaves_nothing_out(world):
    world.write([message("m1", "2026-01-31T09:00", "我对花生过敏。")])
    assert "我对花生过敏。" in world.inject("花生酱呢？", FOUND).memory


def test_without_a_question_the_inbox_is_asked_and_left_alone(world):
    world.ask({"id": "i1", "text": "我能吃花生酱吗？", "createdAt": "2026-01-31T02:00:00.000Z"})
    before = world.tree()
    found = world.inject(None, FOUND)
    assert found.receipt.question == "我能吃花生酱吗？"
    assert found.memory
    assert world.tree() == before


def test_nothing_found_is_nothing_injected_unless_the_miss_is_to_be_said(world):
    nothing = SearchResult(how="bm25", terms=("花生", "过敏"), files=12)
    assert world.inject("我能吃花生吗？", nothing).memory == ""
    told = configured(world, honest_miss=True).inject("我能吃花生吗？", nothing)
    assert told.memory == "记忆：在 12 个文件中没有找到：花生、过敏\n"
    assert told.memory_tokens == estimate(told.memory) <= 30
    assert world.inject("Peanuts?", nothing).memory.startswith("Memory: 12 files")


def test_what_the_history_shows_is_no_miss(world):
    configured(world, honest_miss=True)
    world.write([message("m1", "2026-01-31T09:00", "我对花生过敏。")])
    only = SearchResult(how="bm25", hits=FOUND.hits[:1], terms=("花生",), files=12)
    assert world.context("花生酱呢？", only).memory == ""


def test_in_a_group_private_memory_is_not_said_and_what_is_said_is_not_cited(world):
    world.ask({"id": "i1", "text": "花生呢？", "session": GROUP})
    own = replace(FOUND.hits[1], unit=replace(FOUND.hits[1].unit, chat="group", session=GROUP))
    found = world.inject(None, replace(FOUND, hits=(FOUND.hits[0], own)))
    assert found.memory.endswith("\n[memory/2026-01-28-….md] 虾也不行。\n")
    assert "我对花生过敏" not in json.dumps(found.messages, ensure_ascii=False)
    assert [why for _, why in found.left_out] == ["group"]


@pytest.mark.parametrize(
    ("key", "value"), [("memory_tokens", 60), ("max_injected_chars", 90), ("max_hits", 1), ("hit", "line")]
)
def test_the_settings_are_the_limits(world, key, value):
    found = configured(world, **{key: value}).inject("花生？", FOUND)
    assert found.memory_tokens <= (60 if key == "memory_tokens" else 2048)
    assert len(found.memory) <= (90 if key == "max_injected_chars" else 10_000)
    assert found.receipt.config["recall"][key] == value


# ── context ──────────────────────────────────────────────────────────────────


def test_the_whole_turn_system_memory_history_question(world):
    world.write(talk("2026-01-31T09:00", 4))
    found = world.context("我能吃花生酱吗？", FOUND, "你是小记。\n 保持简短。 ")
    roles = [one["role"] for one in found.messages]
    assert roles == ["system", "system", "user", "assistant", "user", "assistant", "user"]
    assert found.messages[0]["content"] == "你是小记。\n 保持简短。 "
    assert found.messages[1]["content"] == found.memory
    assert found.messages[-1]["content"] == "我能吃花生酱吗？"
    assert found.history_tokens <= 4096


def test_what_stands_whole_in_the_history_block_is_not_said_again_and_what_stands_cut_is(world):
    long = "答" * 600 + "我对花生过敏。"
    world.write([message("m1", "2026-01-31T09:00", long, "assistant"), message("m2", "2026-01-31T09:01", "虾也不行。")])
    found = world.context("花生酱呢？", FOUND)
    assert "我对花生过敏。" in found.memory
    assert "虾也不行" not in found.memory
    assert [(one.score, why) for one, why in found.left_out] == [(5, "in the history")]


def test_the_waiting_input_stands_once_though_history_and_memory_have_it(world):
    asked = message("i1", "2026-01-31T09:30", "我对花生过敏吗？")
    world.ask(asked)
    world.write([*talk("2026-01-31T09:00", 2), asked])
    itself = hit(20, "我对花生过敏吗？（语音）", start=30, message="i1")
    found = world.context(None, replace(FOUND, hits=(itself, *FOUND.hits)))
    assert json.dumps(found.messages, ensure_ascii=False).count("我对花生过敏吗？") == 1


def test_in_a_small_context_the_shares_are_kept(world):
    world.reopen(f"{WITH_MODEL}context_tokens = 1024\n")
    world.write(talk("2026-01-31T05:00", 60))
    many = tuple(hit(30 - n, f"第 {n} 次说花生过敏", start=4 + 9 * n) for n in range(40))
    found = world.context("花生酱呢？", replace(FOUND, hits=many), "你是小记。" * 20)
    fixed = estimate("你是小记。" * 20) + estimate("花生酱呢？")
    assert found.memory_tokens + found.history_tokens + fixed <= 1024 * 3 / 4
    assert found.memory_tokens > 100
    assert len(found.history) >= 5


def test_the_talk_before_is_given_to_recall(world):
    world.write(talk("2026-01-31T09:00", 8))
    assert len(world.read_input("它呢？").before) == 8


# ── faults ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("data", [b"", b"{", b'{"a": 1}', b"\xff"])
def test_a_damaged_history_costs_the_history_and_not_the_turn(world, data):
    world.write(data)
    found = world.context("花生酱呢？", FOUND)
    assert "我对花生过敏。" in found.memory
    assert [one["role"] for one in found.messages] == ["system", "user"]
    assert len(world.events.of("degraded")) == 1


def test_a_damaged_inbox_asks_nothing_and_is_told(world):
    world.put("inbox.json", b"[{")
    found = world.context(None, SearchResult())
    assert found.messages == ()
    assert "inbox.json" in str(world.events.of("degraded"))


def test_what_lasts_is_told_once_however_many_turns_and_again_when_it_changes_or_comes_back(world):
    inbox = world.root / "inbox.json"
    for data in (b"[{", b"[{", b"[{", b"[]", b"[]", b"[{", b"[{"):
        inbox.write_bytes(data)
        world.context(None, SearchResult())
    names = [name for name, _ in world.events.all]
    assert names == ["degraded", "recovered", "degraded"]
    world.write(b"{")  # another thing, which is told beside it
    for _ in range(2):
        world.context(None, SearchResult())
    assert ["history.json" in str(fields) for _, fields in world.events.all[3:]] == [True]


def test_a_bug_that_lasts_is_told_once(world):
    rubbish = SearchResult(how="bm25", hits=(Hit(None, 3.0),))  # type: ignore[arg-type]
    for _ in range(3):
        world.context("花生酱呢？", rubbish)
    assert len(world.events.of("error")) == 1


def test_a_recall_that_brings_rubbish_ends_in_a_turn_without_memory_and_an_event(world):
    rubbish = SearchResult(how="bm25", hits=(Hit(None, 3.0),))  # type: ignore[arg-type]
    found = world.context("花生酱呢？", rubbish)
    assert found.memory == ""
    assert found.messages[-1]["content"] == "花生酱呢？"
    assert found.receipt.how == "failed"
    (told,) = world.events.of("error")
    assert "花生" not in str(told)


def test_a_recall_whose_reasons_are_rubbish_costs_the_reasons(world):
    rubbish = replace(FOUND, hits=(Hit(FOUND.hits[0].unit, 3.0, None),), ms=None)  # type: ignore[arg-type]
    found = world.context("花生酱呢？", rubbish)
    assert "我对花生过敏。" in found.memory
    assert (found.receipt.how, found.receipt.memory) == ("failed", found.memory)


def test_a_receipt_that_can_not_be_written_costs_the_receipt(world):
    world.put("turns", "这里有一个文件")
    assert not world.save_receipt(world.inject("花生呢？", FOUND))
    assert world.events.of("degraded")


UNITS = HITS.map(tuple)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(("user", "assistant", "tool", "奇怪")), "text": st.text(max_size=30)},
        optional={
            "id": st.text(max_size=4),
            "createdAt": st.sampled_from(("2026-01-31T01:00:00Z", "昨天", 5)),
            "session": st.just(GROUP),
        },
    )
    | st.none()
    | st.text(max_size=5),
    max_size=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(UNITS, TERMS, st.text(max_size=80), MESSAGES, MESSAGES, st.booleans())
def test_whatever_is_stored_the_turn_is_made_and_within_its_budgets(world, hits, terms, question, history, inbox, asks):
    world.events.all.clear()
    world.write(history)
    world.ask(*inbox)
    found = world.context(question if asks else None, SearchResult(how="bm25", hits=hits, terms=tuple(terms)), "提示")
    assert found.memory_tokens <= 2048
    assert found.history_tokens <= 4096
    assert json.dumps(found.messages)
    assert world.save_receipt(found)
    assert world.why(found.id).question == found.receipt.question
    assert world.events.all == []


# ── why ──────────────────────────────────────────────────────────────────────


def test_the_receipt_says_what_was_shown_what_was_not_and_why(world):
    configured(world, max_hits=1)
    other = hit(3, "别的文件里的花生", path="memory/b.md")
    found = world.context("花生酱呢？", replace(FOUND, hits=(*FOUND.hits, other)), "提示")
    assert world.save_receipt(found)
    receipt = world.why()
    assert (receipt.id, receipt.question, receipt.at) == (found.id, "花生酱呢？", world.clock())
    assert [(one.path, one.start, one.shown, one.why) for one in receipt.candidates] == [
        ("memory/2026-01-28-allergy.md", 4, True, ""),
        ("memory/2026-01-28-allergy.md", 20, True, ""),
        ("memory/b.md", 4, False, "files"),
    ]
    assert receipt.memory == found.memory
    assert [dict(one) for one in receipt.messages] == list(found.messages)
    assert receipt.terms == ("花生", "过敏")
    assert receipt.tokens["memory"] <= receipt.budgets["memory"] <= 2048


def test_a_replay_says_in_which_lines_the_block_would_differ_now(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.save_receipt(world.context("花生酱呢？", FOUND))
    asked: list[tuple[str, object, list[tuple[str, str, str]]]] = []

    def recall(_ws, question, now, recent):
        asked.append((question, now, [(one.id, one.role, one.text) for one in recent]))
        return replace(FOUND, hits=(hit(9, "我对花生和虾都过敏。", message="m1"), FOUND.hits[1]))

    found = world.replay(world.why(), recall)
    assert asked == [("花生酱呢？", world.clock(), [(one["id"], one["role"], one["text"]) for one in world.history()])]
    assert [line for line in found.difference if line[0] in "+-" and line[1] == "["] == [
        "-[memory/2026-01-28-allergy.md#L4] 我对花生过敏。",
        "+[memory/2026-01-28-allergy.md#L4] 我对花生和虾都过敏。",
    ]
    assert world.replay(world.why(), lambda *_: FOUND).difference == ()


def test_a_replay_shows_what_stood_cut_in_the_history_as_the_turn_did(world):
    world.write([message("m1", "2026-01-31T09:00", "答" * 600 + "我对花生过敏。", "assistant")])
    world.save_receipt(world.context("花生酱呢？", FOUND))
    assert "我对花生过敏。" in world.why().memory
    assert world.replay(world.why(), lambda *_: FOUND).difference == ()


def test_a_replay_in_a_group_hears_what_the_group_hears(world):
    world.ask({"id": "i1", "text": "花生呢？", "session": GROUP})
    shared = Unit(path="memory/a.md", start=4, end=4, text="大家都知道花生过敏", tier="dated", shared=True)
    found = SearchResult(how="bm25", hits=(Hit(shared, 4.0), *FOUND.hits), terms=("花生",))
    world.save_receipt(world.inject(None, found))
    assert world.replay(world.why(), lambda *_: found).difference == ()
