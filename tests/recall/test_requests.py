"""Requests as people type them: nothing is missed for politeness, and nothing is said for noise (docs/explanation/recall.md)."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.world import WITHOUT_MODEL, World, at

LONG = (
    "hi, hope you had a nice weekend! when you find a minute, could you please put together a short and friendly note "
    "in plain words, no more than five sentences, to Kowalski, who ought to hear from us before the holidays begin"
)
TALK = (
    *("Had lunch with Kowalski, he is the new landlord", "Booked the dentist for Tuesday, they asked about my insurance"),
    *("That makes a big difference to my sleep, thank you", "Writing a letter to the council about parking took an hour"),
    *("Please keep the reports short", "The quick lunch place has closed", "It was great, thanks for asking, I feel good"),
)


def world_of(root, lines, first=date(2025, 9, 1), days=3):
    world = World(root, at("2026-01-31T10:00"))
    world.reopen(WITHOUT_MODEL)
    for n, line in enumerate(lines):
        world.note(f"{first + timedelta(days=days * n)}-talk.md", f"- 09:15 user: {line}\n")
    world.refresh()
    return world


@pytest.mark.parametrize(
    "request_",
    [
        "Which landlord called Kowalski did Roberta Nowak mention in Ravenna?",  # one name carries a question
        LONG,
    ],
)
def test_recall_finds_what_a_request_is_about(tmp_path, request_):
    world = world_of(tmp_path, TALK)
    found = world.search(request_)
    assert TALK[0] in [hit.unit.text for hit in found.hits[:3]]
    assert world.inject(request_, found).memory


def test_reasons_and_misses_have_words_as_they_are_written(tmp_path):
    world = world_of(tmp_path, ["the bicycles are in the shed", "the motorcycle was sold"])
    assert [hit.because[0] for hit in world.search("where are my bicycles?").hits] == ["words: bicycles", "related: motorcycle"]
    assert world.inject("zebras, kangaroos", world.search("zebras, kangaroos")).receipt.terms == ("zebras", "kangaroos")


@pytest.mark.parametrize(
    ("said", "question"),
    [("家里wifi密码写在冰箱上", "无线网密码"), ("脚踏车钥匙在抽屉里", "自行车钥匙"), ("外婆的老花镜在车里", "外祖母老花镜")],
)
def test_recall_finds_a_word_by_another_that_is_the_same(tmp_path, said, question):
    world = world_of(tmp_path, [said, "遛狗", "写报告，手机密码改了", "大门钥匙换了"])
    assert world.search(question).hits[0].unit.text == said


def test_recall_finds_nothing_for_small_talk_in_words_that_are_everywhere(tmp_path):
    coffee = world_of(tmp_path, [f"今天喝咖啡{n % 4 + 1}杯，第{n}次记录" for n in range(20)])
    assert [coffee.search(noise).hits for noise in ("谢谢你，今天天气真好", "今天天气不错")] == [(), ()]
    newest, *_ = coffee.search("今天喝了几杯咖啡").hits
    assert "第19次" in newest.unit.text
