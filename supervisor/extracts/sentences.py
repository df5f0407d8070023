"""
A message cut into sentences of one line each, as they are written, and what of them is quoted as one.

Code, logs and tracebacks are no prose: of a paste only the last error is left, or a sign that something is left out. The
items of a list join the line that announces them. Which sentences are worth quoting is decided in extract.py.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from ..text.language import HAN, Language
from ..text.lazy_re import lazy_re
from .replies import is_question

_Kind: TypeAlias = Literal["prose", "item", "fault", "code"]

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
#: Columns of the sentences of one message that are quoted as one.
_TOGETHER: Final = 160
#: What stands in the place of code.
LEFT_OUT: Final = "…"
#: Lines from which indented or stamped text is a paste, not prose.
_PASTE_LINES: Final = 3

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
#: With what a piece ends that needs no mark between it and the next.
_ENDED: Final = lazy_re(r"[。！？；，：、…．.!?;,:][”’」』》）)\"']*$")
_FENCE: Final = lazy_re(r"\s{0,3}(`{3,}|~{3,})")
_ITEM: Final = lazy_re(r"[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)、]\s*(?=\D)")
_MARKS: Final = lazy_re(rf"(?:>\s*|#{{1,6}}\s+|{_ITEM.pattern}){{1,8}}")
#: A line that says nothing: a rule, a comment of HTML.
_RULE: Final = lazy_re(r"<!--.*-->$|[-=*_|:+\s]{3,}$")
_ROW: Final = lazy_re(r"\|(.*)\|$")
_CODE: Final = lazy_re(
    r"(?:\t| {4,})\S.*[(){}=;<>]|.*[{}]$|.*[(=].*;$|\w+(?:Error|Exception)\b"
    r"|\s{0,8}(?:at |File \"|Traceback \(|\[?\d[\d:.,TZ+ -]{4,30}\]?\s\[?(?:INFO|WARN|DEBUG|ERROR))",
)
_FAULT: Final = lazy_re(r"\b\w*(?:Error|Exception|Fatal|FATAL|ERROR|panic|failed|denied|refused|not found)\b", re.ASCII)


def sentences(text: str, language: Language) -> list[str]:
    r"""
    Return the sentences of *text*, each on one line, in their order, as they are written; *language* is that of the extract.

    >>> sentences("今天 3.11 装好了。备份呢？\n\n要买的：\n- 牛奶\n- 3 个鸡蛋", "zh")
    ['今天 3.11 装好了。', '备份呢？', '要买的：牛奶；3 个鸡蛋']
    """
    shortened = _RUN.sub(lambda run: f"{run[0][:_DATA_SHOWN]}…" if len(run[0]) > _DATA_RUN else run[0], clean(text[:_READ]))
    pieces: list[str] = []
    may_join = False  # an item may join the last line: it announces a list, or is an item
    for kind, piece in _lines(shortened):
        line = f"`{cut(piece, LONGEST // 2)}`" if kind == "fault" else piece
        before = pieces[-1].rstrip("；;，,。.") if pieces else ""
        if kind != "prose" and may_join and len(before) + len(line) < LONGEST:
            pieces[-1] = before + joint(before, language) + line
        else:
            pieces += [cut(line, LONGEST)] if kind != "prose" else [cut(piece, LONGEST) for piece in split(line)]
        may_join = kind in {"item", "fault"} or line.endswith((":", "："))
    return pieces


def _lines(text: str) -> Iterator[tuple[_Kind, str]]:
    """Yield every line of *text* that says something, bare, with what it is; of a paste of code its last error."""
    fence, code = "", list[str]()
    for line in [*text.split("\n"), ""]:
        mark, bare = _FENCE.match(line), line.strip()
        is_item = bool(_ITEM.match(bare))
        if fence or mark or (_CODE.match(line.rstrip()) and not is_item):
            code.append(line)
            if not fence:
                fence = mark[1] if mark else ""
            elif mark and mark[1].startswith(fence):
                fence = ""
            continue
        yield from _fault_of(code)
        code = []
        if row := _ROW.match(bare):
            bare = " | ".join(cell.strip() for cell in row[1].split("|"))
        marks = _MARKS.match(bare)
        text = " ".join(bare[marks.end() if marks else 0 :].split())
        if text and not _RULE.match(bare):
            yield ("item" if is_item else "prose"), text
    yield from _fault_of(code)


def _fault_of(code: list[str]) -> Iterator[tuple[_Kind, str]]:
    """Yield what an extract has of a block of code: its last error, else a sign; a line that only looks like code is prose."""
    if code and not _FENCE.match(code[0]) and len(code) < _PASTE_LINES:
        yield from (("prose", " ".join(line.split())) for line in code)
        return
    faults = [line.strip().replace("`", "") for line in code if _FAULT.search(line)]
    if faults:
        yield "fault", faults[-1]
    elif code:
        yield "code", LEFT_OUT


def clean(text: str) -> str:
    """Return *text* with plain line breaks and without characters that can't be seen, or can't be written."""
    return _SURROGATE.sub("\ufffd", _INVISIBLE.sub("", _BREAK.sub("\n", text)))


def units(parts: Sequence[str], longest: int, language: Language) -> Iterator[str]:
    """
    Yield what of a message is quoted as one: its sentences up to a length; a question stands alone.

    >>> list(units(["cutover DONE.", "41 minutes downtime.", "Is that long?"], LONGEST, "en"))
    ['cutover DONE. 41 minutes downtime.', 'Is that long?']
    """
    held = ""
    for sentence in parts:
        mark = " " if sentence == LEFT_OUT else joint(held, language)
        joined = f"{held}{mark}{sentence}" if held else sentence
        is_apart = is_question(sentence) or is_question(held)
        if held and (is_apart or columns(joined) > _TOGETHER):
            yield cut(held, longest)
            joined = sentence
        held = joined
    if held:
        yield cut(held, longest)


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


def joint(before: str, language: Language) -> str:
    """Return what comes between two pieces on one line: the mark of the extract's language, where the first one has none."""
    if not before or _ENDED.search(before):
        return "" if before[-1:] > "\u2e7f" else " "
    return "；" if language == "zh" else "; "


def columns(text: str) -> int:
    """Return the width of *text* as it is seen: two for a wide character."""
    return len(text) + sum(char > "\u2e7f" for char in text)


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
