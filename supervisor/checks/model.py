"""The checks of the summaries and the model that writes them: what fails and waits, whether it can be asked."""

from contextlib import suppress
from typing import Final

from ..protocol.inbox import parse_inbox
from ..protocol.llm import model_of
from ..replies.failures import FailedInputs
from ..storage.errors import BadConfig
from ..storage.texts import Text
from ..summaries.llm_state import configured_state, provider_state
from .check import Faults, Look, bad, odd

#: Why the task of a group failed, by the reason in its result.
_REASONS: Final = {
    "timeout": Text("the model did not answer in time"),
    "empty": Text("the model's answer was empty"),
    "refused": Text("the model refused, or its answer was no summary"),
    "truncated": Text("the model's answer was cut off"),
    "vague": Text("the model's answer said less than an extract"),
    "copy": Text("the model's answer was a copy of its material"),
    "transcript": Text("the model's answer went on with the conversation, or wrote it down"),
    "repeats": Text("the model's answer repeated itself"),
    "form": Text("the model's answer filled in a form"),
    "language": Text("the model's answer was in another language"),
    "data": Text("the model's answer was data and no text"),
    "thought": Text("the model's answer was its thinking"),
    "forged": Text("the model's answer had marks of recalld, or characters that can't be written"),
    "long": Text("the model's answer was too long"),
    "input": Text("the server did not take the messages"),
    "lost": Text("its files can't be read"),
}


def paused(look: Look) -> Faults:
    """Yield why the configured model writes no summaries, or can't write one of them, and which inputs have no answer."""
    ws = look.ws
    if not ws.extracting:
        yield from _refusals(look)
    failing = {g: f for g, f in ws.failures().items() if f.attempts >= ws.config.archive.max_attempts}
    for group, failure in sorted(failing.items(), reverse=True)[:1]:
        yield bad(
            "the summary of {label} fails again and again: {why}; `recalld summary redo {label}` tries once more.",
            label=group.partition("-")[2],
            why=why_failed(failure.reason),
        )
    yield from _unanswered(look)


def _refusals(look: Look) -> Faults:
    ws, llm = look.ws, look.ws.config.llm
    try:
        model_of(llm)
    except BadConfig as error:
        yield bad("no model writes summaries: {why}; `recalld model test` asks it then.", why=error.why)
    provider = configured_state(ws.task_queue, ws.endpoint)
    if provider.next_at and provider.next_at > look.now:
        yield bad(
            "no model writes summaries until {time}: {why}; `recalld model test` asks it now.",
            time=look.local_time(provider.next_at),
            why=provider.reason,
        )
    account = provider_state(ws.task_queue).answers.get(llm.model)
    if account and account.is_worse:
        yield odd(
            "of the last answers of {model} ({of}) most were refused ({refused}), and extracts stand in their place: `recalld status --all` says why. A larger model, or none, serves you better.",
            model=llm.model,
            refused=account.recent.count("r"),
            of=len(account.recent),
        )


def _unanswered(look: Look) -> Faults:
    ws = look.ws
    if ws.config.turns.reply == "off":
        return
    version = ws.files.read_stable(ws.paths.inbox)
    with suppress(ValueError):
        times = [message.created_at for message in parse_inbox(version.data if version else b"[]", ws.zone)]
        if late := [at for at in times if at and look.now - at > ws.config.llm.timeout]:
            yield bad(
                "inputs in inbox.json that wait for an answer: {count}, the first since {time}.",
                count=len(late),
                time=look.local_time(min(late)),
            )
    if names := FailedInputs(ws.task_queue).set_aside():
        yield bad(
            "inputs that got no answer that can be used: {count}, kept in {file}; ask again with another id, or delete the file and put the input back.",
            count=len(names),
            file=f"worker/failed/{names[0]}.json",
        )


def tasks(look: Look) -> Faults:
    """Yield the first summary that waits after a failure."""
    ws = look.ws
    failing = [(group, f) for group, f in sorted(ws.failures().items()) if f.attempts < ws.config.archive.max_attempts]
    for group, failure in failing[:1]:
        yield odd(
            "summaries wait after a failure ({count}), the first is {label}, since {since}: {why}; it is tried again at {time}, `recalld summary redo {label}` tries now.",
            count=len(failing),
            label=group.partition("-")[2],
            since=look.local_time(failure.failed_at),
            why=why_failed(failure.reason),
            time=look.local_time(failure.next_at),
        )


def why_failed(reason: str) -> str:
    """Return the text of the *reason* in a result."""
    return _REASONS.get(reason, reason)


def meaning(look: Look) -> Faults:
    """Yield why memories are found by their words alone, where a supervisor may find them by meaning too."""
    from ..recall.embedders import model_fault  # `status` does not need it

    if why := model_fault(look.ws.config, is_loaded=look.is_running):
        yield bad("{why}.", why=why)
