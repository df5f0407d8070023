"""The file turn: what waits in inbox.json is answered once, behind its question (docs/reference/protocol.md, 7.8)."""

from datetime import timedelta
from pathlib import Path

import pytest

from recalld.supervisor.storage.errors import NoSummary
from tests.llm.server import Act, Server
from tests.replies.turning import TurningWorld, asked
from tests.world import message


@pytest.fixture
def world(tmp_path: Path, server: Server) -> TurningWorld:
    return TurningWorld(tmp_path, server)


def test_file_turn_answers_behind_the_question_and_empties_the_inbox(world):
    world.turn(asked("q1", "周五部署吗？", session="甲", channel="telegram"))
    question, answer = world.history()
    assert (question["id"], question["text"], answer["text"]) == ("q1", "周五部署吗？", "答：周五部署吗？")
    assert (answer["inReplyTo"], answer["session"], answer["channel"]) == ("q1", "甲", "telegram")
    assert world.waiting() == []
    assert ("replied", {"inputs": 1, "ms": 3_600_000}) in world.events.all


def test_file_turn_answers_each_conversation_for_itself(world, server):
    server.play(Act(text="好的。"))
    world.ask(
        asked("q1", "我的密码本在哪？", 1, session="甲"),
        asked("q2", "今天聚餐去哪？", 2, session="agent:group:饭局"),
        asked("q3", "周五部署吗？", 3, session="乙"),
    )
    world.turn()
    assert sorted(one["inReplyTo"] for one in world.history() if one["role"] == "assistant") == ["q1", "q2", "q3"]
    prompts = [str(body["messages"]) for body in server.seen.bodies]
    assert all(sum(words in prompt for words in ("密码本", "聚餐", "部署吗")) == 1 for prompt in prompts)


def test_file_turn_writes_no_second_answer_after_another_programs(world, server):
    world.ask(asked("q1", "周五部署吗？"))
    world.turns.step()
    world.write([message("q1", "2026-01-31T09:00", "周五部署吗？"), message("a", "2026-01-31T09:01", "是。", "assistant")])
    world.turn()
    assert world.told() == [("user", "周五部署吗？"), ("assistant", "是。")]
    assert (world.waiting(), world.task_queue.replies(), server.seen.calls) == ([], {}, 0)


def test_file_turn_drops_the_answer_to_a_question_that_was_taken_back(world):
    world.ask(asked("q1", "周五部署吗？"))
    world.turns.step()
    world.worker().run_once(asked_only=True)
    world.ask()
    world.turn()
    assert (world.history(), world.task_queue.replies()) == ([], {})


def test_file_turn_answers_an_id_that_is_used_again_with_other_words(world):
    for text in ("周五部署吗？", "几点？", "几点？"):
        world.turn(asked("1", text))
    assert [text for _, text in world.told()] == ["周五部署吗？", "答：周五部署吗？", "几点？", "答：几点？"]
    assert world.waiting() == []
    assert len({one["id"] for one in world.history()}) == 4
    world.write([])  # another program has taken them out of history.json
    world.turn(asked("1", "几点？"))
    assert (world.told(), world.waiting()) == ([], []), "answered before"


def test_file_turn_takes_one_id_twice_as_one_input_with_the_newest_words(world):
    world.turn(asked("q1", "周五部署吗？"), asked("q1", "周六部署吗？"))
    assert world.told() == [("user", "周六部署吗？"), ("assistant", "答：周六部署吗？")]
    world.turn()
    assert world.waiting() == []


def test_file_turn_finishes_an_answer_before_a_later_input(world):
    world.ask(asked("q1", "周五部署吗？", 1))
    world.turns.step()
    world.turn(asked("q1", "周五部署吗？", 1), asked("q2", "几点？", 2))
    assert [one["role"] for one in world.history()] == ["user", "assistant", "user", "assistant"]


def test_file_turn_answers_inputs_without_id_or_time_each_once(world):
    world.turn("你好", {"text": "在吗？", "session": "甲"})
    assert sorted(text for _, text in world.told()) == ["你好", "在吗？", "答：你好", "答：在吗？"]
    world.forward(minutes=1)
    world.turn("你好")
    assert [text for role, text in world.told() if role == "assistant"].count("答：你好") == 2


@pytest.mark.parametrize(
    "data", [b'[{"id": "q1", "text": "\xe4', b"42", b"{", b"x" * 20_000_000], ids=["cut", "42", "{", "20 MB"]
)
def test_file_turn_leaves_a_broken_inbox_and_tells_it_once(world, data, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.context.turns.time", world.clock)
    path = world.put("inbox.json", data)
    for _ in range(4):
        world.turns.step()
        world.forward(seconds=2)
    assert world.event_names().count("inbox_invalid") == 1
    assert (path.read_bytes(), world.history(), world.task_queue.replies()) == (data, [], {})
    assert "q1" not in str(world.events.all)


def test_file_turn_sets_an_input_aside_after_its_tries(world, server):
    server.play("empty")
    world.turn(asked("q1", "周五部署吗？"))
    assert (server.seen.calls, world.waiting(), world.history()) == (3, [], [])
    (kept,) = world.task_queue.failed.glob("reply-*")
    assert world.json(f"worker/failed/{kept.name}")["inputs"][0]["text"] == "周五部署吗？"
    assert world.event_names().count("reply_failed") == 1
    world.turn(asked("q1", "周五部署吗？"))
    assert (server.seen.calls, world.waiting()) == (3, [])


def test_file_turn_cuts_an_answer_that_does_not_end(world, server):
    server.play(Act(text="".join(f"第{n}天，" for n in range(100_000)), parts=50))
    world.turn(asked("q1", "讲一个故事。"))
    answer = world.history()[1]["text"]
    assert len(answer) == 40_001
    assert answer.endswith("…")


def test_file_turn_tries_a_model_that_is_away_and_makes_no_pause_longer(world, server):
    server.play("loading")
    world.turn(asked("q1", "周五部署吗？"))
    assert (world.history(), len(world.waiting()), server.seen.calls) == ([], 1, 1)
    until = world.provider_state().next_at
    for n in range(8):
        world.forward(seconds=31)
        world.turn()
        assert server.seen.calls == 1 + (n + 1) // 2
    assert (world.provider_state().attempts, world.provider_state().next_at) == (1, until)
    server.play(Act(text="周五。"))
    world.forward(seconds=61)
    world.turn()
    assert (world.told()[1], world.provider_state().attempts) == (("assistant", "周五。"), 0)


@pytest.mark.parametrize("most", [0, 1])
def test_file_turn_keeps_the_cap_of_its_own_and_tells_it_once(tmp_path, server, most):
    world = TurningWorld(tmp_path, server, f"max_calls_per_day = {most}")
    for n in range(3):
        world.turn(asked(f"q{n}", "周五部署吗？"))
    assert (server.seen.calls, world.event_names().count("replies_spent")) == (most, 1)
    assert world.ws.calls.today(world.clock()) == 0, "summaries have a cap of their own"
    world.clock.now += timedelta(days=1)
    world.turn()
    assert server.seen.calls == min(2 * most, most + 1)


def test_file_turn_without_a_model_answers_with_what_was_said_just_now(world):
    world.reopen('[llm]\nprovider = "extractive"\n[turns]\nreply = "worker"\n')
    world.turning()
    for n, words in enumerate(("记住，我的自行车是红色的。", "自行车是什么颜色？", "我的自行车什么颜色？")):
        world.turn(asked(f"q{n}", words, n))
    told = [text for role, text in world.told() if role == "assistant"]
    assert "recalld write '我的自行车是红色的'" in told[0]
    assert [text.splitlines()[1:] for text in told[1:]] == [["- 记住，我的自行车是红色的。 [history.json#q0]"]] * 2


def test_status_says_which_inputs_wait_and_which_were_set_aside(world, server):
    server.play("empty")
    world.ask(asked("q1", "周五部署吗？"))
    assert [line for line in world.verdict()[0] if "wait" in line] == [
        "inputs in inbox.json that wait for an answer: 1, the first since 2026-01-31 09:00."
    ]
    world.turn()
    assert any("worker/failed/reply-" in line for line in world.verdict()[0])


def test_file_turn_seldom_looks_where_others_do_the_tasks(world):
    world.ask(asked("q1", "周五部署吗？"))
    assert [world.turns.step() for _ in range(3)] == [0.0, 5.0, 5.0]


def test_file_turn_starts_a_worker_that_cant_work_once_in_a_while(world):
    class Broken:
        tried = 0

        def ensure(self, *, is_claimed: bool) -> None:
            Broken.tried += 1
            raise NoSummary("llm.model: no model is named", "provider")

    world.turns._worker = Broken()
    world.ask(asked("q1", "周五部署吗？"))
    assert [world.turns.step() for _ in range(5)] == [0.0, 5.0, 5.0, 5.0, 5.0]
    assert Broken.tried == 1
    assert len(world.events.of("degraded")) == 1
