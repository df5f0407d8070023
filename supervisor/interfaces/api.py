"""
The Python API: `Memory` has a method for each command of the same name (docs/reference/api.md).

    from recalld import Memory

    memory = Memory("~/assistant")
    block = memory.inject("备份在哪台机器上？").memory

Each method performs the operation of its name. Every error is a SupervisorError: one sentence, and the exit code of the
command. Any number of threads, objects and processes may use a workspace.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..checks.check import Finding
from ..longterm.lines import DEFAULT_SOURCE
from ..operations import days, history, long_term, recall, upkeep
from ..operations import forget as forgetting
from ..operations import prune as pruning
from ..operations import undo as undoing
from ..operations.days import DayAnswer, DaysAnswer, SummaryAnswer
from ..operations.forget import Forgotten
from ..operations.history import SessionsAnswer
from ..operations.operation import A, Caller, Operation, perform
from ..operations.prune import Pruned
from ..operations.undo import Undone
from ..protocol.config import check_folder
from ..storage.clock import Clock, utc_now
from ..storage.control import UNLIMITED, Control
from ..storage.errors import BadRequest, listed, refuse_no_text
from ..storage.texts import Text
from ..workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from ..context.build import Injection
    from ..conversation.asking import ChatStream
    from ..conversation.memory_manager import MemoryManager
    from ..index.hit import Hit, SearchResult
    from ..index.manifest import Changes
    from ..longterm.long_term_file import Deleted, Ended, LongTermFile, LongTermLines, Written
    from ..protocol.turn import Receipt
    from ..recall.audience import Audience
    from ..recall.lines import Lines


class Memory:
    """
    The memory of the workspace at *root*, a folder or an open `Workspace`; opening it writes nothing.

    *environ* holds RECALLD_* settings (default: those of the process); *clock* returns the present as an aware datetime. With
    *keep_fresh* False the index is not updated before a search, since a running supervisor does that. *control* limits long
    calls. BadRequest if there is no such folder, BadConfig if its configuration is wrong.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | Workspace,
        *,
        environ: Mapping[str, str] | None = None,
        clock: Clock = utc_now,
        keep_fresh: bool = True,
        control: Control = UNLIMITED,
    ) -> None:
        self._environ = os.environ if environ is None else environ
        self.workspace = root if isinstance(root, Workspace) else _open(root, self._environ, clock)
        self._clock = clock
        self._keep_fresh = keep_fresh
        self._control = control

    # ── a turn ───────────────────────────────────────────────────────────────

    def inject(
        self, question: str | None = None, *, session: str = "", chat: str = "", known: Collection[str] = (), project: str = ""
    ) -> Injection:
        """
        Return the turn for *question* (None: for the input in inbox.json): `memory` is the block, "" if nothing fits.

        For a client that sends the history itself: *known* are the ids of the messages that it sends, which are not shown
        again, and *project* is the folder in which it is asked. *chat* is the kind of conversation ("direct", "group",
        "channel"; "": the kind in the key of the *session*); in a group only the group's own memories are shown. A receipt is
        written to turns/. `turns.overflow` works as for `context`.
        """
        ids = listed("known", known, Text("ids"))
        return self._perform(recall.inject, session, chat, question=question, known=ids, project=project)

    def context(self, question: str | None = None, system: str = "", *, session: str = "", chat: str = "") -> Injection:
        """
        Return the turn with the recent history: `messages` are chat-completions messages, *system* first, as given.

        The session's running summary is part of it, if one is kept. With `turns.overflow` messages that no longer fit the
        history are summed up first, which may ask the model.
        """
        return self._perform(recall.context, session, chat, question=question, system=system)

    def conversation(
        self, llm: ChatStream | None = None, system_prompt: str = "", *, settings: object = None, session: str | None = None
    ) -> MemoryManager:
        """
        Return the memory of a running conversation, with the workspace's configuration, prompts and events.

        With a *session* ("": that of the messages that name none) it continues the session: its messages are those of the
        workspace, `add` appends to the workspace, and the summary is kept. Without a session nothing is stored in the
        workspace. BadConfig if one of its prompts is wrong, BadFile if a file of the session can't be read; other errors as of
        `MemoryManager`.
        """
        from ..host.conversations import open_conversation, open_session

        ws, clock = self.workspace, self._clock
        if session is None:
            return open_conversation(ws, llm, system_prompt, settings, clock)
        refuse_no_text("session", session)
        return open_session(ws, session, history.adder(ws, clock), llm, system_prompt, settings, clock)

    def why(self, turn: str | None = None) -> Receipt:
        """Return the receipt of a turn (by its id or the beginning of it; None: the newest): what was shown, and why."""
        return self._perform(recall.why, turn=turn)

    # ── looking things up ────────────────────────────────────────────────────

    def search(self, query: str, limit: int = 10, *, session: str = "", chat: str = "") -> tuple[Hit, ...]:
        """
        Return at most *limit* hits for the words, the sentence or the date, best first.

        *session* and *chat* say who reads them, as for `inject`: what may not be shown there counts as not in memory.
        """
        return self.find(query, limit, session=session, chat=chat).hits

    def find(self, query: str, limit: int = 10, *, session: str = "", chat: str = "") -> SearchResult:
        """Return the hits of `search` and how they were found; without hits, why there are none."""
        return self._perform(recall.search, session, chat, query=query, limit=limit)

    def get(self, path: str, start: int = 1, lines: int | None = None, *, session: str = "", chat: str = "") -> Lines:
        """
        Return *lines* lines of a memory file from line *start* on, or those of a citation: "memory/….md#L4-L6,L9".

        The lines of "history.json#<id>" are those of the message with this id, even if a dated file holds it by now. Lines that
        the readers of the *session* may not see are blank; if they may see none, there is no such file.
        """
        return self._perform(recall.get, session, chat, path=path, start=start, lines=lines)

    # ── days, sessions, health ────────────────────────────────────────

    def days(self, year: int | None = None) -> DaysAnswer:
        """Return how many messages memory has of each day (of the *year*), and which days and months have a summary."""
        return self._perform(days.days, year=year)

    def day(self, day: str, start: int = 0, limit: int = 200) -> DayAnswer:
        """Return the messages of a day ("2026-01-28"), *limit* from number *start* on; NotFound if there is nothing of it."""
        return self._perform(days.day, day=day, start=start, limit=limit)

    def summary(self, period: str) -> SummaryAnswer | None:
        """Return the summary of a day or a month ("2026-01"), each line with what it comes from; None if there is none."""
        return self._perform(days.summary, period=period)

    def edit_summary(self, period: str, text: str, etag: str | None = None) -> SummaryAnswer | None:
        """Replace the text of a summary by a person's; StaleText if it is not the version *etag* any more."""
        return self._perform(days.edit_summary, period=period, text=text, etag=etag)

    def sessions(self, limit: int = 100) -> SessionsAnswer:
        """Return the sessions that messages name, the one talked in last first, and how far each is summed up."""
        return self._perform(history.sessions, limit=limit)

    def examine(self, *, slow: bool = False) -> list[Finding]:
        """Return what each check finds; without *slow*, what the slow checks found last."""
        return self._perform(upkeep.examine, slow=slow)

    def append(self, messages: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> list[str]:
        """
        Add one message or many (role, text, the other fields of protocol.md, 2.1), durably, and return their ids.

        The id is "" of one that was forgotten, which is not stored. BadRequest, and none is added, if one is no message, has an
        unknown role, or has a createdAt that can't be read.
        """
        return self._perform(history.append, messages=history.as_messages(messages))

    # ── the long-term lines ──────────────────────────────────────────────────

    def write(
        self,
        content: str,
        source: str = DEFAULT_SOURCE,
        *,
        replaces: str = "",
        item: int | None = None,
        session: str = "",
        chat: str = "",
    ) -> Written:
        """
        Add a line to the long-term file, durably, and return it; if a line has the same words already, return that line.

        Line breaks and runs of blanks become one blank. In a group only the lines that it may see are searched for the words,
        and `is_shown` says whether it may see this line. BadRequest if *content* is blank, or has more than 20,000 characters.

        The line that *replaces* names, as in "42@1f3a9c0d", is struck, and shown only where the past is asked for; of several
        items in it the one that *content* is about, or that has the number *item*. StaleLine, and nothing is written, if it is
        another one by now; BadRequest if it has ended already, or which item ends can't be told.
        """
        line = {"content": content, "source": source, "replaces": replaces, "item": item}
        return self._perform(long_term.write, session, chat, **line)

    def read(
        self, start: int | None = None, end: int | None = None, recent: int = 10, *, session: str = "", chat: str = ""
    ) -> LongTermLines:
        """Return lines *start* to *end* (None: line *start* alone), clamped to the file; without both the *recent* last."""
        return self._perform(long_term.read, session, chat, start=start, end=end, recent=recent)

    def delete(self, lines: Iterable[str], *, session: str = "", chat: str = "") -> Deleted:
        """
        Delete lines of the long-term file, each named with its digest as in "42@1f3a9c0d".

        StaleLine, and nothing is deleted, if one is no longer the line that was seen, or is a line that *chat* may not see.
        """
        refs = [lines] if isinstance(lines, str) else listed("lines", lines, Text("ids"))
        return self._perform(long_term.delete, session, chat, lines=refs)

    def invalidate(self, target: str, reason: str = "") -> Ended:
        """
        End what is no longer true; the words stay, and are shown only where the past is asked for.

        *target* is a line of the long-term file ("42@1f3a9c0d"), a message, by its id, or a line of a summary
        ("memory/summary/2026-01-15.md#L7").
        """
        return self._perform(long_term.invalidate, target=target, reason=reason)

    def undo(self, act: str) -> Undone:
        """Take the act of this id in CHANGES.md back; BadRequest, and nothing changes, where something was built on it."""
        return self._perform(undoing.undo, id=act)

    def prune(self, summary_days: int = 180, *, dry_run: bool = False) -> Pruned:
        """Move dated files of days so long ago to trash/, where a model's summary covers them; `undo` brings them back."""
        return self._perform(pruning.prune, summary_days=summary_days, dry_run=dry_run)

    def forget(
        self, by: str, value: str = "", *, yes: bool = False, shown: str = "", session: str = "", chat: str = ""
    ) -> Forgotten:
        """
        Show, place by place, what forgetting would do; with *yes* do it: the words leave every place, for good.

        *by* is "message" (an id), "line" ("42@1f3a9c0d"), "match" (words), "session", "day", "file" or "removed" (what a
        person deleted by hand). *shown* is the `digest` of the answer without *yes*: then nothing else is forgotten than
        what that showed. BadRequest for words that stand in a third of all messages, or say nothing; in a group.
        """
        return self._perform(forgetting.forget, session, chat, by=by, value=value, yes=yes, shown=shown)

    def stats(self, *, session: str = "", chat: str = "") -> dict[str, Any]:
        """Return how many long-term lines there are (`total`), how many entries by source (`sources`), and `date_range`."""
        return self._perform(long_term.stats, session, chat)

    def summarize(self, session: str, *, again: bool = False, llm: ChatStream | None = None) -> Written | None:
        """
        Write the messages of the session since the last call, or with *again* all of them, as one long-term line.

        Returns that line, None if nothing is new or worth a line. "" is the session of the messages that name none. *llm*
        writes the line, as in `conversation`; None: the configured model, within the calls of the day, or without a model an
        extract, which says so. NoSummary if the model wrote none; BadRequest if no message names the session.
        """
        return self._perform(long_term.summarize, session=session, again=again, llm=llm)

    def summarize_overflow(self, session: str = "", *, llm: ChatStream | None = None) -> Written | None:
        """
        Write what newly left the last `conversation.max_history` messages of the session as one long-term line; return it.

        Call this before loading the history. None if too little has left, or the model wrote nothing; it is asked again later.
        """
        return self._perform(long_term.summarize_overflow, session=session, llm=llm)

    def get_history_with_summary(self, session: str = "") -> list[dict[str, Any]]:
        """Return the last `conversation.max_history` messages as {role, content}, without those of tools."""
        return self._perform(history.recent, session=session)

    @property
    def long_term(self) -> LongTermFile:
        """The long-term file, for programs that change it in other ways."""
        return self.workspace.long_term

    @property
    def clock(self) -> Clock:
        """The clock, which returns the present."""
        return self._clock

    # ── the index ────────────────────────────────────────────────────────────

    def rebuild(self, wait_s: float = 10.0) -> Changes:
        """
        Rebuild the search index from the files and return the numbers of files and passages.

        Nothing is rebuilt (`shared`) if another process keeps the index locked for longer than *wait_s* seconds.
        """
        return self._perform(upkeep.index_rebuild, wait_s=wait_s)

    def audience(self, session: str = "", chat: str = "") -> Audience:
        """Return who reads the *chat* of the *session*, and what they may see."""
        return self._caller(session, chat).audience(self.workspace)

    def _perform(self, operation: Operation[A], session: str = "", chat: str = "", /, **arguments: Any) -> A:
        return perform(operation, self.workspace, arguments, self._caller(session, chat), self._control)

    def _caller(self, session: str = "", chat: str = "") -> Caller:
        return Caller(session=session, chat=chat, clock=self._clock, keep_fresh=self._keep_fresh)


def _open(root: str | os.PathLike[str], environ: Mapping[str, str], clock: Clock) -> Workspace:
    if not isinstance(root, (str, os.PathLike)):
        raise BadRequest("root", Text("it must be the path of a folder, not {kind}", kind=type(root).__name__))
    if not isinstance(environ, Mapping):
        raise BadRequest("environ", Text("it must be a mapping of variables, not {kind}", kind=type(environ).__name__))
    if not callable(clock):
        raise BadRequest("clock", Text("it must be a function that returns the present, not {kind}", kind=type(clock).__name__))
    # subtle: Path.expanduser raises where there is no such user
    folder = Path(os.path.expanduser(os.fsdecode(root))).absolute()
    check_folder(folder, "root")
    return open_workspace(folder, environ, clock)
