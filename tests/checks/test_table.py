"""The table of checks: a fault that is made for real is in each view that has to know it, and in no other."""

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.checks import machine, memory, services
from recalld.supervisor.checks.check import Look
from recalld.supervisor.checks.systemd import Installation
from recalld.supervisor.checks.table import TABLE, account, examine, verdict
from recalld.supervisor.events import Events
from recalld.supervisor.host.last_night import LastBackup, keep_last
from recalld.supervisor.protocol.config_keys import Log
from recalld.supervisor.protocol.connections import HOOK_LATE, MEMORY_LATE, Connection, render_connections
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import NewerFormat
from recalld.supervisor.storage.texts import render
from recalld.supervisor.summaries.llm_state import note_answer
from tests.world import WITHOUT_MODEL, World, message_on, talk

NOBODY = 65534


@dataclass
class Broken:
    """A memory of two days that something is done to, and how it is looked at."""

    world: World
    elsewhere: Path
    ending: contextlib.ExitStack
    ask: Callable[[], str | None] = lambda: None

    @property
    def dated(self) -> Path:
        return self.world.root / min(self.world.dated_files())

    def run_supervisor(self) -> None:
        self.ending.enter_context(self.world.files.lock(self.world.paths.supervisor_lock))

    def look(self, *, slow: bool = False) -> Look:
        return Look(self.world.ws, self.world.clock(), self.ask, lambda: "recalld 9.9", slow)


@pytest.fixture
def broken(world: World, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    world.reopen(WITHOUT_MODEL)
    world.write(talk("2026-01-29T09:00", 4) + talk("2026-01-30T09:00", 4))
    world.settle()
    world.refresh()
    with contextlib.ExitStack() as ending:
        elsewhere = tmp_path_factory.mktemp("别处")
        monkeypatch.setenv("XDG_CONFIG_HOME", str(elsewhere))
        yield Broken(world, elsewhere, ending)


# ── faults ───────────────────────────────────────────────────────────────────


def a_day_that_is_gone_and_still_in_history(it: Broken) -> None:
    it.dated.unlink()


def a_day_that_is_lost(it: Broken) -> None:
    it.world.write([])
    it.dated.unlink()


def a_file_without_its_head(it: Broken) -> None:
    it.dated.write_bytes(it.dated.read_bytes()[12:])


def a_file_that_is_cut_off_between_two_messages(it: Broken) -> None:
    kept = "<!-- ".join(it.dated.read_text().split("<!-- ")[:3])
    it.dated.write_text(kept.rstrip("\n") + "\n")


def a_message_that_is_in_two_files(it: Broken) -> None:
    it.dated.with_name("2026-01-29-copy.md").write_bytes(it.dated.read_bytes() + "\n这句是后来写的\n".encode())


def a_history_of_which_a_part_is_unread(it: Broken) -> None:
    it.world.write(it.world.paths.history.read_bytes()[:-3] + ', {"role": “user", "text": "钥匙在门口。"}]'.encode())
    assert it.world.restore()


def a_file_of_another_user(it: Broken) -> None:
    if os.geteuid():
        pytest.skip("only root can do this")
    os.chown(it.dated, NOBODY, NOBODY)


def a_queue_outside_the_workspace(it: Broken) -> None:
    results = it.world.root / "worker" / "results"
    results.rmdir()
    results.symlink_to(it.elsewhere)


def a_disk_that_is_read_only(it: Broken) -> None:
    root = it.world.root

    class ReadOnly(RealDisk):
        def is_read_only(self, folder: Path) -> bool:
            return folder == root

    it.world.reopen(disk=ReadOnly())


def a_message_that_nobody_writes(it: Broken) -> None:
    it.world.add(message_on("2026-01-31"))
    it.world.round("none")
    it.world.forward(days=2)


def a_dropped_message_that_nobody_takes_in(it: Broken) -> None:
    it.world.drop("1.json", {"role": "user", "content": "我对花生过敏。", "createdAt": "2026-01-31T01:58:00.000Z"})
    it.world.forward(days=2)


def an_index_that_is_not_brought_up_to_date(it: Broken) -> None:
    it.world.put("log.jsonl", b'{"ts": "2026-01-31T01:00:00.000Z", "event": "index_stale", "why": "a: b; try again."}\n')
    it.run_supervisor()


def a_port_that_another_program_uses(it: Broken) -> None:
    refused = (
        b'{"ts": "2026-01-31T01:00:00.000Z", "event": "port_refused", "reason": "taken", "host": "127.0.0.1", "port": 8377}\n'
    )
    it.world.put("log.jsonl", refused)
    it.run_supervisor()


def a_pool_that_can_not_be_reached(it: Broken) -> None:
    Events(it.world.paths.log, it.world.clock, Log()).transition("pool_waits", True, why="Redis can't be reached")
    it.run_supervisor()


def a_hook_that_was_out_of_time(it: Broken) -> None:
    log = Events(it.world.ws.paths.log, it.world.clock, Log())
    for _ in range(2):
        log.emit("hook_failed", client="codex", why=HOOK_LATE)


def an_index_that_is_damaged(it: Broken) -> None:
    for path in (it.world.root / ".recalld" / "index").glob("*.store"):
        os.truncate(path, path.stat().st_size // 2)
    it.world.reopen(WITHOUT_MODEL)


def a_service_that_does_not_run(it: Broken) -> None:
    folder = it.elsewhere / "systemd" / "user"
    folder.mkdir(parents=True)
    for name, data in Installation(it.world.root).units().items():
        (folder / name).write_bytes(data)


def a_hook_of_an_environment_that_is_gone(it: Broken) -> None:
    command = f"/opt/none/recalld -w {it.world.root} hook claude-code"
    path = it.elsewhere / "settings.json"
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"command": command}]}]}}), encoding="utf-8")
    it.world.paths.connections.write_bytes(
        render_connections([Connection(client="claude-code", path=str(path), command=command)])
    )


def a_supervisor_that_hangs(it: Broken) -> None:
    it.run_supervisor()
    it.ask = lambda: ""


def a_supervisor_of_another_version(it: Broken) -> None:
    it.run_supervisor()
    it.ask = lambda: "recalld 0.1.0"


#: Each fault, and the check that finds it.
FAULTS: dict[str, tuple[Callable[[Broken], object], Any]] = {
    "a history that is cut off": (lambda it: it.world.write(b"["), memory.history),
    "an entry that is no message": (lambda it: it.world.write([*it.world.history(), 7]), memory.history),
    "a day that is gone and still in history": (a_day_that_is_gone_and_still_in_history, memory.losses),
    "a day that is lost": (a_day_that_is_lost, memory.losses),
    "a file without its end": (lambda it: it.dated.write_bytes(it.dated.read_bytes()[:-12]), memory.losses),
    "a file without its head": (a_file_without_its_head, memory.losses),
    "a file that is cut off between two messages": (a_file_that_is_cut_off_between_two_messages, memory.losses),
    "a message that is in two files": (a_message_that_is_in_two_files, memory.accounting),
    "a history of which a part is unread": (a_history_of_which_a_part_is_unread, memory.history),
    "a dropped file with a typing error": (lambda it: it.world.put("inbox.d/new/a.json", '{"role"：1}'), memory.dropped),
    "a note in gbk": (lambda it: it.world.put("memory/旅行.md", "我们六月去京都。\n".encode("gbk")), memory.encodings),
    "a file of another user": (a_file_of_another_user, machine.rights),
    "a queue outside the workspace": (a_queue_outside_the_workspace, machine.links),
    "a disk that is read only": (a_disk_that_is_read_only, machine.disk),
    "a clock that was set back": (
        lambda it: it.world.put("log.jsonl", b'{"ts": "2026-02-03T10:00:00.000Z", "event": "started"}\n'),
        machine.clock,
    ),
    "a message that nobody writes": (a_message_that_nobody_writes, memory.waiting),
    "a dropped message that nobody takes in": (a_dropped_message_that_nobody_takes_in, memory.waiting),
    "an index that is not brought up to date": (an_index_that_is_not_brought_up_to_date, machine.lasting),
    "a port that another program uses": (a_port_that_another_program_uses, machine.lasting),
    "a pool that can not be reached": (a_pool_that_can_not_be_reached, machine.lasting),
    "a backup that failed": (
        lambda it: keep_last(it.world.ws, LastBackup(it.world.clock(), "/备份", 7, "", "the disk is full")),
        services.last_night,
    ),
    "a model without a name": (
        lambda it: it.world.reopen(f'{WITHOUT_MODEL}[llm]\nbase_url = "http://127.0.0.1:9/v1"\n'),
        memory.paused,
    ),
    "an inbox that is no json": (
        lambda it: it.world.put("inbox.json", '[{"id": "q1", "text": "备份在哪'.encode()),
        memory.inbox,
    ),
    "a hook that was out of time": (a_hook_that_was_out_of_time, services.hooks),
    "an index that is damaged": (an_index_that_is_damaged, memory.index),
    "a service that does not run": (a_service_that_does_not_run, services.units),
    "a hook of an environment that is gone": (a_hook_of_an_environment_that_is_gone, services.clients),
    "a supervisor that hangs": (a_supervisor_that_hangs, services.supervisor),
    "a supervisor of another version": (a_supervisor_of_another_version, services.supervisor),
}
#: The checks of the files that hold the memory: what they find, `fsck` tells too.
OF_MEMORY = {
    *(memory.losses, memory.accounting, memory.encodings),
    *(memory.history, memory.dropped),
}
#: What finds only what may be meant, what ends a command before any check, and what test_doctor.py or the golden corpus makes for real.
ELSEWHERE = {
    *(machine.left_over, services.sources, memory.tasks, memory.meaning),
    *(memory.quarantine, memory.long_term, memory.forgetting, memory.taken_out, memory.newer_format),
}


def test_table_has_a_fault_for_every_check():
    rows = [check.find for check in TABLE if check.name != "configuration"]
    assert len({*rows}) == len(rows)
    assert {check for _, check in FAULTS.values()} | ELSEWHERE == {*rows}


def test_table_finds_nothing_wrong_with_a_sound_workspace(broken: Broken):
    found = examine(broken.look(slow=True))
    assert [one for one in found if one.state == "bad"] == []
    quick = [one.check for one in examine(broken.look())]
    assert [one.check for one in found if one.check in quick] == quick, "a page leaves out what it has not looked at"
    assert {one.check for one in found} - {*quick} == {"environment", "index"}
    assert account(broken.look()).is_well
    assert verdict(broken.look())[1]


def test_quarantine_is_full_where_ten_copies_of_one_kind_are(broken: Broken):
    for n in range(10):
        broken.world.put(f".recalld/quarantine/2026-01-{n + 10}.md.{n:012x}", "x")
    assert [*memory.quarantine(broken.look())] == []
    for n in range(10):
        broken.world.put(f".recalld/quarantine/history.json.{n:012x}", "x")
    assert [fault.why.fields["count"] for fault in memory.quarantine(broken.look())] == [10]


def test_left_over_names_the_files_in_their_order(broken: Broken):
    names = [f"prompts/memory-entry.{n * 7 % 10}.md" for n in range(10)]
    places = [str(broken.world.put(name, "旧的")) for name in names]
    (fault,) = machine.left_over(broken.look())
    assert fault.why.fields["files"] == sorted(places)


def test_hooks_names_the_client_of_a_plugin_that_is_no_longer_answered(broken: Broken):
    Events(broken.world.ws.paths.log, broken.world.clock, Log()).emit(
        "hook_failed", client="openclaw", why="the client is unknown"
    )
    (fault,) = services.hooks(broken.look())
    assert (fault.state, "the hook of openclaw could not" in str(fault.why)) == ("odd", True)


def test_table_finds_nothing_wrong_where_memory_is_no_folder_yet(world: World):
    world.reopen(WITHOUT_MODEL)
    world.paths.summaries.rmdir()
    world.paths.originals.rmdir()
    world.paths.memory.rmdir()
    assert [one for one in examine(world.look()) if one.state == "bad"] == []
    assert account(world.look()).is_well


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_known_to_all_views_of_its_subject_and_to_no_other(fault, broken: Broken):
    harm, finder = FAULTS[fault]
    harm(broken)
    (check,) = (check for check in TABLE if check.find is finder)
    found = {(one.check, one.state) for one in examine(broken.look(slow=True)) if one.state != "good"}
    assert found == {(check.name, "bad")}, "doctor"
    assert account(broken.look()).is_well == (check.find not in OF_MEMORY), "fsck"
    is_unknown = check.slow or fault == "a file of another user"
    assert verdict(broken.look())[1] == is_unknown, "status, after fsck"


def test_every_view_ends_where_a_newer_version_has_written(broken: Broken):
    broken.world.put(".recalld/seen.jsonl", b'{"recalld": 99}\n')
    broken.world.reopen()
    assert ("format", "bad") in {(one.check, one.state) for one in examine(broken.look(slow=True))}
    for view in (verdict, account):
        with pytest.raises(NewerFormat):
            view(broken.look())


@pytest.mark.parametrize(
    ("harm", "mends"),
    [
        (a_file_that_is_cut_off_between_two_messages, ("fsck --accept 2026", "forget --removed", "fsck --repair")),
        (a_file_without_its_head, ("fsck --repair",)),
    ],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_doctor_names_once_a_file_that_lost_a_part_and_what_can_be_done(broken: Broken, harm, mends, language):
    harm(broken)
    (fault,) = [one for one in examine(broken.look(slow=True)) if one.state == "bad"]
    assert [mend for mend in mends if mend in render(fault.why, language)] == [*mends]


def test_status_counts_what_in_the_inbox_is_no_input(broken: Broken):
    others = '{"id": "q2", "text": " "}, 42, {"role": "assistant", "text": ""}'
    broken.world.put("inbox.json", f'[{{"id": "q1", "text": "备份在哪"}}, {others}]'.encode())
    (sentence,), is_well = verdict(broken.look())
    assert (sentence.split(";")[0], is_well) == ("entries of inbox.json without words are answered by nobody (2)", False)


def test_status_says_that_a_hook_was_out_of_time_for_a_day(broken: Broken):
    a_hook_that_was_out_of_time(broken)
    (sentence,), _ = verdict(broken.look())
    assert sentence.startswith("memory came too late for codex in the last day (2), last at 2026-01-31 ")
    broken.world.forward(hours=25)
    assert verdict(broken.look())[1]


def test_status_does_not_say_that_all_is_well_above_what_needs_a_look(broken: Broken):
    (first, *_), is_well = verdict(broken.look())
    assert (str(first).startswith("all is well; "), is_well) == (True, True)
    broken.world.reopen('[llm]\nmodel = "qwen3:8b"\nbase_url = "http://127.0.0.1:9/v1"\n')
    for _ in range(3):
        note_answer("qwen3:8b", "copy", broken.world.ws.model_use)
    (first, second), is_well = verdict(broken.look())
    assert (str(first).startswith("nothing is broken, and this needs a look; "), is_well) == (True, True)
    assert str(second).startswith("of the last answers of qwen3:8b (3) most were refused (3)")


def test_status_counts_the_questions_that_the_proxy_sent_without_memory(broken: Broken):
    log = Events(broken.world.ws.paths.log, broken.world.clock, Log())
    for why in (MEMORY_LATE, "the disk is full", MEMORY_LATE):
        log.emit("proxy_failed", why=why)
    (sentence,), _ = verdict(broken.look())
    assert sentence.startswith("memory came too late for the proxy in the last day (2), last at 2026-01-31 ")


# ── what fsck found ──────────────────────────────────────────────────────────


def test_status_says_what_fsck_found_until_it_finds_it_no_more(broken: Broken):
    a_message_that_is_in_two_files(broken)
    assert verdict(broken.look())[1]
    account(broken.look())
    (sentence,), is_well = verdict(broken.look())
    assert (is_well, "by the account of 2026-01-31 10:00; `recalld fsck` lists" in sentence) == (False, True)
    broken.dated.with_name("2026-01-29-copy.md").unlink()
    account(broken.look())
    assert verdict(broken.look())[1]


# ── the clients that are connected ───────────────────────────────────────────


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"version": 2, "connections": []}', b'{"version": 1, "connections": [5]}'])
def test_damaged_list_of_clients_is_named_in_words(broken: Broken, data: bytes):
    broken.world.paths.connections.write_bytes(data)
    (fault,) = services.clients(broken.look())
    assert "(it is of another version, or lists no connections)" in fault.why
    assert "它的版本不同，或者里面没有连接" in render(fault.why, "zh")
