"""One fact once: a turn holds a sentence once over all its parts, whoever repeated it, and however often."""

from __future__ import annotations

import pytest

from recalld import Memory
from tests.conversation.talk import Scripted
from tests.world import WITH_MODEL, World, message, talk

FACTS = ("发布会定在12月15日，星海厅。", "我对花生过敏，虾也不能吃。", "备份放在群晖的 /volume1/backup。")
QUESTION = "发布会定在哪天，备份放在哪里，我对什么过敏？"
SESSION = "家里"


@pytest.mark.parametrize("times", [1, 2, 15])
def test_context_holds_a_repeated_fact_once_over_all_its_parts(world: World, times: int) -> None:
    world.reopen(f"{WITH_MODEL}[recall]\ntimeout_ms = 60000\n")
    old = [
        message(f"d{n}-{k}", f"2026-01-{10 + n % 15}T{9 + k:02}:{n:02}", fact)
        for n in range(times)
        for k, fact in enumerate(FACTS)
    ]
    world.write(old)
    world.archive(everything=True)
    said = [
        message(f"h{n}-{k}", f"2026-01-31T{9 + k:02}:{n:02}", f"请记住：{fact}" if n % 2 else fact, session=SESSION)
        for n in range(times)
        for k, fact in enumerate(FACTS)
    ]
    answer = message("answer", "2026-01-31T12:30", "好的，都记下了。", role="assistant", session=SESSION)
    world.write([*world.history(), *said, answer, *({**one, "session": SESSION} for one in talk("2026-01-31T13:00", 8))])
    world.put(
        "memory.md",
        f"# 始终\n- {FACTS[1]}\n\n" + "".join(f"2026-01-{9 + n % 20:02}|web-chat|{FACTS[0]}\n" for n in range(times)),
    )
    memory = Memory(world.ws, clock=world.clock)
    assert memory.conversation(Scripted(lambda _: "".join(FACTS)), session=SESSION).summarize()
    shown = "\n".join(one["content"] for one in memory.context(QUESTION, "你是小记。", session=SESSION).messages)
    for words in ("12月15日", "虾也不能吃", "/volume1/backup"):
        assert shown.count(words) == 1, shown
