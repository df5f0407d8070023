"""A message of history.json: read tolerantly, changed only in what is ours, written back as it was found."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.protocol.lenient_json import DEEPEST, parse_json, render_json
from supervisor.protocol.message import (
    MOVES,
    Archived,
    Message,
    Odd,
    base_of,
    dated,
    failed,
    flagged,
    named,
    parse_history,
    read_message,
    render_history,
    words_digest,
)
from tests.protocol.values import FIELDS, JSON, TEXT

SHANGHAI = ZoneInfo("Asia/Shanghai")
EIGHT = datetime(2026, 1, 28, 8, tzinfo=UTC)
RAW = {"id": "01J", "role": "user", "text": "我对花生过敏", "createdAt": "2026-01-28T08:00:00.000Z", "archived": False}


def read(raw: object) -> Message:
    found = read_message(raw, SHANGHAI)
    assert isinstance(found, Message)
    return found


def odd(raw: object) -> str:
    found = read_message(raw, SHANGHAI)
    assert isinstance(found, Odd)
    assert found.raw is raw
    return found.why


# ── tolerant reading ─────────────────────────────────────────────────────────


def test_a_message_as_the_seed_writes_it():
    found = read(RAW)
    assert (found.id, found.role, found.text, found.created_at, found.archived) == (
        "01J",
        "user",
        "我对花生过敏",
        EIGHT,
        Archived.NO,
    )


@pytest.mark.parametrize(
    ("role", "meaning"), [("agent", "assistant"), ("teller", "assistant"), ("tool", "tool"), ("小王", "小王")]
)
def test_other_names_of_the_assistant_mean_it_and_stay_as_they_were(role, meaning):
    found = read({**RAW, "role": role})
    assert (found.role, found.raw["role"]) == (meaning, role)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("你好", "你好"),
        ([{"type": "text", "text": "看这张图"}, {"type": "image_url", "image_url": {}}], "看这张图"),
        (["第一段", {"text": "第二段"}], "第一段\n第二段"),
        ([], ""),
    ],
)
def test_content_means_text(content, text):
    raw = {"role": "user", "content": content}
    assert read(raw).text == text
    assert read(raw).raw is raw


def test_an_assistant_that_only_called_a_tool_says_nothing():
    assert read({"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]}).text == ""


@pytest.mark.parametrize(
    ("found", "flag"),
    [
        (False, "NO"),
        ("pending", "PENDING"),
        (True, "YES"),
        (None, "NO"),
        ("true", "NO"),
        (1, "NO"),
        ([], "NO"),
        ("已归档", "NO"),
    ],
)
def test_any_flag_but_pending_and_true_means_false(found, flag):
    assert read({**RAW, "archived": found}).archived is Archived[flag]


def test_no_flag_means_false():
    assert read({k: v for k, v in RAW.items() if k != "archived"}).archived is Archived.NO


@pytest.mark.parametrize(("found", "identity"), [(7, "7"), ("", ""), (10**30, str(10**30))])
def test_an_id_that_is_a_number_is_its_digits(found, identity):
    assert read({**RAW, "id": found}).id == identity


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("一句话", "it is not an object"),
        (None, "it is not an object"),
        ([], "it is not an object"),
        ({}, "it has no role"),
        ({"role": None, "text": "好"}, "it has no role"),
        ({"role": " ", "text": "好"}, "it has no role"),
        ({"role": 7, "text": "好"}, "it has no role"),
        ({"role": "user", "text": None}, "it has no text"),
        ({"role": "user"}, "it has no text"),
        ({"role": "user", "text": 7}, "it has no text"),
        ({"role": "user", "content": {"a": 1}}, "it has no text"),
        ({**RAW, "id": None}, "its id is not a string"),
        ({**RAW, "id": True}, "its id is not a string"),
        ({**RAW, "id": 1.5}, "its id is not a string"),
        ({**RAW, "id": ["a"]}, "its id is not a string"),
    ],
)
def test_what_cannot_be_understood_says_why(raw, why):
    assert odd(raw) == why


@pytest.mark.parametrize("found", ["三次", -1, True, 1.5, 10**9, None, []])
def test_a_count_of_failures_that_is_none_counts_for_nothing(found):
    assert read({**RAW, "archiveAttempts": found}).attempts == 0


@pytest.mark.parametrize("found", ["明天", "2026-01-28", 7, None, "9999-12-31T23:59:59-23:59"])
def test_a_time_of_a_failure_that_is_none_counts_for_nothing(found):
    assert read({**RAW, "archiveNextAt": found}).next_at is None


@given(
    JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "role", "text", "content", "createdAt", "archived"), JSON))
)
def test_reading_a_message_never_fails(raw):
    found = read_message(raw, SHANGHAI)
    assert found.raw is raw


# ── changing only what is ours ───────────────────────────────────────────────


@pytest.mark.parametrize("before", Archived)
@pytest.mark.parametrize("after", Archived)
def test_the_flag_makes_its_legal_moves_and_no_others(before, after):
    legal = {("NO", "PENDING"), ("NO", "YES"), ("PENDING", "YES"), ("PENDING", "NO")}
    found = read({**RAW, "archived": before.value})
    if before is after:
        assert flagged(found, after) is found
    elif (before.name, after.name) in legal:
        assert flagged(found, after).raw["archived"] == after.value
    else:
        with pytest.raises(ValueError, match="archived may not go from"):
            flagged(found, after)


def test_nothing_leaves_true():
    assert MOVES[Archived.YES] == frozenset()


def test_a_failure_is_mirrored_in_the_message_and_gone_with_success():
    found = failed(read(RAW), 2, EIGHT, EIGHT)
    assert list(found.raw)[-3:] == ["archiveAttempts", "archiveFailedAt", "archiveNextAt"]
    assert found.raw["archiveNextAt"] == "2026-01-28T08:00:00.000Z"
    assert read(found.raw) == found
    done = flagged(found, Archived.YES)
    assert done.raw == {**RAW, "archived": True}
    assert (done.attempts, done.failed_at, done.next_at) == (0, None, None)


def test_a_name_comes_first_and_the_other_fields_keep_their_order():
    found = named(read({"role": "user", "text": "好", "id": "", "x": 1}), "m-1")
    assert list(found.raw) == ["id", "role", "text", "x"]
    assert found.id == "m-1"


def test_a_time_that_was_given_keeps_what_was_found_beside_it():
    found = dated(read({"role": "user", "text": "好", "createdAt": "昨天"}), EIGHT)
    assert found.raw == {"role": "user", "text": "好", "createdAt": "2026-01-28T08:00:00.000Z", "createdAtFound": "昨天"}
    assert dated(read({"role": "user", "text": "好"}), EIGHT).raw["createdAtFound"] is None


def test_a_time_that_is_given_twice_keeps_what_was_found_first():
    assert dated(dated(read({**RAW, "createdAt": "昨天"}), EIGHT), EIGHT).raw["createdAtFound"] == "昨天"


@given(st.fixed_dictionaries({"role": st.just("user"), "text": TEXT}), FIELDS)
def test_foreign_fields_survive_every_change_of_ours(raw, foreign):
    foreign = {k: v for k, v in foreign.items() if k not in {"id", "role", "text", "content", "createdAt", "archived"}}
    found = read({**foreign, **raw})
    changed = failed(flagged(named(dated(found, EIGHT), "m-1"), Archived.PENDING), 1, EIGHT, EIGHT)
    changed = flagged(changed, Archived.YES)
    assert [(k, v) for k, v in changed.raw.items() if k in foreign] == list(foreign.items())


# ── identity ─────────────────────────────────────────────────────────────────


def test_the_digest_of_words_tells_them_apart_whatever_they_are():
    assert words_digest("花生") != words_digest("花 生")
    assert len(words_digest("\ud800\0")) == 16


def test_a_time_of_first_sight_does_not_change_who_a_message_is():
    found = read({"role": "user", "text": "好"})
    at_sight = dated(found, EIGHT)
    assert at_sight.base == found.base == base_of(None, "user", "好")
    assert at_sight.bases == (found.base, base_of("2026-01-28T08:00:00.000Z", "user", "好"))


# ── the array ────────────────────────────────────────────────────────────────

#: What a history.json must not be taken for an array of messages, and what is said of it.
DAMAGED = {
    b"": "it is empty",
    b" \n\t": "it holds nothing but blanks",
    b"\0" * 4096: "it holds nothing but blanks",
    b"[{": "it is not JSON at line 1, column 3",
    b'[{"id": "a", "role": "user"': "it is not JSON at line 1",
    b"[1,]": "it is not JSON",
    b"[1] [2]": "it is not JSON at line 1, column 5",
    b'{"messages": []}': "it holds an object, not an array",
    b'"[]"': "it holds a string, not an array",
    b"7": "it holds a number, not an array",
    b"NaN": "it holds a string, not an array",
    b"null": "it holds null, not an array",
    b"true": "it holds a truth value, not an array",
    b"[" * 100_000: "its nesting is too deep",
    b"[" * 100_000 + b"]" * 100_000: "its nesting is too deep",
    b'{"a":' * 100_000: "its nesting is too deep",
    "[]".encode("utf-16"): "it is not UTF-8 at byte 0",
    "[“好”]".encode("gb18030"): "it is not UTF-8 at byte 1",
    b"\xef\xbb\xbf": "it is not JSON",
}


@pytest.mark.parametrize(("data", "why"), DAMAGED.items(), ids=range(len(DAMAGED)))
def test_what_is_no_array_of_json_is_refused_with_a_reason(data, why):
    with pytest.raises(ValueError, match=r".") as caught:
        parse_history(data, SHANGHAI)
    assert str(caught.value).startswith(why)


def test_an_array_with_a_byte_order_mark_is_read():
    (found,) = parse_history(b"\xef\xbb\xbf" + json.dumps([RAW]).encode(), SHANGHAI)
    assert isinstance(found, Message)


def test_not_a_number_and_infinities_come_back_as_their_spelling():
    """durability.md 2.7: Python writes them back as invalid JSON."""
    assert parse_json(b"[NaN, Infinity, -Infinity, 1e999, -1e999]") == ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"]


def test_a_number_too_long_for_python_comes_back_as_its_digits():
    digits = "7" * 5_000
    assert parse_json(f"[{digits}]".encode()) == [digits]
    assert parse_json(b"[" + b"7" * 4_000 + b"]") == [int("7" * 4_000)]


def test_of_a_key_that_stands_twice_the_last_counts_and_the_first_is_kept_beside():
    """durability.md 2.7: `archived` twice, the last `true`, and the message was never archived."""
    assert parse_json(b'{"a": 1, "b": 0, "a": 2}') == {"a": 2, "a~1": 1, "b": 0}
    assert parse_json(b'{"a": 1, "a": 1}') == {"a": 1}
    assert parse_json(b'{"a": 1, "a": 2, "a": 3, "a~1": 9}').items() >= {"a": 3, "a~2": 2}.items()


def test_lone_surrogates_are_read_and_written_escaped():
    (found,) = parse_history(rb'[{"role": "user", "text": "\ud83d"}]', SHANGHAI)
    assert isinstance(found, Message)
    assert found.text == "\ud83d"
    assert rb"\ud83d" in render_history((found,))


def test_an_empty_history_is_an_empty_array():
    assert render_history(()) == b"[]\n"
    assert parse_history(b"[]", SHANGHAI) == ()


def test_every_message_stands_on_a_line_of_its_own():
    assert render_history((read({"role": "user", "text": "一\n二"}),) * 2).count(b"\n") == 4


@given(
    st.lists(JSON | st.fixed_dictionaries({"role": TEXT, "text": TEXT}, optional={"id": TEXT, "createdAt": JSON}), max_size=5)
)
def test_equal_values_in_equal_order_come_back_whatever_the_array_holds(array):
    data = json.dumps(array).encode()
    before = json.loads(data)
    after = json.loads(render_history(parse_history(data, SHANGHAI)))
    assert repr(after) == repr(before)  # subtle: repr tells the order of keys, 1 from 1.0 and 1 from True
    assert render_history(parse_history(render_history(parse_history(data, SHANGHAI)), SHANGHAI)) == render_history(
        parse_history(data, SHANGHAI)
    )


@given(st.binary() | st.text('[]{},:"\\ \n0123456789.eE-+truefalsn\ufeff').map(str.encode))
def test_any_bytes_are_read_or_refused(data):
    try:
        value = parse_json(data)
    except ValueError:
        return
    assert parse_json(render_json(value)) == value


def calls_deeper(calls, what):
    return calls_deeper(calls - 1, what) if calls else what()


@pytest.mark.parametrize("calls", [0, 300])
def test_how_deeply_a_history_may_be_nested_does_not_hang_on_who_reads_or_writes_it(calls):
    """Nothing here may raise RecursionError: what it says is the same as of 100,000 levels."""
    for depth in (100, 300, DEEPEST - 1, DEEPEST, 700, *range(900, 1100, 10), 100_000):
        data = b'[{"role": "user", "text": "", "x": ' + b"[" * depth + b"]" * depth + b"}]"
        if depth < DEEPEST:
            history = calls_deeper(calls, lambda data=data: parse_history(data, SHANGHAI))
            assert parse_history(calls_deeper(calls, lambda history=history: render_history(history)), SHANGHAI) == history
        else:
            with pytest.raises(ValueError, match="its nesting is too deep"):
                calls_deeper(calls, lambda data=data: parse_history(data, SHANGHAI))


@pytest.mark.parametrize(("levels", "is_odd"), [(1, False), (199, False), (200, True), (700, True)])
def test_a_message_whose_field_is_nested_two_hundred_levels_deep_is_odd(levels, is_odd):
    entry = read_message({"role": "user", "text": "备份好了", "x": parse_json(b"[" * levels + b"]" * levels)}, SHANGHAI)
    assert (entry.why if isinstance(entry, Odd) else "") == ("its nesting is too deep" if is_odd else "")
