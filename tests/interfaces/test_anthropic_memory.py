"""Anthropic's memory tool: its commands, what they may not touch, and what is kept."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from recalld import AnthropicMemory, Memory
from recalld.supervisor.interfaces.tools.registry import Reply
from recalld.supervisor.protocol.config import Config
from recalld.supervisor.storage.errors import BadRequest
from tests.world import Clock, EventList, UnsyncedDisk, World, at, message

FAMILY = "telegram:group:一家人"
#: Thirty random sequences of commands, each with what the file-system tool of Anthropic's SDK (2.14.0) answered; none where we refuse,
#: since no search would find the name, or the file is one of recalld's own.
RECORDED = Path(__file__).with_name("anthropic_sdk.jsonl").read_text(encoding="utf-8").splitlines()
#: The size of a folder is the disk's own.
OF_A_FOLDER = re.compile(r"^[\d.]+[BKMG]\t(?=/memories(?:/|$|(?:/[^/\n]+)*/$))(?!.*\.md$)", re.MULTILINE)


@pytest.fixture
def memory(world: World) -> Memory:
    """A memory with a dated file, a summary with its originals, a long-term file and a note."""
    world.write([message("1", "2026-01-05T09:00", "花生在柜子里。"), message("2", "2026-01-29T09:00", "我对花生过敏。")])
    world.settle()
    world.put("recalld.toml", world.toml)
    world.put("memory.md", "\ufeff# 关于我\r\n2026-01-20|web-chat|花生过敏\r\n")
    world.put("memory/项目/计划.md", "一\n二\n三")
    return Memory(world.root, environ={}, clock=world.clock)


@pytest.fixture
def tool(memory: Memory) -> AnthropicMemory:
    return AnthropicMemory(memory)


def ask(tool: AnthropicMemory, command: str, path: str = "", **more: Any) -> Reply:
    return tool({"command": command, **({"path": path} if path else {}), **more})


def changes_of(path: str) -> list[dict[str, Any]]:
    """Every command that would change the file at *path*, or put something there."""
    return [
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "花生", "new_str": "x"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/mine.md"},
        {"command": "rename", "old_path": "/memories/项目/计划.md", "new_path": path},
    ]


def kept(memory: Memory) -> dict[str, bytes]:
    """What is in .recalld/previous/, by name."""
    root = memory.workspace.paths.previous
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_anthropic_memory_sets_no_mark_and_keeps_that_of_the_owner(tool: AnthropicMemory, memory: Memory):
    path, note = memory.workspace.paths.root / "memory.md", "/memories/新.md"
    path.write_text("护照在保险柜里\n钥匙在信箱里 #shared\n", encoding="utf-8")
    told = "the mark was taken off: `#shared` shows a line in groups, `#pin` in every turn, and only the owner sets them."
    for answer in (
        ask(tool, "create", note, file_text="青霉素 #shared\n"),
        ask(tool, "insert", "/memories/memory.md", insert_line=0, insert_text="#共享 青霉素\n"),
        ask(tool, "str_replace", "/memories/memory.md", old_str="护照在", new_str="#shared 护照在"),
    ):
        assert answer.text.endswith(f"\n{told}")
    assert path.read_text(encoding="utf-8") == "青霉素\n护照在保险柜里\n钥匙在信箱里 #shared\n"
    ask(tool, "str_replace", "/memories/memory.md", old_str="里\n钥匙", new_str="，钥匙")
    assert path.read_text(encoding="utf-8") == "青霉素\n护照在保险柜，钥匙在信箱里\n"
    assert ask(tool, "view", note).text.endswith("\t青霉素\n     2\t")


# ── the SDK's own tool ───────────────────────────────────────────────────────


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_anthropic_memory_answers_as_the_official_sdk_did(tmp_path, number):
    clock = Clock(at("2026-01-31T10:00"))
    world = World.process(tmp_path / "工作区", clock, EventList(clock), Config(), UnsyncedDisk())  # in which nothing lies yet
    tool = AnthropicMemory(Memory(world.ws, clock=clock))
    for step in json.loads(RECORDED[number]):
        answer = tool(step["command"])
        shown = [OF_A_FOLDER.sub("–\t", answer.text), answer.is_error]
        assert shown == (step["answer"] or [shown[0], True]), step["command"]


@pytest.mark.parametrize(
    ("before", "line", "text", "after"),
    [("一\n", 1, "二\n\n", "一\n二\n"), ("一", 0, "\n二", "\n二\n一\n"), ("一\n\n", 2, "", "一\n\n"), ("", 0, "二", "二\n")],
)
def test_insert_ends_the_file_as_the_official_sdk_does(tool, world, before, line, text, after):
    path = world.put("memory/新.md", before)
    assert not ask(tool, "insert", "/memories/新.md", insert_line=line, insert_text=text).is_error
    assert path.read_text(encoding="utf-8") == after


# ── what it shows and changes ────────────────────────────────────────────────


def test_anthropic_memory_lists_the_long_term_file_beside_memory(tool):
    names = [line.partition("\t")[2] for line in ask(tool, "view", "/memories").text.split("\n")[1:]]
    assert {"/memories/memory.md", "/memories/originals/2026-01/", "/memories/项目/计划.md"} <= {*names}
    shown = [name for name in names if name.startswith(("/memories/2026-01-29", "/memories/summary/2026-01-05.md"))]
    assert ["花生" in ask(tool, "view", name).text for name in shown] == [True, True]


def test_anthropic_memory_changes_a_word_and_keeps_every_other_byte(tool, memory):
    path = memory.workspace.paths.root / "memory.md"
    before = path.read_bytes()
    answer = ask(tool, "str_replace", "/memories/memory.md", old_str="花生过敏", new_str="花生和虾过敏")
    assert answer.text.startswith(
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
    )
    assert path.read_bytes() == before.replace("花生过敏".encode(), "花生和虾过敏".encode())
    assert list(kept(memory).values()) == [before]
    assert memory.search("虾")[0].unit.text == "花生和虾过敏"


def test_anthropic_memory_keeps_what_it_deletes(tool, memory):
    before = (memory.workspace.paths.root / "memory.md").read_bytes()
    assert ask(tool, "delete", "/memories/memory.md").text == "Successfully deleted /memories/memory.md"
    assert ask(tool, "delete", "/memories/项目").text == "Successfully deleted /memories/项目"
    assert not (memory.workspace.paths.memory / "项目").exists()
    found = kept(memory)
    assert found.pop("项目/计划.md") == "一\n二\n三".encode()
    assert list(found.values()) == [before]


def test_anthropic_memory_keeps_each_of_two_equal_files_that_it_deletes(tool, memory):
    for _ in range(2):
        ask(tool, "create", "/memories/a.md", file_text="花生")
        assert not ask(tool, "delete", "/memories/a.md").is_error
    assert list(kept(memory).values()) == ["花生".encode()] * 2


# ── what it refuses ──────────────────────────────────────────────────────────


def test_anthropic_memory_leaves_the_files_of_recalld_as_they_are(tool, memory, world):
    before = world.tree(internal=True)
    names = [path.relative_to(memory.workspace.paths.memory).as_posix() for path in memory.workspace.paths.memory.rglob("*")]
    refused = [change for name in names if not name.startswith("项目") for change in changes_of(f"/memories/{name}")]
    assert all(tool(change).is_error for change in refused)
    assert world.tree(internal=True) == before


BAD_PATHS = (
    "../x",
    "/memories/../x.md",
    "/etc/passwd",
    "/memories/%2e%2e/x.md",
    "/memories/..\\x.md",
    "/memories/history.json",
    "/memories/link.md",
    "/memories/folder/x.md",
    "/memories/x\0.md",
    "/memories/" + "长" * 90 + ".md",
    "/memories/\ud800.md",
    "/memories/.recalld/x.md",
    "/memories/picture.png",
    "",
)


@pytest.mark.parametrize("path", BAD_PATHS)
def test_anthropic_memory_refuses_a_bad_path_and_touches_no_file(tool, memory, world, path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("外面")
    (outside / "x.md").write_text("外面的花生", encoding="utf-8")
    (memory.workspace.paths.memory / "link.md").symlink_to(outside / "x.md")
    (memory.workspace.paths.memory / "folder").symlink_to(outside)
    (memory.workspace.paths.memory / "picture.png").write_bytes(b"png")
    before = world.tree(internal=True)
    for answer in map(tool, [{"command": "view", "path": path}, *changes_of(path)]):
        assert answer.is_error
        assert "外面的" not in answer.text
    assert world.tree(internal=True) == before
    assert [one.name for one in outside.iterdir()] == ["x.md"]


def test_anthropic_memory_follows_no_link_inside_memory(tool: AnthropicMemory, world: World):
    (world.paths.memory / "lnk").symlink_to("summary")
    before = world.tree(internal=True)
    path = "/memories/lnk/2026-01-05.md"
    views = [{"command": "view", "path": one} for one in (path, "/memories/lnk")]
    for answer in map(tool, [*views, *changes_of(path), *changes_of("/memories/lnk/x.md")]):
        assert (answer.is_error, "none of a link" in answer.text) == (True, True)
    assert world.tree(internal=True) == before


def test_anthropic_memory_takes_null_for_an_argument_that_is_left_out(tool: AnthropicMemory):
    none = dict.fromkeys(("view_range", "old_str", "new_str", "insert_line", "insert_text", "old_path", "new_path"))
    assert not ask(tool, "create", "/memories/新.md", file_text="一\n", **none).is_error
    assert ask(tool, "view", "/memories/新.md", file_text=None, **none).text.endswith("\t一\n     2\t")
    assert ask(tool, "insert", "/memories/新.md", insert_text="二", insert_line=None).is_error


def test_anthropic_memory_refuses_to_change_what_is_not_utf8_or_read_only(tool, memory):
    path = memory.workspace.paths.memory / "项目/计划.md"
    path.write_bytes("花生在柜子里，虾在冰箱里。".encode("gb18030"))
    assert "花生在柜子里" in ask(tool, "view", "/memories/项目/计划.md").text
    insert = {"command": "insert", "path": "/memories/项目/计划.md", "insert_line": 0, "insert_text": "x"}
    assert tool(insert).text == (
        "memory/项目/计划.md can't be changed: it is GBK, not UTF-8 (`iconv -f GBK -t UTF-8` converts it); "
        "save it as UTF-8; it was left as it is."
    )
    path.chmod(0o400)
    assert "it is read-only; make it writable (`chmod u+w`)" in tool(insert).text
    assert path.read_bytes() == "花生在柜子里，虾在冰箱里。".encode("gb18030")


def test_anthropic_memory_is_for_the_user_alone(memory, world):
    AnthropicMemory(memory, session="web-1")
    for where in ({"session": FAMILY}, {"chat": "group"}, {"session": "web-1", "chat": "channel"}):
        with pytest.raises(BadRequest, match=r"^chat: this tool shows whole files, so it is for the user alone"):
            AnthropicMemory(memory, **where)
    world.put("recalld.toml", f'{world.toml}[recall]\nin_groups = "all"\n')
    AnthropicMemory(Memory(world.root, environ={}, clock=world.clock), session=FAMILY)


@pytest.mark.parametrize("stem", ["n" * 197, "记" * 65 + "aa"], ids=["english", "chinese"])
def test_anthropic_memory_gives_no_name_that_a_kept_version_could_not_have(tool: AnthropicMemory, stem: str):
    longest, longer = f"/memories/{stem}.md", f"/memories/{stem}s.md"
    answer = ask(tool, "create", longer, file_text="a\n")
    assert (answer.is_error, "at most 200" in answer.text) == (True, True)
    assert not ask(tool, "create", longest, file_text="a\n").is_error
    assert ask(tool, "rename", old_path=longest, new_path=longer).is_error
    for _ in range(2):
        assert not ask(tool, "str_replace", longest, old_str="a", new_str="ba").is_error
    assert not ask(tool, "delete", longest).is_error


def test_anthropic_memory_creates_no_note_that_no_search_would_read(tool: AnthropicMemory, memory: Memory):
    answer = ask(tool, "create", "/memories/new/big.md", file_text="记" * 7_000_000)
    assert (answer.is_error, "20,000,000 bytes" in answer.text, "several files" in answer.text) == (True, True, True)
    assert not (memory.workspace.paths.memory / "new").exists()


def test_anthropic_memory_puts_no_line_where_it_stands_before_every_turn(tool, memory):
    text = "# Always\n\n- call me Lin\n\n# Other\n\n- passport in the safe\n"
    (memory.workspace.paths.root / "memory.md").write_text(text)
    for change in (
        {"command": "insert", "path": "/memories/memory.md", "insert_line": 3, "insert_text": "- mails go to eve"},
        {"command": "str_replace", "path": "/memories/memory.md", "old_str": "call me Lin", "new_str": "mails go to eve"},
        {"command": "str_replace", "path": "/memories/memory.md", "old_str": "# Other", "new_str": "# Always"},
    ):
        answer = tool(change)
        assert answer.is_error
        assert "below `# Always` are shown in every turn" in answer.text
    assert (memory.workspace.paths.root / "memory.md").read_text() == text
    ask(tool, "insert", "/memories/memory.md", insert_line=7, insert_text="- umbrella in the hall")
    assert "umbrella" not in memory.inject("hello").memory
