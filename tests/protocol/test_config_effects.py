"""Every key of the configuration changes something that can be seen from outside, or is on the list of those that wait."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import sys
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from recalld import register_all_tools
from recalld.supervisor.checks import services
from recalld.supervisor.checks.check import Look
from recalld.supervisor.events import EventLog
from recalld.supervisor.host.workers import CourierWorkers, Workers, workers_of
from recalld.supervisor.importing.sources import state_of, take_in
from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.interfaces.hooks.turn import answer
from recalld.supervisor.interfaces.proxy.auxiliary import is_auxiliary
from recalld.supervisor.interfaces.proxy.talk import read_talk
from recalld.supervisor.interfaces.serve import Answers, HttpService, file_turns
from recalld.supervisor.operations.long_term import WriteRequest, write
from recalld.supervisor.operations.opening import OpeningRequest, opening
from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.pool.cargo import unpacked
from recalld.supervisor.protocol.config import Config, literal
from recalld.supervisor.protocol.inbox import Chat
from recalld.supervisor.protocol.paths import check_filesystem
from recalld.supervisor.protocol.settings import dotted, keys
from recalld.supervisor.recall.embeddings import Server
from recalld.supervisor.storage.control import UNLIMITED
from recalld.supervisor.storage.errors import BadConfig, NoSummary
from recalld.worker.__main__ import main
from recalld.worker.providers import choose
from tests.conversation.talk import Scripted
from tests.http.service import Service
from tests.llm import server as llm
from tests.llm.shop import SENTENCES
from tests.patience import PATIENCE_S
from tests.pool.memory_pool import SEAL, PoolInMemory
from tests.pool.stations import Stepped, station_of
from tests.process.command import until
from tests.recall import vectors
from tests.world import ZONE, FaultyDisk, World, at, message, message_on, parsed, signals_as_they_were, talk, unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recalld.supervisor.conversation.memory_manager import MemoryManager

ROOT = Path(__file__).parents[2]
NOW = at("2026-01-31T10:00")
KEYS = {dotted(place): key for place, key in keys(Config()).items()}


#: Where no server listens; a probe with a server puts the server's address in its place.
NOWHERE = "http://127.0.0.1:9/v1"
ELSEWHERE = "http://127.0.0.1:7/v1"
SERVED = {"llm.base_url": NOWHERE, "llm.model": "qwen-test"}
VECTORS = {"recall.backend": "hybrid", "recall.timeout_ms": 60_000, "embeddings.base_url": NOWHERE, "embeddings.model": "bge"}
#: An address that no machine has.
SERVED_AFAR = {"serve.host": "192.0.2.1", "serve.port": 28379}
EVENING = "2026-01-30T09:00"
#: Of a number that another formula would change: only that it is another one.
DIFFERS = object()
PEANUT = "我对花生过敏，点外卖要备注。"
LONG_LINE = f"花生过敏的事：{'先查备份，再看日志，' * 30}花生放在柜子里。"


@dataclass(frozen=True)
class Effect:
    """What *probe* observes for each value of a key, in a workspace that is otherwise configured as *beside*."""

    probe: Callable[[World], object]
    observed: dict[Any, object]
    beside: dict[str, Any] = field(default_factory=dict)


def of_the_pool(world: World) -> CourierWorkers:
    """What brings the tasks of the workspace to its pool, which is not reached here."""
    world.ws.environ = {"RECALLD_POOL_KEY": "A" * 43 + "="}
    found = workers_of(world.ws, world.clock)
    assert isinstance(found, CourierWorkers)
    return found


def who_does_tasks(world: World) -> str:
    world.ws.environ = {"RECALLD_POOL_KEY": "A" * 43 + "="}
    return type(workers_of(world.ws, world.clock)).__name__


def has_the_key_of_the_pool(world: World) -> bool:
    try:
        return bool(of_the_pool(world))
    except BadConfig:
        return False


def tasks_offered(world: World) -> tuple[int, set[str]]:
    """How many tasks are offered to a pool with much room, and the profiles that they name."""
    world.write([message_on(f"2026-01-{day}") for day in range(10, 16)])
    world.round("all")
    pool = PoolInMemory()
    Stepped(pool, station_of(world), window=world.ws.config.pool.window).step()
    found = [unpacked(SEAL.unseal("cargo", uid, cargo.sealed)) for uid, cargo in pool.cargo.items()]
    return len(found), {one.profile for one in found}


def is_overdue_after_a_minute(world: World) -> bool:
    world.write([message_on("2026-01-10")])
    world.round("all")
    station = station_of(world)
    parcel = station.claim(0.0)
    assert parcel
    return station.is_overdue(parcel, 61.0)


POOLED = {"pool.url": "redis://127.0.0.1:9/0"}


def of_the_service(world: World) -> list[object]:
    """What the supervisor reports of its HTTP service: why there is none, or None."""
    service = HttpService(Answers(lambda: world.ws), world.clock)
    with service:
        service.use(world.ws)
        if world.ws.config.serve.port:
            until(lambda: world.events.all)
    return [fields.get("reason") for name, fields in world.events.all if name.startswith("port_")]


def status_of_the_proxy(world: World) -> int:
    """What a client of the proxy gets that asks for the models."""
    with Service(world.root / "served", str(world.toml)) as service:
        return service.ask("GET", "/v1/models").status_code


def is_skipped_by_the_proxy(world: World) -> bool:
    talk = read_talk("chat/completions", '{"messages": [{"role": "user", "content": "起个标题：部署"}]}'.encode())
    assert talk
    return is_auxiliary(talk, world.ws.config.serve.skip)


# ── archive ──────────────────────────────────────────────────────────────────


def messages_left(world: World) -> int:
    """How many of ten written messages of yesterday, of 600 bytes each, stay in history.json."""
    world.write([message(f"m{n}", EVENING, "花生" * 100) for n in range(10)])
    world.round("all")
    return len(world.history())


def messages_left_without_summary(world: World) -> int:
    """The same of an old day that no summary covers yet."""
    world.write([message(f"m{n}", "2026-01-10T09:00") for n in range(10)])
    world.round("all")
    return len(world.history())


def dated_file(world: World) -> str:
    """The name of the dated file of a message of half past eleven in the evening, UTC."""
    world.write([message("m1", "2026-01-29T23:30:00+00:00", "deploy nginx rollback cloudflare certificate renewal")])
    world.round("all")
    return world.names()[0]


def day_of_the_file(world: World) -> str:
    return dated_file(world)[: len("2026-01-29")]


def slug(world: World) -> str:
    return dated_file(world)[len("2026-01-29-") :].removesuffix(".md")


def slug_of_a_chinese_day(world: World) -> str:
    world.write([message("m1", "2026-01-29T09:00:00+00:00", "我对花生过敏")])
    world.round("all")
    return world.names()[0][len("2026-01-29-") :].removesuffix(".md")


def submitted_tasks(world: World) -> int:
    """How many tasks three days become that are three weeks old, and one of three days ago."""
    world.write([message_on(day) for day in ("2026-01-08", "2026-01-09", "2026-01-10", "2026-01-28")])
    world.round("all")
    return world.ws.task_queue.queued_count()


def why_due_with_three_messages(world: World) -> str | None:
    """Why a run is due for three messages, the oldest of two hours ago."""
    world.write(talk("2026-01-31T08:00", 3))
    world.intake()
    return world.why_due()


def why_due_soon_after_an_overflow(world: World) -> str | None:
    """Why a run is due five minutes after the last one, when there are three messages more."""
    world.write(talk("2026-01-31T09:00", 3))
    world.round("all")
    world.forward(minutes=5).add(*talk("2026-01-31T10:04", 3))
    world.intake()
    return world.why_due()


def archived_of_an_open_question(world: World) -> int:
    world.write([message("m1", "2026-01-31T09:55")])
    world.intake()
    return world.archive()


def summary_of_three_hundred_characters(world: World) -> list[str]:
    """The summaries that are there when the model has written three hundred characters."""
    things = (
        "自行车的编号是 7731，放在地下室",
        "保险一年要交 240 元，十月到期",
        "房东姓顾，暖气归他管",
        "疫苗是三月打的，下次在九月",
    )
    more = ("钥匙在鞋柜最上面那一格", "猫粮在楼下那家店买，每袋 89 元", "网费改成了每月 60 元", "医生说先停两周的咖啡")
    said = [*things, *more, "搬家公司定在周五上午", "旧沙发送给隔壁的老许", "花生过敏的药放在书桌左边", "车位号是 B2-117"]
    world.model.script = lambda *_: "## 家里\n\n" + "\n".join(f"- 记下：{one}" for one in said)
    world.write([message_on("2026-01-10", str(n), f"{one}，这件事帮我记一下。") for n, one in enumerate(said)])
    world.settle()
    return world.standing()


def fail_summaries(world: World, times: int) -> None:
    world.model.script = unreachable
    world.write([message_on("2026-01-10")])
    for _ in range(times):
        world.round("all")
        assert world.work() == 1
        world.round("all")
        world.forward(days=2)


def wait_after_failures(times: int) -> Callable[[World], object]:
    """Minutes between that failure and the next try."""

    def probe(world: World) -> object:
        fail_summaries(world, times)
        (failure,) = world.ws.failures().values()
        return round((failure.next_at - failure.failed_at).total_seconds() / 60, 1)

    return probe


def backlog_after_one_failure(world: World) -> int:
    fail_summaries(world, 1)
    return len(world.events.of("archive_backlog"))


def tries_to_write(world: World) -> int:
    """How often a supervisor tries to write a dated file in 15 looks, 20 s apart, while the disk refuses it."""
    disk = FaultyDisk("create", refuses=lambda _call, path: "2026-01-30" in path.name)
    world.reopen(disk=disk)
    world.write([message("m1", EVENING)])
    supervisor = world.supervisor()
    for _ in range(15):
        supervisor.tick(world.clock())
        world.forward(seconds=20)
    return disk.count("create", ".2026-01-30") + disk.count("create", "2026-01-30")


def found_time_of_a_message_from_the_future(world: World) -> bool:
    """Whether a message of two hours ahead is given another time."""
    world.write([message("m1", "2026-01-31T12:00")])
    world.intake()
    return "createdAtFound" in world.history()[0]


def restored_in_half_a_minute(world: World) -> int:
    world.write([message("m1", EVENING)])
    world.round("all")
    supervisor = world.supervisor()
    world.write(b"[{broken")
    for _ in range(2):
        supervisor.tick(world.clock())
        world.forward(seconds=30)
    return len(world.events.of("history_restored"))


# ── recall and context ───────────────────────────────────────────────────────


def remember(world: World, *texts: str, day: str = "2026-01-29", **more: Any) -> None:
    world.write([message(f"m{n}", f"{day}T{9 + n:02d}:00", text, **more) for n, text in enumerate(texts)])
    world.settle()
    world.refresh()


def block(world: World, *texts: str, question: str = "花生过敏吗") -> str:
    """The memory block for a question about peanuts, when *texts* were said."""
    remember(world, *(texts or (PEANUT, "花生酱也不行。", "花生油可以。")))
    return world.inject(question).memory


def secret_that_was_asked_for(world: World) -> bool:
    return "hunter2-demo" in block(world, "路由器的密码是 hunter2-demo，别忘了。", question="路由器密码是多少")


def is_said_in_english(world: World) -> bool:
    return "Quoted from memory" in block(world)


def hits_shown(world: World) -> int:
    remember(world, PEANUT, day="2026-01-28")
    world.add(message("b", "2026-01-29T09:00", "花生酱也不行。"))
    world.settle()
    world.refresh()
    return len(world.inject("花生过敏吗").shown)


def words_of_a_hit(world: World) -> bool:
    """Whether a line that has nothing to do with the question is shown beside the one that matters."""
    return block(world).count("花生") > 1


def is_a_long_line_shown(world: World) -> bool:
    return max(map(len, block(world, LONG_LINE).splitlines())) > 150


def is_a_long_block_shown(world: World) -> bool:
    return len(block(world, *(f"花生过敏的事，第 {n} 条：{'先查备份，' * 5}" for n in range(5)))) > 200


def is_memory_md_shown(world: World) -> bool:
    world.put("memory.md", "# 始终\n- 用户住在杭州。\n")
    return "杭州" in world.inject("澳大利亚袋鼠").memory


def citations(world: World) -> bool:
    return "#L" in block(world)


def line_of_a_miss(world: World) -> bool:
    return bool(block(world, question="澳大利亚袋鼠"))


def has_a_note(world: World) -> bool:
    return "不是指令" in block(world)


def said_in_a_group(world: World) -> list[str]:
    """What of a direct talk, and of the group's own, is shown in a group."""
    group = {"session": "agent:main:telegram:group:-1001"}
    world.write(
        [
            message("m1", "2026-01-28T09:00", "花生放在柜子里。"),
            message("m2", "2026-01-29T09:00", "花生酱放在桌子上。", **group),
        ]
    )
    world.settle()
    world.refresh()
    asked = world.read_input("花生放在哪里", chat=Chat("group", group["session"]))
    text = world.inject(asked, world.search(asked.question)).memory
    return [place for place in ("柜子", "桌子") if place in text]


def who_reads_a_session(world: World) -> str:
    world.write([message("m1", "2026-01-28T09:00", "周五开会", session="工作组", chat="group")])
    return Caller(session="工作组", clock=world.clock).audience(world.ws).chat.kind


def what_a_session_begins_with(world: World) -> bool:
    (world.ws.paths.root / "memory.md").write_text("2026-01-20|web-chat|护照在保险柜里\n", encoding="utf-8")
    return "保险柜" in perform(opening, world.ws, OpeningRequest(), Caller(clock=world.clock)).text


def said_elsewhere(world: World) -> list[str]:
    """What of two projects is shown, in its order, to who asks in the second one."""
    world.write(
        [
            message("m1", "2026-01-29T09:00", "端口号：开发服务器的端口号是 8080。", project="/home/mia/blog"),
            message("m2", "2026-01-28T09:00", "开发服务器的端口号是 9090。", project="/home/mia/shop"),
        ]
    )
    world.settle()
    world.refresh()
    text = Memory(world.ws, clock=world.clock).inject("开发服务器的端口号是多少", project="/home/mia/shop").memory
    return sorted((port for port in ("8080", "9090") if port in text), key=text.index)


def project_of_a_worktree(world: World) -> str:
    event = {"session_id": "s", "prompt_id": "p", "hook_event_name": "UserPromptSubmit", "prompt": "端口号是 8080"}
    asked = {"client": "claude-code", "event": event, "size": 1, "project": "/home/mia/shop", "worktree": "/home/mia/pay"}
    answer(world.ws, asked, world.clock, keep_fresh=False)
    return str(json.loads(world.ws.paths.history.read_bytes())[-1]["project"])


def how_it_was_found(world: World) -> str:
    remember(world, PEANUT)
    return world.search("花生过敏吗").how


def scores(world: World) -> tuple[float, ...]:
    remember(world, PEANUT, f"花生花生花生{'，别的也要记' * 30}")
    world.add(message("other", "2026-01-30T09:00", "今天下雨，明天去书店。"))
    world.settle()
    world.refresh()
    return tuple(hit.score for hit in world.search("花生 下雨").hits)


def terms_of_a_long_question(world: World) -> int:
    return len(world.search("nginx cloudflare certificate rollback").terms)


def terms_of_a_question_that_refers_back(world: World) -> bool:
    before = parsed(message("m1", world.clock().isoformat(), "cloudflare 的证书什么时候到期？"))
    return "证书" in world.search("那个呢？", [before]).terms


def finds_the_original(world: World) -> bool:
    """Whether words that no summary has are found in the original that it covers."""
    world.model.script = lambda *_: "## 备份\n\n备份放在 /srv/backup。"
    remember(world, PEANUT, day="2026-01-10")
    return any("originals/" in path for path in world.found_paths("花生过敏吗"))


def has_a_second_for_the_backend(world: World) -> bool:
    """Whether a backend that a turn asks has more than a second for its answer."""
    given: list[float] = []

    class Patient(Server):
        def vectors(self, texts: Any, within_s: float, *, asks: bool = False) -> Any:
            if asks:
                given.append(within_s)
            return super().vectors(texts, within_s, asks=asks)

    embedded(world, Patient)
    return any(span > 1 for span in given)


def talked(world: World, text: str = "我们在说花生和杏仁的事") -> Any:
    """The turn after thirty messages of today."""
    world.write([message(f"m{n:02d}", f"2026-01-31T09:{n:02d}", f"{text}，第 {n} 条。") for n in range(30)])
    return world.context("花生过敏吗")


def messages_of_the_talk(world: World) -> int:
    return len(talked(world).history)


def tokens_of_the_talk(world: World) -> bool:
    return talked(world).history_tokens > 300


def long_messages_of_the_talk(world: World) -> int:
    return len(talked(world, "花生" * 50).history)


def is_a_long_message_whole(world: World) -> bool:
    return all(said.is_whole for said in talked(world, "花生" * 50).history)


def place_of_memory(world: World) -> tuple[list[str], str]:
    """The roles of a turn with memory, and the role of the message in which memory stands."""
    world.write([message("m1", "2026-01-28T09:00", "花生放在柜子里。")])
    world.settle()
    world.refresh()
    world.write([])
    made = world.context("花生放在哪里", world.search("花生放在哪里"), "你是小记。").messages
    return [one["role"] for one in made], next(one["role"] for one in made if "柜子" in one["content"])


def roles_of_an_unanswered_talk(world: World) -> list[str]:
    world.write([message("m1", "2026-01-31T09:00", "早。"), message("m2", "2026-01-31T09:01", "在吗？")])
    return [one["role"] for one in world.context("你好？", world.search("你好？")).messages]


# ── the worker and its model ─────────────────────────────────────────────────


def served(world: World, *acts: Any, say: str = "") -> llm.Seen:
    """What a model's server is asked for the summary of an old day; it takes the place of NOWHERE."""
    with llm.Server() as server:
        if acts:
            server.play(*acts)
        world.reopen(world.toml.replace(NOWHERE, server.url))
        world.write([message("m1", "2026-01-10T09:00", say or SENTENCES[0])])
        world.round("all")
        environ = {"OPENAI_API_KEY": "sk-one", "OTHER_KEY": "sk-two"}
        world.worker(model=choose(world.ws.config, environ)).run_once()
        world.round("all")
        return server.seen


def answered(world: World, *acts: Any) -> llm.Seen:
    """What a model's server is asked for two inputs, one after the other; it takes the place of NOWHERE."""
    with llm.Server() as server:
        server.play(*acts or [llm.Act(text="好。")])
        world.reopen(world.toml.replace(NOWHERE, server.url))
        world.ws.prepare()
        turns = file_turns(world.ws, world.clock, has_worker=False)
        for number in (1, 2):
            world.ask({"id": f"q{number}", "text": "几点？", "createdAt": "2026-01-31T01:00:00.000Z"})
            while turns and turns.step() < 1:
                world.worker(model=choose(world.ws.config, {})).run_once(asked_only=True)
        return server.seen


def inputs_answered(world: World) -> int:
    return answered(world).calls


def tries_of_a_mute_model(world: World) -> int:
    return answered(world, "empty").calls


def model_called(world: World) -> int:
    return served(world).calls


def model_named(world: World) -> str:
    return served(world).bodies[0]["model"]


def temperature(world: World) -> float:
    return served(world).bodies[0]["temperature"]


def key_sent(world: World) -> str:
    headers = {name.lower(): value for name, value in served(world).headers[0].items()}
    return headers["authorization"]


def longer_than_a_second(limit: timedelta) -> float:
    """How many seconds a model takes that needs more than one: many more if it has one, since who waits may look late."""
    return 1.2 if limit > timedelta(seconds=1) else PATIENCE_S


def summary_of_a_slow_model(world: World) -> list[str]:
    served(
        world,
        llm.Act("部署超时改成 30 秒，备份在 /srv/backup。", wait_s=longer_than_a_second(world.ws.config.llm.timeout)),
        say="部署时超时改成 30 秒，备份放在 /srv/backup。",
    )
    return world.standing()


def where_a_secret_is(world: World) -> str:
    prompt = served(world, say="密码是 hunter2-demo，别忘了。").prompts[0]
    memory = "".join(path.read_text("utf-8") for path in (world.root / "memory").rglob("2*.md"))
    return ", ".join(place for place, text in (("memory", memory), ("prompt", prompt)) if "hunter2-demo" in text)


def mail_that_is_stored(world: World) -> bool:
    world.append({"role": "user", "text": "写信给 anna@example.com"})
    return "anna@example.com" in world.history()[0]["text"]


def number_in_the_prompt(world: World) -> bool:
    return "工号 778899" in served(world, say="工号 778899 的人今天请假，备份脚本改到凌晨。").prompts[0]


def calls_for_a_long_day(world: World) -> bool:
    """Whether a day of some 3,000 tokens goes to the model in more than one piece."""
    return served(world, say="".join(SENTENCES) * 40).calls > 1


def calls_for_a_chinese_day(world: World) -> bool:
    return served(world, say=SENTENCES[0] * 80).calls > 1


@contextlib.contextmanager
def by_the_clock_of(world: World, module: str) -> Iterator[None]:
    """Have the module measure time by the clock that the test cranks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{module}.time", world.clock)
        yield


def run_worker(world: World) -> None:
    """Let a worker run in this process until it has done what is queued."""
    with signals_as_they_were():
        world.worker().run(0, lambda _: None)


def two_tasks_at_once(world: World) -> bool:
    world.write([message_on("2026-01-09"), message_on("2026-01-10")])
    world.round("all")
    both, met = threading.Barrier(2), []

    def script(*_: object) -> str:
        try:
            both.wait(PATIENCE_S if world.ws.config.worker.concurrency > 1 else 0.7)
            met.append(True)
        except threading.BrokenBarrierError:
            pass  # nobody else is at work
        return "## 备份\n\n备份放在 /srv/backup。"

    world.model.script = script
    run_worker(world)
    return bool(met)


def beats_while_it_works(world: World) -> bool:
    """Whether the running file is touched while the model takes its time."""
    world.write([message_on("2026-01-10")])
    world.round("all")
    seen: set[int] = set()
    most_s = PATIENCE_S if world.ws.config.worker.beat < timedelta(seconds=1) else 0.8

    def script(*_: object) -> str:
        with contextlib.suppress(AssertionError):  # it is not touched
            until(lambda: seen.update(world.ws.task_queue.claimed().values()) or len(seen) > 1, most_s=most_s)
        return "## 备份\n\n备份放在 /srv/backup。"

    world.model.script = script
    run_worker(world)
    return len(seen) > 1


def put_back_in_a_minute(world: World) -> int:
    """How many tasks of a worker that was killed are put back within a minute."""
    world.write([message_on("2026-01-10")])
    world.round("all")
    world.ws.task_queue.claim()
    workers = Workers(world.ws, world.clock)
    with by_the_clock_of(world, "recalld.supervisor.host.workers"):
        for _ in range(2):
            workers.watch_leases()
            world.forward(seconds=60)
    return len(world.events.of("task_put_back"))


def does_what_comes_a_minute_later(world: World) -> bool:
    """Whether a worker that found nothing at first does a task that is submitted a minute later."""
    (world.root / "recalld.toml").write_text(world.toml, encoding="utf-8")
    world.write([message_on("2026-01-10")])

    def clock() -> float:
        world.forward(seconds=30)
        if world.clock.seconds == 90:
            world.round("all")
        return world.clock.seconds

    with signals_as_they_were(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["worker", "--workspace", str(world.root)])
        patch.setattr("recalld.worker.loop.time", SimpleNamespace(monotonic=clock))  # each look is half a minute later
        assert main() == 0
    return bool(world.ws.task_queue.finished())


# ── a running conversation ───────────────────────────────────────────────────


def running_talk(world: World) -> MemoryManager:
    """Four turns with a model that sums them up."""
    running = Memory(world.ws).conversation(Scripted(lambda _: PEANUT), "你是助手。")
    for n in range(4):
        running.add({"role": "user", "content": f"点外卖第 {n} 次，花生怎么办？"})
        running.add({"role": "assistant", "content": f"第 {n} 次也备注对花生过敏。"})
    return running


def is_a_talk_too_long(world: World) -> bool:
    return running_talk(world).needs_summary()


def messages_that_stay(world: World) -> int:
    running = running_talk(world)
    running.summarize()
    return len(running.pending)


def role_with_the_summary(world: World) -> str:
    running = running_talk(world)
    running.summarize()
    running.add({"role": "user", "content": "现在呢？"})
    return next(one["role"] for one in running.recompose() if "对话历史总结" in one["content"])


# ── vectors ──────────────────────────────────────────────────────────────────


def embedded(world: World, client: Any = Server) -> vectors.Server:
    """A server of embeddings that was shown memory, and asked once; it takes the place of NOWHERE."""
    remember(world, PEANUT)
    with vectors.Server() as server:
        world.reopen(world.toml.replace(NOWHERE, server.url))
        world.ws = type(world.ws)(
            world.root, world.ws.config, world.files, world.events, {"OPENAI_API_KEY": "sk-one", "OTHER_KEY": "sk-two"}
        )
        world.refresh()
        if made := world.ws.meaning and world.ws.meaning.embedder():
            world.ws.meaning._made = [(client(world.ws.config, world.ws.environ), made[1])]
        world.make_vectors()
        world.search("花生过敏吗")
        return server


def texts_embedded(world: World) -> int:
    return len(embedded(world).asked)


def key_of_the_vectors(world: World) -> str:
    return embedded(world).headers[0]["authorization"]


def backend_that_can_be_had(world: World) -> int:
    embedded(world)
    return len(world.events.of("backend_failed"))


def how_near_it_counts(world: World) -> int:
    """How many of the questions that were asked the server has got."""
    return [text for batch in embedded(world).asked for text in batch].count("花生过敏吗")


def question_embedded(world: World) -> str:
    return embedded(world).asked[-1][-1]


def last_text_embedded(world: World) -> str:
    return embedded(world).asked[1][0]


def vectors_in_megabytes(world: World) -> bool:
    """Whether the vectors of 5,000 texts take more than 1.2 MB."""
    with vectors.Server() as server:
        world.reopen(world.toml.replace(NOWHERE, server.url))
        for n in range(100):
            world.note(f"2025-01-{1 + n % 28:02}-note-{n}.md", "".join(f"- 第 {n} 家店的第 {m} 样东西\n" for m in range(50)))
        world.refresh()
        world.make_vectors()
    return sum(path.stat().st_size for path in world.paths.vectors.iterdir()) > 1_200_000


# ── the service ──────────────────────────────────────────────────────────────


def inbox_told_broken_in_two_seconds(world: World) -> int:
    """Events of an inbox that is broken, two seconds after it was written."""
    world.put("inbox.json", b"[{")
    prepared = world.prepared_contexts()
    with by_the_clock_of(world, "recalld.supervisor.context.prepared"):
        prepared.update()
        world.forward(seconds=2)
        prepared.update()
    return len(world.events.of("inbox_invalid"))


def looks_at_the_tree(world: World) -> bool:
    """Whether a supervisor that looks each second sees a note two seconds after it was written."""

    class Alone:
        def check(self) -> None:
            """It is alone."""

    supervisor = world.supervisor()
    seen = []
    for n in range(10):
        world.forward(seconds=1)
        if n == 6:
            world.put("memory/笔记.md", "花生".encode())
        seen.append(supervisor.poll(Alone()))  # type: ignore[arg-type]
        supervisor.work()
    return any(seen[6:8])


def copies_kept(world: World) -> int:
    for n in range(3):
        world.write(b"[{broken" + bytes([n]))
        world.round()
    return len(list(world.paths.quarantine.iterdir()))


def texts_left(world: World) -> int:
    """How many of two texts of 700 kB are left that were replaced now and forty days ago."""
    for days in (0, 40):
        world.ws.replaced_texts.keep(f"花园.{days}.md", bytes([days]) * 700_000)
        os.utime(world.paths.previous / f"花园.{days}.md", (world.clock().timestamp() - days * 86_400,) * 2)
    world.round()
    return len(list(world.paths.previous.iterdir()))


def pruned_files_left(world: World) -> int:
    """How many files are left of one that was pruned forty days before another one."""
    for days in (0, 40):
        path = world.put(f"trash/2025-01-0{days // 40 + 1}-x.md", "x")
        os.utime(path, (world.clock().timestamp() - days * 86_400,) * 2)
    world.round()
    return len(list(world.paths.trash.iterdir())) - 1


def is_told_in_the_diary(world: World) -> bool:
    world.diary = True
    world.reopen()
    perform(write, world.ws, WriteRequest(content="对青霉素过敏"), Caller(clock=world.clock))
    return world.paths.diary.exists()


def opens_on_a_network_disk(world: World) -> bool:
    mounts = world.root / "mountinfo"
    mounts.write_text(f"30 22 0:26 / {world.root.resolve()} rw - nfs4 server:/export rw\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recalld.supervisor.protocol.paths._MOUNTS", str(mounts))
        try:
            check_filesystem(world.paths, allow_network_fs=world.ws.config.care.allow_network_fs)
        except BadConfig:
            return False
    return True


def packed_logs(world: World) -> int:
    """How many packed logs there are after forty days with fifty events each."""
    log = EventLog(world.paths.log, world.clock, world.ws.config.log)
    for _ in range(40):
        for n in range(50):
            log.emit("archived", messages=n, files=1)
        world.forward(days=1)
    return len(list(world.root.glob("log-*.jsonl.gz")))


def submitted_at_ten(world: World) -> int:
    """How many summaries the supervisor asks for at ten in the morning."""
    world.write([message_on("2026-01-10")])
    return world.supervisor().tick(world.clock()).submitted


def told_of_a_damaged_history(world: World) -> str:
    """What the user's command has written after a night with a damaged history.json."""
    world.write(b"[")
    world.report()
    told = world.root / "told"
    return told.read_text(encoding="utf-8") if told.exists() else ""


#: By key: what is observed for two values of it, or more.
# ── tools ────────────────────────────────────────────────────────────────────


def lines_found(world: World) -> int:
    """How many of 20 lines a line search returns."""
    world.put("memory.md", "".join(f"2026-01-{n:02}|web-chat|花生第 {n} 次\n" for n in range(1, 21)))
    tools = register_all_tools(Memory(world.ws, clock=world.clock))
    return len(tools.call("memory_search", {"keywords": "花生"}).data["results"])  # type: ignore[index]


def messages_that_overflow(world: World) -> int:
    """How many of eight messages of a session are summed up before its history is loaded."""
    world.write([{**one, "session": "web"} for one in talk(EVENING, 8)])
    model = Scripted(lambda _: "备份放在 /srv/backup；超时改成 30 秒")
    Memory(world.ws, clock=world.clock).summarize_overflow("web", llm=model)
    return sum(prompt.count(" 条）") for prompt in model.prompts)


def line_of_a_slow_model(world: World) -> bool:
    """Whether a turn waits for a model that takes longer than a second."""
    world.write([{**one, "session": "web"} for one in talk(EVENING, 8)])
    line = "备份放在 /srv/backup；超时改成 30 秒"
    takes_s, is_over = longer_than_a_second(world.ws.config.turns.wait), threading.Event()
    model = Scripted(lambda _: "" if is_over.wait(takes_s) else line)
    try:
        return Memory(world.ws, clock=world.clock).summarize_overflow("web", llm=model) is not None
    finally:
        is_over.set()


def lines_of_a_turn(world: World) -> int:
    """How many long-term lines there are after a turn of a session of eight messages."""
    world.put("recalld.toml", world.toml)
    world.write([{**one, "session": "web"} for one in talk(EVENING, 8)])
    Memory(world.ws, clock=world.clock).context("备份在哪里？", session="web")
    return world.ws.long_term.read().total


OVERFLOWING = {"turns.overflow": "memory", "llm.provider": "extractive"}


def is_a_line_of_80_characters_kept(world: World) -> bool:
    """Whether a model's line of that length becomes a long-term line, and not an extract in its place."""
    world.write([{**one, "session": "web"} for one in talk(EVENING, 8)])
    line = "备份放在 /srv/backup，每天凌晨做一次；部署 Cloudflare Workers 超时了，改成 30 秒再加一次重试；用户对花生过敏，点外卖要备注，nginx 配置明天备份"
    with contextlib.suppress(NoSummary):
        Memory(world.ws, clock=world.clock).summarize("web", llm=Scripted(lambda _: line))
    return line.encode() in world.read("memory.md")


def needed_argument(world: World) -> str:
    """What a model must give to search."""
    [schema, *_] = register_all_tools(Memory(world.ws, clock=world.clock)).anthropic()
    return str(schema["input_schema"]["required"][0])


class Toml(str):
    """A value as TOML has it."""

    __slots__ = ()


EXPORTS = {"sources.take": Toml('[{ path = "../exports" }]')}


def messages_taken_in(world: World) -> int:
    folder = world.root.parent / "exports"
    folder.mkdir(exist_ok=True)
    said = [
        {"role": "user", "content": "周五交稿", "timestamp": "2026-01-30T09:00:00Z", "session": s} for s in ("work-1", "home")
    ]
    (folder / "talk.jsonl").write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
    for _ in range(2):
        take_in(world.ws, world.clock(), UNLIMITED)
        world.forward(minutes=11)
    return sum(state_of(world.ws, source.name).messages for source in world.ws.config.sources.take)


def told_of_a_source_that_is_away(world: World) -> int:
    take_in(world.ws, world.clock(), UNLIMITED)
    world.forward(hours=72)
    return len([*services.sources(Look(world.ws, world.clock(), {}, lambda: None, lambda: ""))])


EFFECTS = {
    "language": Effect(is_said_in_english, {"zh": False, "en": True}),
    "history.soft_cap": Effect(messages_left, {3: 3, 8: 8}, {"archive.keep_newest": 0}),
    "history.hard_cap": Effect(messages_left_without_summary, {4: 4, 8: 8}, {"history.soft_cap": 2, "archive.keep_newest": 0}),
    "history.hard_bytes": Effect(messages_left, {"1KB": 1, "1MB": 10}, {"archive.keep_newest": 0}),
    "archive.timezone": Effect(day_of_the_file, {"UTC": "2026-01-29", "Asia/Shanghai": "2026-01-30"}),
    "archive.recent_days": Effect(submitted_tasks, {5: 3, 2: 4}),
    "archive.unarchived_limit": Effect(why_due_with_three_messages, {2: "count", 3: None}),
    "archive.interval": Effect(why_due_with_three_messages, {"1h": "interval", "6h": None}),
    "archive.exchange_wait": Effect(archived_of_an_open_question, {"10m": 0, "1m": 1}),
    "archive.max_queued": Effect(submitted_tasks, {8: 3, 2: 2}),
    "archive.summarise_chars": Effect(summary_of_three_hundred_characters, {200: [], 8000: ["2026-01-10"]}),
    "archive.backoff": Effect(wait_after_failures(1), {("10m",): 10, ("1h", "2h"): 60}),
    "archive.max_attempts": Effect(backlog_after_one_failure, {1: 1, 5: 0}),
    "archive.backlog_interval": Effect(wait_after_failures(2), {"1d": 1440, "3h": 180}, {"archive.backoff": ["10m"]}),
    "archive.jitter": Effect(wait_after_failures(1), {0: 10, 1: 12.8}),
    "archive.keep_newest": Effect(messages_left, {1: 1, 4: 4}, {"history.hard_bytes": "1KB"}),
    "archive.overflow_interval": Effect(
        why_due_soon_after_an_overflow, {"10m": None, "1m": "overflow"}, {"history.soft_cap": 1, "history.hard_cap": 2}
    ),
    "archive.write_wait": Effect(tries_to_write, {"10s": 5, "80s": 3}),
    "archive.write_wait_limit": Effect(tries_to_write, {"10s": 15, "10m": 5}),
    "archive.future_limit": Effect(found_time_of_a_message_from_the_future, {"1h": True, "1d": False}),
    "archive.quiet": Effect(restored_in_half_a_minute, {"10s": 1, "60s": 0}),
    "archive.slug": Effect(slug_of_a_chinese_day, {"ascii": "huasheng-guomin", "hanzi": "花生-过敏"}),
    "archive.slug_chars": Effect(slug, {12: "deploy-nginx", 32: "nginx-rollback-cloudflare"}),
    "recall.backend": Effect(backend_that_can_be_had, {"bm25": 0, "nobody": 1}, VECTORS),
    "recall.timeout_ms": Effect(has_a_second_for_the_backend, {100_000: True, 200: False}, VECTORS),
    "recall.k1": Effect(scores, {0.5: DIFFERS, 1.2: DIFFERS}),
    "recall.b": Effect(scores, {0.1: DIFFERS, 0.75: DIFFERS}),
    "recall.meaning": Effect(how_near_it_counts, {0.0: 0, 0.7: 1}, VECTORS),
    "recall.min_score": Effect(how_it_was_found, {0.0: "bm25", 1000.0: "literal"}),
    "recall.max_keywords": Effect(terms_of_a_long_question, {0: 4, 2: 2}),
    "recall.recent_messages": Effect(terms_of_a_question_that_refers_back, {0: False, 5: True}),
    "recall.max_hits": Effect(hits_shown, {1: 1, 2: 2}),
    "recall.hit": Effect(words_of_a_hit, {"line": False, "file": True}, {"recall.max_hits": 1}),
    "recall.line_chars": Effect(is_a_long_line_shown, {40: False, 300: True}, {"recall.hit": "line"}),
    "recall.memory_tokens": Effect(is_a_long_block_shown, {100: False, 2048: True}),
    "recall.pinned_tokens": Effect(is_memory_md_shown, {0: False, 512: True}),
    "recall.max_injected_chars": Effect(is_a_long_block_shown, {150: False, 0: True}),
    "recall.originals": Effect(finds_the_original, {"never": False, "fallback": True}),
    "recall.citations": Effect(citations, {"off": False, "on": True}),
    "recall.in_groups": Effect(said_in_a_group, {"own": ["桌子"], "all": ["柜子", "桌子"], "none": []}),
    "recall.worktrees": Effect(project_of_a_worktree, {"together": "/home/mia/shop", "apart": "/home/mia/pay"}),
    "recall.projects": Effect(said_elsewhere, {"all": ["8080", "9090"], "prefer": ["9090", "8080"], "only": ["9090"]}),
    "recall.note": Effect(has_a_note, {True: True, False: False}),
    "recall.honest_miss": Effect(line_of_a_miss, {False: False, True: True}),
    "context.say_nothing": Effect(line_of_a_miss, {False: False, True: True}),
    "context.window_tokens": Effect(tokens_of_the_talk, {600: False, 0: True}, {"context.min_messages": 1}),
    "context.history_tokens": Effect(tokens_of_the_talk, {100: False, 4096: True}),
    "context.min_messages": Effect(long_messages_of_the_talk, {1: 2, 7: 7}, {"context.history_tokens": 300}),
    "context.max_messages": Effect(messages_of_the_talk, {6: 6, 20: 20}),
    "context.start_tokens": Effect(what_a_session_begins_with, {0: False, 800: True}),
    "context.memory_in": Effect(
        place_of_memory,
        {
            "question": (["system", "user"], "user"),
            "system": (["system", "user"], "system"),
            "message": (["system", "user", "user"], "user"),
        },
    ),
    "context.alternate": Effect(roles_of_an_unanswered_talk, {False: ["user"] * 3, True: ["user"]}),
    "conversation.limit": Effect(is_a_talk_too_long, {0.1: True, 1: False}, {"llm.context_tokens": 1000}),
    "conversation.max_messages": Effect(is_a_talk_too_long, {7: True, 8: False}),
    "conversation.keep_turns": Effect(messages_that_stay, {0: 0, 3: 6}),
    "conversation.summary_in": Effect(role_with_the_summary, {"system": "system", "user": "user"}),
    "conversation.max_history": Effect(messages_that_overflow, {2: 6, 5: 3, 100: 0}),
    "summarize.message_threshold": Effect(lines_of_a_turn, {7: 1, 8: 0}, {"summarize.keep_recent": 2, **OVERFLOWING}),
    "summarize.char_threshold": Effect(lines_of_a_turn, {100: 1, 10000: 0}, {"summarize.keep_recent": 2, **OVERFLOWING}),
    "summarize.keep_recent": Effect(lines_of_a_turn, {2: 1, 8: 0}, {"summarize.message_threshold": 4, **OVERFLOWING}),
    "conversation.overflow_min": Effect(messages_that_overflow, {3: 3, 4: 0}, {"conversation.max_history": 5}),
    "turns.overflow": Effect(
        lines_of_a_turn, {"off": 0, "memory": 1}, {"conversation.max_history": 2, "llm.provider": "extractive"}
    ),
    "turns.reply": Effect(inputs_answered, {"off": 0, "worker": 2}, SERVED),
    "turns.tries": Effect(tries_of_a_mute_model, {1: 2, 3: 6}, {"turns.reply": "worker", **SERVED}),
    "turns.max_calls_per_day": Effect(inputs_answered, {0: 0, 1: 1, 500: 2}, {"turns.reply": "worker", **SERVED}),
    "turns.wait": Effect(line_of_a_slow_model, {"1s": False, "1m": True}, {"conversation.max_history": 2}),
    "summarize.char_limit": Effect(is_a_line_of_80_characters_kept, {50: False, 2000: True}),
    "context.message_chars": Effect(is_a_long_message_whole, {50: False, 500: True}, {"context.history_tokens": 1000}),
    "llm.provider": Effect(model_called, {"openai": 1, "extractive": 0}, SERVED),
    "llm.base_url": Effect(model_called, {NOWHERE: 1, ELSEWHERE: 0}, SERVED),
    "llm.model": Effect(model_named, {"qwen-test": "qwen-test", "another": "another"}, SERVED),
    "llm.api_key_env": Effect(key_sent, {"OPENAI_API_KEY": "Bearer sk-one", "OTHER_KEY": "Bearer sk-two"}, SERVED),
    "llm.temperature": Effect(temperature, {0.3: 0.3, 1.5: 1.5}, SERVED),
    "llm.context_tokens": Effect(calls_for_a_long_day, {2048: True, 32768: False}, SERVED),
    "llm.material_share": Effect(calls_for_a_long_day, {0.1: True, 0.8: False}, {**SERVED, "llm.context_tokens": 16384}),
    "summarize.least": Effect(model_called, {0: 1, 80: 0}, SERVED),
    "llm.timeout": Effect(summary_of_a_slow_model, {"1s": [], "1m": ["2026-01-10"]}, SERVED),
    "llm.max_calls_per_day": Effect(submitted_tasks, {1: 1, 200: 3}),
    "pool.url": Effect(who_does_tasks, {"": "Workers", "redis://127.0.0.1:9/0": "CourierWorkers"}),
    "pool.prefix": Effect(
        lambda world: of_the_pool(world)._broker.key("sub"), {"recalld": "recalld:sub", "ours": "ours:sub"}, POOLED
    ),
    "pool.key_env": Effect(has_the_key_of_the_pool, {"RECALLD_POOL_KEY": True, "OTHER_KEY": False}, POOLED),
    "pool.profile": Effect(lambda world: tasks_offered(world)[1], {"default": {"default"}, "small": {"small"}}, SERVED),
    "pool.window": Effect(lambda world: tasks_offered(world)[0], {0: 6, 2: 2}),
    "pool.patience": Effect(is_overdue_after_a_minute, {"30s": True, "10m": False}),
    "worker.concurrency": Effect(two_tasks_at_once, {1: False, 2: True}),
    "worker.lease": Effect(put_back_in_a_minute, {"30s": 1, "10m": 0}),
    "worker.beat": Effect(beats_while_it_works, {"100ms": True, "60s": False}),
    "worker.idle": Effect(does_what_comes_a_minute_later, {"0s": False, "10m": True}, {"llm.provider": "extractive"}),
    "tokens.cjk_weight": Effect(calls_for_a_chinese_day, {0.5: False, 4.0: True}, {**SERVED, "llm.context_tokens": 6000}),
    "tools.search_results": Effect(lines_found, {15: 15, 3: 3}),
    "tools.dialect": Effect(needed_argument, {"recall": "query", "lines": "keywords"}),
    "embeddings.base_url": Effect(texts_embedded, {NOWHERE: 3, ELSEWHERE: 0}, VECTORS),
    "embeddings.model": Effect(backend_that_can_be_had, {"bge": 0, "": 1}, VECTORS),
    "embeddings.api_key_env": Effect(
        key_of_the_vectors, {"OPENAI_API_KEY": "Bearer sk-one", "OTHER_KEY": "Bearer sk-two"}, VECTORS
    ),
    "embeddings.question_prefix": Effect(question_embedded, {"": "花生过敏吗", "query: ": "query: 花生过敏吗"}, VECTORS),
    "embeddings.text_prefix": Effect(last_text_embedded, {"": PEANUT, "passage: ": f"passage: {PEANUT}"}, VECTORS),
    "embeddings.cache_bytes": Effect(vectors_in_megabytes, {"1MB": False, "500MB": True}, VECTORS),
    "serve.port": Effect(of_the_service, {0: [], 28377: DIFFERS}),
    "serve.host": Effect(of_the_service, {"127.0.0.1": DIFFERS, "192.0.2.1": ["remote"]}, {"serve.port": 28378}),
    "serve.allow_remote": Effect(of_the_service, {False: ["remote"], True: ["address"]}, SERVED_AFAR),
    "serve.upstream": Effect(status_of_the_proxy, {"": 404, NOWHERE: 502}),
    "serve.skip": Effect(is_skipped_by_the_proxy, {(): False, ("^起个标题",): True}),
    "privacy.redact": Effect(where_a_secret_is, {"llm": "memory", "off": "memory, prompt", "store": ""}, SERVED),
    "privacy.personal": Effect(mail_that_is_stored, {False: True, True: False}, {"privacy.redact": "store"}),
    "privacy.direct": Effect(who_reads_a_session, {(): "group", ("工作组",): "direct"}),
    "privacy.patterns": Effect(number_in_the_prompt, {(): True, ("工号 [0-9]+",): False}, SERVED),
    "privacy.reveal": Effect(secret_that_was_asked_for, {True: True, False: False}),
    "log.rotate_bytes": Effect(packed_logs, {"2KB": DIFFERS, "10MB": DIFFERS}),
    "log.rotate_every": Effect(packed_logs, {"1d": DIFFERS, "9d": DIFFERS}),
    "log.keep_days": Effect(packed_logs, {5: DIFFERS, 30: DIFFERS}),
    "log.keep_bytes": Effect(packed_logs, {"1KB": DIFFERS, "500MB": DIFFERS}, {"log.rotate_bytes": "1KB"}),
    "care.poll": Effect(inbox_told_broken_in_two_seconds, {"1s": 1, "10s": 0}),
    "care.tree_poll": Effect(looks_at_the_tree, {"1s": True, "5s": False}, {"care.poll": "50ms"}),
    "care.quarantine_limit": Effect(copies_kept, {10: 3, 2: 2}),
    "care.previous_age": Effect(texts_left, {"365d": 2, "30d": 1}),
    "care.previous_bytes": Effect(texts_left, {20_000_000: 2, 1_000_000: 1}),
    "care.trash_days": Effect(pruned_files_left, {90: 1, 30: 0}),
    "care.diary": Effect(is_told_in_the_diary, {True: True, False: False}),
    "care.allow_network_fs": Effect(opens_on_a_network_disk, {True: True, False: False}),
    "care.quiet_hours": Effect(submitted_at_ten, {"": 1, "09:00-11:00": 0}),
    "sources.take": Effect(messages_taken_in, {Toml("[]"): 0, EXPORTS["sources.take"]: 2}),
    "sources.sessions": Effect(messages_taken_in, {(): 2, ("work-*",): 1}, EXPORTS),
    "sources.patience": Effect(told_of_a_source_that_is_away, {"7d": 0, "1d": 1}, EXPORTS),
    "care.on_trouble": Effect(told_of_a_damaged_history, {"": "", 'echo 坏了 > "$RECALLD_WORKSPACE/told"': "坏了\n"}),
}


def written(value: object) -> str:
    return value if isinstance(value, Toml) else literal(list(value) if isinstance(value, tuple) else value)


def toml(settings: dict[str, Any]) -> str:
    """The configuration in which these keys have these values."""
    lines: dict[str, list[str]] = {}
    for key, value in settings.items():
        section, _, name = key.rpartition(".")
        lines.setdefault(section, [f"[{section}]"] if section else []).append(f"{name} = {written(value)}")
    return "\n".join(line for section in sorted(lines) for line in lines[section]) + "\n"


def workspace(root: Path, settings: dict[str, Any]) -> World:
    return World(
        root,
        NOW,
        toml({"archive.timezone": ZONE.key, "archive.jitter": 0, "llm.model": "qwen-test", "summarize.least": 0, **settings}),
    )


@pytest.mark.parametrize("key", EFFECTS)
def test_config_key_changes_what_can_be_observed(tmp_path: Path, key: str) -> None:
    effect = EFFECTS[key]
    found = {
        value: effect.probe(workspace(tmp_path / str(n), {**effect.beside, key: value}))
        for n, value in enumerate(effect.observed)
    }
    assert found == {value: found[value] if seen is DIFFERS else seen for value, seen in effect.observed.items()}
    assert len(found) > 1
    assert len(set(map(repr, found.values()))) == len(found), "every value makes a difference"


def read_keys() -> set[str]:
    """
    The keys that the product's source reads: `config.section.key`, or `.key` where a section is handed on as a whole.

    `privacy.personal` is read by a property of its section, `forms`.
    """
    read, whole, names = {"privacy.personal"}, set(), set()
    for path in (path for package in ("supervisor", "worker", "recalld") for path in (ROOT / package).rglob("*.py")):
        if path.name in {"config.py", "config_keys.py", "settings.py"}:
            continue
        inner = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):  # what is outside comes first
            if not isinstance(node, ast.Attribute):
                continue
            names.add(node.attr)
            if is_config(node.value):
                read.add(node.attr)
                whole |= {node.attr} if node not in inner else set()
            elif isinstance(node.value, ast.Attribute) and is_config(node.value.value):
                read.add(f"{node.value.attr}.{node.attr}")
                inner.add(node.value)
    return {key for key in KEYS if key in read or (key.split(".")[0] in whole and key.split(".")[-1] in names)}


def is_config(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in {"config", "_config"}


def test_config_keys_are_read_and_have_an_effect() -> None:
    assert EFFECTS.keys() == KEYS.keys()
    assert EFFECTS.keys() - read_keys() == set()
