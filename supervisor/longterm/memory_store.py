"""
`MemoryStore`, the line store as programs of CountBot know it: names, signatures, defaults and texts are those of 000.

    from pathlib import Path
    from recalld import MemoryStore

    store = MemoryStore(Path("workspace/memory"))
    store.append_entry("web-chat", "用户偏好Python；项目用FastAPI")
    store.search(["python"])

What it does is in `longterm/long_term_file`, but for the search by keywords (`search_text`). What the system prompt says to a
model about its memory is `guidance`: OpenClaw's sentence and CountBot's section are kept to the letter. The section names only
the tools that the model has; without any of them there is no section, which is 001's only rule in code.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal

from ..protocol.marks import without_marks
from ..protocol.paths import LONG_TERM
from ..storage.clock import Clock, utc_now
from ..storage.control import author, noting
from ..storage.errors import BadRequest, SupervisorError, listed, refuse_no_number, refuse_no_text
from ..storage.texts import Text, msgid, render
from ..text.language import Language
from .lines import Line, one_line
from .long_term_file import LongTermFile

#: The folder of a workspace that holds 000's MEMORY.md.
_FOLDER: Final = "memory"
#: 001, to the letter.
SEARCH_FIRST: Final = (
    "Before answering anything about prior work, decisions, dates, people, preferences, or todos: "
    "run memory_search on MEMORY.md + memory/*.md; "
    "then use memory_get to pull only the needed lines. "
    "If low confidence after search, say you checked."
)
#: 000, to the letter.
COUNTBOT: Final = """\
## 记忆系统
你有三个记忆工具: memory_write（写入）、memory_search（搜索）、memory_read（读取）。
格式: 日期|来源|事项1；事项2；事项3（一行一条，多事项用；分隔）

**写入时机**: 用户偏好/习惯、重要决策/结论、项目配置/技术细节、用户明确要求记住的内容。
**搜索时机**: 用户问到过往信息、需要了解偏好、不确定是否讨论过某话题时。
**读取时机**: 搜索后查看上下文（按行号），或浏览最近记忆。
**不记录**: 寒暄确认、敏感信息（密码/API key）、临时无长期价值的内容。

**搜索技巧**:
- 默认 OR 模式（任意关键词匹配）：适合广泛搜索
- AND 模式（所有关键词匹配）：适合精确查找
- 来源渠道由系统自动设置，无需手动指定
"""
_OF_COUNTBOT: Final = frozenset({"memory_write", "memory_search", "memory_read"})
_HEADING: Final = {"zh": "## 记忆系统", "en": "## Memory"}
#: The sentences about each tool, where it is given.
_OF_TOOL: Final[Mapping[str, Mapping[str, str]]] = {
    "zh": {
        "memory_search": "**搜索时机**: 回答过往的事情、决定、日期、人物、偏好或待办之前，先用 memory_search 搜索。",
        "memory_get": "**查看原文**: 搜索后用 memory_get 只读取需要的行。查过仍不确定时，说明已经查过。",
        "memory_read": "**读取时机**: 用 memory_read 按行号读取长期记忆，或浏览最近的记忆。",
        "memory_write": (
            "**写入时机**: 用户偏好/习惯、重要决策/结论、项目配置/技术细节、用户明确要求记住的内容，用 memory_write 写入，"
            "一行一条，多事项用；分隔。\n"
            "**不记录**: 寒暄确认、敏感信息（密码/API key）、临时无长期价值的内容。来源渠道由系统自动设置，无需手动指定。"
        ),
        "memory_delete": "**删除时机**: 只在用户要求忘掉时，用 memory_delete 删除刚刚看到的那一行。",
    },
    "en": {
        "memory_read": "**Read** the long-term lines with memory_read: by their numbers, or the most recent ones.",
        "memory_write": (
            "**Write** with memory_write, one entry a line: preferences and habits of the user, important decisions, settings "
            "and technical details of a project, and what the user asks you to remember. Separate several items by ；.\n"
            "**Do not record** small talk, secrets (passwords, API keys), or what has no lasting value. The source is set "
            "automatically."
        ),
        "memory_delete": "**Delete** with memory_delete only what the user wants forgotten: a line that you have just seen.",
    },
}


class MemoryStore:
    """
    The long-term lines of *place*: a `Memory`, a `Workspace`, or a folder, that of a workspace or its `memory`, as in 000.

    Opening writes nothing; a folder that is not there is made by the first write. *clock* returns the present (default: the
    clock of a `Memory`). Every error is a SupervisorError. Any number of objects and processes may use the same place.
    """

    def __init__(self, place: Any, clock: Clock | None = None) -> None:
        #: The long-term file that all methods read and change.
        self.long_term: LongTermFile = _long_term_of(place)
        self.clock: Clock = clock or getattr(place, "clock", None) or utc_now
        self._diary: Any = getattr(getattr(place, "workspace", place), "diary", None)

    @property
    def root(self) -> Path:
        """The folder of its workspace."""
        return self.long_term.root

    # ── writing ──────────────────────────────────────────────────────────────

    def append_entry(self, source: str, content: str) -> int:
        """
        Add a line and return its number, or that of the line that has the same words; it is durable then.

        A mark for groups (`#shared`) is left out, since a model writes by this: the owner can mark the line.
        """
        refuse_no_text("source", source)
        refuse_no_text("content", content)
        with self._acting("append_entry"):
            return self.long_term.append(source, without_marks(content), self.clock()).line

    def delete_lines(self, line_numbers: Collection[int]) -> int:
        """Delete the lines of these numbers and return how many there were; others are ignored."""
        numbers = listed("line_numbers", line_numbers, Text("line numbers"))
        for number in numbers:
            refuse_no_number("line_numbers", number)
        with self._acting("delete_lines"):
            return self.long_term.delete_numbers(frozenset(numbers)).count

    def write_all(self, content: str) -> None:
        """Replace the whole text; the old one is kept in .recalld/previous/."""
        refuse_no_text("content", content)
        with self._acting("write_all"):
            self.long_term.replace(content)

    @contextmanager
    def _acting(self, name: str) -> Iterator[None]:
        """Write what is done meanwhile into the diary; a plain folder has none."""
        with noting() as noted:
            yield
        if noted and self._diary:
            with suppress(SupervisorError, OSError):  # the act stands
                self._diary.keep(noted, self.clock(), author("python", name))

    # ── reading ──────────────────────────────────────────────────────────────

    def read_lines(self, start: int, end: int | None = None) -> str:
        """Return the lines from *start* to *end* (None: that line), from 1 and clamped, each as "[n] text"."""
        refuse_no_number("start", start)
        refuse_no_number("end", start if end is None else end)
        return str(self.long_term.read().select(start, end))

    def search(self, keywords: Sequence[str], max_results: int = 15, match_mode: str = "or") -> str:
        """Return the newest lines with any ("or") or all ("and") of the keywords, in the order of the file, or why none."""
        words = keywords.split() if isinstance(keywords, str) else listed("keywords", keywords, Text("texts"))
        for word in words:
            refuse_no_text("keywords", word)
        refuse_no_number("max_results", max_results)
        refuse_no_text("match_mode", match_mode)
        return search_text(self.long_term.read().lines, words, max_results, match_mode, "zh")

    def get_recent(self, count: int = 10) -> str:
        """Return the last *count* lines."""
        refuse_no_number("count", count)
        return str(self.long_term.read().select(recent=count))

    def get_stats(self) -> dict[str, Any]:
        """Return `total`, `sources` (entries by source) and `date_range`."""
        return self.long_term.read().stats()

    def read_all(self) -> str:
        """Return the whole text, "" where there is none."""
        return self.long_term.read().text

    def get_line_count(self) -> int:
        """Return how many lines are not blank."""
        return self.long_term.read().total


def lines_with(lines: Sequence[Line], keywords: Sequence[str], match_mode: str, language: Language) -> tuple[Line, ...] | str:
    """
    Return the lines that contain any ("or") or all ("and") of the keywords, in either case, or a sentence why there are none.

    BadRequest if *match_mode* is neither "or" nor "and".
    """
    if match_mode not in {"or", "and"}:
        allowed = Text("{most} or {last}", most='"or"', last='"and"')
        raise BadRequest("match_mode", Text("{value} is not allowed, give {allowed}", value=repr(match_mode), allowed=allowed))
    words = [word for word in (one_line(keyword) for keyword in keywords) if word]
    if not lines:
        return render(Text("memory is empty"), language)
    if not words:
        return render(Text("give valid keywords to search for") if keywords else Text("give keywords to search for"), language)
    test, wanted = all if match_mode == "and" else any, [word.casefold() for word in words]
    both, joined = msgid("{before} and {after}") if match_mode == "and" else msgid("{before} or {after}"), words[0]
    for word in words[1:]:
        joined = render(Text(both, before=joined, after=word), language)
    matches = tuple(line for line in lines if test(word in line.text.casefold() for word in wanted))
    return matches or render(Text("no entry contains {keywords}", keywords=joined), language)


def newest_text(matches: Sequence[Line], most: int, language: Language) -> str:
    """Return the newest *most* of the lines in the order of the file; where they are not all, how many there are."""
    shown = matches[max(0, len(matches) - max(0, most)) :]
    more = Text("{count} matches, only {shown} of them are shown", count=len(matches), shown=len(shown))
    return "\n".join([*map(str, shown), *([render(more, language)] if len(shown) < len(matches) else [])])


def search_text(lines: Sequence[Line], keywords: Sequence[str], max_results: int, match_mode: str, language: Language) -> str:
    """Return the newest matches in the order of the file, or the sentence that says why there are none; never all lines."""
    matches = lines_with(lines, keywords, match_mode, language)
    return matches if isinstance(matches, str) else newest_text(matches, max_results, language)


def _long_term_of(place: object) -> LongTermFile:
    """Return the long-term file of a folder, or of what has one; BadRequest for anything else."""
    if isinstance(place, (str, os.PathLike)):
        return _opened(Path(place))
    file = getattr(place, "long_term", None)
    if not isinstance(file, LongTermFile):
        raise BadRequest("place", Text("it must be the path of a folder, not {kind}", kind=type(place).__name__))
    return file


def _opened(folder: Path) -> LongTermFile:
    """Return the long-term file of the workspace at *folder*, or above it if *folder* is its `memory`."""
    from ..protocol.config import load
    from ..protocol.paths import WorkspacePaths, check_filesystem
    from ..storage.clock import find_zone, machine_zone
    from ..storage.disk import RealDisk
    from ..storage.files import Files

    folder = Path(os.path.expanduser(folder)).absolute()
    if folder.exists() and not folder.is_dir():
        raise BadRequest("place", Text("{root} is a file, not a folder", root=folder))
    is_inner = folder.name == _FOLDER
    files, paths = Files(RealDisk()), WorkspacePaths(folder.parent if is_inner else folder)
    version = files.read_stable(paths.config)
    config = load(version.data if version else None, os.environ)
    check_filesystem(paths, allow_network_fs=config.care.allow_network_fs)
    # a folder that `init` has not made is another program's, whose days are the machine's
    zone = config.archive.zone if version else find_zone(os.environ.get("RECALLD_ARCHIVE_TIMEZONE") or machine_zone())
    named = LONG_TERM[0 if version else 1]  # 000's name of it
    return LongTermFile(files, paths, zone, LONG_TERM[-1] if is_inner else named)


def guidance(
    tools: Collection[str], language: Literal["zh", "en"] = "en", dialect: Literal["recall", "lines"] = "recall"
) -> str:
    """
    Return the section for the system prompt of a model that has these *tools*, "" if none of them is a tool of memory.

    In Chinese, where `memory_search` has 000's schema (*dialect* "lines"), it begins with 000's section.

    >>> guidance([])
    ''
    """
    given = {*tools}
    if language == "zh" and dialect == "lines" and given >= _OF_COUNTBOT:
        rest = [_OF_TOOL["zh"][name] for name in ("memory_get", "memory_delete") if name in given]
        return "\n".join([COUNTBOT, *(f"{line}\n" for line in rest)])
    sections = [text for name, text in _OF_TOOL[language].items() if name in given]
    if language == "en" and given & {"memory_search", "memory_get"}:
        sections.insert(0, SEARCH_FIRST)
    return "\n\n".join([_HEADING[language], *sections]) + "\n" if sections else ""
