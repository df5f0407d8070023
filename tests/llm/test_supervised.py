"""Supervisor, worker and a scripted server together, with a cranked clock: what failures cost, and how they end."""

import contextlib
import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from recalld.supervisor.protocol.llm import endpoint_of
from recalld.worker.providers import NoCall
from tests.llm.server import ACTS, Act, Server
from tests.llm.shop import ServedWorld
from tests.world import message

NOW = datetime(2026, 2, 10, 4, tzinfo=UTC)
SUMMARY = "## 备份\n\n备份脚本改到凌晨 4:15，端口 8443；王芳周五前续签证书。"


class Supervised(ServedWorld):
    """A supervisor, a worker and the scripted server."""

    def __init__(self, root, server: Server, llm: str = "") -> None:
        super().__init__(root, server, f'timeout = "5s"\n{llm}', now=NOW)

    def write_days(self, days: int, each: int = 2, back: int = 30) -> None:
        """Write a history whose days are all to be summarised."""
        first = NOW - timedelta(days=back)
        self.write(
            [
                message(
                    f"{day}-{n}",
                    (first + timedelta(days=day, minutes=n)).isoformat(),
                    f"{'甲乙丙丁戊己庚'[n % 7] * (n // 7 + 1)}：备份脚本改到凌晨 4:15，端口 8443；王芳周五前续签证书。",
                    "assistant" if n % 2 else "user",
                    archived=False,
                )
                for day in range(days)
                for n in range(each)
            ]
        )

    @property
    def calls(self) -> int:
        return self.server.seen.calls


def test_submit_probes_an_absent_provider_once_per_wait_and_no_group_fails(tmp_path, server):
    server.script = lambda n, prompt: ACTS["loading"]
    world = Supervised(tmp_path, server)
    world.write_days(days=20)
    day_calls = Counter()
    for minutes in [30] * 2 * 24 + [6 * 60] * 4 * 6:  # a day of the short waits, and six of the long ones
        before = world.calls
        world.settle()
        day_calls[world.clock().date()] += world.calls - before
        world.clock.forward(minutes=minutes)
    assert world.calls <= 12  # five waits on the first day, then one a day
    assert max(day_calls.values()) <= 6
    assert not [group for group in world.ws.failures() if group != "provider"]
    assert len(world.events.times_of("provider_paused")) == world.calls
    assert world.standing() == []
    assert "端口 8443" in "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "memory").glob("*.md"))
    server.script = lambda n, prompt: Act(text=SUMMARY)
    world.clock.forward(days=1)
    world.settle()
    assert world.events.times_of("provider_back")
    written = Counter(fields["group"] for fields in world.events.of("summarised"))
    assert set(written.values()) == {1}
    assert {message["archived"] for message in world.history()} == {True}


@pytest.mark.parametrize("changed", ["base_url", "model", "key"])
def test_submit_asks_a_changed_server_model_or_key_at_once(tmp_path, server, changed):
    server.script = lambda n, prompt: Act(status=401)
    world = Supervised(tmp_path, server)
    world.write_days(days=1)
    world.settle()
    world.settle()
    assert (world.calls, world.plan()["providerPausedBecause"] is None) == (1, False)
    server.script = lambda n, prompt: Act(text=SUMMARY)
    with Server() as another:
        another.script = server.script
        toml = world.toml
        if changed == "base_url":
            toml = toml.replace(server.url, another.url)
        elif changed == "model":
            toml = toml.replace("qwen-test", "qwen-other")
        world.reopen(toml)
        if changed == "key":
            world.ws.endpoint = endpoint_of(world.ws.config.llm, {"OPENAI_API_KEY": "sk-new"})
        assert (world.status()["today"]["pausedBecause"] is None) == (changed != "key"), "a command may lack the key"
        world.settle()
        assert world.calls + another.seen.calls == 2
    assert len(world.summaries()) == 1
    assert len(world.events.of("provider_changed")) == 1
    assert world.status()["today"]["pausedUntil"] is None
    assert b"sk-" not in (tmp_path / "worker/failed/provider.json").read_bytes()


def test_llm_state_reports_a_provider_that_is_away_for_weeks(tmp_path, server):
    """The fifth fault is a backlog; the reason is in the events, in status and in plan, in words of ours."""
    server.script = lambda n, prompt: Act(status=503, message=f"Loading model, asked with {prompt} and key sk-test-4f9a")
    world = Supervised(tmp_path, server)
    world.write_days(days=3)
    for _ in range(20):
        world.settle()
        world.clock.forward(days=1)
    why = f"the server is still loading the model: qwen-test at {server.url.removesuffix('/v1')} (503)"
    paused = world.events.times_of("provider_paused")
    assert world.events.times_of("archive_backlog") == [paused[4]]
    assert world.events.of("archive_backlog") == [{"attempts": 5, "why": why}]
    assert {fields["why"] for fields in world.events.of("provider_paused")} == {why}
    assert (world.status()["today"]["pausedBecause"], world.plan()["providerPausedBecause"]) == (why, why)
    assert json.loads((tmp_path / "worker/failed/provider.json").read_bytes())["reason"] == why
    server.script = lambda n, prompt: Act(text=SUMMARY)
    world.settle()
    assert (world.status()["today"]["pausedBecause"], world.plan()["providerPausedBecause"]) == (None, None)


def test_a_model_that_its_server_names_otherwise_has_one_account(tmp_path, server):
    """llama.cpp names the file with each answer, and nothing with one that is empty or only a thought."""
    bad = ("", "<think>备份脚本要改", "无需记录", "用户聊了一些事情，做了安排。")
    server.script = lambda n, prompt: Act(text=bad[n % len(bad)], model="/models/qwen2.5-1.5b-q4.gguf")
    world = Supervised(tmp_path, server)
    world.write_days(days=4, each=40)
    for _ in range(3):
        world.settle()
        world.clock.forward(days=1)
    reasons = {model: {*one["reasons"]} for model, one in world.status()["models"].items()}
    assert reasons == {"qwen-test": {"empty", "thought", "vague"}}


def test_call_log_counts_calls_of_an_interrupted_worker(tmp_path, server):
    world = Supervised(tmp_path, server, "max_calls_per_day = 4")
    world.write_days(days=2)
    world.round("all")
    for _ in range(10):
        worker = world.worker()

        def end(_number, _prompt, worker=worker):
            worker.stop.set()
            return Act(wait_s=5)

        server.script = end
        with contextlib.suppress(NoCall):
            assert worker.run_once() is None
    assert world.calls == 4


def test_round_holds_already_queued_tasks_to_a_lowered_call_cap(tmp_path, server):
    server.script = lambda n, prompt: Act(text=SUMMARY)
    world = Supervised(tmp_path, server)
    world.write_days(days=8)
    world.round("all")
    assert len(world.ws.task_queue.active_groups()) == 8
    world.configure("max_calls_per_day = 2")
    world.settle()
    assert world.calls == 2
    assert not world.ws.task_queue.active_groups()
    assert world.events.times_of("calls_spent")


def test_worker_keeps_the_call_cap_when_the_context_is_overstated(tmp_path, server):
    server.script = lambda n, prompt: ACTS["too long"] if len(prompt) > 1_200 else Act(text=SUMMARY)
    world = Supervised(tmp_path, server, "max_calls_per_day = 7")
    world.write_days(days=5, each=40)
    for day in range(1, 20):
        world.settle()
        assert world.calls <= 7 * day
        world.clock.forward(days=1)
    assert world.calls > 5 * 2
    assert len(world.summaries()) == 5
