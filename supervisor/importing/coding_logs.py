"""
The logs of clients that code: Claude Code and Codex.

What a person said and what the assistant answered is talk. Tools, prompts of the client, what subagents say among themselves,
and thoughts are left out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any, Final

from ..text.lazy_re import lazy_re
from .source import Source
from .talk import Reading, Talk, text_of, words

#: An element that a client writes around a user's words: its name has a hyphen or an underscore.
_ELEMENT: Final = lazy_re(r"<(?P<name>[A-Za-z]\w*(?:[-_]\w+)+)(?:\s[^<>]*)?>")
_CLOSING: Final = lazy_re(r"</(?P<name>[A-Za-z]\w*(?:[-_]\w+)+)>")
#: A command of Claude Code's, and the words behind it.
_COMMAND: Final = lazy_re(
    r"<command-name>(?P<name>[^<]*)</command-name>.*<command-args>(?P<words>.*)</command-args>", re.DOTALL
)
#: Fields by which Claude Code says that neither the user nor the model to the user has said it.
_CLIENTS_OWN: Final = ("isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "agentId", "isApiErrorMessage")
#: Where the request of a user of Codex begins, behind what an editor tells below a heading.
_REQUEST: Final = "\n## My request for Codex:\n"
#: How a text begins that a client writes in the user's name and does not mark.
_UNMARKED: Final = ("Caveat: The messages below were generated", "[Request interrupted by user", "# AGENTS.md instructions")
#: What the terminal of Codex showed, and whose words these are.
_SHOWN: Final = {"user_message": "user", "agent_message": "assistant"}
#: What an older Codex tells its model in elements with plain names.
_TOLD_MODEL: Final = lazy_re(r"<(permissions instructions|INSTRUCTIONS|skill)>")


def typed(text: str) -> str:
    r"""
    Return what the user has written of a message in the user's name; "" for one that is the client's.

    >>> typed("<ide_opened_file>The user opened o.py</ide_opened_file>\nExplain the otter class.")
    'Explain the otter class.'
    >>> typed("<command-name>/plan</command-name>\n<command-args>the garden</command-args>")
    '/plan the garden'
    """
    if (command := _COMMAND.search(text)) and command["words"].strip():
        return f"{command['name'].strip()} {command['words'].strip()}"
    if text.startswith("# ") and _REQUEST in text:
        text = text.partition(_REQUEST)[2]
    text = text.strip()
    while opening := _ELEMENT.match(text):
        _, closing, rest = text[opening.end() :].partition(f"</{opening['name']}>")
        if not closing:
            break
        text = rest.lstrip()
    while closing_tag := _CLOSING.fullmatch(text, max(text.rfind("</"), 0)):
        before = text.rfind(f"<{closing_tag['name']}", 0, closing_tag.start())
        if before < 0:
            break
        text = text[:before].rstrip()
    return "" if text.startswith(_UNMARKED) or _TOLD_MODEL.match(text) else text


def _records(log: Reading, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, raw in log.source.lines(name):
        if isinstance(raw, dict):
            yield number, raw
        else:
            log.unread["line"] += 1


# ── Claude Code ──────────────────────────────────────────────────────────────


def is_claude_code(source: Source, name: str) -> bool:
    """True if a log begins as one of Claude Code does."""
    first = source.first(name)
    kind = first.get("type")
    return isinstance(kind, str) and ("sessionId" in first or kind in ("summary", "file-history-snapshot"))


def claude_code(log: Reading, name: str) -> Talk:
    """
    Yield the sessions of Claude Code, `projects/<folder>/<session>.jsonl`; the parts of an answer are one message.

    What was taken back is left out: of several questions to one message the last one holds.
    """
    for _, parts in groupby(_kept(log, name), key=itemgetter(0)):
        _, raws, messages = zip(*parts, strict=True)
        first, contents = raws[0], [message.get("content") for message in messages]
        pieces = [part for content in contents for part in (content if isinstance(content, list) else [content])]
        about = {
            "timestamp": first.get("timestamp"),
            "session": text_of(first, "sessionId") or PurePosixPath(name).stem,
            "project": text_of(first, "cwd"),
        }
        identity = text_of(messages[0], "id") or text_of(first, "uuid")
        role = "assistant" if first["type"] == "assistant" else "user"
        content = [typed(words(pieces))] if role == "user" else pieces
        yield {"id": identity, "role": role, "content": content, **about}
        for n, (question, reply) in enumerate(_answered(first)):
            yield {"id": f"{identity}-question-{n}", "role": "assistant", "content": question, **about}
            yield {"id": f"{identity}-answer-{n}", "role": "user", "content": reply, **about}


def _kept(log: Reading, name: str) -> Iterator[tuple[object, dict[str, Any], Mapping[str, Any]]]:
    """Yield what the parts of one answer have alike, the record, and its message, of all that was said and not taken back."""
    holds = {  # of each message that has questions below it the last of them
        text_of(raw, "parentUuid"): text_of(raw, "uuid")
        for _, raw in log.source.lines(name)
        if isinstance(raw, dict) and raw.get("parentUuid") and _is_question(raw)
    }
    taken_back: set[str] = set()
    for number, raw in _records(log, name):
        key, parent = text_of(raw, "uuid"), text_of(raw, "parentUuid")
        if key and (parent in taken_back or (parent in holds and holds[parent] != key and _is_question(raw))):
            taken_back.add(key)
        elif (message := _message_in(raw)) is not None:
            yield message.get("id") if raw["type"] == "assistant" else number, raw, message
        else:
            log.leave_out(str(raw.get("type")))


def _is_question(raw: Mapping[str, Any]) -> bool:
    """True if the user has typed this record; the result of a tool is one of the user's, too."""
    return raw.get("type") == "user" and bool(words((_message_in(raw) or {}).get("content")))


def _message_in(raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a person or the model has said in a record; None where the client has, or one subagent to another."""
    attached: Any = raw.get("attachment") if raw.get("type") == "attachment" else {}
    marks = [attached.get(field) for field in ("type", "commandMode")] if isinstance(attached, dict) else []
    is_queued = marks == ["queued_command", "prompt"]  # typed while the client worked
    message = {"content": attached.get("prompt")} if is_queued else raw.get("message")
    if not (is_queued or raw.get("type") in ("user", "assistant")) or not isinstance(message, dict):
        return None
    sources = [raw, attached] if is_queued else [raw]
    origins = [source["origin"] for source in sources if isinstance(source.get("origin"), dict)]
    is_of_client = any(source.get("isMeta") for source in sources) or any(raw.get(field) for field in _CLIENTS_OWN)
    if is_of_client or message.get("model") == "<synthetic>" or any(of.get("kind", "human") != "human" for of in origins):
        return None
    return message


def _answered(raw: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the questions that the client put to the user in a form, and what the user chose or typed."""
    result = raw.get("toolUseResult")
    answers = result.get("answers") if isinstance(result, dict) and "questions" in result else None
    pairs = answers.items() if isinstance(answers, dict) else ()
    return [(question, reply) for question, reply in pairs if isinstance(reply, str) and reply.strip()]


# ── Codex ────────────────────────────────────────────────────────────────────


def codex(log: Reading, name: str) -> Talk:
    """
    Yield the sessions of Codex, `sessions/YYYY/MM/DD/rollout-….jsonl`.

    What the terminal showed (`event_msg`) is the talk, as far as the log has it: what the model got before the last of these is
    the client's. A session that goes on under a newer version goes on with the messages of the model alone. Turns that were
    taken back are left out, and so is the session of a subagent.
    """
    about, is_subagent, last_shown = {"session": PurePosixPath(name).stem}, False, 0
    talk: list[tuple[int, bool, dict[str, Any]]] = []  # the number of each line, and whether the terminal showed it
    turns: list[int] = []
    for number, raw in _records(log, name):
        inner = raw.get("payload")
        payload: Mapping[str, Any] = inner if isinstance(inner, dict) else raw  # older logs have no envelope
        kind = text_of(payload, "type")
        about |= {"timestamp": raw["timestamp"]} if raw.get("timestamp") else {}
        if raw.get("type") == "session_meta" or (number == 1 and "id" in raw and "type" not in raw):
            about |= {"session": text_of(payload, "id") or about["session"], "project": text_of(payload, "cwd")}
            is_subagent = isinstance(payload.get("source"), dict) and "subagent" in payload["source"]
        elif is_subagent:
            log.leave_out("subagent")
        elif raw.get("type") == "event_msg" and kind in _SHOWN:
            last_shown, text = number, text_of(payload, "message")
            turns += [number] if kind == "user_message" else []
            talk.append((number, True, {"role": _SHOWN[kind], "content": text, **about}))
        elif kind == "message" and payload.get("role") in _SHOWN.values():
            talk.append((number, False, {"role": payload["role"], "content": words(payload.get("content")), **about}))
        else:
            count = payload.get("num_turns")  # the last so many are taken back
            if kind == "thread_rolled_back" and isinstance(count, int) and count > 0 and turns:
                talk = [entry for entry in talk if entry[0] < turns[-count:][0]]
                del turns[-count:]
            log.leave_out(kind or text_of(raw, "type") or "record")
    once = Counter[tuple[str, str]]()  # told by one of the two, so far
    for number, is_shown, message in talk:
        text = message["content"] = typed(message["content"]) if message["role"] == "user" else message["content"]
        entry = message["role"], text
        once[entry] += 1 if is_shown else -1
        if text and (is_shown or (number > last_shown and once[entry] < 0)):
            yield {"id": f"{message['session']}-{number}", **message}
