"""
A message cut into sentences of one line each, as they are written; what each of them is about, and what it names.

The lines come from lines.py; the items of a list join the line that announces them, and an answer stays with its question. A
sentence is rated by cues: what people say of themselves, decisions, plans, numbers, names. Which of them an extract quotes is
decided in extract.py.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from recalld.supervisor.extracts.lines import is_code, lines
from recalld.supervisor.text.chinese import cut_whole, is_noun, to_simplified
from recalld.supervisor.text.language import language_of
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.small_talk import is_chitchat
from recalld.supervisor.text.tokenizer import CHINESE, ENGLISH, HAN
from recalld.supervisor.text.word_frequency import is_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: What people say of themselves: likes, dislikes, what they are called, where they live.
_PERSON: Final = (
    r"喜欢|最爱|爱[吃听看喝]|讨厌|不吃|不喝|过敏|忌口|偏好|习惯|害怕|感兴趣|我叫|名字|生日|住在|地址|邮箱|电话|职业|工作|毕业|擅长|梦想",
    r"女朋友|男朋友|老婆|老公|妻子|丈夫|女儿|儿子",
    r"(?<=\w )(?:love|enjoy)\b|\b(?:prefers?|favou?rites?|hates?|can't stand|vegan|vegetarian|keen on|interested in)\b",
    r"\b(?:passionate|dream|allerg\w+)\b",
    r"\bmy (?:name|birthday|address|phone|job)\b|\bI(?:'m| am) an? \w|\bI (?:live|work|study)\b",
)
_DECISION: Final = (
    r"决定|定了|敲定|选了|改成|改为|改到|换成|不再|一律|以后[你您]?(?:都|就|叫|用|要|别)|取消|推迟|说好|约好",
    r"\b(?:decided?|agreed|chose|switch(?:ed|ing)?|postponed|cancell?ed|instead of|no longer|from now on|moved)\b",
)
_TO_DO: Final = (
    r"待办|记得|别忘|提醒|要去|打算|计划|准备|截止|到期|最迟|下周|下个?月|明天|后天|预约|报名|想[去要学买]",
    r"\b(?:to-?do|needs? to|have to|must|don't forget|plan(?:ning|s)? to|deadline|due|tomorrow|signed up|applied|want to)\b",
    r"\bremind|\bnext (?:week|month|year|time)\b|\blooking (?:into|for)\b",
)
#: What one has and has done.
_OWN: Final = (
    r"我的|我[家妈爸哥姐弟妹儿女老爷奶]|了|\b(?:my|our)\b|\bI've\b|\bI(?:'m| am) \w+ing\b",
    r"\b(?:went|got|bought|made|took|started|finished|found|met|won|lost|joined|visited|learn(?:ed|t))\b",
)
_FINDING: Final = (
    r"原因|结果|结论|发现|解决|修好|搞定|终于",
    r"\b(?:because|turns? out|fixed|confirmed|root cause|error|failed)\b",
)
_WHEN: Final = (
    r"昨[天晚]|上周|上个?月|去年|最近",
    r"\b(?:yesterday|last (?:week|month|year|night|\w+day|weekend)|ago|recently|years?|since)\b",
)
#: Each cue, and what it adds to a sentence, in words of the rarest kind.
_CUES: Final = tuple(
    (lazy_re("|".join(patterns), re.IGNORECASE), worth)
    for patterns, worth in ((_PERSON, 1.2), (_DECISION, 1.6), (_TO_DO, 0.8), (_OWN, 0.6), (_FINDING, 0.8), (_WHEN, 0.6))
)
_IS_OF_PERSON: Final = _CUES[0][0]
_IS_DECISION: Final = _CUES[1][0]
#: Numbers, dates, code, addresses, titles and names, by their shape; what it adds, and how much it counts.
_FIGURES: Final = lazy_re(r"\d|`[^`]+`|https?://|(?<!\w)[~.]?/\w+/")
_DATA: Final = lazy_re(
    rf"{_FIGURES.pattern}|《[^》]+》|「[^」]+」|[\"“][^\"”]+[\"”]|周[一二三四五六日]|[一二三四五六七八九十][月号日点]"
    rf"|[{HAN}] ?(?!AI)[A-Za-z]{{2}}|(?<![A-Za-z])(?!AI)[A-Za-z]{{2,}} ?[{HAN}]|(?<=\w )(?!AI)[A-Z]\w*[a-z]\w*"
)
_DATA_WORTH: Final = 0.8
_WITH_DATA: Final = 1.5
_OF_SELF: Final = 1.4
_OF_OTHER: Final = 0.3  # of the person who is spoken to
_OF_MACHINE: Final = 0.25
_SELF: Final = lazy_re(r"\b(?:I|me|my|mine|we|our|us)\b|[我咱]|自己")
_OTHER: Final = lazy_re(r"\b(?:you|yours?)\b|[你您]", re.IGNORECASE)
_QUESTION: Final = lazy_re(r"(?:[?？][”\"'）)」]*|(?:吗|[你您]呢)[。.～~]?)$")
#: What comes before a comma in a question, but not in a statement.
_ASKING: Final = lazy_re(
    r"^\W*(?:and |but |so )?(?:am|is|are|was|were|do|does|did|can|could|will|would|shall|should|may|have|has|wh\w+|how)\b"
    r"|什么|怎么|怎样|哪|谁|几|多少|是否|(\w)不\1",
    re.IGNORECASE,
)
#: An answer of fewer characters says little without its question; so does one that opens like this.
_CURT: Final = 14
_REPLY: Final = lazy_re(
    r"(?:有|没有?|是的?|不是?|对|不对|会|不会|能|不能|要|不要|可以|不可以|行|不行|好|嗯|还没有?|已经|当然)(?:[，,。！!；\s]|的|啊|了|$)"
    r"|(?:yes|yeah|yep|no|nope|not yet|sure|ok|okay|both|neither|of course|true|right|correct)\b"
    r"|i (?:do|did|don't|didn't|have|haven't|am|can|will)\b",
    re.IGNORECASE,
)
#: Words of which a sentence without data has at least so many, and how many a Han character is worth.
_WORDS: Final = 4
_HAN_WORD: Final = 0.75
_HAN: Final = lazy_re(f"[{HAN}]")
_WORD: Final = lazy_re(rf"[^\W{HAN}]+(?:['’.-]\w+)*")
#: How a sentence opens that greets, thanks, praises, wishes or agrees.
_COURTESY: Final = lazy_re(
    r"(?:and |but |so )?[嗯哦啊恩那也]*[，,]?(?:嗨|你好|您好|哈喽|早安|早上好|晚上好|晚安|再见|不客气|不用谢|没关系"
    r"|谢谢|感谢|辛苦|加油|哇|哎呀|哈哈|好[的啊呀]|[是对][啊呀]|没错|确实|当然|没问题|很高兴|真棒|太[好棒]|听起来|我也?同感"
    r"|[听看]到?[你您]|时间不早|[我真也衷心]*(?:希望|祝|愿|期待|相信)[你您]|随时|(?:如果|要是|有什么).{0,8}(?:需要|问题)"
    r"|(?:这|那|你说|你)(?:个|些|都|真|的|是|得)*(?:听起来|主意|方法|建议|不错|非?常?好)"
    r"|(?:hi|hello|hey|good (?:morning|night)|bye|thanks?|you're welcome|no (?:problem|worries)|my pleasure|wow|who?a|woah|yay"
    r"|aww?|congrat\w*|great|awesome|amazing|nice|cool|glad|sure|of course|certainly|got it|sounds?|so (?:happy|glad|proud)"
    r"|totally|absolutely|(?:i )?(?:\S+ )?(?:agree|hope|wish|appreciate)|can't wait|let me know|keep (?:it|up|on)|take care"
    r"|good luck|have a|feel free|ha(?:ha)+|phew|that(?:'s| is| sounds| must| was)|(?:it|this) sounds|yeah|yep|yup|yes"
    r"|well done|cheers|enjoy)\b)",
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
#: How an assistant advises.
_ADVICE: Final = lazy_re(
    r"你(?:还|也)?(?:可以|应该|需要|不妨|要)|[试看]试|尝试|建议"
    r"|\byou (?:can|could|may|might|should|need to|must)\b|\b(?:try|consider|make sure|don't forget)\b",
    re.IGNORECASE,
)
#: What assistants say of themselves.
_DISCLAIMER: Final = lazy_re(
    r"作为(?:一[个名位])?(?:虚拟|AI|人工智能|语言模型)|我(?:只)?是(?:一[个名位])?(?:AI|人工智能)|没有实体"
    r"|\bas an? (?:AI|language model)\b|\bI(?:'m| am) (?:just )?an AI\b",
    re.IGNORECASE,
)

#: What is no word of a topic: addresses, paths, tags, data; and what may be a password.
_NO_TOPIC: Final = lazy_re(
    r"(?:https?|ftp|file)://[^\s，。）」]+|\bdata:\S+|[!-~]{24}…|</?[A-Za-z][^>\n]{0,200}>|&[a-z]{2,6};|~?(?:/[\w.-]+){2,}"
    r"|\b(?:[\w-]+\.)+[a-z]{2,4}\b(?:[/:][^\s，。]*)?"
    r"|(?:密码|口令|密钥|password|passwd|passphrase|secret|api[ _-]?key|token)\s*(?:是|为|is\b)?\W*\S+",
    re.IGNORECASE,
)
#: How a sentence opens that means the one before it.
_LEANING: Final = lazy_re(r"[它他她]们?|(?:it|its|it's|they|they're|them|he|she|he's|she's|his|her)\b", re.IGNORECASE)
_HAN_RUN: Final = lazy_re(f"[{HAN}]+")
_LONGEST_NOUN: Final = 8
_PRONOUN: Final = lazy_re("[我你您他她它这那哪谁]")
_LATIN_NAME: Final = lazy_re(r"(?<![\w./-])[A-Za-z]{3,}(?![\w./-])")
_STOP: Final = "|".join(sorted(ENGLISH))
_NOUN_PHRASE: Final = lazy_re(
    r"\b(?:the|an?|my|our|his|her|their|your|this|some|of|for|in|at|about|with|from)\s"
    rf"((?:(?!(?:{_STOP})\b)[A-Za-z]+(?:-[A-Za-z]+)*\s){{0,2}}(?!(?:{_STOP})\b)[A-Za-z]+(?:-[A-Za-z]+)*)"
    rf"(?=[.,;:!?)\"…]|\s-\s|\s(?:{_STOP})\b|$)",
    re.IGNORECASE,
)
#: How an English word ends that is hardly a noun.
_NO_NOUN: Final = lazy_re(r"(?:ed|ly|est|ous|ful|ive|able|ible|less)$", re.IGNORECASE)

#: Characters of a sentence, and of the items of a list that are put into one.
LONGEST: Final = 220
#: Characters of a message that are read: a pasted book says what it is on its first pages.
_READ: Final = 60_000
#: Characters without a blank, or without a mark, from which they are data and no prose; and how many of them are shown.
_DATA_RUN: Final = 300
_DATA_SHOWN: Final = 24
#: Letters below which a piece joins its neighbour: "早。", "OK."
_STUMP: Final = 3
#: Characters before a full stop that show whether it ends a sentence.
_READ_BACK: Final = 12

_RUN: Final = lazy_re(r"[!-~]+|[^\s!-~，。！？；、：…]+")
_INVISIBLE: Final = lazy_re(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff]"
)
_BREAK: Final = lazy_re(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SURROGATE: Final = lazy_re("[\ud800-\udfff]")
_END: Final = lazy_re(
    rf"[。！？]+[”’\"'）)』」》\]]*|(?<![!?])[!?]+[”\"'）)\]]*(?=\s|$|[{HAN}])|(?<!…)…+(?=\s)|\.[”\"')\]]*(?=\s)",
)
_ABBREVIATED: Final = lazy_re(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|Prof|St|No|approx|dept|Fig|Jr|Sr)|\b[A-Z]|^\d{1,2})$")
_OPEN: Final = {"（": "）", "(": ")", "「": "」", "『": "』", "“": "”", "《": "》", "【": "】"}
_CLAUSE: Final = lazy_re(r"[，,；;、：:]\s*|\s[—–-]\s|\s+")


def sentences(text: str) -> list[str]:
    r"""
    Return the sentences of *text*, each on one line, in their order, as they are written.

    >>> sentences("今天 3.11 装好了。备份呢？\n\n要买的：\n- 牛奶\n- 3 个鸡蛋")
    ['今天 3.11 装好了。', '备份呢？', '要买的：牛奶；3 个鸡蛋']
    """
    shortened = _RUN.sub(lambda run: f"{run[0][:_DATA_SHOWN]}…" if len(run[0]) > _DATA_RUN else run[0], clean(text[:_READ]))
    found: list[str] = []
    may_join = False  # an item may join the last line: it announces a list, or is an item
    for kind, piece in lines(shortened):
        line = f"`{cut(piece, LONGEST // 2)}`" if kind == "fault" else piece
        before = found[-1].rstrip("；;，,。.") if found else ""
        if kind != "prose" and may_join and len(before) + len(line) < LONGEST:
            found[-1] = before + joint(before) + line
        else:
            found += [cut(line, LONGEST)] if kind != "prose" else [cut(piece, LONGEST) for piece in _split(line)]
        may_join = kind != "prose" or line.endswith((":", "："))
    return found


def clean(text: str) -> str:
    """Return *text* with plain line breaks and without characters that can't be seen, or can't be written."""
    return _SURROGATE.sub("\ufffd", _INVISIBLE.sub("", _BREAK.sub("\n", text)))


def units(parts: Sequence[str], asked: str, longest: int) -> Iterator[tuple[str, str]]:
    """Yield what is quoted as one, and the question it answers: a sentence that means the one before it is joined to it."""
    held, question, has_answer = "", "", False
    for sentence in parts:
        text = cut(without_question(sentence), longest)
        joined = f"{held}{joint(held)}{text}"
        leans = _LEANING.match(text) or (question and _is_bare_reply(held) and not _SELF.search(text))
        if held and leans and len(joined) <= longest and not (is_question(text) or is_question(held)):
            held = joined
            continue
        if held:
            yield held, question
        is_thanks = _is_courtesy(text) and not (_REPLY.match(text) or _DATA.search(text))
        is_answer = bool(asked) and not has_answer and not is_thanks and needs_question(text)
        has_answer = has_answer or not (is_chitchat(text) or is_thanks) or is_answer
        held, question = "" if is_chitchat(text) and not is_answer else text, cut(asked, longest) if is_answer else ""
    if held:
        yield held, question


def cut(text: str, longest: int) -> str:
    """Return *text* up to a clause of at most *longest* characters, marked with …, and not inside of a quotation or code."""
    if len(text) <= longest:
        return text
    ends = [match.start() for match in _CLAUSE.finditer(text, 0, longest - 1)]
    shown = text[: ends[-1] if ends and ends[-1] > longest // 2 else longest - 1].rstrip()
    opened = [shown.rfind(left) for left, right in _OPEN.items() if shown.rfind(left) > shown.rfind(right)]
    last = max([shown.rfind("`") if shown.count("`") % 2 else -1, *opened])
    if last > longest // 2:
        return shown[:last].rstrip() + "…"
    return f"{shown}…`" if shown.count("`") % 2 else f"{shown}…"


def end_of(question: str, longest: int) -> str:
    """
    Return the last clauses of a question, of at most *longest* characters, marked with … where more is before them.

    >>> end_of("I have a brother in Norway, and you, do you live there?", 24)
    '…do you live there?'
    """
    if len(question) <= longest:
        return question
    starts = [match.end() for match in _CLAUSE.finditer(question, len(question) - longest + 1) if match[0].strip()]
    return f"…{question[starts[0] :]}" if starts and starts[0] < len(question) else cut(question, longest)


def joint(before: str) -> str:
    """Return what comes between a sentence and the next one on the same line."""
    is_wide = before[-1:] > "\u2e7f"
    if before[-1:].isalnum():
        return "；" if is_wide else "; "
    return "" if is_wide else " "


def columns(text: str) -> int:
    """Return the width of *text* as it is seen: two for a wide character."""
    return len(text) + sum(char > "\u2e7f" for char in text)


def is_question(text: str) -> bool:
    """Return whether the sentence asks."""
    return bool(_QUESTION.search(text))


def _is_bare_reply(text: str) -> bool:
    """Return whether the sentence says yes or no and nothing else, so that the next one goes on with the answer."""
    reply = _REPLY.match(text)
    return reply is not None and not any(map(str.isalnum, text[reply.end() :]))


def needs_question(text: str) -> bool:
    """Return whether a sentence says little without the question that it answers."""
    return len(text) <= _CURT or bool(_REPLY.match(text))


def without_question(text: str) -> str:
    """
    Return what the speaker states before the question that ends the sentence; the whole sentence where that is nothing.

    >>> without_question("我很喜欢打羽毛球和游泳，你也喜欢运动吗？"), without_question("你呢？")
    ('我很喜欢打羽毛球和游泳…', '你呢？')
    """
    stated = max(text.rfind("，"), text.rfind(", "))
    head = text[: max(stated, 0)]
    states = is_question(text) and _SELF.search(head) and not _ASKING.search(head) and _words(head) >= _WORDS
    return f"{head}…" if states else text


def cue_worth(text: str) -> float:
    """Return what the cues of a sentence add to its words, in words of the rarest kind."""
    return _DATA_WORTH * bool(_DATA.search(text)) + sum(worth for cue, worth in _CUES if cue.search(text))


def weight(text: str, asked: str = "", *, person: bool) -> float:
    """
    Return how much the words of a sentence count; 0 where it must not be quoted.

    *asked* is the question that it answers, with which it is shown. *person*: a human being says it; of a machine only data
    counts.

    >>> weight("You've got guts.", person=True), weight("我对花生过敏。", person=True) > 1
    (0.0, True)
    >>> weight("pip install rjieba", person=True), weight("pip install rjieba makes it faster.", person=True) > 0
    (0.0, True)
    """
    shown = f"{asked} {text}"
    has_data = bool(_DATA.search(shown))
    if is_question(text) or text.endswith((":", "：")) or _DISCLAIMER.search(text) or is_code(text):
        return 0.0
    if not person:
        is_lecture = bool(_ADVICE.search(text)) and not _FIGURES.search(text)
        return 0.0 if not has_data or is_lecture or _is_courtesy(text) else _WITH_DATA * _OF_MACHINE
    of_person = bool(_IS_OF_PERSON.search(shown))
    if not has_data:
        if not of_person and _words(shown) < _WORDS:
            return 0.0
        if _OF_CONVERSATION.search(shown) or (_is_courtesy(text) and not (of_person or _IS_DECISION.search(shown))):
            return 0.0
    of_self = bool(_SELF.search(text))
    of_other = bool(_OTHER.search(text)) and not (of_self or _IS_DECISION.search(text))
    return (_WITH_DATA if has_data else 1.0) * (_OF_SELF if of_self else _OF_OTHER if of_other else 1.0)


def noun_phrases(text: str) -> list[str]:
    """
    Return the noun phrases of *text* that may be a heading, as they are written.

    In Chinese they are runs of nouns and names, in English what is between an article or the like and the next function word.

    >>> noun_phrases("中午去吃了阿满面线糊，尿酸又高了"), noun_phrases("I joined the support group of my town.")
    (['阿满面线糊', '尿酸'], ['support group', 'town'])
    """
    text = _NO_TOPIC.sub(" ", text)
    if language_of(text) == "zh":
        return [phrase for run in _HAN_RUN.findall(text) for phrase in _han_phrases(run)] + _LATIN_NAME.findall(text)
    return [" ".join(match[1].split()) for match in _NOUN_PHRASE.finditer(text) if not _NO_NOUN.search(match[1])]


def _split(line: str) -> Iterator[str]:
    """Yield the line's sentences; one that is hardly a word stays with the next."""
    start = 0
    for match in _END.finditer(line):
        piece = line[start : match.end()].strip()
        if line[match.end() :].lstrip().startswith("→"):  # of an earlier extract: the answer
            continue
        if match[0].startswith(".") and _ABBREVIATED.search(line[start : match.start()][-_READ_BACK:]):
            continue
        if len(piece) < LONGEST and (_is_open(piece) or sum(map(str.isalnum, piece)) < _STUMP):
            continue
        yield piece
        start = match.end()
    if rest := line[start:].strip():
        yield rest


def _is_open(piece: str) -> bool:
    """Return whether a bracket or quotation mark is still open; not for ever, since people forget to close them."""
    return any(piece.count(left) > piece.count(right) for left, right in _OPEN.items())


def _is_courtesy(text: str) -> bool:
    """Return whether the clauses are courtesies, or too short to say more: "Thanks, I see"."""
    clauses = [clause.strip() for clause in _CLAUSES.split(text) if clause.strip()]
    if not _COURTESY.match(text) or _OWN_MATTER.search(text):
        return False
    return all(_COURTESY.match(clause) or _words(clause) <= _WORDS for clause in clauses)


def _words(text: str) -> int:
    return math.ceil(_HAN_WORD * len(_HAN.findall(text))) + len(_WORD.findall(text))


def _han_phrases(run: str) -> Iterator[str]:
    """Yield the longest runs of nouns and unknown words, and the nouns in those that have no unknown word."""
    known = to_simplified(run)
    words = [*cut_whole(known if len(known) == len(run) else run), ""]
    end = 0
    part: list[str] = []
    for word in words:
        is_name = not is_known(word) and not CHINESE.intersection(word)
        if word and word not in CHINESE and not _PRONOUN.search(word) and (is_noun(word) or is_name):
            part.append(word)
        elif part:
            start = end - sum(map(len, part))
            written = run[start:end]
            nouns = [one for one in part if len(one) > 1] if all(map(is_known, part)) and len(part) > 1 else []
            yield from (phrase for phrase in dict.fromkeys((written, *nouns)) if 1 < len(phrase) <= _LONGEST_NOUN)
            part = []
        end += len(word)
