"""A file that an editor saved with CRLF, or with a BOM, is the same file: found, not doubled, not lost, and dealt with in time."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources

import pytest

from recalld.supervisor.protocol.llm import load_template
from tests.world import World, message

BOM = b"\xef\xbb\xbf"
#: What editors make of a file; the first leaves it as it was, so that each test says first what is due without any of it.
EDITORS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "bom": lambda data: BOM + data,
}
PEANUT = "我对花生过敏，\n点外卖要备注。"
QUESTION = "花生过敏"


@pytest.fixture(params=EDITORS)
def editor(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def save(world: World, name: str, editor: str) -> bytes:
    """Open the file in the editor and save it; returns its bytes."""
    before = world.read(name)
    assert before
    after = EDITORS[editor](before)
    assert (after != before) == (editor != "plain")
    world.put(name, after)
    return after


def found(world: World) -> list[str]:
    world.refresh()
    return world.found_paths(QUESTION)


# ── configuration and wording ────────────────────────────────────────────────


def test_prompt_of_an_editor_asks_the_same(world: World, editor: str) -> None:
    name = "daily-summary.zh.md"
    world.put(f"prompts/{name}", (resources.files("recalld.prompts") / name).read_bytes() + "\n语气要像老朋友。\n".encode())

    def asked() -> str:
        return load_template("daily-summary", "zh", world.files, world.paths).fill(date="2026-01-10", messages="材料")

    before = asked()
    assert "老朋友" in before
    save(world, f"prompts/{name}", editor)
    assert asked() == before


# ── formatters ───────────────────────────────────────────────────────────────

#: What formatters make of a dated file: blank lines go, or come, between its comment, its line of time and role, and its words.
FORMATTERS: dict[str, Callable[[str], str]] = {
    "no blank lines": lambda text: re.sub(r"\n{2,}", "\n", text),
    "prettier": lambda text: text.replace("-->\n**", "-->\n\n**"),
    "crlf and no blank lines": lambda text: re.sub(r"\n{2,}", "\n", text).replace("\n", "\r\n"),
    "no end": lambda text: text.rstrip("\n") + "\n",
}
SPACED = "清单：\n\n\n- 护照\n\n- 充电器"


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_formatter_neither_hides_nor_doubles_a_message(world: World, formatter: str) -> None:
    world.write([message("m1", "2026-01-29T09:00", PEANUT), message("m2", "2026-01-29T09:01", SPACED)])
    world.round("all")
    (path,) = world.dated_files()
    data = FORMATTERS[formatter]((world.read(path) or b"").decode()).encode()
    world.put(path, data)
    world.reopen().settle()
    assert list(world.dated_files()) == [path]
    assert world.read(path) == data
    assert [identity for identity, _ in world.archived()] == ["m1", "m2"]
    assert set(found(world)) == {path}
    assert world.flags() == [True, True]
    assert (world.fsck().removed, world.fsck().is_sound) == (0, True)
    lines = world.get(path).text.splitlines()
    assert PEANUT.splitlines() == lines[world.search(QUESTION).hits[0].unit.start - 1 :][:2]
