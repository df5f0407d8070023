"""
What a client asks a model, the body that the server gets, and what is answered: messages, question, session, words. Pure.

Three protocols are read: OpenAI's chat completions and responses, and Anthropic's messages. A request that is not understood,
such as one with an unknown role, is no `Talk`: it passes as it is, and the server says what is wrong with it. An answer is a
whole object, or a stream of server-sent events. One that calls a tool is not the final one, and no talk. Nor is one that did
not end as its protocol says it ends: the server failed or went away in the middle, or the client did.

The server gets the client's body with memory in it, and without the oldest turns if the window is small. What is cut are whole
turns, from a question to the next, so that no call of a tool is parted from its result. They leave some at once, so that the
beginning stays the same for some turns, and a server that keeps its work for an equal beginning reads only what is new. They
are kept: memory finds them.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...context.history_window import PARTS, MemoryPlace, usable
from ...context.render import framed, spoken
from ...storage.lenient_json import keys_once
from ...text.llm_input import MESSAGE_TOKENS, estimate_tokens

Kind: TypeAlias = Literal["chat", "responses", "messages"]

#: The paths below /v1 in which somebody talks.
_PATHS: Final[Mapping[str, Kind]] = {"chat/completions": "chat", "responses": "responses", "messages": "messages"}
#: The fields with the messages, and with the system prompt beside them.
_MESSAGES_FIELD: Final[Mapping[Kind, str]] = {"chat": "messages", "responses": "input", "messages": "messages"}
_SYSTEM_FIELD: Final[Mapping[Kind, str]] = {"chat": "", "responses": "instructions", "messages": "system"}
_SYSTEM_ROLES: Final = frozenset({"system", "developer"})
_ROLES: Final = frozenset({*_SYSTEM_ROLES, "user", "assistant", "tool", "function"})
#: The types of parts that have words.
_WORDS: Final = frozenset({"text", "input_text", "output_text", "refusal"})
#: Fields that say which conversation it is, the surest first; characters of one, beyond which it is a digest.
_SESSION_FIELDS: Final = ("conversation", "prompt_cache_key", "metadata.user_id", "session_id", "user")
MOST_SESSION: Final = 200
_DIGITS: Final = 20


@dataclass(frozen=True)
class Said:
    """One message of a request: its *role* ("" of what is no message, such as a call), its *words*, and its *value*."""

    role: str
    words: str
    value: Any


@dataclass(frozen=True)
class Talk:
    """A request: its *fields*, its *messages*, the number *at* of the question, and the *system* prompt."""

    kind: Kind
    fields: Mapping[str, Any]
    messages: tuple[Said, ...]
    at: int
    system: str

    @property
    def question(self) -> str:
        """What the user asks: the last words of theirs."""
        return spoken(self.messages[self.at].words)

    @property
    def before(self) -> list[tuple[str, str]]:
        """Role and words of what user and assistant have said before the question."""
        return [
            (message.role, spoken(message.words))
            for message in self.messages[: self.at]
            if message.role in ("user", "assistant") and message.words
        ]

    @property
    def is_continued(self) -> bool:
        """True if something follows the question: the model has called a tool, and gets its result."""
        return self.at + 1 < len(self.messages)

    def value(self, name: str) -> Any:
        """Return the value of a field, None without it; "a.b" is one of an object."""
        name, _, inner = name.partition(".")
        field = self.fields.get(name)
        return (field.get(inner) if isinstance(field, Mapping) else None) if inner else field


def read_talk(path: str, body: bytes) -> Talk | None:
    """Return what is said in the body of a request to *path* below /v1; None for what is no talk, or has no user's words."""
    kind = _PATHS.get(path)
    if kind is None:
        return None
    try:
        fields = json.loads(body, object_pairs_hook=keys_once)
    except (ValueError, RecursionError):
        return None
    messages = _messages(kind, fields.get(_MESSAGES_FIELD[kind])) if isinstance(fields, dict) else ()
    questions = [n for n, message in enumerate(messages) if message.role == "user" and spoken(message.words)]
    if not questions:
        return None
    beside = words_of(fields.get(_SYSTEM_FIELD[kind]))
    system = "\n".join([beside, *(message.words for message in messages if message.role in _SYSTEM_ROLES)])
    return Talk(kind, fields, messages, questions[-1], system.strip())


def _messages(kind: Kind, value: object) -> tuple[Said, ...]:
    if isinstance(value, str) and kind == "responses":
        return (Said("user", value, value),)
    messages = []
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, dict):
            return ()
        role = item.get("role", "" if isinstance(item.get("type"), str) else None)  # a call of `responses` has no role
        if role != "" and role not in _ROLES:
            return ()
        messages.append(Said(role, words_of(item.get("content")) if role else "", item))
    return tuple(messages)


def words_of(content: object) -> str:
    """
    Return the words of a content: a text, or a list of parts, of which those count that are text.

    >>> words_of([{"type": "text", "text": "看图"}, {"type": "tool_result", "content": "42"}])
    '看图'
    """
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = [part.get("text", part.get("refusal")) for part in parts if isinstance(part, dict) and part.get("type") in _WORDS]
    return "\n".join(text for text in texts if isinstance(text, str))


def named_session(talk: Talk) -> str:
    """Return the session that the request names by a field of its protocol, "" if by none."""
    for name in _SESSION_FIELDS:
        value = talk.value(name)
        if isinstance(value, Mapping):
            value = value.get("id")
        if isinstance(value, str) and value.strip():
            return value if len(value) <= MOST_SESSION and value.isprintable() else digest(name, value)
    return ""


def first_session(talk: Talk) -> str:
    """Return the session of a request that names none: a digest of its system prompt and its first question."""
    first = next(message.words for message in talk.messages if message.role == "user" and spoken(message.words))
    return f"proxy-{digest(talk.system, spoken(first))}"


def digest(*parts: object) -> str:
    """Return hex digits that differ where the parts do."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]


# ── what the server gets ─────────────────────────────────────────────────────

#: Turns that leave at once.
_AT_ONCE: Final = 8
#: Tokens that a picture or another file counts as: servers make some hundred to some thousand of one.
_FILE_TOKENS: Final = 1_000
#: A text with more characters than this for each token that is left is not counted: it is too long.
_CHARS_PER_TOKEN: Final = 8
#: Tokens of the tags around memory, and the fewest that a block of memory is worth.
_FRAME_TOKENS: Final = 20
_LEAST_MEMORY: Final = 64


class Room(NamedTuple):
    """What fits the window: *memory* tokens at most (0: none), without the messages before the one at *begin*."""

    memory: int
    begin: int = 0


def room(talk: Talk, window: int, memory: int, *, keep_turns: int = 3) -> Room:
    """
    Return what fits a *window* of so many tokens (0: not known): first *memory* is made smaller, then the oldest turns are cut.

    Never cut are system messages, the last turns, and what belongs to the question.
    """
    if not window:
        return Room(memory)
    fixed = _tokens([talk.system, talk.value("tools"), talk.value("functions")], window)
    most = usable(window, fixed + _FRAME_TOKENS)
    (first, left), begin = _from_end(talk, most), 0
    if first:
        left = max(0, most // PARTS)
        first, _ = _from_end(talk, most - min(memory, left))
        begin = _question_from(talk, first, keep_turns)
    memory = min(memory, left)
    return Room(memory if memory >= _LEAST_MEMORY else 0, begin)


def _from_end(talk: Talk, tokens: int) -> tuple[int, int]:
    """Return the number of the first message from which on all fit so many *tokens*, and how many of these are left."""
    for n in reversed(range(len(talk.messages))):
        message = talk.messages[n]
        size = 0 if message.role in _SYSTEM_ROLES else _tokens(message.value, max(1, tokens)) + MESSAGE_TOKENS
        if size > tokens:
            return n + 1, tokens
        tokens -= size
    return 0, tokens


def _question_from(talk: Talk, first: int, keep_turns: int) -> int:
    """Return the number of the first message that stays: a question from *first* on, or that of the last turns."""
    turns = [n for n, message in enumerate(talk.messages) if message.role == "user" and spoken(message.words)]
    last = max(0, len(turns) - max(1, keep_turns))
    begin = next((n for n in range(last) if turns[n] >= first), last)
    return turns[min(-(-begin // _AT_ONCE) * _AT_ONCE, last)] if begin else 0


def _tokens(value: Any, enough: int) -> int:
    if isinstance(value, str):
        is_file = value.startswith("data:") or (len(value) > _FILE_TOKENS and value.isascii() and " " not in value)
        return _FILE_TOKENS if is_file else estimate_tokens(value[: enough * _CHARS_PER_TOKEN])
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(_tokens(part, enough) for part in inner)


def with_memory(talk: Talk, memory: str, where: MemoryPlace, begin: int = 0) -> bytes:
    """
    Return the body with *memory* in its place (`context.memory_in`), between tags, and without the turns before *begin*.

    It is empty where the client's can't be written again.
    """
    name = _MESSAGES_FIELD[talk.kind]
    fields, is_listed = dict(talk.fields), isinstance(talk.fields[name], list)
    messages = [message.value for n, message in enumerate(talk.messages) if n >= begin or message.role in _SYSTEM_ROLES]
    at = len(messages) - len(talk.messages) + talk.at
    if block := framed(memory):
        if where == "system":
            _put_in_system(talk.kind, fields, messages, block)
        elif where == "message" and is_listed:
            messages.insert(at, {"role": "user", "content": block})
        else:
            messages[at] = _with_block(messages[at], block)
    fields[name] = messages if is_listed else messages[0]
    try:
        return json.dumps(fields, allow_nan=False).encode()
    except ValueError:  # 1e400 is a number of JSON, and none here
        return b""


def _put_in_system(kind: Kind, fields: dict[str, Any], messages: list[Any], block: str) -> None:
    prompts = [n for n, message in enumerate(messages) if isinstance(message, dict) and message.get("role") in _SYSTEM_ROLES]
    if prompts:
        messages[prompts[0]] = _with_block(messages[prompts[0]], block, is_behind=True)
    elif name := _SYSTEM_FIELD[kind]:
        fields[name] = _joined(fields.get(name), block, is_behind=True)
    else:
        messages.insert(0, {"role": "system", "content": block})


def _with_block(message: Any, block: str, *, is_behind: bool = False) -> Any:
    if isinstance(message, str):  # the whole input of a response
        return _joined(message, block, is_behind=is_behind)
    return {**message, "content": _joined(message.get("content"), block, is_behind=is_behind)}


def _joined(content: Any, block: str, *, is_behind: bool) -> Any:
    """Return the content with the block before its last words that are a person's, or behind; the block if it has none."""
    if isinstance(content, list):
        texts = [n for n, part in enumerate(content) if words_of([part]).strip()]
        texts = [n for n in texts if spoken(words_of([content[n]]))] or texts
        if not texts:
            return [*content, {"type": "text", "text": block}]
        at, part = texts[-1], content[texts[-1]]
        return [*content[:at], {**part, "text": _joined(part["text"], block, is_behind=is_behind)}, *content[at + 1 :]]
    if not content or not content.strip():
        return block
    return f"{content}\n\n{block}" if is_behind else f"{block}\n\n{content}"


# ── what is answered ────────────────────────────────────────────────────────────

#: Kinds of parts and of items with which a model calls a tool of the client.
_CALLS: Final = frozenset({"tool_use", "function_call", "custom_tool_call", "computer_call", "local_shell_call"})
#: A `finish_reason` that is none of the API: the server gave up.
_FAILED: Final = ("error", "abort")
#: The end of a stream of chat completions.
_DONE: Final = "[DONE]"


@dataclass
class Answer:
    """What was answered: the *words* so far, whether it is *whole*, whether it *calls* a tool, and the *id* of the response."""

    words: str = ""
    is_whole: bool = False
    calls: bool = False
    id: str = ""

    @property
    def text(self) -> str:
        """What the assistant said; "" until it is whole."""
        return spoken(self.words) if self.is_whole and not self.calls else ""


def read_answer(kind: Kind, data: bytes, *, is_stream: bool) -> Answer:
    """Return the answer that the *data* of a response have; an empty one for what is no answer."""
    answer = Answer()
    try:
        for event in _events(data) if is_stream else (json.loads(data),):
            if event == _DONE:
                answer.is_whole |= kind == "chat"
                break
            if event.get("error"):  # the end may follow all the same
                raise ValueError("the server failed")
            _READ[kind](answer, event)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, IndexError):
        answer.is_whole = False
    return answer


def _events(data: bytes) -> Iterator[Any]:
    for line in data.splitlines():
        if line.startswith(b"data:") and line[5:].strip():
            try:
                yield _DONE if line[5:].strip() == _DONE.encode() else json.loads(line[5:])
            except ValueError:
                return  # the last one, cut off


def _add_chat(answer: Answer, event: Mapping[str, Any]) -> None:
    answer.id = answer.id or str(event.get("id") or "")
    for choice in event.get("choices") or ():
        if choice.get("index"):  # another answer to the same question
            continue
        message, ended = choice.get("message") or choice.get("delta") or {}, choice.get("finish_reason")
        if ended in _FAILED:
            raise ValueError(ended)
        answer.words += words_of(message.get("content")) or message.get("refusal") or ""
        answer.calls |= bool(message.get("tool_calls") or message.get("function_call"))
        answer.is_whole |= bool(ended)


def _add_response(answer: Answer, event: Mapping[str, Any]) -> None:
    """Add a whole response, which has no type, or an event of its stream."""
    match event.get("type"):
        case "response.output_text.delta" | "response.refusal.delta":
            answer.words += event["delta"]
            return
        case "response.completed" | "response.incomplete":
            event = event["response"]
        case str():
            return
    output = event.get("output") or ()
    words = "\n".join(words_of(item.get("content")) for item in output if item.get("type") == "message")
    answer.words, answer.id = words or answer.words, str(event.get("id") or "")
    answer.calls = any(item.get("type") in _CALLS for item in output)
    answer.is_whole = event.get("status") in (None, "completed", "incomplete")


def _add_message(answer: Answer, event: Mapping[str, Any]) -> None:
    """Add a whole message, or an event of its stream. Its blocks of text are one text that citations divide."""
    blocks: list[Mapping[str, Any]] = []
    match event.get("type"):
        case "message_start":
            answer.id = str(event["message"].get("id") or "")
        case "content_block_start":
            blocks = [event["content_block"]]
        case "content_block_delta" if event["delta"].get("type") == "text_delta":
            answer.words += event["delta"]["text"]
        case "message_stop":
            answer.is_whole = True
        case "message":
            answer.is_whole, answer.id, blocks = bool(event.get("stop_reason")), str(event.get("id") or ""), event["content"]
    answer.words += "".join(block["text"] for block in blocks if block.get("type") == "text")
    answer.calls |= any(block.get("type") in _CALLS for block in blocks)


_READ: Final[Mapping[Kind, Callable[[Answer, Mapping[str, Any]], None]]] = {
    "chat": _add_chat,
    "responses": _add_response,
    "messages": _add_message,
}
