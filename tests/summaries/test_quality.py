"""Which text of a worker may become a summary; the texts are in quality_cases.py."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from recalld.supervisor.extracts.extract import extract
from recalld.supervisor.protocol.config_keys import Archive
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.summary_file import MARKER, SOURCES, Source, Summary, parse_summary, render_summary
from recalld.supervisor.protocol.task import REASONS
from recalld.supervisor.summaries.quality import Material, judge, reject_form
from recalld.supervisor.text.language import language_of
from recalld.supervisor.text.llm_output import cleaned, says_nothing
from tests.archive.states import SHANGHAI
from tests.summaries.quality_cases import ANY, BAD, GOOD, GOOD_EN, GOOD_ZH, NOTHING, TALK_EN, TALK_ZH, WRAPPED

MOST = Archive.summarise_chars
#: Why an answer is never refused: what would make every group wait, and what only a worker can report.
WORKERS = ("provider", "timeout", "lost", "spent")
NINE = datetime(2026, 6, 20, 1, 0, tzinfo=UTC)

#: Pieces that the rules look for, to be put together at random.
PIECES = st.sampled_from(
    [
        *("<think>", "</think>", "```", "```markdown", "~~~", "---", "<!--", "-->", SOURCES, MARKER, "{", "[", "|", "**", "`"),
        *("## 备份", "- ", "用户：", "以下是总结：", "无需记录", "[memory.md]", "抱歉，我无法", "I can't help"),
        *("{messages}", "<|im_end|>", "<summary>", "</summary>", "备份改到每天 03:30。", "The cat is vaccinated on Friday."),
        *("，", ".", " ", "\n", "\n\n", "\r\n", "\ufeff", "\0", "\ud800"),
    ]
)
TEXTS = (
    st.text() | st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join) | st.lists(PIECES, max_size=30).map("\n".join)
)
SAID = st.sampled_from(
    [
        *(
            "备份改到每天凌晨三点半，",
            "抱歉，我无法访问你的硬盘。",
            "好的",
            "房租 3200 元，怎么交？",
            "试试这个命令：",
            "# 待办",
        ),
        *("I'm sorry, I can't help with that.", "502 Bad Gateway", "Sure! You can run `ls`.", '{"error": "quota"}'),
        *("- 买猫粮\n- 交房租", "```bash\nrsync -a\n```", "记得带免疫本（还有", "用户：那猫呢？", "请总结以下对话"),
    ]
)


def day(said: list[str]) -> str:
    blocks = [
        Block(f"m{i}", ("user", "assistant")[i % 2], text, NINE + timedelta(minutes=3 * i), {}) for i, text in enumerate(said)
    ]
    return extract(blocks, period="2026-06-20", zone=SHANGHAI, kind="day")


def about(text: str, material: Material) -> Material:
    """What could have been summed up by *text*, in the language of *material*: its words among others."""
    others = "\n".join(words for day, words in (TALK_ZH if language_of(text) == "zh" else TALK_EN).parts)
    said = "\n".join([*(words for day, words in material.parts), text, others, others * (len(text) // 150)])
    return replace(material, parts=((None, said),))


@pytest.mark.parametrize(("text", "reason", "material"), [pytest.param(*case, id=name) for name, *case in BAD])
def test_judge_refuses_each_bad_text_with_its_reason(text, reason, material):
    assert judge(cleaned(text), material, MOST) == reason


@pytest.mark.parametrize(("text", "material"), [pytest.param(*case, id=name) for name, *case in GOOD])
def test_judge_accepts_each_good_text_unchanged(text, material):
    assert cleaned(text) == text
    assert judge(text, material if material in (TALK_ZH, TALK_EN) else about(text, material), MOST) is None
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


@pytest.mark.parametrize(
    "text", ["无需记录，除了：用户道谢后说他对青霉素过敏", "Nothing to record, but after the greeting Anna is pregnant"]
)
def test_says_nothing_lets_no_news_pass_behind_a_courtesy(text):
    assert not says_nothing(text)


@pytest.mark.feature("000.20")
@pytest.mark.parametrize("text", NOTHING)
def test_says_nothing_recognizes_every_form_of_nothing_to_record(text):
    assert says_nothing(text)


@given(st.lists(SAID | st.text(max_size=60), max_size=12))
@settings(max_examples=60, deadline=None)
def test_reject_form_accepts_an_extract_of_any_talk(said):
    text = day(said)
    if text:
        assert cleaned(text) == text.strip()
        assert not says_nothing(text)
        assert reject_form(text, MOST) is None


@given(TEXTS)
def test_judge_never_blames_the_provider_for_any_text(text):
    assert judge(text, Material(((None, text),), text, "zh", (text,), (text,)), MOST) not in WORKERS
    assert says_nothing(text) in (True, False)


@given(TEXTS)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])  # most texts are refused
def test_judge_accepts_only_text_that_survives_a_round_trip(text):
    text = cleaned(text)
    assert cleaned(text) == text
    assume(judge(text, ANY, MOST) is None)
    sources = (Source("2026-01-15-taro.md", "0123456789abcdef", 3),)
    summary = Summary(
        period="2026-01-15", zone="Asia/Shanghai", created="2026-01-21T00:00:00.000Z", text=text, sources=sources, provider="p"
    )
    found = parse_summary(render_summary(summary), "2026-01-15", None)  # type: ignore[arg-type]
    assert (found.text, found.sources, found.kept) == (text.strip(), sources, "")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    [
        *("\n", "# \n", "```\n", "** \n", "](", "<think>", "</think> ", "<!-- recalld"),
        *("{messages} ", '{"', "[memory/", "。", "I can't ", "抱歉，", "用户：", "word "),
    ],
)
def test_judge_reads_100000_characters_of_any_repeated_piece(piece):
    """A quadratic rule takes minutes; bench/promises.py compares the work for twice the text."""
    text = "甲" + piece * (100_000 // len(piece)) + "乙"
    assert judge(cleaned(text), ANY, MOST) in {*REASONS}
    answer = cleaned(text[: MOST - 1] + "乙")
    assert judge(answer, Material(((NINE.date(), text),), text[:MOST], "zh"), MOST) in {None, *REASONS}
    assert not says_nothing(text)
