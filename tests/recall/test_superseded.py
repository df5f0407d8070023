"""A newer message that says that the answer is over is shown before it, also without a word of the question (index/superseded)."""

from __future__ import annotations

import pytest

from recalld.supervisor.interfaces.api import Memory
from tests.world import WITHOUT_MODEL, World, at, message

NOW = at("2026-11-25T12:00")
OTHERS = ("Anna came by for lunch", "the fence blew down in the night", "今天下雨 地铁人多", "老王来借梯子")


def shown(tmp_path, question, older, newer):
    """Return the older and the newer message, as far as they are found, in the order of the answer."""
    world = World(tmp_path, NOW, f"{WITHOUT_MODEL}[recall]\ntimeout_ms = 60000\n")
    said = (older, *OTHERS, newer)
    world.append(*(message(f"m{n}", f"2026-11-{10 + n}T09:00", text, "user") for n, text in enumerate(said)))
    hits = Memory(world.ws, clock=world.clock).search(question)
    return [hit.unit.text for hit in hits if hit.unit.text in (older, newer)]


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        (
            "which gym am i in",
            "I joined the gym in the high street, PureGym",
            "cancelled puregym, I'm at the climbing hall now",
        ),
        ("where is book club", "book club is at the library", "library closed for works, we're at Nora's until June"),
        ("what car do i drive", "driving the old polo to work", "polo died. got a secondhand yaris off ken"),
        ("who's our cleaner", "our new cleaner is Marta, fridays", "Marta's gone back to Poland, diane does it"),
        ("同学聚会在哪", "同学聚会定在老码头", "老码头没位置，去海底捞"),
        ("备用钥匙在谁那", "备用钥匙在对门王阿姨那", "王阿姨走了，便利店老板拿着"),
        ("我在哪健身", "我在楼下健身房健身", "健身房倒闭了，去体育馆游泳"),
    ],
)
def test_search_shows_what_ended_an_answer_before_it(tmp_path, question, older, newer):
    assert shown(tmp_path, question, older, newer) == [newer, older]


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("when is the dinner", "the dinner is on Friday at the Crown", "dinner's moved to Saturday at ours"),
        ("什么时候去看牙", "看牙约了周四下午三点", "牙医打电话来，改周六上午了"),
        ("什么时候聚餐", "周五晚上聚餐，老地方", "饭改到周六我家"),
        ("外婆住哪个科", "外婆住骨科6楼3床", "外婆转去康复科了，在2楼"),
    ],
)
def test_search_shows_where_something_has_moved_before_where_it_was(tmp_path, question, older, newer):
    assert shown(tmp_path, question, older, newer) == [newer, older]


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("when is my dentist", "my dentist is on the 14th", "Leo's dentist moved to the 20th"),
        ("where is the office alarm panel", "office alarm panel is by the back door", "home alarm panel moved to the cupboard"),
        ("我体检哪天", "我体检约的20号", "老婆的瑜伽改到26号了"),
        ("女儿对什么过敏", "女儿对虾过敏", "女儿改到周六上课"),
        ("娃在哪学英语", "娃的英语在瑞思上", "娃的汇演12月30号，改在礼堂"),
        ("where is book club", "book club is at the library", "the library has a new roof"),
        ("where was book club", "book club is at the library", "library closed for works, we're at Nora's until June"),
        ("聚会以前定在哪", "聚会定在老码头", "老码头没位置，去海底捞"),
    ],
)
def test_search_shows_an_answer_first_that_still_holds_or_held(tmp_path, question, older, newer):
    assert shown(tmp_path, question, older, newer)[0] == older
