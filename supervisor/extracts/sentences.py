"""
A message cut into sentences of one line each, as they are written, and what of them is quoted as one.

The lines come from lines.py; the items of a list join the line that announces them, an answer stays with its question, and a
sentence that says little alone with the one before it. What a sentence is worth is decided in worth.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from recalld.supervisor.extracts.courtesy import count_words, is_thanks
from recalld.supervisor.extracts.cues import cue_worth, is_of_self, takes_back
from recalld.supervisor.extracts.lines import lines
from recalld.supervisor.extracts.replies import is_bare_reply, is_question, needs_question, opens_with_figure, without_yes
from recalld.supervisor.text.language import language_of
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.small_talk import is_chitchat
from recalld.supervisor.text.tokenizer import HAN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: What comes before a comma in a question, but not in a statement.
_ASKING: Final = lazy_re(
    r"^\W*(?:and |but |so )?(?:am|is|are|was|were|do|does|did|can|could|will|would|shall|should|may|have|has|wh\w+|how)\b"
    r"|什么|怎么|怎样|哪|谁|几|多少|是否|(\w)不\1",
    re.IGNORECASE,
)
#: Characters of a sentence, and of the items of a list that are put into one.
LONGEST: Final = 220
#: Characters of a message that are read: a pasted book says what it is on its first pages.
_READ: Final = 60_000
#: Characters without a blank, or without a mark, from which they are data and no prose; and how many of them are shown.
_DATA_RUN: Final = 300
_DATA_SHOWN: Final = 24
#: Letters below which a piece joins its neighbour: "早。", "OK."
_STUMP: Final = 3
#: Characters before a full stop that show whether it ends a sentence.
_READ_BACK: Final = 12

_RUN: Final = lazy_re(r"[!-~]+|[^\s!-~，。！？；、：…]+")
_INVISIBLE: Final = lazy_re(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff]"
)
_BREAK: Final = lazy_re(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SURROGATE: Final = lazy_re("[\ud800-\udfff]")
_END: Final = lazy_re(
    rf"[。！？]+[”’\"'）)』」》\]]*|(?<![!?])[!?]+[”\"'）)\]]*(?=\s|$|[{HAN}])|(?<!…)…+(?=\s)|\.[”\"')\]]*(?=\s)",
)
_PARTING: Final = "；;"
#: What ends an item of a line: a sentence's end, or the mark between two things.
ITEM_END: Final = lazy_re(rf"{_END.pattern}|；|;(?=\s|$|[{HAN}])")
_ABBREVIATED: Final = lazy_re(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|Prof|St|No|approx|dept|Fig|Jr|Sr)|\b[A-Z]|^\d{1,2})$")
_OPEN: Final = {"（": "）", "(": ")", "「": "」", "『": "』", "“": "”", "《": "》", "【": "】"}
_CLAUSE: Final = lazy_re(r"[，,；;、：:]\s*|\s[—–-]\s|\s+")
_PART: Final = lazy_re(r"[，,；;：:](?!\d)\s*")
#: How a sentence opens that means the one before it, or goes on with it.
_LEANING: Final = lazy_re(
    r"[它他她]们?|(?i:it|its|it's|they|they're|them|he|she|he's|she's|his|her)\b"
    r"|(?i:(?:the |an?)?(?:new|other|second|same|old) one)\b|[新旧另]的?(?:一个|那个|的)"
    r"|(?:and|but|so|because|which|then) |[而且但因所]"
)
#: Columns of a sentence that says little alone, what its cues are worth at least, and columns of what is quoted as one with it;
#: what the cues are worth of a sentence that needs no question of its speaker's own before it.
_FEW: Final = 40
_TELLS: Final = 0.4
_TOGETHER: Final = 110
_TELLS_MUCH: Final = 1.0
#: Columns of a sentence that says whom the next one is about, and no more: "Mum rang."
_SAYS_WHO: Final = 16
#: A row of data, which has no blanks.
_ROW: Final = lazy_re(r"[!-~]{25}")
#: With what a piece ends that needs no mark between it and the next.
_ENDED: Final = lazy_re(r"[。！？；，：、…．.!?;,:][”’」』》）)\"']*$")
#: What another wrote, in whatever language.
_QUOTED: Final = lazy_re(r"`[^`]+`|[\"“][^\"”]+[\"”]")
#: Han characters that no English sentence has, but in names.
_HAN_CHARS: Final = 5
_HAN: Final = lazy_re(f"[{HAN}]")
#: Words of a statement before the question that ends its sentence, at least.
_STATED: Final = 4


def sentences(text: str) -> list[str]:
    r"""
    Return the sentences of *text*, each on one line, in their order, as they are written.

    >>> sentences("今天 3.11 装好了。备份呢？\n\n要买的：\n- 牛奶\n- 3 个鸡蛋")
    ['今天 3.11 装好了。', '备份呢？', '要买的：牛奶；3 个鸡蛋']
    """
    shortened = _RUN.sub(lambda run: f"{run[0][:_DATA_SHOWN]}…" if len(run[0]) > _DATA_RUN else run[0], clean(text[:_READ]))
    found: list[str] = []
    may_join = False  # an item may join the last line: it announces a list, or is an item
    for kind, piece in lines(shortened):
        line = f"`{cut(piece, LONGEST // 2)}`" if kind == "fault" else piece
        before = found[-1].rstrip("；;，,。.") if found else ""
        if kind != "prose" and may_join and len(before) + len(line) < LONGEST:
            found[-1] = before + joint(before, line) + line
        else:
            found += [cut(line, LONGEST)] if kind != "prose" else [cut(piece, LONGEST) for piece in split(line)]
        may_join = kind != "prose" or line.endswith((":", "："))
    return found


def clean(text: str) -> str:
    """Return *text* with plain line breaks and without characters that can't be seen, or can't be written."""
    return _SURROGATE.sub("\ufffd", _INVISIBLE.sub("", _BREAK.sub("\n", text)))


def units(parts: Sequence[str], asked: str, longest: int) -> Iterator[tuple[str, str]]:
    """
    Yield what is quoted as one, and the question it answers; thanks are left out.

    A sentence that means the one before it is joined to it, and so is one of a few words.
    """
    held, question, has_answer = "", "", False
    for sentence in parts:
        text = cut(without_question(sentence), longest)
        is_answer = bool(asked) and not has_answer and not is_thanks(text) and needs_question(text)
        text = text if is_answer else without_yes(text)
        if not is_answer and (is_chitchat(text) or is_thanks(text)):
            continue
        joined = f"{held}{joint(held, text)}{text}"
        if held and _are_one(held, text, question) and len(joined) <= longest:
            held = joined
            continue
        if held:
            yield held, question
        has_answer = True
        held, question = text, cut(asked, longest) if is_answer else ""
    if held:
        yield held, question


def _are_one(before: str, text: str, question: str) -> bool:
    """Return whether the two are quoted as one; two changes are not, since each stands beside what it changes."""
    return _belongs(before, text, question) and not (takes_back(text) and takes_back(before))


def _belongs(before: str, text: str, question: str) -> bool:
    """Return whether *text* says little without the sentence before it, or that sentence without it."""
    is_short = columns(before + text) <= _TOGETHER
    if is_question(text):
        return False
    if is_question(before):  # "what do I bring? he gave me a list"
        return is_short and cue_worth(text) < _TELLS_MUCH and bool(_LEANING.match(text) or opens_with_figure(text))
    if _LEANING.match(text) or (question and is_bare_reply(before) and not is_of_self(text)):
        return True
    is_hasty = (text[0].islower() or before[0].islower()) and not _HAN.search(before)  # "he's out. went fine"
    if is_short and (is_hasty or opens_with_figure(text)) and not _ROW.search(text):
        return True
    short = min(before, text, key=columns)
    tells = cue_worth(short) >= _TELLS or (short is before and columns(short) <= _SAYS_WHO and is_of_self(short))
    return columns(short) <= _FEW and is_short and tells


def cut(text: str, longest: int) -> str:
    """Return *text* up to a clause of at most *longest* characters, marked with …, and not inside of a quotation or code."""
    if len(text) <= longest:
        return text
    ends = [match.start() for match in _CLAUSE.finditer(text, 0, longest - 1)]
    shown = text[: ends[-1] if ends and ends[-1] > longest // 2 else longest - 1].rstrip()
    opened = [shown.rfind(left) for left, right in _OPEN.items() if shown.rfind(left) > shown.rfind(right)]
    last = max([shown.rfind("`") if shown.count("`") % 2 else -1, *opened])
    if last > longest // 2:
        return shown[:last].rstrip() + "…"
    return f"{shown}…`" if shown.count("`") % 2 else f"{shown}…"


def end_of(question: str, longest: int) -> str:
    """
    Return the last clauses of a question, of at most *longest* characters, marked with … where more is before them.

    >>> end_of("I have a brother in Norway, and you, do you live there?", 24)
    '…do you live there?'
    """
    if len(question) <= longest:
        return question
    starts = [match.end() for match in _CLAUSE.finditer(question, len(question) - longest + 1) if match[0].strip()]
    return f"…{question[starts[0] :]}" if starts and starts[0] < len(question) else cut(question, longest)


def last_clause(sentence: str) -> str:
    """
    Return the last clause of a sentence, marked with … where more is before it.

    >>> last_clause("去年如果有过严重反应，问问陈静有没有肾上腺素笔。")
    '…问问陈静有没有肾上腺素笔。'
    """
    starts = [match.end() for match in _PART.finditer(sentence) if match.end() < len(sentence)]
    return f"…{sentence[starts[-1] :]}" if starts else sentence


def joint(before: str, after: str) -> str:
    """Return what comes between two pieces on one line: a mark of the first one's language, where it has none itself."""
    if not before or _ENDED.search(before):
        return "" if before[-1:] > "\u2e7f" else " "
    own = _QUOTED.sub("", before)
    han = len(_HAN.findall(own))
    is_chinese = language_of(own) == "zh" or han >= _HAN_CHARS or (han > 0 and language_of(after) == "zh")
    return "；" if is_chinese else "; "


def columns(text: str) -> int:
    """Return the width of *text* as it is seen: two for a wide character."""
    return len(text) + sum(char > "\u2e7f" for char in text)


def without_question(text: str) -> str:
    """
    Return what the speaker states before the question that ends the sentence; the whole sentence where that is nothing.

    >>> without_question("我很喜欢打羽毛球和游泳，你也喜欢运动吗？"), without_question("你呢？")
    ('我很喜欢打羽毛球和游泳…', '你呢？')
    """
    stated = max(text.rfind("，"), text.rfind(", "))
    head = text[: max(stated, 0)]
    states = is_question(text) and is_of_self(head) and not _ASKING.search(head) and count_words(head) >= _STATED
    return f"{head}…" if states else text


def split(line: str, ends: re.Pattern[str] = _END) -> Iterator[str]:
    """Yield the line's sentences, or what *ends* parts; a sentence that is hardly a word stays with the next."""
    start = 0
    for match in ends.finditer(line):
        piece = line[start : match.end()].strip()
        if line[match.end() :].lstrip().startswith("→"):  # of an earlier extract: the answer
            continue
        if match[0].startswith(".") and _ABBREVIATED.search(line[start : match.start()][-_READ_BACK:]):
            continue
        letters = sum(map(str.isalnum, piece))
        if len(piece) < LONGEST and (_is_open(piece) or letters < (1 if match[0] in _PARTING else _STUMP)):
            continue
        yield piece
        start = match.end()
    if rest := line[start:].strip():
        yield rest


def _is_open(piece: str) -> bool:
    """Return whether a bracket or quotation mark is still open; not for ever, since people forget to close them."""
    return any(piece.count(left) > piece.count(right) for left, right in _OPEN.items())
