"""What a sentence looks like that a person wants to find again: decisions, things to do, likes and limits, findings, data."""

from __future__ import annotations

import re
from typing import Final

_DECISION: Final = (
    r"决定|定了|定为|敲定|选了|就用|改成|改为|改到|改期|换成|换到|挪到|不用了|不再|不要了|一律|以后(?:都|就|叫|用)",
    r"取消|推迟|提前到|说好|约好",
    r"\b(?:decided?|decision|agreed|chose|settled|switch(?:ed|ing)?|postponed|cancell?ed)\b",
    r"\blet's (?!see|hope)|\bgo(?:ing)? with\b|\binstead of\b|\bno longer\b|\bfrom now on\b|\bmoved (?:to|from)\b",
)
_TO_DO: Final = (
    r"待办|记得|别忘|提醒|要去|得去|还没|打算|计划|准备|截止|到期|最迟|下周|下个?月|明天|后天|预约|报名",
    r"\b(?:to-?do|needs? to|have to|must|don't forget|plan(?:ning|s)? to|deadline|due|tomorrow|signed up)\b|\bremind",
    r"\bnext (?:week|month|year|time)\b",
)
_PERSON: Final = (
    r"喜欢|最爱|爱吃|讨厌|不吃|不喝|过敏|忌口|偏好|习惯|害怕|我叫|名字|生日|住在|住址|电话|地址|邮箱|职业|工作是|毕业",
    r"女朋友|男朋友|老婆|老公|妻子|丈夫|女儿|儿子",
    r"\b(?:prefers?|favou?rites?|hates?|can't stand|vegan|vegetarian)\b|\ballerg",
    r"\bmy (?:name|birthday|wife|husband|girlfriend|boyfriend|partner|son|daughter|address|phone|job)\b",
    r"\bI(?:'m| am) an? \w|\bI live\b",
)
_OWN: Final = (
    r"我(?:家|妈|爸|哥|姐|弟|妹|儿|女|老|爷|奶|们家|的|平时|现在|一直|要|将|在|也?去|用|买|穿|开)|参加",
    r"\bmy \w|\bour \w|\bI've (?:been|got|started|just)|\bI(?:'m| am) (?:now|going|running|taking|doing|starting|learning)\b",
)
_FINDING: Final = (
    r"原因|结果|结论|发现|解决|修好|修复|搞定|终于|原来是",
    r"\b(?:because|turns? out|fixed|confirmed|root cause|error|fatal|failed)\b",
)
_DATA: Final = (
    r"`[^`]+`|https?://|(?<!\w)[~.]?/\w+/|《[^》]+》|「[^」]+」|[¥￥$€£]\s?\d|\d\s?(?:元|块|万|%|％)",
    r"\d{4}-\d\d|\d+ ?[月号日点]|\d\d?:\d\d|周[一二三四五六日]",
    r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d",
)

#: Each kind of cue and what it adds to a sentence, in words of the rarest kind.
CUES: Final = tuple(
    (re.compile("|".join(patterns), re.IGNORECASE), worth)
    for patterns, worth in ((_DECISION, 1.6), (_TO_DO, 1.0), (_PERSON, 1.2), (_OWN, 0.6), (_FINDING, 0.8), (_DATA, 0.8))
)

#: What makes a courtesy more than one: a number, a name given, code, something decided.
_TELLING: Final = re.compile(r"\d|我叫|名字|my name|`|/\w|《|决定|改|过敏|allerg", re.IGNORECASE)
#: How a sentence opens that greets, thanks, praises or offers help; short ones say nothing else.
_COURTESY: Final = re.compile(
    r"\W*(?:嗨|你好|您好|哈喽|早安|早上好|晚上好|晚安|再见|不客气|不用谢|没关系|谢谢|感谢|辛苦|加油|哇|哎呀|好的|当然可以|没问题|很高兴"
    r"|(?:那|这|听起来|听着)?真?是?(?:太|很)(?:好|棒)|听起来|我是.{0,4}AI|有什么.{0,6}帮"
    r"|(?:hi|hello|hey|good morning|good night|bye|thanks?|thank you|you're welcome|no problem|my pleasure)\b"
    r"|(?:wow|woah|whoa|yay|aww?|congrats|great|awesome|amazing|nice|cool|glad|sure|of course|certainly|got it|sounds)\b"
    r"|(?:so (?:happy|glad|proud)|totally|absolutely|i'm (?:your|an) ai|i (?:\S+ )?agree|how can i|let me know|can't wait)\b"
    r"|that(?:'s| is| sounds)? (?:so |really |such )?(?:great|awesome|amazing|nice|cool|wonderful)\b|keep (?:it|on)\b)",
    re.IGNORECASE,
)
_COURTESY_COLUMNS: Final = 40
#: Columns up to which a further clause of a courtesy says nothing: a name, "I see".
_NAME_COLUMNS: Final = 8
#: A clause that is a laugh, a sigh or praise, and nothing else.
_CRY: Final = re.compile(
    r"\W*(?:[哈呵嘻嘿嗯啊哦呀哎唉哇噢]+|(?:那|这)?(?:真|太|很|好)(?:好|棒|厉害|不错|开心|高兴)了?"
    r"|(?:ha){2,}h?|lol|phew|ugh|yikes|ouch|oh|ah|aw+)\W*",
    re.IGNORECASE,
)
#: A clause that wishes, or offers more of the same.
_WISH: Final = re.compile(
    r"\W*(?:我?(?:真|也|衷心)?(?:希望|祝愿?|愿|期待|相信)(?:你|您|一切|早日|这|能).{0,6}(?:早日|尽快|顺利|[开欢]心|[快欢]乐|愉快|健康"
    r"|康复|幸福|好起来|好转|享受|成功|满意|有帮助|帮到)|(?:听|看)(?:到?你|到?您)(?:这么|这样)"
    r"|(?:如果|要是|若).{0,8}(?:需要|问题)|(?:有|任何).{0,8}(?:需要|问题|困难)|(?:也?可以|请|欢迎)?随时(?:找|来|联系|告诉|问)"
    r"|我(?:也|真|很|都|会)*(?:为你|替你|高兴|开心|一直在|在这)|多?保重|加油|照顾好自己"
    r"|(?:and |so |but )?(?:(?:i |we )?(?:really )?hope (?:you(?:'re| are| feel| have| get| enjoy)|(?:this|it) helps)\b"
    r"|(?:i )?wish(?:ing)? you (?:all|a|luck|well)\b|take care\b|good luck\b|best of luck|all the best|get well"
    r"|have a (?:\w+ )?(?:day|night|time|weekend|trip)\b|feel free\b|if you (?:ever )?(?:need|have any) "
    r"|i(?:'m| am) (?:always |so |really )?(?:here for|happy for|glad|rooting)|you(?:'ve| have)? got this"
    r"|stay (?:safe|strong|well)))",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(r"[，,。！!;；~～…]+|\.(?=\s|$)|\s[—–-]\s")
#: Code or a quotation that breaks off after a few words, or data without a word beside it.
_BROKEN: Final = re.compile(
    r".{0,30}`[^`]{0,60}…`|.{0,30}[`“「『《][^`”」』》]{0,8}…?|[!-~]{24}…|[^\s，。！？；、：]{24}…", re.DOTALL
)
#: Characters without a blank, or without a mark, from which they are data and no prose; and how many of them are shown.
_RUN: Final = re.compile(r"[!-~]+|[^\s!-~，。！？；、：…]+")
_DATA_RUN: Final = 300
_DATA_SHOWN: Final = 24
#: What is no word of a topic: addresses, paths, HTML, data.
_MACHINE: Final = re.compile(
    r"(?:https?|ftp|file)://[^\s，。）」]+|\bdata:\S+|[!-~]{24}…|</?[A-Za-z][^>\n]{0,200}>|&[a-z]{2,6};"
    r"|\b(?:[\w-]+\.)+(?:com|org|net|io|cn|dev|app|ai|edu|gov|me|co|uk|de|jp)\b(?:[/:][^\s，。]*)?|(?<![\w.])~?(?:/[\w.-]+){2,}",
    re.ASCII,
)
#: A word that names nothing: laughs, repeated letters, endings in hiragana, tags, placeholders.
_NAMELESS: Final = re.compile(
    r".*(.)\1\1.*|([a-z]{1,2})\2+|[哈呵嘻嘿嗯啊哦呀哎唉哇噢]+|.*[\u3041-\u309f].*"
    r"|h[1-6]|[hb]r|div|span|html?|href|img|src|https?|www|com|foo|ba[rz]|base64",
    re.IGNORECASE,
)
#: Cues that make a wish more than one: all but "my", "our".
_LEAST_CUE: Final = 0.8
#: What is in brackets alone: a picture, a sticker, a file.
_ATTACHED: Final = re.compile(r"\s*\[[^\]]*\]\s*")
#: What assistants say of themselves.
_DISCLAIMER: Final = re.compile(
    r"作为(?:一[个名位])?(?:虚拟|AI|人工智能|语言模型)|我(?:只)?是(?:一[个名位])?(?:AI|人工智能)|没有实体"
    r"|\bas an? (?:AI|language model)\b|\bI(?:'m| am) (?:just )?an AI\b",
    re.IGNORECASE,
)
_HARDLY: Final = 0.4


def substance(text: str) -> float:
    """Return the share of its words' worth that a sentence is given: a courtesy none, a caption or disclaimer little."""
    if _ATTACHED.fullmatch(text) or _DISCLAIMER.search(text) or _BROKEN.fullmatch(text):
        return _HARDLY
    if _TELLING.search(text):
        return 1.0
    return 0.0 if _only_wishes(text) else 1.0


def _only_wishes(text: str) -> bool:
    """Tell whether the sentence is courtesy and wishes clause by clause, and has no cue of a fact."""
    clauses = [clause for clause in _CLAUSE_END.split(text) if any(map(str.isalnum, clause))]
    if not clauses or any(cue.search(text) for cue, worth in CUES if worth >= _LEAST_CUE):
        return False
    first, *rest = clauses
    return _is_courtesy(first) and all(columns(clause) <= _NAME_COLUMNS or _is_courtesy(clause) for clause in rest)


def _is_courtesy(clause: str) -> bool:
    short = columns(clause) <= _COURTESY_COLUMNS and _COURTESY.match(clause)
    return bool(short or _WISH.match(clause) or _CRY.fullmatch(clause))


def data_shortened(text: str) -> str:
    """Return *text* with each run of data cut to its beginning, so that it never takes the place of words beside it."""
    return _RUN.sub(lambda run: f"{run[0][:_DATA_SHOWN]}…" if len(run[0]) > _DATA_RUN else run[0], text)


def topical(text: str) -> str:
    """Return *text* without what is no word of a topic: addresses, tags, data."""
    return _MACHINE.sub(" ", text)


def names_nothing(word: str) -> bool:
    """Tell whether a word is unfit for a heading: a laugh, a tag, an ending."""
    return bool(_NAMELESS.fullmatch(word))


def columns(text: str) -> int:
    """Return the width of *text* as it is seen: two for a wide character."""
    return len(text) + sum(char > "\u2e7f" for char in text)


def cue_worth(text: str) -> float:
    """Return the worth of all cues in a sentence."""
    return sum(worth for cue, worth in CUES if cue.search(text))
