"""
A worker for one chat: it answers the tasks at standard input, a line each, and prints each piece of an answer as it comes in.

The chat ends an answer by ending this process, which closes the connection to the model. It ends by itself when the chat does.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from recalld.supervisor.protocol.task import AskedTask, parse_task, render_result
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest
from recalld.worker.answering import answer
from recalld.worker.providers import Cancelled

if TYPE_CHECKING:
    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.storage.clock import Clock
    from recalld.worker.calls import CallBook
    from recalld.worker.providers import Model, Summariser


def talk(provider: Model | Summariser, config: Config, log: CallBook, clock: Clock) -> None:
    """Answer until standard input ends. Lines printed: {"said": a piece}, and {"result": …} when an answer is whole."""
    asker = os.getppid()

    def tell(**fields: Any) -> None:
        print(json.dumps(fields), flush=True)

    for line in sys.stdin.buffer:
        task = parse_task(line)
        if not isinstance(task, AskedTask):
            raise BadRequest("--talk", Text("model.only_queued"))
        try:
            result = answer(
                task,
                provider,
                config,
                log,
                clock,
                lambda: os.getppid() != asker,
                lambda piece: tell(said=piece),
            )
        except Cancelled:
            return
        tell(result=json.loads(render_result(result)))
