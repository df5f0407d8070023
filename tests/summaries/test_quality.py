"""Which text of a worker may become a summary; the texts are in quality_cases.py."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from recalld.supervisor.extracts.extract import extract
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.summary_file import MARKER, SOURCES, Source, Summary, parse_summary, render_summary
from recalld.supervisor.summaries.quality import MAX_CHARS, reject_reason
from recalld.supervisor.text.language import language_of
from recalld.supervisor.text.llm_output import cleaned, says_nothing
from tests.archive.states import SHANGHAI
from tests.summaries.quality_cases import BAD, EN, GOOD, GOOD_EN, GOOD_ZH, NOT_NOTHING, NOTHING, WRAPPED, ZH

#: Why a text is rejected; never the provider's fault, which would make every group wait.
REASONS = ("empty", "refused", "truncated", "input", "vague")
NINE = datetime(2026, 6, 20, 1, 0, tzinfo=UTC)

#: Pieces that the rules look for, to be put together at random.
PIECES = st.sampled_from(
    [
        *(
            "<think>",
            "</think>",
            "```",
            "```markdown",
            "~~~",
            "---",
            "<!--",
            "-->",
            SOURCES,
            MARKER,
            "{",
            '{"a":',
            "[",
            "|",
            "**",
        ),
        *(
            "## 备份",
            "- ",
            "> ",
            "`",
            "](",
            "（",
            "用户：",
            "助手：",
            "Here is the summary:",
            "以下是总结：",
            "无需记录",
            "Nothing to record.",
        ),
        *(
            "[memory.md]",
            "抱歉，我无法",
            "I can't help",
            "502 Bad Gateway",
            "{messages}",
            "<|im_end|>",
            "</s>",
            "<summary>",
            "</summary>",
        ),
        *(
            "备份改到每天 03:30。",
            "The cat is vaccinated on Friday.",
            "，",
            ".",
            " ",
            "\n",
            "\n\n",
            "\r\n",
            "\ufeff",
            "\u200b",
            "\0",
            "\ud800",
        ),
    ]
)
TEXTS = (
    st.text() | st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join) | st.lists(PIECES, max_size=30).map("\n".join)
)
SAID = st.sampled_from(
    [
        *(
            "备份改到每天凌晨三点半，",
            "周五给猫打疫苗",
            "抱歉，我无法访问你的硬盘。",
            "好的",
            "你好！",
            "房租 3200 元，怎么交？",
            "试试这个命令：",
        ),
        *(
            "The cat is vaccinated on Friday",
            "I'm sorry, I can't help with that.",
            "502 Bad Gateway",
            "ok",
            "Sure! You can run `ls`.",
            "why not,",
        ),
        *(
            '{"error": "quota"}',
            "- 买猫粮\n- 交房租",
            "```bash\nrsync -a\n```",
            "记得带免疫本（还有",
            "# 待办",
            "用户：那猫呢？",
            "请总结以下对话",
        ),
    ]
)


def day(said: list[str]) -> str:
    blocks = [
        Block(f"m{i}", ("user", "assistant")[i % 2], text, NINE + timedelta(minutes=3 * i), {}) for i, text in enumerate(said)
    ]
    return extract(blocks, period="2026-06-20", zone=SHANGHAI, kind="day")


@pytest.mark.parametrize(("text", "reason", "told"), [pytest.param(*case, id=name) for name, *case in BAD])
def test_reject_reason_rejects_each_bad_text_with_its_reason(text, reason, told):
    assert reject_reason(cleaned(text), **told) == reason


@pytest.mark.parametrize(("text", "told"), [pytest.param(*case, id=name) for name, *case in GOOD])
def test_reject_reason_accepts_each_good_text_unchanged(text, told):
    assert cleaned(text) == text
    assert reject_reason(text, **told) is None
    assert not says_nothing(text)


@pytest.mark.parametrize("wrapping", [pytest.param(wrapping, id=name) for name, wrapping in WRAPPED])
@pytest.mark.parametrize("summary", [GOOD_ZH, GOOD_EN, "对花生过敏。", "## 恢复\n\n```bash\nrsync -a /mnt/usb/ /srv/\n```"])
def test_cleaned_removes_a_wrapping_and_keeps_the_summary(wrapping, summary):
    wrapped = wrapping.replace("{}", summary)
    # a fence without a name around a fence can't be told from two fences
    is_ambiguous = wrapping.startswith("```\n") and "```" in summary
    assert cleaned(wrapped) == (wrapped.strip() if is_ambiguous else summary)


@pytest.mark.parametrize(
    "text",
    [
        "```bash\nls\n```\n中间\n```bash\npwd\n```",
        "```\nls\n```\n中间\n```\npwd\n```",
        "```markdown\n甲\n```\n中间\n```\n乙\n```",
        "用户问 `</think>` 是什么。\n\n是标签。",
        "```\n</think>\n```\n\n标签写错了。",
        "以下是三件事。先说备份。",
        "备份\n---",
        "小周说：\n\n如果下雨，聚餐改到室内，他会再调整时间。",
    ],
)
def test_cleaned_keeps_text_that_only_resembles_a_wrapping(text):
    assert cleaned(text) == text


@pytest.mark.feature("000.20")
@pytest.mark.parametrize("text", NOTHING)
def test_says_nothing_recognizes_every_form_of_nothing_to_record(text):
    assert says_nothing(text)


@pytest.mark.parametrize("text", NOT_NOTHING)
def test_says_nothing_is_false_for_text_that_contains_the_phrase(text):
    assert not says_nothing(text)


def test_reject_reason_enforces_the_given_length_limit():
    text = "，".join(f"第 {n} 号箱子在 {n * 7} 号架" for n in range(40))
    assert reject_reason(text, len(text)) is None
    assert reject_reason(text, len(text) - 1) == "refused"
    assert reject_reason(text, len(text) - 1, extract=True) == "refused"


def test_reject_reason_checks_language_only_if_that_of_the_input_is_known():
    assert reject_reason(GOOD_EN) is reject_reason(GOOD_ZH) is None
    assert reject_reason(GOOD_EN, material_language="zh") == "refused"
    assert reject_reason(GOOD_ZH, material_language=language_of("")) is None  # nothing was said: a person's own note
    assert reject_reason(GOOD_ZH, material_language="en", material="The cat is well.") == "refused"


def test_reject_reason_ignores_names_and_code_in_the_other_language():
    assert reject_reason("运行 `git log --oneline --since yesterday | head -n 20 | sort -u` 看昨天的提交。", **ZH) is None
    assert reject_reason("- Lin: 芋头\n- the cat: 花卷\n- the street: 海边路 14 号", **EN) is None


def test_reject_reason_checks_only_the_form_of_an_extract():
    looping = "> 摘录\n\n- 09:00 " + "哈" * 240 + "\n- 09:02 " + "哈" * 240
    assert reject_reason(looping) == "refused"
    assert reject_reason(looping, extract=True) is None
    assert reject_reason(f"{looping}\n{SOURCES}", extract=True) == "refused"
    assert reject_reason("> …", extract=True) == "empty"


@given(st.lists(SAID | st.text(max_size=60), max_size=12))
@settings(max_examples=60, deadline=None)
def test_reject_reason_accepts_an_extract_of_any_talk(said):
    text = day(said)
    if text:
        assert cleaned(text) == text.strip()
        assert not says_nothing(text)
        assert reject_reason(text, extract=True) is None


@given(st.lists(SAID, max_size=12, unique=True))
@settings(max_examples=60, deadline=None)
def test_reject_reason_accepts_an_extract_of_normal_talk_as_a_summary(said):
    text, talk = day(said), "\n".join(said)
    assert not text or reject_reason(text, material_language=language_of(talk), material=talk) is None


@given(TEXTS, st.booleans())
def test_reject_reason_never_blames_the_provider_for_any_text(text, extract):
    assert reject_reason(text, material_language="zh", material=text, prompt_marks=[text], extract=extract) in (
        None,
        *REASONS,
    )
    assert says_nothing(text) in (True, False)


@given(TEXTS)
def test_cleaned_is_idempotent(text):
    assert cleaned(cleaned(text)) == cleaned(text)


@given(
    st.lists(st.sampled_from(["```markdown", "---\n", "Here is the summary:", "<think>好</think>", "<summary>"]), max_size=40)
)
def test_cleaned_is_idempotent_on_nested_wrappings(wrappings):
    text = "\n".join([*wrappings, "备份改到每天。", *(["```", "\n---", "</summary>"] * 9)])
    assert cleaned(cleaned(text)) == cleaned(text)


@given(TEXTS)
@settings(suppress_health_check=[HealthCheck.filter_too_much])  # most texts are refused
def test_reject_reason_accepts_only_text_that_survives_a_round_trip(text):
    text = cleaned(text)
    assume(reject_reason(text) is None)
    sources = (Source("2026-01-15-taro.md", "0123456789abcdef", 3),)
    summary = Summary(
        period="2026-01-15", zone="Asia/Shanghai", created="2026-01-21T00:00:00.000Z", text=text, sources=sources, provider="p"
    )
    found = parse_summary(render_summary(summary), "2026-01-15", None)  # type: ignore[arg-type]
    assert (found.text, found.sources, found.kept) == (text.strip(), sources, "")


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a",
            "花",
            " ",
            "\n",
            "\t\n",
            "-",
            "- \n",
            "> ",
            "#",
            "# \n",
            "`",
            "` ",
            "```\n",
            "``` a\n",
            "~~~\n",
            "*",
            "**",
            "** \n",
            "|",
            "|-",
            "[",
            "](",
            "（",
            "<",
        ),
        *(
            "<think>",
            "</think>",
            "</think> ",
            "<think>\n",
            "<!--",
            "<!-- recalld",
            "---\n",
            "\n\n---",
            "\n \n---x",
            "{messages} ",
            '{"',
            "[memory/",
            "<|im_end|>",
        ),
        *(
            "。",
            ". ",
            "a.b",
            "I can't ",
            "抱歉，",
            "Here is ",
            "以下是",
            "用户：",
            "502 ",
            "无需记录 ",
            "Nothing ",
            "\r",
            "\ufeff",
            "\0",
            "é",
            "の",
            "word ",
            "字。",
        ),
    ],
)
@pytest.mark.timeout(60)
def test_reject_reason_judges_200000_characters_of_any_repeated_piece(piece):
    """A quadratic rule takes minutes; bench/promises.py compares the work for twice the text."""
    text = "甲" + piece * (200_000 // len(piece)) + "乙"
    assert reject_reason(cleaned(text), MAX_CHARS) in {"refused", "input", "truncated"}
    assert reject_reason(cleaned(text), 10**9, material_language="zh", material=text) in {None, *REASONS}
    assert not says_nothing(text)


def test_reject_reason_refuses_a_megabyte():
    assert reject_reason(cleaned("备份改到每天。\n" * 125_000), MAX_CHARS) == "refused"
