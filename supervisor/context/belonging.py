"""
Whose secret it is, and what it is for, as a question and a sentence that tells a secret say it.

"The hotel's door code" and "the door code at home" share a word and are two secrets. The words of the phrase around "password",
or around a lock, are compared: "the gate code at my parents' place", 爸妈家大门的密码. If each has words that the other lacks,
these are two secrets. One that names nobody is the user's own: "the wifi" is not the neighbours' wifi.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.parse import SURNAMED, SURNAMES
from recalld.supervisor.query.related_words import same_words
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.record import record
from recalld.supervisor.text.tokenizer import HAN, tokens
from recalld.supervisor.text.word_frequency import rarity_asked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recalld.supervisor.text.redact import Secret

#: Tokens that mean the same in a question and next to a secret: who told a passcode asks for the PIN. Those that mean the same
#: everywhere are in `query/related_words`.
_ONE: Final = {
    "password": "passwd passphras passcod pwd pw pass pin code combin combo passwort kennwort contrasena senha パス"
    " 密码 口令 暗号 码 账号密码 登录密码",
    "key": "密钥 apikey api_key api-key",
    "token": "令牌",
    "wifi": "wireless internet network 无线 网络 上网",
    "email": "e-mail mail",
    "phone": "cell mobil cellphon smartphon",
    "laptop": "comput notebook pc",
    "suitcas": "luggag",
    "safe": "vault strongbox",
    "door": "entri entranc",
    "guest": "visitor",
    "mum": "mother",
    "dad": "father",
    "行李箱": "箱子 皮箱",
    "电脑": "笔记本",
    "大门": "家门 房门 入户门",
    "客人": "访客",
    "husband": "老公 丈夫",
    "wife": "老婆 妻子 媳妇",
    "work": "offic 公司 办公室 单位",
    "home": "家 家里 家中 我家 自家",
}
#: Banks whose short name is cut otherwise than the long one, and 先生 and 太太, which are kin where no name is before them.
_BANKS: Final = {"招行": "招商银行", "工行": "工商银行", "建行": "建设银行", "农行": "农业银行", "交行": "交通银行"}
_SPOUSES: Final = {"先生": "老公", "太太": "老婆"}
_OTHERWISE: Final = _BANKS | _SPOUSES
_SPELLED: Final = lazy_re(rf"{'|'.join(_BANKS)}|(?:(?<=[我她])|(?<![{HAN}]))(?:{'|'.join(_SPOUSES)})")
_SAME: Final = {token: one for one, others in _ONE.items() for token in others.split()}

#: The head of a phrase: a word for a secret, or what is locked, which is a word of the phrase itself.
_HEAD: Final = lazy_re(
    r"""
      (?<![\w-])(?:pass(?:word|code|phrase|wort)s?|pwd?|pins?|codes?|combinations?|combo|log-?ins?|sign-?ins?|tokens?|keys?|numbers?
        |e-?mails?|address(?:es)?|accounts?)(?![\w-])
    | 密[码碼钥]|口令|暗号|账号|帐号|卡号|号码|邮箱|[门取证]码
    | (?P<lock>(?<![\w-])(?:safe|lock|bike|door|gate|alarm|garage|locker|keypad|lockbox|padlock|suitcase|luggage|vault)(?![\w-])
        |保险柜|[车箱柜门挂]锁|柜子?|箱子?|大门|院门|车库)
    """,
    re.VERBOSE | re.IGNORECASE,
)
#: Words that a phrase does not go beyond.
_STOP: Final = (
    r"(?:i|me|you|we|they|he|she|it|i['’]m|it['’]s|the|an?|my|our|your|his|her|their|its|mine|this|that|these|what(?:['’]?s)?|which|where|how"
    r"|is|are|was|were|be|been|and|or|but|so|if|when|then|once|to|of|for|at|in|on|by|from|with|about|now|just|still|again|also|btw|please"
    r"|know|remember|tell|told|give|gave|need|have|has|had|got|get|say|says|said|do|does|did|uses?|used|forg[eo]t|chang\w+|set|reset|new|old"
    r"|current|last|enter|type|see|find|show|opens?|unlocks?|takes)(?![\w'’])"
)
_WORD: Final = rf"(?<![\w'’-])(?!{_STOP})\w[\w'’&-]{{0,30}}"
_ARTICLE: Final = r"(?:the|my|our|your|his|her|their|that|an?)"
#: Before a head: "our router ", "at the cabin, the new wifi "; behind it: " at my parents' place".
_BEFORE: Final = lazy_re(
    rf"(?:(?<![\w'’-])(?:at|in|for)\s(?:{_ARTICLE}\s)?(?:{_WORD}[\s,]+){{1,3}}(?:the|my|our)\s(?:new\s|current\s)?)?"
    rf"(?:(?<![\w'’-])(?:my|our|his|her|their|the|an?)\s)?(?:{_WORD}\s){{0,4}}\Z",
    re.IGNORECASE,
)
_BEHIND: Final = lazy_re(
    rf"(?:\s(?:of|for|at|in|on|from|vom|von|für)(?:\s{_ARTICLE})?(?:\s{_WORD}){{1,3}}){{1,3}}", re.IGNORECASE
)
_BEFORE_ZH: Final = lazy_re(rf"[{HAN}\w '’-]{{0,30}}\Z")
_STOP_ZH: Final = lazy_re(
    "把|请问|告诉我?|记得|知道|一下|想要?|帮我?|给我?|是|叫|查|问|了|昨天|今天|刚才?|顺便|看看|那个|这个|最近|再|又|换|改"
)
_HAS_HAN: Final = lazy_re(f"[{HAN}]")
#: Characters before and behind a secret in which its phrase is looked for.
_NEAR: Final = 80

#: Other people.
_PEOPLE: Final = (
    "mum dad parent grandma grandpa grandpar sister brother son daughter child wife husband partner girlfriend boyfriend friend"
    " neighbour colleagu boss landlord tenant flatmat roommat uncl aunt cousin niec nephew client"
)
_PEOPLE_ZH: Final = lazy_re(
    "爸妈|父母|老?爸爸?|老?妈妈?|父亲|母亲|爷爷|奶奶|外[婆公]|姥[姥爷]|公公|婆婆|公婆|岳[父母]|丈母娘|老公|老婆|丈夫|妻子|媳妇|儿子|女儿"
    "|孩子|宝宝|哥哥?|姐姐?|弟弟?|妹妹?|叔叔?|伯伯|阿姨|姑姑|姑妈|舅舅|舅妈|姨妈|嫂子|[男女]?朋友|同学|同事|邻居|隔壁|室友|房东|租客|老板"
    rf"|领导|客户|[小阿](?![区屋店院学])[{HAN}](?=[的家])"
)
#: 李雷的, 李雷家: a surname, then signs that are in no list of words.
_NAME_ZH: Final = lazy_re(rf"(?:(?<![{HAN}])|(?<=[下是把道给]))[{SURNAMES}][{HAN}]{{1,2}}?(?=的|家|手机|微信|电脑)")
#: "Tom's", or "tom's" without an article before it, as "the router's" has one.
_POSSESSOR: Final = lazy_re(
    r"(?<![\w'’-])(?:(?:the|an?|my|our|your|his|her|their|this|that)\s(?:[a-z]+\s){0,2}(?-i:[a-z]+)['’]s?(?!\w)"
    r"|(?!(?:what|who|it|he|she|that|there|here|let|how|where|when|why|to(?:day|night|morrow)|yesterday|week|month|year|one)['’])"
    r"(?P<name>[a-z]+)['’]s(?!\w)"
    r"|(?P<capital>(?-i:[A-Z])[a-z]+)['’](?!\w))",
    re.IGNORECASE,
)
_OWN: Final = lazy_re(r"(?<!\w)(?:my|our|mine)(?!\w)|[我咱]|自己|自家|家里", re.IGNORECASE)
_THEIRS: Final = lazy_re(r"(?<!\w)(?:his|her|their)(?!\w)|(?<![其吉])[他她](?![发设写说留改定取])", re.IGNORECASE)
#: Places of others, whose secrets are told with the place, and places that are not one's home.
_AWAY: Final = "hotel hostel airbnb motel cafe café restaur bar pub airport 酒店 民宿 咖啡店 咖啡馆 咖啡厅 餐厅 饭店 机场"
_PLACES: Final = f"{_AWAY} librari school work offic gym 图书馆 学校 公司 办公室 单位 健身房"
#: Words for one's home, of which a question has one and who tells a secret has another.
_HOME: Final = "home hous flat apart front main 大门 门锁"
#: Whose things are also the user's: "the iPad" is the children's. What is the school's is the child's, by any name.
_CHILDREN: Final = "child 孩子 宝宝"
_SCHOOLS: Final = "school kindergarten nurseri 学校 幼儿园"
#: Where the door and the lock are one.
_HOUSES: Final = "shed garag cellar barn cabin cottag attic 车库 地下室 仓库"
#: Words that say nothing about whose or what's secret it is, and the least rarity of one that does.
NAMES_NOTHING: Final = frozenset(
    """
    password key token secret login credenti account card number link address id phrase open unlock contact reach
    登录 凭据 账号 帐号 账户 帐户 卡 卡号 号码 编号 地址 链接 验证码 打开 开 联系 联系方式
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
_LEAST_RARITY: Final = 0.15


@record
class Belonging:
    """
    Whose and what for: the *words* of a phrase, *people* among them other than the user.

    *is_own*: it says "my" or "our" of nobody else's. *is_theirs*: it says only "his", "her" or "their".
    """

    words: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    is_own: bool = False
    is_theirs: bool = False


@record
class Said:
    """What a text has: its *words* and *people*, and its *signs*, since a Chinese word may be cut otherwise there."""

    words: frozenset[str]
    people: frozenset[str]
    signs: frozenset[str]

    def lacks(self, words: frozenset[str]) -> frozenset[str]:
        """Return those of the words that it has not; "PureGym" is a gym."""
        return frozenset(one for one in words - self.words - self.people if not self._has_as_part(one))

    def _has_as_part(self, word: str) -> bool:
        if _HAS_HAN.match(word):
            return self.signs.issuperset(word)
        return word in _all(_PLACES) and any(other.endswith(word) for other in self.words)


def said(text: str) -> Said:
    """Return what the text has."""
    return Said(words_of(text), _people(text), frozenset(f"{text}子"))


def words_of(text: str) -> frozenset[str]:
    """
    Return the words of a text as they are compared, one for those that mean the same.

    >>> words_of("无线密码") == words_of("the wifi password")
    True
    """
    return frozenset(map(_same, _tokens(text)))


def _tokens(text: str) -> list[str]:
    return tokens(_spelled(text.lower()))


def _spelled(text: str) -> str:
    return _SPELLED.sub(lambda match: _OTHERWISE[match[0]], text)


@lru_cache(maxsize=10_000)
def _same(token: str) -> str:
    """Return the one word for all that mean the same as the token."""
    spellings = (token, *same_words(token))
    return next((_SAME.get(one, one) for one in spellings if one in _SAME or one in _ONE), min(spellings))


@cache
def _all(words: str) -> frozenset[str]:
    return frozenset(map(_same, words.split()))


def asked_belonging(question: str) -> Belonging:
    """
    Return whose secret the question asks for.

    >>> sorted(asked_belonging("what's the wifi password at Anna's?").words)
    ['anna', 'wifi']
    """
    phrase = " ".join(part for head in _HEAD.finditer(question) for part in _phrases(question, head))
    return _belonging(phrase or question, is_phrase=bool(phrase))


def told_belonging(text: str, secret: Secret) -> Belonging:
    """Return whose the secret of the *text* is, as the phrase says that it follows or has."""
    start, end = secret.start, secret.end
    label = text.find(secret.label, start, end) if secret.label else -1
    # "the safe: 4471" and "use 7788# for the garage" have no label
    within = (label, label + len(secret.label)) if label >= 0 else (max(0, start - _NEAR), start)
    head = [None, *_HEAD.finditer(text, *within)][-1] or _HEAD.search(text, end, end + _NEAR)
    return _belonging(" ".join(_phrases(text, head)), is_phrase=True) if head else Belonging()


def agree(asked: Belonging, told: Belonging, question: Said, near: Said) -> bool:
    """Return whether the secret may be the one that is asked for; *near* is what the text around it has."""
    if asked.people:
        is_schools = not told.is_own and bool(near.words & asked.words & _all(_SCHOOLS))
        if near.lacks(asked.people - _all(_CHILDREN)) and not (told.is_theirs or is_schools):
            return False
    elif asked.is_theirs:
        if told.is_own or not (told.is_theirs or told.people or near.people or told.words & _all(_PLACES)):
            return False
    elif asked.is_own and (told.is_theirs or question.lacks(told.people)):
        return False
    only_asked, only_told = near.lacks(asked.words), question.lacks(told.words)
    if only_asked & _all(_PLACES if told.is_own else _AWAY):
        return False
    if asked.words & told.words & _all(_HOUSES):
        only_asked, only_told = only_asked - {"door", "lock"}, only_told - {"door", "lock"}
    return not (only_asked and only_told) or only_asked | only_told <= _all(_HOME)


def _phrases(text: str, head: re.Match[str]) -> Iterator[str]:
    """Yield the words before and after the head that belong to it: "the gate *code* at my parents' place"."""
    tail = text[max(0, head.start() - _NEAR) : head.start()]
    lock = head["lock"] or ""
    before = _BEFORE_ZH.search(tail)
    if before and _HAS_HAN.search(before[0]):
        yield _STOP_ZH.split(before[0])[-1] + lock
    elif words := _BEFORE.search(tail):
        yield words[0] + lock
    if after := _BEHIND.match(text, head.end()):
        yield after[0]


def _belonging(text: str, *, is_phrase: bool) -> Belonging:
    """Return what a phrase says; of a whole sentence only whose it is."""
    people = _people(text)
    found = _tokens(text) if is_phrase else []
    whole = (one for one in found if not any(one != other and one in other and _HAS_HAN.match(one) for other in found))
    words = frozenset(filter(_is_telling, map(_same, whole))) - NAMES_NOTHING - ({"home"} if people else set())  # theirs
    return Belonging(
        words, people, not people and bool(_OWN.search(text)), is_phrase and not people and bool(_THEIRS.search(text))
    )


def _people(text: str) -> frozenset[str]:
    """Return the people that the text names besides the user, a word for each."""
    kin = (_same(match[0]) for match in _PEOPLE_ZH.finditer(_spelled(text)))
    surnamed = (match[0] for match in SURNAMED.finditer(text))
    named = words_of(" ".join(match["name"] or match["capital"] or "" for match in _POSSESSOR.finditer(text)))
    full = (match[0] for match in _NAME_ZH.finditer(text) if rarity_asked(match[0]) == 1.0)
    return frozenset((*kin, *surnamed, *named, *full)) | (words_of(text) & _all(_PEOPLE))


def _is_telling(word: str) -> bool:
    return not word.isdigit() and (word in _all(f"{_PLACES} home email") or rarity_asked(word) >= _LEAST_RARITY)
