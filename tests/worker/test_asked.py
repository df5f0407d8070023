"""What somebody waits for: done before days and months, on a slot of its own, and given up once nobody waits."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.conversation.sessions import session_digest
from recalld.supervisor.host.workers import worker_command
from recalld.supervisor.protocol.task import AskedTask, Result, asked_id, parse_result, render_task
from tests.llm.server import Act, Server
from tests.llm.shop import KEY, ServedWorld
from tests.process.command import until

GROUP = f"session-{session_digest('备份')}"
LINE = Act(text="备份脚本改到凌晨 4:15")


@pytest.fixture
def world(tmp_path: Path, server: Server) -> ServedWorld:
    made = ServedWorld(tmp_path, server, "max_calls_per_day = 20")
    made.task_queue.prepare()
    return made


@pytest.fixture
def waiting(world: ServedWorld) -> Iterator[ExitStack]:
    """Somebody waits: the lock of the session is held until the stack is closed."""
    path = world.paths.session_lock(GROUP.removeprefix("session-"))
    world.files.make_folder(path.parent)
    with ExitStack() as held:
        held.enter_context(world.files.disk.lock_for_life(path, 0))
        yield held


def asked(kind: Any = "session-summary", prompt: str = "总结：备份改到 4:15", **more: Any) -> AskedTask:
    identity = asked_id(GROUP, kind, prompt, 0)
    return AskedTask(id=identity, kind=kind, group=GROUP, prompt=prompt, **more)


def answer_to(world: ServedWorld, task: AskedTask) -> Result:
    found = world.task_queue.answer(task.id)
    assert found
    return found


@pytest.mark.usefixtures("waiting")
def test_worker_says_at_once_that_the_calls_of_the_day_are_spent(world, server):
    world.configure("max_calls_per_day = 0")
    world.task_queue.submit(asked())
    result = world.do()
    assert (result.status, result.reason, result.error) == ("failed", "spent", "the day's calls are used up")
    assert server.seen.calls == 0


def test_worker_gives_up_what_nobody_waits_for_any_more(world, server, waiting):
    server.play("hang")
    world.task_queue.submit(asked())
    worker = world.start_worker(idle_s=60)
    until(lambda: server.seen.calls == 1, worker)
    waiting.close()
    until(lambda: server.seen.gone and world.task_queue.place_of(asked()) == "", worker)
    worker.send_signal(signal.SIGTERM)
    worker.communicate()


def test_supervisor_deletes_an_abandoned_answer_and_notes_its_cost(world, server, waiting):
    server.play(LINE)
    world.task_queue.submit(asked())
    assert world.do().status == "done"
    world.round("none")
    assert answer_to(world, asked()).text == LINE.text
    waiting.close()
    world.round("none")
    assert world.task_queue.place_of(asked()) == ""
    assert world.status()["today"]["promptTokens"] + world.status()["today"]["completionTokens"] == server.seen.tokens > 0


# ── one task at standard input ───────────────────────────────────────────────


def done_at_once(world: ServedWorld, task: AskedTask) -> Result:
    made = subprocess.run(
        [*worker_command(world.root), "--task"],
        input=render_task(task),
        capture_output=True,
        check=True,
        env={"OPENAI_API_KEY": KEY},
    )
    return parse_result(made.stdout)


def test_worker_tests_the_model_though_the_calls_of_the_day_are_spent(world, server):
    server.play(Act(text="ready"))
    world.configure("max_calls_per_day = 0")
    result = done_at_once(world, AskedTask(id="model-test", kind="model-test", prompt="Answer with one word: ready."))
    assert (result.status, result.text, world.ws.calls.today(world.clock())) == ("done", "ready", 0)
    assert (world.root / ".recalld/calls.jsonl").read_bytes().count(b"\n") == server.seen.calls == 1
