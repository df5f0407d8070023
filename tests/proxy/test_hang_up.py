"""A client that goes away, at whatever byte, takes the request to the model's server with it."""

import json
import socket
import struct

import pytest

from tests.process.command import until
from tests.proxy.conftest import Proxied
from tests.proxy.model_server import MUTE, Reply, chat, chat_stream


def hang_up_at(proxied: Proxied, size: int = 0, *, word: str = "", reset: bool = False) -> None:
    """Ask, read so many bytes of the answer, or up to a word, and close the connection."""
    body = json.dumps({"messages": [{"role": "user", "content": f"第 {size} 次：我对什么过敏？"}], "stream": True}).encode()
    port, token = proxied.service.port, proxied.service.token
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), 10) as line:
        line.sendall(head.encode() + body)
        got = b""
        while len(got) < size or word.encode() not in got:
            piece = line.recv(max(1, size - len(got)))
            assert piece
            got += piece
        if reset:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        until(lambda: proxied.model.got)


def endless() -> Reply:
    return chat_stream("花生", "，", "海鲜", end=False, waits=True)


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_hang_up_ends_the_request_to_the_server(proxied: Proxied, reset):
    proxied.play(MUTE)
    before = proxied.model.gone
    hang_up_at(proxied, reset=reset)
    assert until(lambda: proxied.model.gone > before)


def test_hang_up_in_a_stream_keeps_the_question_and_nothing_of_an_answer(proxied: Proxied):
    proxied.play(endless())
    before = proxied.model.gone
    hang_up_at(proxied, word="海鲜")
    assert until(lambda: proxied.model.gone > before)
    proxied.play(chat("周五。"))
    proxied.ask("部署在哪天？")
    assert [text for _, text in proxied.kept(3)] == ["第 0 次：我对什么过敏？", "部署在哪天？", "周五。"]


def test_hang_up_behind_the_end_of_an_answer_keeps_it(proxied: Proxied):
    whole = chat_stream("花生", "，", "海鲜。")
    proxied.play(whole._replace(pieces=whole.pieces[:-1], waits=True))  # without "[DONE]", which clients do not wait for
    hang_up_at(proxied, word='"stop"')
    assert proxied.kept(2)[1] == ("assistant", "花生，海鲜。")


@pytest.mark.proof
def test_hang_up_at_every_twentieth_byte_leaves_no_connection_open(proxied: Proxied):
    proxied.play(endless())
    sizes = range(0, 870, 20)
    for size in sizes:
        hang_up_at(proxied, size, reset=bool(size % 40))
    assert until(lambda: not proxied.model.open)
    assert len(proxied.model.got) > len(sizes) - 5  # one that hangs up while memory is searched never gets there
    assert not proxied.faults
