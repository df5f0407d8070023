"""A message of history.json: read tolerantly, changed only in the fields of recalld, written back as it was found."""

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.message import (
    Archived,
    Failure,
    parse_history,
    read_message,
    render_history,
    with_archived,
    with_failure,
    with_id,
    with_timestamp,
)
from recalld.supervisor.storage.lenient_json import DEEPEST, parse_json, render_json
from tests.protocol.values import FIELDS, JSON, TEXT
from tests.world import parsed

SHANGHAI = ZoneInfo("Asia/Shanghai")
EIGHT = datetime(2026, 1, 28, 8, tzinfo=UTC)
RAW = {"id": "01J", "role": "user", "text": "我对花生过敏", "createdAt": "2026-01-28T08:00:00.000Z", "archived": False}


# ── tolerant reading ─────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "thought",
    [
        {"type": "thinking", "thinking": "先想想", "signature": "…"},
        {"type": "redacted_thinking", "data": "先想想"},
        {"type": "reasoning", "text": "先想想"},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "先想想"}]},
        {"text": "先想想", "thought": True},
    ],
)
def test_read_message_leaves_the_thinking_of_a_model_out_of_the_text(thought):
    raw = {"role": "assistant", "content": [thought, {"type": "text", "text": "好的"}], "reasoning_content": "先想想"}
    assert (parsed(raw).text, parsed(raw).raw) == ("好的", raw)


@given(
    JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "role", "text", "content", "createdAt", "archived"), JSON))
)
def test_read_message_never_raises(raw):
    found = read_message(raw, SHANGHAI)
    assert found.raw is raw


# ── changing only what is ours ───────────────────────────────────────────────


@pytest.mark.parametrize("before", Archived)
@pytest.mark.parametrize("after", Archived)
def test_with_archived_allows_only_legal_transitions(before, after):
    legal = {("NO", "PENDING"), ("NO", "YES"), ("PENDING", "YES"), ("PENDING", "NO")}
    found = parsed({**RAW, "archived": before.value})
    if before is after:
        assert with_archived(found, after) is found
    elif (before.name, after.name) in legal:
        assert with_archived(found, after).raw["archived"] == after.value
    else:
        with pytest.raises(ValueError, match="archived may not go from"):
            with_archived(found, after)


@given(st.fixed_dictionaries({"role": st.just("user"), "text": TEXT}), FIELDS)
def test_message_changes_keep_unknown_fields(raw, foreign):
    foreign = {k: v for k, v in foreign.items() if k not in {"id", "role", "text", "content", "createdAt", "archived"}}
    found = parsed({**foreign, **raw})
    changed = with_failure(
        with_archived(with_id(with_timestamp(found, EIGHT), "m-1"), Archived.PENDING), Failure(1, EIGHT, EIGHT, "")
    )
    changed = with_archived(changed, Archived.YES)
    assert [(k, v) for k, v in changed.raw.items() if k in foreign] == list(foreign.items())


# ── the array ────────────────────────────────────────────────────────────────

#: What a history.json must not be taken for an array of messages, and what is said of it.
DAMAGED = {
    b"": "it is empty",
    b"\0" * 4096: "it contains only blanks",
    b"[{": "it is not JSON at line 1, column 3",
    b"[1] [2]": "it is not JSON at line 1, column 5",
    b'{"messages": []}': "it holds no array",
    b"NaN": "it holds no array",
    b"null": "it holds no array",
    b"[" * 100_000: "its nesting is too deep",
    b'{"a":' * 100_000: "its nesting is too deep",
    "[]".encode("utf-16"): "it is UTF-16, not UTF-8 (`iconv -f UTF-16 -t UTF-8` converts it)",
    "[“好”]".encode("gb18030"): "it is not UTF-8 at byte 1",
    b"\xef\xbb\xbf": "it is not JSON",
}


@pytest.mark.parametrize(("data", "why"), DAMAGED.items(), ids=range(len(DAMAGED)))
def test_parse_history_refuses_data_that_is_not_an_array_with_a_reason(data, why):
    with pytest.raises(ValueError, match=r".") as caught:
        parse_history(data, SHANGHAI)
    assert str(caught.value).startswith(why)


def test_parse_json_keeps_the_last_duplicate_key_and_renames_earlier_ones():
    """With `archived` twice and the last one `true`, the message would never be archived."""
    assert parse_json(b'{"a": 1, "b": 0, "a": 2}') == {"a": 2, "a~1": 1, "b": 0}
    assert parse_json(b'{"a": 1, "a": 1}') == {"a": 1}
    assert parse_json(b'{"a": 1, "a": 2, "a": 3, "a~1": 9}').items() >= {"a": 3, "a~2": 2}.items()


@given(
    st.lists(JSON | st.fixed_dictionaries({"role": TEXT, "text": TEXT}, optional={"id": TEXT, "createdAt": JSON}), max_size=5)
)
def test_render_history_keeps_values_and_order_of_any_array(array):
    data = json.dumps(array).encode()
    before = json.loads(data)
    after = json.loads(render_history(parse_history(data, SHANGHAI)))
    assert repr(after) == repr(before)  # subtle: repr tells the order of keys, 1 from 1.0 and 1 from True
    assert render_history(parse_history(render_history(parse_history(data, SHANGHAI)), SHANGHAI)) == render_history(
        parse_history(data, SHANGHAI)
    )


@given(st.binary() | st.text('[]{},:"\\ \n0123456789.eE-+truefalsn\ufeff').map(str.encode))
def test_parse_json_reads_or_refuses_any_bytes(data):
    try:
        value = parse_json(data)
    except ValueError:
        return
    assert parse_json(render_json(value)) == value


def calls_deeper(calls, what):
    return calls_deeper(calls - 1, what) if calls else what()


@pytest.mark.parametrize("calls", [0, 300])
def test_parse_history_limits_nesting_regardless_of_call_depth(calls):
    """Nothing here may raise RecursionError: what it says is the same as of 100,000 levels."""
    for depth in (100, 300, DEEPEST - 1, DEEPEST, 700, *range(900, 1100, 10), 100_000):
        data = b'[{"role": "user", "text": "", "x": ' + b"[" * depth + b"]" * depth + b"}]"
        if depth < DEEPEST:
            history = calls_deeper(calls, lambda data=data: parse_history(data, SHANGHAI))
            assert parse_history(calls_deeper(calls, lambda history=history: render_history(history)), SHANGHAI) == history
        else:
            with pytest.raises(ValueError, match="its nesting is too deep"):
                calls_deeper(calls, lambda data=data: parse_history(data, SHANGHAI))
