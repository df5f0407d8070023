"""
What a sentence tells, by its words: one table for both languages, of what changes a life, money, health, decisions, changes.

Numbers, dates, names and code are known by their shape. Which sentences an extract quotes is decided in extract.py.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from ..text.lazy_re import lazy_re
from ..text.tokenizer import HAN

Cue = Literal[
    "event", "decision", "change", "off", "correction", "amendment", "health", "money", "plan", "deed", "request", "result",
]  # fmt: skip

_WEEKDAY: Final = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
#: Each cue: what it adds to a sentence, in words of the rarest kind, and its words in English and Chinese. Those that add
#: nothing say what kind of sentence it is.
_TABLE: Final[tuple[tuple[Cue, float, str, str], ...]] = (
    (
        "event",
        2.4,
        (r"\b(?:my (?:name|birthday)|I live|I'm called|pregnan\w+|newborn|(?:was|been) born|died|passed away|funeral|wedding"
        r"|(?:got )?married|engaged|divorc\w+|broke(?:n)? up|split up|resign\w*|my notice|quit|laid off|fired|redundan\w+|hired"
        r"|promot(?:ed|ion)|retir(?:ed|es?|ing)|graduat\w+|got (?:in|into|the job|accepted)|job offer|offered|accepted|passed"
        r"|sold|sign(?:ed)? the|mov(?:ed|es?|ing) (?:in|out|to)|said yes|diagnos\w+|surgery|op|operat(?:ed|ion)|hospital"
        r"|ambulance|fainted|collapsed|benign|malignant|cancer|diabetes|stroke|crash(?:ed)?|accident|fractur\w+"
        r"|broke (?:his|her|my|an?)|fell (?:over|off|down)|allergic to|anaphyla\w+|epi-?pen|stolen|burgled|launch(?:ed|es)?"
        r"|shipped|starts? (?:school|nursery|uni))\b"),
        (r"我叫|名字[是叫]|生日|住在|怀[孕上]|预产期|生了|出生|[去过离]世|葬礼|[结离订]婚|婚礼|领证|分手|[辞离入升]职"
        r"|裁员|被裁|晋升|跳槽"
        r"|退休|录取|考上|录用|offer|毕业|卖[掉了出]|过户|交房|签[约了]|搬[家到进出]|退租|确诊|查出|[住出]院|手术"
        r"|骨[折裂]|打石膏|摔[了断倒伤]"
        r"|[^\W\d_]过敏|肾上腺素笔|穿刺|[良恶]性|晕倒|急诊|车祸|追尾|撞[了到]|被[偷骗盗]|丢了|走失|上线|试工|转正"
        r"|不干了|[入转]学|上(?:小学|初中|高中|大学)"),
    ),
    (
        "decision",
        1.6,
        (r"\b(?:decided?|agreed|chose|settled on|switch(?:ed|ing)?|no longer|from now on|promised?|approved|going with"
        r"|backed out"
        r"|told \w+ (?:yes|no)|signed (?:it|up)|it is(?=[.!,;]|$))\b"),
        r"决定|[就最]后?选|选[定了]|推了|推掉|定[了在]|敲定|不再|一律|以后|说好|约好|商量好|同意|答应|谈[完妥拢]",
    ),
    (
        "change",
        1.2,
        (r"\b(?:(?:re)?scheduled|pushed (?:back|to)|moved(?= (?:[\w']+ ){0,3}(?:to|from)\b)|delayed|changed (?:to|from)|(?:down"
        r"|up|back) to"
        r"|instead|rather than|actually|in the end|not \w+day|(?:takes?|took|knock\w*) [£$€]\d(?:\S* ){1,3}off)\b"
        r"|, not \w|\d\w* not [£$€]?\d"),
        (r"[减加涨降]到|(?<!后)改[成为到了期]|换[成到]|推迟|延期|顺延|拖到|提前[到了，,]|不是.{1,16}[，,]?而?是|(?:^"
        r"|[，,])不是|最后(?:是|花了?|一共) ?\d"
        r"|砍到了? ?\d"),
    ),
    (
        "off",
        1.2,
        (r"\b(?:postponed|cancell?ed|fell through|called off|not (?:coming|buying|moving|taking)|not going to (?:the"
        r"|there|with|(?-i:[A-Z])\w*))\b"),
        r"取消|不再?[续租买换办订去来做养]了|不了了|泡汤|黄了",
    ),
    (
        "correction",
        0.0,
        r"\b(?:correction|corrected|i was wrong|my mistake|i meant|scratch that|should have been)\b",
        r"更正|纠正|[说记搞弄看]错",
    ),
    (
        "amendment",
        1.2,
        (r"^(?:(?:no|sorry|wait|oops|hang on)\b[,.!… ]+)+(?:not \w+, \w|(?:[\w']+ ){0,2}[+-]?[$€£¥]?(?:\d|"
        rf"{_WEEKDAY}\b))|^\*(?=\w)[^*]+$"),
        r"^(?:(?:不|哦|啊|还是|等等|等一?下)[，, ]?(?:不对|不是(?=.{0,14}是)|改[成到]|换成)|不对|不是(?=.{1,14}是))[，, ]?",
    ),
    (
        "health",
        1.2,
        (r"\b(?:allerg\w+|intoleran\w+|blood \w+|doctor|dentist|GP|vet|Dr|prescri\w+|vaccin\w+|dose|fever|symptoms?|\d+ ?m[gl]"
        r"|medication|insulin|antibiotics?|glasses|physio\w*|x-?ray|injections?)\b"),
        (r"过敏|血[压糖脂]|尿酸|心率|体温|发烧|结节|复[查诊]|体检|化验|医生|大夫|疫苗|毫克|眼镜|近视|拔牙|抽血|B超|核磁"
        r"|胰岛素|抗生素|[一每][天日次].{0,4}[片粒次]"),
    ),
    (
        "money",
        1.2,
        (r"\b(?:rent|deposit|salary|mortgage|loan|bonus|insurance|budget|invoice|refund|raise)\b|[$€£¥] ?\d"
        r"|\d[\d,.]*k? ?(?:euros?|dollars?|francs?|pounds?|quid|a (?:month|year|week))\b"),
        (r"房租|租金|[押定]金|首付|贷款?\d|月供|工资|薪|年终奖|奖金|佣金|报销|保险|预算|\d ?[元块万千]"
        r"|[一二两三四五六七八九十百]+[千万]"),
    ),
    (
        "plan",
        0.8,
        (r"\b(?:needs? to|ha(?:ve|s) to|must|don't forget|plan(?:ning|s)? to|deadline|due|tomorrow|next (?:week|month"
        r"|year)|booked"
        r"|applied|because|turns? out|fixed|confirmed|root cause|failed|leak(?:s|ed|ing)|works(?= again| now|[.!,;]|$))\b"),
        (r"记得|别忘|打算|计划|准备|截止|到期|最迟|下周|下个?月|[明后]天|约了|报了?名|想[去要学买]|原因|结果|发现"
        r"|漏[水了]|解决|修好|搞定|终于"),
    ),
    (
        "deed",
        0.4,
        (r"\b(?:my|our|I've|I(?:'m| am) \w+ing|went|got|bought|made|took|started|finished|found|met|won|lost|joined"
        r"|learn(?:ed|t))\b"),
        r"我的|我[家妈爸哥姐弟妹儿女老爷奶]|了",
    ),
    (
        "request",
        0.0,
        (r"^\W*(?:(?:so|ok|okay|and|now|btw|hey|please|pls)\b[\s,:]*)*(?:(?:can|could|would|will) you|help me|explain"
        r"|translate|tell me"
        r"|draft (?:an?|the|it|me)\b|write(?!-)|rewrite|summari[sz]e|show me|what|how (?:do|can|to|should)|why"
        r"|is there)\b|\bjoke\b|^remind me\b"),
        (r"^\W*(?:那|再|麻烦|请|快)?你?(?:帮我|给我|替我)?(?:写|讲|翻译|解释|润色|改写|总结|推荐|列|查|算|提醒我)(?!了"
        r"|过|得|完|好)|笑话|^.{0,12}怎么[^了]{1,8}$"),
    ),
    ("result", 0.0, r"= ?[-−£$€¥]?\d|\bin total\b|\bthat(?:'s| leaves| makes) .{0,12}\d", r"一共|合计|总共"),
)  # fmt: skip
_CUES: Final = {cue: (lazy_re(f"{english}|{chinese}", re.IGNORECASE), worth) for cue, worth, english, chinese in _TABLE}
#: Code and addresses, and what else is data by its shape: titles, days, times and amounts in words, names.
_FIGURES: Final = lazy_re(r"\d|`[^`]+`|https?://|(?<!\w)[~.]?/\w+/")
_DATA: Final = lazy_re(
    rf"{_FIGURES.pattern}|《[^》]+》|「[^」]+」|[\"“][^\"”]+[\"”]|周[一二三四五六日]|[一二三四五六七八九十][月号日点]"
    r"|[两三四五六七八九十百千万半]{2,}|[一两三四五六七八九十百千万半](?:个(?:半|月|小时|星期)|[天周年块元斤岁]|小时|分钟)"
    rf"|\b(?:{_WEEKDAY}|(?:janu|febru)ary|april|june|july|august|(?:septem|octo|novem"
    r"|decem)ber)\b"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|half an?|an?) (?:hour|day|week|month|year)s?\b"
    rf"|[{HAN}] ?(?!AI)[A-Za-z]{{2}}|(?<![A-Za-z])(?!AI)[A-Za-z]{{2,}} ?[{HAN}]|(?<=\w )(?!AI)[A-Z]\w*[a-z]\w*"
)
_DATA_WORTH: Final = 0.8
_SELF: Final = lazy_re(
    r"\b(?:I|me|my|mine|we|our|us|[Dd]ad|[Mm]u?m|[Gg]rand(?:ma|pa)|[Mm]other|[Ff]ather)\b"
    r"|[我咱]|自己|爸|妈|老[婆公伴]|儿子|女儿|闺女|孙[子女]"
)


def has_cue(text: str, *cues: Cue) -> bool:
    """True if the sentence has one of the cues."""
    return any(_CUES[cue][0].search(text) for cue in cues)


def without_cue(text: str, cue: Cue) -> str:
    """Return the sentence with blanks in the place of the cue's words."""
    return _CUES[cue][0].sub(" ", text)


def cue_worth(text: str) -> float:
    """Return what the cues of a sentence add to its words, in words of the rarest kind."""
    return _DATA_WORTH * has_data(text) + sum(worth for cue, worth in _CUES.values() if worth and cue.search(text))


def takes_back(text: str) -> Literal["", "change", "correction"]:
    """
    Return whether the sentence takes something back that was said or planned, and whether it says so itself.

    >>> takes_back("更正一下，周四到"), takes_back("it starts in May, not April"), takes_back("周四到")
    ('correction', 'change', '')
    """
    return "correction" if has_cue(text, "correction", "amendment") else "change" if has_cue(text, "change", "off") else ""


def has_data(text: str) -> bool:
    """True if the sentence has a number, a date, a name, a title or code."""
    return bool(_DATA.search(text))


def has_figures(text: str) -> bool:
    """True if the sentence has a digit, code or an address."""
    return bool(_FIGURES.search(text))


def is_of_self(text: str) -> bool:
    """True if the sentence is about its speaker."""
    return bool(_SELF.search(text))
