"""An import of a source whose names lead elsewhere, or whose text is in another encoding: nothing is written there, or garbled."""

import json
import stat
import zipfile
from pathlib import Path

import pytest

from recalld.supervisor.importing import memories
from recalld.supervisor.importing.run import Imported, bring_in
from recalld.supervisor.importing.source import NotImported
from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import run_command
from recalld.supervisor.storage.control import UNLIMITED
from recalld.supervisor.storage.errors import BadFile
from tests.world import World

CHAT = "2026/9/14 09:02 - 小雨: 周五去体检\n2026/9/14 09:03 - 阿明: 好的，我陪你\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A folder for what is imported, outside of the workspace."""
    folder = tmp_path / "log"
    folder.mkdir()
    return folder


def packed(folder: Path, *names: str, link: str = "") -> Path:
    """A ZIP archive of notes, each of which holds its own name; *link* is one of them that leads to a file of the machine."""
    with zipfile.ZipFile(folder / "笔记.zip", "w") as archive:
        for name in names:
            archive.writestr(name, f"# {name[:40]}\n")
        if link:
            info = zipfile.ZipInfo(link)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
    path = folder / "笔记.zip"
    path.write_bytes(path.read_bytes().replace(b"NUL", b"\0__"))  # zipfile writes no such name
    return path


def copied(world: World, path: Path, *, dry_run: bool = False) -> Imported:
    return bring_in(world.ws, path, world.clock(), UNLIMITED, dry_run=dry_run)


def written(world: World) -> set[str]:
    notes = world.root / "memory" / "notes"
    return {path.relative_to(notes).as_posix() for path in notes.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "name", ["{out}/AGENTS.md", "../up.md", "a/../../up.md", "C:\\x.md", "a\\b.md", "\x1b[31m.md", "aNUL.md"]
)
def test_import_of_notes_leaves_out_a_name_that_leads_elsewhere(world, log, tmp_path, name):
    name = name.format(out=tmp_path / "out")
    before = {*tmp_path.rglob("*.md")}
    path = packed(log, "好.md", name)
    for dry_run in (True, False):
        done = copied(world, path, dry_run=dry_run)
        assert (done.notes, done.copied, len(done.left_out)) == (2, 1, 1)
    assert written(world) == {"笔记/好.md"}
    assert {*tmp_path.rglob("*.md")} - before == {world.root / "memory/notes/笔记/好.md"}


def test_import_of_notes_leaves_out_links_archives_and_a_note_below_a_note(world, log):
    done = copied(world, packed(log, "夹.md", "夹.md/里.md", "./夹.md", "聊天.zip", link="链接.md"))
    assert sorted(done.left_out) == ["./夹.md", "夹.md/里.md", "聊天.zip", "链接.md"]
    assert written(world) == {"笔记/夹.md"}


def test_import_of_notes_names_those_that_no_search_would_read(world, log, monkeypatch, capsys):
    monkeypatch.setattr(memories, "MOST_BYTES", 3)
    path = packed(log, "大.md")
    assert run_command(Call(["-w", str(world.root), "import", str(path), "--dry-run", "--json"], {})) == BadFile.exit_code
    answer = json.loads(capsys.readouterr().out)
    assert (answer["leftOut"], answer["tooLarge"], answer["copied"]) == ([], ["大.md"], 0)


def test_import_of_a_folder_leaves_out_links_that_lead_out_of_it(world, log, tmp_path):
    (tmp_path / "别处").mkdir()
    (tmp_path / "别处" / "b.md").write_text("# b\n")
    (log / "a.md").write_text("# a\n")
    (log / "外.md").symlink_to(tmp_path / "别处" / "b.md")
    (log / "外面").symlink_to(tmp_path / "别处")
    (log / "内.md").symlink_to("a.md")
    assert [*copied(world, log).left_out] == ["外.md", "外面"]
    assert written(world) == {"log/a.md"}


def test_import_of_notes_follows_no_link_in_memory(world, log, tmp_path):
    (tmp_path / "别处").mkdir()
    (world.root / "memory" / "notes").mkdir(parents=True)
    (world.root / "memory" / "notes" / "笔记").symlink_to(tmp_path / "别处")
    assert [*copied(world, packed(log, "a.md")).left_out] == ["a.md"]
    assert [*(tmp_path / "别处").iterdir()] == []


@pytest.mark.parametrize("name", [".库", "..", "x.md/.."])
def test_import_of_a_folder_of_any_name_stays_below_notes(world, log, name, monkeypatch):
    (log / "x.md").mkdir()
    (log / ".库").mkdir()
    for folder in (log, log / ".库"):
        (folder / "a.md").write_text("# a\n")
    monkeypatch.chdir(log / "x.md" if name == ".." else log)
    run_command(Call(["-w", str(world.root), "import", name], {}))
    assert {"库/a.md"} <= written(world) | ({"库/a.md"} if name != ".库" else set())
    assert {path.name for path in (world.root / "memory").glob("*.md")} == set()
    assert all("/" in one and not one.startswith(".") for one in written(world))


@pytest.mark.parametrize("dry_run", [["--dry-run"], []])
def test_import_says_what_it_left_out(world, log, capsys, dry_run):
    path = str(packed(log, "好.md", "../上.md", link="链接.md"))
    code = run_command(Call(["-w", str(world.root), "import", path, *dry_run], {"RECALLD_LANGUAGE": "zh"}))
    assert (code, "或者重复：../上.md、链接.md" in capsys.readouterr().out) == (65, True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_import_of_whatsapp_reads_utf8_and_utf16_with_its_mark(world, log, encoding):
    path = log / "与小雨的 WhatsApp 聊天.txt"
    path.write_bytes(CHAT.encode(encoding))
    done = bring_in(world.ws, path, world.clock(), UNLIMITED)
    assert done.people == {"小雨": 1, "阿明": 1}
    assert [one["text"] for one in world.history()] == ["周五去体检", "好的，我陪你"]


@pytest.mark.parametrize("encoding", ["gbk", "gb18030", "utf-16-le"])
@pytest.mark.parametrize("is_packed", [True, False])
def test_import_of_whatsapp_refuses_another_encoding(world, log, encoding, is_packed):
    path, text = log / "_chat.txt", CHAT + ("2026/9/14 09:04 - 小雨: 㐂𠮷\n" if encoding == "gb18030" else "")
    path.write_bytes(text.encode(encoding))
    if is_packed:
        with zipfile.ZipFile(log / "小雨.zip", "w") as archive:
            archive.write(path, "_chat.txt")
        path = log / "小雨.zip"
    why = "no log and no export" if encoding == "utf-16-le" else f"iconv -f {encoding.upper()} -t UTF-8"
    with pytest.raises(NotImported, match=why):
        bring_in(world.ws, path, world.clock(), UNLIMITED)
    assert world.history() == []


def test_import_of_a_note_in_gbk_names_what_converts_it(world, log):
    (log / "a.md").write_text("# 一\n")
    (log / "b.md").write_bytes("# 妈妈对花生过敏\n".encode("gbk"))
    assert "iconv -f GBK -t UTF-8" in copied(world, log).left_out["b.md"]
    assert written(world) == {"log/a.md"}
