"""
A message cut into sentences of one line each, which an extract quotes.

Code blocks, tracebacks, logs and tables become their one telling line, a list follows the line that announces it, Markdown
marks at the start of a line are removed. Nothing is rephrased. What could forge structure in the file is escaped in
extractive.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from supervisor.text.tokenizer import HAN
from worker.providers.cues import data_shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Characters from which a sentence is cut at a clause, and a list is no longer put into one sentence.
LONGEST: Final = 260
#: Between the cells of a table's row.
ROW: Final = " | "
#: Letters below which a piece joins its neighbour: "早。", "OK."
_STUMP: Final = 3
#: Lines from which indented or stamped text is a paste, not prose.
_PASTE_LINES: Final = 4
_CODE_CHARS: Final = 140
#: Characters of a message that are read: a pasted book says what it is on its first pages.
_READ: Final = 60_000
#: Characters before a full stop that show whether it ends a sentence.
_READ_BACK: Final = 12
#: List and quotation marks that may open one line.
_NESTED: Final = 8

_INVISIBLE: Final = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff]"
)
_BREAK: Final = re.compile(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_MARKER: Final = re.compile(r"\s*(?:(?:>\s?)+|#{1,6}\s+|[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)、]\s*(?=\D))")
_ITEM: Final = re.compile(r"\s*(?:[-*+•]\s+|\d{1,3}[.)、]\s*(?=\D))")
#: A line that says nothing: a rule, a comment of HTML.
_RULE: Final = re.compile(r"\s*<!--.*-->\s*$|\s*([-=*_|:+]\s*){3,}$")
_ROW: Final = re.compile(r"\s*\|.*\|\s*$")
_PASTED: Final = re.compile(
    r"(?:\t| {4,}| {2}File )\S|.*[{};]\s*$|\w+(?:Error|Exception)\b"
    r"|\s*(?:at |File \"|Traceback \(|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[\d:.,]+ (?:INFO|WARN|DEBUG|ERROR))",
)
_FAULT: Final = re.compile(r"\b\w*(?:Error|Exception|Fatal|FATAL|ERROR|panic|failed|denied|refused|not found)\b", re.ASCII)
_DEFINITION: Final = re.compile(
    r"\s*(?:export |async |pub |public |static )*(?:def|function|func|fn|class|const|let|type|CREATE|SELECT|INSERT|FROM|RUN"
    r"|\$ |curl|git|docker|pip|npm|pnpm)\b",
)
_IDLE_CODE: Final = re.compile(r"\s*(?:#|//|/\*|\*|import |from \S+ import|using |package |[{}()\[\];,\s]*$)")

_END: Final = re.compile(
    rf"[。！？]+[”’\"'）)』」》\]]*|(?<![!?])[!?]+[”\"'）)\]]*(?=\s|$|[{HAN}])|(?<!…)…+(?=\s)|\.[”\"')\]]*(?=\s)",
)
_ABBREVIATED: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|Prof|St|No|approx|dept|Fig|Jr|Sr)|\b[A-Z]|^\d{1,2})$"
)
_OPEN: Final = {"（": "）", "(": ")", "「": "」", "『": "』", "“": "”", "《": "》", "【": "】"}
_CLAUSE: Final = re.compile(r"[，,；;、：:]\s*|\s[—–-]\s|\s+")


def sentences(text: str) -> list[str]:
    r"""
    Return the sentences of *text*, each on one line, in their order, as they are written.

    >>> sentences("今天 3.11 装好了。备份呢？\n- 路径 /srv/a.b\n- 端口 22")
    ['今天 3.11 装好了。', '备份呢？', '路径 /srv/a.b', '端口 22']
    """
    return [sentence for sentence, _ in sentences_and_items(text)]


def sentences_and_items(text: str) -> list[tuple[str, bool]]:
    """Return the sentences of *text* with whether each is an item of a list."""
    lines = _lines(data_shortened(clean(text[:_READ])))
    return [(sentence, item) for line, item in lines for sentence in _split(line)]


def clean(text: str) -> str:
    """Return *text* with plain line breaks and without characters that can't be seen, or can't be written."""
    return _SURROGATE.sub("\ufffd", _INVISIBLE.sub("", _BREAK.sub("\n", text)))


def cut(text: str, longest: int) -> str:
    """Return *text* up to a clause of at most *longest* characters, marked with …, and not inside of a quotation or code."""
    if len(text) <= longest:
        return text
    ends = [match.start() for match in _CLAUSE.finditer(text, 0, longest - 1)]
    end = ends[-1] if ends and ends[-1] > longest // 2 else longest - 1
    shown = text[:end].rstrip()
    opened = _last_open(shown)
    if opened >= 0 and opened > longest // 2:
        return text[:opened].rstrip() + "…"
    return f"{shown}…`" if shown.count("`") % 2 else f"{shown}…"


def _last_open(text: str) -> int:
    """Return the place of the code tick, bracket or quotation mark that is opened last and never closed, -1 without one."""
    places = [text.rfind("`") if text.count("`") % 2 else -1]
    places += [text.rfind(left) for left, right in _OPEN.items() if text.rfind(left) > text.rfind(right)]
    return max(places)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield line by line what is said, and whether it is an item; a short list is one line with what announces it (a colon)."""
    lead = ""
    for kind, rows in _groups(text):
        said = [(line, kind == "item") for line in _told(kind, rows)]
        if lead and said:
            joint = "；" if lead.endswith("：") else "; "
            whole = f"{lead} {joint.join(line for line, _ in said)}"
            said = [(whole, False)] if len(whole) <= LONGEST else [(lead, False), *said]
            lead = ""
        if said and said[-1][0].endswith((":", "：")):
            lead = said.pop()[0]
        yield from said
    if lead:
        yield lead, False


def _groups(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of each list, table, paste or code block together, every line of prose alone."""
    rows: list[str] = []
    kind = ""
    for found, line in _kinds(text):
        if found != kind or found == "prose":
            yield kind, rows
            rows = []
        kind = found
        rows.append(line)
    yield kind, rows


def _kinds(text: str) -> Iterator[tuple[str, str]]:
    """Yield every line with what it is: prose, item, row, paste, code; a blank line ends what is open."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
                yield "", ""
            else:
                yield "code", line
        elif mark:
            fence = mark[1]
            yield "", ""
        elif not line.strip() or _RULE.match(line):
            yield ("row" if "|" in line else ""), ""
        elif _ROW.match(line):
            yield "row", line
        elif _PASTED.match(line):
            yield "paste", line
        else:
            yield ("item" if _ITEM.match(line) else "prose"), line


def _told(kind: str, rows: list[str]) -> Iterator[str]:
    lines = [row for row in rows if row.strip()]
    if not lines:
        return
    if kind == "row":
        # the head of a table says nothing alone; its rows keep their cells
        yield from (ROW.join(cell.strip() for cell in row.strip().strip("|").split("|")) for row in lines[1:] or lines)
    elif kind == "code" or (kind == "paste" and (len(lines) >= _PASTE_LINES or lines[0].startswith("Traceback ("))):
        yield _telling(lines)
    else:
        yield from (bare for line in lines if (bare := _bare(line)))


def _telling(lines: list[str]) -> str:
    """Return the one line of code or log that says most: the last fault, else a definition or command, else the first."""
    faults = [line for line in lines if _FAULT.search(line)]
    definitions = [line for line in lines if _DEFINITION.match(line)]
    rest = [line for line in lines if not _IDLE_CODE.match(line)]
    line = (faults[-1:] or definitions[:1] or rest[:1] or lines[:1])[0].strip()
    return f"`{cut(line.replace('`', ''), _CODE_CHARS)}`"


def _bare(line: str) -> str:
    """Return the line without the marks that open it; the same mark may occur more than once."""
    bare = line
    for _ in range(_NESTED):
        mark = _MARKER.match(bare)
        if not mark:
            break
        bare = bare[mark.end() :]
    return " ".join(bare.split())


def _split(line: str) -> list[str]:
    """Return the line's sentences; one that is hardly a word stays with the next, the last with the one before."""
    if ROW in line or (line.startswith("`") and line.endswith("`")):
        return [cut(line, LONGEST)]
    pieces: list[str] = []
    start = 0
    for match in _END.finditer(line):
        piece = line[start : min(match.end(), start + LONGEST)].strip()
        if match[0].startswith(".") and _ABBREVIATED.search(line[start : match.start()][-_READ_BACK:]):
            continue
        if len(piece) < LONGEST - 1 and (_unclosed(piece) or sum(char.isalnum() for char in piece) < _STUMP):
            continue
        pieces.append(line[start : match.end()].strip())
        start = match.end()
    rest = line[start:].strip()
    if rest and pieces and sum(char.isalnum() for char in rest) < _STUMP:
        pieces[-1] = line[line.rindex(pieces[-1]) :].strip()
    elif rest:
        pieces.append(rest)
    return [cut(piece, LONGEST) for piece in pieces]


def _unclosed(piece: str) -> bool:
    """Tell whether a bracket or quotation mark is still open; not for ever, since people forget to close them."""
    return any(piece.count(left) > piece.count(right) for left, right in _OPEN.items())
