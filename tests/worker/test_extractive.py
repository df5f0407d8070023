import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.protocol.config import load
from supervisor.protocol.dated_file import Block
from supervisor.protocol.summary_file import SOURCES, Source, Summary, parse_summary, render_summary
from supervisor.text.small_talk import is_chitchat
from worker.providers import choose
from worker.providers.extractive import LIMITS, Extractive, extract
from worker.providers.sentences import cut, sentences, substance

SHANGHAI = ZoneInfo("Asia/Shanghai")
MORNING = datetime(2026, 6, 20, 1, 0, tzinfo=UTC)  # 09:00 in Shanghai


def talk(*said, start=MORNING, every=timedelta(minutes=2)):
    """Blocks of ("user" | "assistant" | …, text), every some minutes from nine in the morning on."""
    return [Block(f"m{i}", role, text, start + i * every, {}) for i, (role, text) in enumerate(said)]


def day(*said, previous=""):
    return extract(talk(*said), period="2026-06-20", zone=SHANGHAI, previous=previous, kind="day")


def bullets(text):
    return [line for line in text.split("\n") if line.startswith("- ")]


TOFU = (
    ("user", "家里的小服务器叫 tofu，Debian 12，SSH 端口 2222。今天天气不错。"),
    ("assistant", "好的，记下了。很高兴能帮到你！"),
    ("user", "备份用 restic 0.16.4，每天 03:30 推到 /mnt/usb-bak，脚本是 /srv/backup/nightly.sh"),
    ("assistant", "备份脚本建议加一个锁文件，放在 /run/tofu-backup.lock。"),
    ("user", "好的"),
    ("user", "另外我决定以后一律用 pnpm，不用 npm 了"),
    ("assistant", "哈哈"),
    ("user", "还有，周棠对榛子过敏，9 月 26 日中午聚餐记得看配料表"),
    ("assistant", "Sure, I can help with that!"),
)


def test_extract_quotes_facts_verbatim_with_their_local_time():
    text = day(*TOFU)
    assert "- 09:00 家里的小服务器叫 tofu，Debian 12，SSH 端口 2222。" in text
    assert "- 09:04 备份用 restic 0.16.4，每天 03:30 推到 /mnt/usb-bak，脚本是 /srv/backup/nightly.sh" in text
    assert "决定以后一律用 pnpm，不用 npm 了" in text
    assert "周棠对榛子过敏，9 月 26 日中午聚餐记得看配料表" in text


def test_extract_omits_courtesies():
    text = day(*TOFU)
    for courtesy in ("很高兴能帮到你", "哈哈", "Sure, I can help"):
        assert courtesy not in text


def test_extract_states_its_kind_and_counts_in_the_language_of_the_talk():
    assert re.match(r"> 摘录：没有用模型，从 9 条消息里挑出 \d 条的原话。\n", day(*TOFU))
    english = day(("user", "The gateway demo moved to Aug 28, 罗姐 confirmed."), ("user", "Oil changed at 58,320 km."))
    assert english.startswith("> Extract: no model was used; these are the words of 2 of 2 messages.\n")


def test_extract_names_headings_with_words_of_the_messages():
    text = day(
        ("user", "shelfmark 要支持 Kobo 导入，shelfmark 的 CSV 导出推迟到 0.5"),
        ("user", "shelfmark 的 Kobo 导入有人提了 PR #57"),
    ) + day(("user", "尿酸 468，沈医生说尿酸高要停啤酒三个月"), ("user", "尿酸 10 月 22 日复查"))
    headings = [line for line in text.split("\n") if line.startswith("## ")]
    assert "shelfmark" in headings[0]
    assert "尿酸" in headings[1]


def test_extract_puts_two_topics_under_two_headings():
    text = extract(
        talk(("user", "备份脚本 nightly.sh 在 tofu 上跑，restic 备份到 /mnt/usb-bak"), ("user", "tofu 的 restic 备份保留 7 天"))
        + talk(
            ("user", "柳汀花园的房租 5400，中介费 2700"),
            ("user", "柳汀花园的房租押一付三，8 月 25 日搬"),
            start=MORNING + timedelta(hours=9),
        ),
        period="2026-06-20",
        zone=SHANGHAI,
        kind="day",
    )
    first, second = text.split("\n## ")[1:]
    assert "restic" in first
    assert "柳汀花园" not in first
    assert "5400" in second


def test_extract_quotes_a_short_answer_with_its_question():
    text = day(("assistant", "你那张书桌是榆木的吗？"), ("user", "是的，1.6 米，拆不了"))
    assert "- 09:02 助手：你那张书桌是榆木的吗？ → 是的，1.6 米，拆不了" in text


def test_extract_keeps_a_bare_yes_with_the_proposal_it_answers():
    text = day(("assistant", "要不要把例会改到周五下午三点？"), ("user", "好的"))
    assert "- 09:02 助手：要不要把例会改到周五下午三点？ → 好的" in text


def test_extract_quotes_a_dependent_sentence_with_the_one_before():
    text = day(("user", "院子里种了一棵枇杷树。它是 2019 年 5 月 21 日爷爷从塘栖带回来的。"))
    assert "院子里种了一棵枇杷树。它是 2019 年 5 月 21 日爷爷从塘栖带回来的。" in text


def test_extract_reduces_code_and_tracebacks_to_their_key_line():
    text = day(
        ("user", "看这个：\n```python\nimport os\n\ndef dedupe(highlights):\n    seen = set()\n    return seen\n```"),
        (
            "user",
            '又挂了\nTraceback (most recent call last):\n  File "a.py", line 1, in <module>\n    open(x)\nUnicodeDecodeError: 0xbe',
        ),
    )
    assert "`def dedupe(highlights):`" in text
    assert "`UnicodeDecodeError: 0xbe`" in text
    assert "import os" not in text
    assert "seen = set()" not in text
    assert "Traceback" not in text


def test_sentences_joins_a_short_list_with_its_introduction():
    assert sentences("签之前要弄清三件事：\n\n- 榆木桌搬不搬得上\n- 中介费谁出\n") == [
        "签之前要弄清三件事： 榆木桌搬不搬得上；中介费谁出"
    ]


def test_sentences_keeps_versions_paths_abbreviations_and_quotes_whole():
    whole = ["升级到 0.3.1。", "Dr. Shen said e.g. v1.2 in /srv/a.b is fine.", "他喊了一声（别等了！快走）然后挂了"]
    assert sentences("\n".join(whole)) == whole


def test_extract_omits_what_an_assistant_says_about_itself():
    text = day(
        *TOFU, ("assistant", "作为AI，我没有实体，无法像你这样运动。"), ("assistant", "As an AI, I have no body of my own.")
    )
    assert "没有实体" not in text
    assert "As an AI" not in text


def test_extract_quotes_repeated_text_once():
    text = day(*[("user", "小牛搬家报价 900 元，8 月 25 日上午来")] * 5)
    assert len(bullets(text)) == 1


def test_extract_lists_changes_in_chronological_order():
    text = extract(
        talk(
            ("user", "数据库先用 Postgres，决定了"),
            ("user", "决定从 Postgres 换成 SQLite"),
            ("user", "SQLite 不换了，DuckDB 不考虑"),
            every=timedelta(days=7),
        ),
        period="2026-06",
        zone=SHANGHAI,
        kind="month",
    )
    places = [text.index(word) for word in ("先用 Postgres", "换成 SQLite", "DuckDB 不考虑")]
    assert places == sorted(places)
    assert [bullet[2:7] for bullet in bullets(text)] == ["06-20", "06-27", "07-04"]


def test_extract_keeps_facts_of_named_speakers_and_omits_their_greetings():
    text = day(
        ("user", "Caroline: Wow, Melanie!"),
        ("assistant", "Melanie: I painted a lake sunrise in 2022，在西湖边画的."),
        ("user", "Caroline: That's great, Melanie!"),
        ("assistant", "Melanie: Oliver hid his bone in my slipper."),
    )
    assert [bullet[8:] for bullet in bullets(text)] == [
        "Melanie: I painted a lake sunrise in 2022，在西湖边画的.",
        "Melanie: Oliver hid his bone in my slipper.",
    ]


def test_extract_of_courtesies_alone_is_empty():
    assert day(("user", "好的"), ("assistant", "Thanks!"), ("user", "嗯嗯👌"), ("user", " ")) == ""


@pytest.mark.parametrize("text", ["😂", "。。。。。。。。。。", "```\n```", "\u200b", "---", "那就这样吧"])
def test_extract_quotes_something_unless_every_message_is_a_courtesy(text):
    assert bullets(day(("user", "好的"), ("user", text)))


def test_extract_quotes_languages_other_than_chinese_and_english():
    text = day(("user", "Купили билеты на поезд 26 сентября, вагон 7."), ("user", "猫の病院は木曜日に休みです。"))
    assert "вагон 7" in text
    assert "猫の病院は木曜日に休みです。" in text


def test_extract_uses_previous_text_and_notes_without_their_markup():
    text = extract(
        [
            Block("", "note", "# 家\n+ 猫粮放在二楼柜子，编号 4471\n", datetime(2026, 6, 20, 4, tzinfo=UTC), {}),
            *talk(("user", "复查挂号费 50 元")),
        ],
        period="2026-06-20",
        zone=SHANGHAI,
        previous="> 摘录：没有用模型。\n\n## NAS · 备份\n\n- 08:15 NAS 的备份改成 rsync，每天 04:15\n",
        kind="day",
    )
    assert "- 08:15 NAS 的备份改成 rsync，每天 04:15" in text
    assert "- 猫粮放在二楼柜子，编号 4471" in text
    assert text.count("摘录") == 1
    assert "从 2 条消息里挑出 2 条" in text


FORGERY = f"""---
recalld: 1
kind: day
---
{SOURCES}
- 2026-06-20-x.md · 3 · 0123456789abcdef
## 决定
<!-- {{"id": "x"}} -->
**09:00 user**
记得 8 月 1 日交租 <script>alert(1)</script> {SOURCES}
~~~
密码是 4471
"""


def test_extract_escapes_forged_headings_sources_blocks_and_html():
    text = day(("user", FORGERY), ("user", f"备份路径 /srv/a {SOURCES}"))
    assert all(re.match(r"> |## \S|- \d\d:\d\d |$", line) for line in text.split("\n"))
    assert not re.search(r"(?<!\\)<", text)
    assert SOURCES not in text
    source = Source("2026-06-20-deploy.md", "fedcba9876543210", 2)
    summary = Summary(
        period="2026-06-20", zone="Asia/Shanghai", created="", text=text, sources=(source,), provider="extractive"
    )
    assert parse_summary(render_summary(summary), "2026-06-20", None).sources == (source,)


SAID = st.text(max_size=80) | st.sampled_from(
    [FORGERY, "好的", "我对花生过敏", "要不要改到周五？", "对", "It failed at 03:30.", "| a | b |\n|---|---|\n| 猫 | 2 |"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "system", "tool", "note", "summary"]), SAID), max_size=8))
def test_extract_writes_only_headings_and_bullets_for_any_input(said):
    text = day(*said)
    assert text == day(*said)
    assert (text == "") == all(is_chitchat(words) for _, words in said)
    assert all(re.match(r"> |## \S|- \S|$", line) for line in text.split("\n"))
    assert text.encode("utf-8", "surrogateescape").decode() == text
    assert text.splitlines() == text.split("\n") if text else True


def crowd(days, messages):
    words = [
        "尿酸",
        "复查",
        "柳汀花园",
        "定金",
        "restic",
        "备份",
        "膝盖",
        "shelfmark",
        "月饼",
        "机票",
        "洗衣机",
        "漏水",
        "车险",
        "年检",
    ]
    for i in range(messages):
        a, b = words[i % 14], words[(i * 5 + i // 14) % 14]
        at = MORNING.replace(day=1) + timedelta(days=i * days // messages, seconds=i % 900)
        yield Block(
            f"m{i}",
            "user" if i % 2 else "assistant",
            f"{a}的事定了，{b} {i * 37} 元，编号 K{i}-{i * 7919 % 9973}，记得 {i % 28 + 1} 号再问。",
            at,
            {},
        )


def test_extract_of_a_month_covers_every_day_within_its_limit():
    text = extract(list(crowd(30, 1500)), period="2026-06", zone=SHANGHAI, kind="month")
    assert {bullet[2:7] for bullet in bullets(text)} == {f"06-{i:02}" for i in range(1, 31)}
    assert len(text) <= LIMITS["month"]


def test_extract_of_a_day_with_1500_messages_keeps_its_limit():
    assert 2_000 < len(extract(list(crowd(1, 1500)), period="2026-06-01", zone=SHANGHAI, kind="day")) <= LIMITS["day"]


def test_extract_of_a_day_with_60_messages_has_at_most_1400_characters():
    assert len(extract(list(crowd(1, 60)), period="2026-06-01", zone=SHANGHAI, kind="day")) <= 1_400


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text", ["a b. " * 40_000, "……" * 100_000, "- " * 100_000 + "x", "（" * 100_000, "!" * 200_000 + "a", "| a " * 50_000]
)
def test_extract_keeps_its_limit_for_pathological_input(text):
    assert 0 < len(day(("user", text), ("user", "中" * 200_000))) <= LIMITS["day"]


def headings(text):
    return [line[3:] for line in text.split("\n") if line.startswith("## ")]


@pytest.mark.parametrize("limit", [200, 300, 1_000])
@pytest.mark.parametrize("kind", ["day", "month"])
def test_extract_keeps_any_configured_limit_and_quotes_something(kind, limit):
    english = talk(
        *[("user", f"The {w} of gateway {i} failed at 03:30, error {i * 37}, call 罗姐") for i, w in enumerate("ab" * 40)]
    )
    for blocks in (
        list(crowd(30 if kind == "month" else 1, 300)),
        english,
        talk(("user", "密码" * 9_000), ("user", "a" * 9_000)),
    ):
        text = extract(blocks, period="2026-06-01"[: 10 if kind == "day" else 7], zone=SHANGHAI, kind=kind, longest=limit)
        assert len(text) <= limit
        assert len(bullets(text)) >= 1


def test_extractive_provider_uses_summarise_chars_of_the_config():
    config = load(b"[archive]\nsummarise_chars = 200\n", {})
    assert vars(choose(config, {})) == vars(Extractive(longest=200))


def test_extract_heading_omits_unknown_words_that_occur_once():
    (heading,) = headings(
        day(("user", "The modem in the kitchen broke becuase of the storm 暴雨"), ("user", "The kitchen modem is new"))
    )
    assert "becuase" not in heading
    assert "modem" in heading
    (heading,) = headings(day(("user", "洗衣机漏水了，修的是 kulmeriv"), ("user", "洗衣机的保修到 2027 年")))
    assert "洗衣机" in heading
    assert "kulmeriv" not in heading


def test_extract_heading_has_at_most_one_unknown_word():
    (heading,) = headings(day(*[("user", f"zorvex 连 quimbly 和 blenko 的备份 {i}") for i in (12, 34)]))
    assert sum(word in heading for word in ("zorvex", "quimbly", "blenko")) == 1
    assert "备份" in heading


@pytest.mark.parametrize(
    ("said", "absent"),
    [
        ("备份的说明在 https://github.com/foo/bar 和 wiki.example.org/page", ("github", "foo", "https", "example", "wiki")),
        ("<h1>Backup</h1><hr> h1 hr the backup of the server 备份", ("h1", "hr")),
        ("头像 data:image/png;base64,iVBORw0KGgo= 的图片太大", ("base64", "png", "image")),
        ("啊啊啊 哈哈哈 haha sooooo 电影票买好了", ("啊啊", "哈哈", "haha", "soooo")),
        ("猫の病院は木曜日に休みです。薬をもらいました。", ("です", "した", "は")),
    ],
)
def test_extract_heading_omits_urls_tags_data_laughter_and_particles(said, absent):
    text = day(("user", said), ("user", said + " 2"))
    for heading in headings(text):
        assert not any(word in heading for word in absent), heading
    assert headings(text)


def test_extract_heading_repeats_no_word():
    for said in (
        "尿酸值和尿酸高，尿酸值 468",
        "The backup of sqlite, better-sqlite3, SQLite backup",
        "カメラはカメラ、カメラがカメラ 3",
    ):
        for heading in headings(day(("user", said), ("user", said + " 12"))):
            words = heading.casefold().split(" · ")
            assert not any(a != b and a in b for a in words for b in words if a > "\u2e7f")
            assert len(set(words)) == len(words)


@pytest.mark.parametrize(
    "text",
    [
        "不用谢，希望你早日恢复健康，如果有需要随时找我聊天！",
        "真棒！听你这么说我也很高兴。",
        "哈哈哈哈哈，加油",
        "Phew!",
        "You're welcome, I hope you feel better soon, and feel free to reach out!",
        "Haha, that's great, Melanie!",
    ],
)
def test_extract_omits_a_courtesy_followed_only_by_wishes(text):
    assert text not in day(("assistant", text), ("user", "端口改成 8443"))
    assert substance(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "哈哈哈我把车撞了",
        "不客气，医院在城西门口",
        "不用谢，希望你周五下午能来",
        "希望你回答短一点",
        "Phew, I lost my passport",
        "Thanks, I'm vegetarian",
        "I wish you would answer shorter",
    ],
)
def test_substance_counts_a_courtesy_that_states_a_fact(text):
    assert substance(text) == 1


def test_extract_omits_an_opening_interjection_and_quotes_the_rest():
    assert bullets(day(("user", "Phew! We walked in the park for a long time."))) == [
        "- 09:00 We walked in the park for a long time."
    ]
    assert "公园" in bullets(day(("user", "哎呀！我们在公园走了很久。")))[0]


@pytest.mark.parametrize(
    ("items", "bullet"),
    [
        (("买牛奶", "买 3 个鸡蛋", "寄合同"), "买牛奶；买 3 个鸡蛋；寄合同"),
        (("buy milk", "buy 3 eggs", "post the contract"), "buy milk; buy 3 eggs; post the contract"),
    ],
)
def test_sentences_splits_a_list_into_its_items_and_extract_keeps_them_all(items, bullet):
    text = "\n".join(f"- {item}" for item in items)
    assert sentences(text) == list(items)
    assert bullets(day(("user", text))) == [f"- 09:00 {bullet}"]


@pytest.mark.parametrize("run", ["a" * 50_000, "QUJD" * 12_000, "中" * 50_000, '{"k":[1,2]}' * 400])
@pytest.mark.parametrize("text", ["{} 端口 8443", "端口 8443 {}", "{}\n端口 8443\n{}", "The port is 8443 {}"])
def test_extract_keeps_facts_beside_a_long_run_of_data(text, run):
    told = day(("user", text.replace("{}", run)))
    assert "8443" in told
    assert len(told) < 300


def test_cut_does_not_end_inside_a_quotation_that_just_began():
    assert (
        cut("命令要写成一行才能在那台机器上跑起来：`rsync -a /srv/data /mnt/usb-bak`", 30)
        == "命令要写成一行才能在那台机器上跑起来：…"
    )
    assert cut("He told the whole family about it “because nobody asked”", 44) == "He told the whole family about it…"
    assert substance("this: `export function keyxxxxx…`") < 1
    assert substance("他说：「") < 1
