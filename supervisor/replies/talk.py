"""
What the model is told for an answer, and for the second message after a look further (protocol.md, 7.8 and 7.9).

The system message is the same in each turn, and so is the talk before the question: a server keeps what it has read of them.
What is new in a turn, its mark too, is in the last message.

What an answer may remember is the user's own words of this turn, and only where the user asks for it in them (003). The model
says that there is something to remember; what is written is not its words. So no text that memory brought in, and no text that
a model was talked into, becomes a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import Any, Final, get_args

from ..context.build import Injection
from ..protocol.llm import load_template
from ..protocol.paths import WorkspacePaths
from ..protocol.turn import mark_line
from ..recall.neighbours import only_neighbours
from ..storage.files import Files
from ..storage.texts import Text
from ..text.language import Language
from ..text.lazy_re import lazy_re
from ..text.llm_output import own_words

#: Calls of the model in one look further, at most.
MOST_CALLS: Final = 5
#: Passages of memory that an answer without a model shows, at most.
_MOST_SHOWN: Final = 5
#: How a sentence begins in which a user asks to remember what follows.
_ASKS: Final = lazy_re(
    r"(?:and |also |then )?(?:please |pls |could you |can you |will you |i want you to )*"
    r"(?:remember|note(?: down)?|make a note|keep in mind|don['’]?t forget|write down|bear in mind)\b"
    r"(?:[ ,]+(?:please|this|the following))*[ ]*(?:[:：,][ ]*)?(?:that[ ]+)?(?P<en>.*)"
    r"|(?:(?:请|麻烦|那就|那|你|帮我|替我|给我|顺便|要|一定要|务必)[，,]?)*"
    r"(?:记住|记下来?|记一下|记好|记着|记牢|记得|别忘了?|不要忘了?|备忘)(?:一下|了|这个|这件事|这点)?[：:，, ]*(?P<zh>.*)",
    re.IGNORECASE | re.DOTALL,
)
_SENTENCE: Final = lazy_re(r"[^。！？!?\n]+?(?:[。！？!?]|[.](?=\s|\Z)|\n|\Z)", re.DOTALL)
_LEAST_CHARS: Final = 2
_NOTHING: Final = Text("No model is set (`llm.base_url`, `llm.model`), and memory holds nothing that fits.")


def system_prompt(language: Language, files: Files, paths: WorkspacePaths) -> str:
    """Return the system message of an answer: the workspace's wording, else the shipped one."""
    return load_template("reply", language, files, paths).text.strip()


def with_mark(messages: Sequence[Mapping[str, Any]], mark: str, language: Language) -> tuple[dict[str, str], ...]:
    """Return the messages of the turn with the mark at the beginning of the last one: small models repeat what comes last."""
    *before, last = ({"role": str(message["role"]), "content": str(message["content"])} for message in messages)
    return (*before, {**last, "content": f"{mark_line(mark, language)}\n\n{last['content']}"})


def after_looking(
    turns: Sequence[dict[str, str]], results: str, step: int, language: Language, files: Files, paths: WorkspacePaths
) -> tuple[dict[str, str], ...]:
    """Return the talk with what was found for its last request; *step* counts the calls of this look further from 0."""
    template = load_template("lookup", language, files, paths)
    text = template.fill(results=results, calls_left=str(MOST_CALLS - 1 - step)).strip()
    return (*turns, {"role": "user", "content": text})


def from_memory(injection: Injection, language: Language) -> str:
    """
    Return what answers where no model is set: that none is, and what memory holds, each passage with its citation.

    What asks, only stands next to an answer, or was such an answer, answers nothing. Where the user asks to remember something,
    it says how.
    """
    aside, beginnings = only_neighbours(injection.shown), _beginnings()
    candidates = [hit.unit for hit in injection.shown if hit not in aside and not hit.unit.asks]
    units = [unit for unit in candidates if unit.role != "assistant" or not unit.text.startswith(beginnings)][:_MOST_SHOWN]
    passages = "\n".join(f"- {' '.join(unit.text.split())} [{unit.citation}]" for unit in units)
    sentence = [_what_memory_holds(passages) if passages else _NOTHING]
    if wanted := asked_to_remember([injection.receipt.question]):
        sentence.append(
            Text(
                "`recalld write {line}` writes that to long-term memory.",
                line=quote(" ".join(wanted.split())),
            )
        )
    return "\n".join(text.in_language(language) for text in sentence)


def _what_memory_holds(passages: str) -> Text:
    return Text("No model is set (`llm.base_url`, `llm.model`), so this is what memory holds:\n{passages}", passages=passages)


def _beginnings() -> tuple[str, ...]:
    """Return how the answers of `from_memory` begin, in each language."""
    sentences = (_what_memory_holds(""), _NOTHING)
    return tuple(text.in_language(language).strip() for text in sentences for language in get_args(Language))


def asked_to_remember(texts: Iterable[str]) -> str:
    """
    Return what the user asks to remember in these words of the turn, "" where nothing.

    A sentence that only mentions it asks for nothing, nor does one in code or behind a sign of quotation.

    >>> asked_to_remember(["记住，我对花生过敏。明天几点开会？"]), asked_to_remember(["Do you remember the port?"])
    ('我对花生过敏', '')
    """
    wishes: list[str] = []
    for text in texts:
        for line in own_words(text):
            if line.lstrip().startswith((">", "》")):
                continue
            wishes += [_wanted(sentence.strip()) for sentence in _SENTENCE.findall(line)]
    return "；".join(filter(None, wishes))


def _wanted(sentence: str) -> str:
    match = None if sentence.endswith(("?", "？")) else _ASKS.match(sentence)
    words = (match["en"] or match["zh"] or "").strip(" .。!！,，:：") if match else ""
    return words if len(words) >= _LEAST_CHARS else ""
