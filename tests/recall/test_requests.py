"""Requests as people type them: nothing is missed for politeness, nothing is said for noise, and a day finds what was said of it."""

import re
from datetime import date, timedelta

import pytest

from recalld.supervisor.interfaces.api import Memory
from tests.world import WITHOUT_MODEL, World, at, message

LONG = (
    "hi, hope you had a nice weekend! when you find a minute, could you please put together a short and friendly note "
    "in plain words, no more than five sentences, to Kowalski, who ought to hear from us before the holidays begin"
)
TALK = (
    *("Had lunch with Kowalski, he is the new landlord", "Booked the dentist for Tuesday, they asked about my insurance"),
    *("That makes a big difference to my sleep, thank you", "Writing a letter to the council about parking took an hour"),
    *("Please keep the reports short", "The quick lunch place has closed", "It was great, thanks for asking, I feel good"),
)


def world_of(root, lines):
    world = World(root, at("2026-01-31T10:00"))
    world.reopen(WITHOUT_MODEL)
    for n, line in enumerate(lines):
        world.note(f"{date(2025, 9, 1) + timedelta(days=3 * n)}-talk.md", f"- 09:15 user: {line}\n")
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


def test_misses_have_words_as_they_are_written(tmp_path):
    world = world_of(tmp_path, ["the bicycles are in the shed", "the motorcycle was sold"])
    assert [hit.because[0] for hit in world.search("where are my bicycles?").hits] == ["words: bicycl", "related: motorcycl"]
    assert world.search("zebras, kangaroos").nowhere == ("zebras", "kangaroos")


@pytest.mark.parametrize(
    ("said", "question"),
    [("家里wifi密码写在冰箱上", "无线网密码"), ("脚踏车钥匙在抽屉里", "自行车钥匙"), ("外婆的老花镜在车里", "外祖母老花镜")],
)
def test_recall_finds_a_word_by_another_that_is_the_same(tmp_path, said, question):
    world = world_of(tmp_path, [said, "遛狗", "写报告，手机密码改了", "大门钥匙换了"])
    assert world.search(question).hits[0].unit.text == said


def test_recall_finds_what_was_said_again_and_again(tmp_path):
    world = world_of(tmp_path, ["We park the car behind the bakery，孩子的学校在河对面"] * 12)
    assert all(world.search(question).hits for question in ("where did I leave the car?", "孩子几点吃饭"))


def test_recall_finds_nothing_for_small_talk_in_words_that_are_everywhere(tmp_path):
    coffee = world_of(tmp_path, [f"今天喝咖啡{n % 4 + 1}杯，第{n}次记录" for n in range(20)])
    assert [coffee.search(noise).hits for noise in ("谢谢你，今天天气真好", "今天天气不错")] == [(), ()]
    assert "第19次" in coffee.search("今天喝了几杯咖啡").hits[0].unit.text


# ── by a day (supervisor/query/dates, index/documents) ──────────────────────────

NOW = at("2026-11-25T12:00")
PLANS = (
    ("2026-11-24T09:00", "tomorrow: physio at ten, bring the scan"), ("2026-11-18T09:00", "下周二师傅上门修暖气"),
    ("2026-11-19T09:10", "下周五要交季度报告"), ("2026-11-10T09:00", "the surveyor comes on 27 November"),
    ("2026-11-20T09:00", "I bought a coat and new shoes"), ("2026-11-23T20:00", "去爬了趟山，累坏了"),
    ("2026-11-21T20:00", "吉他老师换成小林了，每周六晚七点上课"), ("2026-11-21T20:05", "choir rehearsal is on Mondays from now on"),
    ("2026-11-22T20:05", "12月19号汇演，要备白色连裤袜"),
)  # fmt: skip


@pytest.fixture(params=["unfiled", "filed"])
def memory(tmp_path, request):
    world = World(tmp_path, NOW, f"{WITHOUT_MODEL}[recall]\ntimeout_ms = 60000\n")
    world.append(*(message(f"m{n}", moment, text, "user") for n, (moment, text) in enumerate(PLANS)))
    if request.param == "filed":
        world.settle()
        world.refresh()
    return Memory(world.ws, clock=world.clock)


def found_by(memory, question):
    return {hit.unit.text for hit in memory.search(question) if hit.unit.message}


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("what's due today?", {PLANS[0][1]}), ("今天要干什么", {PLANS[0][1]}),
        ("anything on this week", {PLANS[0][1], PLANS[2][1], PLANS[3][1]}), ("周五有什么安排", {PLANS[2][1], PLANS[3][1]}),
        ("明天有什么安排", set()), ("周六晚上有什么安排", {PLANS[6][1]}), ("what's on next Monday?", {PLANS[7][1]}),
        ("what do I have on Mondays?", {PLANS[7][1]}), ("周末有什么安排？", {PLANS[6][1]}), ("anything on this weekend?", {PLANS[6][1]}),
        ("下个月有什么安排", {PLANS[8][1]}), ("what's on in December?", {PLANS[8][1]}), ("下周要干嘛", set()),
    ],
)  # fmt: skip
def test_search_finds_what_is_due_on_the_days_asked_for_and_nothing_else(memory, question, answers):
    assert found_by(memory, question) == answers


def test_an_answer_that_names_the_day_comes_with_what_it_answers(tmp_path):
    said = (
        ("user", "I bought stamps."),
        ("user", "Nell plays the elephant piece on the 9th"),
        ("assistant", "Wednesday 9 December, in Clifton."),
    )
    world = World(tmp_path, NOW, WITHOUT_MODEL)
    world.append(*(message(f"m{n}", f"2026-11-24T09:0{n}", text, role) for n, (role, text) in enumerate(said)))
    assert set(world.found_texts("what's on 9 December?")) == {said[1][1], said[2][1]}


def test_inject_shows_what_is_due_as_it_was_said_and_todays_day(memory):
    block = memory.inject("what's due today?").memory
    assert "(Today is Wednesday, 25 November 2026; a dated line may no longer be true.)\n" in block
    assert re.search(r"\(Tuesday(, 24 November 2026)?\) user: tomorrow: physio at ten", block)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("whats my number again", "New SIM. I'm on 07700 900771 now"),
        ("我的手机号是多少", "办了新卡，以后打 13900007752 找我"),
        ("which email address did I give them?", "They can write to nora@example.org"),
        ("我用的哪个邮箱", "就写 xiaoyu@example.com 吧"),
    ],
)
def test_a_number_or_an_address_is_found_by_the_words_that_ask_for_it(tmp_path, question, answer):
    world = world_of(tmp_path, [*TALK, answer])
    assert world.found_texts(question)[0].endswith(answer)


@pytest.mark.parametrize("count", [0, 450], ids=["idle", "busy"])
@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("what did the car cost on 9 April?", "the car came to 9,450 in the end", "parcel number {} is packed"),
        ("4月9号那天买车花了多少钱？", "最后买车花了9450", "第 {} 箱书打包好了"),
    ],
)
def test_a_day_that_is_named_hides_no_answer_however_much_was_said_on_it(tmp_path, question, answer, other, count):
    """The answer stands on the day itself where it is busy, on the day before where one line alone was said on it."""
    world = World(tmp_path, NOW, f"{WITHOUT_MODEL}[recall]\ntimeout_ms = 60000\n")
    world.append(*(message(f"b{n}", f"2026-04-09T{8 + n // 60:02}:{n % 60:02}", other.format(n), "user") for n in range(count)))
    world.append(message("answer", f"2026-04-0{9 if count else 8}T16:00", answer, "user"))
    world.append(message("idle", "2026-04-09T17:00", "ok, 晚安", "user"))
    world.settle()
    assert answer in Memory(world.ws, clock=world.clock).inject(question).memory


@pytest.mark.parametrize("question", ["a summary of September 2025", "去年九月的总结"])
@pytest.mark.parametrize("head", ["> Extract: no model was used.\n\n", "> 摘录（未用模型）：摘了 1 条。\n\n", ""])
def test_search_finds_the_summary_of_a_month_not_what_it_says_of_itself(world, question, head):
    world.reopen(WITHOUT_MODEL)
    said = "> by boat, a person has added\n\n- 09-03 user: we moved to Kiel"
    world.put("memory/summary/2025-09.md", f"---\nrecalld: 1\nperiod: 2025-09\nextract: true\n---\n\n{head}{said}\n")
    world.write([message("1", "2026-01-20T09:00", "the summary of the novel is done, 年终总结也写完了")])
    assert world.found_texts(question)[:1] == [said]
