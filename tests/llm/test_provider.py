"""The OpenAI provider with its real client, against a server that fails in every way that servers do."""

import traceback
from dataclasses import replace

import pytest

from recalld.supervisor.protocol.config import load
from recalld.supervisor.storage.errors import BadConfig
from recalld.worker.providers import Cancelled, Extractive, ProviderError, choose
from recalld.worker.providers.server_answers import classify, refused_parameter, retry_after
from tests.llm.server import ACTS, TEXT, Act, Server, _whole
from tests.process.command import until

KEY = "sk-test-4f9a1c77e2d84b0f"
PROMPT = "请写摘要：\n```\n09:02 user: 把 {nginx} 的配置备份到 /srv/backup，端口 8443。\n```"


def provider(server, **more):
    from recalld.worker.providers.openai import OpenAi  # loading it takes a second where tests are only collected

    return OpenAi(**{"model": "qwen-test", "base_url": server.url, "temperature": 0.3, "timeout_s": 5, "key": KEY, **more})


def ask(found, prompt=PROMPT, cancelled=lambda: False):
    return found.complete(prompt, max_tokens=512, calling=lambda: None, cancelled=cancelled)


def refused(found, **more):
    with pytest.raises(ProviderError) as caught:
        ask(found, **more)
    return caught.value


def test_openai_request_has_temperature_and_prompt_but_no_tools(server):
    ask(provider(server))

    (body,) = server.seen.bodies
    assert body["messages"] == [{"role": "user", "content": PROMPT}]
    assert (body["model"], body["temperature"], body["stream"], body["max_tokens"]) == ("qwen-test", 0.3, True, 512)
    assert not [name for name in body if "tool" in name or "function" in name]
    assert server.seen.headers[0]["authorization"] == f"Bearer {KEY}"


#: The acts of a server, by the reason that each is a failure for.
FAULTS = {
    "provider": ("bad key", "no model", "fault", "loading", "garbage", "page"),
    "timeout": ("close", "broken", "no end"),
    "input": ("rejected",),
    "empty": ("empty", "blank"),
    "thought": ("only thinks",),
    "refused": ("refusal", "filtered"),
    "truncated": ("cut off",),
}


@pytest.mark.parametrize(
    ("act", "reason", "overflow", "wait_s"),
    [
        *(("slow down", "provider", False, 37), ("too long", "input", True, 0)),
        *((act, reason, False, 0) for reason, acts in FAULTS.items() for act in acts),
    ],
)
def test_openai_classifies_each_fault_and_asks_once(server, act, reason, overflow, wait_s):
    server.play(act)

    error = refused(provider(server))

    assert (error.reason, error.overflow, error.retry_after_s) == (reason, overflow, wait_s), error.why
    assert error.usage.calls == server.seen.calls == 1


def test_openai_asks_without_streaming_when_the_stream_is_empty(server):
    server.play("mute")
    error = refused(provider(server))
    assert (error.reason, error.overflow, error.usage.calls) == ("input", True, 2)

    server.play(Act(mute=True))
    done = ask(provider(server))
    assert (done.text, done.usage.calls) == (TEXT, 2)
    assert [body["stream"] for body in server.seen.bodies] == [True, False, True, False]


def test_openai_reads_an_answer_that_a_server_without_streams_gives_whole(server):
    body = _whole(Act(), {"messages": [{"content": PROMPT}]})
    server.play(Act(body=body, headers=(("Content-Type", "application/json; charset=utf-8"),)))
    done = ask(provider(server))
    assert (done.text, done.usage.calls, done.usage.prompt_tokens) == (TEXT, 1, len(PROMPT))

    server.play(Act(body=b'{"error": "unknown path"}', headers=(("Content-Type", "application/json"),)))
    assert "check base_url" in refused(provider(server)).why


def test_openai_reports_an_unreachable_server_as_a_provider_fault():
    with Server() as closed:
        pass

    error = refused(provider(closed))
    assert (error.reason, "can't be reached" in error.why, error.usage.calls) == ("provider", True, 1)


def test_openai_ends_a_stream_that_is_silent_for_silence_s(server):
    server.play("hang")

    error = refused(provider(server, silence_s=2.0, timeout_s=600))  # a busy machine may let the first word wait
    assert (error.reason, error.usage.calls) == ("timeout", 1)
    assert min(error.usage.prompt_tokens, error.usage.completion_tokens) > 0  # the server read the prompt, whatever came of it


@pytest.mark.parametrize("act", ["silent", "drip", "hang"])
def test_openai_ends_every_completion_after_timeout_s_or_when_cancelled(server, act):
    server.play(act)

    assert refused(provider(server, timeout_s=0.5, silence_s=600)).reason == "timeout"
    until(lambda: server.seen.gone == 1)
    with pytest.raises(Cancelled):
        ask(provider(server, timeout_s=600, silence_s=600), cancelled=lambda: server.seen.calls == 2)
    until(lambda: server.seen.gone == 2)


def test_openai_sends_nothing_when_cancelled_beforehand(server):
    with pytest.raises(Cancelled):
        ask(provider(server), cancelled=lambda: True)

    assert server.seen.calls == 0


def test_openai_omits_unsupported_parameters_and_remembers_them(server):
    server.play("old")
    found = provider(server)

    assert ask(found).text == TEXT
    assert ask(found).usage.calls == 1

    assert [sorted({"stream_options", "temperature", "max_tokens"} & body.keys()) for body in server.seen.bodies] == [
        ["max_tokens", "stream_options", "temperature"],
        ["max_tokens", "temperature"],
        ["max_tokens"],
        ["max_tokens"],
    ]


def test_openai_renames_max_tokens_when_the_server_asks_for_it(server):
    advice = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    server.play(Act(status=400, message=advice), "say")

    assert ask(provider(server)).usage.calls == 2
    assert server.seen.bodies[1]["max_completion_tokens"] == 512
    assert "max_tokens" not in server.seen.bodies[1]


@pytest.mark.parametrize("act", [one for one, act in ACTS.items() if act.message])
def test_openai_puts_the_key_in_no_error(server, act):
    server.play(replace(ACTS[act], message=f"{ACTS[act].message} for {KEY}"))
    found = provider(server)
    error = refused(found)
    told = [repr(found), error.why, str(error), repr(error), "".join(traceback.format_exception(error))]
    assert not [text for text in told if KEY in text]


@pytest.mark.parametrize("status", [301, 307])
def test_openai_follows_no_redirect_to_another_host(server, status):
    with Server() as other:
        server.play(Act(status=status, headers=(("Location", f"{other.url}/chat/completions"),)))
        error = refused(provider(server))
        assert other.seen.calls == 0
    assert (error.reason, server.seen.calls) == ("provider", 1)
    assert f"({status})" in error.why


@pytest.mark.parametrize("status", [400, 401, 404, 413, 429, 500, 529])
def test_openai_quotes_no_text_of_the_server_in_an_error(server, status):
    server.play(Act(status=status, message="overloaded while it read 花生 nginx, key sk-test-4f9a…"))
    error = refused(provider(server))
    assert f"({status})" in error.why
    assert not [quoted for quoted in ("花生", "nginx", "sk-test", "overloaded") if quoted in error.why]


# ── answers without end ──────────────────────────────────────────────────────


def test_openai_cuts_off_a_model_that_thinks_without_end(server):
    server.play("endless thinking")
    assert refused(provider(server, timeout_s=50)).reason == "truncated"
    until(lambda: server.seen.gone == 1)


@pytest.mark.parametrize("act", ["endless line", "endless error"])
def test_openai_ends_an_answer_that_has_no_end(server, act):
    server.play(act)
    assert refused(provider(server, timeout_s=50)).reason == "provider"
    until(lambda: server.seen.gone == 1)
    assert server.seen.flooded < 64_000_000  # what lies in the buffers of the sockets included


def test_openai_unpacks_no_compressed_answer(server):
    server.play("gzip bomb")
    error = refused(provider(server))
    assert (error.reason, "something else than a chat completion" in error.why) == ("provider", True)
    assert server.seen.headers[0]["accept-encoding"] == "identity"


def test_openai_reads_no_further_when_an_answer_goes_round_in_a_circle(server):
    server.play(Act(text="对花生过敏。" + "换了水管，花了 38 元。" * 1_000, parts=100, end="hang"))
    assert 2_000 <= len(ask(provider(server)).text) < 4_000
    until(lambda: server.seen.gone == 1)
    server.play(Act(text="".join(f"第 {n} 根水管花了 {n * 7} 元。" for n in range(900)), parts=400))
    assert ask(provider(server)).text.endswith("6293 元。")


# ── what is sent ─────────────────────────────────────────────────────────────


def test_openai_sends_a_lone_surrogate_as_a_question_mark(server):
    ask(provider(server), prompt="坏掉的表情 \ud83d 在这里")

    assert server.seen.prompts == ["坏掉的表情 ? 在这里"]


def test_openai_ignores_base_url_and_proxy_variables(server, monkeypatch):
    for name in ("OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/elsewhere")

    assert ask(provider(server)).text == TEXT


# ── which provider, and its key ──────────────────────────────────────────────


def chosen(toml, **environ):
    return choose(load(f"[llm]\n{toml}".encode(), {}), environ)


def test_choose_returns_extractive_without_a_model_or_when_configured():
    assert isinstance(chosen(""), Extractive)
    assert isinstance(chosen('provider = "extractive"\nmodel = "qwen3:8b"'), Extractive)


def test_choose_refuses_a_server_without_a_model():
    with pytest.raises(BadConfig, match=r"llm\.model: no model is named"):
        chosen('base_url = "http://127.0.0.1:11434/v1"')


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "recalld-api-key"])
def test_choose_reads_the_key_from_a_systemd_credential(tmp_path, name):
    (tmp_path / name).write_text(f"{KEY}\n")

    assert chosen('model = "qwen3:8b"', CREDENTIALS_DIRECTORY=str(tmp_path)).key == KEY


def test_choose_refuses_a_malformed_key_without_showing_it():
    with pytest.raises(BadConfig) as caught:
        chosen('model = "m"', OPENAI_API_KEY=f"Bearer {KEY}")

    assert KEY not in str(caught.value)


# ── refusals of real servers, by their status and words ──────────────────────


TOO_LONG = (
    (400, "This model's maximum context length is 2048 tokens, however you requested 3011 tokens"),  # OpenAI, vLLM
    (400, "the request exceeds the available context size. try increasing the context size"),  # llama.cpp
    (400, "prompt is too long: 208310 tokens > 200000 maximum"),  # Anthropic
    (400, "Trying to keep the first 9000 tokens when context overflows; loaded with context length of only 4096"),  # LM Studio
    (429, "Request too large for gpt-4o on tokens per min (TPM): Limit 10000, Requested 12001"),  # OpenAI
    (413, ""),
    (422, "Input validation error: `inputs` must have less than 4096 tokens; too many input tokens"),  # TGI
    (None, "context length exceeded"),
)


@pytest.mark.parametrize(("status", "words"), TOO_LONG)
def test_server_answers_classify_a_context_overflow_as_input_to_be_split(status, words):
    fault = classify(status, words)

    assert (fault.reason, fault.overflow) == ("input", True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "37"}, 37),
        ({"retry-after": "0.4"}, 1),
        ({"retry-after": "Sat, 31 Jan 2026 10:00:30 GMT"}, 0),
        ({"retry-after": "inf"}, 86_400),
        ({"retry-after": "nan"}, 0),
        ({"retry-after": "-5"}, 0),
        ({"retry-after": "稍后"}, 0),
        ({}, 0),
    ],
)
def test_retry_after_reads_seconds_and_limits_them_to_one_day(headers, seconds):
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("words", "sent", "refused"),
    [
        ("Unsupported value: 'temperature' does not support 0.3 with this model.", ("temperature",), "temperature"),
        ("Unrecognized request argument supplied: stream_options", ("stream_options", "temperature"), "stream_options"),
        ("Use 'max_completion_tokens' instead of 'max_tokens'", ("max_completion_tokens",), "max_completion_tokens"),
        ("'max_tokens' is not supported. Use 'max_completion_tokens' instead.", ("max_tokens",), "max_tokens"),
        ("Unsupported value: 'temperature'", (), ""),
        ("max_tokens is over the maximum context length is 4096 tokens", ("max_tokens",), ""),
        ("把温度调低", ("temperature",), ""),
    ],
)
def test_refused_parameter_returns_the_sent_parameter_the_server_rejects(words, sent, refused):
    assert refused_parameter(400, words, dict.fromkeys(sent, 1)) == refused
    assert not refused_parameter(500, words, dict.fromkeys(sent, 1))
