"""What nobody wants to find again: greetings, thanks, praise, wishes, and what is said of the conversation itself."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from recalld.supervisor.extracts.cues import has_data
from recalld.supervisor.extracts.replies import is_question, is_reply
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.small_talk import is_small_talk
from recalld.supervisor.text.tokenizer import HAN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recalld.supervisor.protocol.dated_file import Block

#: Words of what an assistant answers to a courtesy, at most, where that is one, too.
_ANSWER_WORDS: Final = 24
#: Words of which a clause of a courtesy has at most so many, and how many a Han character is worth.
_WORDS: Final = 4
_HAN_WORD: Final = 0.75
_HAN: Final = lazy_re(f"[{HAN}]")
_WORD: Final = lazy_re(rf"[^\W{HAN}]+(?:['’.-]\w+)*")
#: How a sentence opens that greets, thanks, praises, wishes or agrees.
_COURTESY: Final = lazy_re(
    r"(?:and |but |so )?[嗯哦啊恩那也]*[，,]?(?:嗨|你好|您好|哈喽|早安|早上好|晚上好|晚安|再见|不客气|不用谢|没关系"
    r"|谢谢|感谢|辛苦|加油|哇|哎呀|哈哈|好[的啊呀]|[是对][啊呀]|没错|确实|当然|没问题|很高兴|真棒|太[好棒]|听起来|我也?同感"
    r"|[听看]到?[你您]|[跟和]你说[件个]?事|时间不早|[我真也衷心]*(?:希望|祝|愿|期待|相信)[你您]|随时|(?:如果|要是|有什么).{0,8}(?:需要|问题)"
    r"|(?:这|那|你说|你)(?:个|些|都|真|的|是|得)*(?:听起来|主意|方法|建议|不错|非?常?好)"
    r"|(?:hi|hello|hey|good (?:morning|night)|bye|thanks?|you're welcome|no (?:problem|worries)|my pleasure|wow|who?a|woah|yay"
    r"|aww?|congrat\w*|great|awesome|amazing|nice|cool|glad|sure|of course|certainly|got it|sounds?|so (?:happy|glad|proud)"
    r"|totally|absolutely|(?:i )?(?:\S+ )?(?:agree|hope|wish|appreciate)|can't wait|let me know|keep (?:it|up|on)|take care"
    r"|good luck|have a|feel free|ha(?:ha)+|phew|that(?:'s| is| sounds| must| was)|(?:it|this) sounds|yeah|yep|yup|yes"
    r"|guess what|well done|cheers|enjoy)\b)",
    re.IGNORECASE,
)
_CLAUSES: Final = lazy_re(r"[，,。！!;；~～…]+|\.(?=\s|$)|\s[—–-]\s")
#: What makes a courtesy worth keeping all the same: a matter of the speaker's own.
_OWN_MATTER: Final = lazy_re(
    r"\bI(?:'m| am|'ve| have)? (?!glad|happy|hope|agree|appreciate|wish|think|bet)\w|\bmy\b"
    r"|我(?![也真很]|希望|祝|相信|会|都|衷心|[为替]你)"
)
#: What a sentence says of the conversation itself: advice is taken, company is praised, the next one is looked forward to.
_OF_CONVERSATION: Final = lazy_re(
    r"\b(?:your|these|those) (?:\w+ )?(?:advice|suggestions?|methods|help|support|words|company)\b"
    r"|\bshare (?:it |some\w* )?with you\b"
    r"|\bchat(?:ting|ted)? (?:\w+ )?(?:with you|again|more)\b|\btalk(?:ing)? (?:to you|with you|again)\b|\bcompanionship\b"
    r"|[你您这些]+.{0,8}(?:建议|方法|主意|陪伴|支持|倾听)|聊聊?[吧天吗。，]|想聊|下次再|跟你分享",
    re.IGNORECASE,
)


def are_courtesies(blocks: Iterable[Block]) -> bool:
    """
    Return whether the messages are nothing but courtesies and what the assistant answers to them.

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


def is_thanks(text: str) -> bool:
    """Return whether the sentence is a courtesy that is no answer and has no data."""
    return is_courtesy(text) and not (is_reply(text) or has_data(text))


def is_courtesy(text: str) -> bool:
    """Return whether the clauses are courtesies, or too short to say more: "Thanks, I see"."""
    if is_small_talk(text):
        return True
    clauses = [clause.strip() for clause in _CLAUSES.split(text) if clause.strip()]
    if not _COURTESY.match(text) or _OWN_MATTER.search(text):
        return False
    return all(_COURTESY.match(clause) or count_words(clause) <= _WORDS for clause in clauses)


def is_of_conversation(text: str) -> bool:
    """Return whether the sentence is about the conversation itself: thanks for advice, looking forward to the next one."""
    return bool(_OF_CONVERSATION.search(text))


def count_words(text: str) -> int:
    """Return how many words the text has, about."""
    return math.ceil(_HAN_WORD * len(_HAN.findall(text))) + len(_WORD.findall(text))
