"""What a bad answer gets: its reason in the log, a second attempt by exchange, and then the extract; true ones in other words pass."""

from __future__ import annotations

import pytest

from recalld.supervisor.checks.check import Look
from recalld.supervisor.checks.table import examine, verdict
from recalld.supervisor.storage.texts import render
from tests.llm.server import Act
from tests.llm.shop import ServedWorld
from tests.world import message

TEXTS = (
    *("房东昨晚发消息，说四月起房租从 4,600 涨到 4,900，合同 3 月 31 日到期，问我续不续。", "要看别的房子吗？"),
    *("中介小蒋约了周四晚上七点看两套，一套在牛王庙，一套在东大路，预算五千封顶，得能养狗。", "记下了。"),
    *("我哥许安去年借了我 18,000，说周五先还 10,000，剩下的五月发奖金再给。", "好，周五提醒您？"),
    "不用。门诊改到 1 月 22 日，挂的是林若兰医生的号，华西二院，要空腹抽血。叶酸一天 0.4 毫克，孕酮 18.2，两周后复查。",
    *("好的。", "赵磊给豆包报了训练班，8 节课 1,600，周六上午在麓湖。电信移机约了 1 月 30 日下午，物业电话 028-8512-7733。"),
)
#: A true one in other words: numbers in words, a difference, pinyin, a weekday.
GOOD = (
    "四月起房租从四千六涨到四千九，涨 300，合同 3 月 31 日到期。小蒋约了周四 19:00 看牛王庙和东大路的两套，预算五千，能养狗。"
    "Xu An 去年借了一万八，周五先还一万，还差八千五月给。门诊改到周四（1月22日），华西二院林若兰医生，"
    "空腹抽血；叶酸一天 0.4 毫克，孕酮 18.2，两周后复查。赵磊给豆包报了训练班，8 节课一千六，周六上午在麓湖。"
)
#: Each bad answer, with the reason that it is refused for.
BAD = (
    ("", "empty"),
    ("无需记录", "empty"),
    ("抱歉，我无法协助处理该请求。", "refused"),
    ("用完整的句子写，一个话题一段，比对话短得多。名字和数字照原文写。", "vague"),
    ("用户的姐姐丁蕙下周六从昆明来住五天。客房缺台灯和拖鞋，台灯由用户当晚去买，预算一百二。", "vague"),
    ("房东说四月起房租涨到 4,900。" * 300, "long"),
    ("\n".join(TEXTS), "copy"),
    (
        "The landlord raises the rent from 4,600 to 4,900 in April, and the agent shows two flats on Thursday evening.",
        "language",
    ),
    ('{"summary": "房租从 4,600 涨到 4,900，中介', "data"),
    ("<think>用户说房租要涨，先看看材料里还有什么", "thought"),
    ("".join(f"第 {n} 套在{n}号楼，房租 {n * 7 + 4000}，朝南，带电梯。" for n in range(99)), "long"),
    ("用户聊了房子和家里的一些事情，做了安排。", "vague"),
)


pytestmark = pytest.mark.proof


def written(day: str) -> list[dict[str, object]]:
    return [
        message(f"{day}-{n}", f"{day}T09:0{n}", text, "assistant" if n % 2 else "user", archived=False)
        for n, text in enumerate(TEXTS)
    ]


def test_bad_answers_are_named_asked_again_and_give_way_to_the_extract(tmp_path, server):
    days = {f"2026-01-{n:02}": fault for n, fault in enumerate(BAD, 1)}
    good = "2026-01-20"
    server.script = lambda _, prompt: Act(text=days.get(prompt[:10], (GOOD,))[0], parts=60)
    world = ServedWorld(tmp_path, server)
    world.write([one for day in [*days, good] for one in written(day)])
    world.settle()
    world.clock.forward(hours=1)
    world.settle()
    world.clock.forward(days=2)
    world.settle()

    told = [(one["group"], one["reason"]) for one in world.events.of("summary_failed")]
    assert sorted(told) == sorted((f"day-{day}", reason) for day, (_, reason) in days.items() for _ in range(2))
    assert server.seen.calls == 2 * len(BAD) + 1
    for day in days:
        assert "\nrefused: qwen-test " in world.summary(day)
        assert "4,900" in world.summary(day).partition("摘录")[2]
    assert GOOD in world.summary(good)
    account = world.status()["models"]["qwen-test"]
    assert account["answersAccepted"] == 1
    assert account["answersRefused"] == sum(account["reasons"].values())


def test_a_model_that_its_server_names_otherwise_has_one_account(tmp_path, server):
    """llama.cpp names the file with each answer, and nothing with one that is empty or only a thought."""
    bad = ("", "<think>用户说房租要涨", "无需记录", "用户聊了房子和家里的一些事情，做了安排。")
    days = [f"2026-01-{n:02}" for n in range(4, 16)]
    server.script = lambda number, _: Act(text=bad[number % len(bad)], model="/models/qwen2.5-1.5b-q4.gguf")
    world = ServedWorld(tmp_path, server)
    world.write([one for day in days for one in written(day)])
    for _ in range(3):
        world.settle()
        world.clock.forward(days=1)

    accounts = world.status()["models"]
    assert {model: one["answersRefused"] for model, one in accounts.items()} == {"qwen-test": 2 * len(days)}
    look = Look(world.ws, world.clock(), {})
    for told in (verdict(look)[0], [one.why for one in examine(look, slow=False)]):
        worse = [render(one, "zh") for one in told if "most were refused" in str(one)]
        assert worse == [
            "qwen-test 最近 24 次回答里有 24 次没有通过，用摘录代替了；原因见 `recalld status --all`。换一个更大的模型，或者不用模型，效果会更好。"
        ]
