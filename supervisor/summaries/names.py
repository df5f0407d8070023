"""
The names in a text: people, places and things, in Chinese characters and in Latin letters; paths and code; who is kin. Pure.

A name is a word that the dictionaries do not have, or have as a name. Whether a text may have it is asked of its material
(`material.py`), so that a word that is no name does no harm where somebody said it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.chinese import is_person, is_place
from recalld.supervisor.text.figures import figures
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.llm_output import HEADING
from recalld.supervisor.text.places import is_latin_place
from recalld.supervisor.text.tokenizer import ENGLISH, HAN, spelled, stem
from recalld.supervisor.text.word_frequency import is_known

if TYPE_CHECKING:
    from collections.abc import Iterator

_LATIN_NAME: Final = lazy_re(r"(?<![\w./@-])(?!(?:Mrs?|Ms|Dr|Prof|May)\b)[A-Z][a-z]+(?:[A-Z][a-z]+)*(?![\w/@])")
_CAPITAL: Final = lazy_re(r"(?<=[a-z\d,] )(?!(?:Mrs?|Ms|Dr|Prof|May)\b)[A-Z][a-z]+(?![\w/@'’])")
HAN_RUN: Final = lazy_re(f"[{HAN}]{{2,}}")
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
#: Words that the dictionary has as places, and that are none in a summary.
_NO_PLACES: Final = frozenset(
    (
        *("城市", "东西", "南北", "东北", "西北", "东南", "西南", "平原"),
        *("上门", "外国", "爱国", "太阳", "英雄", "朝廷", "江南", "哥哥"),
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
        if not ((is_common and not is_latin_place(word)) or match.start() in in_code or _is_label(text, match)):
            yield match.start(), match[0]
    for match in HAN_RUN.finditer(text):
        at = match.start()
        for written, word in spelled(match[0]):
            at = text.find(written, at)
            if at not in in_code and _is_han_name(word) and (is_place(word) or not text.endswith(_FAMILIAR, 0, at)):
                yield at, written
            at += len(written)


def capitals(text: str) -> Iterator[tuple[int, str]]:
    """Yield the common English words that have a capital within a sentence, such as Grace and Bill, with their places."""
    for match in _CAPITAL.finditer(text):
        is_name = match[0].casefold() in ENGLISH or is_known(stem(match[0].casefold()))
        if is_name and next(figures(match[0]), None) is None and not _is_label(text, match):
            yield match.start(), match[0]


def _is_label(text: str, match: re.Match[str]) -> bool:
    """Return whether the word is in a heading, or the label of a line."""
    line = text.rfind("\n", 0, match.start()) + 1
    return bool(HEADING.match(text[line:].partition("\n")[0])) or text[match.end() :].startswith((":", "：", "**"))


def _is_han_name(word: str) -> bool:
    """Return whether a word is the name of a place, or one of two or three characters that begins with a surname."""
    if len(word) < 2 or next(figures(word), None):
        return False
    if is_place(word):
        return word not in _NO_PLACES
    if len(word) == _FULL_NAME:
        return word[0] in _SURNAMES and not is_known(word)
    if len(word) > _FULL_NAME or word[1] not in _GIVEN:
        return False
    return is_person(word) and word[0] in _PLAIN_SURNAMES if is_known(word) else word[0] in _SURNAMES
