"""The three protocols: where memory goes in each, what is the question, and what is the answer."""

import json
from typing import Any

import pytest

from recalld.supervisor.interfaces.proxy.talk import named_session, read_answer, read_talk, with_memory
from recalld.supervisor.interfaces.proxy.turn import is_auxiliary
from tests.proxy.conftest import Proxied
from tests.proxy.model_server import chat, chat_stream, message, message_stream, response, response_stream

BLOCK = "## Memory\n[memory.md] 我对花生过敏\n"
SHOWN = f"<memory>\n{BLOCK}</memory>"
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def made(path: str, body: dict[str, Any], where: Any = "question") -> Any:
    """The body of a request to this path, with memory in it."""
    text = json.dumps(body, ensure_ascii=False)
    talk = read_talk(path, text.encode())
    assert talk
    return json.loads(with_memory(talk, BLOCK, where))


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


# ── chat completions ─────────────────────────────────────────────────────────


def test_chat_has_memory_in_the_part_with_the_words_and_pictures_stay():
    body = {"messages": [{"role": "user", "content": [PICTURE, text("这能吃吗？")]}]}
    assert made("chat/completions", body)["messages"][0]["content"] == [PICTURE, text(f"{SHOWN}\n\n这能吃吗？")]


def test_chat_has_memory_behind_the_system_prompt_also_in_parts():
    body = {"messages": [{"role": "developer", "content": [text("简短"), text("中文")]}, {"role": "user", "content": "早"}]}
    first = made("chat/completions", body, "system")["messages"][0]
    assert first["content"] == [text("简短"), text(f"中文\n\n{SHOWN}")]
    assert made("chat/completions", {"messages": [{"role": "user", "content": "早"}]}, "system")["messages"] == [
        {"role": "system", "content": SHOWN},
        {"role": "user", "content": "早"},
    ]


# ── messages ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("system", "after"),
    [
        ("简短", f"简短\n\n{SHOWN}"),
        ([text("简短", cache_control={"type": "ephemeral"})], [text(f"简短\n\n{SHOWN}", cache_control={"type": "ephemeral"})]),
        ("", SHOWN),
        (None, SHOWN),
    ],
)
def test_messages_have_memory_behind_the_system_prompt(system, after):
    body = {"messages": [{"role": "user", "content": "早"}], "max_tokens": 9} | ({} if system is None else {"system": system})
    assert made("messages", body, "system") == {**body, "system": after}


def test_messages_are_kept_with_the_session_that_the_client_names(proxied: Proxied):
    proxied.play(message_stream("花生", "。"))
    body = {"messages": [{"role": "user", "content": "我对什么过敏？"}], "metadata": {"user_id": "u-1"}, "max_tokens": 9}
    answer = proxied.post("/v1/messages?beta=true", body)
    assert answer.content == b"".join(message_stream("花生", "。").pieces)
    assert proxied.model.got[0].path == "/v1/messages?beta=true"
    assert "花生" in proxied.model.got[0].json["messages"][0]["content"]
    assert [(one["text"], one["session"]) for one in proxied.history(2)] == [("我对什么过敏？", "u-1"), ("花生。", "u-1")]


# ── responses ────────────────────────────────────────────────────────────────


def test_responses_have_memory_in_the_instructions():
    assert made("responses", {"input": "早"}, "system") == {"instructions": SHOWN, "input": "早"}
    assert made("responses", {"instructions": None, "input": "早"}, "system") == {"instructions": SHOWN, "input": "早"}
    assert made("responses", {"input": "早", "instructions": "短"}, "system")["instructions"] == f"短\n\n{SHOWN}"
    assert made("responses", {"input": "早"}, "message") == {"input": f"{SHOWN}\n\n早"}


def test_responses_that_follow_one_another_are_of_one_session(proxied: Proxied):
    proxied.play(response_stream("周五", "。", identity="resp_1"), response("好。", "resp_2"), response("行。", "resp_3"))
    proxied.post("/v1/responses", {"input": "部署在哪天？", "stream": True})
    proxied.history(2)
    proxied.post("/v1/responses", {"input": "好的，记下", "previous_response_id": "resp_1"})
    proxied.history(4)
    proxied.post("/v1/responses", {"input": "好的，记下", "previous_response_id": "resp_2"})
    kept = proxied.history(6)
    assert [one["text"] for one in kept] == ["部署在哪天？", "周五。", "好的，记下", "好。", "好的，记下", "行。"]
    assert len({one["session"] for one in kept}) == 1


def test_responses_of_a_conversation_that_the_server_keeps_are_each_kept(proxied: Proxied):
    proxied.play(response("好。", "resp_1"), response("好。", "resp_2"))
    for count in (2, 4):
        proxied.post("/v1/responses", {"input": "继续", "conversation": {"id": "conv_1"}})
        proxied.history(count)
    assert [(one["text"], one["session"]) for one in proxied.history(4)] == [("继续", "conv_1"), ("好。", "conv_1")] * 2


# ── answers ──────────────────────────────────────────────────────────────────

CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ITEM = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize(
    ("kind", "reply", "said"),
    [
        ("chat", chat("花生。"), "花生。"),
        ("chat", chat("我查。", tool_calls=[CALL]), ""),
        ("chat", chat_stream("花", "生。"), "花生。"),
        ("messages", message(text("花生"), text("。")), "花生。"),
        ("messages", message(text("我查。"), {"type": "tool_use", "id": "1", "name": "f", "input": {}}, ended="tool_use"), ""),
        ("messages", message_stream("花", "生。"), "花生。"),
        ("responses", response("花生。"), "花生。"),
        ("responses", response("我查。", "r", ITEM), ""),
        ("responses", response_stream("花", "生。"), "花生。"),
    ],
)
def test_answer_is_the_words_of_one_that_calls_no_tool(kind, reply, said):
    data, is_stream = b"".join(reply.pieces), reply.headers[0][1] == "text/event-stream"
    found = read_answer(kind, data, is_stream=is_stream)
    assert (found.text, found.is_whole) == (said, True)
    if is_stream:
        cut = read_answer(kind, data[: len(data) // 2], is_stream=True)
        assert (cut.text, cut.is_whole) == ("", False)


def streamed(reply: Any, without: str = "", *more: dict[str, Any]) -> bytes:
    """The stream without the event that has this word, and with more events before the end."""
    pieces = [piece for piece in reply.pieces if not without or without.encode() not in piece]
    return b"".join([*pieces[:-1], *(b"data: %s\n\n" % json.dumps(event).encode() for event in more), pieces[-1]])


FAILED = {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}
ABORTED = {"choices": [{"index": 0, "delta": {}, "finish_reason": "abort"}]}


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("chat", streamed(chat_stream("花", "生。"), '"stop"'), "花生。"),  # "[DONE]" is an end
        ("chat", streamed(chat_stream("花", "生。"), "[DONE]"), "花生。"),  # so is a `finish_reason`
        ("chat", streamed(chat_stream("花", "生", end=False)), ""),
        ("chat", streamed(chat_stream("花", "生。"), '"stop"', FAILED), ""),  # "[DONE]" behind an error
        ("chat", streamed(chat_stream("花", "生。"), '"stop"', ABORTED), ""),
        ("messages", streamed(message_stream("花", "生"), '"message_stop"'), ""),
        ("messages", streamed(message_stream("花", "生"), "", FAILED), ""),
        ("responses", streamed(response_stream("花", "生"), "response.completed"), ""),
        ("responses", streamed(response_stream("花", "生"), "response.completed", {"type": "response.failed"}), ""),
    ],
)
def test_answer_is_talk_once_it_ended_as_its_protocol_says(kind, data, said):
    assert read_answer(kind, data, is_stream=True).text == said


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b'{"choices": []}', b"<html>", b'{"choices": [{"message": 3}]}'])
@pytest.mark.parametrize("kind", ["chat", "responses", "messages"])
def test_answer_of_something_else_has_no_words(kind, data):
    assert read_answer(kind, data, is_stream=False).text == ""
    assert read_answer(kind, b"data: " + data + b"\n\n", is_stream=True).text == ""


def test_session_is_named_by_the_surest_field():
    def named(**fields: Any) -> str:
        talk = read_talk("chat/completions", json.dumps({"messages": [{"role": "user", "content": "早"}], **fields}).encode())
        assert talk
        return named_session(talk)

    assert named(user="u", session_id="s", prompt_cache_key="k", conversation={"id": "c"}) == "c"
    assert named(user="u", session_id="s", metadata={"user_id": "m"}) == "m"
    assert named(user=7, session_id="s") == "s"
    assert named(user="x" * 500) == named(user="x" * 500) != named(user="x" * 501)
    assert len(named(user="x" * 500)) == 20
    assert named() == ""


# ── requests that a client makes for itself, as the sources of the clients have them ─────


def is_for_itself(question: str, system: str = "", skip: tuple[str, ...] = (), **more: object) -> bool:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    talk = read_talk("chat/completions", json.dumps({"messages": messages, **more}).encode())
    assert talk
    return is_auxiliary(talk, skip)


@pytest.mark.parametrize(
    ("question", "system"),
    [
        ("### Task:\nGenerate a title.\n### Guidelines:\n…\n<chat_history>\nUSER: 早\n</chat_history>", "简短"),
        ("使用四到五个字直接返回这句话的简要主题，不要解释、不要标点", "简短"),
        ("user: 早", "你是一名擅长会话的助理，你需要将用户的会话总结为 10 个字以内的标题"),
        ("user: 早", "You are Claude Code.\nAnalyze if this message indicates a new conversation topic. If it does, …"),
    ],
)
def test_auxiliary_request_of_a_client_is_known(question, system):
    assert is_for_itself(question, system)
    assert not is_for_itself(f"他写道：{question}", f"他写道：{system}" if system == "简短" else "简短")


def test_request_for_one_token_is_no_persons():
    assert is_for_itself("quota", max_tokens=1)
    assert not is_for_itself("quota", max_tokens=2)
