"""What is said next to what, and what a hit needs beside it to be understood."""

from dataclasses import replace

import pytest

from recalld.supervisor.index.hit import Hit
from recalld.supervisor.recall.neighbours import company, only_neighbours
from tests.context.passages import hit
from tests.world import at, message_on


def window(text: str, start: int, **more: str) -> Hit:
    return Hit(hit(1, text, start=start, **more).unit, 1.0, ("window",))


def test_only_neighbours_are_hits_without_a_word_of_the_question():
    answer, after, far = hit(9, "我对花生过敏。", start=4), window("记住了。", 6, role="assistant"), window("下雨了。", 60)
    assert only_neighbours([answer, after, far]) == {after, far}
    assert only_neighbours([after, far]) == frozenset()


def test_a_day_keeps_its_hits_beside_a_message_that_names_it(world):
    for day, line in (("20", "牙医约了11月28号上午十点"), ("28", "智齿拔完了，麻药还没过"), ("28", "晚上只能喝粥")):
        world.append(message_on(f"2026-11-{day}", line[:2], line), now=at("2026-11-30T10:00"))
    world.clock.now = at("2026-12-01T10:00")
    assert not any(only_neighbours(world.search(question).hits) for question in ("11月28号", "11月28号买了啥"))


def said(*talk: tuple[str, str]) -> list[Hit]:
    """The messages of one talk: who speaks, and the words."""
    return [window(text, 4 + 5 * n, role=role, message=str(n)) for n, (role, text) in enumerate(talk)]


DENTIST = said(("user", "牙医在花园路12号。"), ("assistant", "记下了。"), ("user", "不对，是14号。"), ("assistant", "明白了。"))
FLATS = said(
    ("user", "Two flats: Oak Road, or the harbour."),
    ("assistant", "Good to have a choice."),
    ("user", "The second one, signed on Monday."),
)
HOTEL = said(("assistant", "Which hotel did you book?"), ("user", "the one by the lake"))
YEAST = said(
    ("user", "How much yeast for a kilo of flour?"), ("assistant", "Seven grams, or three if it rests overnight. " * 9)
)
NURSE = said(
    ("user", "Priya has a new job."), ("assistant", "How exciting!"), ("user", "She works in the clinic by the river.")
)


@pytest.mark.parametrize(
    ("talk", "best", "needed"),
    [
        (DENTIST, 0, 2),  # a correction, past the answer that says nothing
        (DENTIST, 2, 0),
        (FLATS, 2, 0),
        (HOTEL, 1, 0),  # the question of a short answer
        (HOTEL, 0, 1),
        (YEAST, 0, 1),
        (YEAST, 1, 0),  # the question of an answer of the assistant's
        (NURSE, 2, 0),  # whom a pronoun means
    ],
)
def test_company_is_what_a_hit_is_not_understood_without(talk, best, needed):
    assert company([talk[best]], talk) == {talk[needed]: talk[best]}


def test_company_is_no_long_message_question_or_other_talk():
    told, answer, more = said(("user", "Rent is 900."), ("assistant", "Noted."), ("user", "It was 850 before, " * 4))
    assert company([told], [told, answer, more]) == {}
    assert company([told], said(("user", "Rent is 900."), ("user", "And what is the deposit?"))[1:]) == {}
    short = replace(more, unit=replace(more.unit, text="950"))
    assert company([told], [told, answer, short]) == {short: told}
    for other in ({"session": "work"}, {"path": "memory/2026-01-29-rent.md"}, {"at": at("2026-01-28T12:00")}):
        elsewhere = replace(short, unit=replace(short.unit, **other))
        early = [replace(one, unit=replace(one.unit, at=at("2026-01-28T11:00"))) for one in (told, answer)]
        assert company(early[:1], [*early, elsewhere]) == {}
