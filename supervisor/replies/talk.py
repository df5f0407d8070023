"""
What the model is told for an answer, and for the second message after a look further (protocol.md, 7.8 and 7.9).

The system message is the same in each turn, and so is the talk before the question: a server keeps what it has read of them.
What is new in a turn, its mark too, is in the last message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.index.hit import line_marks
from recalld.supervisor.protocol.lookup_request import mark_line
from recalld.supervisor.protocol.prompts import load_template
from recalld.supervisor.storage.catalogue import Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recalld.supervisor.context.build import Injection
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.storage.files import Files
    from recalld.supervisor.text.language import Language

#: Calls of the model in one look further, at most.
MOST_CALLS: Final = 5
#: Passages of memory that an answer without a model shows, at most.
_MOST_SHOWN: Final = 5


def system_prompt(language: Language, files: Files, paths: WorkspacePaths) -> str:
    """Return the system message of an answer: the workspace's wording, else the shipped one."""
    return load_template("reply", language, files, paths).text.strip()


def with_mark(messages: Sequence[Mapping[str, Any]], mark: str, language: Language) -> tuple[dict[str, str], ...]:
    """Return the messages of the turn with the mark at the beginning of the last one: small models repeat what comes last."""
    *before, last = ({"role": str(one["role"]), "content": str(one["content"])} for one in messages)
    return (*before, {**last, "content": f"{mark_line(mark, language)}\n\n{last['content']}"})


def after_looking(
    turns: Sequence[dict[str, str]], results: str, step: int, language: Language, files: Files, paths: WorkspacePaths
) -> tuple[dict[str, str], ...]:
    """Return the talk with what was found for its last request; *step* counts the calls of this look further from 0."""
    template = load_template("lookup", language, files, paths)
    told = template.fill(results=results, calls_left=str(MOST_CALLS - 1 - step)).strip()
    return (*turns, {"role": "user", "content": told})


def from_memory(made: Injection) -> Text:
    """Return what answers where no model is set: that none is, and what memory holds, each passage with its citation."""
    units = [hit.unit for hit in made.shown[:_MOST_SHOWN]]
    passages = [f"- {' '.join(one.text.split())} [{one.path}{line_marks([(one.start, one.end)])}]" for one in units]
    return Text("reply.from_memory", passages="\n".join(passages)) if passages else Text("reply.nothing_in_memory")
