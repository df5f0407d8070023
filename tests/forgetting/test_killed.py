"""A forgetting that is killed at any operation of the disk goes on in the next round, and then no word is left."""

import base64
import contextlib
import gzip
import json
import shutil
from pathlib import Path

import pytest

from recalld.supervisor.conversation.sessions import Marker, Progress, RunningSummary
from recalld.supervisor.events import Events
from recalld.supervisor.protocol.config_keys import Log
from recalld.supervisor.protocol.task import AskedTask
from recalld.supervisor.storage.disk import Disk, RealDisk
from tests.forgetting.test_forget import SECRET, forget, where
from tests.protocol.test_attachments import PNG
from tests.world import WITH_MODEL, Killed, World, at, dying, message

#: In words, in names of files, and in the bytes of pictures.
WORDS = ("山茶花", "十七号")
PLAIN = ["m-plain-00001", "m-plain-00002", "m-plain-00003"]
GROUP = "reply-0123456789abcdef"


def picture(words: str) -> str:
    return base64.b64encode(PNG + words.encode()).decode()


@pytest.fixture
def lived(tmp_path: Path) -> World:
    """A workspace in which the words stand in every place."""
    world = World(tmp_path / "lived", at("2026-01-31T10:00"), WITH_MODEL.replace("timezone", 'slug = "hanzi"\ntimezone'))
    world.events = world.ws.events = Events(world.paths.log, world.clock, Log())
    secret, plain = (
        message("m-secret-0001", "2025-12-03T09:00", f"十二月：{SECRET}", session="home"),
        "周五去游泳馆，带上泳镜。",
    )
    world.write(
        [
            secret,
            message("m-plain-00001", "2025-12-03T09:10", plain, images=[picture("泳镜")]),
            message("m-secret-0002", "2026-01-10T09:00", SECRET, session="home", images=[picture("山茶花"), picture("泳镜")]),
            message("m-plain-00002", "2026-01-30T09:10", "The launch is on 15 December in Lisbon."),
            message("m-secret-0003", "2026-01-30T10:10", f"再说一遍：{SECRET}。"),
        ]
    )
    world.settle()
    world.model.script = lambda task, blocks: f"{world.model.one_line_each(task, blocks)}\n- 还有。"
    world.redo("2026-01-10")
    world.settle()
    for name in world.names():
        world.events.emit("file_unread", files=1, file=f"memory/{name.removesuffix('.md')} (1).md")
    world.put("log-20260130T000000.jsonl.gz", gzip.compress(world.paths.log.read_bytes()))
    world.ws.trash.prune([name for name in world.names() if name.startswith("2025")])
    long_term = world.ws.long_term
    long_term.append("web-chat", "山茶花是暗号，别告诉别人", world.clock())
    long_term.replace(f"{long_term.read().text}- 喜欢喝茶\n")
    world.add(message("m-secret-0004", "2026-01-31T09:30", f"今天：{SECRET}", images=[picture("山茶花今天")]))
    world.append({"role": "user", "text": f"说过：{SECRET}", "images": [picture("山茶花说过")]})
    dropped = message("m-secret-0005", "2026-01-29T20:00", f"手机：{SECRET}", images=[picture("山茶花手机")])
    world.drop("phone.json", [dropped, message("m-plain-00003", "2026-01-29T20:01", "手机上说的。")])
    world.refresh()
    world.save_receipt(world.inject("暗号是什么？"))
    world.ask(message("q1", "2026-01-31T10:00", f"{SECRET}，对吗？"), message("q2", "2026-01-31T10:00", "几点了？"))
    with world.ws.session_files.locked("home"):
        running = RunningSummary(f"说了{SECRET}。", Marker("m-plain-00001", world.clock(), frozenset({1})))
        world.ws.session_files.keep("home", Progress(running=running))
    turns = ({"role": "user", "content": f"记忆：{SECRET}"},)
    world.ws.task_queue.submit(AskedTask(id=f"{GROUP}-0123456789-0", kind="reply", group=GROUP, turns=turns))
    for name, content in {
        "inbox.d/new/half.json": f'{{"role": "user", "text": "{SECRET}',
        ".recalld/sessions/chat-0123456789abcdef.jsonl": f'{{"format": 1}}\n{json.dumps({"text": SECRET})}\n',
        f"worker/results/{GROUP}-0123456789-1.json": json.dumps({"text": SECRET}),
        f"worker/failed/{GROUP}.json": json.dumps({"attempts": 3, "inputs": [{"id": "q", "text": SECRET}]}),
        ".recalld/quarantine/history.json.0123456789ab": json.dumps([secret]),
        ".recalld/replaced/memory.md.1": SECRET,
        ".recalld/.seen.jsonl.777-1.tmp": SECRET,
        ".recalld/sessions/.chat-0123456789abcdef.jsonl.777-1.tmp": SECRET,
    }.items():
        world.put(name, content)
    world.ws.index.close()
    return world


def process(root: Path, lived: World, disk: Disk) -> World:
    return World.process(root, lived.clock, Events(root / "log.jsonl", lived.clock, Log()), lived.ws.config, disk)


def is_killed(lived: World, root: Path, operations: int) -> bool:
    """Return whether a forgetting is killed after so many operations; `status` says so, after the next round nothing of it is left."""
    shutil.copytree(lived.root, root)
    with contextlib.suppress(Killed):
        forget(process(root, lived, dying(operations)), "match", "山茶花")
        return False
    again = process(root, lived, RealDisk())
    again.start()
    if again.ws.journal.tombstones.acts():
        wrong, _ = again.verdict()
        assert any("still to be forgotten" in str(why) for why in wrong) == bool(again.ws.journal.tombstones.unfinished())
        again.round()
        again.ws.index.close()
        assert where(again, *WORDS) == []
        assert again.ws.journal.tombstones.unfinished() == ()
        assert sorted(entry["id"] for entry in again.history()) == PLAIN
    ledger = again.fsck()
    assert (ledger.lost, ledger.damage) == ([], [])
    shutil.rmtree(root)
    return True


@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.proof)])
def test_forget_killed_at_any_operation_is_finished_by_the_next_round(lived: World, tmp_path: Path, step: int) -> None:
    operations = 0
    while is_killed(lived, tmp_path / "one", operations):
        operations += step
    assert operations > 100
