"""A forgetting that is killed at any operation of the disk goes on in the next round, and then no word is left."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from recalld.supervisor.conversation.sessions import Marker, Progress, RunningSummary
from recalld.supervisor.events import EventLog
from recalld.supervisor.forgetting import cleaning
from recalld.supervisor.protocol.config_keys import Log
from recalld.supervisor.protocol.marks import Struck
from recalld.supervisor.protocol.task import AskedTask
from recalld.supervisor.recall.ended import write_ended
from recalld.supervisor.storage.disk import RealDisk
from tests.forgetting.test_forget import forget, where
from tests.protocol.test_attachments import PNG
from tests.world import Diarist, World, at, message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECRET = "暗号是山茶花十七号"  # noqa: S105 - a message
#: In words, in the pinyin of names, and in the bytes of pictures.
WORDS = ("山茶花", "十七号", "shanchahua")
PLAIN = ["m-plain-00001", "m-plain-00002", "m-plain-00003"]
#: Operations that change the disk.
CHANGES = ("create", "open_append", "write", "sync", "rename", "rename_new", "link", "unlink", "sync_folder")


class Killed(BaseException):
    """The process is gone."""


class DyingDisk(RealDisk):
    """A disk under a process that is killed before its operation of this number; nothing works after that."""

    def __init__(self, last: int) -> None:
        self.count, self.last = 0, last

    def __getattribute__(self, name: str) -> Any:
        call = super().__getattribute__(name)
        if name not in CHANGES:
            return call
        self.count += 1
        if self.count > self.last:
            raise Killed
        return call


def picture(words: str) -> str:
    return base64.b64encode(PNG + words.encode()).decode()


def talk(world: World) -> None:
    """Messages of four days, with pictures: filed, summed up by a model twice, in originals/ and trash/; two wait in history."""
    world.model.script = world.model.one_line_each
    world.write(
        [
            message("m-secret-0001", "2025-12-03T09:00", f"十二月：{SECRET}", session="home"),
            message("m-secret-0002", "2026-01-10T09:00", SECRET, session="home", images=[picture("山茶花"), picture("泳镜")]),
            message("m-plain-00001", "2026-01-10T09:10", "周五去游泳馆，带上泳镜。", session="home", images=[picture("泳镜")]),
            message("m-secret-0003", "2026-01-12T09:00", "山茶花，山茶花，山茶花", session="home"),
            message("m-plain-00002", "2026-01-30T09:10", "The launch is on 15 December in Lisbon."),
            message("m-secret-0004", "2026-01-30T10:10", f"再说一遍：{SECRET}。"),
        ]
    )
    world.settle()
    world.model.script = lambda task, blocks: f"{world.model.one_line_each(task, blocks)}\n- 还有。"
    world.redo("2026-01-10")
    world.settle()
    world.ws.trash.prune(["2025-12-03-anhao-shanchahua.md"])
    world.add(message("m-secret-0005", "2026-01-31T09:30", f"今天：{SECRET}", images=[picture("山茶花今天")]))
    world.append({"role": "user", "text": f"说过：{SECRET}", "images": [picture("山茶花说过")]})


def long_term_lines(world: World) -> None:
    """One that stands, one that was deleted, one of an earlier version of the file; a message is no longer true."""
    world.ws.long_term.append("web-chat", "山茶花是暗号，别告诉别人", world.clock())
    world.ws.long_term.replace(f"{world.ws.long_term.read().text}- 喜欢喝茶\n")
    line = world.ws.long_term.append("web-chat", "阳台上的山茶花要浇水", world.clock())
    world.ws.long_term.delete_numbers([line.line])
    write_ended(world.files, world.paths, "message", "m-secret-0004", Struck("", world.clock().date()))


def places_of_programs(world: World) -> None:
    """The inbox, the drop-box, sessions, chats, the worker's tasks and results, copies, and what a killed program has left."""
    world.ask(message("q1", "2026-01-31T10:00", f"{SECRET}，对吗？"), message("q2", "2026-01-31T10:00", "几点了？"))
    world.put("inbox.d/new/half.json", f'{{"role": "user", "text": "{SECRET}')
    dropped = message("m-secret-0006", "2026-01-29T20:00", f"手机：{SECRET}", images=[picture("山茶花手机")])
    world.drop("phone.json", [dropped, message("m-plain-00003", "2026-01-29T20:01", "手机上说的。")])
    with world.ws.session_files.locked("home"):
        running = RunningSummary(f"说了{SECRET}。", Marker("m-plain-00001", world.clock(), frozenset({1})))
        world.ws.session_files.keep("home", Progress(running=running))
    world.put(".recalld/sessions/chat-0123456789abcdef.jsonl", f'{{"format": 1}}\n{json.dumps({"text": SECRET})}\n')
    group = "reply-0123456789abcdef"
    turns = ({"role": "user", "content": f"记忆：{SECRET}"},)
    world.ws.task_queue.submit(AskedTask(id=f"{group}-0123456789-0", kind="reply", group=group, turns=turns))
    world.put(f"worker/results/{group}-0123456789-1.json", json.dumps({"text": SECRET}))
    world.put(f"worker/failed/{group}.json", json.dumps({"attempts": 3, "inputs": [{"id": "q", "text": SECRET}]}))
    world.put(".recalld/quarantine/history.json.0123456789ab", json.dumps([message("m-old", "2026-01-10T09:00", SECRET)]))
    world.put(".recalld/replaced/memory.md.1", SECRET)
    world.put(".recalld/.seen.jsonl.777-1.tmp", SECRET)
    world.put(".recalld/sessions/.chat-0123456789abcdef.jsonl.777-1.tmp", SECRET)


def tables_and_logs(world: World) -> None:
    """Receipts, index, the table of files, and the names of dated files in the log and in one that is packed."""
    for name in world.names():
        world.events.emit("accepted", file=name, messages=1)
        world.events.emit("copy_found", files=1, file=f"memory/{name.removesuffix('.md')} (1).md")
    world.put("log-20260130T000000.jsonl.gz", gzip.compress(world.paths.log.read_bytes()))
    world.report()
    world.refresh()
    world.save_receipt(world.inject("暗号是什么？"))
    world.prepared_contexts().update()
    world.ws.memory.keep_table()


@pytest.fixture
def lived(tmp_path: Path) -> World:
    """A workspace in which the words stand in every place."""
    world = Diarist(tmp_path / "lived", at("2026-01-31T10:00"))
    world.events = world.ws.events = EventLog(world.paths.log, world.clock, Log())
    talk(world)
    long_term_lines(world)
    places_of_programs(world)
    tables_and_logs(world)
    world.ws.index.close()
    return world


def process(root: Path, lived: World, disk: RealDisk) -> World:
    return Diarist.process(root, lived.clock, EventLog(root / "log.jsonl", lived.clock, Log()), lived.ws.config, disk)


def killed_at_each(lived: World, folder: Path, act: Callable[[World], object]) -> Iterator[tuple[int, World]]:
    """
    Yield how many operations *act* had done when it was killed, and the workspace after the next round, for each that had begun.

    Nothing is lost or damaged in any of them.
    """
    killed = 0
    while True:
        root = folder / "one"
        shutil.copytree(lived.root, root)
        try:
            act(process(root, lived, DyingDisk(killed)))
        except Killed:
            killed += 1
        else:
            break
        again = process(root, lived, RealDisk())
        again.start()
        if again.ws.journal.tombstones.acts():
            again.round()
            again.ws.index.close()
            yield killed, again
        ledger = again.fsck()
        assert (ledger.lost, ledger.damage) == ([], []), killed
        shutil.rmtree(root)
    assert killed > 100


@pytest.mark.proof
def test_forget_killed_at_any_operation_is_finished_by_the_next_round(lived: World, tmp_path: Path) -> None:
    for killed, again in killed_at_each(lived, tmp_path, lambda world: forget(world, "match", "山茶花")):
        assert where(again, *WORDS) == [], killed
        assert again.ws.journal.tombstones.unfinished() == (), killed
        assert sorted(entry["id"] for entry in again.history()) == PLAIN, killed


@pytest.mark.parametrize("step", ["_clean_history", "_forget_dated", "_forget_lines", "_forget_attachments", "_clean_tables"])
def test_forget_killed_before_a_step_leaves_no_word_after_the_next_round(
    lived: World, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    assert {name.partition("/")[0] for name in where(lived, "shanchahua")} >= {"log.jsonl", "log-20260130T000000.jsonl.gz"}
    assert len([name for name in where(lived, "山茶花") if name.startswith("attachments/")]) > 1

    before: Callable[..., None] = getattr(cleaning, step)

    def killed(aim: cleaning.Aim, *more: Any) -> None:
        if aim.applies:
            raise Killed
        before(aim, *more)

    with monkeypatch.context() as patch:
        patch.setattr(cleaning, step, killed)
        with pytest.raises(Killed):
            forget(lived, "match", "山茶花")
    lived.start()
    lived.round()
    assert where(lived, *WORDS) == []
