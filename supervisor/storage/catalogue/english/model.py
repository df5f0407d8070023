"""Why the model wrote no summary, and what `recalld model test` prints."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "none_configured": "no model is configured, so summaries are extracts; give llm.base_url and llm.model",
    "unnamed": 'no model is named; give the name that the server knows, such as "qwen3:8b"',
    "calls_spent": "the day's {most} calls are used up",
    "paused_until": "the model is paused until {time:%Y-%m-%d %H:%M}, {why}",
    "fault": "{why}: {model} at {server}",
    "fault_as": "{fault} ({about})",
    "no_answer_within": "the model did not answer within {seconds:g} s",
    "raised": "the model raised {kind}",
    "nothing_but_is": "the model says that there is nothing to record, and there is",
    "vague": "the model's text is vague, and names hardly anything of the conversation",
    "no_summary": "the model's text can't become a summary",
    "text_longer": "the model's text is longer than {most} characters",
    "text_has_more": "the model's text has more than {most} characters",
    "prompt_full": "prompt and summary so far fill the model's context",
    "result_unread": "the worker's result can't be read: {why}",
    "worker_ended": "the worker ended without a result; `recalld worker` shows why",
    "only_queued": "it is a day or a month, which has to be in worker/queue; submit it there",
    "answered": "{model} answered after {seconds} s: {answer}",
    "pause_over": "its pause is over; a running supervisor asks it for summaries again.",
    "no_answer": "no answer came: {why}.",
    "reason_timeout": "the model did not answer in time",
    "reason_empty": "the model's answer was empty",
    "reason_refused": "the model refused, or its answer was no summary",
    "reason_cut_off": "the model's answer was cut off",
    "reason_poor": "the model's answer said less than an extract",
    "reason_input": "the server did not take the messages",
    "reason_unreadable": "its files can't be read",
}
