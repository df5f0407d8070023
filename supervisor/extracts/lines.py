"""
The lines of a message that say something: prose, items of lists, and of code no more than its last error.

Code, logs and tracebacks are no prose, and a command or a statement alone says nothing: what it is for is not there.
Marks of Markdown at the start of a line are removed. Lines are cut into sentences in sentences.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import HAN

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind: TypeAlias = Literal["prose", "item", "fault"]

#: Lines from which indented or stamped text is a paste, not prose.
_PASTE_LINES: Final = 3

_HAN: Final = lazy_re(f"[{HAN}]")
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
#: A command as it is typed, and a statement of a program.
_COMMAND: Final = lazy_re(
    r"(?:[$%] |>>> |sudo )*(?:pip3?|pipx|uv|npm|npx|pnpm|yarn|git|apt(?:-get)?|dnf|brew|docker|kubectl|cargo|conda|poetry|curl"
    r"|wget|ssh|scp|rsync|systemctl|chmod|chown|mkdir|cd|python3?|node)"
    r"(?: (?!(?:is|was|are|were|and|but|the|an?|to|for|because|if|that|with|my|I|it|we|you|so|not|on|in)(?: |$))[^\s,;]+)+"
)
_STATEMENT: Final = lazy_re(
    r"(?:def|class|func|fn|function) \w+\s*\(.*|(?:const|let|var) \w+ = .*|[\w.\[\]]+ ?= ?\w[\w.]*\(.*\);?|[\w.]+\([^()]*\);"
)
_IMPORT: Final = lazy_re(r"import [\w.]+(?: as \w+)?|from [\w.]+ import [\w*, ]+")
_OPTION: Final = lazy_re(r"\s--?[A-Za-z]")
_SUBCOMMANDS: Final = (
    "pip3? (?:install|uninstall|freeze|list|show)",
    "uv (?:add|remove|run|sync|lock|pip|tool|venv)",
    "git (?:add|bisect|branch|checkout|clone|commit|diff|fetch|init|log)",
    "git (?:merge|pull|push|rebase|remote|reset|stash|status|switch|tag)",
    "(?:apt|brew|conda) (?:install|remove|update|upgrade|services|activate|create)",
    "docker (?:build|compose|exec|images|logs|ps|pull|push|run)",
    "cargo (?:add|bench|build|clippy|fmt|install|run|test)",
    "poetry (?:add|install|lock|run|shell|update)",
    "yarn (?:add|build|dev|install|run|start)",
)
#: What a command has that opens with an English word: a prompt, a path, a file, an address, an assignment, or a subcommand;
#: "cargo ship arrives" and "node 4 down" have none. The names of other commands are no words.
_TYPED: Final = lazy_re(
    r"[`=|]|^(?:[$%]|>>>|sudo|pipx|npm|npx|pnpm|apt-get|dnf|kubectl|wget|scp|rsync|systemctl|chmod|chown|mkdir)\s"
    r"|(?:\s|@|://)(?:~|\.{1,2})?/|\s~$|\w(?:@|://)\w|\b[A-Za-z_][\w/-]*\.[a-z]{2,4}\b"
    rf"|^(?:{'|'.join(_SUBCOMMANDS)})\b"
)
#: What an import has that is a program's; "import taxes" and "from Rome import olives" have nothing of it.
_MODULE: Final = lazy_re(
    r"`|\w\.\w|_|\*| as |(?:import|from) (?:os|sys|re|json|math|numpy|pandas|torch|typing|pathlib|asyncio|datetime|itertools)\b"
)
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
#: A day, a date or a time of the clock: a note, and no command, unless there is an option.
_WHEN: Final = lazy_re(
    r"\b(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?s?|today|tonight|tomorrow|noon)\b"
    r"|\b\d{1,2}(?:[:.]\d\d)? ?[ap]\.?m\b|(?<![\w:/])\d{1,2}[:/]\d{1,2}(?![\w:/])|\b\d{4}-\d\d-\d\d\b"
    rf"|\b(?:\d{{1,2}} {_MONTH}|{_MONTH} \d{{1,2}})\b",
    re.IGNORECASE,
)


def lines(text: str) -> Iterator[tuple[Kind, str]]:
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


def is_code(text: str) -> bool:
    """
    Return whether *text* is a command or a statement alone.

    >>> is_code("pip install rjieba"), is_code("`import numpy as np`"), is_code("git push failed: the key expired")
    (True, True, False)
    >>> is_code("cargo ship arrives Tuesday"), is_code("import taxes")
    (False, False)
    """
    bare = text.replace("`", "").strip()
    if _HAN.search(bare) or _FAULT.search(bare) or bare.endswith((".", "!")):
        return False
    if _COMMAND.fullmatch(bare):
        return bool(_OPTION.search(bare) or (_TYPED.search(text.strip()) and not _WHEN.search(bare)))
    return bool(_STATEMENT.fullmatch(bare) or (_IMPORT.fullmatch(bare) and _MODULE.search(text)))


def _fault_of(code: list[str]) -> Iterator[tuple[Kind, str]]:
    """Yield what an extract has of a block of code: its last error; a line that only looks like code is prose."""
    if code and not _FENCE.match(code[0]) and len(code) < _PASTE_LINES:
        yield from (("prose", " ".join(line.split())) for line in code)
        return
    faults = [line.strip().replace("`", "") for line in code if _FAULT.search(line)]
    yield from (("fault", fault) for fault in faults[-1:])
