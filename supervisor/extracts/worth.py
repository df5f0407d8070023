"""
What makes a sentence worth quoting: the cues of what a person would want to find again, and of what nobody would.

What happens in a life, money, health, decisions, plans, corrections, and what people say of themselves count; numbers, dates,
names and code count by their shape. Courtesies, praise and advice must not be quoted; jokes, and what the assistant is asked to
do, count little. Which sentences an extract quotes is decided in extract.py.
"""

from __future__ import annotations

import math
import re
from typing import Final, Literal

from recalld.supervisor.extracts.lines import is_code
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.small_talk import is_small_talk
from recalld.supervisor.text.tokenizer import HAN

#: What changes a life, and who one is.
_EVENT: Final = (
    r"我叫|名字[是叫]|生日|住在|我住|\b(?:my (?:name|birthday)|I live|I'm called)\b",
    r"怀孕|预产期|生了|出生|去世|过世|离世|葬礼|结婚|婚礼|订婚|领证|离婚|分手|复合|辞职|离职|裁员|被裁|入职|升职|晋升|跳槽",
    r"退休|录取|考上|录用|拿到.{0,6}offer|毕业|卖[掉了出]|过户|交房|签[约了]|搬[家到进出]|退租|确诊|查出|住院|出院|手术|骨折",
    r"穿刺|良性|恶性|晕倒|急诊|车祸|追尾|撞[了到]|被[偷骗盗]|弄?丢了|走失|上线|试工|转正|正式用|不回来|不干了",
    r"\b(?:pregnan\w+|newborn|(?:was|is|been) born|gave birth|died|passed away|funeral|got married|wedding|engaged)\b",
    r"\b(?:divorc\w+|br(?:oke|eaking|oken) up|split up|resign\w*|quit|laid off|got fired|redundan\w+|hired|promot(?:ed|ion))\b",
    r"\b(?:retir(?:ed|es?|ing)|graduat\w+|got (?:in|into|the job|accepted)|take the job|job offer|offered|accepted|passed)\b",
    r"\b(?:sold|sign(?:ed)? the|mov(?:ed|es?|ing) (?:in|out|to)|said yes|they took it|double.booked|diagnos\w+|surgery)\b",
    r"\b(?:operat(?:ed|ion)|hospital|ambulance|fainted|collapsed|benign|malignant|cancer|diabetes|stroke|crash(?:ed)?)\b",
    r"\b(?:accident|stolen|burgled|launch(?:ed|es)?|shipped|my notice|(?:it's|having) a (?:girl|boy))\b",
)
_DECISION: Final = (
    r"决定|定了|定在|敲定|选了|选定|不再|一律|以后[你您]?(?:都|就|叫|用|要|别)|说好|约好|商量好|同意|答应|谈[完妥拢]",
    r"\b(?:decided?|agreed|chose|settled on|switch(?:ed|ing)?|no longer|from now on|promised?|approved)\b",
)
#: What was said before, or planned, is so no longer.
_CHANGE: Final = (
    r"更正|纠正|[说记搞弄看]错|[减加涨降]到|改[成为到了期]|换[成到]|取消|推迟|延期|提前到|顺延|不是.{1,16}[，,]?而?是|(?:^|[，,])不是",
    r"不再?[续租买换办订去来做养]了",
    r"\b(?:correction|i was wrong|my mistake|i meant|postponed|cancell?ed|(?:re)?scheduled|pushed (?:back|to))\b",
    r"\b(?:moved (?:\w+ ){0,3}(?:from|to|back|up)|changed (?:to|from)|(?:down|up|back) to|instead of|rather than|actually)\b",
    r"(?:\d|[nsi]day\b).{0,60}\binstead\b|\binstead\b.{0,60}(?:\d|[nsi]day\b)|, not \w|\bnot .{1,40}\bbut\b",
    r"\b(?:takes?|took|knock(?:s|ed)?) (?:\w+ )?[$€£¥]?\d[\d,.]*[k%]?(?: (?:an?|per) \w+| euros| dollars| pounds| quid)? off\b",
)
_PERSON: Final = (
    r"喜欢|最爱|爱[吃听看喝]|讨厌|不吃|不喝|忌口|偏好|习惯|害怕|感兴趣|地址|邮箱|电话|职业|工作|擅长|梦想",
    r"女朋友|男朋友|老[婆公伴]|妻子|丈夫|女儿|闺女|儿子|孙[子女]",
    r"(?<=\w )(?:love|enjoy)\b|\b(?:prefers?|favou?rites?|hates?|can't stand|vegan|vegetarian|keen on|interested in)\b",
    r"\b(?:passionate|dream)\b",
    r"\bmy (?:address|phone|job)\b|\bI(?:'m| am) an? \w|\bI (?:work|study)\b",
)
_HEALTH: Final = (
    r"过敏|血压|血糖|血脂|尿酸|心率|体温|发烧|结节|复查|复诊|体检|化验|医生|大夫|疫苗|毫克|(?:一|每)[天日次].{0,4}[片粒次]",
    r"\b(?:allerg\w+|intoleran\w+|blood (?:pressure|sugar|test)|doctor|dentist|GP|vet|prescri\w+|vaccin\w+|dose|fever|Dr)\b",
    r"\b(?:symptoms?|\d+ ?(?:mg|mcg|ml))\b",
)
_MONEY: Final = (
    r"房租|租金|押金|定金|首付|贷款?\d|月供|工资|薪|年终奖|奖金|佣金|中介费|报销|保险|预算",
    r"\d ?[元块万千]|[一二两三四五六七八九十百]+[千万]",
    r"\b(?:rent|deposit|salary|mortgage|loan|bonus|insurance|budget|invoice|refund|raise)\b|[$€£¥] ?\d",
    r"\b\d[\d,.]*k? ?(?:euros?|dollars?|francs?|pounds?|quid|bucks|eur|usd|gbp|chf|a (?:month|year|week))\b",
)
_TO_DO: Final = (
    r"待办|记得|别忘|提醒|要去|打算|计划|准备|截止|到期|最迟|下周|下个?月|明天|后天|预约|约了|报了?名|想[去要学买]",
    r"\b(?:to-?do|needs? to|have to|has to|must|don't forget|plan(?:ning|s)? to|deadline|due|tomorrow|signed up|applied)\b",
    r"\b(?:want to|booked|remind)|\bnext (?:week|month|year|time)\b|\blooking (?:into|for)\b",
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
    for patterns, worth in (
        (_EVENT, 2.4),
        (_DECISION, 1.6),
        (_CHANGE, 1.2),
        (_PERSON, 1.2),
        (_HEALTH, 1.2),
        (_MONEY, 1.2),
        (_TO_DO, 0.8),
        (_FINDING, 0.8),
        (_OWN, 0.4),
        (_WHEN, 0.4),
    )
)
_CORRECTS: Final = lazy_re(
    r"更正|纠正|[说记搞弄看]错|\b(?:correction|corrected|i was wrong|my mistake|i meant|scratch that)\b", re.IGNORECASE
)
_IS_EVENT, _IS_DECISION, _IS_CHANGE, _IS_OF_PERSON, _IS_OF_HEALTH, _IS_OF_MONEY = (cue for cue, _ in _CUES[:6])
#: Numbers, dates, code, addresses, titles and names, by their shape; what it adds, and how much it counts.
_FIGURES: Final = lazy_re(r"\d|`[^`]+`|https?://|(?<!\w)[~.]?/\w+/")
_DATA: Final = lazy_re(
    rf"{_FIGURES.pattern}|《[^》]+》|「[^」]+」|[\"“][^\"”]+[\"”]|周[一二三四五六日]|[一二三四五六七八九十][月号日点]"
    r"|[两三四五六七八九十百千万半]{2,}|[两三四五六七八九十百千万半](?:天|周|年|小时|分钟|[块元斤岁棵克])|[一两三四五六七八九十半]个(?:月|小时|星期)"
    rf"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|half an?|an?) (?:hour|day|week|month|year)s?\b"
    rf"|[{HAN}] ?(?!AI)[A-Za-z]{{2}}|(?<![A-Za-z])(?!AI)[A-Za-z]{{2,}} ?[{HAN}]|(?<=\w )(?!AI)[A-Z]\w*[a-z]\w*"
)
_DATA_WORTH: Final = 0.8
_WITH_DATA: Final = 1.5
_OF_SELF: Final = 1.4
_OF_OTHER: Final = 0.3  # of the person who is spoken to
_OF_MACHINE: Final = 0.25
_IDLE: Final = 0.3  # a joke, what the assistant is to do, a yes to what is not shown
_SELF: Final = lazy_re(
    r"\b(?:I|me|my|mine|we|our|us|[Dd]ad|[Mm]u?m|[Gg]rand(?:ma|pa)|[Mm]other|[Ff]ather)\b"
    r"|[我咱]|自己|爸|妈|老[婆公伴]|儿子|女儿|闺女|孙[子女]"
)
_OTHER: Final = lazy_re(r"\b(?:you|yours?)\b|[你您]", re.IGNORECASE)
#: What the assistant has worked out; the paths, addresses and names of code that it gives.
_RESULT: Final = lazy_re(r"= ?[-−£$€¥]?\d|一共|合计|总共|\bin total\b|\bthat(?:'s| leaves| makes) .{0,12}\d", re.IGNORECASE)
_OF_RESULT: Final = 0.6
_THING: Final = lazy_re(r"`[^`]+`|https?://|(?<!\w)[~.]?/\w+/")
_OF_THING: Final = 0.33
#: What is said for fun, and what the assistant is asked to do now.
_BANTER: Final = lazy_re(
    r"\b(?:lo+l|lmao|rofl|ha(?:ha)+h?|he(?:he)+|xd|rip|booo*|omg)\b|哈哈|嘿嘿|嘻嘻|hhh|笑死|[累困撑饿冷热气吓]死|累成|[😂🤣😅]"
    r"|[肿胖晒冻哭热忙圆红黑撑](?:得)?[成像].{0,3}(?:包子|馒头|狗|猪|球|冰棍|泪人|炭|熊猫|虾|香肠)"
    r"|\b(?:swell\w*|swollen|puffed) (?:up )?like\b"
    r"|\b(?:i'm (?:so )?(?:dead|tired|bored|hungry)|can't believe|to die for|looks? like an?)\b",
    re.IGNORECASE,
)
#: What the assistant is asked to remind of; that somebody else did ("医生提醒我") is no request.
_REMIND: Final = lazy_re(
    r"(?:^|[，,。；;：:、\s你请记得要再候点半午上天晚早号日])提醒[我咱]"
    r"|(?:^|[.,;:!?…] |\b(?:please|and|you) )remind (?:me|us)\b",
    re.IGNORECASE,
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_OF_MONTH: Final = lazy_re(
    rf"(\d{{1,2}}) ?月|\b\d{{1,2}}(?:st|nd|rd|th)? ({'|'.join(_MONTHS)})|\b({'|'.join(_MONTHS)})[a-z]* \d", re.IGNORECASE
)
_REQUEST: Final = lazy_re(
    r"^\W*(?:(?:so|ok|okay|and|now|anyway|btw|hey|hi|please|pls|question)\b[\s,:]*)*(?:(?:can|could|would|will) you|help me"
    r"|explain|translate|tell me|write(?!-)|rewrite|summari[sz]e|fix this|what(?:'s|\b)|how (?:do|can|to|should)|why|is there"
    r"|show me|look at|check)\b|\bjoke\b|\bhelp me with\b|笑话"
    r"|^\W*(?:那|再|麻烦|请|快|就)?你?(?:帮我|给我|帮忙|替我)?(?:写|讲|翻译|解释|润色|改写|总结|推荐|列|查|看看|算|画|起个"
    r"|想个|来个|说说)(?!了|过|得|完|好)"
    r"|^(?!.*(?:[知说懂学教问想]|明白|告诉|发现)).{0,12}(?:(?:怎么|怎样|如何|咋)(?!样?了|.*(?<![首成])[都也])|为什么|为啥)[^，。]{1,20}$",
    re.IGNORECASE,
)
#: What it is asked to write: what the text is to say was said before, or is said again.
_WRITE: Final = lazy_re(
    r"^\W*(?:(?:so|ok|okay|and|now|hey|please|pls)\b[\s,:]*)*(?:(?:can|could|would|will) you |help me )?(?:to )?(?:please )?"
    r"(?:(?:write(?!-| (?:up|off|(?:(?:this|that|it) )?down)\b)|translate|summari[sz]e|proofread)\b"
    r"|(?:draft|rewrite)(?: up| out)? (?:an?|the|th(?:is|at|ese|ose)|it|me|us|my|our|his|her|their|them|some\w*|what|\d+)\b)"
    r"|^\W*(?:那|再|麻烦|请|快|就)?你?(?:帮我|给我|帮忙|替我)(?:写|翻译|润色|改写|总结)(?!了|过|得|完|好)",
    re.IGNORECASE,
)
_QUESTION: Final = lazy_re(r"(?:[?？][”\"'）)」]*|(?:吗|[你您]呢)[。.～~]?)$")
#: What the assistant offers to do: whether it is wanted is no fact.
_OFFER: Final = lazy_re(
    r"(?:需要|要不要|要|想)我|需要帮|帮[你您]|(?:要不要|用不用).{0,8}[你您]|提醒[你您]?[?？]"
    r"|\b(?:would you like|do you want|shall i|should i|can i help|need me to|want me to)\b",
    re.IGNORECASE,
)
#: An answer of fewer characters says little without its question; so does one that opens like this.
_CURT: Final = 14
_REPLY: Final = lazy_re(
    r"(?!对了)(?:有|没有?|是的?|不是?|对|不对|会|不会|能|不能|要|不要|可以|不可以|行|不行|好|嗯|还没有?|已经|当然)(?:[，,。.！!；;\s]|的|啊|了|$)"
    r"|(?:yes|yeah|yep|no|nope|not yet|sure|ok|okay|both|neither|of course|true|right|correct)\b"
    r"|i (?:do|did|don't|didn't|have|haven't|am|can|will)\b",
    re.IGNORECASE,
)
#: How a sentence opens that says that the one before it is wrong, and one that may: "no, it was 210", and not "no, thanks".
_IS_WRONG: Final = lazy_re(
    r"(?:no, )?(?:that(?:'s| is) )?(?:wrong|not (?:true|correct|right))(?=[,.!;:\n]|$)"
    r"|不?[，,]?(?:不对(?![劲外])|[你您]?算错|错了)",
    re.IGNORECASE,
)
_MAY_DENY: Final = lazy_re(
    r"no(?:pe)?\b(?:[,.!;:\n]| (?:it|that|they)\b)(?!\s?(?:thank|need|problem|worr|that's (?:all|right|fine|good|great|ok)))"
    r"|not quite\b|that's not\b|不是[，,。]|(?:不|没有)[，,](?!谢|不?用|不必)",
    re.IGNORECASE,
)
#: A yes with which a sentence opens, and the question that asks for it without a mark: "ask her whether there is a pen".
_YES: Final = lazy_re(
    r"(?:(?:有|是的?|对的?|行|好的?|嗯+|可以|当然)[，,。.！!；;]+|(?:yes|yeah|yep|right|sure|ok|okay)[,.!;]+(?=\s|$))\s*",
    re.IGNORECASE,
)
_IS_ASKED: Final = lazy_re(
    r"问[问一清]|有没有|是不是|能不能|会不会|\b(?:whether|let me know (?:if|when|which)|ask \w+ if)\b", re.IGNORECASE
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


def cue_worth(text: str) -> float:
    """Return what the cues of a sentence add to its words, in words of the rarest kind."""
    return _DATA_WORTH * bool(_DATA.search(text)) + sum(worth for cue, worth in _CUES if cue.search(text))


def event_in(text: str) -> str:
    """Return the words of the sentence that tell what changes a life, the first of them; "" where none do."""
    event = _IS_EVENT.search(text)
    return event[0] if event else ""


def weight(text: str, asked: str = "", *, person: bool) -> float:
    """
    Return how much the words of a sentence count; 0 where it must not be quoted.

    *asked* is the question that it answers, with which it is shown. *person*: a human being says it; of a machine only data
    counts.

    >>> weight("You've got guts.", person=True), weight("我对花生过敏。", person=True) > 1
    (0.0, True)
    >>> weight("pip install rjieba", person=True), weight("pip install rjieba makes it faster.", person=True) > 0
    (0.0, True)
    >>> weight("帮我写个 sql", person=True) < weight("sql 写好了", person=True)
    True
    """
    shown = f"{asked} {text}"
    has_data = bool(_DATA.search(shown))
    if is_question(text) or text.endswith((":", "：")) or _DISCLAIMER.search(text) or is_code(text):
        return 0.0
    if not person:
        is_lecture = bool(_ADVICE.search(text)) and not _FIGURES.search(text)
        counts = _OF_RESULT if _RESULT.search(text) else _OF_THING if _THING.search(text) else _OF_MACHINE
        return 0.0 if not has_data or is_lecture or is_courtesy(text) else _WITH_DATA * counts
    is_kept = bool(_IS_EVENT.search(shown) or _IS_DECISION.search(shown) or _IS_CHANGE.search(shown))
    of_person = bool(_IS_OF_PERSON.search(shown) or _IS_OF_HEALTH.search(shown))
    if not has_data and not is_kept:
        if not of_person and count_words(shown) < _WORDS:
            return 0.0
        if _OF_CONVERSATION.search(shown) or (is_courtesy(text) and not of_person):
            return 0.0
    of_self = bool(_SELF.search(text))
    of_other = bool(_OTHER.search(text)) and not (of_self or is_kept)
    counts = (_WITH_DATA if has_data or is_kept else 1.0) * (_OF_SELF if of_self else _OF_OTHER if of_other else 1.0)
    is_request = bool(_WRITE.search(text)) or (bool(_REQUEST.search(text)) and not _FIGURES.search(text))
    is_unasked = is_reply(text) and not (asked or has_data or is_kept)
    return counts * _IDLE if is_request or is_fun(text) or is_unasked else counts


def is_fun(text: str) -> bool:
    """
    Return whether the sentence is said for fun, and tells of nothing that happened, of no person, health or money.

    >>> is_fun("麻辣烫太辣，嘴肿成包子了"), is_fun("火锅撑死了，体检查出尿酸 486")
    (True, False)
    """
    tells = (_IS_EVENT, _IS_DECISION, _IS_CHANGE, _IS_OF_PERSON, _IS_OF_HEALTH, _IS_OF_MONEY)
    return bool(_BANTER.search(text)) and not any(cue.search(text) for cue in tells)


def is_of_the_day(text: str, month: int) -> bool:
    """
    Return whether the sentence is nothing that its *month* is told: fun, or what to remind of, unless that is in a later one.

    >>> is_of_the_day("中午十二点半提醒我", 3), is_of_the_day("Remind me to take my passport", 4)
    (True, True)
    >>> is_of_the_day("医生提醒我少吃盐", 4), is_of_the_day("Remind me on 12 May to tell Dr. Ferrer", 4)
    (False, False)
    """
    named = {int(han or _MONTHS.index((before or after).lower()) + 1) for han, before, after in _OF_MONTH.findall(text)}
    return is_fun(text) or bool(_REMIND.search(text) and named <= {month})


def takes_back(text: str) -> Literal["", "change", "correction"]:
    """
    Return whether the sentence takes something back that was said or planned, and whether it says so itself.

    >>> takes_back("更正一下，周四到"), takes_back("it starts in May, not April"), takes_back("周四到")
    ('correction', 'change', '')
    """
    return "correction" if _CORRECTS.search(text) else "change" if _IS_CHANGE.search(text) else ""


def is_question(text: str) -> bool:
    """Return whether the sentence asks."""
    return bool(_QUESTION.search(text))


def is_offer(question: str) -> bool:
    """Return whether the question only asks whether its speaker should do something: 需要我帮忙吗, "shall I …?"."""
    return bool(_OFFER.search(question))


def is_reply(text: str) -> bool:
    """Return whether the sentence opens with a yes or no."""
    return bool(_REPLY.match(text))


def without_yes(text: str) -> str:
    """
    Return the sentence without the yes with which it opens: what it agrees to is not there.

    >>> without_yes("行。还有，套餐现在最低 59"), without_yes("Sure, due on 7 April"), without_yes("好吃，下次再去")
    ('还有，套餐现在最低 59', 'due on 7 April', '好吃，下次再去')
    """
    yes = _YES.match(text)
    return text[yes.end() :] if yes else text


def asks_for_yes(text: str, answer: str) -> bool:
    """
    Return whether *answer* says yes or no to what the sentence asks without a mark, or offers and the answer has data.

    So it does to figures where it is hardly more than one itself: "You'd need 545 a month." "ok then 550".
    """
    if not is_reply(answer):
        return False
    is_amended = len(answer) <= _CURT and bool(_FIGURES.search(text)) and bool(_FIGURES.search(answer))
    return bool(_IS_ASKED.search(text)) or is_amended or (is_offer(text) and bool(_DATA.search(answer)))


def denial(text: str) -> Literal["", "figures", "all"]:
    """Return whether the words say that what was told before is wrong, or that its figures are, if they have others."""
    return "all" if _IS_WRONG.match(text) else "figures" if _MAY_DENY.match(text) else ""


def is_bare_reply(text: str) -> bool:
    """Return whether the sentence says yes or no and nothing else, so that the next one goes on with the answer."""
    reply = _REPLY.match(text)
    return reply is not None and not any(map(str.isalnum, text[reply.end() :]))


def needs_question(text: str) -> bool:
    """Return whether a sentence says little without the question that it answers."""
    return len(text) <= _CURT or is_reply(text)


def is_thanks(text: str) -> bool:
    """Return whether the sentence is a courtesy that is no answer and has no data."""
    return is_courtesy(text) and not (is_reply(text) or _DATA.search(text))


def is_courtesy(text: str) -> bool:
    """Return whether the clauses are courtesies, or too short to say more: "Thanks, I see"."""
    if is_small_talk(text):
        return True
    clauses = [clause.strip() for clause in _CLAUSES.split(text) if clause.strip()]
    if not _COURTESY.match(text) or _OWN_MATTER.search(text):
        return False
    return all(_COURTESY.match(clause) or count_words(clause) <= _WORDS for clause in clauses)


def is_of_self(text: str) -> bool:
    """Return whether the sentence is about its speaker."""
    return bool(_SELF.search(text))


def count_words(text: str) -> int:
    """Return how many words the text has, about."""
    return math.ceil(_HAN_WORD * len(_HAN.findall(text))) + len(_WORD.findall(text))
