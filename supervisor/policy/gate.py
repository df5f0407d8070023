"""
What of a worker's text may become a summary (docs/protocol.md, 6). Text of a model is input like any other.

Pure, and linear in the text. A fault is why the text can't stand; none of them costs a memory, since the originals stay and the
group is tried again. Where a rule can't be sure it lets the text pass: a good summary refused for ever is money for nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from supervisor.policy.chatter import answers, is_prompt, says_hello, thinks, thinks_on
from supervisor.policy.endings import cut_off, loops
from supervisor.policy.error_pages import is_data, is_error, says_too_long
from supervisor.policy.refusals import refuses
from supervisor.protocol.summary import MARKER, SOURCES
from supervisor.text.nothing import says_nothing
from supervisor.text.prose import cleaned, outside_code, own_words
from supervisor.text.words import HAN, KANA

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.protocol.task import Reason

__all__ = ["LONGEST", "cleaned", "fault", "says_nothing"]

LONGEST: Final = 8_000  # characters of one summary

_WORD: Final = re.compile(r"\w")

#: What can't be written, or is written and can't be seen.
_UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_FORGED: Final = re.compile(
    r"\A(?:---|\+\+\+)[ \t]*$|^---\nrecalld:|^[ \t>*+-]*<!--[ \t]*(?:recalld|\{)"
    rf"|(?:{re.escape(SOURCES)}|{re.escape(MARKER)})[ \t]*$|^- [^\s/]+\.md · \d+ · [0-9a-f]{{16}}[ \t]*$",
    re.MULTILINE,
)
#: The tag before what is told of a memory (003, 注入格式); a link is none.
_SOURCE_TAG: Final = re.compile(r"[ \t>*_+#.\d-]*(\[(?:memory\.md|memory/[^\]\n]*)\])(?!\()", re.IGNORECASE)
_MARK_LEAST: Final = 8  # characters of a prompt's sentence that another text would not have by chance

_HAN: Final = re.compile(f"[{HAN}]")
_KANA: Final = re.compile(f"[{KANA}]")
#: Words, not names and identifiers, of any script that has them.
_PLAIN_WORD: Final = re.compile(rf"(?<![\w./@-])[^\W\d_A-Z{HAN}{KANA}][^\W\d_A-Z{HAN}{KANA}]+(?![\w./@-])")
_ADDRESS: Final = re.compile(r"https?://\S+")
_HAN_WORTH: Final = 0.75  # words; as supervisor.text.language has it
_KANA_SHARE: Final = 0.1
#: Words from which a text's language can be told, and the shares of Chinese that are little and much.
_WORDS_LEAST: Final = 8
_LITTLE: Final = 0.2
_MUCH: Final = 0.8

#: In this order: an error page may also be a refusal in form, and what is cut off is judged by its beginning first.
_RULES: Final[tuple[tuple[Callable[[str], bool], Reason], ...]] = (
    (thinks_on, "truncated"),
    (is_data, "refused"),
    (is_error, "refused"),
    (refuses, "refused"),
    (says_hello, "empty"),
    (thinks, "refused"),
    (is_prompt, "refused"),
    (answers, "refused"),
    (loops, "refused"),
    (cut_off, "truncated"),
)


def fault(
    text: str,
    longest: int = LONGEST,
    *,
    material_language: Literal["zh", "en"] | None = None,
    material: str = "",
    prompt_marks: Sequence[str] = (),
    extract: bool = False,
) -> Reason | None:
    """
    Return why the text can't stand as a summary; None when it can. It is judged as it is: clean it first.

    - empty: no word; a greeting, a courtesy, "done".
    - truncated: a thought, fence or comment that is not closed; it ends in a heading, or in the middle of a sentence.
    - input: an error that says that the material was too long.
    - refused: all else. A refusal or apology, an error page, JSON, thinking aloud, the prompt (its sentences are
      *prompt_marks*), an answer or further talk, a loop, the wrong language, forged structure, more than *longest* characters.

    *material* is a sample of what was summarised, *material_language* what language_of says of it ("en" is every other one
    too): what the sample itself says is no echo and no forged tag. An *extract* is quotations: only its form is judged.
    An error page counts against the group, not the provider: words that a chat can bring forth must not pause everything.
    """
    if not _WORD.search(text):
        return "empty"
    if len(text) > longest or _UNWRITABLE.search(text) or _FORGED.search(text):
        return "refused"
    if extract:
        return None
    reason = next((reason for faulty, reason in _RULES if faulty(text)), None)
    if reason == "refused" and (is_data(text) or is_error(text)) and says_too_long(text):
        return "input"
    if reason:
        return reason
    if _forges_a_source(text, material) or _echoes(text, prompt_marks, material):
        return "refused"
    return "refused" if material_language and _is_foreign(text, material_language, material) else None


def _forges_a_source(text: str, material: str) -> bool:
    tags = (tag[1] for line in outside_code(text)[0] if (tag := _SOURCE_TAG.match(line)))
    return any(tag not in material for tag in tags)


def _echoes(text: str, prompt_marks: Sequence[str], material: str) -> bool:
    """Tell whether the text says a sentence of its prompt that the material does not say."""
    said, known = _folded(text), _folded(material)
    marks = (mark for mark in map(_folded, prompt_marks) if len(mark) >= _MARK_LEAST)
    return any(mark in said and mark not in known for mark in marks)


def _folded(text: str) -> str:
    return "".join(text.casefold().split())


def _is_foreign(text: str, language: Literal["zh", "en"], material: str) -> bool:
    """
    Tell whether the text is plainly in the other language; where the material is mixed, either may be right.

    "en" without a sample says nothing: it is also what language_of makes of no words at all.
    """
    share, words = _chinese("\n".join(own_words(text)))
    if words < _WORDS_LEAST:
        return False
    known = bool(_WORD.search(material))
    of_material = _chinese(material)[0] if known else 1.0
    if language == "zh":
        return share < _LITTLE and of_material > _MUCH
    return share > _MUCH and known and of_material < _LITTLE


def _chinese(text: str) -> tuple[float, float]:
    """Return the Chinese share of the words, and how many words there are, names and identifiers left out."""
    bare = _ADDRESS.sub(" ", text)
    han, kana = len(_HAN.findall(bare)), len(_KANA.findall(bare))
    plain = len(_PLAIN_WORD.findall(bare))
    if kana > _KANA_SHARE * han:
        return 0.0, plain + kana * _HAN_WORTH
    words = han * _HAN_WORTH + plain
    return (han * _HAN_WORTH / words if words else 0.0), words
