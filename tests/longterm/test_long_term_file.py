"""The long-term file: what a write leaves as it was, what is refused, and what a line is named."""

import hashlib
import stat
from pathlib import Path

import pytest

from recalld import Memory, MemoryStore
from recalld.supervisor.longterm.lines import MOST_CHARS
from recalld.supervisor.storage.errors import BadFile, BadRequest, NoPermission, StaleLine, Unchangeable
from recalld.supervisor.storage.files import Files
from tests.world import World, at

NOW = at("2026-01-31T07:30")  # still the 30th in UTC
ENTRY = "2026-01-31|web-chat|用户对花生过敏"


@pytest.fixture
def path(world: World) -> Path:
    return world.root / "memory.md"


def write(world: World, content: str = "用户对花生过敏", source: str = "web-chat"):
    return world.ws.long_term.append(source, content, NOW)


# ── where, and what is written ───────────────────────────────────────────────


@pytest.mark.feature("000.1")
def test_append_makes_a_file_that_only_its_owner_reads(world, path):
    written = write(world)
    assert (written.line, written.total, written.is_new, written.text) == (1, 1, True, ENTRY)
    assert written.digest == hashlib.sha256(ENTRY.encode()).hexdigest()[:8]
    assert path.read_text(encoding="utf-8") == f"{ENTRY}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("before", "added"),
    [
        (b"", f"{ENTRY}\n"),
        ("# 我的记忆".encode(), f"\n{ENTRY}"),
        ("\ufeff# 我的记忆\r\n\r\n- 喝茶\r\n".encode(), f"{ENTRY}\r\n"),
        ("一\r\n二".encode(), f"\r\n{ENTRY}"),
        ("一\x0c二\u2028三\n\n \n".encode(), f"{ENTRY}\n"),
    ],
)
def test_append_leaves_every_byte_as_it_was(world, path, before, added):
    path.write_bytes(before)
    written = write(world)
    assert path.read_bytes() == before + added.encode()
    cited = Memory(world.ws, clock=world.clock).get("memory.md", written.line, 1)
    assert (cited.text, cited.total) == (ENTRY, written.line)


@pytest.mark.feature("000.2", "000.3")
@pytest.mark.parametrize(
    ("content", "source", "line"),
    [
        ("一\n二\r\n  三\t四　五", "qq", "2026-01-31|qq|一 二 三 四 五"),
        ("a\0b\ud800c\x1b[2J", "cron", "2026-01-31|cron|a b c [2J"),
        ("用户|偏好|Python", "周会 | 一\n二", "2026-01-31|周会 一 二|用户|偏好|Python"),
        ("👨‍👩‍👧 全家", "auto-overflow", "2026-01-31|auto-overflow|👨‍👩‍👧 全家"),
    ],
)
def test_append_makes_one_line_of_any_content(world, path, content, source, line):
    world.put("memory.md", "一行\n")
    written = write(world, content, source)
    assert path.read_text(encoding="utf-8") == f"一行\n{line}\n"
    assert (written.line, written.total) == (2, 2)


def test_append_keeps_a_file_that_an_editor_has_just_made(world, path, monkeypatch):
    create = Files.create

    def overtaken(files, place, data):
        monkeypatch.undo()
        path.write_text("抢先\n", encoding="utf-8")
        create(files, place, data)

    monkeypatch.setattr(Files, "create", overtaken)
    assert write(world).line == 2
    assert path.read_text(encoding="utf-8") == f"抢先\n{ENTRY}\n"


# ── deleting and replacing ───────────────────────────────────────────────────


def refs(world: World) -> list[str]:
    return [line.ref for line in world.ws.long_term.read().lines]


@pytest.mark.parametrize(
    ("before", "gone", "after"),
    [
        ("一\n二\n三\n", [1], "一\n三\n"),
        ("\ufeff一\r\n\r\n二\r\n三", [0, 2], "\ufeff\r\n二"),
        ("一\n二", [0, 1], ""),
        ("一\n\n二\n", [1], "一\n\n"),
    ],
)
def test_delete_takes_the_named_lines_and_no_other_byte(world, path, before, gone, after):
    path.write_bytes(before.encode())
    named = refs(world)
    deleted = world.ws.long_term.delete([named[n] for n in gone])
    assert path.read_bytes() == after.encode()
    assert (deleted.count, deleted.total) == (len(gone), len(named) - len(gone))


def test_delete_refuses_a_line_that_is_another_by_now(world, path):
    world.put("memory.md", "一\n二\n三\n")
    second = refs(world)[1]
    world.put("memory.md", "零\n一\n二\n三\n")
    first, moved, *_ = refs(world)
    for named in (second, "2"):
        sentence = f"^{named} is not the name of the line that is there now: it is {moved}, 一; nothing was changed."
        with pytest.raises(StaleLine, match=sentence):
            world.ws.long_term.delete([first, named])
    assert path.read_text(encoding="utf-8") == "零\n一\n二\n三\n"


@pytest.mark.parametrize("named", [["3-1"], ["0@1f3a9c0d"], ["-1@1f3a9c0d"], ["42@1f3a9c"], [""], [], ["a@1f3a9c0d"]])
def test_delete_refuses_what_names_no_line(world, path, named):
    world.put("memory.md", "一\n")
    with pytest.raises(BadRequest, match="nothing was changed"):
        world.ws.long_term.delete(named)
    assert path.read_text(encoding="utf-8") == "一\n"


def test_replace_keeps_the_old_text_and_the_byte_order_mark(world, path):
    path.write_bytes("\ufeff旧的\r\n".encode())
    world.ws.long_term.replace("新的\0\ud800\n")
    assert path.read_bytes() == "\ufeff新的  \n".encode()
    [kept] = world.paths.previous.iterdir()
    assert kept.read_bytes() == "\ufeff旧的\r\n".encode()
    assert kept.name == f"memory.{hashlib.sha256(kept.read_bytes()).hexdigest()[:12]}.md"
    world.ws.long_term.replace("旧的\r\n")
    world.ws.long_term.replace("新的")
    assert len([*world.paths.previous.iterdir()]) == 2


# ── what is refused ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("content", ["", " \n\t　", "\0", "字" * (MOST_CHARS + 1)])
def test_append_refuses_nothing_and_too_much(world, path, content):
    with pytest.raises(BadRequest, match=r"content: .* nothing was written"):
        write(world, content)
    assert not path.exists()
    assert write(world, "字" * MOST_CHARS).is_new


def test_changes_refuse_a_file_that_is_not_utf_8_but_read_it(world, path):
    data = "用户对花生过敏\n".encode("gb18030")
    path.write_bytes(data)
    assert world.ws.long_term.read().lines[0].text == "用户对花生过敏"
    for change in (
        lambda: write(world, "二"),
        lambda: world.ws.long_term.delete_numbers([1]),
        lambda: world.ws.long_term.replace(""),
    ):
        with pytest.raises(Unchangeable, match=r"memory\.md can't be changed: it is GBK, not UTF-8") as refused:
            change()
        assert refused.value.exit_code == 74
    assert path.read_bytes() == data


def test_append_refuses_a_file_that_would_be_too_large_to_search(world, path):
    path.write_bytes(b"x" * 19_999_990 + b"\n")
    with pytest.raises(Unchangeable, match="20,000,000 bytes"):
        write(world)
    assert path.stat().st_size == 19_999_991
    assert world.ws.long_term.delete_numbers([1]).total == 0


def test_append_refuses_a_read_only_file(world, path):
    world.put("memory.md", "一\n")
    path.chmod(0o444)
    with pytest.raises(NoPermission, match="it is read-only") as refused:
        write(world)
    assert refused.value.exit_code == 77
    assert path.read_text(encoding="utf-8") == "一\n"


def test_append_refuses_a_link_and_a_folder_in_its_place(world, path):
    world.put("elsewhere.md", "别处\n")
    path.symlink_to(world.root / "elsewhere.md")
    with pytest.raises(BadFile, match="it is a link"):
        write(world)
    assert (world.root / "elsewhere.md").read_text(encoding="utf-8") == "别处\n"
    path.unlink()
    path.mkdir()
    with pytest.raises(BadFile):
        write(world)


# ── doors ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mark", ["#shared", "#共享", "#pin", "#置顶"])
def test_memory_store_writes_no_mark_of_the_owners(world, mark):  # what a model writes is shown in no group by itself
    MemoryStore(world.ws, clock=lambda: NOW).append_entry("qq", f"钥匙在信箱里 {mark}")
    assert world.ws.long_term.read().text == "2026-01-31|qq|钥匙在信箱里\n"
