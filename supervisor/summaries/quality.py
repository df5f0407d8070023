"""
Whether an answer may become a summary: one table of rules, in order, each with its reason (docs/reference/protocol.md, 6.5).

One gate for days, months, the lines of sessions and running summaries. The text of a model is untrusted input. A rejected text
costs no memory: the extract of the same material is the summary, and what an answer is measured by. A rule that is not sure
accepts, since a good text that is rejected each time costs calls for nothing. What refusals and errors look like is in
`phrases.py`, the form of a text in `shape.py`, and what it says against its material in `material.py`. Pure, and linear in the
length of the text.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from ..protocol.summary_file import MARKER, SOURCES
from ..summaries import phrases, shape
from ..text.lazy_re import lazy_re
from ..text.llm_output import outside_code, own_words
from ..text.tokenizer import HAN, KANA, tokens
from ..text.word_frequency import telling_words
from .material import Material, is_copy, says_less, says_much_new

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..protocol.task import Reason

MAX_CHARS: Final = 8_000  # characters of one summary

_WORD: Final = lazy_re(r"\w")

#: Characters that can't be written, or are written and can't be seen.
_UNWRITABLE: Final = lazy_re("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_FORGED: Final = lazy_re(
    r"\A(?:---|\+\+\+)[ \t]*$|^---\nrecalld:|^[ \t>*+-]*<!--[ \t]*(?:recalld|\{)"
    rf"|(?:{re.escape(SOURCES)}|{re.escape(MARKER)})[ \t]*$|^- [^\s/]+\.md · \d+ · [0-9a-f]{{16}}[ \t]*$",
    re.MULTILINE,
)
#: The tag before a quoted memory; a link is no tag.
_SOURCE_TAG: Final = lazy_re(r"[ \t>*_+#.\d-]*(\[(?:memory\.md|memory/[^\]\n]*)\])(?!\()", re.IGNORECASE)
#: Characters of a prompt's sentence that no other text has by chance; of its example, and the telling words of that.
_MARK_MIN_CHARS: Final = 8
_EXAMPLE_CHARS: Final = 10
_EXAMPLE_WORDS: Final = 3
#: The names of the examples, of which one is enough: small models give them to people of the conversation.
EXAMPLE_NAMES: Final = ("丁蕙", "Odile", "Bruges")
_AT_EDGES: Final = 2  # words that a run of the example may cut at its ends

_HAN: Final = lazy_re(f"[{HAN}]")
_KANA: Final = lazy_re(f"[{KANA}]")
#: Words, not names and identifiers, of any script that has them.
_PLAIN_WORD: Final = lazy_re(rf"(?<![\w./@-])[^\W\d_A-Z{HAN}{KANA}][^\W\d_A-Z{HAN}{KANA}]+(?![\w./@-])")
_URL: Final = lazy_re(r"https?://\S+")
_HAN_WORTH: Final = 0.75  # words; as in supervisor/text/language.py
_KANA_SHARE: Final = 0.1
#: Fewest words that show a text's language, and the shares of Chinese that count as low and high.
_MIN_WORDS: Final = 8
_LOW_SHARE: Final = 0.2
_HIGH_SHARE: Final = 0.8
#: A text is too long for what it sums up from so many characters on, where it is so many times longer.
_LONG_CHARS: Final = 400
_LONGER: Final = 1.5


def judge(text: str, material: Material, most_chars: int = MAX_CHARS) -> Reason | None:
    """Return why the answer may not be the summary of the material, None if it may. It is judged as it is: clean it first."""
    reason = reject_form(text, most_chars) or next((reason for rule, reason in RULES if rule(text, material)), None)
    return "input" if reason in {"data", "error"} and phrases.reports_too_long_input(text) else reason


def reject_form(text: str, most_chars: int = MAX_CHARS) -> Reason | None:
    """Return why no text of this form can be written as a summary, an extract either; None when it can."""
    if not _WORD.search(text):
        return "empty"
    if len(text) > most_chars:
        return "long"
    return "forged" if _UNWRITABLE.search(text) or _FORGED.search(text) else None


def _forges_source_tag(text: str, material: Material) -> bool:
    """Return whether a line begins with the tag of a memory that is not in the material."""
    tags = (tag[1] for line in outside_code(text)[0] if (tag := _SOURCE_TAG.match(line)))
    return any(tag not in material.text for tag in tags)


def _echoes_prompt(text: str, material: Material) -> bool:
    """Return whether the text begins like a prompt, or has a sentence of its prompt that is not in the material."""
    folded, known = _folded(text), _folded(material.text)
    marks = (mark for mark in map(_folded, material.prompts) if len(mark) >= _MARK_MIN_CHARS)
    return phrases.is_prompt(text) or any(mark in folded and mark not in known for mark in marks)


def _leaks_example(text: str, material: Material) -> bool:
    """Return whether the text has words of a prompt's example about what the material does not say, or one of its names."""
    if any(name in text and name not in material.text for name in EXAMPLE_NAMES):
        return True
    own = {word for word in telling_words(text) - telling_words(material.text) if not word.isdigit()}  # 35 may be a difference
    for example in material.examples:
        if len(telling_words(example) & own) >= _EXAMPLE_WORDS:
            return True
        for line in filter(None, example.splitlines()):
            run = SequenceMatcher(None, line, text, autojunk=False).find_longest_match()
            copied = set(tokens(line[run.a : run.a + run.size]))
            if run.size >= _EXAMPLE_CHARS and len(copied - material.tokens) > _AT_EDGES:
                return True
    return False


def _folded(text: str) -> str:
    return "".join(text.casefold().split())


def _is_foreign(text: str, material: Material) -> bool:
    """
    Return whether the text is clearly in the other language; where the material is mixed, either may be right.

    "en" without a sample proves nothing: `language_of` also returns it for a text without words.
    """
    share, words = _chinese_share("\n".join(own_words(text)))
    if words < _MIN_WORDS or not material.language:
        return False
    known = bool(_WORD.search(material.text))
    of_material = _chinese_share(material.text)[0] if known else 1.0
    if material.language == "zh":
        return share < _LOW_SHARE and of_material > _HIGH_SHARE
    return share > _HIGH_SHARE and known and of_material < _LOW_SHARE


def _chinese_share(text: str) -> tuple[float, float]:
    """Return the Chinese share of the words, and the number of words, without names and identifiers."""
    bare = _URL.sub(" ", text)
    han, kana = len(_HAN.findall(bare)), len(_KANA.findall(bare))
    plain = len(_PLAIN_WORD.findall(bare))
    if kana > _KANA_SHARE * han:
        return 0.0, plain + kana * _HAN_WORTH
    words = han * _HAN_WORTH + plain
    return (han * _HAN_WORTH / words if words else 0.0), words


def _is_too_long(text: str, material: Material) -> bool:
    return bool(material.said) and len(text) > max(_LONG_CHARS, _LONGER * len(material.text))


def _alone(rule: Callable[[str], bool]) -> Callable[[str, Material], bool]:
    """Return the rule that looks at the text alone."""
    return lambda text, _: rule(text)


#: What is refused, and why. The order counts: an error page may also look like a refusal, and the beginning of a text is judged
#: before its end.
RULES: Final[tuple[tuple[Callable[[str, Material], bool], Reason], ...]] = (
    (_alone(phrases.has_unclosed_thought), "thought"),
    (_alone(phrases.is_data), "data"),  # JSON, whole or half, or only code
    (_alone(phrases.is_error), "error"),  # of a server
    (_alone(phrases.is_refusal), "refused"),
    (_alone(phrases.is_greeting), "empty"),
    (_alone(phrases.thinks_aloud), "thought"),
    (_echoes_prompt, "prompt"),
    (_leaks_example, "example"),
    (_alone(shape.is_transcript), "transcript"),
    (_alone(phrases.continues_the_talk), "transcript"),
    (_alone(phrases.gives_orders), "order"),
    (_forges_source_tag, "forged"),
    (_alone(shape.repeats_itself), "repeats"),
    (_is_foreign, "language"),  # before its length, since English has more characters than Chinese
    (_is_too_long, "long"),
    (_alone(shape.is_form), "form"),
    (is_copy, "copy"),
    (_alone(shape.is_cut_off), "truncated"),
    (says_less, "vague"),  # than the extract
    (says_much_new, "new"),
)
