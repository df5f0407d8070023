"""
The names in a text: people, places and things, in Chinese characters and in Latin letters; paths and code; who is kin. Pure.

A name is a word that the dictionaries do not have, or have as a name. Whether a text may have it is asked of its material
(`material.py`), so that a word that is no name does no harm where somebody said it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.chinese import han_frequency, is_person, is_place, kind
from recalld.supervisor.text.figures import figures
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.llm_output import HEADING
from recalld.supervisor.text.places import is_latin_place, other_names
from recalld.supervisor.text.tokenizer import ENGLISH, HAN, spelled, stem
from recalld.supervisor.text.word_frequency import is_known

if TYPE_CHECKING:
    from collections.abc import Iterator

_LATIN_NAME: Final = lazy_re(r"(?<![\w./@-])(?!(?:Mrs?|Ms|Dr|Prof|May)\b)[A-Z][a-z]+(?:[A-Z][a-z]+)*(?![\w/@])")
_CAPITAL: Final = lazy_re(r"(?<=[a-z\d,] )(?!(?:Mrs?|Ms|Dr|Prof|May)\b)[A-Z][a-z]+(?![\w/@]|['’](?!s\b))")
HAN_RUN: Final = lazy_re(f"[{HAN}]{{2,}}")
#: First names among the common English words; and those that are words besides, where a verb follows: "Grace takes the cake".
_FIRST_NAME: Final = lazy_re(
    "aaron|adam|alan|albert|alex|alexander|alice|allen|amy|andrew|andy|ann|anna|anne|anthony|antonio|"
    "arthur|barbara|barry|ben|benjamin|billy|bob|brad|brian|bruce|carl|carol|catherine|charles|charlie|"
    "charlotte|chris|christopher|craig|dan|daniel|dave|david|denis|dennis|diego|donald|douglas|edward|"
    "elizabeth|eric|evan|frances|francis|francisco|franklin|fred|gary|george|georgia|gordon|graham|greg|"
    "harris|harrison|harry|helen|henry|howard|ian|jackson|james|jane|janet|jason|jeff|jennifer|jerry|"
    "jessica|jim|jimmy|joe|joel|john|johnny|jon|jonathan|jose|joseph|juan|julie|justin|karen|kate|keith|"
    "kelly|ken|kenneth|kevin|larry|laura|lawrence|lee|lewis|linda|lisa|louis|luke|marc|margaret|maria|"
    "marie|mario|marshall|martin|mary|matt|matthew|melissa|michael|michelle|mike|mitchell|monica|morgan|"
    "morris|murray|nancy|neil|nelson|nick|norman|patrick|paul|pete|peter|phil|philip|pierre|rachel|ralph|"
    "richard|rick|robert|roger|ron|ross|roy|russell|ryan|sam|samuel|sarah|scott|sean|sharon|simon|stanley|"
    "stephen|steve|steven|stewart|susan|taylor|ted|terry|thomas|tim|todd|tom|toni|tony|vic|victor|victoria|"
    "vincent|walter|warren|wayne|william"
)
_NAME_AND_WORD: Final = lazy_re(
    "amber|bill|carter|christian|clark|clay|cole|dale|dawn|dean|drew|duke|eve|faith|florence|frank|gene|"
    "grace|grant|guy|hope|hunter|jack|jay|jean|joy|kent|mark|mason|max|pat|pearl|perry|ray|reed|rob|"
    "robin|roman|rose|ruby|sterling|sue|val|will"
)
_LABEL_ENDS: Final = (":", "：", "**")
_ACTS: Final = lazy_re(r"(?:['’]s)? (?:is|was|has|had|will|can|(?:and|at|from) [A-Z]\w+|[a-z]{2,}(?:s|ed))\b|['’]s ")
_SURNAMES: Final = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾萧田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳欧阳"
)
_FULL_NAME: Final = 3
#: Surnames that begin hardly any other word; what given names of one character are. 老陈付了 is no name of three characters.
_PLAIN_SURNAMES: Final = frozenset("王李张刘陈杨赵吴徐孙朱胡郭何林罗郑梁谢宋唐许韩冯邓曹彭曾萧")
_GIVEN: Final = frozenset(
    "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂英华玉兰建国志红梅鹏飞鑫波斌辉宇浩凯健俊帆雪琳慧颖婷莉倩琴燕玲萍丹薇岩峰龙"
    "亮宁博晨晓欣怡佳琪瑶璐雯蕾楠桐轩涵睿阳昊然哲翔旭彬川云蓉菲洁琼珊莹蓓妍岚彤萌媛瑾瑜璇骏毅诚松坤栋铭宏辰恺"
)
_FAMILIAR: Final = ("老", "小", "阿")
#: What is said behind a surname; surnames that are rather words before a title: 向老师请教.
_TITLES: Final = lazy_re(
    r"医生|大夫|主任|经理|老师|教授|师傅|护士|律师|[局院校科处所站厂班组]长|总监|老板|先生|女士|小姐|太太|阿姨|叔叔|[姐哥叔婶嫂姨]"
)
_PREPOSITIONS: Final = frozenset("向于成单关路包安和")
_RARE: Final = 2.0  # times in a million words
#: How places end that the dictionary has as persons, or as sayings: 徐家汇, 春熙路.
_PLACE_ENDS: Final = frozenset("路街巷庙寺桥苑坊汇镇村山湖庄岛湾楼")
_PROPER: Final = frozenset(("", "nr", "nz", "nt"))
#: Words that the dictionary has as places or foreign names, and that are none in a summary.
_NO_NAMES: Final = frozenset(
    (
        *("城市", "东西", "南北", "东北", "西北", "东南", "西南", "平原"),
        *("上门", "外国", "爱国", "太阳", "英雄", "朝廷", "江南", "哥哥"),
        *(
            "多谢",
            "保姆",
            "休克",
            "纳米",
            "约莫",
            "切莫",
            "瓦斯",
            "瓦特",
            "比特",
            "卡拉",
            "摩托",
            "拉丁",
            "芥蒂",
            "令牌",
            "换人",
            "拜托",
        ),
        *(
            "哈希",
            "宕机",
            "家里人",
            "在世",
            "勾勒",
            "勒索",
            "默契",
            "利多",
            "割舍",
            "施舍",
            "彼岸",
            "恩人",
            "豪杰",
            "二世",
            "夸口",
        ),
        *(
            "夸赞",
            "新奇",
            "新颜",
            "令人",
            "托人",
            "凉亭",
            "宜人",
            "崇拜",
            "崇高",
            "崇尚",
            "日晒",
            "登基",
            "豪斯",
            "育人",
            "二里",
            "二人",
        ),
        *(
            "海鲜",
            "日志",
            "里加",
            "马拉松",
            "新建",
            "古城",
            "古镇",
            "午休",
            "加密",
            "大伯",
            "礼拜",
            "上楼",
            "入门",
            "上台",
            "图里",
            "玄关",
        ),
        *(
            "上铺",
            "拉闸",
            "拉齐",
            "中断",
            "吉他",
            "台风",
            "延时",
            "西瓜",
            "新旧",
            "安家",
            "中度",
            "上岗",
            "牙根",
            "下牙",
            "平川",
            "山野",
        ),
        *("新区", "东门", "南门", "西门", "北门", "东路", "西路", "河畔", "特斯拉"),
        *(
            "五世",
            "入世",
            "再世",
            "永世",
            "野人",
            "丽人",
            "圣贤",
            "始祖",
            "希罕",
            "纳罕",
            "长鸣",
            "摩登",
            "荷尔蒙",
            "阿莫西林",
            "二伯",
        ),
    )
)
_CODE: Final = lazy_re(r"`([^`\n]{2,})`|https?://[^\s)）」”>]+|(?<![\w.])~?/[\w.-]+(?:/[\w.-]+)+")

#: Words for kin, and those by which a text may say the same: "her mother" of "Mum", 女儿 of "the kid".
_KIN: Final = tuple(
    (lazy_re(told, re.IGNORECASE), lazy_re(f"{told}|{known}" if known else told, re.IGNORECASE))
    for told, known in (
        (
            r"妈妈|母亲|\b(?:mum|mom|mother)\b(?! tongue)",
            r"[妈娘]|婆婆|岳母|\b(?:ma|mam|mama|mumm?y|mommy)\b|\bparents?\b|父母",
        ),
        (r"爸爸|父亲|\b(?:dad|father)\b", r"爸|公公|岳父|\b(?:daddy|papa|pops)\b|\bparents?\b|父母"),
        (
            r"老[婆公伴]|妻子|丈夫|\b(?:wife|husband)\b",
            r"爱人|媳妇|太太|[我你您她他]先生|那口子|\b(?:spouse|partner|married|hubby|missus|other half)\b",
        ),
        (
            r"女儿|闺女|\bdaughters?\b",
            r"[女小]孩|孩子|娃|宝[宝贝]|\b(?:girl|kid|child|toddler|twin)(?:s|ren)?\b|\bbab(?:y|ies)\b",
        ),
        (r"儿子|\bsons?\b", r"[男小]孩|孩子|娃|宝[宝贝]|\b(?:boy|kid|child|toddler|twin)(?:s|ren)?\b|\bbab(?:y|ies)\b"),
        (r"孙女|\bgranddaughters?\b", r"\bgrand(?:kid|child)(?:s|ren)?\b"),
        (r"孙子|\bgrandsons?\b", r"\bgrand(?:kid|child)(?:s|ren)?\b"),
        (r"[哥弟]{2}|\bbrothers?\b", r"[哥弟兄]|\bbros?\b|\bsiblings?\b"),
        (r"[姐妹]{2}|\bsisters?\b", r"[姐妹]|\bsis\b|\bsiblings?\b"),
        (r"叔叔|伯伯|舅舅|\buncles?\b", r"[叔伯舅]|[姑姨][父丈]"),
        (r"姑姑|阿姨|婶婶|\baunts?\b", r"[姑姨婶]|伯母|舅妈|\bauntie\b"),
        (r"侄[子女]|外甥女?|\b(?:nephew|niece)s?\b", r"侄"),
        (r"爷爷|外公|姥爷|\bgrand(?:pa|father|dad)\b", r"我爷|\b(?:grandad|gramps|grandparents?)\b"),
        (r"奶奶|外婆|姥姥|\bgrand(?:ma|mother)\b", r"我[奶姥]|\b(?:nann?a?|gran|grann(?:y|ie)|grandmum|grandparents?)\b"),
    )
)


def new_kin(text: str, material: str) -> Iterator[tuple[int, int]]:
    """
    Yield where the text names kin of whom the material does not speak, in either language.

    >>> [*new_kin("孙女陈静来住，her mother 也来。", "闺女陈静带我妈来")]
    [(0, 2)]
    """
    for told, known in _KIN:
        if told.search(text) and not known.search(material):
            yield from (match.span() for match in told.finditer(text))


def names(text: str) -> Iterator[tuple[int, str]]:
    """Yield the names of people, places and things, paths and code, with their places; not those that are common words."""
    in_code = set[int]()
    for match in _CODE.finditer(text):
        in_code.update(range(*match.span()))
        yield match.start(1) if match[1] else match.start(), match[1] or match[0]
    for match in _LATIN_NAME.finditer(text):
        word = match[0].casefold()
        is_common = word in ENGLISH or is_known(stem(word)) or next(figures(match[0]), None) is not None
        is_first = bool(_FIRST_NAME.fullmatch(word) or (_NAME_AND_WORD.fullmatch(word) and _ACTS.match(text, match.end())))
        if (
            is_first or is_latin_place(word) or not (is_common or text[match.end() :].startswith(_LABEL_ENDS))
        ) and match.start() not in in_code:
            yield match.start(), match[0]
    for match in HAN_RUN.finditer(text):
        yield from ((at, name) for at, name in _han_names(text, match) if at not in in_code)


def _han_names(text: str, run: re.Match[str]) -> Iterator[tuple[int, str]]:
    """Yield the names in a run of Chinese characters; one that jieba cuts after its surname is put together."""
    at, before = run.start(), ""
    for written, word in spelled(run[0]):
        start = text.find(written, at)
        if before and at == start and _joins(before, word):
            yield at - len(before), before + written
        elif _is_han_name(word) and (is_place(word) or not text.endswith(_FAMILIAR, 0, start)):
            yield start, written
        at = start + len(written)
        before = "" if text.endswith(_FAMILIAR, 0, start) else written


def _joins(before: str, word: str) -> bool:
    """Return whether two words that stand together are one name: 刘 and 美玲, 胡 and 主任, 玉林 and 路."""
    if before in _SURNAMES:
        return before not in _PREPOSITIONS and (_is_given(word) or bool(_TITLES.fullmatch(word)))
    return len(before) > 1 and word in _PLACE_ENDS and kind(before)[:2] in _PROPER and not _is_han_name(before)


def ends_name(name: str) -> bool:
    """Return whether the last character of a Chinese name is one of given names: 林若云, but not 许安欠."""
    return name[-1] in _GIVEN


def surname_of(name: str) -> str:
    """
    Return the surname of one who is named with a title; "" of any other name.

    >>> surname_of("秦经理"), surname_of("彭姐"), surname_of("秦朵")
    ('秦', '彭', '')
    """
    return name[0] if name[:1] in _SURNAMES and _TITLES.fullmatch(name, 1) else ""


def has_surname(surname: str, text: str) -> bool:
    """
    Return whether a text names anybody of the surname.

    >>> [has_surname("秦", text) for text in ("老秦来了", "秦主任来了", "秦晓静来了", "先秦的书")]
    [True, True, True, False]
    """
    return any(
        text.endswith(_FAMILIAR, 0, match.start())
        or bool(_TITLES.match(text, match.end()))
        or not _GIVEN.isdisjoint(text[match.end() : match.end() + _FULL_NAME - 1])
        for match in re.finditer(surname, text)
    )


def capitals(text: str) -> Iterator[tuple[int, str]]:
    """Yield the common English words that have a capital within a sentence, such as Grace and Bill, with their places."""
    for match in _CAPITAL.finditer(text):
        is_name = match[0].casefold() in ENGLISH or is_known(stem(match[0].casefold()))
        if is_name and next(figures(match[0]), None) is None and not _is_label(text, match):
            yield match.start(), match[0]


def _is_label(text: str, match: re.Match[str]) -> bool:
    """Return whether the word is in a heading, or the label of a line."""
    line = text.rfind("\n", 0, match.start()) + 1
    return bool(HEADING.match(text[line:].partition("\n")[0])) or text[match.end() :].startswith(_LABEL_ENDS)


def _is_han_name(word: str) -> bool:
    """Return whether a word is the name of a place, or one of two or three characters that begins with a surname."""
    if len(word) < 2 or word in _NO_NAMES or next(figures(word), None):
        return False
    tag = kind(word)
    if tag in {"ns", "nrt"} or other_names(word) or surname_of(word):
        return True
    if len(word) == _FULL_NAME and word[-1] in _PLACE_ENDS and tag in {"nr", "i"}:
        return True
    if len(word) == _FULL_NAME:
        return word[0] in _SURNAMES and (not is_known(word) or (tag == "nr" and not _GIVEN.isdisjoint(word[1:])))
    if len(word) > _FULL_NAME or word[1] not in _GIVEN:
        return False
    return tag.startswith("nr") and word[0] in _PLAIN_SURNAMES if is_known(word) else word[0] in _SURNAMES


def _is_given(word: str) -> bool:
    """Return whether a word may be what follows a surname: 美玲, 志强."""
    is_rare = not is_known(word) or (is_person(word) and han_frequency(word) < _RARE)
    return len(word) == _FULL_NAME - 1 and not _GIVEN.isdisjoint(word) and is_rare
