"""`recalld model test`: one question to the configured model, and what came of it."""

import json
import threading
from pathlib import Path

import pytest

from tests.llm.server import Act, Server
from tests.patience import PATIENCE_S
from tests.process.command import Command, ended, until
from tests.process.conftest import HERE

pytestmark = pytest.mark.proof


@pytest.fixture
def recalld(tmp_path: Path, server: Server) -> Command:
    """An empty workspace whose model is the scripted server."""
    llm = {
        "RECALLD_LLM_BASE_URL": server.url,
        "RECALLD_LLM_MODEL": "qwen-test",
        "OPENAI_API_KEY": "sk-test-4f9a",
    }
    return Command.made(tmp_path / "工作区", **HERE, **llm)


SAYS = "recalld: the model is asked; its answer may take up to 600 s (llm.timeout)."
DAY = json.dumps({"role": "user", "text": "备份脚本改到凌晨 4:15，端口 8443。", "createdAt": "2026-01-10T10:00:00+08:00"})


def test_run_until_settled_and_status_say_that_every_answer_was_refused(recalld: Command, server: Server):
    assert recalld("append", "--jsonl", stdin=DAY).code == 0
    server.script = lambda n, prompt: Act(text="<think>备份脚本要改")
    for moment in ("2026-01-31T10:00:00+08:00", "2026-01-31T12:00:00+08:00"):  # the second time, it is refused for good
        done = recalld("run", "--until-settled", "--now", moment)
        assert (done.code, "no summary was written: the model's answer was its thinking" in done.err) == (69, True)
    assert server.seen.calls == 2
    assert recalld("run", "--until-settled", "--now", "2026-01-31T14:00:00+08:00").code == 0, "nobody was asked"


def test_model_test_ends_the_pause_of_a_model_that_answers(recalld: Command, server: Server):
    assert recalld("append", "--jsonl", stdin=DAY).code == 0
    server.script = lambda n, prompt: Act(status=503, message="Loading model")
    assert recalld("run", "--until-settled").code == 69
    wrong = recalld("status")
    assert wrong.code == 65
    assert wrong.out.startswith("no model writes summaries until 2026-01-31 ")
    assert "the server is still loading the model" in wrong.out.splitlines()[0]
    asked = recalld("model", "test")
    assert (asked.code, asked.err.splitlines()[0]) == (69, SAYS)
    assert recalld("status").code == 65
    server.script = lambda n, prompt: Act(text="## 备份\n\n备份脚本改到凌晨 4:15，端口 8443。")
    assert "its pause is over" in recalld("model", "test").out
    assert recalld("status").code == 0
    assert recalld("run", "--until-settled").code == 0


# ── summarize ────────────────────────────────────────────────────────────────

SAID = (
    ("user", "上次部署 Cloudflare Workers 超时了，怎么改？"),
    ("assistant", "把超时改成 30 秒，再加一次重试。"),
    ("user", "我对花生过敏，点外卖要备注。"),
)


def talked(recalld: Command, times: int = 1) -> None:
    again = ("", *(f"（第 {n} 次）" for n in range(2, times + 1)))
    lines = [{"role": role, "text": text + more, "session": "部署"} for more in again for role, text in SAID]
    assert recalld("append", "--jsonl", stdin="\n".join(map(json.dumps, lines))).code == 0


SUMMARY = "用户对花生过敏；Cloudflare Workers 的超时改成 30 秒，加一次重试。"
TURN = ("context", "--query", "我能吃花生酱吗？", "--session", "部署", "--system", "你是小记。")


def held(server: Server) -> tuple[threading.Event, threading.Event]:
    """Have the model answer with a summary once it may: whether it was asked, and whether it may answer."""
    asked, may_answer = threading.Event(), threading.Event()

    def script(_number: int, _prompt: str) -> Act:
        asked.set()
        may_answer.wait(PATIENCE_S)
        return Act(text=SUMMARY)

    server.script = script
    return asked, may_answer


@pytest.mark.feature("004.2")
def test_context_makes_the_summary_of_a_session_without_being_asked(recalld: Command, server: Server):
    talked(recalld, 8)
    recalld.environ["RECALLD_TURNS_OVERFLOW"] = "summary"
    asked, may_answer = held(server)
    killed = recalld.start("-w", str(recalld.root), *TURN)
    until(asked.is_set, killed)
    killed.kill()
    killed.communicate()
    may_answer.set()

    with recalld.supervised():
        turns = [recalld(*TURN), recalld(*TURN)]
    assert [(turn.code, turn.err) for turn in turns] == [(0, "")] * 2
    assert turns[0].out == turns[1].out
    first, *rest = json.loads(turns[0].out)
    assert first["content"].startswith("你是小记。\n\n对话历史总结：\n")
    assert SUMMARY in first["content"]
    assert [one["role"] for one in rest] == ["user", "user", "assistant"] * 3 + ["user", "user"]
    assert rest[-2]["content"] == f"{SAID[-1][1]}（第 8 次）"
    # the answer to the turn that was killed may be there before the worker sees that nobody waits for it
    assert server.seen.calls == json.loads(recalld("status", "--json").out)["today"]["calls"] <= 2


def test_turn_that_waits_for_the_model_keeps_no_other_command_waiting(recalld: Command, server: Server):
    talked(recalld, 8)
    recalld.environ["RECALLD_TURNS_OVERFLOW"] = "summary"
    asked, may_answer = held(server)
    with recalld.supervised():
        waiting = recalld.start("-w", str(recalld.root), *TURN)
        until(asked.is_set, waiting)
        assert recalld("search", "备注").code == 0
        assert recalld("append", "--role", "user", "--text", "还有一句。").code == 0
        assert waiting.poll() is None
        may_answer.set()
        turn = ended(waiting)
    assert (turn.code, SUMMARY in turn.out) == (0, True)


def test_turn_goes_on_without_a_model_that_is_too_slow(recalld: Command, server: Server):
    talked(recalld, 8)
    recalld.environ |= {"RECALLD_TURNS_OVERFLOW": "summary", "RECALLD_TURNS_WAIT": "1s"}
    server.play("hang")
    turn = recalld(*TURN)
    assert (turn.code, turn.err) == (0, "")
    assert "对话历史总结" not in turn.out
    until(lambda: server.seen.gone or not server.seen.calls)
    assert not [*(recalld.root / "worker/queue").iterdir(), *(recalld.root / "worker/running").iterdir()]
