"""
What each tool does, as plain Python functions over one memory, for one audience.

    tools = MemoryTools(Memory("~/assistant"), channel="telegram")
    tools.memory_write("用户偏好Python；项目用FastAPI")
    tools.memory_search("用户用什么语言？").results

The conversation (*session*, *chat*) and the *channel*, the source of what is written, are fixed: a model can't choose them.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ...index.hit import Hit
from ...longterm.lines import Line, parse_entry, recent_lines, text_of
from ...longterm.memory_store import lines_with, newest_text
from ...protocol.marks import without_marks
from ...protocol.paths import LONG_TERM
from ...recall.audience import Audience
from ...recall.lines import Lines
from ...storage.errors import BadRequest, NotFound, refuse_no_text
from ...storage.texts import Text, msgid, render
from ...text.lazy_re import lazy_re
from ..api import Memory
from ..wording import NOT_ASKED, beside_hits, refs_of, why_no_hits, why_not_whole
from .answers import (
    DeleteAnswer,
    ForgetAnswer,
    GetAnswer,
    LongTermLine,
    MemorySearchResult,
    ReadAnswer,
    Room,
    SearchAnswer,
    WriteAnswer,
    clamped,
    cut,
    share,
)
from .definitions import MARK_TAKEN, NOT_SHOWN, SEARCH, Language

#: Results of a ranked search; 001.
MAX_RESULTS: Final = 5
#: How many recent entries are read if no line numbers are given; 000.
RECENT: Final = 10
_EVERY: Final = 1_000_000_000  # more lines than any file has
_FORGOTTEN: Final = lazy_re(r"(.+)@[0-9a-f]{8}")
#: What a reference must be.
_NO_REF: Final = msgid(
    "it must be an id or a number and a digest, such as 42@1f3a9c0d, as a search, a reading or a writing gave it"
)


class MemoryTools:
    """
    The tools over *memory*, for the readers of the conversation *session*; *chat* is its kind.

    Each returns a typed answer in *language*, or raises a SupervisorError. One thread at a time may use them.
    """

    def __init__(
        self, memory: Memory, *, session: str = "", chat: str = "", channel: str = "web-chat", language: Language = "en"
    ) -> None:
        if chat not in {"", "direct", "group", "channel"}:
            raise BadRequest("chat", Text("{value!r} is not direct, group or channel", value=chat))
        self.memory = memory
        self._session = session
        self._chat = chat
        #: The source of what is written.
        self.channel = channel
        #: Whether texts contain the names of lines that `memory_delete` takes.
        self.shows_refs = False
        #: Whether results contain the names of messages that `memory_forget` takes.
        self.forgets = False
        #: The language of the answers.
        self.language: Language = language

    @property
    def audience(self) -> Audience:
        """Who reads the answers now: a conversation may turn out to be a group's."""
        return self.memory.audience(self._session, self._chat)

    def set_channel(self, channel: str | None) -> None:
        """Set the source of what is written from now on; None is the default, web-chat (000)."""
        self.channel = channel or "web-chat"

    # ── looking things up ────────────────────────────────────────────────────

    def memory_search(
        self,
        query: str | None = None,
        max_results: int | None = None,
        min_score: float = 0.0,
        *,
        keywords: str | None = None,
        match_mode: str = "or",
    ) -> SearchAnswer:
        """
        Search memory for what fits *query*, best first (001), or the lines of the long-term file for *keywords* (000).

        *max_results* is 5 for a query, 15 for keywords; *min_score* is 0 to 1, as the scores are. NotFound where the workspace
        is gone; a note says where not all of memory could be searched.
        """
        if query is None and keywords is None:
            raise BadRequest("query", Text("{tool} needs it", tool=SEARCH.name))
        if not self._is_there(""):
            raise NotFound(self.memory.workspace.paths.root)
        if query is not None:
            return self._ranked(query, MAX_RESULTS if max_results is None else max_results, min_score)
        return self._by_keywords(keywords or "", max_results, match_mode)

    def memory_get(self, path: str, start: int | None = None, lines: int | None = None) -> GetAnswer:
        """
        Return *lines* lines of a memory file from line *start* on: start 40, lines 20 are 40 to 59.

        A missing file has no text. MEMORY.md, which 001's prompt names, is the long-term file, whatever its name. BadRequest
        for a file that is not memory, and a start beyond the end.
        """
        bare, mark, cited = path.partition("#")
        if bare in LONG_TERM and not self._is_there(bare):
            path = f"{self.memory.long_term.path}{mark}{cited}"
        try:
            result = self.memory.get(path, 1 if start is None else start, lines, session=self._session, chat=self._chat)
        except NotFound as missing:
            return GetAnswer(path=str(missing.path), text="", total=0)
        return self._got(result)

    def memory_read(self, start_line: int | None = None, end_line: int | None = None, recent_count: int = RECENT) -> ReadAnswer:
        """Return the lines of the long-term file from *start_line* to *end_line*, clamped, or its last *recent_count*."""
        result = self.memory.read(start_line, end_line, recent_count, session=self._session, chat=self._chat)
        if start_line is None and end_line is None:
            newest = self._newest(len(result.lines), lambda count: text_of(recent_lines(result.lines, count)))
            result = replace(result, lines=recent_lines(result.lines, newest))
        text = self._fitting(text_of(result.lines) if result.total else self._render(Text("memory is empty")))
        texts = text.split("\n") if text else []
        shown = result.lines[: len(texts)]
        plain = f"{self._counted(result.total)}\n\n{text}{self._refs(shown)}"
        lines = tuple(_as_line(line, text) for line, text in zip(shown, texts, strict=False))
        return ReadAnswer(path=result.path, lines=lines, total=result.total, plain=plain)

    # ── changing ─────────────────────────────────────────────────────────────

    def memory_write(self, content: str, replaces: str = "", item: int | None = None) -> WriteAnswer:
        """
        Add an entry to the long-term file and return its line, or the line that has the same words already.

        A mark for groups is removed, since only the owner may set it, and the answer says so. In a group only the lines that it
        may see are searched for the same words; if the group will not be shown the entry, the answer says so. The line that
        *replaces* names, as in "42@1f3a9c0d", is struck; of several items the one with the number *item*, or that it is about.
        """
        refuse_no_text("content", content)
        unmarked = without_marks(content)
        entry = self.memory.write(unmarked, self.channel, replaces=replaces, item=item, session=self._session, chat=self._chat)
        if not entry.is_shown:
            note, saved = self._render(Text(NOT_SHOWN)), self._render(Text("written to memory"))
            return WriteAnswer(path=entry.path, total=entry.total, new=True, note=note, plain=f"{saved}\n\n{note}")
        note = self._render(Text(MARK_TAKEN)) if unmarked != content else ""
        sentences = (entry.sentence(), *entry.sentences_on_replaced(), note)
        line = Line(entry.line, entry.text)
        return WriteAnswer(
            path=entry.path,
            line=entry.line,
            total=entry.total,
            digest=line.digest,
            ref=line.ref,
            new=entry.is_new,
            replaced=entry.replaced,
            others=entry.others,
            note=note,
            plain="\n\n".join(filter(None, map(self._render, sentences))) + self._refs([line]),
        )

    def memory_delete(self, lines: Sequence[str]) -> DeleteAnswer:
        """Delete lines of the long-term file, each named as in "42@1f3a9c0d"; none if one has changed."""
        gone = self.memory.delete(lines, session=self._session, chat=self._chat)
        plain = self._render(Text("deleted from memory: {count} ({total} left)", count=gone.count, total=gone.total))
        return DeleteAnswer(path=gone.path, deleted=gone.count, total=gone.total, plain=plain)

    def memory_forget(self, ref: str) -> ForgetAnswer:
        """
        Take a message ("ID@1f3a9c0d") or a line of the long-term file ("42@1f3a9c0d") out of every place, for good.

        By a digest alone, so that nothing is meant but what the model was shown. BadRequest in a group.
        """
        refuse_no_text("ref", ref)
        match = _FORGOTTEN.fullmatch(ref.strip())
        if match is None:
            raise BadRequest("ref", Text(_NO_REF))
        by = "line" if match[1].isdigit() else "message"
        done = self.memory.forget(by, match[0], yes=True, session=self._session, chat=self._chat)
        text = Text("nothing to forget.") if done.is_empty else Text("forgotten: {amounts}", amounts=done.amounts)
        if done.waits:
            text = Text("it is written down, and the supervisor goes on with it; `recalld status` says when it is done.")
        return ForgetAnswer(messages=len(done.messages), lines=len(done.lines), done=done.done, plain=self._render(text))

    # ── steps ────────────────────────────────────────────────────────────────

    def _ranked(self, query: str, limit: int, least: float) -> SearchAnswer:
        result = self.memory.find(query, limit, session=self._session, chat=self._chat)
        not_whole = self._render(why_not_whole(result))
        hits = [hit for hit in result.hits if hit.score is None or share(hit.score) >= least]
        if not hits:
            why = self._render(why_no_hits(result) if query.strip() else NOT_ASKED)
            return SearchAnswer(files=None if not_whole else result.files, note=not_whole or why)
        refs = refs_of(hits, lambda: self._long_term()[1])
        refs = [ref or self._message_ref(hit) for hit, ref in zip(hits, refs, strict=True)]
        results = clamped([self._result(hit, ref) for hit, ref in zip(hits, refs, strict=True)], self._room())
        return SearchAnswer(results=results, files=result.files, note=self._render(beside_hits(result)))

    def _message_ref(self, hit: Hit) -> str:
        """Return the name of a filed message that `memory_forget` takes, "" where that is not offered."""
        unit = hit.unit
        if not (self.forgets and unit.message and unit.tier == "dated"):
            return ""
        blocks = self.memory.workspace.memory.blocks(unit.path.rpartition("/")[2])
        return next((f"{block.id}@{block.key[1][:8]}" for block in blocks if block.id == unit.message), "")

    def _by_keywords(self, keywords: str, limit: int | None, match_mode: str) -> SearchAnswer:
        path, lines = self._long_term()
        most = self.memory.workspace.config.tools.search_results if limit is None else limit
        matches = lines_with(lines, keywords.split(), match_mode, self.language)
        if isinstance(matches, str):
            return SearchAnswer(total=len(lines), note=matches, plain=f"{self._counted(len(lines))}\n\n{matches}")
        count = self._newest(min(most, len(matches)), lambda count: newest_text(matches, count, self.language))
        text = self._fitting(newest_text(matches, count, self.language))
        shown = recent_lines(matches, count)
        results = clamped([self._line_result(path, line) for line in shown], self._room())
        plain = f"{self._counted(len(lines))}\n\n{text}{self._refs(shown)}"
        return SearchAnswer(results=results, total=len(lines), plain=plain)

    def _result(self, hit: Hit, ref: str) -> MemorySearchResult:
        unit = hit.unit
        return MemorySearchResult(
            path=unit.path,
            start_line=unit.start,
            end_line=unit.end,
            snippet=unit.text,
            score=None if hit.score is None else share(hit.score),
            day=unit.day.isoformat() if unit.day else "",
            role=unit.role,
            speaker=unit.speaker,
            citation=self._citation(unit.citation),
            ref=ref,
        )

    def _line_result(self, path: str, line: Line) -> MemorySearchResult:
        entry = parse_entry(line.text)
        return MemorySearchResult(
            path=path,
            start_line=line.number,
            end_line=line.number,
            snippet=line.text,
            score=1.0 if self.audience.sees_all else None,
            day=entry.day.isoformat() if entry else "",
            citation=self._citation(f"{path}#L{line.number}"),
            ref=line.ref,
        )

    def _got(self, result: Lines) -> GetAnswer:
        """Return the lines, clamped; the last line of a cut text is the one with the mark."""
        if not result.text:
            return GetAnswer(path=result.path, text="", total=result.total)
        text = self._fitting(result.text)
        end = result.end if text == result.text else min(result.end, result.start + text.count("\n"))
        return GetAnswer(path=result.path, text=text, start_line=result.start, end_line=end, total=result.total)

    def _long_term(self) -> tuple[str, tuple[Line, ...]]:
        """Return the path of the long-term file, and those of its lines that are not blank and may be shown."""
        result = self.memory.read(1, _EVERY, session=self._session, chat=self._chat)
        return result.path, result.lines

    def _is_there(self, path: str) -> bool:
        ws = self.memory.workspace
        return ws.files.disk.stat(ws.paths.root / path) is not None

    def _room(self) -> Room:
        config = self.memory.workspace.config
        return Room(config.recall.max_injected_chars or None, config.recall.memory_tokens)

    def _fitting(self, text: str) -> str:
        room = self._room()
        return text if room.holds(text) else cut(text, room)

    def _newest(self, most: int, text_for: Callable[[int], str]) -> int:
        """Return the number of newest lines, 1 to *most*, whose text, by *text_for*, fits the budget; 1 if none does."""
        room = self._room()
        most = min(most, max(1, room.tokens))  # a line costs a token at least
        if room.holds(text_for(most)):
            return most
        return max(1, bisect_left(range(1, most), True, key=lambda count: not room.holds(text_for(count))))

    def _citation(self, place: str) -> str:
        mode = self.memory.workspace.config.recall.citations
        is_shown = mode == "on" or (mode == "auto" and self.audience.chat.is_direct)
        return f"Source: {place}" if is_shown else ""

    def _refs(self, lines: Sequence[Line]) -> str:
        """Return the names of the lines for a model that may delete lines and gets only text."""
        if not (self.shows_refs and lines):
            return ""
        return "\n\n" + self._render(Text("number@digest: {refs}", refs=" ".join(line.ref for line in lines)))

    def _counted(self, total: int) -> str:
        return self._render(Text("entries in memory: {total}", total=total))

    def _render(self, text: object) -> str:
        return render(text, self.language)


def _as_line(line: Line, shown: str) -> LongTermLine:
    return LongTermLine(line=line.number, text=shown.removeprefix(f"[{line.number}] "), digest=line.digest, ref=line.ref)
