"""
The Python API: `Memory` has a method for each command of the same name (docs/reference/api.md).

    from recalld import Memory

    memory = Memory("~/assistant")
    block = memory.inject("备份在哪台机器上？").memory

Every error is a SupervisorError: one sentence, and the exit code that the command would have. Use an object in one thread at a
time; any number of objects and processes may use a workspace.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recalld.supervisor.longterm.lines import DEFAULT_SOURCE, cut, parse_refs, refuse_stale
from recalld.supervisor.storage.clock import utc_now
from recalld.supervisor.storage.control import UNLIMITED
from recalld.supervisor.storage.errors import (
    BadRequest,
    StaleLine,
    listed,
    refuse_no_number,
    refuse_no_text,
)
from recalld.supervisor.storage.lenient_json import parse_json, render_json
from recalld.supervisor.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from recalld.supervisor.context.build import Injection, Replay
    from recalld.supervisor.context.request import Asked
    from recalld.supervisor.conversation.asking import ChatStream
    from recalld.supervisor.conversation.memory_manager import MemoryManager
    from recalld.supervisor.index.commit import Changes
    from recalld.supervisor.index.hit import Hit, SearchResult
    from recalld.supervisor.longterm.long_term_file import Deleted, LongTermFile, LongTermLines, LongTermText, Written
    from recalld.supervisor.protocol.inbox import Chat
    from recalld.supervisor.protocol.turn import Receipt
    from recalld.supervisor.recall.audience import Audience
    from recalld.supervisor.recall.lines import Lines
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.storage.control import Control


class Memory:
    """
    The memory of the workspace at *root*, a folder or an open `Workspace`; opening it writes nothing.

    *environ* holds RECALLD_* settings (default: those of the process), *clock* returns the present as an aware datetime. With
    *keep_fresh* False the index is not updated before a search: a running supervisor does it. BadRequest if there is no such
    folder, BadConfig if its configuration is wrong.
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
        #: How calls that take long are limited and followed.
        self.control = control

    # ── a turn ───────────────────────────────────────────────────────────────

    def inject(
        self, question: str | None = None, *, session: str = "", chat: str = "", known: Collection[str] = ()
    ) -> Injection:
        """
        Return the turn for *question* (None: for the inputs in inbox.json): `memory` is the block, "" if nothing fits.

        For a client that sends the history itself: *known* are the ids of the messages that it sends, they are not shown again.
        *chat* says where the question was asked ("direct", "group", "channel"; "": as the key of the *session* says); in a
        group only the group's own memories are shown. A receipt is written to turns/. `turns.overflow` is as for `context`.
        """
        from recalld.supervisor.context.build import inject

        asked, now, result = self._ask(question, session, chat, known)
        ws = self.workspace
        return self._saved(inject(asked, now, result, config=ws.config, paths=ws.paths, events=ws.events))

    def context(self, question: str | None = None, system: str = "", *, session: str = "", chat: str = "") -> Injection:
        """
        Return the turn with the recent history: `messages` are chat-completions messages, *system* first, as given.

        The session's running summary is in it, where one is kept. With `turns.overflow` what no longer fits the history is
        summed up first, which may ask the model.
        """
        from recalld.supervisor.context.build import context
        from recalld.supervisor.host.conversations import running_summary

        refuse_no_text("system", system)
        ws = self.workspace
        asked, now, result = self._ask(question, session, chat)
        kept = running_summary(ws, asked, system, result, self.append, self._clock, self._environ)
        made = context(asked, now, result, system, kept=kept, config=ws.config, paths=ws.paths, events=ws.events)
        return self._saved(made)

    def conversation(
        self, llm: ChatStream | None = None, system_prompt: str = "", *, settings: object = None, session: str | None = None
    ) -> MemoryManager:
        """
        Return the memory of a running conversation, with the workspace's configuration, prompts and events.

        That of a *session* ("": of the messages that name none) continues where the session is: its messages are those of the
        workspace, `add` appends to it, and the summary is kept. Without a session nothing of it is in the workspace.
        BadConfig if one of its prompts is wrong, BadFile if a file of the session can't be read; else as `MemoryManager`.
        """
        from recalld.supervisor.host.conversations import open_conversation, open_session

        if session is None:
            return open_conversation(self.workspace, llm, system_prompt, settings, self._clock)
        refuse_no_text("session", session)
        return open_session(self.workspace, session, self.append, llm, system_prompt, settings, self._clock)

    def why(self, turn: str | None = None) -> Receipt:
        """Return the receipt of the turn (its id, or the beginning of it; None: of the newest): what was shown, and why."""
        from recalld.supervisor.context.receipts import ReceiptStore

        refuse_no_text("turn", "" if turn is None else turn)
        return ReceiptStore(self.workspace.files, self.workspace.paths).read(turn)

    def replay(self, turn: str | None = None) -> Replay:
        """Return the receipt of the turn, the memory block for its question now, and the difference."""
        from recalld.supervisor.context.build import replay

        self._refresh()
        recall = partial(self.workspace.searcher.search, is_input=True)
        return replay(self.why(turn), recall, config=self.workspace.config)

    # ── looking things up ────────────────────────────────────────────────────

    def search(self, query: str, limit: int = 10, *, session: str = "", chat: str = "") -> tuple[Hit, ...]:
        """
        Return at most *limit* hits for the words, the sentence or the date, best first.

        *session* and *chat* say who reads them, as for `inject`: what may not be shown there is as if it were not in memory.
        """
        return self.find(query, limit, session=session, chat=chat).hits

    def find(self, query: str, limit: int = 10, *, session: str = "", chat: str = "") -> SearchResult:
        """Return the hits of `search` with how they were found, and without any why there are none."""
        from recalld.supervisor.recall.search import heard

        refuse_no_text("query", query)
        refuse_no_number("limit", limit)
        if limit < 1:
            raise BadRequest("limit", f"{limit} is not allowed, give 1 or more")
        audience = self.audience(session, chat)
        self._refresh()
        found = heard(self.workspace.searcher.search(query, self._clock()), audience)
        return replace(found, hits=found.hits[:limit])

    def get(self, path: str, start: int = 1, lines: int | None = None, *, session: str = "", chat: str = "") -> Lines:
        """
        Return *lines* lines of a memory file from line *start* on, or those of a citation: "memory/….md#L4-L6,L9".

        The lines of "history.json#<id>" are those of the message with this id, whether a dated file holds it by now or not.
        Lines that those who read the *chat* of the *session* may not see are blank; where they may see none there is no file.
        """
        refuse_no_text("path", path)
        refuse_no_number("start", start)
        refuse_no_number("lines", 1 if lines is None else lines)
        return self.workspace.line_reader.read(path, self._clock(), start, lines, self.audience(session, chat))

    # ── adding messages ──────────────────────────────────────────────────────

    def append(self, messages: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> list[str]:
        """
        Add one message or many (role, text, the other fields of protocol.md, 2.1) and return their ids; they are durable then.

        BadRequest if one is no message; then none was added.
        """
        from recalld.supervisor.archive.append import append

        raws = _raws(messages)
        ws = self.workspace
        ws.files.make_folder(ws.paths.state)
        return append(
            raws,
            self._clock(),
            os.urandom(10 * len(raws)),
            history=ws.history,
            journal=ws.journal,
            drop_box=ws.drop_box,
            settings=ws.config.archive,
            events=ws.events,
        )

    # ── the long-term lines ──────────────────────────────────────────────────

    def write(self, content: str, source: str = DEFAULT_SOURCE, *, session: str = "", chat: str = "") -> Written:
        """
        Add a line to the long-term file and return it, durable; where a line has the same words already, return that one.

        Line breaks and runs of blanks become one blank. In a group the words are looked for in the lines that it may see, and
        `is_shown` tells whether it may see this one. BadRequest if *content* is blank, or has more than 20,000 characters.
        """
        refuse_no_text("content", content)
        refuse_no_text("source", source)
        audience = self.audience(session, chat)
        seen = None if audience.sees_all else partial(self._heard_text, audience)
        return self.long_term.append(source, content, self._clock(), seen)

    def read(
        self, start: int | None = None, end: int | None = None, recent: int = 10, *, session: str = "", chat: str = ""
    ) -> LongTermLines:
        """Return the lines from *start* to *end* (None: that line), clamped to what there is; without either the *recent*."""
        for field, value in (("start", start), ("end", end), ("recent", recent)):
            refuse_no_number(field, 0 if value is None else value)
        return self._heard_lines(self.audience(session, chat)).select(start, end, recent)

    def delete(self, lines: Iterable[str], *, session: str = "", chat: str = "") -> Deleted:
        """
        Delete lines of the long-term file, each named with its digest as in "42@1f3a9c0d".

        StaleLine, and nothing is deleted, if one is no longer the line that was seen, or is none that *chat* may see.
        """
        refs = _texts("lines", [lines] if isinstance(lines, str) else lines)
        audience = self.audience(session, chat)
        if audience.sees_all:
            return self.long_term.delete(refs)
        try:
            refuse_stale(self._heard_lines(audience).text, parse_refs(refs))
            deleted = self.long_term.delete(refs)
        except StaleLine as error:
            raise StaleLine(error.ref, "", "") from None  # what is there now may not be theirs to see
        return replace(deleted, total=self._heard_lines(audience).total)

    def stats(self, *, session: str = "", chat: str = "") -> dict[str, Any]:
        """Return how many long-term lines there are (`total`), how many entries by source (`sources`), and `date_range`."""
        return self._heard_lines(self.audience(session, chat)).stats()

    def summarize(self, session: str, *, again: bool = False, llm: ChatStream | None = None) -> Written | None:
        """
        Write what was said in the session since this was last called, with *again* all of it, as one long-term line.

        Returns that line, None if nothing is new or worth one. "" is the talk of the messages that name no session. *llm*
        writes it, as in `conversation`; None: the configured model, in the day's calls, and without one an extract that says
        so. NoSummary if the model wrote none; BadRequest if no message names the session.
        """
        from recalld.supervisor.host.session_writer import session_writer

        refuse_no_text("session", session)
        write = session_writer(self.workspace, llm, "conversation-to-memory", self._environ, self._clock)
        return self.workspace.session_lines.summarize(session, write, self._clock(), again=again)

    def summarize_overflow(self, session: str = "", *, llm: ChatStream | None = None) -> Written | None:
        """
        Write what newly left the last `conversation.max_history` messages of the session as one long-term line; return it.

        To be called before the history is loaded. None if too little left, or the model wrote nothing: it is asked again later.
        """
        from recalld.supervisor.host.session_writer import session_writer

        refuse_no_text("session", session)
        write = session_writer(self.workspace, llm, "overflow-summary", self._environ, self._clock)
        return self.workspace.session_lines.summarize_overflow(session, write, self._clock())

    def get_history_with_summary(self, session: str = "") -> list[dict[str, Any]]:
        """Return the user's and the assistant's of the last `conversation.max_history` messages as {role, content}."""
        refuse_no_text("session", session)
        return self.workspace.session_lines.history(session, self._clock())

    @property
    def long_term(self) -> LongTermFile:
        """The long-term file, for programs that change it in other ways."""
        return self.workspace.long_term

    @property
    def clock(self) -> Clock:
        """What returns the present."""
        return self._clock

    # ── the index ────────────────────────────────────────────────────────────

    def rebuild(self, wait_s: float = 10.0) -> Changes:
        """
        Rebuild the search index from the files and return what was read.

        Nothing is rebuilt (`shared`) if another process keeps the index locked for longer than *wait_s* seconds.
        """
        if not isinstance(wait_s, (int, float)):
            raise BadRequest("wait_s", f"it must be a number, not {type(wait_s).__name__}")
        return self.workspace.searcher.refresh(wait_s, self.control, rebuild=True)

    def _heard_lines(self, audience: Audience) -> LongTermText:
        """Return the long-term file with blanks in place of the lines that *audience* may not see."""
        found = self.long_term.read()
        return found if audience.sees_all else replace(found, text=self._heard_text(audience, found.text))

    def _heard_text(self, audience: Audience, text: str) -> str:
        return "\n".join(self.workspace.line_reader.visible(self.long_term.path, cut(text), audience))

    def audience(self, session: str = "", chat: str = "") -> Audience:
        """Return who reads the *chat* of the *session*, and what they may see."""
        from recalld.supervisor.recall.audience import Audience

        return Audience(chat=_chat(session, chat), in_groups=self.workspace.config.recall.in_groups)

    def _ask(
        self, question: str | None, session: str, chat: str, known: Collection[str] = ()
    ) -> tuple[Asked, datetime, SearchResult]:
        """Return what is asked, the moment, and the result of recall."""
        from recalld.supervisor.context.build import read_input

        refuse_no_text("question", "" if question is None else question)
        ids, where, ws = frozenset(_texts("known", known)), _chat(session, chat), self.workspace
        stores: dict[str, Any] = {"history": ws.history, "files": ws.files, "paths": ws.paths, "events": ws.events}
        read = partial(read_input, question, where, zone=ws.zone, **stores)
        if ws.config.turns.overflow == "memory":
            self.workspace.attempt("summing up what overflows", lambda: self.summarize_overflow(read().chat.session), None)
        self._refresh()
        now, asked = self._clock(), replace(read(), known=ids)
        return asked, now, ws.searcher.search(asked.question, now, asked.before, is_input=True)

    def _saved(self, turn: Injection) -> Injection:
        """Write the receipt of the turn and return the turn."""
        from recalld.supervisor.context.build import save_receipt
        from recalld.supervisor.context.receipts import ReceiptStore

        ws = self.workspace
        save_receipt(turn, receipts=ReceiptStore(ws.files, ws.paths), paths=ws.paths, events=ws.events)
        return turn

    def _refresh(self) -> None:
        """Update the index; if that fails the turn goes on with the old one."""
        if self._keep_fresh:
            self.workspace.attempt("index", lambda: self.workspace.searcher.refresh(control=self.control), None)


def _raws(messages: object) -> list[dict[str, Any]]:
    """Return one message, or many, as the JSON objects that are stored; BadRequest for anything else."""
    if isinstance(messages, Mapping):
        messages = [messages]
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Iterable):
        raise BadRequest("messages", f"it must be a message, or a list of messages, not {type(messages).__name__}")
    raws = []
    for one in messages:
        if not isinstance(one, Mapping):
            raise BadRequest("message", f"it must be an object with role and text, not {type(one).__name__}")
        try:
            raws.append(parse_json(render_json(dict(one))))
        except (TypeError, ValueError, RecursionError):
            why = "it has a value that JSON can't hold; give text, numbers, truth values, lists and objects"
            raise BadRequest("message", why) from None
    return raws


def _texts(field: str, values: object) -> list[str]:
    """Return a list of texts; BadRequest for anything else."""
    texts = listed(field, values, "ids")
    for one in texts:
        refuse_no_text(field, one)
    return texts


def _chat(session: str, chat: str) -> Chat:
    refuse_no_text("session", session)
    refuse_no_text("chat", chat)
    if chat not in {"", "direct", "group", "channel"}:
        raise BadRequest("chat", f"{chat!r} is not direct, group or channel")
    from recalld.supervisor.protocol.inbox import chat_of

    return chat_of({"session": session, "chat": chat or None})


def _open(root: str | os.PathLike[str], environ: Mapping[str, str], clock: Clock) -> Workspace:
    if not isinstance(root, (str, os.PathLike)):
        raise BadRequest("root", f"it must be the path of a folder, not {type(root).__name__}")
    if not isinstance(environ, Mapping):
        raise BadRequest("environ", f"it must be a mapping of variables, not {type(environ).__name__}")
    if not callable(clock):
        raise BadRequest("clock", f"it must be a function that returns the present, not {type(clock).__name__}")
    # subtle: Path.expanduser raises where there is no such user
    folder = Path(os.path.expanduser(os.fsdecode(root))).absolute()
    if not folder.is_dir():
        raise BadRequest("root", f"{folder} is not there; make it with `recalld init -w {folder}`")
    return open_workspace(folder, environ, clock)
