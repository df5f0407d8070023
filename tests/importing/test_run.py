"""An import: what is added, once, in the order of time, whatever happened before and whenever it is killed."""

import contextlib
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.checks.backup import create
from recalld.supervisor.importing import messengers
from recalld.supervisor.importing.run import Imported, bring_in
from recalld.supervisor.importing.source import NotImported
from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import run_command
from recalld.supervisor.storage.control import UNLIMITED, Control
from recalld.supervisor.storage.errors import BadFile, BadRequest
from tests.importing import made
from tests.world import WITHOUT_MODEL, FaultyDisk, World, at, message, talk

NOW = at("2026-01-31T10:00")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A folder for the log or export, outside of the workspace's own files."""
    folder = tmp_path / "log"
    folder.mkdir()
    return folder


class Killed(BaseException):
    """The process ends here."""


def run(world: World, path: Path, control: Control = UNLIMITED, **more: Any) -> Imported:
    return bring_in(world.ws, path, world.clock(), control, **more)


def dated(world: World) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(world.root.glob("memory/2*.md"))}


def days_of_talk(folder: Path, days: int, each: int = 8) -> Path:
    """ChatGPT's export of *days* days."""
    nodes = {}
    for n in range(days * each):
        key, time = f"n{n}", 1764547200 + (n // each) * 86400 + n % each
        role = "assistant" if n % 2 else "user"
        text = f"Bericht {n}: die Lieferung kommt." if n % 3 else f"第 {n} 条：快递到了。"
        nodes[key] = made._node(key, f"n{n - 1}" if n else None, role, text, time)
    conversation = {"conversation_id": "long", "mapping": nodes, "current_node": f"n{days * each - 1}"}
    return made._json(folder / "conversations.json", [conversation])


def test_import_of_a_newer_export_adds_what_is_new_and_what_was_edited(world, log):
    path = made.telegram(log)
    run(world, path)
    export = json.loads(path.read_text(encoding="utf-8"))
    messages = export["chats"]["list"][0]["messages"]
    messages[0]["text"] = "Hi Jonas"
    messages.append({"id": 9, "type": "message", "date_unixtime": "1767661200", "from": "Mira", "text": "Found it"})
    path.write_text(json.dumps(export), encoding="utf-8")
    assert run(world, path).added == 2
    assert b"Hi Jonas" in b"".join(dated(world).values())


def test_import_leaves_the_newest_messages_at_the_end_of_the_history(world, log, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.importing.run._BATCH", 10)
    world.write([message(f"live-{n}", f"2026-01-31T09:{n:02d}", f"今天的第 {n} 条") for n in range(30)])
    run(world, days_of_talk(log, 4, 60))
    assert [raw["id"] for raw in world.history()][-20:] == [f"live-{n}" for n in range(10, 30)]


def test_import_with_dry_run_says_the_same_and_changes_nothing(world, log):
    path = made.json_lines(log)
    would = run(world, path, dry_run=True)
    assert (would.added, would.undated, would.unread) == (3, 2, {"message": 2}), "one without a time has its neighbour's"
    assert (dated(world), world.history()) == ({}, [])
    assert run(world, path) == would


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A log of six days, and the dated files that an import of it makes."""
    path = days_of_talk(tmp_path_factory.mktemp("log"), 6, 8)
    world = World(tmp_path_factory.mktemp("whole"), NOW)
    run(world, path)
    return path, dated(world)


@pytest.mark.parametrize("call", range(0, 100, 5))
def test_import_that_was_killed_ends_with_the_same_files(tmp_path, whole, monkeypatch, call):
    monkeypatch.setattr("recalld.supervisor.importing.run._BATCH", 10)
    path, files = whole
    killed = World(tmp_path, NOW)
    calls = iter(range(1_000))

    def die(_call: str, _path: Path | None) -> bool:
        if next(calls) == call:
            raise Killed
        return False

    killed.reopen(disk=FaultyDisk("rename", "create", "link", "open_append", "unlink", refuses=die))
    with contextlib.suppress(Killed):
        run(killed, path)
    killed.reopen()
    killed.round("all")
    run(killed, path)
    assert dated(killed) == files


def test_import_takes_no_message_that_the_clients_hook_has_recorded(world, log):
    said = message("hook-1", "2026-01-05T17:00:02", "Why does the checkout test fail?", session="s-1", channel="claude-code")
    world.write([said])
    world.round()
    made._json(log / "history.json", [{"id": "h1", "role": "user", "content": "好", "createdAt": "2026-01-05T09:00:00.000Z"}])
    made.claude_code(log)
    assert run(world, log).added == 3
    filed = b"".join(dated(world).values())
    assert filed.count(b"Why does the checkout test fail?") == 1
    assert not [word for word in (b"key 123", b"1 failed", b"pytest") if word in filed], "nothing private, nothing of tools"


def test_import_counts_the_calls_of_a_model(tmp_path, log, capsys):
    world = World(tmp_path / "w", NOW, '[archive]\ntimezone = "UTC"\n[llm]\nmodel = "m"\nmax_calls_per_day = 2\n')
    world.put("recalld.toml", world.toml)
    words = ["import", str(days_of_talk(log, 5, 4)), "--dry-run", "--json"]
    assert run_command(Call(["-w", str(world.root), "--now", "2026-01-31T10:00:00Z", *words], {})) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["calls"], answer["daysOfCalls"], answer["unreadFile"]) == (5, 3, None)


def test_import_keeps_the_words_of_the_owner_as_the_owners(world, log):
    done = run(world, made.whatsapp(log), me="Jonas")
    assert (done.me, done.people) == ("Jonas", {"Jonas": 3, "Mira": 1})
    blocks = [block for file in world.ws.memory.dated() for block in world.ws.memory.blocks(file.name)]
    assert {(block.fields.get("name", ""), block.role) for block in blocks} == {("Mira", "user"), ("", "user")}
    assert run(world, made.chatgpt(log)).people == {}, "an assistant's export has no other people"


def test_import_says_who_talks_and_takes_the_name_of_the_owner(world, log, capsys):
    path = str(made.whatsapp(log))

    def printed(*more: str) -> str:
        run_command(Call(["-w", str(world.root), "import", path, *more], {"RECALLD_LANGUAGE": "zh"}))
        return "".join(capsys.readouterr())

    assert "Jonas（3 条）、Mira（1 条）。第一次导入时加上 `--me 名字`" in printed("--dry-run")
    assert "里面没有“Ole”，有的是：Jonas、Mira" in printed("--me", "Ole")
    assert dated(world) == {}
    assert "“Jonas”的话算作你说的，已在记忆里的除外。" in printed("--me", "Jonas")
    assert '"me": "Jonas"' in printed("--me", "Jonas", "--json")


def as_first_read(channel: str, line: str, words: Callable[[str, str], tuple[str, str]] = messengers._words) -> tuple[str, str]:
    """What a version had that showed what was left out in other words."""
    return (words(channel, line)[0],) * 2


def test_import_of_whatsapp_under_another_name_goes_on_with_the_same_chat(world, log, monkeypatch):
    path = made.whatsapp(log)
    with monkeypatch.context() as before:
        before.setattr(messengers, "_words", as_first_read)
        first = run(world, path)
    renamed = log / "Mira, the newest.txt"
    renamed.write_text(path.read_text(encoding="utf-8") + "[14.01.26, 09:00:00] Mira: 带上手套\n", encoding="utf-8")
    other = log / "WhatsApp Chat with Ole.txt"
    other.write_text("[14.01.26, 09:00:00] Ole: hi\n", encoding="utf-8")
    assert (run(world, renamed).added, run(world, other).added) == (1, 1)
    assert first.added == 4
    assert {session for file in world.ws.memory.dated() for session in file.sessions} == {"whatsapp:Mira", "whatsapp:Ole"}


def test_import_brings_nothing_back_that_was_forgotten_in_other_words(world, log, monkeypatch):
    path = made.whatsapp(log)
    with monkeypatch.context() as before:
        before.setattr(messengers, "_words", as_first_read)
        run(world, path)
    gone = Memory(world.ws, clock=world.clock).forget("day", "2026-01-05", yes=True)
    again = run(world, path)
    assert (again.added, again.forgotten) == (0, len(gone.messages))


def test_import_counts_the_messages_that_stay_forgotten(world, log):
    path = log / "said.jsonl"
    path.write_text("".join(f"{json.dumps(raw)}\n" for raw in talk("2026-01-05T09:00", 3)), encoding="utf-8")
    assert (run(world, path).added, run(world, path).forgotten) == (3, 0)
    Memory(world.ws, clock=world.clock).forget("message", world.archived()[0][0], yes=True)
    again = run(world, path)
    assert (again.messages, again.added, again.forgotten) == (3, 0, 1)


EXPORT = json.dumps([made.chatgpt_conversation()]).encode()


def zipped(data: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    """The bytes of an export in an archive."""
    with zipfile.ZipFile(packed := io.BytesIO(), "w", method) as archive:
        archive.writestr("conversations.json", data)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("conversations.json", EXPORT[:-400], "cut off, damaged"),
        ("export.zip", zipped(EXPORT).replace(b"Porto", b"Qorto", 1), "cut off, damaged"),
        ("export.zip", lambda: zipped(b" " * 120_000_000, zipfile.ZIP_DEFLATED), "two hundred times"),
        ("conversations.json", b'[{"mapping": {}, "conversation_id": "x"}]', "there is no message in it"),
        ("photo.jpg", b"\xff\xd8\xff\xe0" * 100, "no log and no export"),
        ("chat.txt", b"1/2/26, 14:03 - Mira: one\n1/3/26, 14:03 - Mira: two\n", "the day or the month first"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_import_of_what_is_none_adds_nothing_and_says_why(world, log, name, data, why):
    (log / name).write_bytes(data() if callable(data) else data)
    with pytest.raises(NotImported, match=why):
        run(world, log / name)
    assert world.history() == []
    made._lines(log / "good.jsonl", {"role": "user", "content": "好", "time": "2026-01-20T09:00:00Z"})
    assert run(world, log).added == 1, "it keeps no other away"


def test_import_takes_a_named_link_and_a_byte_order_mark(world, log):
    path = days_of_talk(log, 1, each=2)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    (log / "export.json").symlink_to(path)
    assert run(world, log / "export.json").added == 2
    os.mkfifo(log / "pipe")
    for name in ("pipe", "none"):
        with pytest.raises(BadRequest, match="no file and no folder"):
            run(world, log / name)


def test_import_counts_a_conversation_whose_tree_is_a_loop(world, log):
    conversation = made.chatgpt_conversation()
    for node in conversation["mapping"].values():
        node["parent"], node["children"] = node["id"], [node["id"]]
    assert run(world, made._json(log / "conversations.json", [conversation])).unread == {"loop": 1}


def test_import_names_json_that_it_may_not_read_or_that_says_no_time(world, log, monkeypatch):
    said = [{"role": "user", "content": "周五交稿"}, {"role": "assistant", "content": "Arr"}]
    made._json(log / "密.json", {"a": 1})
    made._json(log / "talk.json", [said[0] | {"time": "2026-01-29T09:00:00Z"}])
    made._json(log / "train.json", said)
    with zipfile.ZipFile(log / "sets.zip", "w") as archive:
        archive.write(made._lines(log / "train.jsonl", {"messages": said}), "more.jsonl")
    made.refuse(monkeypatch, "密.json")
    done = run(world, log)
    assert (done.added, [*done.left_out]) == (1, ["sets.zip/more.jsonl", "train.json", "train.jsonl", "密.json"])
    assert run(world, log / "train.json").added == 2, "it was named itself"


@pytest.mark.parametrize("name", ["好.jsonl", "note.md"])
def test_import_of_a_folder_names_the_files_that_are_of_no_kind(world, log, name, capsys):
    made._lines(log / name, {"role": "user", "content": "好", "time": "2026-01-20T09:00:00Z"})
    (log / "bad.txt").write_text("hello\n")
    (log / "b.json").write_bytes(bytes(range(256)))
    (log / "photo.jpg").write_bytes(b"\xff\xd8")
    (log / ".app").mkdir()
    made._json(log / ".app" / "state.json", {"a": 1})
    words = ["-w", str(world.root), "import", str(log)]
    assert run_command(Call(words, {"RECALLD_LANGUAGE": "zh"})) == 0
    assert "有 2 个文件不是 recalld 认识的记录或导出文件，没有读取：b.json、bad.txt" in capsys.readouterr().out
    assert run_command(Call([*words, "--json"], {})) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["unknown"], answer["leftOut"]) == (["b.json", "bad.txt"], [])


@pytest.mark.parametrize("field", ["createdAt", "timestamp"])
@pytest.mark.parametrize("session", [{}, {"session": "home"}])
def test_import_takes_no_line_that_append_has_added(world, log, field, session):
    lines = [{"role": "user", "content": "好", field: f"2026-01-2{n}T09:00:00Z", **session} for n in (1, 1, 2)]
    path = made._lines(log / "talk.jsonl", *lines)
    Memory(world.ws, clock=world.clock).append(lines[:2])
    for filed in (False, True):
        if filed:
            world.archive(everything=True)
        assert run(world, path, dry_run=True).added == 1


def test_import_takes_a_line_of_another_session_than_append(world, log):
    line = {"role": "user", "content": "好", "createdAt": "2026-01-20T09:00:00Z"}
    Memory(world.ws, clock=world.clock).append([line | {"session": "work"}])
    assert run(world, made._lines(log / "talk.jsonl", line | {"session": "home"})).added == 1


def test_import_counts_a_last_line_that_is_cut_off(world, log):
    path = made._lines(log / "talk.jsonl", {"role": "user", "content": "好", "createdAt": "2026-01-20T09:00:00Z"})
    path.write_text(path.read_text(encoding="utf-8") + '{"role": "user", "cont', encoding="utf-8")
    assert run_command(Call(["-w", str(world.root), "import", str(path)], {})) == BadFile.exit_code
    assert run(world, path, dry_run=True).unread == {"message": 1}


def test_import_that_is_stopped_says_what_is_left_and_goes_on_there(world, log, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.importing.run._BATCH", 10)
    path = days_of_talk(log, 4)
    stops = iter([False, True])
    stopped = run(world, path, Control(lambda: next(stops)))
    assert 0 < stopped.added == stopped.messages - stopped.left < 32
    assert stopped.last == run(world, path, dry_run=True).last, "what is found is told whole"
    rest = run(world, path)
    assert (rest.added, rest.left) == (stopped.left, 0)


# ── a workspace: word for word ───────────────────────────────────────────────────


def blocks(world: World) -> dict[str, Any]:
    return {block.id: block for blocks in world.dated_files().values() for block in blocks}


def test_message_of_another_workspace_keeps_its_fields_and_picture(tmp_path):
    picture = "data:image/png;base64,iVBORw0KGgo="
    there = made.other(
        tmp_path / "lap",
        message("x1", "2026-01-20T09:00", "在群里说的 <private>字</private>", session="g1", chat="group", name="小林"),
        message("x2", "2026-01-20T09:01", "", content=[{"type": "image_url", "image_url": {"url": picture}}]),
    )
    world = World(tmp_path / "ws", NOW, WITHOUT_MODEL)
    bring_in(world.ws, tmp_path / "lap", NOW, UNLIMITED)
    assert blocks(world) == blocks(there)
    assert [path.name for path in (world.root / "attachments").iterdir()]


def test_time_far_ahead_is_believed_from_dated_files_alone(tmp_path):
    there = World(tmp_path / "lap", at("2099-01-01T10:00"), WITHOUT_MODEL)
    there.write([message("x1", "2026-01-20T09:00", "die Fähre"), message("x2", "2098-12-31T10:00", "渡轮九点开", session="s")])
    there.intake()
    there.archive(everything=True)
    there.add(message("x3", "2099-01-01T10:00", "pier 7"))
    world = World(tmp_path / "ws", NOW, WITHOUT_MODEL)
    assert bring_in(world.ws, there.root, NOW, UNLIMITED).undated == 1
    times = {identity: block.created_at for identity, block in blocks(world).items()}
    assert times == {"x1": at("2026-01-20T09:00"), "x2": at("2098-12-31T10:00"), "x3": at("2026-01-20T09:00")}


def test_words_that_a_person_edited_here_do_not_come_back_as_others(tmp_path):
    there = made.other(tmp_path / "lap", message("x1", "2026-01-20T09:00", "am Freitag"))
    path = next((there.root / "memory").glob("2*.md"))
    path.write_text(path.read_text(encoding="utf-8").replace("am Freitag", "am Samstag"), encoding="utf-8")
    world = World(tmp_path / "ws", NOW, WITHOUT_MODEL)
    bring_in(world.ws, there.root, NOW, UNLIMITED)
    assert bring_in(there.ws, world.root, NOW, UNLIMITED).added == 0


def test_own_backup_brings_no_words_twice_that_a_person_edited(tmp_path):
    world = World(tmp_path / "ws", NOW, WITHOUT_MODEL)
    world.write([message("x1", "2026-01-30T09:00", "am Freitag"), message("x2", "2026-01-30T09:01", "好")])
    world.intake()
    world.archive(everything=True)
    path = next((world.root / "memory").glob("2*.md"))
    path.write_text(path.read_text(encoding="utf-8").replace("am Freitag", "am Samstag"), encoding="utf-8")
    create(world.ws, tmp_path / "own.tar", NOW, "test")
    Memory(world.ws, clock=world.clock).forget("removed", "", yes=True)
    assert bring_in(world.ws, tmp_path / "own.tar", NOW, UNLIMITED).added == 0
    assert sorted(world.archived_texts()) == ["am Samstag", "好"]


def test_file_of_a_backup_that_was_changed_is_left_out(tmp_path):
    there = made.other(tmp_path / "lap", *talk("2026-01-20T09:00", 1), message("x2", "2026-01-21T09:00", "am Freitag"))
    create(there.ws, tmp_path / "lap.tar", NOW, "test")
    (tmp_path / "lap.tar").write_bytes((tmp_path / "lap.tar").read_bytes().replace(b"am Freitag", b"am Samstag"))
    done = bring_in(World(tmp_path / "ws", NOW, WITHOUT_MODEL).ws, tmp_path / "lap.tar", NOW, UNLIMITED)
    assert (done.added, sum("2026-01-21" in name for name in done.left_out)) == (1, 1)


def test_history_that_is_cut_off_is_named_and_the_rest_is_added(tmp_path):
    there = made.other(tmp_path / "lap", *talk("2026-01-20T09:00", 3))
    (there.root / "history.json").write_text('[{"id": "x"', encoding="utf-8")
    done = bring_in(World(tmp_path / "ws", NOW, WITHOUT_MODEL).ws, there.root, NOW, UNLIMITED)
    assert (done.added, done.unread) == (3, {"file": 1})
