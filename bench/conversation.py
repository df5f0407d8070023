"""
A running conversation of thousands of turns: what its summary costs, and what of its beginning is in the context at the end.

    python -m bench.conversation [--turns 2000] [--context 8192] [--longer 1] [--json]

The first ten turns have 30 facts that the user asks to remember, the others are made-up talk in Chinese and English (bench/talk.py).
Messages that are `--longer`, so many of the made-up ones in one, are summed up by their tokens and not by their number.
The model is scripted: one keeps every fact that it is told for as long as its summary may be, the other keeps what is newest. At the
end each fact is asked for; it counts where its value is in the messages that would be sent. "memory": recalld's own turn over the same
talk, archived and summarised without a model. "both": the conversation in what the memory block leaves of the context, and the block.
Tokens are estimates.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from collections.abc import Iterator

from bench.served import settle
from bench.talk import talk
from recalld.supervisor.conversation.memory_manager import MemoryManager
from recalld.supervisor.conversation.running import read_said
from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.protocol.config import Config
from recalld.supervisor.storage.clock import fixed_clock
from recalld.supervisor.text.llm_input import estimate_tokens

SYSTEM: Final = "你是一个聊天助手。You are a chat assistant."
TURNS_WITH_FACTS: Final = 10
FACTS_A_TURN: Final = 3
#: The tokens of what is sent are counted in every tenth turn, and after each call.
_EVERY: Final = 20
_THINGS: Final = (
    "书房路由器 备份硬盘 阳台传感器 车库门锁 客厅投影仪 厨房净水器 地下室水泵 门口摄像头 卧室空调 院子喷头 "
    "楼顶天线 储藏室冰柜 走廊电表 鱼缸加热棒 打印机墨盒"
).split()
_NAMES: Final = (
    "greenhouse heater|attic fan|garage compressor|pantry freezer|office scanner|cellar pump|porch camera|studio mixer|boat engine|"
    "library lamp|kitchen scale|garden shed|laundry dryer|guest router|workshop lathe"
).split("|")
_TOLD: Final = re.compile(r"(?:请记住：|Remember: )([^。\n]+?)(?:。|\.(?:\s|$))")
_SUMMED_UP: Final = re.compile(r"^- (.+)$", re.MULTILINE)
_FENCED: Final = re.compile(r"^(`{3,})\n(.*?)\n\1$", re.DOTALL | re.MULTILINE)
_MOST: Final = re.compile(r"不超过 (\d+) 个字|at most (\d+) characters")


@dataclass(frozen=True)
class Fact:
    """What the user says, what is asked for it at the end, and the value that answers."""

    said: str
    asked: str
    value: str


def facts() -> list[Fact]:
    """Return 30 facts, Chinese and English in turn."""
    pick = random.Random(19)
    found = []
    for thing, name in zip(_THINGS, _NAMES, strict=True):
        serial, number = (f"{pick.choice('KMRTX')}-{pick.randint(1000, 9999)}" for _ in range(2))
        found.append(Fact(f"请记住：{thing}的序列号是 {serial}。", f"{thing}的序列号是多少？", serial))
        found.append(
            Fact(f"Remember: the serial number of the {name} is {number}.", f"What is the serial number of the {name}?", number)
        )
    return found


def conversation(turns: int, longer: int = 1) -> Iterator[dict[str, Any]]:
    """Yield the messages as history.json holds them: facts in the first ten turns, made-up talk in the others."""
    known = facts()
    made_up = talk(2 * turns * longer, max(1, turns // 25))
    for n, messages in enumerate(zip(*[made_up] * longer, strict=True)):
        turn, role = n // 2, "assistant" if n % 2 else "user"
        said = "\n".join(str(one["text"]) for one in messages)
        if turn < TURNS_WITH_FACTS:
            told = known[turn * FACTS_A_TURN : (turn + 1) * FACTS_A_TURN]
            said = " ".join(one.said for one in told) if role == "user" else f"记下了。Noted, {len(told)}."
        yield {**messages[0], "role": role, "text": said}


class Summariser:
    """A scripted model: its summary is a list of what it was told, cut to its length from the end that it forgets first."""

    def __init__(self, *, keeps_facts: bool) -> None:
        self.keeps_facts = keeps_facts
        self.calls, self.tokens_in, self.tokens_out = 0, 0, 0

    def chat_stream(self, *, messages: list[dict[str, Any]], **_: object) -> Iterator[str]:
        """Yield the new summary: the items of the last one, what the user asked to remember, and a word of each message."""
        prompt = messages[-1]["content"]  # what is before it are the instructions and an example
        *before, told = (text for _, text in _FENCED.findall(prompt))
        known = [item for text in before for item in _SUMMED_UP.findall(text)]
        asked = _TOLD.findall(told)
        talked = [f"{line[:40]}。" for line in told.splitlines() if not _TOLD.search(line)]
        items = list(dict.fromkeys([*known, *asked, *talked]))
        if self.keeps_facts:  # first, and so last to go
            items.sort(key=lambda item: "序列号" not in item and "serial number" not in item)
            newest = [item for item in items if "/srv" in item or "：" in item][-8:]
            items = [item for item in items if "序列号" in item or "serial number" in item or item in newest]
        most = min(int(next(filter(None, found))) for found in _MOST.findall(prompt))
        while sum(len(item) + len("- \n") for item in items) > most:
            items.pop() if self.keeps_facts else items.pop(0)
        text = "\n".join(f"- {item}" for item in items)
        self.calls += 1
        self.tokens_in += estimate_tokens(prompt)
        self.tokens_out += estimate_tokens(text)
        yield text


@dataclass
class Run:
    """What a conversation cost: the turns in which the model was asked, and the most tokens that were sent."""

    model: Summariser
    memory: MemoryManager
    asked_at: list[int] = field(default_factory=list)
    most_sent: int = 0
    seconds: float = 0.0

    @property
    def closest(self) -> int:
        """The fewest turns between two turns with a call."""
        return min((after - before for before, after in pairwise(self.asked_at)), default=0)


def run(turns: int, context: int, longer: int = 1, *, keeps_facts: bool = True) -> Run:
    """Have the conversation, as an agent has it: question, messages for the model, answer."""
    model, now = Summariser(keeps_facts=keeps_facts), [datetime.now(UTC)]
    settings = SimpleNamespace(llm_context_length=context)
    done = Run(model, MemoryManager(model, SYSTEM, settings=settings, clock=lambda: now[0]))
    began = time.perf_counter()
    for n, message in enumerate(conversation(turns, longer)):
        now[0] = datetime.fromisoformat(str(message["createdAt"]))
        done.memory.add({"role": message["role"], "content": message["text"]})
        if message["role"] == "user":
            calls = model.calls
            sent = done.memory.context()
            if model.calls > calls or n % _EVERY == 0:
                done.most_sent = max(done.most_sent, sum(read_said(one).tokens for one in sent))
            done.asked_at += [n // 2] if model.calls > calls else []
    done.seconds = time.perf_counter() - began
    return done


def sent_for(memory: MemoryManager, question: str) -> str:
    """Return the words that would be sent with the question."""
    memory.add({"role": "user", "content": question})
    words = "\n".join(str(one["content"]) for one in memory.recompose()[:-1])
    memory.message_buffer.pop()
    return words


def archived(root: Path, turns: int, longer: int) -> Memory:
    """Return the memory of a workspace in which the conversation was archived and summarised."""
    messages = list(conversation(turns, longer))
    (root / "history.json").write_text(json.dumps(messages, ensure_ascii=False), encoding="utf-8")
    now = datetime.fromisoformat(str(messages[-1]["createdAt"])) + timedelta(hours=7)
    settle(root, now.isoformat())
    return Memory(root, environ={"RECALLD_RECALL_TIMEOUT_MS": "10000"}, clock=fixed_clock(now))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--turns", type=int, default=2000)
    options.add_argument("--context", type=int, default=8192)
    options.add_argument("--longer", type=int, default=1)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    rows = []
    known, block = facts(), Config().recall.memory_tokens
    with tempfile.TemporaryDirectory(prefix="conversation-") as folder:
        memory = archived(Path(folder), given.turns, given.longer)
        of_memory = {one.value: "\n".join(m["content"] for m in memory.context(one.asked, SYSTEM).messages) for one in known}
        of_block = {one.value: memory.inject(one.asked).memory for one in known}
        for keeps_facts in (True, False):
            alone = run(given.turns, given.context, given.longer, keeps_facts=keeps_facts)
            beside = run(given.turns, given.context - block, given.longer, keeps_facts=keeps_facts)
            rows.append(
                {
                    "model": "keeps facts" if keeps_facts else "keeps the newest",
                    "turns with a call": len(alone.asked_at),
                    "calls": alone.model.calls,
                    "closest calls, turns": alone.closest,
                    "tokens in": alone.model.tokens_in,
                    "tokens out": alone.model.tokens_out,
                    "most tokens sent": alone.most_sent,
                    "ms a turn": round(1000 * alone.seconds / given.turns, 2),
                    "summary alone": sum(one.value in sent_for(alone.memory, one.asked) for one in known),
                    "memory alone": sum(value in text for value, text in of_memory.items()),
                    "both": sum(
                        one.value in sent_for(beside.memory, one.asked) or one.value in of_block[one.value] for one in known
                    ),
                }
            )
    if given.json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    for name in rows[0]:
        print(f"{name:22}", *(f"{row[name]!s:>18}" for row in rows))


if __name__ == "__main__":
    main()
