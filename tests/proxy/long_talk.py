"""
A talk of thousands of turns through the proxy, whose model has a small window.

    python -m tests.proxy.long_talk --turns 2000        some minutes

The client sends its whole history each time. Shown are the largest request that the model got, how many of 50 facts of the
beginning are in a request that asks for them, and how many turns are in dated files exactly once.
"""

import argparse
import sys
import tempfile
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from recalld.supervisor.text.llm_input import MESSAGE_TOKENS, estimate_tokens
from tests.http.service import Service
from tests.proxy.conftest import Proxied
from tests.proxy.model_server import Got, ModelServer, chat
from tests.world import WITHOUT_MODEL

WINDOW = 8192
SETTINGS = f"[recall]\ntimeout_ms = 5000\n[context]\nwindow_tokens = {WINDOW}\n"
FACTS = [f"{place}的{thing}" for place, thing in product(("厨房", "车库", "阁楼", "书房", "仓库"), ("灯泡", "窗帘", "柜子", "地毯", "花盆", "水管", "插座", "书架", "风扇", "钟"))]  # fmt: skip
SMALL = ("今天风很大", "邻居家在装修", "路上堵车了", "中午吃了面条", "猫又打翻了水杯", "下午开了两个会")


class LongTalk(NamedTuple):
    """The tokens of the *largest* request, the facts that were *remembered*, and the questions that are *kept_once*."""

    largest: int
    remembered: int
    kept_once: int


def long_talk(proxied: Proxied, turns: int) -> LongTalk:
    """Talk for so many turns, and ask for the facts of the first fifty."""
    proxied.configure(SETTINGS)
    chance, largest = Random(35), 0
    numbers = chance.sample(range(1000, 9999), len(FACTS))
    messages: list[dict[str, Any]] = [{"role": "system", "content": "你是助手，回答要简短。"}]
    questions = [f"记一下：{fact}是 {number} 号。" for fact, number in zip(FACTS, numbers, strict=True)]
    questions += [f"第 {n} 件事：{chance.choice(SMALL)}，{chance.choice(SMALL)}。" for n in range(len(FACTS), turns)]
    for n, question in enumerate(questions):
        messages.append({"role": "user", "content": question})
        largest = max(largest, tokens(asked(proxied, messages, f"好的，第 {n} 条。")))
        messages.append({"role": "assistant", "content": f"好的，第 {n} 条。"})
        if n % 100 == 99:
            proxied.service.world.settle()
    proxied.service.world.settle()
    remembered = 0
    for fact, number in zip(FACTS, numbers, strict=True):
        got = asked(proxied, [*messages, {"role": "user", "content": f"{fact}是多少号？"}], "好。")
        largest = max(largest, tokens(got))
        remembered += f"{fact}是 {number} 号" in got.json["messages"][-1]["content"]
    proxied.service.world.settle()
    filed = proxied.service.world.archived_texts()
    return LongTalk(largest, remembered, sum(filed.count(question) == 1 for question in questions))


def asked(proxied: Proxied, messages: list[dict[str, Any]], answer: str) -> Got:
    """What the model gets, and answers."""
    proxied.play(chat(answer))
    proxied.post("/v1/chat/completions", {"messages": messages}, **{"X-Recalld-Session": "long"}).raise_for_status()
    return proxied.model.got[0]


def tokens(got: Got) -> int:
    return sum(estimate_tokens(one["content"]) + MESSAGE_TOKENS for one in got.json["messages"])


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--turns", type=int, default=2_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, ModelServer(chat("好。")) as model:
        toml = f'{WITHOUT_MODEL}[serve]\nupstream = "{model.url}"\n'
        with Service(Path(folder) / "工作区", toml) as service:
            found = long_talk(Proxied(service, model), given.turns)
    print(
        f"{given.turns} turns: {found.kept_once} in dated files once; the largest request has {found.largest} tokens of {WINDOW}; "
        f"{found.remembered} of {len(FACTS)} early facts are in what the model gets"
    )
    is_well = found.largest <= WINDOW and found.remembered >= 0.95 * len(FACTS) and found.kept_once == given.turns
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
