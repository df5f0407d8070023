"""The question of a canary, when it is asked, what counts as found, and when the rate has fallen."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.index.hit import Hit, Passage
from recalld.supervisor.recall.canaries import (
    PER_RUN,
    QUESTION_WORDS,
    Canary,
    Rate,
    choose_canary,
    due,
    expected_rate,
    is_current,
    is_found,
    question_of,
    rare_words,
    rate,
    sample,
    with_answer,
)
from recalld.supervisor.text.tokenizer import tokens
from tests.world import at

NOW = at("2026-01-31T10:00")
PEANUT = Canary(file="2026-01-28-peanut.md", id="花生-1", words=("花生", "过敏"))


def rare(_: str) -> int:
    return 1


def question(text: str, frequency=rare) -> tuple[str, ...]:
    """The question of a message."""
    return question_of(rare_words([text])[0], frequency)


def with_words(messages: list[tuple[str, str]]) -> list[tuple[str, list]]:
    """The messages with their rare words in place of their texts."""
    return list(zip([identity for identity, _ in messages], rare_words([text for _, text in messages]), strict=True))


def hit(message: str = "", path: str = "memory/2026-01-28-peanut.md") -> Hit:
    return Hit(Passage(path=path, start=3, end=4, text="我对花生过敏。", tier="dated", message=message), 1.0)


# ── the question ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我昨天把 rsync 的备份脚本改到了凌晨，端口是 8443。", ["rsync", "8443"]),
        ("The Cloudflare deploy timed out again in Wolfsburg.", ["Cloudflare", "Wolfsburg"]),
    ],
)
def test_canary_question_keeps_the_rarest_words_in_message_order(text, words):
    found = question(text)
    assert [word for word in found if word in words] == words
    assert sorted(found, key=text.index) == list(found)


@pytest.mark.parametrize("text", ["好的，谢谢！", "今天天气不错，我们觉得很开心。", "花生", ""])
def test_canary_question_is_empty_for_small_talk_or_a_single_word(text):
    assert question(text) == ()


def test_canary_question_skips_a_word_found_in_many_messages():
    text = "rsync 备份到 Wolfsburg 的 nas 上了"
    assert "rsync" in question(text)
    assert "rsync" not in question(text, lambda word: 500 if word == "rsync" else 1)


def test_canary_choose_picks_the_message_with_the_rarest_words():
    said = [("1", "好的"), ("2", "部署 nginx 的配置"), ("3", "给 Wolfsburg 寄 quokka 的合同"), ("4", "部署 nginx 超时")]
    common = dict.fromkeys(tokens("部署 nginx 的配置 超时"), 15)
    chosen = choose_canary("2026-01-28-x.md", with_words(said), lambda word: common.get(word, 1))
    assert (chosen.id, chosen.file, chosen.asked) == ("3", "2026-01-28-x.md", None)
    assert choose_canary("x.md", with_words([("1", "好的"), ("2", "嗯嗯")]), rare) is None
    assert choose_canary("x.md", [], rare) is None


@given(st.text(max_size=200))
def test_canary_question_always_matches_its_own_message(text):
    words = question(text)
    assert len(words) <= QUESTION_WORDS
    assert len(words) != 1
    assert is_current(Canary(file="x.md", id="1", words=words), [("1", text)]) or not words


@given(st.lists(st.integers()), st.integers(min_value=2, max_value=9))
def test_canary_sample_is_ordered_and_includes_first_and_last(of, most):
    found = sample(list(enumerate(of)), most)
    assert len(found) == min(most, len(of))
    assert found == sorted(found, key=lambda one: one[0])
    assert len({n for n, _ in found}) == len(found)
    if of:
        assert (found[0][0], found[-1][0]) == (0, len(of) - 1)


def test_canary_sample_returns_three_by_default():
    assert len(sample(list("一二三四五"))) == PER_RUN == 3


# ── found, gone ──────────────────────────────────────────────────────────────


def test_canary_is_found_by_message_id_in_any_folder():
    assert is_found(PEANUT, [hit("别的"), hit("花生-1", "memory/originals/2026-01/2026-01-28-peanut.md")], ())
    assert not is_found(PEANUT, [hit("别的"), hit("")], ())
    assert not is_found(PEANUT, [], ())


def test_canary_is_found_by_a_summary_that_covers_its_file():
    covering = {"memory/summary/2026-01-28.md"}
    assert is_found(PEANUT, [hit("", "memory/summary/2026-01-28.md")], covering)
    assert not is_found(PEANUT, [hit("", "memory/summary/2026-01-27.md")], covering)


@pytest.mark.parametrize(
    ("said", "still"),
    [
        ([("花生-1", "我对花生过敏。")], True),
        ([("花生-0", "你好"), ("花生-1", "对花生，我过敏了")], True),
        ([("花生-2", "我对花生过敏。")], False),
        ([("花生-1", "我对榛子过敏。")], False),
        ([], False),
    ],
)
def test_canary_expires_when_its_message_is_gone_or_rewritten(said, still):
    assert is_current(PEANUT, said) is still


# ── when ─────────────────────────────────────────────────────────────────────


def asked(hours: float, identity: str = "1") -> Canary:
    return Canary(file="x.md", id=identity, words=("甲", "乙"), asked=NOW - timedelta(hours=hours))


def test_canary_due_returns_each_once_a_day_new_and_oldest_first():
    new = Canary(file="x.md", id="new", words=("甲", "乙"))
    canaries = [asked(30, "a"), asked(23.9, "b"), new, asked(24, "c"), asked(50, "d")]
    assert [one.id for one in due(canaries, NOW, 9)] == ["new", "d", "a", "c"]
    assert [one.id for one in due(canaries, NOW, 2)] == ["new", "d"]
    assert due([with_answer(one, NOW, found=True) for one in canaries], NOW, 9) == []


def test_canary_due_includes_one_asked_in_the_future():
    assert due([asked(-24 * 365)], NOW, 9)


# ── the rate ─────────────────────────────────────────────────────────────────


def test_canary_rate_counts_only_asked_canaries():
    canaries = [with_answer(PEANUT, NOW, found=True), with_answer(PEANUT, NOW, found=False), PEANUT]
    assert rate(canaries) == Rate(kept=3, asked=2, found=1)
    assert rate(canaries).value == 0.5
    assert rate([]).value == rate([PEANUT]).value == 1.0


@pytest.mark.parametrize(
    ("before", "asked", "found", "fell"),
    [
        (1.0, 1, 0, False),  # one alone may be bad luck
        (1.0, 2, 0, True),
        (1.0, 20, 19, False),  # 0.95
        (1.0, 40, 38, False),
        (1.0, 40, 37, True),
        (1.0, 200, 191, False),  # more than one, but above 0.95
        (1.0, 200, 189, True),
        (0.9, 200, 180, False),  # as bad as it was
        (0.9, 200, 179, False),
        (0.9, 200, 178, True),
        (0.5, 10, 8, False),
        (1.0, 0, 0, False),
    ],
)
def test_canary_level_falls_below_95_percent_with_two_or_more_missing(before, asked, found, fell):
    after, has_fallen = expected_rate(before, Rate(asked, asked, found))
    assert has_fallen is fell
    assert after == (found / asked if fell else max(before, found / asked if asked else 1.0))


def test_canary_level_reports_each_fall_once():
    told, expected = [], 1.0
    for found in (40, 37, 37, 36, 35, 40, 39, 36):
        expected, fell = expected_rate(expected, Rate(40, 40, found))
        told.append(fell)
    assert told == [False, True, False, False, True, False, False, True]


@given(st.lists(st.integers(min_value=0, max_value=40), max_size=40))
def test_canary_level_detects_a_slow_decline(rates):
    expected = 1.0
    for found in rates:
        now = Rate(40, 40, found)
        expected, _ = expected_rate(expected, now)
        assert now.value >= 0.95 or expected * 40 - found <= 1
