"""
One answer of a model about a conversation, judged before it becomes a summary.

What a model returns is untrusted: it is judged by the gate of all summaries (`summaries/quality.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from recalld.supervisor.extracts.extract import extract
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import NoSummary
from recalld.supervisor.summaries.llm_state import prompt_examples, prompt_marks
from recalld.supervisor.summaries.material import Material
from recalld.supervisor.summaries.quality import judge
from recalld.supervisor.text.facts import states_fact
from recalld.supervisor.text.folding import MIN_PIECE, Fold
from recalld.supervisor.text.language import language_of
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.llm_output import cleaned, continued, says_nothing
from recalld.supervisor.text.quoting import Entry, quote
from recalld.supervisor.text.token_count import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from recalld.supervisor.protocol.prompts import PromptTemplate
    from recalld.supervisor.summaries.model import CallLimits, Model
    from recalld.supervisor.text.language import Language

#: The last line of the prompt, which models like to repeat.
_LABEL: Final = lazy_re(r"(?:\*\*)?(?:新的?摘要|new summary)(?:\*\*)?[ \t]*[:：](?:\*\*)?\s*", re.IGNORECASE)
#: The time of messages whose own is not looked at.
_ANY_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
#: The sentence before the template that limits the summary; the template stays as it is.
_LENGTH: Final = {"zh": "（新的摘要不超过 {} 个字。）", "en": "(The new summary has at most {} characters.)"}
#: An answer so many times too long is not made shorter, but refused.
_TOO_LONG: Final = 3
#: For each ten characters that would just fit, the shorter text is asked to have so many.
_SHORTER: Final = 9
#: Between the matters of a line; and what a line of a list begins and ends with.
_SEPARATOR: Final = {"zh": "；", "en": "; "}
_MARK: Final = lazy_re(r"^[ \t]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|\d{1,3}[.)、][ \t]*)?|(?:[；;。]|(?<!\.)\.)[ \t]*$")
#: Speakers whose words are no facts about a person.
_NOT_PEOPLE: Final = ("ASSISTANT", "TOOL", "FUNCTION")
#: Of each ten tokens of the context, so many are used: an estimate may be too low.
_PLANNED: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryWriter:
    """Has a model write summaries of at most *most* in *size*; the prompt of *template* asks for *max_chars* characters."""

    model: Model
    template: Callable[[str, Language], PromptTemplate]
    max_chars: int
    size: Callable[[str], int]
    most: int
    limits: CallLimits
    cjk_weight: float

    async def write(
        self, name: str, language: Language, values: Mapping[str, str], entries: Sequence[Entry], previous: str
    ) -> str:
        """
        Return the model's answer to the prompt *name* with these values, made of *entries* and the *previous* summary.

        It is *previous* where the model says that there is nothing to record. A second call shortens one that is too long.
        NoSummary if the model fails, or its text can't be kept.
        """
        template = self.template(name, language)
        length = "" if "{char_limit}" in template.text else f"{_LENGTH[language].format(self.max_chars)}\n\n"
        prompt = length + template.fill(**values)
        text = continued(previous, self._judged(await self.model.complete(prompt, self.limits), entries, previous))
        if self.size(text) > self.most:
            limit = max(1, self.most * len(text) * _SHORTER // (10 * self.size(text)))
            template = self.template("recursive-summary", language)
            past = {"previous_summary": "", "past_messages": quote(text, language), "char_limit": str(limit)}
            text = self._judged(await self.model.complete(template.fill(**past), self.limits), [Entry("", text)], "")
        if self.size(text) > self.most:
            raise NoSummary(Text("model.text_longer", most=self.max_chars))
        return text

    async def add_piece(self, fold: Fold, name: str, values: Mapping[str, str], place: str, room: int) -> None:
        """
        Have the model summarise one more piece of the *fold*, as many entries as *room* tokens hold, at *place* in the prompt.

        Where they are too long for the model, half as many. Apart from that it is like `write`.
        """
        while True:
            filled = {**values, place: quote(fold.piece(room), fold.language)}
            try:
                text = await self.write(name, fold.language, filled, fold.read, fold.so_far)
            except NoSummary as refused:
                if not refused.is_too_long or not fold.halve():
                    raise
            else:
                fold.take(text)
                return

    def room(self, name: str, language: Language, values: Mapping[str, str], context_tokens: int, answer_tokens: int) -> int:
        """
        Return the tokens that are left for a piece by the answer and the prompt *name* with the other *values*.

        NoSummary if the context of the model leaves too few.
        """
        prompt = self.template(name, language).fill(**values)
        room = context_tokens * _PLANNED // 10 - estimate_tokens(prompt, self.cjk_weight) - answer_tokens
        if room < MIN_PIECE:
            raise NoSummary(Text("model.prompt_full"), "input")
        return room

    def _judged(self, answer: str, entries: Sequence[Entry], previous: str) -> str:
        """Return the text without its wrappings; NoSummary if it can't be kept, or wrongly says that there is nothing to."""
        text = cleaned(answer)
        text = _LABEL.sub("", text, count=1) if _LABEL.match(text) else text
        if says_nothing(text):
            if not any(states_fact(entry.text) for entry in entries if not entry.head.startswith(_NOT_PEOPLE)):
                return text
            raise NoSummary(Text("model.nothing_but_is"), "empty")
        verdict = judge(text, self._material(entries, previous), self.max_chars * _TOO_LONG)
        if verdict.reason:
            why = "model.vague" if verdict.reason == "vague" else "model.no_summary"
            raise NoSummary(Text(why), verdict.reason)
        return verdict.text

    def _material(self, entries: Sequence[Entry], previous: str) -> Material:
        """Return what the answer is judged against: the messages, the summary so far, and an extract as long as it may be."""
        texts = [text for text in (previous, *(entry.text for entry in entries)) if text.strip()]
        roles = ["assistant" if entry.head.startswith(_NOT_PEOPLE) else "user" for entry in entries]
        blocks = [Block("", role, entry.text, _ANY_TIME, {}) for role, entry in zip(roles, entries, strict=True)]
        shown = extract(blocks, period="2000-01-01", zone=UTC, previous=previous, kind="day", longest=self.max_chars)
        languages = {language_of(text) for text in texts}
        return Material(
            said=tuple((None, text) for text in texts),
            extract=shown,
            language=languages.pop() if len(languages) == 1 else None,
            prompts=prompt_marks(),
            examples=prompt_examples(),
            is_bounded=True,
        )


def in_one_line(text: str) -> str:
    r"""
    Return the text on one line, its lines as matters of the entry.

    >>> in_one_line("- 决定用 JWT。\n- 周五部署。"), in_one_line("用 JWT；周五部署。")
    ('决定用 JWT；周五部署', '用 JWT；周五部署。')
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return text.strip()
    return _SEPARATOR[language_of(text)].join(filter(None, (_MARK.sub("", line).strip() for line in lines)))
