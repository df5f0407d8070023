"""The checks of the model that writes summaries: whether it writes them, whether it can be asked, and where its key is."""

from __future__ import annotations

import json
import re
import stat as modes
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from ..host.workers import ask_worker
from ..protocol.inbox import parse_inbox
from ..protocol.llm import NO_KEY, find_key, is_local, model_of, without_credentials
from ..protocol.task import AskedTask
from ..replies.failures import FailedInputs
from ..storage.disk import read_outside
from ..storage.errors import BadConfig
from ..storage.texts import Text
from ..summaries.llm_state import configured_state, provider_state
from ..workspace import Workspace
from .check import Faults, Look, bad, odd
from .machine import walk
from .memory import why_failed

#: The most bytes of a file that is searched for the key.
_MOST_BYTES: Final = 8 << 20
#: The least characters of a key that is searched for; shorter ones, such as "ollama", are no secrets and may be anywhere.
_KEY_CHARS: Final = 16
#: Seconds to get the list of models, including the start of the process that asks for it.
_LIST_S: Final = 60.0


def paused(look: Look) -> Faults:
    """Yield why the configured model writes no summaries, or can't write one of them, and which inputs have no answer."""
    ws = look.ws
    if not ws.extracting:
        try:
            model_of(ws.config.llm)
        except BadConfig as error:
            yield bad("no model writes summaries: {why}; `recalld model test` asks it then.", why=error.why)
    provider = configured_state(ws.task_queue, ws.endpoint)
    if not ws.extracting and provider.next_at and provider.next_at > look.now:
        yield bad(
            "no model writes summaries until {time}: {why}; `recalld model test` asks it now.",
            time=look.local_time(provider.next_at),
            why=provider.reason,
        )
    account = None if ws.extracting else provider_state(ws.task_queue).answers.get(ws.config.llm.model)
    if account and account.is_worse:
        refused, of = account.recent.count("r"), len(account.recent)
        yield odd(
            "{model} writes worse summaries than extracts: {refused} of its last {of} answers were refused; a larger model, or none, serves you better.",
            model=ws.config.llm.model,
            refused=refused,
            of=of,
        )
    failing = {g: f for g, f in ws.failures().items() if f.attempts >= ws.config.archive.max_attempts}
    for group, failure in sorted(failing.items(), reverse=True)[:1]:
        yield bad(
            "the summary of {label} fails again and again: {why}; `recalld summary redo {label}` tries once more.",
            label=group.partition("-")[2],
            why=why_failed(failure.reason),
        )
    yield from _unanswered(look)


def _unanswered(look: Look) -> Faults:
    ws = look.ws
    if ws.config.turns.reply == "off":
        return
    version = ws.files.read_stable(ws.paths.inbox)
    with suppress(ValueError):
        times = [
            message.created_at for message in parse_inbox(version.data if version else b"[]", ws.zone) if message.created_at
        ]
        late = [at for at in times if look.now - at > ws.config.llm.timeout]
        if late:
            yield bad(
                "inputs in inbox.json that wait for an answer: {count}, the first since {time}.",
                count=len(late),
                time=look.local_time(min(late)),
            )
    if names := FailedInputs(ws.files, ws.task_queue).set_aside():
        yield bad(
            "inputs that got no answer that can be used: {count}, kept in {file}; ask again with another id, or delete the file and put the input back.",
            count=len(names),
            file=f"worker/failed/{names[0]}",
        )


def model(look: Look) -> Faults:
    """Yield a fault if the model can't be asked, if its server does not know it, or if its context window is too small."""
    llm = look.ws.config.llm
    # `paused` reports that the configuration names no model; the workers of a pool have the keys
    if look.ws.extracting or not llm.model or look.ws.config.pool.url:
        return
    key = find_key(llm.api_key_env, look.environ)
    is_elsewhere = llm.base_url.startswith("https:") and not is_local(llm.base_url)
    if key == NO_KEY and (is_elsewhere or not llm.base_url):  # not asked: many servers give their list without a key
        where = without_credentials(llm.base_url) if llm.base_url else "OpenAI"
        why = Text(
            "no key for {where} is found, neither in the variable {name} nor in a credential of systemd; `export {name}=KEY` gives it to this shell.",
            where=where,
            name=llm.api_key_env,
        )
        yield odd(why) if is_elsewhere else bad(why)  # a company's own server may need no key
        return
    answer = _listed(look)
    if "error" in answer:
        yield bad("the model can't be asked: {why}; `recalld model test` asks it again.", why=answer["error"])
    elif answer["known"] is None:
        yield odd(
            "the server has no list of models, so {model} was not looked up; `recalld model test` asks it.", model=llm.model
        )
    elif not answer["known"]:
        yield bad(
            "the server does not have the model {model}, but {others}; correct llm.model in recalld.toml, `recalld model test` asks it then.",
            model=llm.model,
            others=answer["models"] or Text("none"),
        )
    elif answer["window"] and answer["window"] < llm.context_tokens:
        yield bad(
            "the window of {model} has {window} tokens, fewer than llm.context_tokens ({wanted}); lower that in recalld.toml, or give the model more, `recalld model test` asks it then.",
            model=llm.model,
            window=answer["window"],
            wanted=llm.context_tokens,
        )


def _listed(look: Look) -> dict[str, Any]:
    """Return what the server reports of its models, or its `error`; a worker asks, as only workers do."""
    reply = ask_worker(look.ws.paths.root, AskedTask(id="model-list", kind="model-list"), _LIST_S, look.environ)
    if reply.result is None:
        return {"error": reply.sentence.rstrip(".")}
    listed: dict[str, Any] = json.loads(reply.result.text) if reply.result.status == "done" else {"error": reply.result.error}
    return listed


def meaning(look: Look) -> Faults:
    """Yield why memories are found by their words alone, where a supervisor may find them by meaning too."""
    from ..recall.embedders import model_fault  # `status` does not need it

    if why := model_fault(look.ws.config, is_loaded=look.is_running):
        yield bad("{why}.", why=why)


def key(look: Look) -> Faults:
    """Yield a fault if a file of the workspace contains the key of the model."""
    name = look.ws.config.llm.api_key_env
    for place in _files_with_the_key(look.ws, name, find_key(name, look.environ)):
        yield bad(
            "the key of the model is in {place}, where backups and readers of the workspace find it; take it out there, `export {name}=KEY` gives it to this shell.",
            place=place,
            name=name,
        )
        break


def _files_with_the_key(ws: Workspace, name: str, key: str) -> Iterator[str]:
    """Yield the files that contain the key or a line that sets the variable *name*; pictures and the index are not read."""
    sets_it = re.compile(rf"^[ \t]*(?:export[ \t]+)?{re.escape(name)}[ \t]*=[ \t]*[\"']?\w".encode(), re.MULTILINE)
    passed = (ws.paths.attachments, ws.paths.state / "index", ws.paths.vectors)
    for path, stat in walk(ws.paths.root):
        if not modes.S_ISREG(stat.st_mode) or stat.st_size > _MOST_BYTES or any(map(path.is_relative_to, passed)):
            continue
        try:
            data = read_outside(path, _MOST_BYTES)
        except OSError:
            continue  # the check `rights` reports it
        if (len(key) >= _KEY_CHARS and key.encode() in data) or (path.parent == ws.paths.root and sets_it.search(data)):
            yield ws.paths.relative(path)
