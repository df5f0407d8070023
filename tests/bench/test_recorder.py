"""The recorder between recalld and a model: an answer is given again, a fault is asked for again."""

from __future__ import annotations

import json
from http.client import HTTPConnection

import pytest

from bench.recorder import Recorder
from tests.loopback import Handler, Loopback

ASKED = {"model": "m", "messages": [{"role": "system", "content": "短"}, {"role": "user", "content": "房租 4,900"}]}
CHUNKS = [
    {"choices": [{"delta": {"content": "房租"}}]},
    {"choices": [{"delta": {"content": "涨到 4,900"}}]},
    {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 7}},
]


class Model(Loopback):
    """A server that writes what it is told to, and says how often it was asked."""

    class handler(Handler):  # noqa: N801 - as `Loopback` names it
        def do_GET(self) -> None:  # noqa: N802
            self.send_body(200, b'{"data": []}')

        def do_POST(self) -> None:  # noqa: N802
            self.rfile.read(int(self.headers["Content-Length"]))
            self.server.asked += 1
            lines = "".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in CHUNKS) + "data: [DONE]\n\n"
            self.send_body(self.server.status, lines.encode(), ("Content-Type", "text/event-stream"))

    asked, status = 0, 200


@pytest.fixture
def model():
    with Model() as server:
        yield server


def ask(url: str, method: str = "POST", path: str = "/chat/completions") -> tuple[int, str]:
    host, _, base = url.removeprefix("http://").partition("/")
    connection = HTTPConnection(host)
    connection.request(method, f"/{base}{path}", json.dumps(ASKED))
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_recorder_gives_an_answer_again_and_counts_its_cost(model, tmp_path):
    file = tmp_path / "answers.jsonl"
    with Recorder(model.url, file) as first:
        said = ask(first.url)
    with Recorder(model.url, file) as second:
        assert ask(second.url) == said
        (answered,) = second.asked

    assert model.asked == 1
    assert (answered.prompt, answered.text) == ("短\n房租 4,900", "房租涨到 4,900")
    assert (answered.prompt_tokens, answered.completion_tokens) == (12, 7)


def test_recorder_asks_a_second_time_in_one_run_for_a_second_answer(model, tmp_path):
    for _ in range(2):
        with Recorder(model.url, tmp_path / "answers.jsonl") as recorder:
            assert ask(recorder.url) == ask(recorder.url)

    assert model.asked == 2


def test_recorder_asks_again_after_a_fault(model, tmp_path):
    model.status = 503
    with Recorder(model.url, tmp_path / "answers.jsonl") as recorder:
        for _ in range(2):
            assert ask(recorder.url)[0] == 503
        model.status = 200
        assert "房租" in ask(recorder.url)[1]

    assert model.asked == 3
    assert len(recorder.asked) == 1
