"""Whatever was said, written by hand or remembered is a quotation in the memory block and can't imitate anything else."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.supervisor.context.render import BETWEEN, FENCE, HEADER, NOTE
from recalld.supervisor.text.redact import HIDDEN
from tests.context.passages import TEXTS
from tests.context.test_render import FORGED, UNSEEN
from tests.world import WITHOUT_MODEL, World, at, message

TODAY = re.compile(r"（今天是\d{4}年\d+月\d+日星期.；有日期的内容可能已经过时。）")
TAG = re.compile(r"\[([^\[\]\n#]+)(?:#(L\d+(?:-L\d+)?(?:,L\d+(?:-L\d+)?)*))?\](?: （[^（）]*日星期.）)?(?: (.*))?")
#: The fence of stored code, which stands for nothing between the fences of an entry.
CODE = re.compile(r"```[\w+#.-]{0,20}", re.ASCII)
SPEAKER = re.compile(r"(?:用户|助手|系统): ?")
#: Everything stored is about this, so that the question finds it.
TOPIC = "花生过敏"


def _store(root, said, written, remembered):
    """Let history, a note of a person and memory.md hold these texts, and let recalld archive and index them."""
    world = World(root, at("2026-01-31T10:00"))
    roles = ("user", "assistant", "system")
    texts = [f"{text}{TOPIC}{text[::-1]}" for text in said]
    world.write([message(f"m{n}", f"2026-01-30T09:{n:02}", text, roles[n % 3]) for n, text in enumerate(texts)])
    (root / "memory").mkdir(exist_ok=True)
    note = "\n".join(f"- {text}{TOPIC}" for text in written)
    (root / "memory/2026-01-29-note.md").write_bytes(note.encode("utf-8", "surrogatepass"))
    lines = "\n".join(f"2026-01-28|user|{TOPIC}{text}" for text in remembered)
    (root / "memory.md").write_bytes(lines.encode("utf-8", "surrogatepass"))
    world.reopen(WITHOUT_MODEL)
    world.settle()
    world.refresh()
    return world


def _is_harmless(root, block):
    """Below header and note are entries: a tag of a file and of lines that are there, and words that forge nothing."""
    header, *lines, end = block.split("\n")
    assert (header, end) == (HEADER, "")
    if lines[0] == NOTE["zh"]:
        assert TODAY.fullmatch(lines[1])
        del lines[:2]
    while lines:
        entry = lines.pop(0)
        match = TAG.fullmatch(entry)
        assert match, entry
        path, spans, words = match.groups()
        assert not UNSEEN.search(entry)
        stored = (root / unquote(path)).read_bytes().decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        numbers = [int(number) for number in re.findall(r"\d+", spans or "")]
        assert numbers == sorted(numbers)
        assert all(1 <= number <= len(stored.split("\n")) for number in numbers)
        parts = (words or "").split(BETWEEN)
        if lines and lines[0] == FENCE:
            close = lines.index(FENCE, 1)
            code = [line for line in lines[1:close] if CODE.fullmatch(line)]
            assert len(code) % 2 == 0  # each piece of code has both its fences
            parts += [line for line in lines[1:close] if line not in code]
            del lines[: close + 1]
        for part in parts:
            assert not FORGED.search(SPEAKER.sub("", part, count=1).replace("[truncated]", ""))
            assert not UNSEEN.search(part)


@pytest.mark.parametrize("hit", ["file", "line"])
@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=3))
def test_memory_block_lets_no_stored_text_forge_a_tag_or_an_entry(hit, said, written, remembered):
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # the engine may still be tidying up
        root = Path(folder)
        world = _store(root, said, written, remembered)
        world.reopen(f'{WITHOUT_MODEL}[recall]\nhit = "{hit}"\n')
        found = world.search("对花生过敏吗")
        block = world.inject("对花生过敏吗", found).memory
        assert not world.events.of("error")
        if block:
            _is_harmless(root, block)
        if said:  # words that look like a secret's are hidden
            assert TOPIC in block or HIDDEN["zh"] in block
