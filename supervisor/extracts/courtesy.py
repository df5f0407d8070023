"""What nobody wants to find again: greetings, thanks, praise and wishes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..text.language import count_words
from ..text.lazy_re import lazy_re
from ..text.small_talk import is_small_talk
from .cues import has_data
from .replies import is_question, is_reply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..protocol.dated_file import Block

#: Words of what an assistant answers to a courtesy, at most, where that is one, too.
_ANSWER_WORDS: Final = 24
#: Words of which a clause of a courtesy has at most so many.
_WORDS: Final = 4
#: How a clause opens that greets, thanks, praises, wishes or agrees.
_COURTESY: Final = lazy_re(
    r"(?:and |but |so )?[嗯哦啊]*(?:嗨|你好|您好|早上好|晚上好|晚安|再见|不客气|不用谢|没关系|谢谢|感谢|辛苦|加油|哇|哎呀|哈哈"
    r"|好[的啊呀]|[是对][啊呀]|没错|确实|当然|没问题|很高兴|真棒|太[好棒]|听起来|[听看]到?[你您]|[我真也衷心]*(?:希望"
    r"|祝|愿|期待|相信)[你您]|随时|(?:如果|要是|有什么).{0,8}(?:需要|问题)"
    r"|(?:hi|hello|hey|good (?:morning|night)|bye|thanks?|you're welcome|no (?:problem|worries)|my pleasure|wow"
    r"|congrat\w*|great"
    r"|awesome|amazing|nice|cool|glad|sure|of course|got it|sounds?|so (?:happy|glad|proud)|(?:i )?(?:\S+ )?(?:agree|hope|wish)"
    r"|let me know|take care|good luck|have a|feel free|ha(?:ha)+|phew|that(?:'s| is| sounds)|yeah|yes|well done|cheers"
    r"|enjoy)\b)",
    re.IGNORECASE,
)
_CLAUSES: Final = lazy_re(r"[，,。！!;；~～…]+|\.(?=\s|$)|\s[—–-]\s")
#: What makes a courtesy worth keeping all the same: a matter of the speaker's own.
_OWN_MATTER: Final = lazy_re(
    r"\bI(?:'m| am|'ve| have)? (?!glad|happy|hope|agree|appreciate|wish|think|bet)\w|\bmy\b|我(?![也真很]|希望|祝|相信"
    r"|会|都|[为替]你)"
)


def are_courtesies(blocks: Iterable[Block]) -> bool:
    """
    True if the messages are nothing but courtesies and what the assistant answers to them.

    Such an answer is short and has no data: "Hello! How can I help you today?". A question of its is none where a yes or a no
    follows.
    """
    before: Block | None = None
    is_asked = False
    for block in blocks:
        is_courteous = is_small_talk(block.text)
        if block.role == "assistant" and before and before.role == "user" and not is_courteous:
            if has_data(block.text) or count_words(block.text) > _ANSWER_WORDS:
                return False
            is_asked = is_question(block.text.strip())
        elif not is_courteous or (is_asked and is_reply(block.text.strip())):
            return False
        else:
            is_asked = False
        before = block
    return True


def is_courtesy(text: str) -> bool:
    """True if the clauses are courtesies, or too short to say more: "Thanks, I see"."""
    if is_small_talk(text):
        return True
    clauses = [clause.strip() for clause in _CLAUSES.split(text) if clause.strip()]
    if not _COURTESY.match(text) or _OWN_MATTER.search(text):
        return False
    return all(_COURTESY.match(clause) or count_words(clause) <= _WORDS for clause in clauses)
