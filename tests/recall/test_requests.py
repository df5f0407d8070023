"""
Requests as people type them: nothing is missed for politeness, and nothing is said for noise (docs/explanation/recall.md).

One memory of a year of everyday talk, in which most common words stand somewhere.
"""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.world import WITHOUT_MODEL, World, at

ENGLISH = """
Had lunch with Kowalski, he is the new landlord
Kowalski says the boiler will be repaired before winter
Kowalski's office is on Mill Street, second floor
I moved in March, I live in Leith now, near the harbour
My sister Agnes plays the cello
Booked the dentist for Tuesday, they asked about my insurance
That makes a big difference to my sleep, thank you
It was great, thanks for asking, I feel good
We talked about the capital of my savings plan
I work as a nurse on the night shift
Writing a letter to the council about parking took an hour
The function of the new valve is still unclear to me
Please keep the reports short
I explained the two options to Agnes, she likes the second
The printer at work is out of paper again
The quick lunch place has closed
I renamed getUserById and the tests pass again
Ran usermod -aG docker deploy on the old server
The backup took 612 GB, room 402 was too warm
Write to agnes.muir@example.org about the tickets
We are on version 4.12.3 since Monday, 4,386 users
The report lies in quarter-3_final.xlsx
It was calm on the water by the harbour
""".strip().splitlines()
LONG = (
    "hi, hope you had a nice weekend! when you find a minute, could you please put together a short and friendly note "
    "in plain words, no more than five sentences, to Kowalski, who ought to hear from us before the holidays begin"
)


def world_of(root, lines, first=date(2025, 9, 1), days=3):
    world = World(root, at("2026-01-31T10:00"))
    world.reopen(WITHOUT_MODEL)
    for n, line in enumerate(lines):
        world.note(f"{first + timedelta(days=days * n)}-talk.md", f"- 09:15 user: {line}\n")
    world.refresh()
    return world


@pytest.fixture(scope="module")
def english(tmp_path_factory):
    return world_of(tmp_path_factory.mktemp("english"), ENGLISH)


@pytest.mark.parametrize(
    ("request_", "part"),
    [
        (LONG, "Kowalski"),
        ("draft a letter to kowalsky about the boiler", "boiler"),  # a typo
        ("Which landlord called Kowalski did Roberta Nowak mention in Ravenna?", "Kowalski"),  # one name carries a question
        ("where do I live", "Leith"),
        ("get user by id", "getUserById"),
        ("4,386", "4,386"),
        ("version 4.12.3", "4.12.3"),
        ("agnes.muir@example.org", "agnes.muir@example.org"),
    ],
)
def test_recall_finds_what_a_request_is_about(english, request_, part):
    found = english.search(request_)
    assert part in "".join(hit.unit.text for hit in found.hits[:3])
    assert english.inject(request_, found).memory


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
