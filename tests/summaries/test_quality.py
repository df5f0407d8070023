"""What of a worker's text may become a summary. The texts are in gate_cases.py."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.protocol.dated_file import Block
from supervisor.protocol.summary_file import MARKER, SOURCES, Source, Summary, parse_summary, render_summary
from supervisor.protocol.task import Reason
from supervisor.summaries.quality import LONGEST, cleaned, fault, says_nothing
from supervisor.text.language import language_of
from tests.archive.states import SHANGHAI
from tests.summaries.quality_cases import BAD, EN, GOOD, GOOD_EN, GOOD_ZH, NOT_NOTHING, NOTHING, WRAPPED, ZH
from worker.providers.extractive import extract

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
def test_what_is_no_summary_is_turned_away_with_its_reason(text, reason, told):
    assert fault(cleaned(text), **told) == reason


@pytest.mark.parametrize(("text", "told"), [pytest.param(*case, id=name) for name, *case in GOOD])
def test_an_honest_summary_may_stand_and_is_left_as_it_is(text, told):
    assert cleaned(text) == text
    assert fault(text, **told) is None
    assert not says_nothing(text)


def test_the_tables_are_long_enough_and_name_each_case_once():
    assert len(BAD) >= 90
    assert len(GOOD) >= 80
    assert len({name for name, *_ in BAD + GOOD}) == len(BAD) + len(GOOD)


@pytest.mark.parametrize("wrapping", [pytest.param(wrapping, id=name) for name, wrapping in WRAPPED])
@pytest.mark.parametrize("summary", [GOOD_ZH, GOOD_EN, "对花生过敏。", "## 恢复\n\n```bash\nrsync -a /mnt/usb/ /srv/\n```"])
def test_a_wrapping_is_taken_off_and_the_summary_in_it_is_untouched(wrapping, summary):
    if wrapping.startswith("```\n") and "```" in summary:
        return  # a fence without a name around a fence can't be told from two fences
    assert cleaned(wrapping.replace("{}", summary)) == summary


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
def test_what_only_looks_like_a_wrapping_stays(text):
    assert cleaned(text) == text


@pytest.mark.parametrize("text", NOTHING)
def test_every_spelling_of_nothing_to_record_is_known(text):
    assert says_nothing(text)


@pytest.mark.parametrize("text", NOT_NOTHING)
def test_a_text_that_merely_holds_the_words_is_a_text(text):
    assert not says_nothing(text)


def test_the_limit_is_the_callers():
    text = "，".join(f"第 {n} 号箱子在 {n * 7} 号架" for n in range(40))
    assert fault(text, len(text)) is None
    assert fault(text, len(text) - 1) == "refused"
    assert fault(text, len(text) - 1, extract=True) == "refused"


def test_a_text_in_the_other_language_may_stand_where_the_language_of_the_material_is_not_known():
    assert fault(GOOD_EN) is fault(GOOD_ZH) is None
    assert fault(GOOD_EN, material_language="zh") == "refused"
    assert fault(GOOD_ZH, material_language=language_of("")) is None  # nothing was said: a person's own note
    assert fault(GOOD_ZH, material_language="en", material="The cat is well.") == "refused"


def test_names_and_code_of_the_other_language_are_not_its_prose():
    assert fault("运行 `git log --oneline --since yesterday | head -n 20 | sort -u` 看昨天的提交。", **ZH) is None
    assert fault("- Lin: 芋头\n- the cat: 花卷\n- the street: 海边路 14 号", **EN) is None


def test_an_extract_is_judged_by_its_form_alone():
    looping = "> 摘录\n\n- 09:00 " + "哈" * 240 + "\n- 09:02 " + "哈" * 240
    assert fault(looping) == "refused"
    assert fault(looping, extract=True) is None
    assert fault(f"{looping}\n{SOURCES}", extract=True) == "refused"
    assert fault("> …", extract=True) == "empty"


@given(st.lists(SAID | st.text(max_size=60), max_size=12))
@settings(max_examples=60, deadline=None)
def test_an_extract_of_any_talk_passes_as_one(said):
    text = day(said)
    if text:
        assert cleaned(text) == text.strip()
        assert not says_nothing(text)
        assert fault(text, extract=True) is None


@given(st.lists(SAID, max_size=12, unique=True))
@settings(max_examples=60, deadline=None)
def test_an_extract_of_ordinary_talk_passes_like_any_summary(said):
    text, talk = day(said), "\n".join(said)
    assert not text or fault(text, material_language=language_of(talk), material=talk) is None


@given(TEXTS, st.booleans())
def test_any_text_is_judged_and_the_judgement_is_a_reason_of_the_protocol(text, extract):
    assert fault(text, material_language="zh", material=text, prompt_marks=[text], extract=extract) in (None, *get_args(Reason))
    assert says_nothing(text) in (True, False)


@given(TEXTS)
def test_cleaning_twice_is_cleaning_once(text):
    assert cleaned(cleaned(text)) == cleaned(text)


@given(
    st.lists(st.sampled_from(["```markdown", "---\n", "Here is the summary:", "<think>好</think>", "<summary>"]), max_size=40)
)
def test_cleaning_wrappings_in_wrappings_is_settled_at_once(wrappings):
    text = "\n".join([*wrappings, "备份改到每天。", *(["```", "\n---", "</summary>"] * 9)])
    assert cleaned(cleaned(text)) == cleaned(text)


@given(TEXTS)
def test_what_passes_is_read_back_as_it_was_written_with_its_own_sources(text):
    text = cleaned(text)
    if fault(text) is not None:
        return
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
def test_twice_the_text_is_twice_the_work(piece):
    def work(size: int) -> float:
        text = "甲" + piece * (size // len(piece)) + "乙"
        least = float("inf")
        for _ in range(3):
            began = time.process_time()
            fault(cleaned(text), 10**9, material_language="zh", material=text, prompt_marks=(text[:50],))
            says_nothing(text)
            least = min(least, time.process_time() - began)
        return least

    # a rule that is quadratic takes seconds here; what takes a moment is too short to be compared
    once, twice = work(10_000), work(20_000)
    assert twice < max(3 * once, 0.15)


def test_a_megabyte_that_is_too_long_costs_next_to_nothing():
    began = time.process_time()
    assert fault(cleaned("备份改到每天。\n" * 125_000), LONGEST) == "refused"
    assert time.process_time() - began < 1


def test_no_reason_is_given_that_is_the_providers_own():
    # a pause of the provider stops every group; words that a chat can bring forth must not cause one
    assert {reason for _, _, reason, _ in BAD} == {"empty", "refused", "truncated", "input"}


def test_half_of_the_cases_are_chinese():
    for cases in (BAD, GOOD):
        chinese = sum(bool(re.search("[\u4e00-\u9fff]", text)) for _, text, *_ in cases)
        assert chinese >= len(cases) * 0.45
