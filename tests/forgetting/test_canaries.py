"""Two hundred secrets in both languages, put in by every way there is: after they are forgotten no byte of any is left."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from recalld.supervisor.archive.places import LEFT
from recalld.supervisor.importing.run import bring_in
from tests.forgetting.test_forget import forget, where
from tests.world import World, at, message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.proof
DIGITS = "零一二三四五六七八九"


def secrets() -> list[str]:
    """Two hundred, no two alike."""
    english = [f"The canary code of door {n} is kestrel-{n * 7919 % 9973:04d}-x." for n in range(100)]
    chinese = [f"金丝雀口令第{DIGITS[n // 10]}{DIGITS[n % 10]}号是云杉{DIGITS[n % 7]}{DIGITS[n // 11]}。" for n in range(100)]
    return [one for pair in zip(english, chinese, strict=True) for one in pair]


def others() -> Iterator[dict[str, Any]]:
    for n in range(420):
        when = at("2026-01-02T08:00") + n * timedelta(hours=1.6)
        text = f"今天第 {n} 次去游泳馆。" if n % 2 else f"Note {n}: the train to Lisbon leaves at noon."
        yield message(f"plain-{n:08d}", when.isoformat(), text, session="home")


def put_in(world: World, texts: list[str], tmp_path: Path) -> None:
    """Each secret by the next of the ways: by another program, append, the drop-box, an import, the inbox, the long-term file."""
    ways: list[list[dict[str, Any]]] = [[], [], [], []]
    lines = []
    for n, text in enumerate(texts):
        one = message(f"canary-{n:07d}", (at("2026-01-02T09:00") + n * timedelta(hours=3.3)).isoformat(), text, session="home")
        if n % 5 == 4:
            lines.append(text)
        else:
            ways[n % 5].append(one)
    world.write(sorted([*others(), *ways[0]], key=lambda one: one["createdAt"]))
    world.append(*ways[1])
    for n, one in enumerate(ways[2]):
        world.drop(f"phone-{n}.json", one)
    source = tmp_path / "export.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in ways[3]), "utf-8")
    bring_in(world.ws, source, world.clock(), world.control)
    for text in lines:
        world.ws.long_term.append("web-chat", text, world.clock())
    world.ws.long_term.replace(world.ws.long_term.read().text + "- 喜欢喝茶\n")
    world.ask(message("waits-0000001", "2026-01-31T09:59", texts[0]))


def test_no_byte_of_two_hundred_secrets_is_left(tmp_path: Path) -> None:
    world, texts = World(tmp_path / "w", at("2026-01-31T10:00")), secrets()
    world.model.script = world.model.one_line_each
    put_in(world, texts, tmp_path)
    world.settle()
    world.refresh()
    for text in texts[:20]:
        world.save_receipt(world.context(text))
    world.prepared_contexts().update()
    world.put(LEFT[0], json.dumps({"words": texts[:2]}, ensure_ascii=False))  # of an earlier version
    world.write(world.read("history.json")[:-300])  # damaged, kept in quarantine, and restored
    world.round()
    world.restore()
    assert len(where(world, "kestrel", "云杉")) > 20
    for word in ("kestrel", "云杉"):
        assert forget(world, "match", word).done
    world.settle()
    assert where(world, *texts, "kestrel", "云杉", "yunshan", "金丝雀", "jinsique") == []
    ledger = world.fsck()
    assert (ledger.lost, ledger.damage) == ([], [])
    assert ledger.seen == 420
    assert len(world.found_texts("游泳馆")) > 0
