"""What a client's event does: what is kept, what the client reads, and what is left alone."""

import json
import subprocess

import pytest

from recalld.supervisor.interfaces.connect.clients import OddEvent, read_event
from recalld.supervisor.interfaces.hooks.entry import _leave_words, client_of, project_of, repository_of
from recalld.supervisor.interfaces.hooks.turn import answer
from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.operations.recall import why
from recalld.supervisor.storage.clock import to_wire
from tests.world import World, message

SHOP = "/home/mia/shop"
#: An event of each client: the question, and the answer to it.
ASKED = {
    "claude-code": {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt_id": "p1", "prompt": "{}"},
    "codex": {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "turn_id": "p1", "model": "m", "prompt": "{}"},
}
ANSWERED = {name: {**event, "hook_event_name": "Stop", "last_assistant_message": "{}"} for name, event in ASKED.items()}
PORT = "测试环境的端口是 9090，别忘了。"


def heard(world: World, client: str, event: dict[str, object], project: str = SHOP) -> str:
    """What the client reads after the event."""
    asked = {"client": client, "event": event, "size": 100, "project": project}
    return answer(world.ws, asked, world.clock, keep_fresh=True)


def asks(client: str, text: str, **more: str) -> dict[str, object]:
    return {**ASKED[client], "prompt": text, **more}


def answers(client: str, text: str, question: str = "", **more: str) -> dict[str, object]:
    return {**ANSWERED[client], "prompt": question, "last_assistant_message": text, **more}


def kept(world: World) -> list[tuple[str, str]]:
    return [(one["role"], one["text"]) for one in json.loads(world.paths.history.read_bytes())]


@pytest.mark.parametrize("client", ASKED)
def test_hook_keeps_question_and_answer_once(world, client):
    for _ in range(2):  # a client may run a hook again
        heard(world, client, asks(client, PORT))
        heard(world, client, answers(client, "记住了。", PORT))
    assert kept(world) == [("user", PORT), ("assistant", "记住了。")]
    first = json.loads(world.paths.history.read_bytes())[0]
    where = {name: first[name] for name in ("session", "channel", "chat", "project")}
    assert where == {"session": "s1", "channel": client, "chat": "direct", "project": SHOP}


def test_hook_that_gives_up_adds_nothing_twice_without_a_turn(world):
    event = asks("codex", PORT)
    del event["turn_id"]
    request = {"client": "codex", "event": event, "at": world.clock().timestamp() + 0.25, "size": 100, "project": SHOP}
    answer(world.ws, request, world.clock, keep_fresh=True)
    _leave_words(world.paths.drop_box, request)  # it was told too late that the words are kept
    world.forward(minutes=1)
    world.intake()
    assert kept(world) == [("user", PORT)]


@pytest.mark.parametrize("at", [4102444800, 99999999999999, "noon", True, None, -5, float("nan")])
def test_hook_of_a_clock_that_is_far_off_has_the_supervisors(world, at):
    request = {"client": "codex", "event": asks("codex", PORT), "at": at, "size": 100, "project": SHOP}
    answer(world.ws, request, world.clock, keep_fresh=True)
    (first,) = json.loads(world.paths.history.read_bytes())
    assert (first["text"], first["createdAt"]) == (PORT, to_wire(world.clock()))


@pytest.mark.parametrize("client", ASKED)
def test_hook_puts_memory_before_the_question_as_the_client_takes_it(world, client):
    world.write([message("m1", "2026-01-28T09:00", PORT)])
    text = heard(world, client, asks(client, "测试环境用哪个端口？"))
    inside = json.loads(text)["hookSpecificOutput"]
    assert inside.keys() == {"hookEventName", "additionalContext"}
    assert inside["hookEventName"] == ASKED[client]["hook_event_name"]
    assert PORT in inside["additionalContext"]
    assert inside["additionalContext"].startswith("<memory>\n## Memory")


def test_hook_asks_the_same_question_twice_in_two_turns(world):
    for turn in ("p1", "p2"):
        heard(world, "codex", asks("codex", "继续", turn_id=turn))
    assert kept(world) == [("user", "继续"), ("user", "继续")]


@pytest.mark.parametrize("client", ASKED)
def test_hook_of_a_start_tells_where_talk_stopped_in_the_project(world, client):
    world.write([message("m1", "2026-01-28T09:00", PORT, session="old", project=SHOP)])
    event = {"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"}
    assert "9090" in heard(world, client, event)
    assert heard(world, client, event, project="/home/mia/blog") == ""


def test_hook_keeps_nothing_private_and_searches_nothing_private(world):
    heard(world, "codex", asks("codex", "改端口 <private>口令是 芝麻</private> 到 8081"))
    assert kept(world) == [("user", "改端口  到 8081")]
    receipt = perform(why, world.ws, {}, Caller(clock=world.clock))
    assert "芝麻" not in receipt.question


def test_hook_of_a_wholly_private_question_does_nothing(world):
    assert heard(world, "codex", asks("codex", "<private>口令是 芝麻")) == ""
    assert not world.paths.history.exists()


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_hook_leaves_a_subagents_talk_alone(world, client):
    assert heard(world, client, asks(client, PORT, agent_id="a1")) == ""
    assert not world.paths.history.exists()


@pytest.mark.parametrize(
    ("client", "event", "why"),
    [
        ("codex", None, "it is no JSON object"),
        ("codex", [], "it is no JSON object"),
        ("codex", {}, "the event is unknown"),
        ("codex", {"hook_event_name": "PostToolUse", "session_id": "s"}, "the event is unknown"),
        ("codex", {"hook_event_name": ["Stop"], "session_id": "s"}, "the event is unknown"),
        ("codex", {"hook_event_name": "UserPromptSubmit", "session_id": "s"}, "it has no prompt"),
        ("codex", {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": ["a"]}, "its prompt is no text"),
        ("codex", {"hook_event_name": "Stop", "prompt": "a"}, "it has no session_id"),
        ("codex", {"hook_event_name": "Stop", "session_id": 5}, "its session_id is no text"),
        ("codex", {"hook_event_name": "Stop", "session_id": "s" * 201}, "its session_id is too long"),
        ("vim", {"hook_event_name": "Stop", "session_id": "s"}, "the client is unknown"),
    ],
)
def test_hook_of_an_odd_event_prints_nothing_and_writes_one_event(world, client, event, why):
    with pytest.raises(OddEvent, match=why):
        read_event(client, event)
    assert heard(world, client, event) == ""
    assert [one["why"] for one in world.events.of("hook_failed")] == [why]


def test_hook_of_too_large_an_event_says_how_much_is_read(world):
    assert answer(world.ws, {"client": "codex", "event": None, "size": (16 << 20) + 1}, world.clock, keep_fresh=True) == ""
    assert [one["why"] for one in world.events.of("hook_failed")] == ["it is larger than 16 MiB"]


def test_client_of_is_the_word_after_hook():
    assert client_of(["-w", "/x", "hook", "codex"]) == "codex"
    assert client_of(["hook", "-w", "/x", "codex"]) == "codex"
    assert client_of(["hook"]) == ""


def git(*arguments, cwd):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments], cwd=cwd, check=True, capture_output=True
    )


def test_repository_of_a_worktree_is_the_one_that_names_it(tmp_path):
    shop, other = tmp_path / "商店", tmp_path / "other"
    for repository in (shop, other):
        repository.mkdir()
        git("init", "-q", cwd=repository)
        git("commit", "-q", "--allow-empty", "-m", "x", cwd=repository)
    git("worktree", "add", "-q", str(tmp_path / "pay"), "-b", "pay", cwd=shop)
    git("worktree", "add", "-q", str(shop / ".claude/worktrees/fix"), "-b", "fix", cwd=shop)
    assert repository_of(str(tmp_path / "pay")) == str(shop)
    assert repository_of(str(shop / ".claude/worktrees/fix")) == str(shop)
    assert repository_of(str(shop)) == str(shop)
    (tmp_path / "link").symlink_to(tmp_path / "pay")
    assert repository_of(str(tmp_path / "link")) == str(shop)
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "parts", cwd=shop)
    assert repository_of(str(shop / "parts")) == str(shop / "parts")
    claims = tmp_path / "download"
    claims.mkdir()
    (claims / ".git").write_bytes((tmp_path / "pay" / ".git").read_bytes())
    assert repository_of(str(claims)) == str(claims)
    (claims / ".git").write_bytes(b"gitdir: \xff\xfe")
    assert repository_of(str(claims)) == str(claims)


def test_project_of_is_the_repository_around_the_folder(tmp_path):
    inner = tmp_path / "shop" / "src" / "cart"
    inner.mkdir(parents=True)
    assert project_of({"cwd": str(inner)}, {}) == str(inner)
    (tmp_path / "shop" / ".git").mkdir()
    assert project_of({"cwd": str(inner)}, {}) == str(tmp_path / "shop")
    assert project_of({"cwd": "/elsewhere"}, {"CLAUDE_PROJECT_DIR": str(inner)}) == str(tmp_path / "shop")
    folders: list[object] = [5, "src", "/a\0b", "/\ud800", "/a" * 100_000]
    for odd in ({}, [], None, *({"cwd": folder} for folder in folders)):
        assert project_of(odd, {}) == ""
