"""
The Python API: a workspace's memory as an object, the same steps as the commands of the same names (docs/api.md).

    from supervisor import Memory

    memory = Memory("~/assistant")
    block = memory.inject("备份在哪台机器上？").memory

Every fault is a SupervisorError: one sentence, with the exit code that the command would end with. An object is for one thread
at a time; any number of objects and processes may use a workspace.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from supervisor.protocol.clock import utc_now
from supervisor.protocol.errors import BadRequest, SupervisorError, as_ours
from supervisor.protocol.inbox import chat_of
from supervisor.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from supervisor.context.build import Injection
    from supervisor.context.replay import Replay
    from supervisor.context.request import Asked
    from supervisor.index.commit import Changes
    from supervisor.index.hit import Hit, SearchResult
    from supervisor.protocol.clock import Clock
    from supervisor.protocol.inbox import Chat
    from supervisor.protocol.turn import Receipt
    from supervisor.recall.lines import Lines


class Memory:
    """
    The memory of the workspace at *root*, a folder (or a workspace that is open already); opening it writes nothing.

    *environ* holds RECALLD_* settings (default: the process's own), *clock* gives the present moment, aware; with *keep_fresh*
    False the index is left as it is, for who knows that a supervisor runs. BadRequest where there is no such folder, BadConfig
    where its configuration is wrong.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | Workspace,
        *,
        environ: Mapping[str, str] | None = None,
        clock: Clock = utc_now,
        keep_fresh: bool = True,
    ) -> None:
        self.workspace = root if isinstance(root, Workspace) else _open(root, os.environ if environ is None else environ, clock)
        self._clock = clock
        self._keep_fresh = keep_fresh

    # ── a turn ───────────────────────────────────────────────────────────────

    def inject(self, question: str | None = None, *, session: str = "", chat: str = "") -> Injection:
        """
        Return the turn for *question* (None: for what waits in inbox.json): `memory` is the block, "" when nothing fits.

        For a client that sends the history of the talk itself. Where the question was heard in a group or channel, *chat* says
        so ("direct", "group", "channel"; else the *session*'s key), and a group hears its own memories alone. A receipt is
        written to turns/.
        """
        from supervisor.context.build import inject, save_receipt

        asked, now, found = self._recalled(question, session, chat)
        made = inject(self.workspace, asked, now, found)
        save_receipt(self.workspace, made)
        return made

    def context(self, question: str | None = None, system: str = "", *, session: str = "", chat: str = "") -> Injection:
        """Return the turn with the last of the talk: `messages` are chat-completions messages, *system* first, as given."""
        from supervisor.context.build import context, save_receipt

        asked, now, found = self._recalled(question, session, chat)
        made = context(self.workspace, asked, now, found, system)
        save_receipt(self.workspace, made)
        return made

    def why(self, turn: str | None = None) -> Receipt:
        """Return what was put before the assistant in the turn (its id, or how it begins; None: the newest), and why."""
        from supervisor.context.replay import why

        return why(self.workspace, turn)

    def replay(self, turn: str | None = None) -> Replay:
        """Return the turn, and what would be injected for its question now."""
        from supervisor.context.replay import replay

        self._freshen()
        return replay(self.workspace, self.why(turn), self.workspace.searcher.search)

    # ── looking things up ────────────────────────────────────────────────────

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Return what is remembered for the words, the sentence or the date, best first, at most *limit*."""
        _refuse_no_text("query", query)
        if limit < 1:
            raise BadRequest("limit", f"{limit} is not allowed, give 1 or more")
        self._freshen()
        return self.workspace.searcher.search(query, self._clock()).hits[:limit]

    def get(self, path: str, start: int = 1, lines: int | None = None) -> Lines:
        """Return exact *lines* of a memory file from line *start* on, or those of a citation: "memory/….md#L4-L6"."""
        from supervisor.recall.lines import read_lines

        _refuse_no_text("path", path)
        ws = self.workspace
        return read_lines(path, start, lines, files=ws.files, paths=ws.paths, memory=ws.memory)

    # ── adding, and the index ────────────────────────────────────────────────

    def append(self, messages: Sequence[Mapping[str, Any]]) -> list[str]:
        """
        Add messages (role, text, and what else docs/protocol.md 2.1 has) and return their ids; durable when it returns.

        BadRequest when one is no message; then none was added.
        """
        from supervisor.archive.append import append

        ws = self.workspace
        ws.files.make_folder(ws.paths.state)
        return append(
            [dict(one) for one in messages],
            self._clock(),
            os.urandom(10 * len(messages)),
            history=ws.history,
            journal=ws.journal,
            drop_box=ws.drop_box,
            settings=ws.config.archive,
        )

    def rebuild(self, wait_s: float = 10.0) -> Changes:
        """
        Make the search index anew from the files, as soon as its lock is free, and return what was read.

        Where another process keeps the lock for longer, nothing is made (`shared`).
        """
        return self.workspace.searcher.refresh(wait_s, rebuild=True)

    def _recalled(self, question: str | None, session: str, chat: str) -> tuple[Asked, datetime, SearchResult]:
        """Return what is asked, when, and what is remembered for it."""
        from supervisor.context.build import read_input

        _refuse_no_text("question", "" if question is None else question)
        self._freshen()
        now = self._clock()
        asked = read_input(self.workspace, question, _heard(session, chat))
        return asked, now, self.workspace.searcher.search(asked.question, now, asked.before)

    def _freshen(self) -> None:
        """Bring the index to where the files are; a turn goes on with an older one."""
        if not self._keep_fresh:
            return
        fault = ""
        try:
            self.workspace.searcher.refresh()
        except (SupervisorError, OSError) as error:
            fault = str(as_ours(error, "index", self.workspace.paths.root))
        self.workspace.events.transition("degraded", fault, cleared="recovered", what="index", why=fault)


def _refuse_no_text(field: str, value: object) -> None:
    if not isinstance(value, str):
        raise BadRequest(field, f"it must be text, not {type(value).__name__}")


def _heard(session: str, chat: str) -> Chat:
    if chat not in {"", "direct", "group", "channel"}:
        raise BadRequest("chat", f"{chat!r} is not direct, group or channel")
    return chat_of({"session": session, "chat": chat})


def _open(root: str | os.PathLike[str], environ: Mapping[str, str], clock: Clock) -> Workspace:
    place = Path(root).expanduser().absolute()
    if not place.is_dir():
        raise BadRequest("root", f"{place} is not there; make it with `recalld init -w {place}`")
    return open_workspace(place, environ, clock)
