"""Which secrets a turn shows: those that the user asks for in a direct talk, and none in a group."""

import json
import re
from pathlib import Path

import pytest

from recalld.supervisor.context.request import Asked
from recalld.supervisor.context.secrets import redactor
from recalld.supervisor.protocol.config_keys import Privacy
from recalld.supervisor.protocol.inbox import Chat
from tests.context.passages import hit
from tests.world import World, message

DIRECT, GROUP = Chat(), Chat("group", "telegram:group:-1")
LLM = Privacy()
KEY = "sk-proj_abcdefghijklmnop12345"
CARD = "6222 0212 3456 7890 123"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"


def block(question: str, *texts: str, chat: Chat = DIRECT, privacy: Privacy = LLM, terms: tuple[str, ...] = ()) -> str:
    """The texts as a memory block for the question shows them."""
    hide = redactor(Asked(question, chat), terms, [hit(9, text, start=n) for n, text in enumerate(texts, 1)], "en", privacy)
    return "\n".join(map(hide, texts))


@pytest.mark.parametrize(
    ("question", "text", "secret"),
    [
        ("What is the wifi password?", "The wifi password is plum-orchid-77.", "plum-orchid-77"),
        ("wifi 密码是多少", "家里 wifi 的密码是 plum-orchid-77。", "plum-orchid-77"),
        ("API key for OpenAI?", f"the OpenAI key is {KEY}", KEY),
        ("我的银行卡号码", f"银行卡 {CARD}，招行", CARD),
        ("给我那个私钥", PEM, "MIIEow"),
        ("the url of the repository", "the repository is https://me:letmein@git.example.com/x.git", "letmein"),
        ("wifi のパスワードは？", "wifi のパスワード：orchid-77", "orchid-77"),
        ("门口密码锁的密码是多少？", "门口的密码锁是 4471", "4471"),
        ("wifi code", "the wifi password is plum-orchid-77", "plum-orchid-77"),
        ("seed phrase?", "seed phrase: abandon ability able about above absent", "abandon"),
    ],
)
def test_redactor_shows_the_secret_that_is_asked_for_in_a_direct_talk(question, text, secret):
    assert secret in block(question, text)
    assert secret not in block(question, text, chat=GROUP)
    assert secret not in block(question, text, chat=GROUP, privacy=Privacy(redact="off"))
    assert secret not in block(question, text, privacy=Privacy(reveal=False))
    assert secret in block("hello", text, privacy=Privacy(redact="off"))


def test_redactor_prefers_the_secret_that_shares_more_words():
    texts = ("The bank password is gold-99.", "The wifi password is plum-orchid-77.")
    assert block("wifi password?", *texts) == "The bank password is [hidden]\nThe wifi password is plum-orchid-77."
    assert block("password?", *texts) == "\n".join(texts), "it says not which"
    assert block("which bank?", *texts) == "The bank password is [hidden]\nThe wifi password is [hidden]"


def test_redactor_shows_no_secret_of_something_else_than_what_is_asked_for():
    texts = ("微信支付密码：604518", "公司邮箱密码被改了，新密码 Kd#2026aug", "单元门禁坏了")
    hidden = ["微信支付密码：[hidden]", "公司邮箱密码被改了，新密码 [hidden]", "单元门禁坏了"]
    assert block("电脑开机密码是多少", *texts, terms=("电脑", "开机", "密码")) == "\n".join(hidden)
    assert block("支付密码是多少", *texts, terms=("支付", "密码")) == "\n".join([texts[0], *hidden[1:]])


def test_redactor_shows_the_new_secret_beside_the_old_one():
    texts = (
        "小区单元门禁是 5820#，外卖进不来就给他。",
        "门禁改了，单元门新密码是 1937#。",
        "the wifi password is plum-77",
        "new wifi password: fig-88",
    )
    assert block("小区单元门禁密码是多少？", *texts) == "\n".join(
        [*texts[:2], "the wifi password is [hidden]", "new wifi password: [hidden]"]
    )
    assert block("门禁码是多少", *texts[:2]) == "\n".join(texts[:2])
    assert block("What is the wifi password?", *texts[2:]) == "\n".join(texts[2:])


@pytest.mark.parametrize(
    ("question", "text", "shown"),
    [
        (
            "what is the code of my bike lock?",
            "The bike lock code is 5839, the safe code is 7712",
            "The bike lock code is 5839, the safe code is [hidden]",
        ),
        ("自行车锁的密码是多少？", "自行车锁密码 5839，保险柜密码 7712", "自行车锁密码 5839，保险柜密码 [hidden]"),
        (
            "what is my booking number?",
            "My booking number is 48213, and the locker is free",
            "My booking number is 48213, and the locker is free",
        ),
        ("which gym do I go to?", "the padlock at the shed opens with 7149", "the padlock at the shed opens with [hidden]"),
    ],
)
def test_redactor_shows_of_two_numbers_the_one_that_is_asked_for(question, text, shown):
    assert block(question, text) == shown
    assert not re.search(r"\d{4}", block(question, text, chat=GROUP))


def test_redactor_hides_a_secret_where_it_is_said_again_without_label():
    texts = (
        "wifi 的密码是 plum-77，plum-77 别忘了。",
        "plum-77 给了邻居，他的号是 plum-775。",
        "The PIN is 4471.",
        "Bus 4471 is late.",
    )
    hidden = "wifi 的密码是 [hidden]，[hidden] 别忘了。\n[hidden] 给了邻居，他的号是 plum-775。\nThe PIN is [hidden].\nBus 4471 is late."
    assert block("邻居", *texts) == hidden
    assert block("wifi 密码是多少", *texts[:2]) == "\n".join(texts[:2])


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("gate code for my parents?", "The gate code at my parents' place is 3306."),
        ("mother's laptop password?", "Mum's laptop password is Daisy1952!"),
        ("dad's phone PIN?", "Dad has a new phone. His PIN is 2580."), ("招行卡密码多少？", "招商银行卡的密码是612044。"),
        ("what's today's door code", "The door code is 4471."), ("保险柜怎么打开，密码多少？", "保险箱密码183307。"),
        ("她的手机密码", "妈妈换了手机，她的手机密码是771903。"),
    ],
)  # fmt: skip
def test_redactor_shows_the_secret_however_it_is_called(question, told):
    assert block(question, told) == told


def test_redactor_shows_no_half_secret_of_a_message_of_megabytes():
    text = f"花生 {KEY} " * 60_000
    shown = block("花生", text, chat=GROUP)
    assert len(shown) < 100_000
    assert not [part for part in ("sk-proj", "klmnop12345") if part in shown]


# ── a whole turn ─────────────────────────────────────────────────────────────


@pytest.fixture
def told(world: World) -> World:
    group = {"session": GROUP.session, "chat": "group"}
    world.fill(
        [
            message("1", "2026-01-28T09:00", "家里 wifi 的密码是 plum-orchid-77。"),
            message("2", "2026-01-28T09:01", f"部署放到周五。顺便记一下 {KEY}"),
            message("3", "2026-01-28T09:02", "群里 wifi 的密码是 maple-22，周末见。", **group),
        ]
    )
    return world


def words_of(turn) -> str:
    return json.dumps([turn.memory, turn.messages, [hit.unit.text for hit in turn.shown]], ensure_ascii=False)


def test_inject_answers_with_the_secret_that_is_asked_for(told):
    assert "plum-orchid-77" in words_of(told.inject("wifi 密码是多少？"))
    turn = told.inject("部署在周几？")
    told.save_receipt(turn)
    for words in words_of(turn), told.why().memory:
        assert "部署放到周五" in words
        assert "[已隐去]" in words
        assert KEY not in words


@pytest.mark.parametrize(("language", "right", "wrong"), [("en", 13, 3), ("zh", 14, 2)])
def test_inject_answers_most_questions_for_a_secret_and_shows_few_others(world, language, right, wrong):
    lines = (Path(__file__).parent / f"asked.{language}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    secrets = {name: text.partition("⟦")[2].partition("⟧")[0] for kind, name, text in rows if kind == "S"}
    said = [text.translate({ord("⟦"): None, ord("⟧"): None}) for kind, _, text in rows if kind != "Q"]
    world.write([message(f"m{n}", f"2026-01-{n:02}T10:00", text) for n, text in enumerate(said, 1)])
    asked = [(name, world.inject(text).memory) for kind, name, text in rows if kind == "Q"]
    shown = [(name, secret) for name, block in asked for secret in secrets if secrets[secret] in block]
    assert len([pair for pair in shown if pair[0] == pair[1]]) >= right
    assert len([pair for pair in shown if pair[0] != pair[1]]) <= wrong


def test_inject_shows_no_secret_in_a_group_nor_with_reveal_off(told):
    told.ask({"id": "i1", "text": "wifi 密码是多少？", "session": GROUP.session})
    turn = words_of(told.inject(None, told.search("wifi 密码是多少？")))
    assert "周末见" not in turn  # it stands beside the password
    assert "maple-22" not in turn
    told.reopen(f"{told.toml}[privacy]\nreveal = false\n")
    assert "plum-orchid-77" not in words_of(told.inject("wifi 密码是多少？"))


def test_context_hides_secrets_of_the_talk_only_where_all_are_hidden(told):
    assert "plum-orchid-77" in words_of(told.context("部署在周几？"))
    told.ask({"id": "i1", "text": "部署在周几？", "session": GROUP.session})
    turn = words_of(told.context(None, told.search("部署")))
    assert "周末见" in turn
    assert "maple-22" not in turn
    told.reopen(f"{told.toml}[privacy]\nreveal = false\n")
    assert "plum-orchid-77" not in words_of(told.context("部署在周几？"))


@pytest.mark.parametrize("text", ["跳板机：ssh -p 2207 deploy@jump.example.net", "The accountant: kim@example.org"])
def test_mail_address_is_no_secret_of_a_direct_chat(text):
    address = text.split()[-1]
    assert block("跳板机端口是多少", text) == text
    assert address not in block("跳板机端口是多少", text, chat=GROUP)
    assert address not in block("跳板机端口是多少", text, privacy=Privacy(personal=True))
    assert address not in block("跳板机端口是多少", text, privacy=Privacy(reveal=False))
