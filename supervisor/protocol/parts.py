"""
The parts of a message that are no words, as lines for a person: pictures and files, calls of tools, and whose result it is.

    (image: attachments/823ceb99fcef5252333ede1b2202341c.png)
    (call call_7: weather {"city": "泉州"})
    (result of call_7)

Each is one line, at the end of the message's block in a dated file (docs/reference/protocol.md, 4.2). The words themselves stay
as they are: plain where Markdown shows them so and hides nothing below them, else in a fence, or as JSON.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ..text.language import language_of
from ..text.lazy_re import lazy_re
from ..text.llm_output import outside_code
from .attachments import attachments_of, kind_of, separated
from .message import ROLES, UNSAID, WORD_FIELDS, Message, is_thought, text_of

#: Words in a fence of ours.
_FENCED: Final = lazy_re(r"(`{3,})(json)?\n(.*)\n\1\n*", re.DOTALL)
#: Characters that Markdown can't hold, or that an editor would change: control characters, CR, lone surrogates, a BOM.
UNWRITABLE: Final = lazy_re("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufeff\ufffe\uffff]")
#: A line that would be parsed as the head of another block, even inside a fence.
_FORGED: Final = lazy_re(r"^<!-- \{", re.MULTILINE)
#: A line that would hide the text after it or imitate another speaker: HTML, a line like those of a block, a fence.
_UNPLAIN: Final = lazy_re(r"^[ \t]{0,3}(?:<[A-Za-z!?/]|\*\*\d\d:\d\d |`{3}|~{3})", re.MULTILINE)
_FENCE: Final = lazy_re(r" {0,3}(`{3,}|~{3,})([^`\n]*)")
#: Every line that this module makes.
LINE: Final = lazy_re(r"\((?:image|audio|video|file|call|result)\b[^\n]*\)")
#: Characters of a name, a link and a call's arguments that are shown.
_NAME_CHARS: Final = 40
_ROLE_CHARS: Final = 20
_LINK_CHARS: Final = 200
_UNSHOWN: Final = lazy_re("[\x00-\x1f\x7f\x85\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufffe\uffff]")
#: Types of parts that are a picture or a file.
_KINDS: Final = {
    **dict.fromkeys(("image", "image_url", "input_image", "image_file"), "image"),
    **dict.fromkeys(("audio", "audio_url", "input_audio"), "audio"),
    **dict.fromkeys(("video", "video_url", "input_video"), "video"),
    **dict.fromkeys(("file", "input_file", "document", "media"), "file"),
}
_LINKS: Final = frozenset({"url", "image_url", "audio_url", "video_url", "file_url", "file_id", "file_uri", "fileUri"})
#: Types of parts that call a tool, and that bring what it returned.
_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "tool-call", "function_call"})
_RESULTS: Final = frozenset({"tool_result", "mcp_tool_result", "tool-result", "function_call_output", "function_result"})
#: Roles of messages that bring what a tool returned.
_RESULT_ROLES: Final = frozenset({"tool", "function"})
_CALL_IDS: Final = ("tool_use_id", "tool_call_id", "toolCallId", "call_id", "id")


def speaker_of(fields: Mapping[str, Any]) -> str:
    """Return the speaker's name, on one line; "" where the message has none."""
    name = fields.get("name")
    return _plain(name, _NAME_CHARS).replace("*", "").strip() if isinstance(name, str) else ""


def said_as(role: str, words: str) -> tuple[str, str]:
    """
    Return role and words as a model's server takes them; an unknown role becomes a name in a user's message.

    >>> said_as("boss", "Ship it."), said_as("assistant", "好的")
    (('user', 'boss: Ship it.'), ('assistant', '好的'))
    """
    if role in {*ROLES, *UNSAID}:
        return role, words
    return "user", f"{_plain(role, _ROLE_CHARS).strip()}{'：' if language_of(words) == 'zh' else ': '}{words}"


def file_lines(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a line for each picture and file of a message whose base64 is `separated`, or that it only links to."""
    lines: dict[str, None] = {}
    for name, title in attachments_of(fields).items():
        lines[f"({' '.join(filter(None, (kind_of(name), _plain(title, _NAME_CHARS))))}: {name})"] = None
    for part in _parts(fields):
        kind = _KINDS.get(_type_of(part))
        if kind and not attachments_of({"part": part}):
            link = next(_links(part), "")
            lines[f"({kind}: {link})" if link else f"({kind})"] = None
    return tuple(lines)


def tool_lines(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a line for each call of a tool, and one for each call whose result the message brings."""
    results = (f"({' of '.join(filter(None, ('result', _id_of(result))))})" for result in _results(fields))
    return tuple(dict.fromkeys([*map(_call_line, _calls(fields)), *results]))


def call_ids(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the id of each call of a tool that the message makes; the tool's name where a call has no id."""
    return tuple(_id_of(call) or _tool_of(call) for call in _calls(fields))


def result_ids(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the id of each call whose result the message brings; the tool's name where it names no call."""
    ids = tuple(map(_id_of, _results(fields)))
    if not ids and fields.get("role") in _RESULT_ROLES:
        return (speaker_of(fields),)
    return ids


def only_results(fields: Mapping[str, Any]) -> bool:
    """Return whether a message brings results of tools and nothing else: their words are not those of its role."""
    parts: list[object] = next((fields[name] for name in WORD_FIELDS if isinstance(fields.get(name), list)), [])
    return bool(parts) and all(isinstance(part, dict) and _type_of(part) in _RESULTS for part in parts)


def readable(message: Message) -> Message:
    """
    Return the message with the text that the history block shows: the speaker, the words, a line for each picture and file.

    The result of a tool is left out, as its call is: half of a pair has no meaning.
    """
    text, name = message.text, speaker_of(message.raw)
    if any(_type_of(part) in _RESULTS for part in _parts(message.raw)):
        text = text_of(message.raw, without=_RESULTS) or ""
    text = "\n".join(filter(None, (text, *file_lines(separated(message.raw)[0]))))
    text = f"{name}: {text}" if name and text else text
    return message if text == message.text else replace(message, text=text)


def _parts(fields: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of a message, also those inside the result of a tool, but no thoughts."""
    for name in WORD_FIELDS:
        yield from _parts_in(fields.get(name))


def _parts_in(value: object) -> Iterator[Mapping[str, Any]]:
    match value:
        case list():
            for part in value:
                yield from _parts_in(part)
        case dict() if not is_thought(value):
            yield value
            yield from _parts(value)


def _type_of(part: Mapping[str, Any]) -> str:
    return str(part.get("type"))


def _calls(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = [*_objects(fields.get("tool_calls")), *_objects(fields.get("function_call"))]
    return [*calls, *(part for part in _parts(fields) if _type_of(part) in _CALLS)]


def _results(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    whole = [fields] if fields.get("tool_call_id") else []
    return [*whole, *(part for part in _parts(fields) if _type_of(part) in _RESULTS)]


def _call_line(call: Mapping[str, Any]) -> str:
    function = _function_of(call)
    given = next((function[key] for key in ("arguments", "input", "args") if function.get(key)), "")
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    who = " ".join(filter(None, ("call", _id_of(call))))
    return f"({who}: {' '.join(filter(None, (_tool_of(call), _plain(arguments, _LINK_CHARS))))})"


def _tool_of(call: Mapping[str, Any]) -> str:
    function = _function_of(call)
    return _plain(next((function[key] for key in ("name", "toolName") if isinstance(function.get(key), str)), ""), _LINK_CHARS)


def _function_of(call: Mapping[str, Any]) -> Mapping[str, Any]:
    return call["function"] if isinstance(call.get("function"), dict) else call


def _id_of(part: Mapping[str, Any]) -> str:
    return next((_plain(part[name], _LINK_CHARS) for name in _CALL_IDS if isinstance(part.get(name), str)), "")


def _links(value: object, key: str = "") -> Iterator[str]:
    match value:
        case str() if key in _LINKS and not value.startswith("data:"):
            yield _plain(value, _LINK_CHARS)
        case dict():
            for name, item in value.items():
                if name not in WORD_FIELDS:
                    yield from _links(item, name)


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def _plain(text: str, chars: int) -> str:
    """Return the text on one line, without what Markdown would take for HTML, cut to *chars* characters."""
    line = " ".join(_UNSHOWN.sub(" ", text).split()).replace("<", "\\<")
    return line if len(line) <= chars else f"{line[:chars].rstrip()}…"


def without_lines(markdown: str, most: int) -> str:
    """Return the rest of a block without up to *most* lines of parts at its end; a person may have deleted some."""
    for _ in range(most):
        before, _, last = markdown.rstrip("\n").rpartition("\n")
        if not LINE.fullmatch(last):
            break
        markdown = f"{before}\n" if before else ""
    return markdown


def readable_json(value: object) -> str:
    """Return the value as JSON in one line that a person can read: only what no file can hold is escaped."""
    return UNWRITABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False, allow_nan=False))


def render_words(text: str) -> str:
    """Return the text as Markdown: plain where that can be, else in a fence, or as JSON."""
    if _is_plain(text):
        return f"{text}\n"
    if UNWRITABLE.search(text) or _FORGED.search(text):
        return f"```json\n{readable_json(text)}\n```\n"
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}\n"


def is_code(text: str) -> bool:
    """True if the text is written as it is but looks like words in a fence of ours: the comment says that it is code."""
    return bool(_FENCED.fullmatch(text)) and _is_plain(text)


def _is_plain(text: str) -> bool:
    """True if the text is parsed unchanged, leaves no fence open, and has no line that hides or imitates others."""
    if not text or text != text.strip() or UNWRITABLE.search(text) or _FORGED.search(text):
        return False
    outside, is_open = outside_code(text, _FENCE)
    return not is_open and not _UNPLAIN.search("\n".join(outside))


def parse_words(markdown: str) -> str:
    """Return the words that `render_words` wrote."""
    fenced = _FENCED.fullmatch(markdown)
    if not fenced:
        return markdown.strip("\n")
    text = json.loads(fenced[3]) if fenced[2] else fenced[3]
    if not isinstance(text, str):
        raise ValueError("the text is not a string")  # noqa: TRY004 - every fault of a block is one kind
    return text
