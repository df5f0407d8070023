"""
Secrets without a word for one: "safe: 4471", `2580#` for a garage, 门口的密码锁是 4471, "the login is bob / hunter2".

The number must be where people write a code: after the lock and a sign or "is", with the # or * of a keypad, after "opens
with", between a verb of typing and what it opens, or alone after a door, as in a note ("cottage door 1187"). A number with a
unit, a year, a round number, and the number of a door or a flat are not codes. The turns of a dial (左三右七) are secrets too,
and so is the second half of "log in as maria with …" and of "network Birch, key …".
Each search looks at a limited number of characters around its word. Pure.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.secret_labels import PROSE, Found, around, end_of_code, is_mixed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Things whose only number is a code, and things that have other numbers too.
_LOCK: Final = (
    r"keypads?|padlock|lock ?box|key ?box|strongbox|safe|vault|suitcase|letterbox|mailbox|alarm (?:off|panel|system|keypad)"
    r"|(?<!table )(?<!row )(?<!file )(?<!process )(?<!write )(?<!read )(?<!caps )lock"
)
_ENTRANCE: Final = r"(?:(?:front|back|side|garage|main|cellar|barn|cabin) )?(?:door|gate)|garage|barrier|entrance|locker"
_LOCK_ZH: Final = (
    r"(?:门禁|密码锁|电子锁|智能锁|指纹锁|门锁|[车箱柜挂]锁|的锁|保险[箱柜]|储物柜|快递柜|钥匙盒|密码[盒箱]|报警器|警报|解锁|开锁)"
    r"(?:上|里)?(?:的?(?:数字|号码|密码))?"
)
_ENTRANCE_ZH: Final = r"(?:[大院楼铁前后家侧]|单元|车库|地库|小区)门|车库|道闸|开门"
_BEFORE: Final = r"(?<![a-z0-9_-])"
_THERE: Final = r"(?: (?:in|on|at|by|of|to|with)(?: [a-z]+(?:'s)?){1,3}?)?"
_SIGN: Final = r" ?(?:[:：=→]|[-=]>) ?| (?:is|was|is now|is set to|was set to|set to|changed to|now|opens with|opens by|takes) "
_SIGN_ZH: Final = r"\s?(?:就是|现在是|改成了?|设成了?|换成了?|[是为按输用]|[:：=]) ?"
_TURNS: Final = r"\d{1,2}(?:-\d{1,2}){2,3}"
_CODE: Final = rf"(?P<code>[#*]?(?:\d{{3,8}}|{_TURNS})[#*]?)(?![a-z0-9_%/])(?![.,:-]\d)"
_LONG_CODE: Final = r"(?P<code>[#*]?(?!(?:19|20)\d\d(?!\d))\d{4,8}[#*]?)(?![a-z0-9_%/])(?![.,:-]\d)"
_OPENING: Final = rf"(?P<code>[#*]?(?:(?!(?:19|20)\d\d(?!\d))\d{{4,8}}|{_TURNS})[#*]?)(?![a-z0-9_%/])(?![.,:-]\d)"
_KEYPAD: Final = r"(?P<code>\*\d{3,8}[#*]?|\d{3,8}#)(?![a-z0-9_#*])"
_BARRED: Final = rf"{_LOCK}|{_ENTRANCE}|alarm|building|house|cellar|shed|flat|office"
_OPENED: Final = rf"{_BEFORE}(?:{_LOCK}|{_ENTRANCE}|alarm)(?![a-z])|{_LOCK_ZH}|{_ENTRANCE_ZH}|[门锁柜开]"
#: What follows 开 where nothing is unlocked: 开店 (open a shop), 开会 (hold a meeting).
_NO_OPENING: Final = "(?![店业户公发办始张会工])"
_TYPE: Final = r"(?:use|enter|type|punch(?: in)?|press|dial|tap|key in|code)(?: (?:the |in )?(?:code|pin|number))?"

#: A number at the end of a clause that is no time of day: an alarm is set to 0630.
_NO_TIME: Final = r"(?!(?:[01]\d|2[0-3])[0-5]\d(?!\d))"
_ALONE: Final = rf"{_NO_TIME}{_LONG_CODE}(?=[ ]?(?:\Z|[\n.;,!?，。；！？、)）]))"

#: A clause that has nothing but a thing and its number: "cottage door 1187".
_NOTE_BEGINS: Final = r"(?:\A|(?<=[\n.;:,，。；：、(（•*]))[ *•-]{0,3}(?:the |our |my |我?的?)?"
_NOTE_ENDS: Final = r"(?=[ ]?(?:\Z|[\n.;,，。；、)）]))"
_NOTE_NUMBER: Final = r"(?!(?:19|20)\d\d(?!\d))(?!\d{1,4}00(?!\d))\d"
#: A price ends in 0, 8 or 9; a size is of round numbers, "80-40-60"; what is counted is in the plural, "2500 lumens".
_NO_PRICE: Final = r"(?<![089])(?![.,]\d)"
_UNMEASURED: Final = rf"(?P<code>(?!\d0(?:-\d0)+(?!\d)){_TURNS})"
_UNCOUNTED: Final = rf"(?P<code>[#*]?{_NOTE_NUMBER}{{4,6}}[#*]?)(?![a-z0-9_%/])(?![.,:-]\d)(?! (?!always)[a-z]+s(?![a-z]))"
_TYPED_ZH: Final = rf"(?P<code>{_NOTE_NUMBER}{{4,8}})"
_THEN_OPEN: Final = r"(?=[ ]?(?:\Z|[\n.;,，。；、)）]|[就即可能来去以便]{0,3}[打解]?开))"
#: Before a number: "code" alone may be that of a post or of a catalogue.
_THE_CODE: Final = r"(?:(?:the|its|(?:the |its )?(?:new|old)) code(?: is(?: now)?|:)?|code(?: is(?: now)?|:))"
_NOTE_CODE: Final = rf"(?P<code>{_NOTE_NUMBER}{{4,6}})(?![.,]\d)"
#: A number after the thing that it opens, then a number that is typed, before that thing.
_CODES: Final = (
    rf"{_BEFORE}(?:{_LOCK})(?:'s)?{_THERE}(?:{_SIGN}){_CODE}",
    rf"{_BEFORE}(?:keypad|padlock|lock ?box|key ?box) {_LONG_CODE}",
    rf"{_BEFORE}(?:luggage|suitcase|bike|cable|number) lock (?P<code>\d(?:-\d){{2,3}})(?![a-z0-9_%/-])",
    rf"{_BEFORE}(?:set|changed?|reset) (?:the|my|our|her) (?:[a-z]+ )?(?:{_LOCK}|{_ENTRANCE}|alarm) to {_NO_TIME}{_UNCOUNTED}",
    rf"{_BEFORE}(?:{_ENTRANCE})(?:'s)?{_THERE}(?:{_SIGN}){_LONG_CODE}",
    rf"{_BEFORE}alarm(?:'s)?{_THERE}(?:{_SIGN}){_ALONE}",
    rf"{_BEFORE}(?:phone|ipad|tablet|laptop|screen)(?:'s)? unlock {_ALONE}",
    rf"{_BEFORE}alarm(?: is)? (?:disarmed|turned off|switched off|silenced|off) (?:with|by) {_LONG_CODE}",
    rf"{_BEFORE}{_TYPE} {_UNCOUNTED} (?:on|at|into) (?:the|its) (?:panel|keypad|pad)(?![a-z]| (?:of|for) )",
    rf"{_BEFORE}to (?:get in(?:to)?|open|enter|unlock) (?:the |our )?(?:[a-z]+ ){{0,2}}?(?:{_BARRED}),? {_TYPE} {_UNCOUNTED}",
    rf"{_BEFORE}(?:{_BARRED})[^\n.;,]{{0,40}}?, (?:and )?{_THE_CODE} {_LONG_CODE}",
    rf"{_BEFORE}(?:{_LOCK}|{_ENTRANCE}|alarm)[^\n.;,]{{0,40}}?, code {_LONG_CODE}{_NOTE_ENDS}",
    rf"{_BEFORE}{_TYPE} {_LONG_CODE} to (?:disarm|unlock|turn (?:off )?the alarm)(?![a-z])",
    rf"{_BEFORE}(?:opens?|unlocks?)(?: it)? (?:with|by|using) (?:the )?{_OPENING}",
    rf"{_BEFORE}(?:suitcase|luggage|locker|padlock|lock)(?:'s)?{_THERE} (?:opens?|unlocks?) (?:with|by|using) {_CODE}",
    rf"{_BEFORE}{_TYPE} {_LONG_CODE} (?:[a-z']+ ){{1,4}}(?:{_LOCK}|{_ENTRANCE})(?![a-z])",
)
_CODES_ZH: Final = (
    rf"(?:{_LOCK_ZH})(?:{_SIGN_ZH}){_CODE}",
    rf"(?:门禁|电子锁|智能锁|指纹锁|门锁|的锁) ?{_LONG_CODE}",
    rf"(?:(?:保险[柜箱]|[车箱柜挂门]锁) ?[转拨用按输是:：]?|(?:储物柜|柜子) ?[转拨用按输]) ?{_UNMEASURED}{_THEN_OPEN}",
    rf"(?:行李|拉杆|旅行|皮)箱(?:子)?(?:用|转到?|拨到?|按) ?(?P<code>\d{{3}}|{_TURNS}){_THEN_OPEN}",
    rf"(?:面板|密码盘)上?输入? ?{_TYPED_ZH}(?=[ ]?(?:\Z|[\n，。；、！）]|[就来可能再去]))",
    rf"[门锁警柜][^\n。！？；]{{0,12}}(?:面板|键盘|密码盘)上?(?:输入?|按) ?{_TYPED_ZH}{_NOTE_ENDS}",
    rf"密码锁 ?{_CODE}",
    rf"(?:手机|平板|电脑|屏幕)的?解锁 ?{_ALONE}",
    rf"(?:{_ENTRANCE_ZH})(?:{_SIGN_ZH}){_LONG_CODE}",
    rf"(?:输入?|按|拨|键入|用)(?:密码|代码|数字)? ?{_LONG_CODE} ?[，,]?[就即可能来去以便]{{0,3}}[开解打]{{1,2}}{_NO_OPENING}",
)
#: A lock and its number and nothing else, as in a note; a sentence with another number is a list of prices or of sizes.
_BARE: Final = (
    rf"{_NOTE_BEGINS}(?:bike|cable|number) lock (?P<code>{_NOTE_NUMBER}{{4,5}}){_NOTE_ENDS}",
    rf"{_NOTE_BEGINS}(?:luggage|suitcase) lock (?P<code>\d{{3}}){_NO_PRICE}{_NOTE_ENDS}",
    rf"{_NOTE_BEGINS}(?:safe|vault|strongbox|lock|padlock) {_UNMEASURED}{_NOTE_ENDS}",
    rf"{_NOTE_BEGINS}(?:行李|拉杆|旅行)箱 ?(?P<code>\d{{3}}){_NO_PRICE}{_NOTE_ENDS}",
    rf"(?:密码[盒箱]|钥匙盒|车锁) ?{_ALONE}",
)
_NUMBER_BEFORE: Final = lazy_re(r"\d[^\n。！？；!?;]{0,40}\Z")
_NUMBER_BEHIND: Final = lazy_re(r"[^\n。！？；!?;]{0,40}?\d")
#: A house, before its door.
_HOUSE: Final = "cottage|cabin|chalet|villa|front|back|side|garage|main|cellar|barn|house|shed|holiday home|summer house"
_HOUSE_ZH: Final = "小木?屋|别墅|老家|乡下|民宿|院子?|家里?|前|后|大|单元|车库|地库|地下室|仓库"
_NOTE: Final = rf"{_NOTE_BEGINS}(?:{_HOUSE}) (?:door|gate) {_NOTE_CODE}{_NOTE_ENDS}"
_NOTE_ZH: Final = rf"{_NOTE_BEGINS}(?:{_HOUSE_ZH})的?门 ?{_NOTE_CODE}{_NOTE_ENDS}"
#: The turns of a dial.
_TURNED: Final = r"(?:\d{1,3}|[零一二三四五六七八九十百两]{1,4})"
_NEXT: Final = r"[ ,，、;-]{0,2}(?:then |and |再|然后|后)?[ ]?"
_DIAL: Final = rf"{_BEFORE}(?:safe|vault|dial|combination|combo|padlock|strongbox|lock)(?![a-z])[^\n.]{{0,24}}?(?<![a-z0-9])"
_DIAL_ZH: Final = r"(?:密码|保险[柜箱]|密码锁|转盘|号码锁|开法|的锁)[^\n。]{0,12}?"
_TURN_ZH: Final = rf"[先向往]{{0,2}}[左右][边转拧旋]{{0,2}}[到至]? ?{_TURNED}[圈格]?"
_DIALS: Final = (
    rf"{_DIAL_ZH}(?P<code>(?:{_TURN_ZH}{_NEXT}){{2,6}})",
    rf"{_DIAL}(?P<code>(?:(?:left|right|l|r)(?: to| at)?[ -]?{_TURNED}(?![a-z0-9]){_NEXT}){{2,6}})",
    rf"{_DIAL}(?P<code>(?:{_TURNED} (?:left|right)(?![a-z]){_NEXT}){{2,6}})",
)
#: Codes with a sign that only keypads have.
_SIGNED: Final = (
    rf"(?:{_OPENED})[^\n]{{0,40}}?(?<![a-z0-9_&#*]){_KEYPAD}",
    rf"(?<![a-z0-9_&#*]){_KEYPAD}(?=[^\n]{{0,40}}(?:{_OPENED}))",
)
#: Each code is near one of these; and the characters around it that are read.
_STEMS: Final = tuple(
    """
    keypad padlock box safe vault suitcase alarm lock door gate garage barrier entrance dial combination combo
    opens open unlock panel building 门 锁 柜 箱 车库 道闸 警 开 钥匙盒 密码 转盘 面板 键盘
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
_AROUND: Final = 60
#: What is in each turn of a dial.
_SIDE: Final = lazy_re(r"左|右|left|right|(?<![a-z])[lr] ?[0-9]")

#: The two halves of a login: after a word for one any name, after what one logs in to only common names such as "admin".
_PAIR: Final = rf"""
    (?:{_BEFORE}(?:log-?ins?|log\ in|sign-?in|credentials?|creds|accounts?|username)(?![a-z])|账号|帐号|账户|登[录陆]名?|用户名)
      [^\n/]{{0,30}}?[\s:：是为][\w.@+-]{{2,40}}(?:\s/\s|/)(?P<named>[^\s/，。；,;]{{5,60}})(?!/)
    |(?:{_BEFORE}(?:routers?|servers?|nas|ssh|ftp|vpn|admin\ panel|database|camera|modem)(?![a-z])
        |服务器|后台|路由器|数据库|摄像头|光猫)
      [^\n/]{{0,20}}?[\s:：是为](?:admin|administrator|root|user|guest|pi|ubuntu|postgres|sa|管理员)
      (?:\s?/\s?|\s?和\s?|\sand\s)(?P<known>[^\s/，。；,;]{{5,60}})(?!/)
    |(?<![\w.@+-])[\w.+-]{{1,40}}@[\w.-]{{1,40}}\s/\s(?P<mail>[^\s/，。；,;]{{5,60}})(?!/)
    """
#: The same in words: "log in as maria with …", 用 maria 和 … 登录, "network Birch, key …".
_SAID: Final = r"""
    \b(?:log(?:ged|s)?[ -]?(?:in|on)|sign(?:ed|s)?[ -]in)\s(?:to\s[^\n.,;]{1,24}?\s)?as\s["'“]?[\w.@+-]{2,40}["'”]?
      (?:\s?,)?\s(?:with|using|and)\s["'“]?(?P<given>[^\s/，。；,;"'”]{5,60})(?=["'”]?[.,;!?)]?(?:\s|\Z))
    |用(?:户名|户|账号|帐号)?\s?[「“"]?[\w.@+-]{2,40}[」”"]?\s?[和跟、+加，,]\s?(?:用\s?)?[「“"]?(?P<used>[!-~]{5,60}?)[」”"]?
      \s?(?:来|去|就能|可以|就可以)?登[录陆]
    |登[录陆](?:名|用户|账号)?\s?[用是为]?\s?[a-z0-9_.@+-]{2,40}\s?[，、和+]\s?[用口令]{0,2}\s?(?P<behind>[!-~]{5,60})
    |(?:(?<![a-z0-9_-])(?:networks?|ssid|wi-?fi|wlan|hotspot|router)(?![a-z])|网络|热点|路由器)\s?(?:name|名称?)?\s?(?:is|[:：=是叫])?\s?
      ["'“「]?[^\s,;，；、"'”」]{1,32}(?:\s[^\s,;，；、"'”」]{1,20})?["'”」]?\s?[,;，；、]\s?(?:the\s)?(?:security\s)?key\s?(?:is|[:：=是])?\s?
      ["'“「]?(?P<key>[^\s/，。；,;"'”」]{5,63})
    """
#: A network and its password, in words that are joined to a number, as no name or model is: "wifi is marmalade-otter-56".
_NO_NAME: Final = (
    r"(?![a-z_-]{0,60}(?:guest|repeat|rout|link|box|floor|channel|home|house|office|mesh|band|extend|net|room|stairs|kitchen|garage"
    r"|garden|cellar|attic|lobby|model|version|generation|point|since|from|until|mbit|gbit|standard|personal|enterprise))"
)
_JOINED_WORDS: Final = r"[a-z]{4,16}(?:[-_][a-z]{4,16}){1,4}[-_](?!(?:19|20)\d\d(?!\d))\d"
#: It is only the name where the text says so, where something is said of it, and where it goes on with another password.
_NAME: Final = r"(?<!name\ of\ the\ )(?<!name\ of\ our\ )(?<!called\ )(?<!which\ )(?<!what\ )"
_GOES_ON: Final = (
    r"\s?[,;(，；、（]?\s?(?:(?:and|with|but|it|its|the|a|has|needs|no)\s){0,5}"
    r"(?:pass(?:word|phrase|code)|(?:pw|key)(?![a-z])|密码|口令)(?![^\n]{0,20}(?:same|一样|相同))"
)
#: What is said where something else is signed in to, or typed elsewhere: "the wifi is bad, sign in with Microsoft365".
_WORKS: Final = (
    r"(?!(?:bad|slow|down|weak|gone|broken|drops?|fails?|dead|works?|page|bill|app|account|out|off|when|while)(?![a-z]))"
)
_WORKS_ZH: Final = (
    "连不|不[好行通稳]|断|[慢卡差坏]|搜|浏览器|表|作业|型号|网址|地址|网站|页|新闻|耳机|鼠标|键盘|音箱|充电|打印|手柄|关键"
)
_PRODUCT: Final = (
    "microsoft|google|office|windows|firefox|chrome|safari|bluetooth|keyword|iphone|android|outlook|facebook|whatsapp"
)
_NETWORK: Final = rf"""
    {_NAME}(?:{_BEFORE}(?:wi-?fi|wlan|hotspot|guest\ network)(?![a-z])|(?:访客|客人|客用)网络|无线网?|热点)
      (?:['’]s(?=\s)|\s(?:at|in|of|for)(?:\s[a-z]{{1,16}}){{1,3}}?(?=\sis\s|\s?[:=]))?
      (?:(?:\s(?:is|was)\s(?:now\s|still\s)?|\s?[是为]\s?|['’]s\s)[\"'“「`]?(?P<words>{_NO_NAME}{_JOINED_WORDS}{{2,6}})
        |\s?[:：=]\s?[\"'“「`]?(?P<after_sign>{_NO_NAME}{_JOINED_WORDS}{{1,6}})
        |\s(?P<alone>{_NO_NAME}{_JOINED_WORDS}{{2,6}})(?=[ ]?(?:\Z|[\n.;,!?，。；！？、)）])))(?![\w/.:-]*\w)(?!{_GOES_ON})
    |{_BEFORE}(?:wi-?fi|wlan|hotspot)\skey(?:\sis\s|\s?[:=]\s?|\s)[\"'“`]?
      (?P<of_network>(?!wpa|wep|802)(?![a-z_-]{{0,60}}(?:19|20)\d\d)[^\s/，。；,;\"'”`]{{8,63}})
    |{_BEFORE}(?:wi-?fi|wlan|hotspot|guest\ network)(?![a-z])(?:,?\s(?:just\s|please\s|you\s)?(?:use|enter|type)
        |(?:\s{_WORKS}[^\s.;!?]+){{0,9}}?\s(?:log|sign|get|connect)\s(?:in|on|to\sit|)\s?with|(?<=on\sthe\swifi)\swith)\s[\"'“`]?
      (?P<typed>(?!wpa|wep|802|\d|{_PRODUCT}){_NO_NAME}[^\s/，。；,;\"'”`]{{8,63}})
    |(?:wi-?fi|wlan|无线(?:网(?!络课))?|热点(?!新闻|话题|问题|事件))(?:(?!{_WORKS_ZH})[^\n。！？]){{0,30}}?(?<!搜索)(?:输入?|填)\s?[「“\"]?
      (?P<filled>(?!wpa|wep|802|https?:|www|\d|{_PRODUCT})[!-~]{{8,63}})
    |{_BEFORE}(?:root|admin|administrator)\s/\s(?P<on_server>[^\s/，。；,;]{{5,60}})\s(?:on|for|at)\s(?:the\s|my\s|our\s)?
      (?:routers?|servers?|nas|camera|modem|switch|vpn|database)(?![a-z])
    """
_NETWORK_STEMS: Final = (
    "wifi",
    "wi-fi",
    "wlan",
    "hotspot",
    "guest network",
    "无线",
    "热点",
    "网络",
    "root /",
    "admin /",
    "administrator /",
)
#: A word for a login, a name and a password: "login: oz@example.org / …". Before a mail address nothing but a blank is needed.
_LOGIN: Final = (
    rf"(?:{_BEFORE}(?:log-?ins?|sign-?ins?|credentials?|creds|user(?:[\ -]?(?:name|id))?)(?![a-z])"
    r"|[账帐]号|登[录陆][名号]?|用户名?)"
)
_LOGIN_OR_ACCOUNT: Final = rf"(?:{_LOGIN}|{_BEFORE}(?:accounts?|acct)(?![a-z])|[账帐]户)"
_LOGIN_IS: Final = (
    r"(?:[^\S\n]?(?:for|of|to|的)?[^\n:：/,，。;；@]{0,30}[:：=]|[^\S\n](?:is|are)(?![a-z])|[是为])[^\S\n]{0,3}[\"'“「`]?"
)
_MAIL: Final = r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}[\"'”」`]?"
_WORD: Final = r"[\"'“「`]?(?P<{}>(?!(?:pass(?:word|code)?|pwd?|pin|code)(?![!-~]*[0-9]))[!-.0-~][!-.0-~]{{3,60}}?)"
_WORD_ENDS: Final = r"(?=[\"'”」`]?[.,;!?)]?(?:\s|\Z|[，。；！？、（）])|[\"'”」`]?\()"
_CLAUSE_ENDS: Final = r"(?=[\"'”」`]?(?:[.,;!?)]?(?:\n|\Z)|[.,;!?)]\s|\s?[，。；！？、（(）]))"
_BESIDE: Final = r"(?:[^\S\n]?[,，、|][^\S\n]?|[^\S\n]{1,3})"
_NAMED: Final = rf"""
    {_LOGIN_OR_ACCOUNT}(?:{_LOGIN_IS}|[^\S\n])?{_MAIL}(?:[^\S\n]?/[^\S\n]?{_WORD.format("any")}{_WORD_ENDS}
      |{_BESIDE}{_WORD.format("after_mail")}{_CLAUSE_ENDS})
    |{_LOGIN_OR_ACCOUNT}{_LOGIN_IS}[\w.+-]{{2,40}}[\"'”」`]?[^\S\n]?/[^\S\n]?{_WORD.format("after_slash")}{_CLAUSE_ENDS}
    |{_LOGIN}{_LOGIN_IS}[\w.+-]{{2,40}}[\"'”」`]?{_BESIDE}{_WORD.format("after_name")}{_CLAUSE_ENDS}
    """
#: Whose account one logs in with: "login: google / github".
_PROVIDERS: Final = frozenset(
    """
    alipay facebook github gitlab gmail hotmail icloud linkedin microsoft outlook paypal telegram twitter wechat whatsapp
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
_NAMED_STEMS: Final = tuple(
    """
    login log-in sign-in signin credential creds user account acct 账号 帐号 账户 帐户 登录 登陆 用户
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
_PAIR_STEMS: Final = tuple(
    """
    login log-in sign-in signin credential creds account username 账号 帐号 账户 登录 登陆 用户名
    router server nas ssh ftp vpn panel database camera modem 服务器 后台 路由器 数据库 摄像头 光猫 @
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
#: A login in words has the first word and one of the others.
_SAID_STEMS: Final = (
    (" as ", ("log in", "log on", "log-in", "logged", "logs in", "sign in", "signed in", "signs in")),
    ("key", ("network", "wifi", "wi-fi", "ssid", "wlan", "hotspot", "router", "网络", "热点", "路由器")),
    ("登", ("登录", "登陆")),
)
_LONGEST_PAIR: Final = 160
_SHORTEST_SECRET: Final = 5
#: The words of a question for such a secret, in place of the words of a label.
_CODE_WORDS: Final = "code open unlock 密码 开 打开 开门"
_LOGIN_WORDS: Final = "password login 登录"


def openings(lower: str) -> Iterator[Found]:
    """Yield the numbers that open something, in order for each part of the text; *lower* is the text in small letters."""
    for start, end in around(lower, _STEMS, _AROUND):
        part = lower[start:end]
        has_digit, turns = any(map(str.isdigit, part)), _DIALS if _SIDE.search(part) else ()
        if not has_digit and not turns:
            continue
        signed = _SIGNED if "#" in part or "*" in part else ()
        chinese = () if part.isascii() else (*_CODES_ZH, _NOTE_ZH)
        found = [one for pattern in _compiled(*_CODES, _NOTE, *chinese, *signed, *turns) for one in pattern.finditer(part)]
        bare = (one for pattern in _compiled(*_BARE) for one in pattern.finditer(part))
        for match in (*found, *(one for one in bare if not _has_another_number(part, one))):
            if code_end := end_of_code(lower, start + match.end("code")):
                yield Found(start + match.start("code"), code_end, _CODE_WORDS, lower[start:end])


def _has_another_number(part: str, match: re.Match[str]) -> bool:
    """Return whether the sentence of the match has a number besides its own: it is a list of prices, or of sizes."""
    return bool(_NUMBER_BEFORE.search(part, 0, match.start("code")) or _NUMBER_BEHIND.match(part, match.end("code")))


def pairs(text: str, lower: str) -> Iterator[Found]:
    """
    Yield the second half of each login of *text*, written as a pair or in words; *lower* is the text in small letters.

    It has letters and digits, or is neither an ordinary word nor a name; after a mail address and a slash it may be any word.
    """
    if "/" in lower or "和" in lower or " and " in lower:
        yield from _halves(_PAIR, _PAIR_STEMS, text, lower)
    stems = [stem for sign, stems in _SAID_STEMS if sign in lower for stem in stems]
    yield from _halves(_SAID, stems, text, lower)
    yield from _halves(_NAMED, _NAMED_STEMS, text, lower)
    yield from _halves(_NETWORK, _NETWORK_STEMS, text, lower)


def _halves(pattern: str, stems: Iterable[str], text: str, lower: str) -> Iterator[Found]:
    for start, end in around(lower, stems, _LONGEST_PAIR):
        for match in _compiled(pattern, flags=re.VERBOSE)[0].finditer(lower, start, end):
            half = match.lastgroup or ""
            word = text[slice(*match.span(half))]
            is_word = half == "any" or (half.startswith("after_") and is_rare(word, is_name=half != "after_mail"))
            if is_mixed(word, _SHORTEST_SECRET) or (is_word and word.lower() not in PROSE):
                yield Found(*match.span(half), _LOGIN_WORDS)


def is_rare(word: str, *, is_name: bool) -> bool:
    """Return whether the word may be a password: in no list of ordinary words, and where a name may stand, not one."""
    from recalld.supervisor.text.tokenizer import stem  # imported here, since few texts have such a pair
    from recalld.supervisor.text.word_frequency import rarity_asked

    low = word.lower()
    is_other = low in _PROVIDERS or low.endswith(("ed", "ing", "ly")) or (is_name and word.istitle() and word.isalpha())
    return len(word) > _SHORTEST_SECRET and not is_other and rarity_asked(stem(low)) == 1.0


@cache
def _compiled(*patterns: str, flags: int = 0) -> tuple[re.Pattern[str], ...]:
    """Return the patterns, which are the same at each call."""
    return tuple(lazy_re(pattern, flags) for pattern in patterns)
