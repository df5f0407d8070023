"""A turn through the proxy: what the model's server gets, what comes back, and what is kept."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from recalld.supervisor.interfaces.output import receipt_text
from recalld.supervisor.interfaces.proxy import endpoint
from recalld.supervisor.interfaces.proxy.turn import memory_for
from recalld.supervisor.protocol.connections import MEMORY_LATE
from tests.patience import PATIENCE_S
from tests.process.command import until
from tests.proxy.conftest import Proxied
from tests.proxy.model_server import DROPS, MUTE, chat, chat_stream
from tests.world import ZONE, FaultyDisk

QUESTION = "我对什么过敏？"


# ── memory ───────────────────────────────────────────────────────────────────


def test_proxy_puts_memory_before_the_question(proxied: Proxied):
    answer = proxied.ask(QUESTION)
    assert answer.json()["choices"][0]["message"]["content"] == "好。"
    sent = proxied.model.got[0].json["messages"]
    assert len(sent) == 1
    assert sent[0]["content"].startswith("<memory>\n## Memory\n")
    assert sent[0]["content"].endswith(f"</memory>\n\n{QUESTION}")
    assert "花生" in sent[0]["content"]


@pytest.mark.parametrize("place", ["system", "message"])
def test_proxy_puts_memory_where_context_memory_in_says(proxied: Proxied, place):
    proxied.configure(f'[recall]\ntimeout_ms = 60000\n[context]\nmemory_in = "{place}"\n')
    proxied.ask(QUESTION)
    first, last = proxied.model.got[0].json["messages"]
    assert last == {"role": "user", "content": QUESTION}
    assert first["role"] == ("system" if place == "system" else "user")
    assert "花生" in first["content"]


def test_body_has_every_other_value_as_the_client_sent_it(proxied: Proxied):
    head, tail = '{ "x":1.50 ,"messages" : [{"content":"', '", "role":"user"}] ,"model":"m", "seed": 1e3,"未知":"\\ud83d" }\n'
    proxied.post("/v1/chat/completions", f"{head}{QUESTION}{tail}".encode())
    sent = proxied.model.got[0].json
    content = sent["messages"][0].pop("content")
    assert content.startswith("<memory>")
    assert content.endswith(QUESTION)
    assert sent == {"x": 1.5, "messages": [{"role": "user"}], "model": "m", "seed": 1e3, "未知": "\ud83d"}


SAID = b'"messages": [{"role": "user", "content": "%s"}]' % QUESTION.encode()


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages": [{"role": "user", "content": "zyxwv qwrtp?"}],"model":"m" }',  # there is no memory to it
        *(b'{"messages": {"role": "user"}}', b"{%s}" % SAID.replace(b"user", b"wizard"), b'{"messages": []}', b"{}"),
        *(b'{"messages": [', b"", b'\xff{"messages": []}'),
        # what can't be written again as it came
        *(b'{"top_p": 1e400, %s}' % SAID, b'{"top_p": NaN, %s}' % SAID, b'{"user": "a", "user": "b", %s}' % SAID),
        b'{"metadata": {"a": 1, "a": 2}, %s}' % SAID,
    ],
)
def test_request_that_gets_no_memory_passes_byte_for_byte(proxied: Proxied, body):
    proxied.play(chat()._replace(status=422, pieces=(b'{"error": {"message": "no"}}',)))
    answer = proxied.post("/v1/chat/completions", body)
    assert (answer.status_code, answer.content) == (422, b'{"error": {"message": "no"}}')
    assert [got.body for got in proxied.model.got] == [body]
    assert not proxied.faults


# ── what comes back ──────────────────────────────────────────────────────────


def test_stream_passes_byte_for_byte(proxied: Proxied):
    reply = chat_stream("花生", "，", "对。")
    proxied.play(reply)
    answer = proxied.ask(QUESTION)
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.content == b"".join(reply.pieces)
    assert proxied.kept(2)[1] == ("assistant", "花生，对。")


def test_error_of_the_server_passes_and_is_no_answer(proxied: Proxied):
    body = b'{"error":{"message":"slow down","code":429}}'
    proxied.play(
        chat()._replace(status=429, pieces=(body,), headers=(("Retry-After", "7"), ("Content-Type", "application/json")))
    )
    answer = proxied.ask(QUESTION)
    assert (answer.status_code, answer.content, answer.headers["retry-after"]) == (429, body, "7")
    proxied.play(chat("好。"))
    proxied.ask(QUESTION)
    assert proxied.kept(2) == [("user", QUESTION), ("assistant", "好。")]


def test_other_paths_and_methods_pass_untouched(proxied: Proxied):
    proxied.play(chat()._replace(pieces=(b'{"data": []}',)))
    assert proxied.service.ask("GET", "/v1/models?limit=2").content == b'{"data": []}'
    proxied.post("/v1/embeddings", b'{"input": "x"}')
    proxied.service.ask("DELETE", "/v1/files/a%2Fb%20c?x=%2F")
    assert [(one.method, one.path, one.body) for one in proxied.model.got] == [
        ("GET", "/v1/models?limit=2", b""),
        ("POST", "/v1/embeddings", b'{"input": "x"}'),
        ("DELETE", "/v1/files/a%2Fb%20c?x=%2F", b""),
    ]


@pytest.mark.parametrize("path", ["/v1/../admin", "/v1/%2e%2e/admin", "/v1/files/..%2f..%2fadmin"])
def test_path_that_leaves_the_upstream_is_404(proxied: Proxied, path):
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{proxied.service.port}\r\nAuthorization: Bearer {proxied.service.token}\r\n"
    answer = proxied.service.raw(f"{head}Connection: close\r\n\r\n".encode())
    assert answer.status == 404
    assert not proxied.model.got


# ── what is kept ─────────────────────────────────────────────────────────────


def test_turn_is_kept_once_and_another_answer_is_a_revision(proxied: Proxied):
    proxied.ask(QUESTION)
    proxied.ask(QUESTION)
    proxied.play(chat("花生。"))
    proxied.ask(QUESTION)  # asked for again
    proxied.ask(QUESTION, "花生。", "谁会来？")
    proxied.ask(QUESTION, "花生。", "几个人来？")  # edited, or of another talk that began alike
    kept = proxied.history(7)
    assert [one["text"] for one in kept] == [QUESTION, "好。", "花生。", "谁会来？", "花生。", "几个人来？", "花生。"]
    assert len({one["id"] for one in kept}) == 6


def test_question_alone_is_another_one_after_ten_minutes(proxied: Proxied):
    proxied.ask("继续")
    proxied.history(2)
    proxied.service.world.clock.forward(minutes=11)
    proxied.ask("继续")
    proxied.history(4)
    proxied.ask("继续")  # asked for again
    proxied.ask("继续", "好。", "停")
    assert [one["text"] for one in proxied.history(6)] == ["继续", "好。", "继续", "好。", "停", "好。"]


def test_tool_calls_and_results_are_not_kept_and_the_block_stays(proxied: Proxied):
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    proxied.play(chat("我查一下。", tool_calls=[call]), chat("花生。"))
    question = {"role": "user", "content": QUESTION}
    first = {"model": "m", "messages": [question], "user": "anna"}
    proxied.post("/v1/chat/completions", first)
    asked = {"role": "assistant", "content": "我查一下。", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "1", "content": "查到了花生"}
    proxied.post("/v1/chat/completions", {**first, "messages": [question, asked, result]})
    assert proxied.kept(2) == [("user", QUESTION), ("assistant", "花生。")]
    one, other = (got.json["messages"][0] for got in proxied.model.got)
    assert one == other
    assert "<memory>" in one["content"]


def test_answer_that_breaks_off_is_not_kept_and_the_client_sees_it(proxied: Proxied):
    proxied.play(chat_stream("花生", "，", end=False, breaks=True))
    with pytest.raises(Exception, match=r"peer closed|incomplete"):
        proxied.ask(QUESTION)
    proxied.play(chat("周五。"))
    proxied.ask("部署在哪天？")
    assert proxied.kept(3) == [("user", QUESTION), ("user", "部署在哪天？"), ("assistant", "周五。")]


def test_words_of_the_client_itself_and_private_ones_are_not_kept(proxied: Proxied):
    proxied.ask("<system-reminder>今天周五</system-reminder>我叫<private>小周</private>安娜")
    assert proxied.kept(2)[0] == ("user", "我叫安娜")


# ── sessions ─────────────────────────────────────────────────────────────────


def test_session_is_of_the_header_else_of_a_field_else_of_the_beginning(proxied: Proxied):
    said = [{"role": "system", "content": "简短"}, {"role": "user", "content": "早"}]
    more = [{"role": "assistant", "content": "好。"}, {"role": "user", "content": "午"}]
    path = "/v1/chat/completions"
    proxied.post(path, {"messages": said, "user": "anna"}, **{"X-Recalld-Session": "s"})
    proxied.post(path, {"messages": said, "user": "anna"})
    proxied.post(path, {"messages": said})
    proxied.post(path, {"messages": said + more})
    sessions = [one["session"] for one in proxied.history(8) if one["role"] == "user"]
    assert sessions[:2] == ["s", "anna"]
    assert sessions[2] == sessions[3]
    assert sessions[2].startswith("proxy-")


def test_session_of_4_kb_is_400(proxied: Proxied):
    answer = proxied.ask(QUESTION, session="x" * 4096)
    assert (answer.status_code, "200 characters" in answer.json()["error"]["message"]) == (400, True)
    assert not proxied.model.got


def test_session_of_a_group_gets_what_a_group_may_see(proxied: Proxied):
    proxied.ask(QUESTION, session="telegram:group:1")
    assert "花生" not in str(proxied.model.got[0].json)


# ── keys and errors ──────────────────────────────────────────────────────────


def test_key_of_the_client_stays_here_and_the_server_gets_its_own(proxied: Proxied):
    proxied.service.world.ws.environ = {"OPENAI_API_KEY": "sk-upstream"}
    proxied.ask(QUESTION, **{"X-Recalld-Chat": "x", "X-Trace": "7", "User-Agent": "OpenAI/Python"})
    got = proxied.model.got[0].headers
    assert got["authorization"] == "Bearer sk-upstream"
    assert (got["x-trace"], got["user-agent"], got["accept-encoding"]) == ("7", "OpenAI/Python", "identity")
    assert not [name for name in got if name.startswith("x-recalld")]
    assert proxied.service.token not in json.dumps(got)


def test_anthropics_key_header_is_a_key_too(proxied: Proxied):
    proxied.service.world.ws.environ = {"OPENAI_API_KEY": "sk-upstream"}
    with proxied.service.stranger(**{"x-api-key": proxied.service.token}) as client:
        assert client.post("/v1/messages", json={"messages": [{"role": "user", "content": "早"}]}).status_code == 200
    got = proxied.model.got[0].headers
    assert got["x-api-key"] == "sk-upstream"
    assert "authorization" not in got


@pytest.mark.parametrize(("path", "kind"), [("/v1/messages", "authentication_error"), ("/v1/chat/completions", "")])
def test_request_without_the_token_is_401_in_the_words_of_the_protocol(proxied: Proxied, path, kind):
    with proxied.service.stranger() as client:
        answer = client.post(path, json={"messages": []})
    assert answer.status_code == 401
    found = answer.json()
    assert found["error"]["message"].startswith("this needs the token")
    assert (found.get("type") == "error") == bool(kind)
    assert not proxied.model.got


@pytest.mark.parametrize(
    ("setting", "locale", "sentence"),
    [
        ("auto", "C.UTF-8", "the model server"),
        ("auto", "zh_CN.UTF-8", "模型服务器"),
        ("en", "zh_CN.UTF-8", "the model server"),
    ],
)
def test_server_that_is_away_is_502_in_the_configured_language(proxied: Proxied, setting, locale, sentence):
    proxied.service.world.reopen(f'language = "{setting}"\n[serve]\nupstream = "http://127.0.0.1:9/v1"\n')
    proxied.service.world.ws.environ = {"LANG": locale}
    answer = proxied.ask(QUESTION, **{"Accept-Language": "zh"})
    assert answer.status_code == 502
    assert answer.json()["error"]["message"].startswith(sentence)
    assert proxied.kept(1) == [("user", QUESTION)]


@pytest.mark.parametrize(("reply", "status", "words"), [(DROPS, 502, "gave no answer"), (MUTE, 504, "within 1 s")])
def test_server_that_gives_no_answer_is_not_told_to_be_started(proxied: Proxied, reply, status, words):
    proxied.configure('[llm]\ntimeout = "1s"\n')
    proxied.play(reply)
    answer = proxied.ask("What am I allergic to?")
    assert (answer.status_code, "start it" in answer.text) == (status, False)
    assert words in answer.json()["error"]["message"]


def test_proxy_without_a_server_is_404_that_says_what_to_set(proxied: Proxied):
    proxied.service.world.reopen("[serve]\nport = 0\n")
    answer = proxied.ask(QUESTION)
    assert (answer.status_code, "upstream" in answer.json()["error"]["message"]) == (404, True)


# ── when memory fails ────────────────────────────────────────────────────────


@pytest.mark.proof
def test_forty_questions_at_once_all_get_memory(proxied: Proxied):
    proxied.configure("[recall]\ntimeout_ms = 10000\n")
    proxied.play(chat("好。"))
    with ThreadPoolExecutor(40) as threads:
        list(threads.map(lambda n: proxied.ask(f"我对花生过敏吗？第 {n} 次问", session=f"s{n}").raise_for_status(), range(40)))
    assert sum("点外卖要备注" in str(got.json["messages"]) for got in proxied.model.got) == 40
    assert not proxied.faults


def test_question_goes_on_without_a_search_that_takes_too_long(proxied: Proxied, monkeypatch):
    proxied.configure("[recall]\ntimeout_ms = 50\n")
    goes_on = threading.Event()
    monkeypatch.setattr(endpoint, "memory_for", lambda *of: goes_on.wait(PATIENCE_S) and memory_for(*of))
    try:
        proxied.ask(QUESTION).raise_for_status()
        assert proxied.faults == [MEMORY_LATE]
    finally:
        goes_on.set()
    receipts = proxied.service.world.ws.receipts
    until(lambda: receipts.turns() and receipts.read().unsent)
    assert "went to the model without it" in receipt_text(receipts.read(), ZONE)


def test_search_that_takes_all_of_its_time_leaves_time_for_the_block(proxied: Proxied, monkeypatch):
    proxied.configure("[recall]\ntimeout_ms = 50\n")
    monkeypatch.setattr(endpoint, "memory_for", lambda *of: time.sleep(0.1) or memory_for(*of))
    proxied.ask(QUESTION).raise_for_status()
    assert "点外卖要备注" in str(proxied.model.got[-1].json["messages"])
    assert (proxied.faults, proxied.service.world.ws.receipts.read().unsent) == ([], False)


def test_disk_that_is_full_does_not_fail_the_turn_and_is_told(proxied: Proxied):
    disk = FaultyDisk()
    proxied.service.world.reopen(disk=disk)
    disk.break_down()
    assert proxied.ask(QUESTION).status_code == 200
    assert until(lambda: len(proxied.faults) >= 2)  # the question, and the answer
    assert "花生" in str(proxied.model.got[0].json)
    disk.heal()
