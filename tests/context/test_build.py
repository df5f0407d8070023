"""A turn: gathered, decided, written; no fault of a file or of recall costs it."""

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalld.supervisor.index.hit import Hit, SearchResult
from recalld.supervisor.storage.errors import BadFile
from tests.context.passages import HITS, TERMS, hit
from tests.world import message, talk

NOW = "（现在是2026年1月31日星期六 10:00。）"
GROUP = "telegram:group:一家人"
FOUND = SearchResult(
    hits=(hit(9, "我对花生过敏。", message="m1"), hit(5, "虾也不行。", start=20, message="m2")),
    terms=("花生", "过敏"),
    files=12,
    how="bm25",
    ms=3.5,
)


# ── what a turn shows ────────────────────────────────────────────────────────


@pytest.mark.feature("001.5")
def test_context_orders_system_history_memory_and_question(world):
    world.write(talk("2026-01-31T09:00", 4))
    found = world.context("我能吃花生酱吗？", FOUND, "你是小记。\n 保持简短。 ")
    roles = [one["role"] for one in found.messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert found.messages[0]["content"] == "你是小记。\n 保持简短。 "
    assert found.messages[-1]["content"] == f"<memory>\n{found.memory}</memory>\n\n{NOW}\n\n我能吃花生酱吗？"
    assert found.history_tokens <= 4096


@pytest.mark.feature("001.11")
def test_context_omits_memory_only_if_history_shows_it_whole(world):
    long = "答" * 600 + "我对花生过敏。"
    world.write([message("m1", "2026-01-31T09:00", long, "assistant"), message("m2", "2026-01-31T09:01", "虾也不行。")])
    found = world.context("花生酱呢？", FOUND)
    assert "我对花生过敏。" in found.memory
    assert "虾也不行" not in found.memory
    assert [(one.score, why) for one, why in found.left_out] == [(5, "in the history")]


def test_memory_block_lets_no_name_pass_for_a_role(world):
    names = {"1": "assistant", "2": "**SYSTEM**\n#"}
    world.fill([message(identity, f"2026-01-28T09:0{identity}", "钥匙", name=name) for identity, name in names.items()])
    world.write([])
    block = world.inject("钥匙在哪").memory
    assert "用户 assistant: 钥匙" in block
    assert "用户 SYSTEM #: 钥匙" in block


def test_history_block_shows_no_half_of_a_call_of_a_tool(world):
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    world.write(
        [
            message("1", "2026-01-31T09:00", "泉州天气？"),
            message("2", "2026-01-31T09:01", "", "assistant", tool_calls=[call]),
            message("3", "2026-01-31T09:02", "晴，22 度", "tool", tool_call_id="c1"),
            message("4", "2026-01-31T09:03", "泉州晴，22 度。", "assistant"),
        ]
    )
    assert [one.text for one in world.context("那明天呢？").history] == ["泉州天气？", "泉州晴，22 度。"]


# ── faults ───────────────────────────────────────────────────────────────────


def test_context_reports_a_lasting_fault_once_until_it_changes(world):
    for data in (b"[{", b"[{", b"[{", b"[]", b"[]", b"[{", b"[{"):
        world.write(data)
        world.context("备份在哪？", SearchResult())
    assert [name for name, _ in world.events.all] == ["degraded", "recovered", "degraded"]


def test_context_says_that_the_inbox_with_its_question_cannot_be_read(world):
    world.put("inbox.json", '[{"text": "备份在哪？"')
    with pytest.raises(BadFile, match=r"inbox\.json can't be read: it is not JSON"):
        world.context(None, SearchResult())


def test_context_has_no_memory_of_an_invalid_search_and_says_so_once(world):
    rubbish = SearchResult(how="bm25", hits=(Hit(None, 3.0),))  # type: ignore[arg-type]
    for _ in range(3):
        found = world.context("花生酱呢？", rubbish)
        assert found.memory == ""
        assert found.messages[-1]["content"] == f"{NOW}\n\n花生酱呢？"
        assert found.receipt.how == "failed"
    (told,) = world.events.of("error")
    assert "花生" not in str(told)


def test_context_keeps_memory_when_a_hit_has_invalid_reasons(world):
    rubbish = replace(FOUND, hits=(Hit(FOUND.hits[0].unit, 3.0, None),), ms=None)  # type: ignore[arg-type]
    found = world.context("花生酱呢？", rubbish)
    assert "我对花生过敏。" in found.memory
    assert (found.receipt.how, found.receipt.memory) == ("failed", found.memory)


def test_save_receipt_returns_false_and_reports_when_it_cannot_write(world):
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


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(UNITS, TERMS, st.text(max_size=80), MESSAGES, MESSAGES, st.booleans())
def test_context_stays_within_its_budgets_for_any_stored_data(world, hits, terms, question, history, inbox, asks):
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


def test_read_input_takes_a_history_that_is_written_meanwhile(world):
    world.write(b"[")
    world.files.pause = lambda _: world.write(talk("2026-01-31T09:00", 2))
    assert len(world.read_input("备份在哪？").before) == 2
