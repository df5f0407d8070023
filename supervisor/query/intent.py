"""
The kind of a request by its form: chatter, about the user, or about what somebody said.

The rules are closed lists of everyday phrases in Chinese and English; the subject of a request plays no part.
Source: docs/explanation/recall.md, the gate.
"""

from __future__ import annotations

import re
from typing import Final

from ..text.lazy_re import lazy_re
from ..text.small_talk import is_small_talk
from ..text.tokenizer import tokens
from ..text.word_frequency import rarity_asked

#: The forms of a question, of an exclamation, and of a question to the assistant about itself.
_QUESTION: Final = lazy_re(
    r"[?？]|\b(?:what(?! an?\b)|when|where|who|whom|whose|which|why|how)\b|什么|[哪谁几怎咋啥吗呢]|多少|为何", re.IGNORECASE
)
_EXCLAIMS: Final = lazy_re(
    r"^\W*(?:I'm|I am|it's|it is|that's|what an?|just|so|such|can't believe|finally|well|oh|wow|omg|ugh|yeah|honestly)\b|!\s*$"
    r"|(?:[啊呀哦啦哇呐嘛]|了)[!！。~～…\s]*$|^(?:唉|哎|哇|终于|又|太|真是?|今天好|好[累困热冷饿烦])",
    re.IGNORECASE,
)
_TO_YOU: Final = lazy_re(
    r"^\W*(?:are you (?:there|ok|okay|sure|serious|kidding|real|awake|listening|busy|tired|still|an?|human|alive|happy|bored)"
    r"|do you (?:like|love|sleep|dream|feel|exist|hear|understand|ever|even|get|enjoy|want)|can you (?:hear|see|understand)"
    r"|have you (?:eaten|slept|been)|how(?:'s| is| are) (?:you(?! \w+ to)|your day|it going|things|everything)|what's up)\b"
    r"|^(?:那|所以)?你(?:还好|今天(?:过得|怎么|好|累|忙|心情|开心)|是(?:谁|人|机器|真人|[Aa][Ii]|什么|不是人)|会(?:累|困|做梦|无聊|难过|想)"
    r"|有没有(?:感情|意识|名字|心情)|喜欢|觉得(?:累|无聊|开心|我)|在干|在做|累|困|能听|叫什么)",
    re.IGNORECASE,
)
#: A clause with the mark that ends it, and the rarity from which a word says what a text is about.
_CLAUSE: Final = lazy_re(r"[^,，、。.！!？?;；~～…\n]+[,，、。.！!？?;；~～…\n]*")
_TELLING: Final = 0.65
_THEIRS: Final = r"推荐|建议|告诉|提到|提过|介绍|教(?![堂室授育练])|提供|回答|劝|讲过|(?<![小听])说(?!明|法)"
#: The same as verbs of English, after "did you", and as they stand after "you".
_DID: Final = "recommend|suggest|tell|say|mention|advise|give|offer|propose|think|explain|warn|write|draft|list|fix|work out"
_DONE: Final = (
    "recommended|suggested|told|said|mentioned|advised|gave|given|offered|proposed|thought(?! of)|explained|warned|wrote"
    "|written|drafted|listed|fixed|worked out"
)
#: A question about what the assistant has said; a request for something new is not one: 你能推荐, "would you recommend".
_YOU: Final = lazy_re(
    r"(?<!请)(?<!麻烦)你(?!能|可|会|要|想|好|觉得|认为|知道|再|查|说.{0,3}[是这呢吧]|帮(?!.{0,6}[过了的])"
    rf"|给我(?!.{{0,8}}(?:[过了的哪]|什么|啥))|告诉我(?![过了的])).{{0,12}}(?:{_THEIRS})"
    rf"|你(?:当时|上次)?(?:给我?|[列排写选算])(?:过?的|过)|\bdid you\b.{{0,25}}\b(?:{_DID})\b|\baccording to you\b"
    rf"|\byou(?:'ve|'d| have| had| once| just| also| already)*(?: \w+)? (?:{_DONE})\b"
    r"|你(?:让|叫)我.{1,8}的.{0,8}(?:什么|啥|哪|几|多少|谁|怎么)"
    r"|\byour (?:recommendation|suggestion|advice|answer)|\b(?:recommended|suggested) (?:to|for) me\b",
    re.IGNORECASE,
)
_I: Final = lazy_re(
    rf"我.{{0,12}}(?:向|和|给|跟|对)你.{{0,4}}(?:{_THEIRS}|分享)|\bI\b.{{0,20}}\b(?:recommend|mention|told|suggest|said)\w*",
    re.IGNORECASE,
)
#: A question with "my", "I" or 我 is about the user; any sentence with 来着 or "I told you" is about what was said; a relative
#: in Chinese is the user's own. A wish (帮我) is not about the user.
_OWN: Final = lazy_re(
    r"\b(?:my|mine|our|ours|I|im|ive|we|remember|remind)\b"
    r"|我们?的|(?<![帮给替让教为请叫])我(?!想(?!起|不)|要|需|该|应|能|可|怎|如|来(?!自)|先(?!生)|问)",
    re.IGNORECASE,
)
_SAID: Final = lazy_re(
    r"来着|记得|上次|想起来?我|(?:(?<!听)说|[提聊讲])过|(?<!给)我[^，。！？,.!?]{0,2}过(?![来去年节程滤目一])"
    r"|婆婆|公公|老[公婆](?!饼)|媳妇|岳[父母]|爸爸|妈妈|[我老咱][爸妈]|爷爷|奶奶|(?<![国海])外公(?![司布开告示])|外婆|姥[姥爷]"
    r"|女儿(?![国红])|儿子|闺女|(?<!娃)娃(?!娃)"
    r"|\b(?:remember|remind|I (?:\w+ )?(?:told|said|mentioned)|last time)\b",
    re.IGNORECASE,
)
#: What a person wants from now on, whatever they ask: at the beginning of a message or of one of its sentences.
_WISHES: Final = lazy_re(
    r"(?:^|[.!?;,:\n]\s*)(?:(?:and|but|so|ok|okay|please|pls|also|btw|hey)[, ]+)*"
    r"(?:always|never|from now on|in (?:the )?future|don't ever|do not ever|(?:i'd |i )?(?:always |really )?prefer|no more)\b"
    r"|\b(?:from now on|(?:pls|please) (?:always|never)"
    r"|always (?:use|give|show|answer|write|call|put|include|keep|make|format|add)"
    r"|never (?:suggest|recommend|use|call|put|give|add|show|include|mention))\b"
    r"|(?:^|[，。！？；,.!?;\s])(?:以后|今后|往后|从现在(?:起|开始)|从今(?:天|以后|往后)|每次都?|一律|永远|千万)"
    r"(?:都|就|请|麻烦|别|不要|给|用|不|回|只|叫|写)"
    r"|(?:别|不要|不用)再(?:给|跟|推荐|提|说|发|用|叫|写)",
    re.IGNORECASE,
)
#: Characters of a message in which a wish is looked for.
_WISH_CHARS: Final = 400


def is_standing_wish(text: str) -> bool:
    """
    Return whether a message of the user's says what they want from now on.

    >>> [is_standing_wish(text) for text in ("always give me metric units", "以后回答短一点", "别再给我推荐海鲜")]
    [True, True, True]
    >>> [is_standing_wish(text) for text in ("it always rains here", "以后再说吧", "I never liked fish")]
    [False, False, False]
    """
    return bool(_WISHES.search(text[:_WISH_CHARS]))


def is_chatter(question: str) -> bool:
    """
    Return whether the text asks nothing: it has only everyday words, and a courtesy, an exclamation or a word to the assistant.

    >>> [is_chatter(text) for text in ("thanks, that's all for now", "今天好累啊", "what a long day", "你今天怎么样")]
    [True, True, True, True]
    >>> [is_chatter(text) for text in ("thanks! where do I live?", "煤球好累啊", "long day", "do you remember my name?")]
    [False, False, False, False]
    """
    clauses = [clause for clause in _CLAUSE.findall(question) if clause.strip()]
    rest = [clause for clause in clauses if not is_small_talk(clause)]
    if any(rarity_asked(word) >= _TELLING for clause in rest for word in tokens(clause)):
        return False
    if any(map(_TO_YOU.search, rest)):
        return not _OWN.search(question)
    asks = any(_QUESTION.search(clause) for clause in rest)
    return not asks and (len(rest) < len(clauses) or bool(_EXCLAIMS.search(question)))


def is_about_oneself(asking: str, question: str) -> bool:
    """
    Return whether a request is about the user, or about what was said; *asking* are those sentences of *question* that ask.

    >>> is_about_oneself("Where do I live?", "Where do I live?"), is_about_oneself("它叫什么？", "我说过一部电影。它叫什么？")
    (True, True)
    >>> is_about_oneself("帮我写一封信", "帮我写一封信")
    False
    """
    return bool(_OWN.search(asking) or _SAID.search(question))


def role_asked_for(asking: str) -> str:
    """
    Return whose words are asked for: "user", "assistant", or "" for anybody's.

    >>> [role_asked_for(text) for text in ("你给我推荐了哪些电影？", "Which song did I mention?", "你能推荐一部吗？")]
    ['assistant', 'user', '']
    >>> [role_asked_for(text) for text in ("why was it flat, according to you", "你让我带的药叫啥", "你给我的两家民宿叫啥")]
    ['assistant', 'assistant', 'assistant']
    """
    if _I.search(asking):
        return "user"
    return "assistant" if _YOU.search(asking) else ""
