"""
Chinese verbs whose object may stand apart from them, or before them: 停车 in 我的车停在地下二层, 请假 in 请了三天假.

Such a verb (离合词, and what is made in the same way) is one word of the dictionary, and its parts are two others. A question
for the word is answered by a passage that has its parts in one clause. Both parts have to stand as words, or one of them with
an ending (房子, 寄出去): 特别爱好做手工 is no answer to 做爱. Source: docs/explanation/recall.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.chinese import to_simplified
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import CHINESE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

#: What is done, and what it is done to, one character each.
VERBS: Final = (
    "停修洗买卖租借换存取还寄收付交缴打拔补看抽喝吃戒睡起请结离订退搬装拆刷充加减放接送养遛喂种浇剪唱跳跑游爬滑骑坐开关考"
    "上下出辞报办领挂排读弹摔抓带做煮炒炖熬烧泡晒熨叠擦签填查算转汇贷投逃罚扣欠赔捐挣赚发升旷备陪约求吵撒说串聚散度登钓止"
    "验输"
)
_OBJECTS: Final = (
    "车房屋店钱款账税费债票信件卡证锁灯门窗被电煤网油火饭菜茶酒烟药针牙奶肉鱼草树狗猫鸟鸡婚假职差班会客架步泳舞歌琴棋牌球"
    "戏澡脸毛妆脚血汗泪尿病孩娃课书业试题字稿帖号谎船站队货礼奖险股仓帐友亲盘包箱衣裤鞋帽伞碗锅觉梦雪山雨签"
)
#: Verbs whose parts make nouns and other words with those above, and words that look like verbs of the kind and are none.
_OTHERS: Final = frozenset(
    """
    搬家 离家 理发 染发 烫发 剪发 洗头 剪头 起床 铺床 关机 开机 办事 出事 分手 见面 说话 谈话 谈心 发烧 生病 生娃
    相亲 教书 教课 学车 学琴 学画 画画 拍照 化妆 对账 交租 退租 涨价 涨薪 打工 打折 干活 扫地 拖地 种花 养花 浇花
    花钱 喝水 浇水 停水 游水 打水 填表 上学 开学 放学 转学 升学 断网 加薪 发薪 输液 报名 报警 拍片 聊天 吹风 住院
    出院 堵车 撞车 断电 挨骂 帮忙 道歉 毕业 失业 失眠 减肥 着凉 过敏
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
_NONE: Final = frozenset(
    """
    发票 签证 验证 关卡 关税 上证 上衣 睡衣 睡梦 游戏 游客 游船 跑车 泡菜 泡饭 烧酒 烧鸡 炒锅 考题 备件
    算盘 汇票 领队 洗礼 加号 挂件 转会 说客
    """.split()  # noqa: SIM905 - as above
)
#: What may stand between the parts within one word of the dictionary: 结了婚, 吃过饭, 开着车.
_PARTICLES: Final = "了过着个"
_PARTED: Final = lazy_re("(?=(.)[的了过着]个?(.))")
#: The endings of a part that is not a word of its own.
_ENDINGS: Final = frozenset("了过着完好到在出给上下去来子儿起")
#: What may stand between the parts within a clause: 车在小区门口的桩上充.
_BETWEEN: Final = r"[\w ]{0,8}"
_PAIR: Final = 2
#: How well a part stands: as a word, or with an ending; together they need more than two endings.
_WORD, _WITH_ENDING, _BOTH = 2, 1, 3


def is_separable(word: str) -> bool:
    """
    Return whether the word is a verb with its object, each of one character.

    >>> is_separable("停车"), is_separable("理发"), is_separable("发票")
    (True, True, False)
    """
    is_made = len(word) == _PAIR and word[0] in VERBS and word[1] in _OBJECTS and word not in _NONE
    return is_made or word in _OTHERS


def with_particles(word: str) -> Iterator[str]:
    """
    Yield a separable word with each particle that may be in it.

    >>> [*with_particles("结婚")]
    ['结了婚', '结过婚', '结着婚', '结个婚']
    """
    if is_separable(word):
        yield from (f"{word[0]}{particle}{word[1]}" for particle in _PARTICLES)


def joined_verbs(text: str) -> dict[str, str]:
    """
    Return the separable words that the text says with a particle between their parts, each with the parts.

    >>> joined_verbs("我在哪理的发"), joined_verbs("谁的发票")
    ({'理发': '理 发'}, {})
    """
    pairs = ((found[1], found[2]) for found in _PARTED.finditer(to_simplified(text)))
    return {verb + thing: f"{verb} {thing}" for verb, thing in pairs if is_separable(verb + thing)}


def parts_of(word: str) -> tuple[str, ...]:
    """
    Return the characters of a word of two, and what the dictionary makes of the verb of a separable one: 开了个 of 开了个会.

    >>> parts_of("开会"), parts_of("果酱")
    (('开', '会', '开了个'), ('果', '酱'))
    """
    return (*word, f"{word[0]}了个") if is_separable(word) else tuple(word)


def is_said_apart(word: str, text: str, words: Collection[str]) -> bool:
    """
    Return whether a clause of the text says the separable word in two parts; *words* are those of the text.

    >>> is_said_apart("停车", "我的车停在地下二层", ["车", "停", "地下", "二层"])
    True
    """
    verb, thing = word[0], word[1]
    if _standing(verb, words) + _standing(thing, words) < _BOTH:
        return False
    return bool(re.search(f"{verb}{_BETWEEN}{thing}|{thing}{_BETWEEN}{verb}", to_simplified(text)))


def _standing(part: str, words: Collection[str]) -> int:
    """Return how well the character stands by itself; a stop word, which is none of *words*, may be anywhere."""
    if part in words or f"{part}了个" in words:
        return _WORD
    return _WITH_ENDING if part in CHINESE or any(one[0] == part and _ENDINGS.issuperset(one[1:]) for one in words) else 0
