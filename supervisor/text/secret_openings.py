"""
Secrets without a word for one: "safe: 4471", `2580#` for a garage, 门口的密码锁是 4471, "the login is bob / hunter2".

The number must stand as people write a code: after the lock and a sign or "is", with the # or * of a keypad, after "opens
with", or between a verb of typing and what it opens. A number with a unit, a year and the number of a door or a flat is none.
Each search looks at a limited number of characters around its word. Pure.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.secret_labels import AFTER_NUMBER, Found, around, is_mixed

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What has a number only as its code, and what has other numbers too.
_LOCK: Final = (
    r"keypads?|padlock|lock ?box|key ?box|strongbox|safe|vault|suitcase|letterbox|mailbox|alarm (?:off|panel|system|keypad)"
    r"|(?<!table )(?<!row )(?<!file )(?<!process )(?<!write )(?<!read )(?<!caps )lock"
)
_ENTRANCE: Final = r"(?:(?:front|back|side|garage|main|cellar|barn|cabin) )?(?:door|gate)|garage|barrier|entrance|locker"
_LOCK_ZH: Final = (
    r"(?:门禁|密码锁|电子锁|智能锁|指纹锁|门锁|[车箱柜挂]锁|的锁|保险[箱柜]|储物柜|快递柜|钥匙盒|报警器|警报|解锁|开锁)"
    r"(?:上|里)?(?:的?(?:数字|号码|密码))?"
)
_ENTRANCE_ZH: Final = r"(?:[大院楼铁前后家侧]|单元|车库|地库|小区)门|车库|道闸|开门"
_BEFORE: Final = r"(?<![a-z0-9_-])"
_THERE: Final = r"(?: (?:in|on|at|by|of|to) (?:[a-z]+ ){1,3}?)?"
_SIGN: Final = r" ?(?:[:：=→]|[-=]>) ?| (?:is|was|is now|is set to|was set to|set to|changed to|now|opens with|opens by|takes) "
_SIGN_ZH: Final = r"\s?(?:就是|现在是|改成了?|设成了?|换成了?|[是为按输用]|[:：=]) ?"
_CODE: Final = r"(?P<code>[#*]?(?:\d{3,8}|\d{1,2}(?:-\d{1,2}){2,3})[#*]?)(?![a-z0-9_%/])(?![.,:-]\d)"
_LONG_CODE: Final = r"(?P<code>[#*]?(?!(?:19|20)\d\d(?!\d))\d{4,8}[#*]?)(?![a-z0-9_%/])(?![.,:-]\d)"
_KEYPAD: Final = r"(?P<code>\*\d{3,8}[#*]?|\d{3,8}#)(?![a-z0-9_#*])"
_OPENED: Final = rf"{_BEFORE}(?:{_LOCK}|{_ENTRANCE})(?![a-z])|{_LOCK_ZH}|{_ENTRANCE_ZH}|[门锁柜开]"
#: What is begun, and needs no code for it: a shop, a company.
_NO_OPENING: Final = "(?![店业户公发办始张会工])"
_TYPE: Final = r"(?:use|enter|type|punch(?: in)?|press|dial|tap|key in|code)(?: (?:the |in )?(?:code|pin|number))?"

#: The number after what it opens, then the number before it, which somebody types.
_CODES: Final = (
    rf"{_BEFORE}(?:{_LOCK})(?:'s)?{_THERE}(?:{_SIGN}){_CODE}",
    rf"{_BEFORE}(?:keypad|padlock|lock ?box|key ?box) {_LONG_CODE}",
    rf"{_BEFORE}(?:luggage|suitcase|bike|cable|number) lock (?P<code>\d(?:-\d){{2,3}})(?![a-z0-9_%/-])",
    rf"{_BEFORE}(?:{_ENTRANCE})(?:'s)?{_THERE}(?:{_SIGN}){_LONG_CODE}",
    rf"{_BEFORE}(?:opens?|unlocks?)(?: it)? (?:with|by|using) (?:the )?{_LONG_CODE}",
    rf"{_BEFORE}locker[^\n.;]{{1,24}}, code {_LONG_CODE}",
    rf"(?:{_LOCK_ZH})(?:{_SIGN_ZH}){_CODE}",
    rf"(?:门禁|电子锁|智能锁|指纹锁|门锁|的锁) ?{_LONG_CODE}",
    rf"密码锁 ?{_CODE}",
    rf"(?:{_ENTRANCE_ZH})(?:{_SIGN_ZH}){_LONG_CODE}",
    rf"{_BEFORE}{_TYPE} {_LONG_CODE} (?:[a-z']+ ){{1,4}}(?:{_LOCK}|{_ENTRANCE})(?![a-z])",
    rf"(?:输入?|按|拨|键入|用)(?:密码|代码|数字)? ?{_LONG_CODE} ?[，,]?[就即可能来去以便]{{0,3}}[开解打]{{1,2}}{_NO_OPENING}",
)
#: With the signs that only keypads have.
_SIGNED: Final = (
    rf"(?:{_OPENED})[^\n]{{0,40}}?(?<![a-z0-9_&#*]){_KEYPAD}",
    rf"(?<![a-z0-9_&#*]){_KEYPAD}(?=[^\n]{{0,40}}(?:{_OPENED}))",
)
#: One of them is in each, and the characters around it that are read.
_STEMS: Final = tuple(
    """
    keypad padlock box safe vault suitcase alarm lock door gate garage barrier entrance
    opens open unlock 门 锁 柜 箱 车库 道闸 警 开 钥匙盒
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
_AROUND: Final = 60

#: The two halves of a login: after a word for one any name, after what one logs in to only the names that everyone has.
_PAIR: Final = rf"""
    (?:{_BEFORE}(?:log-?ins?|log\ in|sign-?in|credentials?|creds|accounts?|username)(?![a-z])|账号|帐号|账户|登[录陆]名?|用户名)
      [^\n/]{{0,30}}?[\s:：是为][\w.@+-]{{2,40}}(?:\s/\s|/)(?P<named>[^\s/，。；,;]{{5,60}})(?!/)
    |(?:{_BEFORE}(?:routers?|servers?|nas|ssh|ftp|vpn|admin\ panel|database|camera|modem)(?![a-z])
        |服务器|后台|路由器|数据库|摄像头|光猫)
      [^\n/]{{0,20}}?[\s:：是为](?:admin|administrator|root|user|guest|pi|ubuntu|postgres|sa|管理员)
      (?:\s?/\s?|\s?和\s?|\sand\s)(?P<known>[^\s/，。；,;]{{5,60}})(?!/)
    |(?<![\w.@+-])[\w.+-]{{1,40}}@[\w.-]{{1,40}}\s/\s(?P<mail>[^\s/，。；,;]{{5,60}})(?!/)
    """
_PAIR_STEMS: Final = tuple(
    """
    login log-in sign-in signin credential creds account username 账号 帐号 账户 登录 登陆 用户名
    router server nas ssh ftp vpn panel database camera modem 服务器 后台 路由器 数据库 摄像头 光猫 @
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
_LONGEST_PAIR: Final = 160
_SHORTEST_SECRET: Final = 5
#: What a question for them has: the words that a label has elsewhere.
_CODE_WORDS: Final = "code open unlock 密码 开 打开 开门"
_LOGIN_WORDS: Final = "password login 登录"


def openings(lower: str) -> Iterator[Found]:
    """Yield the numbers that open something, of each part of the text in order; *lower* is the text in small letters."""
    for start, end in around(lower, _STEMS, _AROUND):
        part = lower[start:end]
        if not any(map(str.isdigit, part)):
            continue
        for pattern in _compiled(*_CODES, *(_SIGNED if "#" in part or "*" in part else ())):
            for match in pattern.finditer(part):
                if not AFTER_NUMBER.match(part, match.end("code")):
                    yield Found(start + match.start("code"), start + match.end("code"), _CODE_WORDS, lower[start:end])


def pairs(lower: str) -> Iterator[Found]:
    """Yield the second half of each login that is written as a pair; it has letters and digits."""
    if "/" not in lower and "和" not in lower and " and " not in lower:
        return
    for start, end in around(lower, _PAIR_STEMS, _LONGEST_PAIR):
        for match in _compiled(_PAIR, flags=re.VERBOSE)[0].finditer(lower, start, end):
            half = match.lastgroup or ""
            if is_mixed(match[half], _SHORTEST_SECRET):
                yield Found(*match.span(half), _LOGIN_WORDS)


@cache
def _compiled(*patterns: str, flags: int = 0) -> tuple[re.Pattern[str], ...]:
    """Return the patterns; most texts have nothing to open, and a command that ends after a turn should not wait for them."""
    return tuple(re.compile(pattern, flags) for pattern in patterns)
