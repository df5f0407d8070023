"""
The templates of prompts: `daily-summary.zh.md`, … in the package `prompts`, or in the workspace's `prompts/`, which wins.

Placeholders are replaced literally and in one pass, so that braces in a conversation break nothing, and no text of the material
counts as a placeholder. A template may consist of turns, each below a line `<!-- system -->`, `<!-- user -->` or
`<!-- assistant -->`: what never changes, a worked example, and the material last. Source: docs/reference/protocol.md, 1 and 6.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast, get_args

from ..storage.errors import BadConfig, BadRequest
from ..storage.files import Files
from ..storage.texts import Text
from ..text.language import Language
from ..text.lazy_re import lazy_re
from ..text.record import record
from .config_keys import Privacy
from .paths import WorkspacePaths

#: The placeholders that a template must have. {date} and {month} are both the period, {daily_summaries} is {messages} too.
PLACEHOLDERS: Final = {
    name: tuple(places.split())
    for name, places in {
        "daily-summary": "date messages",
        "monthly-summary": "month daily_summaries",
        "merge-summary": "previous messages",
        "running-summary": "current_summary new_dialogue_content",
        "conversation-to-memory": "messages",
        "recursive-summary": "previous_summary past_messages char_limit",
        "overflow-summary": "messages",
        "reply": "",
        "lookup": "results calls_left",
        "memory-entry": "date source content",
        "heartbeat-greeting": "ai_name time_desc user_name idle_hours user_context personality_desc memory_context",
    }.items()
}
#: The sentence before a template without {char_limit} that limits the summary; the template stays as it is.
LENGTH_ASKED: Final = {"zh": "（新的摘要一共不超过 {} 个字。）", "en": "(The new summary has at most {} characters.)"}
#: The templates of the summaries of days and months.
_OF_SUMMARIES: Final = ("daily-summary", "monthly-summary", "merge-summary")
_PLACEHOLDER: Final = lazy_re("{(" + "|".join(sorted({name for names in PLACEHOLDERS.values() for name in names})) + ")}")
_VERSION_DIGITS: Final = 12
#: The line before a turn of a conversation; a template without one is a single turn of the user.
_TURN: Final = lazy_re(r"^<!-- (system|user|assistant) -->[ \t]*\n", re.MULTILINE)


class Turn(NamedTuple):
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


#: What a model is asked: the turns of a conversation, the last of which is the user's; or that one alone.
Prompt: TypeAlias = "str | tuple[Turn, ...]"


@record
class PromptTemplate:
    """The template of one file; *name* is the file's, without a folder."""

    name: str
    text: str

    def fill(self, **values: str) -> str:
        """
        Return the prompt as one message, without a worked example, with these values in the places of their names.

        A placeholder without a value stays.
        """
        *before, last = self._unfilled()
        system = [turn.content for turn in before if turn.role == "system"]
        return _filled("\n\n".join([*system, last.content]), values)

    def turns(self, **values: str) -> tuple[Turn, ...]:
        """Return the prompt as turns, with these values in the last one: those before never change, and a server keeps them."""
        *before, last = self._unfilled()
        return (*before, Turn(last.role, _filled(last.content, values)))

    def _unfilled(self) -> list[Turn]:
        _, *rest = _TURN.split(self.text)
        turns = zip(rest[::2], rest[1::2], strict=True)
        return [Turn(cast("Any", role), text.strip()) for role, text in turns] or [Turn("user", self.text)]


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def turns_of(prompt: Prompt) -> tuple[Turn, ...]:
    """Return the turns of the prompt."""
    return (Turn("user", prompt),) if isinstance(prompt, str) else prompt


def text_of(prompt: Prompt) -> str:
    """Return all that the prompt says."""
    return "\n\n".join(turn.content for turn in turns_of(prompt))


@cache
def shipped_template(name: str, language: Language) -> PromptTemplate:
    """Return the template that recalld ships."""
    from importlib import resources  # lazy: long-term lines are read without a template

    file = f"{name}.{language}.md"
    return read_template(name, file, resources.files("recalld.prompts").joinpath(file).read_bytes())


def load_template(name: str, language: Language, files: Files, paths: WorkspacePaths) -> PromptTemplate:
    """Return the workspace's template, else the shipped one; BadConfig when it lacks a placeholder."""
    if name not in PLACEHOLDERS:
        raise BadRequest(
            "name", Text("there is no prompt {name!r}; give one of {names}", name=name, names=", ".join(PLACEHOLDERS))
        )
    if language not in get_args(Language):
        raise BadRequest("language", Text("{language!r} is no language of the prompts; give zh or en", language=language))
    file = f"{name}.{language}.md"
    version = files.read_stable(paths.root / "prompts" / file)
    return read_template(name, file, version.data) if version else shipped_template(name, language)


def load_templates(files: Files, paths: WorkspacePaths) -> Mapping[tuple[str, Language], PromptTemplate]:
    """Return every template by name and language; BadConfig for the first that is wrong."""
    return {
        (name, language): load_template(name, language, files, paths)
        for name in PLACEHOLDERS
        for language in get_args(Language)
    }


def without_secrets(text: str, language: Language, privacy: Privacy) -> str:
    """Return the text as a model may read it."""
    from ..text.redact import hidden  # lazy: a template is filled in without it

    return text if privacy.redact == "off" else hidden(text, language, privacy.forms)


def version_of(used: Iterable[PromptTemplate]) -> str:
    """Return the version of the templates: the first 12 digits of `cat FILES | sha256sum`, with the files ordered by name."""
    texts = [text for _, text in sorted({(template.name, template.text) for template in used})]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:_VERSION_DIGITS] if texts else ""


def version_of_summaries(files: Files, paths: WorkspacePaths) -> str:
    """Return the version of all prompts for days and months, "" where one is wrong, which a worker reports."""
    try:
        return version_of(
            load_template(name, language, files, paths) for name in _OF_SUMMARIES for language in get_args(Language)
        )
    except BadConfig:
        return ""


def read_template(name: str, file: str, data: bytes) -> PromptTemplate:
    """Return the template *name* that a file holds; BadConfig when it lacks a placeholder."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise BadConfig(
            f"prompts/{file}", Text("it is not UTF-8; save it as UTF-8, or delete it for the wording that recalld ships")
        ) from None
    present = {match[1] for match in _PLACEHOLDER.finditer(text)}
    for needed in PLACEHOLDERS[name]:
        if needed not in present:
            raise BadConfig(
                f"prompts/{file}",
                Text("it lacks {{{name}}}; add it, or delete the file for the wording that recalld ships", name=needed),
            )
    return PromptTemplate(file, text)
