"""How refusals of real servers are classified, by their status and words."""

from __future__ import annotations

import pytest

from recalld.worker.providers.server_answers import classify, refused_parameter, retry_after

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
        ({"retry-after": "Sat, 31 Jan 2026 10:00:30 GMT", "date": "Sat, 31 Jan 2026 10:00:00 GMT"}, 30),
        ({"retry-after": "Sat, 31 Jan 2026 10:00:30 GMT"}, 0),
        ({"retry-after": "inf"}, 86_400),
        ({"retry-after": "nan"}, 0),
        ({"retry-after": "-5"}, 0),
        ({"retry-after": "稍后"}, 0),
        ({}, 0),
    ],
)
def test_retry_after_reads_seconds_or_a_date_and_limits_it_to_one_day(headers, seconds):
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
