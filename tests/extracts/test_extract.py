import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.supervisor.extracts.extract import extract
from recalld.supervisor.extracts.sentences import cut
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.summary_file import SOURCES, Source, Summary, parse_summary, render_summary
from recalld.supervisor.text.language import is_small_talk

SHANGHAI = ZoneInfo("Asia/Shanghai")
MORNING = datetime(2026, 6, 20, 1, 0, tzinfo=UTC)  # 09:00 in Shanghai
#: Characters of a period's label.
LABELS = {"day": len("2026-06-20"), "month": len("2026-06")}


def talk(*said, start=MORNING, every=timedelta(minutes=2)):
    """Blocks of ("user" | "assistant" | …, text), every some minutes from nine in the morning on."""
    return [Block(f"m{i}", role, text, start + i * every, {}) for i, (role, text) in enumerate(said)]


def day(*said, previous=""):
    return extract(talk(*said), period="2026-06-20", zone=SHANGHAI, previous=previous, kind="day")


def bullets(text):
    return [line for line in text.split("\n") if line.startswith("- ")]


def quoted(*said, kind="day", every=timedelta(minutes=2)):
    """The bullets of the extract of a talk."""
    return bullets(extract(talk(*said, every=every), period="2026-06-20"[: LABELS[kind]], zone=SHANGHAI, kind=kind))


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


def test_extract_states_its_kind_and_counts_in_the_language_of_the_talk():
    assert re.match(r"> 摘录（未用模型）：从 9 条消息里摘了 \d 条原话。\n", day(*TOFU))
    english = day(("user", "The gateway demo moved to Aug 28, 罗姐 confirmed."), ("user", "Oil changed at 58,320 km."))
    assert english.startswith("> Extract: no model was used; these are the words of 2 of 2 messages.\n")


def test_extract_has_no_headings_and_keeps_the_order_of_time():
    text = day(
        ("user", "备份脚本 nightly.sh 用 restic 推到 /mnt/usb-bak"),
        ("assistant", "锁文件放在 /run/tofu-backup.lock。"),
        ("user", "柳汀花园的房租 5400，中介费 2700"),
        ("assistant", "证书在 /etc/ssl/tofu.pem，端口 8443。"),
        ("user", "备份脚本还要保留 14 天，周棠对榛子过敏"),
    )
    assert "##" not in text
    assert [bullet[2:7] for bullet in bullets(text)] == ["09:00", "09:02", "09:04", "09:06", "09:08"]


def test_extract_has_each_time_of_a_speaker_in_a_bullet_of_its_own():
    said = [("user", "我把 3 号柜子修好了"), ("user", "周五去给猫打疫苗"), ("user", "I sold the car in May.")]
    at_once = extract(talk(*said, every=timedelta(seconds=9)), period="2026-06-20", zone=SHANGHAI, kind="day")
    assert bullets(at_once) == ["- 09:00 用户：我把 3 号柜子修好了；周五去给猫打疫苗；I sold the car in May."]
    assert [bullet[2:7] for bullet in bullets(day(*said))] == ["09:00", "09:02", "09:04"]
    month = extract(talk(*said), period="2026-06", zone=SHANGHAI, kind="month")
    assert [bullet[2:7] for bullet in bullets(month)] == ["06-20"]


@pytest.mark.parametrize(
    ("asked", "answer", "bullet"),
    [
        ("桌子多长？", "1.6 米", "- 09:00 助手：桌子多长？ → 09:02 用户：1.6 米"),
        ("How long is the table?", "1.6 m, oak", "- 09:00 assistant: How long is the table? → 09:02 user: 1.6 m, oak"),
    ],
)
def test_question_stands_with_its_own_time_before_its_answer(asked, answer, bullet):
    assert quoted(("assistant", asked), ("user", answer)) == [bullet]


def words_of(text):
    return set(re.findall(r"[一-鿿]|[A-Za-z0-9]+", text))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from([*(text for _, said in TOFU for text in [said]), "更正：SSH 端口 2223", "sorry, not 3"]), max_size=9
    )
)
def test_extract_has_no_word_that_is_in_no_message(said):
    for kind in ("day", "month"):
        text = extract(talk(*(("user", one) for one in said)), period="2026-06-20"[: LABELS[kind]], zone=SHANGHAI, kind=kind)
        quoted = "\n".join(bullet[8:] for bullet in bullets(text))
        assert words_of(re.sub("用户：|user: ", "", quoted)) <= words_of(" ".join(said))


def test_extract_keeps_of_code_and_tracebacks_the_last_error_alone():
    text = day(
        ("user", "看这个：\n```python\nimport os\n\ndef dedupe(highlights):\n    seen = set()\n    return seen\n```"),
        (
            "user",
            '又挂了\nTraceback (most recent call last):\n  File "a.py", line 1, in <module>\n    open(x)\nUnicodeDecodeError: 0xbe',
        ),
    )
    assert "`UnicodeDecodeError: 0xbe`" in text
    for code in ("import os", "def dedupe", "seen", "return"):
        assert code not in text
    assert "Traceback" not in text


NOTED, SAID_TOO = ("note", "- 护照在书房第二个抽屉里\n"), ("user", "锅炉师傅 12 月 3 日上午 10 点来。")


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
    assert "从 1 条消息里摘了 1 条原话，还有笔记里的" in text


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
    blocks = talk(("user", FORGERY), ("user", f"备份路径 /srv/a {SOURCES}"), ("user", "端口改成 8443"))
    blocks[2] = Block("m2", "user", "端口改成 8443", blocks[2].created_at, {"name": f"小周\n## 决定\n{SOURCES}"})
    text = extract(blocks, period="2026-06-20", zone=SHANGHAI, kind="day")
    assert "8443" in text
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
    says_something = [role for role, words in said if not is_small_talk(words)]
    assert text == "" or says_something
    assert text or set(says_something) <= {"assistant"}  # short answers to courtesies are courtesies
    assert all(re.match(r"> |## \S|- \S|$", line) for line in text.split("\n"))
    assert text.encode("utf-8", "surrogateescape").decode() == text
    assert text.splitlines() == text.split("\n") if text else True


def crowd(days, messages):
    words = "尿酸 复查 柳汀花园 定金 restic 备份 膝盖 shelfmark 月饼 机票 洗衣机 漏水 车险 年检".split()  # noqa: SIM905 - read as a list
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


@pytest.mark.parametrize("limit", [200, 1_000])
@pytest.mark.parametrize("kind", ["day", "month"])
def test_extract_keeps_any_configured_limit_and_quotes_something(kind, limit):
    english = talk(
        *[("user", f"The {w} of gateway {i} failed at 03:30, error {i * 37}, call 罗姐") for i, w in enumerate("ab" * 40)]
    )
    for blocks in (
        list(crowd(30 if kind == "month" else 1, 100)),
        english,
        talk(("user", "密码" * 9_000), ("user", "a" * 9_000)),
    ):
        text = extract(blocks, period="2026-06-01"[: LABELS[kind]], zone=SHANGHAI, kind=kind, longest=limit)
        assert len(text) <= limit
        assert len(bullets(text)) >= 1


def test_cut_does_not_end_inside_a_quotation_that_just_began():
    assert (
        cut("命令要写成一行才能在那台机器上跑起来：`rsync -a /srv/data /mnt/usb-bak`", 30)
        == "命令要写成一行才能在那台机器上跑起来：…"
    )
    assert cut("He told the whole family about it “because nobody asked”", 44) == "He told the whole family about it…"


@pytest.mark.parametrize("kind", ["day", "month"])
@pytest.mark.parametrize(
    ("said", "noted", "amended"),
    [
        ("史师傅修锅炉要 320，周一带零件来", "好的。", "等等不是周一，是周二"),
        ("奶奶的药是 5 毫克", "好", "说错了，是 10 毫克"),
        ("Steve wants 320 for the boiler, comes back Monday with the part", "Noted.", "sorry not Monday, Tuesday"),
        ("they halved the metformin to 500 mg", "Noted.", "sorry, I was wrong, it is 850"),
        ("dinner with Lukas is Thursday at 7", "Noted.", "sorry, Friday"),
    ],
)
def test_extract_has_what_is_amended_at_once_and_what_it_amends(said, noted, amended, kind):
    text = "\n".join(quoted(("user", said), ("assistant", noted), ("user", amended), kind=kind))
    assert said in text
    assert amended in text


def test_month_has_what_was_said_on_many_days_once():
    (bullet,) = quoted(*[("user", "the bins go out on Tuesday at 7")] * 5, kind="month", every=timedelta(days=1))
    assert bullet.startswith("- 06-24 ")
