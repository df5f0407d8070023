"""Extracts of hasty conversations: answers with what they answer, lines cut into pieces, and changes beside what they change."""

from datetime import timedelta

import pytest

from tests.extracts.test_short_messages import CHATTER, bullets

DAYS = timedelta(days=3)


@pytest.mark.parametrize(
    ("asked", "answer", "bullet"),
    [
        ("Who orders them?", "Colin, by end of the month", "assistant: Who orders them? → user: Colin, by end of the month"),
        ("谁来装？", "小钟，周三上午 10 点", "助手：谁来装？ → 用户：小钟，周三上午 10 点"),
        (
            "When does she get them?",
            "next thurs, after school",
            "assistant: When does she get them? → user: next thurs, after school",
        ),
        ("什么时候装？", "下周三，小钟上门来装", "助手：什么时候装？ → 用户：下周三，小钟上门来装"),
        ("有什么需要随时告诉我。", "房租 5400", "用户：房租 5400"),
        ("Tell me if you need more.", "rent 540, paid", "user: rent 540, paid"),
    ],
)
def test_extract_has_what_was_asked_before_a_curt_answer(asked, answer, bullet):
    assert bullets(("a", asked), ("u", answer)) == [f"- 09:02 {bullet}"]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("您想听什么音乐？", "妈妈来电话，体检查出结节，3 类"),
        ("What would you like to listen to?", "Ben fell, fractured his wrist"),
        ("You haven't told me your address yet, but the shop in Leith opens at 9.", "Ben fell, fractured his wrist"),
        ("I don't know the exact time, but Kwik Fit opens at 9.", "Ben's MRI is 240"),
        ("你没说错，物业费是 1882 元。", "小满的疫苗约了 12 号"),
        ("Cover the pan and cook it for 12 minutes.", "12 guests now"),
        ("盖上锅煮 12 分钟。", "来 12 个客人"),
    ],
)
def test_extract_says_of_nothing_that_it_answers_what_it_does_not(told, said):
    assert bullets(("a", told), ("u", said))[-1].endswith(f"{'user: ' if said.isascii() else '用户：'}{said}")
    assert "→" not in "".join(bullets(("a", told), ("u", said)))


@pytest.mark.parametrize(
    ("asked", "told"), [("How long is the table?", "about 160 cm"), ("您想听什么音乐？", "体检查出结节，3 类")]
)
def test_extract_takes_nothing_for_an_answer_after_half_an_hour(asked, told):
    assert "→" in bullets(("a", asked), ("u", told))[-1]
    assert "→" not in "".join(bullets(("a", asked), ("u", told), every=timedelta(minutes=40)))


def test_extract_has_what_an_empty_question_is_about():
    said, asked, answer = "大鹏说不想去深圳了，补贴一天 180", "怎么了？", "怕小满不认他，不去就没晋升"
    found = bullets(*CHATTER, ("u", said), ("a", asked), ("u", answer))
    assert any(answer in bullet for bullet in found)
    assert any(said in bullet for bullet in found)


@pytest.mark.parametrize(
    "asked", ["which bus does Ada take on Thursdays", "is it ok to eat 3 eggs a day", "教师节给俞老师发什么好", "年糕几岁来着"]
)
def test_extract_omits_a_question_without_its_mark(asked):
    said = "the spare key is at Priya's" if asked.isascii() else "备用钥匙在普丽娅家"
    (bullet,) = bullets(("u", said), ("u", asked))
    assert bullet.endswith(said)


@pytest.mark.parametrize(
    "said",
    [
        "when I was 12 I was diagnosed with asthma",
        "when Ben was 12 he broke his arm",
        "which was £240 all in for the boiler",
        "who is on call this weekend is Tom, 07700 900123",
        "what I did was wrong, I paid Kwik Fit twice",
        "what Anna did was sign the lease in Leith",
        "should they call, the code is 4411",
        "who has been paid: Tom, Priya",
        "was there with Ben from 9 to 5",
        "房东问我押金多少",
        "和李医生还没定几点",
        "那算一下也就 300 块",
        "算一下，还差 2000 元没付",
    ],
)
def test_extract_takes_no_statement_for_a_question(said):
    before = "the spare key is at Priya's" if said.isascii() or "£" in said else "备用钥匙在普丽娅家"
    assert said in "\n".join(bullets(("u", before), ("u", said)))


@pytest.mark.parametrize(
    "said",
    [
        "Steve's been, boiler works!! 240 cash, he left a 12 month guarantee",
        "he's out. went fine, surgeon (Miss Banerjee) says he can stand tomorrow",
        "colin hasn't ordered the loggers. I did it. 8 at 289 = 2,312",
        "head asked if I'd be acting head from january. Karen's going on maternity leave. it's 3,214",
    ],
)
def test_extract_leaves_a_message_in_pieces_together(said):
    assert any(bullet.endswith(f": {said}") for bullet in bullets(*CHATTER[:6], ("u", said), every=timedelta(minutes=20)))


def test_extract_takes_a_total_for_no_request():
    assert bullets(("u", "算下来装修一共 13 万 8")) == ["- 09:00 用户：算下来装修一共 13 万 8"]


def test_extract_of_a_month_does_not_hold_its_pieces_against_a_message():
    chatter = [("u", f"Ordered {n} reels of cable, XLR-{n}40, for £{n}00 from Thomann") for n in range(3, 30)]
    said = ("u", "eye test: ada needs glasses! -1.25 both eyes. 129 for two pairs")
    assert any(said[1] in bullet for bullet in bullets(*chatter, said, kind="month", every=timedelta(hours=6)))


def test_extract_takes_a_counting_word_for_no_figure_that_is_taken_up():
    found = bullets(("u", "课程先看看"), ("a", "先上一个月再看。"), ("u", "三亚机票一张三千多 疯了"))
    assert found[-1].endswith("用户：三亚机票一张三千多 疯了")
    assert "助手" not in found[-1]


def test_extract_leaves_two_changes_of_a_message_apart():
    said = (
        ("u", "晓雯约了12月12号做近视手术"),
        ("u", "wifi密码是 luguo8866"),
        ("u", "wifi密码换成 tangyuan0520 了 隔壁蹭得飞起。晓雯的近视手术也不做了"),
    )
    surgery, wifi = bullets(*said, kind="month", every=DAYS)
    assert "后来：…晓雯的近视手术也不做了" in surgery
    assert "后来：wifi密码换成 tangyuan0520 了" in wifi


def test_extract_adds_nothing_to_an_answer_that_is_another_message():
    found = bullets(("a", "When can he come?"), ("u", "the 12th, at 9"), ("u", "Priya has the key, 14 Elm Road"))
    assert found == [
        "- 09:02 assistant: When can he come? → user: the 12th, at 9",
        "- 09:04 user: Priya has the key, 14 Elm Road",
    ]


def test_extract_has_at_most_four_messages_in_a_bullet():
    found = bullets(*(("u", f"reel {n} is XLR-{n}40") for n in range(3, 9)), every=timedelta(minutes=1))
    assert [bullet[:7] for bullet in found] == ["- 09:00", "- 09:04"]


@pytest.mark.parametrize(
    ("said", "changed", "bullet"),
    [],
)
def test_extract_has_a_change_beside_what_it_names(said, changed, bullet):
    label = "user: " if said.isascii() else "用户："
    assert bullets(("u", said), ("u", changed), kind="month", every=DAYS) == [f"- 06-20 {label}{bullet}"]


def test_extract_links_no_change_to_one_of_two_that_it_may_mean():
    said = ("team meeting is Tuesday at 3", "parents meeting is on the 5th", "meeting moved to the 7th")
    assert len(bullets(*(("u", text) for text in said), kind="month", every=DAYS)) == len(said)


@pytest.mark.parametrize(
    ("said", "then"),
    [
        ("厨房漏水，师傅报价 860，周三来", "把厨房的地拖了2遍，师傅周三修好了漏水"),
        ("下周的高铁票 G1024 买了 553 元", "下次高铁票提前2天买"),
        ("张伟婚礼 12 号，在苏州", "张伟婚礼最后3个人没来"),
        ("妈妈的手术 12 号做完了", "妈妈手术后改成吃二甲双胍"),
        ("Anna has her exam on 12 June at Leeds", "Anna moved to Leeds for the new job"),
        ("厨房的地砖 860 元", "厨房拖一下地，地砖很滑"),
        ("古筝课 12 节 2400 元", "古筝课讲到第三章了"),
        ("菜刀在宜家买的 129 元", "菜刀砍到手了，宜家的刀真快"),
        ("the dentist in Leith wants 480", "I'm not going to lie, the dentist in Leith hurt"),
        ("marshmallow test with Mia at 4", "the marshmallow test is about delayed gratification"),
    ],
)
def test_extract_takes_nothing_back_by_what_is_about_something_else(said, then):
    assert "后来" not in "".join(bullets(("u", said), ("u", then), kind="month", every=DAYS))
    assert "later" not in "".join(bullets(("u", said), ("u", then), kind="month", every=DAYS))


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ("厨房漏水，师傅报价 860", "厨房漏水最后花了 780"),
        ("Anna has her exam on 12 June in Leeds", "Anna's exam in Leeds moved to next Friday"),
        ("the ferry to Arran leaves at 7:30", "ferry to Arran was delayed, 9:10"),
    ],
)
def test_extract_has_what_came_of_a_plan_beside_it(said, changed):
    (found,) = bullets(("u", said), ("u", changed), kind="month", every=DAYS)
    assert changed in found


@pytest.mark.parametrize(
    ("before", "decided"),
    [
        ("苏敏想把滨江的房子租给我们过渡，每月 4,500", "苏敏的房子定了，10 月 1 号起"),
        ("Priya might rent us her flat in Leith for 900", "Priya's flat in Leith it is, agreed from 1 October"),
    ],
)
def test_extract_of_a_month_has_what_was_decided_of_a_known_thing(before, decided):
    found = "\n".join(bullets(("u", before), *CHATTER, ("u", decided), kind="month", every=timedelta(hours=6)))
    assert before in found
    assert decided in found
