"""
Messages as lines to choose from: the speaker and time of each, and the line that must be read before it.

A line that leans on another takes it along: an answer its question ("有，是 1.6 米的"), a sentence that opens with "it" or 所以
the sentence before. A courtesy is a line only as the answer to a question: 好的 after 要不要改到周五？ is the decision.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from supervisor.protocol.clock import local
from supervisor.text.small_talk import is_chitchat
from worker.providers.sentences import clean, cut, sentences_and_items, substance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date, datetime, tzinfo

    from supervisor.protocol.dated_file import Block

#: What a bullet costs beside its words: "- 09:02 " and the line break.
_BULLET: Final = 9
#: An answer comes within this time of its question.
_ANSWER: Final = timedelta(hours=6)
#: Characters up to which a sentence is taken along for the sake of the next.
_SHORT: Final = 90
#: An answer of fewer characters says little without its question.
_CURT: Final = 14
#: Characters shown of a message that has no words.
_BARE: Final = 60
_QUESTION: Final = re.compile(r"(?:[?？][”\"'）)」]*|[吗呢][。.～~]?)$")
_REPLY: Final = re.compile(
    r"(?:有|没有?|是的?|不是?|对|不对|会|不会|能|不能|要|不要|可以|不可以|行|不行|好|嗯|还没有?|已经|当然)(?:[，,。！!；\s]|的|啊|了|$)"
    r"|(?:yes|yeah|yep|no|nope|not yet|sure|ok|okay|both|neither|of course|true|right|correct)\b"
    r"|i (?:do|did|don't|didn't|have|haven't|am|can|will)\b",
    re.IGNORECASE,
)
_LEANING: Final = re.compile(
    r"(?:[它他她]们?|这|那|其中|所以|因此|但是?|不过|可是|而且|然后|否则|结果|于是|另外一)"
    r"|(?:it|its|it's|that|that's|this|they|they're|them|these|those|he|she|he's|she's|his|her)\b"
    r"|(?:so|but|and|then|which|because|also|instead|otherwise)\b",
    re.IGNORECASE,
)
_SPEAKER: Final = re.compile(r"\s*([^\W\d_][\w.'’-]{0,19}(?: [A-Z][\w.'’-]{0,19})?)[:：]\s*(?=\S)")
#: Share of messages that begin with a name and a colon, from which the conversation is one of named speakers.
_NAMED: Final = 0.8
#: A bullet of an earlier summary, and its time or date.
_STAMP: Final = re.compile(r"(?:(\d\d):(\d\d)|(\d\d)-(\d\d)) ")
_NO_WORDS: Final = re.compile(r"\s*(?:>|#{1,6}\s|<!--)")


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence on one line. *place* is its place among all lines, *lead* that of the line to be read before it."""

    place: int
    message: int
    at: datetime  # local
    role: str
    who: str  # a named speaker, else ""
    text: str
    question: bool
    lead: int | None
    cost: int  # characters, with its lead
    item: bool = False  # of a list

    @property
    def day(self) -> date:
        """The local day."""
        return self.at.date()


def named_speakers(blocks: Sequence[Block]) -> bool:
    """Tell whether the messages begin with their speakers' names ("Wang: …"), on both sides, by a handful of people."""
    said = [block for block in blocks if block.role in {"user", "assistant"}]
    names = [match[1] for block in said if (match := _SPEAKER.match(block.text))]
    return len(said) > 1 and len(names) >= _NAMED * len(said) and len(set(names)) <= max(2, len(said) // 4)


def lines_of(blocks: Sequence[Block], zone: tzinfo, *, named: bool) -> list[Line]:
    """Return the lines of all messages in the order of time; messages that are courtesy alone have none, but as answers."""
    lines: list[Line] = []
    for number, block in enumerate(sorted(blocks, key=lambda block: block.created_at)):
        asked = _question_before(lines, block)
        if is_chitchat(block.text) and not (asked and block.text.strip()):
            continue
        speaker = _SPEAKER.match(block.text) if named else None
        words = block.text[speaker.end() :] if speaker else block.text
        before: Line | None = asked
        for at, text, item in _stamped(block, words, zone):
            if is_chitchat(text) and not (before is asked and asked):
                continue
            lead = before if before and _leans(text, before, asked) else None
            lines.append(
                Line(
                    place=len(lines),
                    message=number,
                    at=at,
                    role=block.role,
                    who=speaker[1] if speaker else "",
                    text=text,
                    question=bool(_QUESTION.search(text)),
                    lead=lead.place if lead else None,
                    cost=len(text) + _BULLET + (len(lead.text) + _BULLET if lead else 0),
                    item=item,
                ),
            )
            before = lines[-1]
    return lines or [_bare_line(block, zone) for block in blocks if not is_chitchat(block.text)][:1]


def _bare_line(block: Block, zone: tzinfo) -> Line:
    """Return what a message without a word shows, so that it is not taken for nothing: rows of signs, an empty fence."""
    text = cut(" ".join(clean(block.text[:_BARE]).split()), _BARE) or "…"
    return Line(0, 0, local(block.created_at, zone), block.role, "", text, False, None, len(text) + _BULLET)


def _question_before(lines: Sequence[Line], block: Block) -> Line | None:
    """Return the last line if it is a question, and if the other side asked it a short while before *block*."""
    last = lines[-1] if lines else None
    if (
        last
        and last.question
        and last.role != block.role
        and len(last.text) <= _SHORT
        and block.created_at - last.at <= _ANSWER
    ):
        return last
    return None


def _leans(text: str, before: Line, asked: Line | None) -> bool:
    """Tell whether *text* needs the line *before* it to make sense."""
    if len(before.text) > _SHORT:
        return False
    if before is asked:
        return len(text) <= _CURT or bool(_REPLY.match(text))
    return before.lead is None and bool(_LEANING.match(text)) and substance(before.text) > 0


def _stamped(block: Block, words: str, zone: tzinfo) -> Iterator[tuple[datetime, str, bool]]:
    """Yield the sentences with local time and whether they are items; of an earlier summary, its bullets with their time."""
    said_at = local(block.created_at, zone)
    if block.role != "summary":
        yield from ((said_at, text, item) for text, item in sentences_and_items(words))
        return
    for line in words.split("\n"):
        if _NO_WORDS.match(line):
            continue
        bullet = line.lstrip("-* \t")
        stamp = _STAMP.match(bullet)
        at = said_at
        if stamp:
            bullet = bullet[stamp.end() :]
            at = _stamp(said_at, stamp)
        yield from ((at, text, item) for text, item in sentences_and_items(bullet))


def _stamp(said_at: datetime, stamp: re.Match[str]) -> datetime:
    try:
        if stamp[1]:
            return said_at.replace(hour=int(stamp[1]), minute=int(stamp[2]))
        return said_at.replace(month=int(stamp[3]), day=int(stamp[4]))
    except ValueError:  # 25:99 is no time
        return said_at
