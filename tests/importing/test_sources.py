"""Sources: what the supervisor takes in by itself, when, and what it leaves alone."""

import json
import os
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.checks import services
from recalld.supervisor.checks.backup import create
from recalld.supervisor.checks.check import Look
from recalld.supervisor.forgetting import sweep
from recalld.supervisor.forgetting.wanted import By, wanted
from recalld.supervisor.importing import sources
from recalld.supervisor.importing.run import bring_in
from recalld.supervisor.importing.sources import Taking, take_in
from recalld.supervisor.protocol.config import load
from recalld.supervisor.protocol.connections import State
from recalld.supervisor.storage.control import UNLIMITED
from recalld.supervisor.storage.errors import BadConfig
from tests.importing import machines, made
from tests.importing.made import state_of
from tests.test_examples import blocks
from tests.world import WITHOUT_MODEL, World, at, message, talk

NOW = at("2026-01-31T10:00")
#: A message of another program.
SAID = {"role": "user", "content": "周五交稿", "timestamp": "2026-01-30T09:00:00Z"}


def world_with(root: Path, *takes: str, now: Any = NOW, more: str = "") -> World:
    """A workspace with these sources, each as the keys of its table."""
    return World(root, now, WITHOUT_MODEL + more + "".join(f"[[sources.take]]\n{take}\n" for take in takes))


def look(world: World, **waited: float) -> None:
    """Let the supervisor look, when so much time has passed."""
    world.forward(**waited)
    list(take_in(world.ws, world.clock, UNLIMITED))


def now_of(world: World, name: str) -> None:
    """Take in a source at once."""
    list(take_in(world.ws, world.clock, UNLIMITED, name))
    world.archive(everything=True)


def forget(world: World, value: str, by: By = "message") -> None:
    sweep.begin(world.ws, wanted(world.ws, by, value, NOW), world.clock.forward(seconds=1), os.urandom(32))
    sweep.sweep(world.ws, world.clock())


# ── when, and what ───────────────────────────────────────────────────────────


def test_source_is_read_ten_minutes_after_its_last_change(tmp_path):
    log = made.claude_code(tmp_path / "log")
    world = world_with(tmp_path / "ws", f'from = "claude-code"\npath = "{tmp_path}/log"')
    look(world)
    look(world, minutes=9)
    assert world.archived_texts() == []
    look(world, minutes=1)
    assert len(world.archived_texts()) == state_of(world, "log").messages > 0
    before = world.archived_texts()
    assert bring_in(world.ws, log, world.clock(), UNLIMITED).added == 0
    assert world.archived_texts() == before


def test_file_that_goes_on_changing_is_read_at_night(tmp_path):
    path = tmp_path / "log" / "talk.jsonl"
    path.parent.mkdir()
    world = world_with(tmp_path / "ws", f'path = "{tmp_path}/log"')
    for n in range(28):
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"id": f"m{n}", "role": "user", "content": f"第 {n} 条", "timestamp": "2026-01-30"}) + "\n")
        look(world, minutes=30)
        assert bool(world.archived_texts()) == (n == 27)
    assert len(world.archived_texts()) == 28


def test_transcripts_that_their_client_deletes_after_a_month_are_kept(tmp_path):
    world = world_with(tmp_path / "ws", f'path = "{tmp_path}/log"')
    for n in range(4):
        made._lines(tmp_path / "log" / f"s{n}.jsonl", SAID | {"id": f"m{n}", "content": f"第 {n} 天"})
        (tmp_path / "log" / f"s{n - 2}.jsonl").unlink(missing_ok=True)
        look(world)
        look(world, hours=24)
    assert world.archived_texts() == [f"第 {n} 天" for n in range(4)]
    assert len(state_of(world, "log").done) == 2


def test_since_and_sessions_say_what_is_taken(tmp_path):
    lines = [
        {"role": "user", "content": f"{session} {day}", "timestamp": f"2026-01-{day}T09:00:00Z", "session": session}
        for session in ("work-1", "private")
        for day in ("10", "20")
    ]
    made._lines(tmp_path / "log" / "talk.jsonl", *lines)
    more = '[sources]\nsessions = ["work-*"]\n'
    world = world_with(tmp_path / "ws", f'path = "{tmp_path}/log"\nsince = 2026-01-15', more=more)
    now_of(world, "log")
    assert world.archived_texts() == ["work-1 20"]


@pytest.mark.parametrize(
    ("take", "said"),
    [
        ("{}", "a list of tables"),
        ('{ from = "gemini" }', "from = 'gemini' is not allowed"),
        ('{ from = "codex", nmae = "x" }', "nmae = 'x' is not allowed; a source has name, from, path"),
        ('{ path = "x", forgets = true }', "a list of tables"),
        ('{ path = "x", every = -1 }', "every = -1 is not allowed"),
        ('{ path = "x", name = "a/b" }', "name = 'a/b' is not allowed"),
        ('{ from = "codex" }, { from = "codex" }', "two sources are called codex"),
    ],
)
def test_source_that_can_not_be_meant_is_refused(take, said):
    with pytest.raises(BadConfig, match=r"sources\.take") as refused:
        load(f"[sources]\ntake = [ {take} ]\n".encode(), {})
    assert said in str(refused.value)


# ── what is left alone ───────────────────────────────────────────────────────


def test_source_that_is_away_is_told_after_a_week(tmp_path):
    world = world_with(tmp_path / "ws", f'path = "{tmp_path}/disk"')
    (tmp_path / "disk").mkdir()  # where nothing is mounted
    for day in range(8):
        look(world, days=1)
        told = [fault.why for fault in services.sources(Look(world.ws, world.clock()))]
        assert bool(told) == (day == 7)
    assert world.events.of("source_refused") == []


@pytest.mark.parametrize("place", ["ws", "link", "", "ws/memory"])
def test_source_that_is_this_workspace_or_around_it_is_not_read(tmp_path, place):
    (tmp_path / "link").symlink_to(tmp_path / "through")
    (tmp_path / "through").symlink_to(tmp_path / "ws")
    made.claude_code(tmp_path / "log")
    world = world_with(tmp_path / "ws", f'path = "{tmp_path}/log"', f'name = "odd"\npath = "{tmp_path}/{place}"')
    world.write(talk("2026-01-30T09:00", 2))
    world.archive(everything=True)
    look(world)
    look(world, days=1)
    assert state_of(world, "odd").trouble
    assert state_of(world, "odd").messages == 0
    assert len(world.events.of("source_refused")) == 1


def test_hostile_folder_does_not_keep_the_rest_away(tmp_path, monkeypatch):
    folder = tmp_path / "log"
    for name in (b"good.jsonl", "好\n的.jsonl".encode(), b"bad\xff.jsonl", b"secret.jsonl", b"../out.jsonl"):
        made._lines(folder / os.fsdecode(name), SAID | {"content": name.decode("utf-8", "replace")})
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "loop").symlink_to(folder)
    (folder / "out.jsonl").symlink_to(tmp_path / "out.jsonl")
    (folder / "bad.zip").write_bytes(b"PK\x03\x04 cut")
    (folder / "read.me").write_bytes(b"no log")
    (folder / ".hidden").mkdir()
    made.refuse(monkeypatch, "secret.jsonl")
    world = world_with(tmp_path / "ws", f'path = "{folder}"')
    now_of(world, "log")
    state = state_of(world, "log").shown()
    assert (world.archived_texts(), state["pending"]) == (["good.jsonl", "好\n的.jsonl"], 0)
    assert {"bad.zip", "read.me", "bad\\udcff.jsonl", "secret.jsonl"} <= state["leftOut"].keys()


def test_json_that_nothing_reads_is_named_next_to_a_log(tmp_path):
    folder = tmp_path / "log"
    made._lines(folder / "a.jsonl", SAID | {"id": "a"})
    made._json(folder / "b.json", [SAID | {"id": "b"}])
    for n in range(60):  # more than those by whose beginning a kind is known
        made._json(folder / f"设置 {n:02}.json", {"主题": n})
    for name, data in (("u16.json", b"\xff\xfe"), ("bad.json", b"{bad"), ("list.json", b"[1,2]"), ("t.csv", b"1,2")):
        (folder / name).write_bytes(data)
    world = world_with(tmp_path / "ws", f'path = "{folder}"')
    now_of(world, "log")
    left = state_of(world, "log").shown()["leftOut"]
    assert [*left] == ["bad.json"]
    assert str(left["bad.json"]).startswith("one of 64 files ")


def test_status_names_conversations_without_times_that_are_left_out(tmp_path):
    folder = tmp_path / "log"
    made._json(folder / "train.json", [{"role": "user", "content": "周五交稿"}])
    made._json(folder / "设置.json", {"主题": 1})
    world = world_with(tmp_path / "ws", f'path = "{folder}"')
    now_of(world, "log")
    (advice,) = [fault.why for fault in services.sources(Look(world.ws, NOW))]
    assert "(train.json)" in advice
    made._json(folder / "train.json", [SAID])
    now_of(world, "log")
    assert [*services.sources(Look(world.ws, NOW))] == []


def test_source_that_fails_does_not_keep_the_next_away(tmp_path):
    world = world_with(tmp_path, 'from = "codex"', 'name = "next"\npath = "nowhere"')
    (world.ws.paths.sources / "codex.json").mkdir(parents=True)
    look(world)
    assert state_of(world, "next").away


@pytest.mark.parametrize(
    "state",
    [
        *('{"done": 5}', '{"taken": []}', '{"taken": null}', '{"lines": {}}', '{"lines": [1]}', "[]", '{"no": 1}'),
        *('{"pending": {"a": 5}}', '{"pending": {"a": ["x"]}}', '{"pending": {"a": "abc"}}', '{"done": {"a": null}}'),
        *('{"trouble": []}', '{"left": {"a": "x"}}', '{"messages": "1"}', '{"notes": {"a": []}}'),
    ],
)
def test_state_that_is_none_begins_again(tmp_path, state):
    world = world_with(tmp_path / "ws", f'path = "{tmp_path}/log"')
    world.put(".recalld/sources/log.json", state.encode())
    assert state_of(world, "log") == State()


def test_folder_of_too_many_files_is_told_and_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_MOST_ENTRIES", 5)
    for n in range(6):
        made._lines(tmp_path / "log/memory" / f"{n}.jsonl", {"role": "user", "content": "x"})
    takes = (f'path = "{tmp_path}/log"{more}' for more in ("", '\nfrom = "recalld"\nname = "lap"'))
    world = world_with(tmp_path / "ws", *takes)
    for name in ("log", "lap"):
        now_of(world, name)
        assert "more than 5 files" in state_of(world, name).why()
    assert world.archived_texts() == []


# ── other workspaces ─────────────────────────────────────────────────────────


def test_line_that_ended_there_ends_here_and_one_deleted_here_stays_so(tmp_path):
    there = World(tmp_path / "lap", NOW, WITHOUT_MODEL)
    for words in ("住在杭州", "喜欢茶", "owns a bike"):
        there.ws.long_term.append("web-chat", words, NOW)
    world = world_with(tmp_path / "ws", f'from = "recalld"\npath = "{tmp_path}/lap"')
    now_of(world, "lap")
    assert world.ws.long_term.read().lines[0].text == "2026-01-31|web-chat@lap|住在杭州"
    there.ws.long_term.end(there.ws.long_term.read().lines[0].ref, NOW)
    world.ws.long_term.delete([world.ws.long_term.read().lines[1].ref])
    now_of(world, "lap")
    assert [line.text for line in world.ws.long_term.read().lines] == [
        "2026-01-31|web-chat@lap|~~住在杭州~~（至 2026-01-31）",
        "2026-01-31|web-chat@lap|owns a bike",
    ]


def test_line_that_is_said_again_on_a_later_day_comes_again(tmp_path):
    there = World(tmp_path / "lap", NOW, WITHOUT_MODEL)
    world = world_with(tmp_path / "ws", f'from = "recalld"\npath = "{tmp_path}/lap"')
    there.ws.long_term.append("web-chat", "喜欢茶", NOW)
    there.ws.long_term.end(there.ws.long_term.read().lines[0].ref, NOW)
    now_of(world, "lap")
    there.ws.long_term.append("web-chat", "喜欢茶", NOW + timedelta(days=2))
    now_of(world, "lap")
    now_of(world, "lap")
    lines = ["2026-01-31|web-chat@lap|~~喜欢茶~~（至 2026-01-31）", "2026-02-02|web-chat@lap|喜欢茶"]
    assert [line.text for line in world.ws.long_term.read().lines] == lines
    there.ws.long_term.end(there.ws.long_term.read().lines[1].ref, NOW + timedelta(days=5))
    now_of(world, "lap")
    lines[1] = "2026-02-02|web-chat@lap|~~喜欢茶~~（至 2026-02-05）"
    assert [line.text for line in world.ws.long_term.read().lines] == lines


def test_notes_of_a_workspace_are_written_where_a_persons_link_leads(tmp_path):
    there = World(tmp_path / "lap", NOW, WITHOUT_MODEL)
    there.note("garden.md", "Die Tomaten stehen links.\n")
    world = world_with(tmp_path / "ws", f'from = "recalld"\npath = "{tmp_path}/lap"')
    (tmp_path / "disk").mkdir()
    (world.paths.memory / "from").symlink_to(tmp_path / "disk")
    now_of(world, "lap")
    assert (tmp_path / "disk" / "lap" / "garden.md").read_text() == "Die Tomaten stehen links.\n"


def test_time_far_ahead_waits_for_the_dated_file_that_has_it(tmp_path):
    there = World(tmp_path / "lap", at("2099-01-01T10:00"), WITHOUT_MODEL)
    there.write([message("x1", "2098-12-31T10:00", "die Fähre")])
    there.intake()
    there.archive(everything=True)
    world = world_with(tmp_path / "ws", f'from = "recalld"\npath = "{tmp_path}/lap"')
    (there.root / "memory").rename(tmp_path / "late")
    now_of(world, "lap")
    assert world.archived_texts() == []
    (tmp_path / "late").rename(there.root / "memory")
    now_of(world, "lap")
    assert [block.created_at for blocks in world.dated_files().values() for block in blocks] == [at("2098-12-31T10:00")]


def test_what_was_forgotten_there_stays_here_unless_the_source_forgets(tmp_path):
    there = made.other(tmp_path / "lap", message("x1", "2026-01-20T09:00", "Dr. Huber in Linz."))
    world = world_with(tmp_path / "ws", f'from = "recalld"\npath = "{tmp_path}/lap"')
    now_of(world, "lap")
    forget(there, "x1")
    now_of(world, "lap")
    assert world.archived_texts() == ["Dr. Huber in Linz."]


def test_more_than_fifty_at_once_wait_until_a_person_says_so(tmp_path):
    there = made.other(tmp_path / "lap", *talk("2026-01-20T09:00", 51))
    world = world_with(tmp_path / "ws", f'from = "recalld"\npath = "{tmp_path}/lap"\nforgets = true')
    now_of(world, "lap")
    forget(there, "2026-01-20", "day")
    now_of(world, "lap")
    assert (len(world.archived_texts()), state_of(world, "lap").waits) == (51, 51)
    assert [fault.why for fault in services.sources(Look(world.ws, NOW))]
    taking = Taking(world.ws, world.ws.config.sources.take[0], world.clock)
    taking.look()
    assert len(taking.forget(yes=False).messages) == 51
    assert not taking.forget(yes=True)
    assert world.archived_texts() == []


def test_fifty_a_day_are_forgotten_however_often_the_source_is_looked_at(tmp_path):
    there = made.other(tmp_path / "lap", *talk("2026-01-20T09:00", 30), *talk("2026-01-21T09:00", 30))
    world = world_with(tmp_path / "ws", f'from = "recalld"\npath = "{tmp_path}/lap"\nforgets = true')
    now_of(world, "lap")
    for day in ("2026-01-20", "2026-01-21"):
        forget(there, day, "day")
        world.forward(hours=1)
        now_of(world, "lap")
        assert len(world.archived_texts()) == 30
    world.forward(hours=23)
    now_of(world, "lap")
    assert world.archived_texts() == []


def test_backup_is_taken_in_once_and_one_that_is_cut_off_not_at_all(tmp_path):
    there = made.other(tmp_path / "lap", *talk("2026-01-20T09:00", 3))
    (tmp_path / "in").mkdir()
    whole = tmp_path / "whole.tar"
    create(there.ws, whole, NOW, "test")
    (tmp_path / "half.tar").write_bytes(whole.read_bytes()[:2000])
    takes = (f'name = "{name}"\nfrom = "recalld"\npath = "{tmp_path}/{name}.tar"' for name in ("whole", "half"))
    world = world_with(tmp_path / "ws", *takes)
    now_of(world, "half")
    assert state_of(world, "half").left
    now_of(world, "whole")
    assert world.archived_texts() == there.archived_texts()
    shutil.rmtree(there.root)
    now_of(world, "whole")
    assert state_of(world, "whole").messages == 3


@pytest.mark.parametrize("examples", [5, pytest.param(25, marks=pytest.mark.proof)])
def test_machines_that_are_sources_of_one_another_have_the_same_messages(examples):
    machines.property_of(examples)()


def test_file_that_is_cut_off_waits_for_its_rest_a_day_at_most(tmp_path):
    there = made.other(tmp_path / "lap", message("x1", "2026-01-20T09:00", "On Friday to the bank, then home."))
    (there.root / "history.json").unlink()
    path = next((there.root / "memory").glob("2*.md"))
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b", then")])
    take = f'from = "recalld"\npath = "{tmp_path}/lap"'
    world, late = world_with(tmp_path / "ws", take), world_with(tmp_path / "late", take)
    for one, waited in ((world, 1), (late, 25)):
        look(one)
        look(one, hours=waited)
    assert (world.archived_texts(), late.archived_texts()) == ([], ["On Friday to the bank"])
    path.write_bytes(whole)
    look(world)
    look(world, minutes=30)
    assert world.archived_texts() == ["On Friday to the bank, then home."]


def test_folder_of_logs_and_notes_gives_both_and_a_note_follows_its_source(tmp_path):
    note = made._lines(tmp_path / "log" / "talk.jsonl", SAID).with_name("garden.md")
    note.write_text("Roses.\n", encoding="utf-8")
    world = world_with(tmp_path / "ws", f'path = "{tmp_path}/log"')
    mine = world.root / "memory/notes/log/garden.md"
    now_of(world, "log")
    assert (world.archived_texts(), mine.read_text(encoding="utf-8")) == (["周五交稿"], "Roses.\n")
    note.write_text("Roses and lilies.\n", encoding="utf-8")
    now_of(world, "log")
    assert mine.read_text(encoding="utf-8") == "Roses and lilies.\n"
    mine.write_text("Mine.\n", encoding="utf-8")
    note.write_text("Tulips.\n", encoding="utf-8")
    now_of(world, "log")
    assert mine.read_text(encoding="utf-8") == "Mine.\n"
    assert "garden.md" in state_of(world, "log").left


def test_round_of_a_source_is_read_to_its_end_before_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_BATCH_FILES", 2)
    world = world_with(tmp_path / "ws", f'path = "{tmp_path}/log"\nevery = "6h"')
    for n in range(5):
        made._lines(tmp_path / "log" / f"{n}.jsonl", SAID | {"id": f"m{n}", "content": f"第 {n} 条"})
    look(world)
    made._lines(tmp_path / "log" / "6.jsonl", SAID | {"content": "later"})
    look(world, hours=5)
    world.archive(everything=True)
    assert len(world.archived_texts()) == 5
    look(world, hours=1)
    world.archive(everything=True)
    assert len(world.archived_texts()) == 6


# ── git and rsync between two machines, as the page has them ─────────────────────

PAGE = Path(__file__).parents[2] / "docs/how-to/several-machines.md"


def run_lines(home: Path, *lines: str) -> None:
    """Run these lines of the page where *home* is the home of the laptop, with the desk beside it."""
    script = "\n".join(lines).replace("desk:", f"{home.parent}/desk/")
    environ = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    environ |= {f"GIT_{who}_{what}": "me" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(["sh", "-euc", script], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("tool", ["git", "rsync"])
def test_synchroniser_of_the_page_brings_what_a_source_needs_and_no_key(tmp_path, tool):
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    (lines,) = (block.text.splitlines() for block in blocks(PAGE.read_text()) if f"\n{tool} " in block.text)
    home, copy = tmp_path / "laptop", tmp_path / "desk/Sync/laptop"
    laptop = World(home / "memory", NOW, WITHOUT_MODEL)
    take = f'[[sources.take]]\nname = "laptop"\nfrom = "recalld"\npath = "{copy}"\nforgets = true\n'
    desk = World(tmp_path / "desk/memory", NOW, WITHOUT_MODEL + take)
    copy.parent.mkdir()

    def meet() -> None:
        laptop.archive(everything=True)
        if tool == "rsync":
            run_lines(home, *lines)
        elif copy.exists():
            run_lines(home, lines[0], *lines[-3:], f"git -C {copy} pull --quiet")
        else:
            run_lines(home, f"git init --quiet --bare {tmp_path}/desk/laptop.git", *lines)
            run_lines(home, f"umask 077; git clone --quiet --branch main {tmp_path}/desk/laptop.git {copy}")
        now_of(desk, "laptop")

    laptop.write([message("a1", "2026-01-20T09:00", "Dr. Huber rief an."), message("a2", "2026-01-21T09:00", "我对花生过敏")])
    laptop.intake()
    laptop.ws.long_term.append("web-chat", "住在杭州", NOW)
    laptop.put("memory/garden.md", b"Roses.\n")
    meet()
    assert desk.archived_texts() == ["Dr. Huber rief an.", "我对花生过敏"]
    assert (desk.root / "memory/from/laptop/garden.md").read_text() == "Roses.\n"

    forget(laptop, "a1")
    laptop.ws.long_term.end(laptop.ws.long_term.read().lines[0].ref, NOW)
    meet()
    assert desk.archived_texts() == ["我对花生过敏"]
    (line,) = desk.ws.long_term.read().lines
    assert line.text == "2026-01-31|web-chat@laptop|~~住在杭州~~（至 2026-01-31）"
    assert {path.name for path in copy.iterdir()} - {".git"} == {"memory", "memory.md", "history.json", ".recalld"}
    assert [path.name for path in (copy / ".recalld").iterdir()] == ["forgotten.jsonl"], "no keys, and no index"
