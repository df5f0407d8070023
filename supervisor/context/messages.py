"""
The chat-completions messages of a turn: the places of the memory block, the days and the time (recall.md).

There is never more than one system message: the chat templates of several model families refuse a second one. By default memory
is in the last message, before the question. What comes before it is then the same in the next turn, so that a server with a
prefix cache does not read the conversation again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ..text.quoting import day_words
from .render import framed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from ..text.language import Language
    from .history_window import WindowMessage

#: `context.memory_in`
MemoryPlace: TypeAlias = Literal["question", "system", "message"]

_TIME: Final = {"zh": "（现在是{day} {time}。）", "en": "(It is {day}, {time}.)"}
_JOINT: Final = "\n\n"


def turn_messages(
    *,
    system: str,
    memory: str,
    said: Sequence[WindowMessage],
    question: str,
    now: datetime,
    place: MemoryPlace = "question",
    alternate: bool = False,
    language: Language = "en",
    summary: str = "",
    summary_in: Literal["system", "user"] = "system",
) -> tuple[dict[str, str], ...]:
    """
    Return the messages ``{role, content}``: the system prompt as it is given, the recent history, the question.

    *summary* is the summary of the conversation before that history; it follows the system prompt, or begins the question.
    *memory* is in the place *place*, between the tags ``<memory>``. A line with the time *now*, in its zone, comes before the
    question. With *alternate* consecutive messages of one role are joined and the first message is the user's.
    """
    quoted = framed(memory)
    question_turn = [time_line(now, language), question] if question.strip() else []
    in_question = summary_in == "user" and question_turn
    system_parts, before, last = [system, "" if in_question else summary], "", question_turn
    match place:
        case "system":
            system_parts.append(quoted)
        case "message":
            before = quoted
        case "question":
            last = [quoted, *question_turn]
    last = [summary, *last] if in_question else last
    earlier = [(message.role, message.content) for message in said if message.text.strip()]
    if alternate:
        first = next((n for n, (role, _) in enumerate(earlier) if role == "user"), len(earlier))
        earlier = earlier[first:]
    turn = [*earlier, ("user", before), ("user", _JOINT.join(part for part in last if part))]
    turn = [(role, text) for role, text in turn if text.strip()]
    begin = [("system", _JOINT.join(part for part in system_parts if part.strip()))]
    whole = [*(message for message in begin if message[1].strip()), *(_joined(turn) if alternate else turn)]
    return tuple({"role": role, "content": text} for role, text in whole)


def time_line(now: datetime, language: Language) -> str:
    """
    Return the line that says what time it is, to the minute.

    >>> from datetime import datetime
    >>> time_line(datetime(2026, 1, 28, 9, 5), "en"), time_line(datetime(2026, 1, 28, 9, 5), "zh")
    ('(It is Wednesday, 28 January 2026, 09:05.)', '（现在是2026年1月28日星期三 09:05。）')
    """
    return _TIME[language].format(day=day_words(now.date(), language), time=f"{now:%H:%M}")


def _joined(turn: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the messages; consecutive ones of one role are joined."""
    joined: list[tuple[str, str]] = []
    for role, text in turn:
        if joined and joined[-1][0] == role:
            joined[-1] = role, joined[-1][1] + _JOINT + text
        else:
            joined.append((role, text))
    return joined
