"""Supervisor, worker and a scripted server together, with a cranked clock: what failures cost, and what comes of them in the end."""

from __future__ import annotations

import contextlib
import errno
import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from supervisor.protocol.config import load
from supervisor.protocol.disk import RealDisk
from supervisor.protocol.files import Files
from supervisor.protocol.queue import Spool
from supervisor.service.round import run_round
from supervisor.service.status import status
from supervisor.workspace import Workspace
from tests.llm.server import ACTS, Act, Server
from worker.loop import Worker
from worker.providers import NoCall, choose

NOW = datetime(2026, 2, 10, 4, tzinfo=UTC)
SUMMARY = "## 备份\n\n备份脚本改到凌晨 4:15，端口 8443；王芳周五前续签证书。"


class House:
    """A workspace whose model is the scripted server; time is cranked by hand."""

    def __init__(self, root, server: Server, llm: str = "") -> None:
        self.root, self.now = root, NOW
        self.server = server
        self.configure(llm)
        self.events: list[tuple[datetime, str, dict]] = []
        self.lasting: dict[str, object] = {}

    def configure(self, llm: str = "") -> None:
        """Open the workspace with these settings of the model, as a new process does."""
        toml = (
            f'[archive]\ntimezone = "Asia/Shanghai"\njitter = 0\n'
            f'[llm]\nbase_url = "{self.server.url}"\nmodel = "scripted"\ntimeout = "5s"\n{llm}\n'
        )
        self.ws = Workspace(self.root, load(toml.encode(), {}), Files(RealDisk()), self)
        self.ws.prepare()

    def worker(self) -> Worker:
        return Worker(self.ws.files, self.ws.layout, self.ws.config, choose(self.ws.config, {}), lambda: self.now)

    def emit(self, event, **fields):
        self.events.append((self.now, event, fields))

    def edge(self, event, state, over="", **fields):
        before, self.lasting[event] = self.lasting.get(event), state
        if state and state != before:
            self.emit(event, **fields)
        elif before and not state and over:
            self.emit(over)

    def talk(self, days: int, each: int = 2, back: int = 30) -> None:
        """Write a history whose days are all to be summarised."""
        first = NOW - timedelta(days=back)
        messages = [
            {
                "id": f"{day}-{n}",
                "role": "assistant" if n % 2 else "user",
                "text": f"第 {day} 天第 {n} 句：备份脚本改到凌晨 4:15，端口 8443。",
                "createdAt": (first + timedelta(days=day, minutes=n)).isoformat(),
                "archived": False,
            }
            for day in range(days)
            for n in range(each)
        ]
        (self.root / "history.json").write_text(json.dumps(messages, ensure_ascii=False), encoding="utf-8")

    def settle(self, most: int = 60) -> None:
        """Do rounds and the worker's work until nothing moves at this moment."""
        worker = self.worker()
        for _ in range(most):
            done = run_round(self.ws, self.now, "all")
            assert not done.errors
            worked = 0
            with contextlib.suppress(NoCall):
                while (result := worker.run_once()) and result.reason != "provider":
                    worked += 1
            if not done.did and not worked and not self.ws.spool.in_flight():
                return
        raise AssertionError("it does not settle")

    def forward(self, **by) -> None:
        self.now += timedelta(**by)

    def named(self, event: str) -> list[datetime]:
        return [at for at, name, _ in self.events if name == event]

    def summaries(self) -> list[str]:
        return sorted(period.label for period in self.ws.memory.summaries())

    def calls(self, server: Server) -> int:
        return server.seen.calls


@pytest.fixture
def server():
    with Server() as running:
        yield running


def test_a_group_that_fails_is_tried_again_after_each_wait_to_the_second_and_told_once(tmp_path, server):
    """003, 失败与退避: 10m, 30m, 2h, 6h, 12h; the fifth failure is a backlog; then one try a day."""
    server.script = lambda n, prompt: Act(text="I'm sorry, but I can't help with that.")
    house = House(tmp_path, server)
    house.talk(days=1)
    house.settle()
    tries = [house.now]
    for wait in (600, 1_800, 7_200, 21_600, 43_200, 86_400, 86_400):
        house.forward(seconds=wait - 1)
        house.settle()
        assert house.calls(server) == len(tries), f"it came early, {wait}"
        house.forward(seconds=1)
        house.settle()
        tries.append(house.now)
        assert house.calls(server) == len(tries)
    assert house.named("summary_failed") == tries
    assert house.named("archive_backlog") == [tries[4]]
    history = json.loads((tmp_path / "history.json").read_text(encoding="utf-8"))
    assert {message["archived"] for message in history} == {False}
    assert {message["archiveAttempts"] for message in history} == {len(tries)}
    server.script = lambda n, prompt: Act(text=SUMMARY)
    house.forward(days=1)
    house.settle()
    assert len(house.summaries()) == 1
    assert not list((tmp_path / "worker" / "failed").glob("day-*"))


def test_a_provider_that_is_away_for_a_week_costs_one_probe_a_wait_and_no_group_an_attempt(tmp_path, server):
    server.script = lambda n, prompt: ACTS["loading"]
    house = House(tmp_path, server)
    house.talk(days=20)
    day_calls = Counter()
    for _ in range(7 * 24 * 6):
        before = house.calls(server)
        house.settle()
        day_calls[house.now.date()] += house.calls(server) - before
        house.forward(minutes=10)
    assert house.calls(server) <= 12  # five waits on the first day, then one a day
    assert max(day_calls.values()) <= 6
    assert not [group for group in house.ws.failures() if group != "provider"]
    assert len(house.named("provider_paused")) == house.calls(server)
    assert house.summaries() == []
    assert "端口 8443" in "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "memory").glob("*.md"))
    server.script = lambda n, prompt: Act(text=SUMMARY)
    house.forward(days=1)
    house.settle()
    assert house.named("provider_back")
    written = Counter(fields["group"] for _, name, fields in house.events if name == "summarised")
    assert set(written.values()) == {1}
    assert {message["archived"] for message in json.loads((tmp_path / "history.json").read_text())} == {True}


def test_the_wait_that_a_server_asks_for_is_respected(tmp_path, server):
    asked = Act(status=429, message="Rate limit reached", headers=(("Retry-After", "5400"),))
    server.script = lambda n, prompt: asked
    house = House(tmp_path, server)
    house.talk(days=3)
    house.settle()
    assert house.calls(server) == 1
    house.forward(seconds=5_399)
    house.settle()
    assert house.calls(server) == 1
    house.forward(seconds=1)
    server.script = lambda n, prompt: Act(text=SUMMARY)
    house.settle()
    assert len(house.summaries()) == 3


def test_a_pause_from_before_the_clock_was_set_back_is_not_told_again_by_the_next_process(tmp_path, server):
    server.script = lambda n, prompt: Act(status=503)
    house = House(tmp_path, server)
    house.talk(days=2)
    house.settle()
    assert len(house.named("provider_paused")) == 1
    house.forward(days=-10)
    house.lasting.clear()
    server.script = lambda n, prompt: ACTS["too long"]
    house.settle()
    assert house.named("summary_failed")
    assert len(house.named("provider_paused")) == 1


def test_calls_of_a_day_stay_within_the_cap_and_go_on_tomorrow_newest_first(tmp_path, server):
    server.script = lambda n, prompt: Act(text=SUMMARY)
    house = House(tmp_path, server, "max_calls_per_day = 4")
    house.talk(days=10, back=25)
    house.settle()
    assert house.calls(server) == 4
    newest = house.summaries()
    house.forward(days=1)
    house.settle()
    assert house.calls(server) == 8
    assert min(newest) > min(set(house.summaries()) - set(newest))
    house.forward(days=1)
    house.settle()
    assert len(house.summaries()) == 10


def test_calls_whose_results_no_disk_can_take_are_counted(tmp_path, server, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "磁盘满了")

    house = House(tmp_path, server, "max_calls_per_day = 4")
    house.talk(days=2)
    run_round(house.ws, house.now, "all")
    monkeypatch.setattr(Spool, "finish", full)
    for _ in range(10):
        with contextlib.suppress(OSError, NoCall):
            house.worker().run_once()
    assert house.calls(server) == 4


def test_calls_of_a_worker_that_is_told_to_end_in_the_middle_are_counted(tmp_path, server):
    house = House(tmp_path, server, "max_calls_per_day = 4")
    house.talk(days=2)
    run_round(house.ws, house.now, "all")
    for _ in range(10):
        worker = house.worker()

        def end(_number, _prompt, worker=worker):
            worker.stop.set()
            return Act(wait_s=5)

        server.script = end
        with contextlib.suppress(NoCall):
            assert worker.run_once() is None
    assert house.calls(server) == 4


def test_tasks_that_were_queued_before_the_cap_was_lowered_are_held_to_it(tmp_path, server):
    server.script = lambda n, prompt: Act(text=SUMMARY)
    house = House(tmp_path, server)
    house.talk(days=8)
    run_round(house.ws, house.now, "all")
    assert len(house.ws.spool.in_flight()) == 8
    house.configure("max_calls_per_day = 2")
    house.settle()
    assert house.calls(server) == 2
    assert not house.ws.spool.in_flight()
    assert house.named("calls_spent")


def test_a_result_that_can_not_be_written_for_many_rounds_costs_what_it_cost_once(tmp_path, server, monkeypatch):
    server.script = lambda n, prompt: Act(text=SUMMARY)
    house = House(tmp_path, server)
    house.talk(days=1)
    run_round(house.ws, house.now, "all")
    house.worker().run_once()
    write = type(house.ws.memory).write_summary
    monkeypatch.setattr(type(house.ws.memory), "write_summary", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "满")))
    for _ in range(5):
        assert "harvest" in run_round(house.ws, house.now, "all").errors
    monkeypatch.setattr(type(house.ws.memory), "write_summary", write)
    house.settle()
    told = status(house.ws, house.now)["today"]
    assert (told["calls"], told["completionTokens"]) == (1, len(SUMMARY))


def test_a_model_whose_context_is_smaller_than_it_is_told_costs_no_call_beyond_the_cap(tmp_path, server):
    server.script = lambda n, prompt: ACTS["too long"] if len(prompt) > 1_200 else Act(text=SUMMARY)
    house = House(tmp_path, server, "max_calls_per_day = 7")
    house.talk(days=5, each=40)
    for day in range(1, 20):
        house.settle()
        assert house.calls(server) <= 7 * day
        house.forward(days=1)
    assert house.calls(server) > 5 * 2
    assert len(house.summaries()) == 5


def test_extracts_are_made_anew_when_a_model_appears_and_the_originals_stay_as_they_are(tmp_path, server):
    server.script = lambda n, prompt: Act(text=SUMMARY)
    house = House(tmp_path, server)
    house.talk(days=4)
    model, extractive = house.ws.config, load(b'[archive]\ntimezone = "Asia/Shanghai"\njitter = 0\n', {})
    house.ws.config = extractive
    house.settle()
    files = {path: path.read_bytes() for path in (tmp_path / "memory" / "originals").rglob("*.md")}
    assert files
    assert all(standing.extract for standing in house.ws.memory.summaries().values())
    house.ws.config = model
    house.settle()
    standing = house.ws.memory.summaries()
    assert len(standing) == 4
    assert not any(one.extract for one in standing.values())
    assert {path: path.read_bytes() for path in files} == files
    assert house.calls(server) == 4


def test_a_month_larger_than_one_call_makes_its_days_first(tmp_path, server):
    server.script = lambda n, prompt: Act(text=SUMMARY)
    house = House(tmp_path, server)
    house.talk(days=12, each=60, back=70)
    house.settle()
    made = [fields["group"] for _, name, fields in house.events if name == "summarised"]
    months = [n for n, group in enumerate(made) if group.startswith("month")]
    assert months
    assert all(group.startswith("day") for group in made[: months[0]])
    for standing in house.ws.memory.summaries().values():
        if standing.period.kind == "month":
            assert {s.name for s in standing.sources} == {
                f.name for f in house.ws.memory.dated() if standing.period.holds(f.day)
            }
