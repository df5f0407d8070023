"""The courier against a pool in memory that loses, repeats, reorders and forgets at every call."""

import threading
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from recalld.supervisor.host import workers as workers_module
from recalld.supervisor.host.workers import AskedWorker, workers_of
from recalld.supervisor.pool.cargo import Seal, refusal, unpacked
from recalld.supervisor.protocol.task import AskedTask
from recalld.supervisor.storage.errors import NoSummary
from recalld.supervisor.workspace import Workspace
from recalld.worker.providers import NoCall
from tests.gate import without_comparison
from tests.patience import PATIENCE_S
from tests.pool.memory_pool import SEAL, PoolInMemory, Stepped, carried, courier_of
from tests.simulation.model import ScriptedModel
from tests.world import WITH_MODEL, World, at, message_on

NOW = at("2026-01-31T10:00")
TOLD = "数据库密码是 hunter2-demo，别外传。"


def with_tasks(world: World, *days: str, text: str = "") -> World:
    world.write([message_on(day, **({"text": text} if text else {})) for day in days])
    world.round("all")
    return world


def sent(world: World, *days: str, text: str = "") -> tuple[Stepped, PoolInMemory]:
    """The courier of the workspace, and the pool to which it has brought the tasks of these days."""
    with_tasks(world, *days, text=text)
    pool = PoolInMemory()
    courier = courier_of(world, pool)
    courier.step()
    return courier, pool


def scripted(seed: int, made: list[int]) -> ScriptedModel:
    """A model that answers in time, and notes its calls in *made*."""
    model = ScriptedModel(Random(seed), lambda: None, lambda: made.append(1))
    model.time = "perfect"
    return model


def summaries(world: World) -> list[str]:
    return sorted(path.stem for path in world.paths.summaries.glob("2*.md"))


def test_cargo_has_no_secret_and_no_address(world: World) -> None:
    _, pool = sent(world, "2026-01-10", text=TOLD)
    ((uid, cargo),) = pool.cargo.items()
    data = SEAL.unseal("cargo", uid, cargo.sealed)
    found = unpacked(data)
    assert "hunter2" not in found.blocks[0].text
    assert "[" in found.blocks[0].text
    assert found.config.llm.base_url == ""
    assert "数据库".encode() not in cargo.sealed


def test_calls_are_written_down_before_and_what_is_unused_after(world: World) -> None:
    courier, pool = sent(world, "2026-01-10")
    assert world.ws.calls.today(world.clock()) == 1
    carried(courier, pool, world.model, world.clock)
    assert world.ws.calls.today(world.clock()) == 0  # the model of this test makes no call
    pool.results += [answer.uid for answer in pool.delivered]
    pool.done |= {answer.uid: answer for answer in pool.delivered}
    world.ws.calls.begin(world.clock(), None)
    courier.step()
    assert world.ws.calls.today(world.clock()) == 1  # an answer that comes twice gives nothing back twice


@pytest.mark.parametrize("kind", ["another key", "cut", "changed", "of another task", "newer"])
def test_cargo_that_is_not_right_is_refused_and_costs_nothing(world: World, kind: str) -> None:
    courier, pool = sent(world, "2026-01-10", "2026-01-11")
    sealed = {uid: cargo.sealed for uid, cargo in pool.cargo.items()}
    first, second = sealed
    wrong = {
        "cut": sealed[first][:-3],
        "changed": sealed[first][:40] + bytes([sealed[first][40] ^ 1]) + sealed[first][41:],
        "of another task": sealed[second],
        "newer": b"\x02" + sealed[first][1:],
    }.get(kind, sealed[first])
    pool.cargo = {first: type(pool.cargo[first])(first, wrong)}
    pool.work(world.model, world.clock, Seal([b"\x01" * 32]) if kind == "another key" else SEAL)
    courier.step()
    assert not world.model.requests
    why = {"another key": "key", "newer": "newer"}.get(kind, "changed")
    assert world.events.of("pool_waits") == [{"why": refusal(why)}]
    assert sorted(path.name for path in (world.root / "worker/queue").glob("day-*"))


def test_courier_forgets_what_nobody_wants_any_more(world: World) -> None:
    courier, pool = sent(world, "2026-01-10")
    for path in (world.root / "worker/running").glob("day-*"):
        path.unlink()
    for _ in range(20):
        courier.step()
    assert courier.out == []
    assert not pool.cargo


def test_answer_to_a_courier_that_ended_waits_for_the_next(world: World) -> None:
    courier, pool = sent(world, "2026-01-10")
    (uid,) = pool.running = set(pool.cargo)
    courier.close()
    assert pool.cargo  # what is begun is paid
    pool.running.clear()
    pool.work(world.model, world.clock)
    courier_of(world, pool).step()
    assert [answer.uid for answer in pool.delivered] == [uid]
    assert [path.stem for path in (world.root / "worker/results").iterdir()] == [uid.partition(".")[2]]


def pooled(world: World) -> Workspace:
    """The workspace with a pool at an address where nobody answers."""
    ws = world.reopen(f'{WITH_MODEL}[pool]\nurl = "redis://127.0.0.1:9/0"\n').ws
    ws.environ = {"RECALLD_POOL_KEY": "A" * 43 + "="}
    ws.task_queue.prepare()
    return ws


def test_courier_has_a_thread_from_the_first_task_until_it_is_stopped(world: World) -> None:
    workers, before = workers_of(pooled(world), world.clock), set(threading.enumerate())
    workers.start_if_needed()
    assert set(threading.enumerate()) <= before, "nothing to do"
    with_tasks(world, "2026-01-10")
    workers.start_if_needed(is_quiet=True)
    assert set(threading.enumerate()) <= before, "it can wait"
    workers.start_if_needed()
    (courier,) = (thread for thread in set(threading.enumerate()) - before if thread.name == "courier")
    workers.stop()
    courier.join(PATIENCE_S)
    assert not courier.is_alive()


@pytest.mark.parametrize("kind", ["reply", "session-summary"])
def test_courier_begins_for_what_somebody_waits_for_at_any_hour(world: World, kind: Any) -> None:
    ws = pooled(world)
    group = f"{kind.partition('-')[0]}-{'0' * 16}"
    ws.task_queue.submit(AskedTask(id=f"{group}-{'0' * 10}-0", kind=kind, group=group, prompt="周五部署吗？"))
    workers = workers_of(ws, world.clock)
    workers.start_if_needed(is_quiet=True)
    assert "courier" in {thread.name for thread in threading.enumerate()}
    workers.stop()


def test_who_waits_for_a_pool_that_takes_nothing_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "_CARRIED_S", 0.0)
    worker = AskedWorker(pooled(world))
    worker.ensure(is_claimed=True)
    with pytest.raises(NoSummary, match="the pool takes none"):
        worker.ensure(is_claimed=False)


def test_who_waits_for_a_pool_waits_anew_after_each_claim(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "_CARRIED_S", 0.0)
    worker = AskedWorker(pooled(world))
    monkeypatch.setattr(workers_module, "_CARRIED_S", 3600.0)
    worker.ensure(is_claimed=True)
    worker.ensure(is_claimed=False)


def test_answer_comes_again_once_the_disk_takes_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    courier, pool = sent(world, "2026-01-10")
    pool.work(world.model, world.clock)

    def refuses(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as disk:
        for name in ("_touch", "_take_in", "_claim", "_unlock_if_idle"):
            disk.setattr(courier, name, refuses)
        for _ in range(4):
            courier.step()
    assert pool.done
    assert world.events.of("pool_waits")
    courier.step()
    assert list((world.root / "worker/results").iterdir())
    assert not pool.done
    assert len(world.events.of("pool_goes_on")) == len(world.events.of("pool_waits")), "nothing is refused any more"


def test_task_that_needs_more_calls_than_reserved_comes_again_with_more(world: World) -> None:
    with_tasks(world, "2026-01-10")
    pool = PoolInMemory()
    courier = courier_of(world, pool)
    model = scripted(1, [])
    complete = model.complete

    def twice(prompt: Any, **given: Any) -> Any:
        given["calling"]()  # as a server makes it that refuses a parameter first
        return complete(prompt, **given)

    model.complete = twice  # type: ignore[method-assign]
    assert carried(courier, pool, model, world.clock) == 2
    world.round("none")
    assert summaries(world) == ["2026-01-10"]
    assert world.ws.calls.today(world.clock()) == 3  # one was made in vain


def forgetful(tmp_path: Path, seed: int, cap: int) -> tuple[World, PoolInMemory, Stepped, ScriptedModel, list[int]]:
    """Six days that are due in a workspace whose pool forgets, and the model with its calls, of which *cap* are allowed."""
    world, made = World(tmp_path, NOW, f"{WITH_MODEL}max_calls_per_day = {cap}\n"), list[int]()
    pool = PoolInMemory(Random(seed), mischief=30)
    courier = courier_of(world, pool)
    with_tasks(world, *(f"2026-01-{day}" for day in range(10, 16)))
    return world, pool, courier, scripted(seed, made), made


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_in_a_pool_that_forgets_at_every_call(tmp_path: Path, seed: int) -> None:
    world, pool, courier, model, made = forgetful(tmp_path, seed, 40)
    with without_comparison():
        for _ in range(8):
            carried(courier, pool, model, world.clock)
            world.round("none")
    assert summaries(world) == [f"2026-01-{day}" for day in range(10, 16)]
    assert len(world.events.of("summarised")) == 6  # none twice
    assert world.ws.calls.today(world.clock()) <= 40
    assert not list((world.root / "worker/running").iterdir())
    assert not world.files.disk.is_locked(world.paths.worker_lock(0))
    assert world.ws.calls.today(world.clock()) >= len(made)


@pytest.mark.proof
def test_cap_holds_though_the_pool_forgets(tmp_path: Path) -> None:
    world, pool, courier, model, made = forgetful(tmp_path, 3, 3)
    for _ in range(200):
        courier.step()
        with suppress(NoCall):
            pool.work(model, world.clock)
    assert len(made) <= 3
