"""
The same worker against a real llama.cpp server with a real, if small, model: script/test-llm sets both up.

What is shown is the wire: streaming, time-outs, cancellation, overflow. The words of the model are worth
nothing, and are not looked at.
"""

import threading

import pytest

from recalld.worker.providers import Cancelled, ProviderError, Usage
from tests.llm.llama import IS_THERE, Llama

pytestmark = [pytest.mark.llm, pytest.mark.skipif(not IS_THERE, reason="needs a model: script/test-llm")]
HELLO = "Say hello in one short sentence."
LONG = "Write a very long story about a server, with every detail that you can think of."


@pytest.fixture(scope="module")
def server():
    found = Llama(18081)
    found.start()
    yield found
    found.kill()


def provider(server, **more):
    from recalld.worker.providers.openai import OpenAi  # loading it takes a second where tests are only collected

    return OpenAi(**{"model": "smollm2", "base_url": server.url, "temperature": 0.0, "timeout_s": 120, **more})


def ask(found, prompt, max_tokens, cancelled=lambda: False):
    return found.complete(prompt, max_tokens=max_tokens, calling=lambda: None, cancelled=cancelled)


def answers(server):
    """Whether the server writes anything at all: this model seldom knows where to end."""
    try:
        usage = ask(provider(server), HELLO, 30).usage
    except ProviderError as error:
        usage = error.usage if error.reason == "truncated" else Usage()
    return usage.completion_tokens > 0


def test_openai_streams_an_answer_and_counts_its_tokens(server):
    done = ask(provider(server), HELLO, 200)

    assert done.text
    assert done.usage.calls in {1, 2}
    assert done.usage.prompt_tokens > 0
    assert done.usage.completion_tokens > 0


def test_openai_times_out_and_the_server_answers_the_next_request(server):
    with pytest.raises(ProviderError) as caught:
        ask(provider(server, timeout_s=2), LONG, 1500)

    assert caught.value.reason == "timeout"
    assert answers(server)


def test_openai_cancel_closes_the_stream_and_frees_the_server(server):
    stop = threading.Event()
    threading.Timer(2, stop.set).start()

    with pytest.raises(Cancelled):
        ask(provider(server), LONG, 1800, stop.is_set)

    assert answers(server)


def test_openai_reports_a_prompt_beyond_the_context_as_overflow(server):
    with pytest.raises(ProviderError) as caught:
        ask(provider(server), "word " * 4000, 100)

    assert (caught.value.reason, caught.value.overflow) == ("input", True)
