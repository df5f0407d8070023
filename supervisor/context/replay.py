"""What was put before the assistant in a turn, and what would be now: `recalld why`, `--replay`."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING, Protocol, get_args

from supervisor.context.build import memory_block
from supervisor.context.receipts import ReceiptStore
from supervisor.context.request import Asked
from supervisor.protocol.inbox import DIRECT, Chat, ChatKind
from supervisor.protocol.message import Message, read_message

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from supervisor.context.memory_block import PackedBlock
    from supervisor.index.hit import SearchResult
    from supervisor.protocol.turn import Receipt
    from supervisor.workspace import Workspace


class Recall(Protocol):
    """The engine."""

    def __call__(self, question: str, now: datetime, recent: Sequence[Message]) -> SearchResult:
        """Return what answers the question, asked at *now* after the *recent* messages."""
        ...


@dataclass(frozen=True, slots=True)
class Replay:
    """A turn asked again: its receipt, the block of now, and the lines in which they differ (unified, empty: none)."""

    receipt: Receipt
    now: PackedBlock
    difference: tuple[str, ...]


def why(ws: Workspace, turn: str | None = None) -> Receipt:
    """Return the receipt of the turn (its id, or the beginning of one), of the newest without; NotFound where there is none."""
    return ReceiptStore(ws.files, ws.paths).read(turn)


def replay(ws: Workspace, receipt: Receipt, recall: Recall) -> Replay:
    """
    Ask the receipt's question again, as of its time, and return what would be injected now.

    Its history block and its budget stay as they were; files, configuration and rules are those of now.
    """
    read = [read_message({**one, "text": one.get("content")}, ws.zone) for one in receipt.history]
    found = recall(receipt.question, receipt.at, [one for one in read if isinstance(one, Message)])
    kind = next((kind for kind in get_args(ChatKind) if kind == receipt.chat), DIRECT.kind)
    asked = Asked(receipt.question, Chat(kind, receipt.session))
    shown = frozenset(str(one.get("id", "")) for one in receipt.history if one.get("whole")) - {""}
    now = memory_block(ws, asked, found, receipt.budgets.get("memory", ws.config.recall.memory_tokens), shown)
    lines = unified_diff(receipt.memory.splitlines(), now.text.splitlines(), "then", "now", lineterm="", n=0)
    return Replay(receipt, now, tuple(lines))
