"""
What a sentence tells, by its words: what changes a life, money, health, decisions, corrections, what people say of themselves.

Numbers, dates, names and code are known by their shape. How much each adds is said here, what a sentence is worth in worth.py.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import HAN

Cue = Literal["event", "decision", "change", "person", "health", "money", "to do", "finding", "own", "when"]

#: What changes a life, and who one is.
_EVENT: Final = (
    r"我叫|名字[是叫]|生日|住在|我住|\b(?:my (?:name|birthday)|I live|I'm called)\b",
    r"怀[孕上]|两道杠|胎心|预产期|生了|出生|去世|过世|离世|葬礼|结婚|婚礼|订婚|领证|离婚|分手|复合|辞职|离职|裁员|被裁|入职|升职|晋升|跳槽",
    r"骨裂|打石膏|摔[了断倒伤]|第一天(?:上|去)|上(?:幼儿园|小学|初中|高中|大学)|入[园学]|转学",
    r"退休|录取|考上|录用|拿到.{0,6}offer|毕业|卖[掉了出]|过户|交房|签[约了]|搬[家到进出]|退租|确诊|查出|住院|出院|手术|骨折",
    r"[^\W\d_]过敏|肾上腺素笔|穿刺|良性|恶性|晕倒|急诊|车祸|追尾|撞[了到]|被[偷骗盗]|弄?丢了|走失|上线|试工|转正|正式用|不回来|不干了",
    r"\b(?:pregnan\w+|newborn|(?:was|is|been) born|gave birth|died|passed away|funeral|got married|wedding|engaged)\b",
    r"\b(?:divorc\w+|br(?:oke|eaking|oken) up|split up|resign\w*|quit|laid off|got fired|redundan\w+|hired|promot(?:ed|ion))\b",
    r"\b(?:retir(?:ed|es?|ing)|graduat\w+|got (?:in|into|the job|accepted)|take the job|job offer|offered|accepted|passed)\b",
    r"\b(?:sold|sign(?:ed)? the|mov(?:ed|es?|ing) (?:in|out|to)|said yes|they took it|double.booked|diagnos\w+|surgery)\b",
    r"\b(?:operat(?:ed|ion)|hospital|ambulance|fainted|collapsed|benign|malignant|cancer|diabetes|stroke|crash(?:ed)?)\b",
    r"(?<![-\w])op\b|\b(?:fractur\w+|broke (?:his|her|my|an?) \w+|fell (?:over|off|down))\b",
    r"\b(?:new|starts?|started) (?:school|nursery|uni)\b",
    r"\b(?:allergic to|anaphyla\w+|epi-?pen)\b",
    r"\b(?:lea(?:ves?|ving|ft) (?:the (?:company|firm|team)|(?:her|his|my|their) (?:job|husband|wife)))\b",
    r"\b(?:accident|stolen|burgled|launch(?:ed|es)?|shipped|my notice|(?:it's|having) a (?:girl|boy))\b",
)
_DECISION: Final = (
    r"决定|(?:就|那|还是|最后)选|[我也就给]推了|推掉|定了|定在|敲定|选了|选定|不再|一律|以后[你您]?(?:都|就|叫|用|要|别)|说好|约好|商量好|同意|答应|谈[完妥拢]",
    r"\b(?:decided?|agreed|chose|settled on|switch(?:ed|ing)?|no longer|from now on|promised?|approved|going with)\b",
    r"\b(?:told \w+ (?:yes|no|to go ahead)\b|signed (?:it|up)\b|it is(?:[.!,;]|$)|(?:pull|back)(?:ed|ing) out\b)",
)
#: To when something is moved, and by how much.
_WHEN_EN: Final = (
    r"(?:(?:the|an?|next|this|early|late|half past) )*"
    r"(?:[£$€]?\d\w*|(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
    r"|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|(?:octo|novem|decem)ber|oct|nov|dec"
    r"|easter|christmas|spring|summer|autumn|winter|tomorrow|tonight|noon|morning|afternoon|evening|week|month|year|day|hour)\b)"
)
_WHEN_ZH: Final = r"\d|[一二三四五六七八九十]+[月号点]|下?周|下个?[月周]|[今明后]|月底|年底|年[前后]|春节|国庆|[上下]午|晚上"
_SPAN_ZH: Final = r"(?:\d+|[一二两三四五六七八九十半几好]+) ?个?(?:多?[天周月年]|星期|礼拜|小时|分钟)"
#: What was said before, or planned, is so no longer.
_CHANGE: Final = (
    r"更正|纠正|[说记搞弄看]错|[减加涨降]到|(?<![^以之然]后)改[成为到了期]|换[成到]|取消|推迟|延期|顺延|不是.{1,16}[，,]?而?是|(?:^|[，,])不是",
    r"[讲砍]到了? ?\d[\d.,]*(?! ?[章节页课点]|[\d.,])|提前(?:到|[了，,]? ?\d)|最后(?:是|花了?|一共)? ?\d",
    rf"拖期|拖到 ?(?:{_WHEN_ZH})|拖后?了? ?{_SPAN_ZH}",
    r"不再?[续租买换办订去来做养]了|(?<![受忍等])不了了|泡汤|黄了",
    r"\b(?:correction|i was wrong|my mistake|i meant|postponed|cancell?ed|(?:re)?scheduled|pushed (?:back|to))\b",
    rf"\b(?:moved (?:\w+ ){{0,3}}(?:(?:from|to|back|up) )+(?:{_WHEN_EN}))\b",
    r"\b(?:changed (?:to|from)|(?:down|up|back) to|instead of|rather than|actually)\b",
    r"\b(?:is|are|was|were|been|got) delayed\b|\bdelayed (?:by|to|until|till)\b|\d\S* in the end\b",
    r"\bnot going (?:(?:to )?(?:the|there|with)\b|to (?-i:[A-Z]))",
    r"\bnot (?:coming|buying|moving|taking) (?:to|with|that|the|there)\b",
    r"(?:\d\w*|[nsi]day)\b.{0,12} not (?:[£$€]?\d|\w+day\b)",
    r"\b(?:(?:fell|fallen) through|called off|should have been)\b",
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
    r"过敏|血压|血糖|血脂|尿酸|心率|体温|发烧|结节|复查|复诊|体检|化验|医生|大夫|疫苗|毫克|眼镜|近视|牙套|拔牙|抽血|B超|核磁|(?:一|每)[天日次].{0,4}[片粒次]",
    r"\b(?:allerg\w+|intoleran\w+|blood (?:pressure|sugar|test)|doctor|dentist|GP|vet|prescri\w+|vaccin\w+|dose|fever|Dr)\b",
    r"\b(?:symptoms?|\d+ ?(?:mg|mcg|ml)|medication|insulin|metformin|antibiotics?|statins?|blood thinners?)\b",
    r"\b(?:glasses|eye test|optician|physio\w*|brace|crutches|x-?ray|injections?)\b",
    r"胰岛素|二甲双胍|抗生素",
)
_MONEY: Final = (
    r"房租|车险|租金|押金|定金|首付|贷款?\d|月供|工资|薪|年终奖|奖金|佣金|中介费|报销|保险|预算",
    r"\d ?[元块万千]|[一二两三四五六七八九十百]+[千万]",
    r"\b(?:rent|deposit|salary|mortgage|loan|bonus|insurance|budget|invoice|refund|raise)\b|[$€£¥] ?\d",
    r"\b\d[\d,.]*k? ?(?:euros?|dollars?|francs?|pounds?|quid|bucks|eur|usd|gbp|chf|a (?:month|year|week))\b",
)
_TO_DO: Final = (
    r"待办|记得|别忘|提醒|要去|打算|计划|准备|截止|到期|最迟|下周|下个?月|明天|后天|预约|约了|报了?名|想[去要学买]",
    r"\b(?:to-?do|needs? to|have to|has to|must|don't forget|plan(?:ning|s)? to|deadline|due|tomorrow|signed up|applied)\b",
    r"\b(?:wants? to|booked|remind)|\bnext (?:week|month|year|time)\b|\blooking (?:into|for)\b",
)
#: What one has and has done.
_OWN: Final = (
    r"我的|我[家妈爸哥姐弟妹儿女老爷奶]|了|\b(?:my|our)\b|\bI've\b|\bI(?:'m| am) \w+ing\b",
    r"\b(?:went|got|bought|made|took|started|finished|found|met|won|lost|joined|visited|learn(?:ed|t))\b",
)
_FINDING: Final = (
    r"原因|结果|结论|发现|漏水|漏了|解决|修好|搞定|终于",
    r"\b(?:because|turns? out|fixed|confirmed|root cause|error|failed|leak(?:s|ed|ing)|repaired|mended)\b",
    r"\bworks(?: again| now)?(?=[.!,;]|$)",
)
_WHEN: Final = (
    r"昨[天晚]|上周|上个?月|去年|最近",
    r"\b(?:yesterday|last (?:week|month|year|night|\w+day|weekend)|ago|recently|years?|since)\b",
)
#: Each cue, and what it adds to a sentence, in words of the rarest kind.
_CUES: Final = {
    cue: (lazy_re("|".join(patterns), re.IGNORECASE), worth)
    for cue, patterns, worth in (
        ("event", _EVENT, 2.4),
        ("decision", _DECISION, 1.6),
        ("change", _CHANGE, 1.2),
        ("person", _PERSON, 1.2),
        ("health", _HEALTH, 1.2),
        ("money", _MONEY, 1.2),
        ("to do", _TO_DO, 0.8),
        ("finding", _FINDING, 0.8),
        ("own", _OWN, 0.4),
        ("when", _WHEN, 0.4),
    )
}
#: What says of itself that it is a correction, and what amends the words just before: "no, make it the 20th", "*Bulrush".
_CORRECTS: Final = lazy_re(
    r"更正|纠正|[说记搞弄看]错|\b(?:correction|corrected|i was wrong|my mistake|i meant|scratch that|should have been)\b",
    re.IGNORECASE,
)
_AMENDS: Final = lazy_re(
    r"(?:no|sorry|wait|oops|hang on|hmm|ah)\b(?:[,.! ]+(?:no|sorry|wait))*[,.! ]+"
    r"(?:make (?:it|that)\b|it'?s (?!\d{1,2} ?(?:am\b|already))\d|not \w+, \w)|\*(?=\w)[^*]+$"
    r"|(?:sorry|wait|oops|hang on)[,.!…]+ ?[+-]?[$€£¥]?\d|(?:哦|啊|等等)?不对[，,。! ]?(?=\D{0,4}[\d一二两三四五六七八九十])"
    r"|(?:不|哦|还是)[，,]?(?:改[成到]|换成|约)|(?:哦|啊|等[等下])?[，,]?不是(?=.{0,8}[\d一二两三四五六七八九十]).{1,12}[，,]而?是",
    re.IGNORECASE,
)
#: Numbers, dates, code, addresses, titles and names, by their shape.
_FIGURES: Final = lazy_re(r"\d|`[^`]+`|https?://|(?<!\w)[~.]?/\w+/")
_DATA: Final = lazy_re(
    rf"{_FIGURES.pattern}|《[^》]+》|「[^」]+」|[\"“][^\"”]+[\"”]|周[一二三四五六日]|[一二三四五六七八九十][月号日点]"
    r"|[两三四五六七八九十百千万半]{2,}|[两三四五六七八九十百千万半](?:天|周|年|小时|分钟|[块元斤岁棵克])|[一两三四五六七八九十半]个(?:月|小时|星期)"
    r"|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:janu|febru)ary|april|june|july|august|(?:septem|octo|novem|decem)ber)\b"
    rf"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|half an?|an?) (?:hour|day|week|month|year)s?\b"
    rf"|[{HAN}] ?(?!AI)[A-Za-z]{{2}}|(?<![A-Za-z])(?!AI)[A-Za-z]{{2,}} ?[{HAN}]|(?<=\w )(?!AI)[A-Z]\w*[a-z]\w*"
)
_DATA_WORTH: Final = 0.8
_AMENDMENT: Final = 1.2
_SELF: Final = lazy_re(
    r"\b(?:I|me|my|mine|we|our|us|[Dd]ad|[Mm]u?m|[Gg]rand(?:ma|pa)|[Mm]other|[Ff]ather)\b"
    r"|[我咱]|自己|爸|妈|老[婆公伴]|儿子|女儿|闺女|孙[子女]"
)


def has_cue(text: str, *cues: Cue) -> bool:
    """Return whether the sentence has one of the cues."""
    return any(_CUES[cue][0].search(text) for cue in cues)


def cue_worth(text: str) -> float:
    """Return what the cues of a sentence add to its words, in words of the rarest kind."""
    told = sum(worth for cue, worth in _CUES.values() if cue.search(text))
    return _DATA_WORTH * has_data(text) + told + (_AMENDMENT if amends(text) else 0.0)


def event_in(text: str) -> str:
    """Return the words of the sentence that tell what changes a life, the first of them; "" where none do."""
    event = _CUES["event"][0].search(text)
    return event[0] if event else ""


def takes_back(text: str) -> Literal["", "change", "correction"]:
    """
    Return whether the sentence takes something back that was said or planned, and whether it says so itself.

    >>> takes_back("更正一下，周四到"), takes_back("it starts in May, not April"), takes_back("周四到")
    ('correction', 'change', '')
    """
    is_correction = amends(text) or _CORRECTS.search(text)
    return "correction" if is_correction else "change" if has_cue(text, "change") else ""


def amends(text: str) -> bool:
    """
    Return whether the sentence amends what was said just before, and does not name it.

    >>> amends("no, make it 20:00"), amends("sorry not Monday, Tuesday"), amends("no, it went on the roof")
    (True, True, False)
    """
    return bool(_AMENDS.match(text))


def has_data(text: str) -> bool:
    """Return whether the sentence has a number, a date, a name, a title or code."""
    return bool(_DATA.search(text))


def has_figures(text: str) -> bool:
    """Return whether the sentence has a digit, code or an address."""
    return bool(_FIGURES.search(text))


def is_of_self(text: str) -> bool:
    """Return whether the sentence is about its speaker."""
    return bool(_SELF.search(text))
