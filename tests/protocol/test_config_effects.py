"""
Every key of the configuration is read, and changes something that can be seen from outside.

Shown here are keys that no other test sets.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.interfaces.hooks.turn import answer
from recalld.supervisor.operations.assistant import opening
from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.protocol.config import Config, literal
from recalld.supervisor.protocol.settings import dotted, keys
from tests.world import ZONE, World, at, message, talk

ROOT = Path(__file__).parents[2]
NOW = at("2026-01-31T10:00")
KEYS = set(map(dotted, keys(Config())))


PEANUT = "我对花生过敏，点外卖要备注。"
LONG_LINE = f"花生过敏的事：{'先查备份，再看日志，' * 30}花生放在柜子里。"


@dataclass(frozen=True)
class Effect:
    """What *probe* observes for each value of a key, in a workspace that is otherwise configured as *beside*."""

    probe: Callable[[World], object]
    observed: dict[Any, object]
    beside: dict[str, Any] = field(default_factory=dict)


# ── archive ──────────────────────────────────────────────────────────────────


def dated_file(world: World) -> str:
    """The name of the dated file of a message of half past eleven in the evening, UTC."""
    world.write([message("m1", "2026-01-29T23:30:00+00:00", "我对花生过敏")])
    world.round("all")
    return world.names()[0]


def why_due_with_three_messages(world: World) -> str | None:
    """Why a run is due for three messages, the oldest of two hours ago."""
    world.write(talk("2026-01-31T08:00", 3))
    world.intake()
    return world.why_due()


# ── recall and context ───────────────────────────────────────────────────────


def remember(world: World, *texts: str, day: str = "2026-01-29", **more: Any) -> None:
    world.write([message(f"m{n}", f"{day}T{9 + n:02d}:00", text, **more) for n, text in enumerate(texts)])
    world.settle()
    world.refresh()


def block(world: World, *texts: str, question: str = "花生过敏吗") -> str:
    """The memory block for a question about peanuts, when *texts* were said."""
    remember(world, *(texts or (PEANUT, "花生酱也不行。", "花生油可以。")))
    return world.inject(question).memory


def is_a_long_block_shown(world: World) -> bool:
    return len(block(world, *(f"花生过敏的事，第 {n} 条：{'先查备份，' * 5}" for n in range(5)))) > 200


def is_memory_md_shown(world: World) -> bool:
    world.put("memory.md", "# 始终\n- 用户住在杭州。\n")
    return "杭州" in world.inject("澳大利亚袋鼠").memory


def citations(world: World) -> bool:
    return "#L" in block(world)


def what_a_session_begins_with(world: World) -> bool:
    (world.ws.paths.root / "memory.md").write_text("2026-01-20|web-chat|护照在保险柜里\n", encoding="utf-8")
    return "保险柜" in perform(opening, world.ws, {}, Caller(clock=world.clock)).text


def how_it_was_found(world: World) -> str:
    remember(world, PEANUT)
    return world.search("花生过敏吗").how


def finds_the_original(world: World) -> bool:
    """Whether words that no summary has are found in the original that it covers."""
    world.model.script = lambda *_: "## 点菜\n\n用户点外卖时会备注。"
    remember(world, PEANUT, day="2026-01-10")
    return any("originals/" in path for path in world.found_paths("花生过敏吗"))


def talked(world: World, text: str = "我们在说花生和杏仁的事") -> Any:
    """The turn after thirty messages of today."""
    world.write([message(f"m{n:02d}", f"2026-01-31T09:{n:02d}", f"{text}，第 {n} 条。") for n in range(30)])
    return world.context("花生过敏吗")


def tokens_of_the_talk(world: World) -> bool:
    return talked(world).history_tokens > 300


def place_of_memory(world: World) -> tuple[list[str], str]:
    """The roles of a turn with memory, and the role of the message in which memory stands."""
    world.write([message("m1", "2026-01-28T09:00", "花生放在柜子里。")])
    world.settle()
    world.refresh()
    world.write([])
    made = world.context("花生放在哪里", world.search("花生放在哪里"), "你是小记。").messages
    return [one["role"] for one in made], next(one["role"] for one in made if "柜子" in one["content"])


def roles_of_an_unanswered_talk(world: World) -> list[str]:
    world.write([message("m1", "2026-01-31T09:00", "早。"), message("m2", "2026-01-31T09:01", "在吗？")])
    return [one["role"] for one in world.context("你好？", world.search("你好？")).messages]


def project_of_a_hook(world: World) -> str:
    """The project under which words are kept that a client sends from a worktree."""
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "turn_id": "t1", "prompt": PEANUT}
    places = {"project": "/srv/shop", "worktree": "/srv/shop-pay"}
    answer(world.ws, {"client": "codex", "event": event, "size": 100, **places}, world.clock, keep_fresh=True)
    return str(world.history()[0]["project"])


def mail_that_is_stored(world: World) -> bool:
    world.append({"role": "user", "text": "写信给 anna@example.com"})
    return "anna@example.com" in world.history()[0]["text"]


def pruned_files_left(world: World) -> int:
    """How many files are left of one that was pruned forty days before another one."""
    for days in (0, 40):
        path = world.put(f"trash/2025-01-0{days // 40 + 1}-x.md", "x")
        os.utime(path, (world.clock().timestamp() - days * 86_400,) * 2)
    world.round()
    return len(list(world.paths.trash.iterdir())) - 1


#: By key: what is observed for two values of it, or more.
EFFECTS = {
    "archive.interval": Effect(why_due_with_three_messages, {"1h": "interval", "6h": None}),
    "archive.slug": Effect(dated_file, {"ascii": "2026-01-30-huasheng-guomin.md", "hanzi": "2026-01-30-花生-过敏.md"}),
    "recall.min_score": Effect(how_it_was_found, {0.0: "bm25", 1000.0: "none"}),
    "recall.max_keywords": Effect(lambda world: len(world.search("nginx cloudflare certificate rollback").terms), {0: 4, 2: 2}),
    "recall.line_chars": Effect(
        lambda world: max(map(len, block(world, LONG_LINE).splitlines())) > 150, {40: False, 300: True}, {"recall.hit": "line"}
    ),
    "recall.memory_tokens": Effect(is_a_long_block_shown, {100: False, 2048: True}),
    "recall.pinned_tokens": Effect(is_memory_md_shown, {0: False, 512: True}),
    "recall.max_injected_chars": Effect(is_a_long_block_shown, {150: False, 0: True}),
    "recall.originals": Effect(finds_the_original, {"never": False, "fallback": True}),
    "recall.citations": Effect(citations, {"off": False, "on": True}),
    "recall.worktrees": Effect(project_of_a_hook, {"together": "/srv/shop", "apart": "/srv/shop-pay"}),
    "context.say_nothing": Effect(lambda world: bool(block(world, question="澳大利亚袋鼠")), {False: False, True: True}),
    "context.window_tokens": Effect(tokens_of_the_talk, {600: False, 0: True}, {"context.min_messages": 1}),
    "context.history_tokens": Effect(tokens_of_the_talk, {100: False, 4096: True}),
    "context.min_messages": Effect(
        lambda world: len(talked(world, "花生" * 50).history), {1: 2, 7: 7}, {"context.history_tokens": 300}
    ),
    "context.start_tokens": Effect(what_a_session_begins_with, {0: False, 800: True}),
    "context.memory_in": Effect(
        place_of_memory,
        {
            "question": (["system", "user"], "user"),
            "system": (["system", "user"], "system"),
            "message": (["system", "user", "user"], "user"),
        },
    ),
    "context.alternate": Effect(roles_of_an_unanswered_talk, {False: ["user"] * 3, True: ["user"]}),
    "context.message_chars": Effect(
        lambda world: all(said.is_whole for said in talked(world, "花生" * 50).history),
        {50: False, 500: True},
        {"context.history_tokens": 1000},
    ),
    "privacy.personal": Effect(mail_that_is_stored, {False: True, True: False}, {"privacy.redact": "store"}),
    "care.trash_days": Effect(pruned_files_left, {90: 1, 30: 0}),
}


def toml(settings: dict[str, Any]) -> str:
    """The configuration in which these keys have these values."""
    lines: dict[str, list[str]] = {}
    for key, value in settings.items():
        section, _, name = key.rpartition(".")
        lines.setdefault(section, [f"[{section}]"] if section else []).append(
            f"{name} = {literal(list(value) if isinstance(value, tuple) else value)}"
        )
    return "\n".join(line for section in sorted(lines) for line in lines[section]) + "\n"


def workspace(root: Path, settings: dict[str, Any]) -> World:
    return World(
        root,
        NOW,
        toml({"archive.timezone": ZONE.key, "llm.model": "qwen-test", "summarize.least": 0, **settings}),
    )


@pytest.mark.parametrize("key", EFFECTS)
def test_config_key_changes_what_can_be_observed(tmp_path: Path, key: str) -> None:
    effect = EFFECTS[key]
    found = {
        value: effect.probe(workspace(tmp_path / str(n), {**effect.beside, key: value}))
        for n, value in enumerate(effect.observed)
    }
    assert found == effect.observed
    assert len(found) > 1
    assert len(set(map(repr, found.values()))) == len(found), "every value makes a difference"


def read_keys() -> set[str]:
    """
    The keys that the product's source reads: `config.section.key`, or `.key` where a section is handed on as a whole.

    `privacy.personal` is read by a property of its section, `forms`.
    """
    paths = [path for package in ("supervisor", "worker") for path in (ROOT / package).rglob("*.py")]
    reads = [path for path in paths if path.name not in {"config.py", "config_keys.py", "settings.py"}]
    source = "\n".join(path.read_text(encoding="utf-8") for path in reads)
    places = set(re.findall(r"\b_?config\.(\w+)\.?(\w*)", source))
    names, whole = set(re.findall(r"\.(\w+)", source)), {section for section, name in places if not name}
    of_whole = {key for key in KEYS if key.split(".")[0] in whole and key.split(".")[-1] in names}
    return {".".join(filter(None, place)) for place in places} | of_whole | {"privacy.personal"}


def test_every_config_key_is_read_by_the_product() -> None:
    assert KEYS - read_keys() == set()
