"""Requests that a client makes for itself, as the sources of the clients have them."""

from __future__ import annotations

import json

import pytest

from recalld.supervisor.interfaces.proxy.talk import read_talk
from recalld.supervisor.interfaces.proxy.turn import is_auxiliary


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
