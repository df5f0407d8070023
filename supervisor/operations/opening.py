"""The operation of a client that begins a session: what it should know before anything is asked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, cast

from recalld.supervisor.context.opening import STARTS, Opening, where_it_stopped
from recalld.supervisor.context.opening import opening as block_of_opening
from recalld.supervisor.operations.operation import Visible, operation
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest, refuse_no_number, refuse_no_text
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recalld.supervisor.context.opening import Start
    from recalld.supervisor.index.hit import Passage
    from recalld.supervisor.protocol.message import History, Message
    from recalld.supervisor.workspace import Workspace

#: How long it waits for a history.json that can't be read, in seconds: a client waits for it.
_PATIENCE_S: Final = 0.1


@record(kw_only=True)
class OpeningRequest:
    """
    The folder *project* in which a client begins, its *session*, and the *start*: startup, resume, clear or compact.

    The block has at most *tokens*, and at most `context.start_tokens`, which 0 stands for.
    """

    project: str = ""
    session: str = ""
    start: str = "startup"
    tokens: int = 0

    def __post_init__(self) -> None:
        for name, one in (("project", self.project), ("session", self.session), ("start", self.start)):
            refuse_no_text(name, one)
        refuse_no_number("tokens", self.tokens)
        if self.start not in STARTS:
            raise BadRequest("start", Text("argument.not_allowed", value=self.start, allowed=", ".join(STARTS)))


@operation("opening", OpeningRequest, reads=True, owner=True)
def opening(memory: Visible, request: OpeningRequest) -> Opening:
    """Return what a session begins with: pinned lines, the newest long-term lines, and where talk stopped in the project."""
    from recalld.supervisor.context.choice import BlockLimits
    from recalld.supervisor.context.history_block import turn_language
    from recalld.supervisor.context.request import Asked
    from recalld.supervisor.context.secrets import redactor
    from recalld.supervisor.index.chunking import chunk_note
    from recalld.supervisor.protocol.marks import only_pinned

    ws, most = memory.ws, memory.ws.config.context.start_tokens
    noted = memory.long_term()
    nothing: History = ()
    history = ws.attempt("history", partial(ws.shown_history.read, _PATIENCE_S), nothing)
    stopped = where_it_stopped(history, request.project, request.session, cast("Start", request.start))
    lines, pinned = (
        [chunk.passage for chunk in chunk_note(noted.path, text, None, "long_term")]
        for text in (noted.text, only_pinned(noted.text))
    )
    language = turn_language(Asked(stopped[-1].text if stopped else noted.text), ws.config)
    tokens = min(request.tokens or most, most)
    limits = BlockLimits(
        tokens=tokens - tokens // 4,
        pinned_tokens=tokens // 4,
        max_hits=0,
        line_chars=ws.config.recall.line_chars,
        citations=ws.config.recall.citations != "off",
        note=ws.config.recall.note,
        today=ws.today(memory.caller.clock()),
        hide=redactor(Asked(""), (), (), language, ws.config.privacy),
        cjk_weight=ws.config.tokens.cjk_weight,
        language=language,
    )
    block = block_of_opening(_passages(stopped, ws), lines, pinned[::-1], limits)
    return Opening(block.text, block.tokens)


def _passages(said: Iterable[Message], ws: Workspace) -> list[Passage]:
    """Return the messages as passages, each with its id as its place, where `get` finds it also after it was filed."""
    from recalld.supervisor.index.chunking import chunk_message
    from recalld.supervisor.protocol.dated_file import block_of
    from recalld.supervisor.recall.unfiled import path_by_id

    return [chunk_message(path_by_id(one.id), block_of(one), ws.zone).passage for one in said if one.id and one.created_at]
