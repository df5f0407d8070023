"""
Whether an answer is right, by a rule that anybody can check; and what a judge model is asked.

A gold answer is a list of facts, "4 December; 18:55", each in one of its spellings, "Postgres=PostgreSQL". An answer is right if it has
every fact. Numbers, amounts, dates and times are compared by what they mean: "£1,210" and 1210 pounds are equal, and so are 18:55 and
6:55 pm, 2.1 m and 210 cm, 12月4号 and 4 Dec. Any other fact has to stand in the answer as it is written, without regard to case and white
space; of one with three words or more, two thirds of them. Where nothing was said, it is right to say that it is not known. A right answer
may say more: whether that is true, the rule does not see.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bench.pieces import NUMBER, Piece, in_digits, number, plain, shaped
from recalld.supervisor.text.language import HAN
from recalld.supervisor.text.tokenizer import tokens

_LENGTHS: Final = {
    "mm": 1,
    "毫米": 1,
    "cm": 10,
    "厘米": 10,
    "m": 1000,
    "metres": 1000,
    "米": 1000,
    "km": 1_000_000,
    "公里": 1_000_000,
}
_WEIGHTS: Final = {"g": 1, "克": 1, "kg": 1000, "kilos": 1000, "公斤": 1000, "千克": 1000}
_OTHERS: Final = {"l": ("l", 1), "litres": ("l", 1), "升": ("l", 1), "gb": ("gb", 1), "hours": ("min", 60), "小时": ("min", 60)}
#: What a unit is a multiple of; a unit that is not here is a word like any other.
UNITS: Final = {
    **{unit: ("mm", factor) for unit, factor in _LENGTHS.items()},
    **{unit: ("g", factor) for unit, factor in _WEIGHTS.items()},
    **dict.fromkeys(("min", "minutes", "分钟"), ("min", 1)),
    **_OTHERS,
}
_AMOUNT: Final = re.compile(rf"(?<![\d.a-z])(\d+(?:\.\d+)?)\s*({'|'.join(sorted(UNITS, key=len, reverse=True))})(?![a-z])")
_MONEY: Final = re.compile(r"[£€¥$]|(?<=\d)\s*(?:pounds|quid|dollars|euros|gbp|usd|rmb|元|块钱?)(?![a-z])")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LARGE: Final = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)(k|万)(\d?)(?![a-z\d])")
_BESIDE: Final = re.compile(r"(?<=\d)(?=[〇零一二两三四五六七八九十])")
_BLANK: Final = re.compile(rf"(?<=[{HAN}])\s+|\s+(?=[{HAN}])")
_WEEKDAY: Final = re.compile(r"(?:星期|礼拜|周)(?=[1-6日天])")
_DAY: Final = re.compile(r"(?<![\d.])(3[01]|[12]?\d)(?:st\b|nd\b|rd\b|th\b|号|日)")
_UNKNOWN: Final = re.compile(
    r"\b(?:do(?:es)?n[’']?t|do(?:es)? not|did(?:n[’']?t| not)|can(?:not|[’']?t| not)|could(?:n[’']?t| not)) "
    r"(?:know|say|tell|mention|find|determine|specify|contain|have (?:any|that|this|the|information))"
    r"|\bnot (?:been )?(?:known|mentioned|said|specified|stated|provided|available|recorded|given|told)\b"
    r"|\bunknown\b|\bno (?:information|record|mention|memory)\b"
    r"|不知道|不清楚|不确定|不详|未知|未提|没有?(?:提|说|记录|记住|信息|相关|告诉)|无法(?:确定|得知|回答|知道)|无记录",
    re.IGNORECASE,
)
_REFUSAL: Final = re.compile(
    r"\b(?:can[’']?t|cannot|can not|unable to|won[’']?t) (?:assist|help|comply|provide|share|fulfil)|\bas an ai\b"
    r"|(?:无法|不能)(?:协助|提供|满足)|作为(?:一个)?(?:AI|人工智能)",
    re.IGNORECASE,
)
_THOUGHT: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
#: A fact of more words than two has to have this part of them in the answer.
_MOST_WORDS: Final = 2 / 3


class Verdict(NamedTuple):
    """What an answer is: "right", "wrong", "unknown" (it says that it does not know), "refused" or "empty"; how many facts it has."""

    outcome: str
    facts: int = 0
    of: int = 0


def without_thought(answer: str) -> tuple[str, bool]:
    """Return the answer without the thoughts that a model writes before it, and whether it had any."""
    rest = _THOUGHT.sub("", answer)
    return rest.strip(), rest != answer


def facts_of(gold: str) -> list[list[str]]:
    """Return the facts of a gold answer, each with its spellings; where it marks no spellings, commas divide facts, too."""
    parts = re.split(r"[;；]", gold)
    if "=" not in gold:
        parts = [fact for part in parts for fact in re.split(r",\s|[，、]", part)]
    return [[one.strip() for one in part.split("=") if one.strip()] for part in parts if part.strip()]


def judge(answer: str, gold: str) -> Verdict:
    """Return what the rule says of an answer; the gold of a question that nothing answers is empty."""
    answer, facts = without_thought(answer)[0], facts_of(gold)
    if not answer:
        return Verdict("empty", 0, len(facts))
    count = facts_in(answer, gold)
    if 0 < count == len(facts):
        return Verdict("right", count, len(facts))
    if _UNKNOWN.search(answer):
        return Verdict("unknown" if facts else "right", count, len(facts))
    return Verdict("refused" if _REFUSAL.search(answer) else "wrong", count, len(facts))


def facts_in(text: str, gold: str) -> int:
    """Return how many facts of the gold answer a text has."""
    said = _Text(text)
    return sum(any(said.has(_Text(spelling)) for spelling in fact) for fact in facts_of(gold))


def request(question: str, gold: str, answer: str) -> str:
    """Return what a judge model is asked: it sees neither who answered nor what was before them."""
    right = gold.replace("=", " or ") or "(nothing was ever said about it: the right answer is that it is not known)"
    return (
        f"Question: {question}\nRight answer: {right}\nAnswer to judge: {without_thought(answer)[0]}\n\n"
        "Does the answer to judge say what the right answer says? It may use other words and say more, unless it contradicts it. "
        "Reply with one word: yes or no."
    )


def is_yes(reply: str) -> bool | None:
    """Return what a judge model said; None where it was neither yes nor no."""
    word = re.search(r"\b(yes|no)\b|[是否不]", without_thought(reply)[0].lower())
    return word[0] in {"yes", "是"} if word else None


class _Text:
    """A text in which facts are looked up: as it stands, its words, and the numbers, amounts, dates and times in it."""

    def __init__(self, text: str) -> None:
        self.flat = _in_one_form(text)
        self.found, self.rest = _measured(self.flat)

    def has(self, fact: _Text) -> bool:
        """True if the text has the fact."""
        has_pieces = all(any(_is_same(wanted, one) for one in self.found) for wanted in fact.found)
        if fact.found and has_pieces and not re.search(r"\w", fact.rest):
            return True
        if _whole(fact.flat).search(self.flat):
            return True
        words = set(tokens(fact.rest))
        return len(words) > 2 and has_pieces and len(words & set(tokens(self.flat))) >= _MOST_WORDS * len(words)


def _in_one_form(text: str) -> str:
    """Return the text in lower case, numbers in digits, without currencies, a weekday as 周 and blanks beside Han characters."""
    text = in_digits(_BESIDE.sub(" ", plain(text)))
    text = _THOUSANDS.sub("", _BLANK.sub("", text).casefold())
    text = _LARGE.sub(lambda match: _in_full(match[1], match[2], match[3]), text)
    return " ".join(_WEEKDAY.sub("周", _MONEY.sub("", text)).replace("周天", "周日").split())


def _in_full(digits: str, unit: str, last: str) -> str:
    """Return a number with its thousands; a last digit stands for the next smaller ones, as in 6万2."""
    return str(round(float(digits) * (1000 if unit == "k" else 10_000)) + int(last or 0) * 1000)


def _measured(text: str) -> tuple[list[Piece], str]:
    """Return the numbers, amounts, dates and times of a text in one form, and the rest."""
    amounts = [Piece("amount", match[0], _amount(match[1], match[2])) for match in _AMOUNT.finditer(text)]
    shapes, rest = shaped(_AMOUNT.sub(" ", text))
    days = [Piece("date", match[0], (0, 0, int(match[1]))) for match in _DAY.finditer(rest)]
    rest = _DAY.sub(" ", rest)
    numbers = [Piece("number", match[0], number(match[0])) for match in NUMBER.finditer(rest)]
    others = [piece for piece in shapes if piece.kind != "number"]
    return [*amounts, *others, *days, *numbers], NUMBER.sub(" ", rest)


def _amount(digits: str, unit: str) -> str:
    """Return an amount as its multiple of the base unit, and as it is written: "6100 g 6.1"."""
    base, factor = UNITS[unit]
    return f"{round(float(digits) * factor, 6):g} {base} {number(digits)}"


def _is_same(wanted: Piece, one: Piece) -> bool:
    """True if both mean the same; the part of a date that one of them lacks is not compared, nor is the unit of an amount."""
    if wanted.kind == one.kind == "date":
        return all(not this or not other or this == other for this, other in zip(wanted.means, one.means, strict=True))
    if wanted.kind == one.kind == "amount":
        return str(wanted.means).rpartition(" ")[0] == str(one.means).rpartition(" ")[0]
    if {wanted.kind, one.kind} == {"amount", "number"}:
        amount, bare = (wanted, one) if wanted.kind == "amount" else (one, wanted)
        return str(amount.means).rpartition(" ")[2] == bare.means
    if wanted.kind == "time" and one.kind == "number" and str(one.means).isdigit():
        return wanted.means == (int(str(one.means)) % 12, 0)
    return wanted.kind == one.kind and wanted.means == one.means


def _whole(wanted: str) -> re.Pattern[str]:
    """Return what finds the words from the start of a word on; a number and a word of three letters have to be whole."""
    before = r"(?<![\d.])" if wanted[:1].isdigit() else r"(?<![a-z])" if wanted[:1].isascii() else ""
    is_short = len(wanted) < 4 and wanted.isascii() and wanted.isalpha()
    after = r"(?!\d|\.\d)" if wanted[-1:].isdigit() else r"(?![a-z])" if is_short else ""
    return re.compile(before + r"\s?".join(map(re.escape, wanted.split())) + after)
