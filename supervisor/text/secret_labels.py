"""
The words that a secret follows, and how the value has to look: "the password is plum", "PIN 4821", 门禁码 4471, `DB_PASS=x`.

What follows a word for a secret is one only if it looks like one: "the password is wrong" and "the secret is out" contain none.
Each search looks at a limited number of characters around its word, so that the work grows with the text and no faster.
Pure.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Found(NamedTuple):
    """
    A secret at *start* to *end*; *label* has the words that ask for it, *of* the words that say what it is for.

    *named* has those of them that stand in the text from *start* to *end* and are no secret: "PIN of the bike lock".
    """

    start: int
    end: int
    label: str = ""
    of: str = ""
    named: str = ""


#: What a code opens, in the lower case of the search.
_OPENED: Final = (
    r"door|gate|alarm|entry|entrance|access|lock|bike|safe|vault|garage|building|house|lobby|elevator|lift|locker"
    r"|lockbox|key\ ?box|keypad|gym|office|intercom|suitcase|luggage|padlock|parking|shed|flat|apartment"
    r"|airbnb|room|security|verification"
    r"|confirmation|auth(?:entication|orization)?|login|log-in|sms|2fa|mfa|otp|one[- ]time|backup|recovery|pairing|unlock|pass"
    r"|pin|sim|puk|voicemail|card|phone|tan|cabin|cottage|chalet|villa|hostel|hotel|studio|barn|cellar|mailbox"
)
_OPENED_ZH: Final = (
    "门禁|门锁|开门|大门|楼门|楼道|单元门|入户|院门|开锁|锁屏|解锁|支付|取款|取件|提取|提货|保险[箱柜]|储物柜|车库|道闸|地库|小区|报警|警报|安保|信箱"
    "|验证|驗證|校验|驗証|验証|安全|动态|恢复|备用|配对|登录|授权|短信|密保|房门|自行车锁|箱锁"
)
#: A word for a secret. Its group says how the value has to look.
LABEL: Final = lazy_re(
    rf"""
      (?P<password>pass(?:word|wd|phrase|code|wort)|kennwort|contrase[ñn]a|mot\ de\ passe|senha|wachtwoord|парол[ьяюе]|pwd
        |口令|密[码碼]|パスワード|비밀번호)
    | (?P<short>pass(?![a-z])|pw(?![a-z]))
    | (?P<code>(?:{_OPENED})(?:'s)?[ _-]code
        |your\ (?!(?:zip|postal|area|country|error|source|promo|discount)\ )(?:[a-z]+\ )?code
        |code(?=\ (?:for|to|of|on)\ )|combination|combo(?![a-z])
        |pin(?![a-z])(?:[ -]?(?:code|number|no\.))?码?|puk(?![a-z])码?|otp(?![a-z])|cv[vc]2?(?![a-z])码?
        |(?:{_OPENED_ZH})(?:的)?(?:代)?[码碼]|(?:手机|交易)[码碼]|门码|pin码|暗証番号|驗證碼|код)
    | (?P<key>api[_ -]?key|apikey|(?:access|secret|private|encryption|license|licence|signing|shared|master|auth|host)[_ -]?key
        |secret(?![a-z])|token(?![a-z])|cookie(?![a-z])|key(?![a-z])|密[钥鑰]|私[钥鑰]|钥匙|令牌)
    | (?P<seed>(?:seed|recovery|mnemonic|backup)[_ -](?:phrase|words)|seed(?=\ ?[:=])|助记词|mnemonic)
    """,
    re.VERBOSE,
)
#: Each label contains one of these; and the most characters of a label.
STEMS: Final = tuple(
    """
    pass kennwort contrase senha wachtwoord парол pwd pw 口令 密 パスワード 비밀번호 key secret token cookie 钥匙 令牌 私钥 code
    combination     combo pin puk otp cvv cvc cv2 码 碼 暗証番号 код seed phrase words mnemonic 助记词
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
LABEL_CHARS: Final = 40
#: What may be between a word for a secret and the secret. *weak*: nothing but a blank.
_JOINT: Final = lazy_re(
    r"""
      [\\"'`*_\])]{0,3}
      (?:\s?[(（](?P<note>[^()（）\n]{1,40})[)）])?
      (?: \s{0,9}(?P<sign>:=|={1,3}>?|[-=~—]{1,2}>|[:：→])
        | \s{0,9}(?P<is>\?\s{1,2}it(?:['’]s|\sis)\b|['’]s\b|\b(?:is|was|ist|est|es|é|are)\b
          (?:\s(?:now|still|currently|again|just|set\sto|changed\sto)\b)?|は)
        | \s{0,9}(?:[没不][变改换]过?[，,]\s?)?(?:还|也|就|现在|目前|仍|应该|都|一直)?
          (?P<shi>是|为|為|叫)(?!什么|什麼|多少|啥|何|谁|几)
        | [^，。；！？\n]{0,20}?(?P<set>(?:改|设|設|換|换|变|更新|重置|设置|设定)(?:成|为|為)了?)
        | (?P<of_joint>(?:\s|(?<=code))(?:for|of|to|on|in|at|für|von|de|del|para|от|для))(?P<of>(?:\s[^\s.;:!?：]{1,30}){1,5}?)
          (?:\s(?P<of_is>is|was)\b(?:\snow\b)?|\s?(?P<of_sign>[:=：]|->))
        | \s(?:was|has\sbeen|is)?\s?(?P<set_en>(?:changed|set|reset)\sto)\b
        | \s(?P<to>to)\b
        | \s{0,3}(?P<cell>\|)(?=[ ][^|\n]{1,80}\|)
        | (?P<weak>\s(?:[-–—]\s)?|(?<=[码碼]))
      )
      \s{0,9}[:=：]?[*_`]{0,3}\s{0,9}(?:[-*•]\s)?
    """,
    re.VERBOSE,
)
#: What may come before "my password to plum77".
_CHANGED: Final = lazy_re(r"\b(?:chang|reset|set|updat|switch)[a-z]{0,4}\s(?:[\w'’]{1,20}\s){0,3}\Z")
_VALUE: Final = lazy_re(
    r"""\\?"(?P<double>[^"\n]{1,200})" | '(?P<single>[^'\n]{1,200})' | “(?P<curly>[^”\n]{1,200})” | ‘[^’\n]{1,200}’
      | 「[^」\n]{1,200}」 | 『[^』\n]{1,200}』 | `[^`\n]{1,200}` | ["']?[^\s，。；、！？）】」』]{1,500}""",
    re.VERBOSE,
)
_CODE: Final = lazy_re(
    r"[\"'“「`*]{0,2}(?:[A-Z]-)?(?:[#*]?\d(?:[ -]?\d){2,11}[#*]?|(?=[a-zA-Z]*\d)[a-zA-Z0-9]{4,10})"
    r"[\"'”」`]?(?![a-zA-Z0-9%])(?![.,/:-]\d)"
)
#: A code that begins with a word, and the words that are joined to the number of a code: kestrel-4471, 4471-kestrel.
_WORD_FIRST: Final = lazy_re(r"[a-zA-Z]{3,20}[-_]\d{4,8}(?![a-zA-Z0-9%])(?![.,/:-]\d)")
_JOINED: Final = lazy_re(r"(?:[-_@#&+~][a-zA-Z0-9]{1,20}){1,4}")
_AFTER_NUMBER: Final = lazy_re(
    r"\s?(?:秒|分|位|个|個|次|元|年|月|天|条|岁|毫米|厘米|米|平|块|号|楼|室|页|字|人|台|户|seconds?|minutes?|hours?|days?|digits?|char|times"
    r"|words?|pages?|messages|posts|photos|pictures|lines|events|errors|people|square|sq|feet|ft\b|met(?:er|re)s?|[mck]m\b|kgs?\b|kilos?\b|(?:kilo)?grams?\b|lbs?\b|euros?|dollars?|pounds?|%|boarding|departs?|departure"
    r"|series\b|models?\b|editions?\b|lit(?:er|re)s?\b)"
)
#: "Building code 2021" and "phone code 0049" are codes of other kinds.
_HAS_OTHER_CODES: Final = lazy_re(r"(?:building|house|phone|card|office|room)")
_OTHER_CODE: Final = lazy_re(r"(?:(?:19|20)\d\d|00\d{1,3})(?!\d)")
_SEED: Final = lazy_re(r"(?:\s{0,3}(?:\d{1,2}[.)]\s?)?[a-z]{3,8}(?![a-z]),?){6,24}")
_QUOTES: Final = "\"'“”‘’「」『』`\\"
_ENDS: Final = ".,;:!?…)]}>*_`'\"。，；！？"
#: What follows "the password is" where it is not the password.
PROSE: Final = frozenset(
    """
    a about ask check look please see after again all almost already also always an and any anything as asked at available
    back bad based because before being best better between blank both but by can case case-sensitive changed checked clear
    common complete compromised copied correct created critical default different difficult display done down due each easy
    either else empty encrypted enough even everything expired expiring fine for forgotten free from generated getting gone
    good hard hashed her here hers hidden his how i if ignored important in incorrect inside insecure interesting invalid it
    its just kept known last less like local locked long longer lost mandatory masked missing mine more most my near needed
    never new next no none not nothing now obvious of off ok okay old on one only open optional or our ours out outside over
    plain private protected public random read ready rejected required reset right safe same saved secret secure sent set
    shared short shorter so some something somewhere special still stored strong stronger such sure temporary that the their
    them then there these this those through to together too two under undefined unique unknown unset until up updated used
    useful valid very visible weak weaker well what when where which who why with without wrong written yes yet you your
    yours still-valid ne nicht falsch richtig zu das der die dein mein kein le la mon ma pas trop el mi tu muy incorrecta
    str string int bool bytes null nil true false todo tbd n/a na unchanged xxx xxxx
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
_PROSE_ZH: Final = lazy_re(
    "(?:不|否|对的|錯|错|一样|一樣|同|由|在|我|你|您|他|她|它|谁|哪|怎|旧|必|空|给|用|指|一|个|默认|以前|之前|刚|随机|没|有|要|需|很|太|最|至少"
    "|多|少|昨|今|明|上|下|见|無|无|忘|发|存|放|保|写|记|只|和|跟|老|新|正确|两|几|那|这|该|其|什|被|已|还|能|可|会|为了|大|小|长|短|强|弱|八|六|四|请)"
)
#: What replaces a secret that is elsewhere: variables, calls, placeholders, marks of what was hidden.
_PLACEHOLDER: Final = lazy_re(
    r"""\$|%\(|%[A-Za-z]|<[^>]|\{|\[hidden\]|\[?redacted|\[已隐去|\[已删除|[*•·x.…_-]{3,}\Z|[*•]{3,}
      |(?:self|this|os|sys|env|environ|args|opts?|options|config|conf|cfg|settings|request|req|process|secrets|params?|data
         |user|form|values|ctx|event|body|vars?|import|document|props|state)[.\[]
      |\w{1,40}\(|(?:your|my|the|enter|insert)[-_ ]|请输入|输入|/[\w.-]{1,60}/|~/|\./|file:|https?:|vault:|env:|ref:
      |-{1,2}[a-z]""",
    re.VERBOSE | re.IGNORECASE,
)
#: What the password is named after: Bob's birthday, 鲍勃的生日.
_OWNER: Final = lazy_re(r"[^\W\d_]{1,30}(?:['’]s\s+[a-z]|\s?的)", re.IGNORECASE)
#: After "password:" on a line of its own the secret is the whole next line.
_WHOLE_LINE: Final = lazy_re(r"[^\S\n]*(?:\n|\Z)")
_BEFORE_CODE: Final = lazy_re(
    r"(?:(?<=[\s，。；：:])|\A|(?<=[\u4e00-\u9fff]))(?P<value>[#*]?(?=[a-z]*\d)[a-z0-9#*_.@!-]{3,40})[^\S\n]{0,2}(?:is|was|就?是)"
    r"[^\S\n]{0,2}(?:(?:the|my|our|your|his|her|their|new|old|current|我们?的?|你的?|他的?|她的?|家里?的?|新的?|的)[^\S\n]{0,2}){0,3}"
    r"(?:[^\W\d_]{1,12}[^\S\n]?的?[^\S\n]?){0,2}\Z"
)
#: The words that say what a secret is for, where none of them could be one itself.
_PLAIN_WORDS: Final = lazy_re(r"(?:\s[^\W\d_]{1,30}(?:['’-][^\W\d_]{1,30}){0,3}){1,5}")
_BACK: Final = 80
_OPENED_BY: Final = lazy_re(rf"\b(?:{_OPENED})\b", re.VERBOSE)
#: In a .netrc and on a command line a blank is enough between a label and its secret.
_LOGIN: Final = lazy_re(r"(?:--|\blogin\s+\S{1,60}\s+)\Z")
#: The line below the head of a table, and a row.
_RULER: Final = lazy_re(r"\n[ ]{0,3}\|?[ ]?:?--[-:| ]{0,400}(?=\n)")
_ROW: Final = lazy_re(r"\n([^\n|]{0,400}\|[^\n]{0,2000})")
_MOST_HEADER: Final = 400
_QUERY: Final = lazy_re(r"[?&#;][\w.-]{0,30}\Z")
_DATE: Final = lazy_re(r"\d{4}-\d\d-\d\d")
_HEX: Final = lazy_re(r"(?:0x)?[0-9a-fA-F]{20,}")
_FOUR_DIGITS: Final = lazy_re(r"\d{4}")
_PHRASE: Final = lazy_re(r"[\"'“]?(?:[a-z]{3,12}[ -]){2,11}[a-z]{3,12}[\"'”]?")
_LEAST_DIGITS: Final = 3
_JUDGED: Final = 80
_SHORTEST_KEY: Final = 6
_LONG: Final = 20
_OFTEN: Final = 0.3
_HAN: Final = lazy_re(r"[\u3040-\u30ff\u4e00-\u9fff]")
#: Names of algorithms, files and formats, which have digits as a password has.
_FORM_NAME: Final = lazy_re(
    r"(?:sha|md|base|utf|aes|rsa|oauth|v|id_ed|ed|ipv|http|hs|rs|es)[-_]?\d{1,5}(?:[-_]\w+)?"
    r"|id_rsa|1password|wifi\d|pbkdf2|argon2\w*|s3|k8s"
)


def labelled(text: str, lower: str) -> Iterator[Found]:
    """
    Yield the secrets that are next to a word for them; *lower* is *text* in small letters, of the same length.

    >>> [text[one.start : one.end] for text in ("So the secret is out.", "the pin is 8841") for one in labelled(text, text)]
    ['pin is 8841']
    """
    at = 0
    for start, end in around(lower, STEMS, LABEL_CHARS):
        at = max(at, start)
        while at < end and (match := LABEL.search(lower, at, end)):
            at = match.end()
            kind = match.lastgroup or ""
            if inside_a_word(lower, match, kind):
                continue
            found = _after(text, lower, match, kind) or _before(text, lower, match)
            if found:
                yield found
                at = max(at, found.end)


def names_secret(text: str) -> bool:
    """
    True if the text has a label for a password, a code or a seed phrase, whether a value follows it or not.

    >>> names_secret("门禁码写在门后"), names_secret("the pin is otter"), names_secret("the cookie jar, the spin")
    (True, True, False)
    """
    lower = text.lower()
    labels = (one for start, end in around(lower, STEMS, LABEL_CHARS) for one in LABEL.finditer(lower, max(0, start), end))
    kinds = ((one.lastgroup or "", one) for one in labels)
    return any(kind not in {"key", "short"} and not inside_a_word(lower, one, kind) for kind, one in kinds)


def beginnings(text: str, words: Iterable[str]) -> list[int]:
    """Return where one of the *words* begins, in order; much faster than a pattern that is tried at each character."""
    found = []
    for word in words:
        at = text.find(word)
        while at >= 0:
            found.append(at)
            at = text.find(word, at + len(word))
    return sorted(set(found))


def around(text: str, words: Iterable[str], chars: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of the text with one of the *words* and *chars* before and after it, in order, without overlaps."""
    start, end = 0, 0
    for at in beginnings(text, words):
        if at - chars > end:
            if end:
                yield start, end
            start = at - chars
        end = at + chars
    if end:
        yield max(0, start), min(end, len(text))


def end_of_code(lower: str, at: int) -> int:
    """
    Return where a code ends whose number ends *at*, with the words that are joined to it; 0 where the number counts something.

    >>> end_of_code("4471-kestrel now", 4), end_of_code("4471 pages", 4), end_of_code("4471-page manual", 4)
    (12, 0, 0)
    """
    joined = _JOINED.match(lower, at)
    unit = _AFTER_NUMBER.match(lower, at + 1 if joined else at)
    end = joined.end() if joined else at
    return 0 if unit and (not joined or unit.end() == end) else end


def in_columns(text: str, lower: str) -> Iterator[Found]:
    """Yield the cells of tables below a word for a secret, such as the cells of a column "password"."""
    end = 0
    for ruler in _RULER.finditer(text):
        if ruler.start() < end:  # a row of the previous table, which is read already
            continue
        top = text.rfind("\n", max(0, ruler.start() - _MOST_HEADER), ruler.start()) + 1
        cells = lower[top : ruler.start()].split("|") if ruler.start() - top < _MOST_HEADER else []
        columns = {
            n for n, cell in enumerate(cells) if (label := LABEL.fullmatch(cell.strip(" *"))) and label.lastgroup != "seed"
        }
        row = _ROW.match(text, ruler.end()) if columns else None
        while row:
            at = row.start(1)
            for n, cell in enumerate(row[1].split("|")):
                word = cell.strip(" *`")
                if n in columns and len(word.split()) == 1 and word.strip("-*.?") and word.lower() not in PROSE:
                    start = at + cell.index(word)
                    yield Found(start, start + len(word), cells[n].strip(" *"))
                at += len(cell) + 1
            end = row.end()
            row = _ROW.match(text, row.end())


def inside_a_word(lower: str, match: re.Match[str], kind: str) -> bool:
    """Return whether the label is only a part of another word: compass, spin, tokenizer."""
    before = lower[match.start() - 1 : match.start()]
    return kind != "password" and match[0][0].isascii() and before.isascii() and before.isalpha()


def _after(text: str, lower: str, label: re.Match[str], kind: str) -> Found | None:
    """Return the secret that follows the label."""
    if kind == "seed":
        words = re.compile(r"[\"'`*_]{0,3}\s{0,3}(?:is|are|was|[:=：是为])?\s{0,3}").match(lower, label.end())
        found = _SEED.match(lower, words.end()) if words else None
        return Found(label.start(), found.end(), label[0], named=label[0]) if found else None
    joint = _JOINT.match(lower, label.end())
    if joint is None:
        return None
    if label[0] == "code" and not _OPENED_BY.search(joint["of"] or ""):
        return None  # error code for, country code of
    if joint["to"] and not _CHANGED.search(lower, max(0, label.start() - _BACK), label.start()):
        return None  # the key to the house
    of = lower[slice(*joint.span("note"))] if joint["note"] else joint["of"] or ""
    value = _value(text, lower, label, joint, kind)
    name = text[slice(*label.span())]
    is_plain = joint["of"] and joint.start("of") == label.end() + len(joint["of_joint"]) and _PLAIN_WORDS.fullmatch(joint["of"])
    named = text[label.start() : joint.end("of")] if is_plain else name
    return Found(label.start(), value, name, of, named) if value else None


def _before(text: str, lower: str, label: re.Match[str]) -> Found | None:
    """Return the secret before the label: 4471 is the door code."""
    found = _BEFORE_CODE.search(lower, max(0, label.start() - _BACK), label.start())
    if label.lastgroup in {"key", "seed"} or label[0] == "code" or found is None:
        return None
    name = text[slice(*label.span())]
    return Found(found.start("value"), label.end(), name, named=name)


def _value(text: str, lower: str, label: re.Match[str], joint: re.Match[str], kind: str) -> int:
    """Return where the value after the label ends; 0 if it does not look like a secret."""
    if kind == "code":
        code = _CODE.match(text, joint.end()) or (_WORD_FIRST.match(text, joint.end()) if joint["weak"] is None else None)
        is_other = joint["weak"] and _HAS_OTHER_CODES.match(label[0]) and _OTHER_CODE.match(text, joint.end())
        return end_of_code(lower, code.end()) if code and not is_other else 0
    match = _VALUE.match(text, joint.end())
    if match is None or _PLACEHOLDER.match(match[0].lstrip(_QUOTES)) or _OWNER.match(text, match.start()):
        return 0
    is_quoted = match[0][-1] in _QUOTES and len(match[0]) > 2 and match[0].lstrip("\\")[0] in _QUOTES
    word = match[0].strip(_QUOTES).rstrip(_ENDS) or match[0].strip(_QUOTES)
    is_far = "\n" in text[label.end() : match.start()]
    if is_far and not is_quoted and not _WHOLE_LINE.match(text, match.end()):
        return 0
    if label[0] == "passphrase" and (phrase := _PHRASE.match(text, match.start())):
        return phrase.end()
    if _judged(word, text, label, joint, kind, is_quoted=is_quoted):
        return match.end()
    return 0


def _judged(word: str, text: str, label: re.Match[str], joint: re.Match[str], kind: str, *, is_quoted: bool) -> bool:
    """Return whether *word*, which follows the label and the joint, is a secret; *kind* is the group of the label."""
    word = word[:_JUDGED]
    low = word.lower()
    if joint["weak"] is not None and _HAN.match(word):
        return False
    sign = joint["sign"] or joint["of_sign"]
    name = text[slice(*label.span())]
    is_option = _LOGIN.search(text, max(0, label.start() - _BACK), label.start()) is not None
    if low in PROSE or _FORM_NAME.fullmatch(low) or not any(char.isalnum() for char in word):
        return False
    if sign == "=" and name.isupper() and joint.end() == label.end() + 1:  # a variable of a shell
        return kind != "key" or not word.isdigit()
    if kind == "key":
        in_address = _QUERY.search(text, max(0, label.start() - _BACK), label.start()) is not None
        return _is_key(word, name, is_given=in_address or (is_quoted and bool(sign)))
    if joint["weak"] is not None:
        return is_option or is_mixed(word, 5) or ((kind != "short" or name == "pw") and bool(_FOUR_DIGITS.match(word)))
    if kind == "short" and (name.isupper() or (not sign and name == "pass")):
        return is_mixed(word, 5) or bool(_FOUR_DIGITS.match(word))
    if (word.isdigit() and len(word) < _LEAST_DIGITS) or (joint["to"] and word.isalpha()):
        return False
    if is_quoted:
        return True
    if _HAN.match(word):
        return not _PROSE_ZH.match(word) and (bool(sign) or bool(_FOUR_DIGITS.search(word)))
    is_participle = not sign and word.isalpha() and low.endswith(("ed", "ing"))
    return not is_participle and low.split("'")[0].split("\u2019")[0] not in PROSE


def _is_key(word: str, name: str, *, is_given: bool) -> bool:
    """Return whether a word after "token" or "key" is a secret; *is_given*: it is in quotes, or in the query of an address."""
    if name.lower() == "key" or name.lower() == "cookie":
        return bool(_HEX.fullmatch(word)) or (len(word) >= _LONG and changes(word) >= _OFTEN)
    return is_mixed(word, _SHORTEST_KEY) or (is_given and len(word) >= _SHORTEST_KEY and not any(map(str.isspace, word)))


def is_mixed(word: str, least: int) -> bool:
    """Return whether the word has letters and digits, and is not a name or a date that has both."""
    has_both = any(map(str.isdigit, word)) and any(map(str.isalpha, word))
    return (
        len(word) >= least
        and has_both
        and not _HAN.match(word)
        and not _FORM_NAME.fullmatch(word.lower())
        and not _DATE.match(word)
    )


def changes(word: str) -> float:
    """
    Return how often a small letter, a capital, a digit or a sign is next to one of another kind: 0 to 1.

    >>> round(changes("wJ4lrX7UtnF3MIK7MDENG"), 2), round(changes("setStatementCacheSize2"), 2)
    (0.6, 0.33)
    """
    kinds = ["d" if char.isdigit() else "u" if char.isupper() else "l" if char.islower() else "s" for char in word]
    return sum(one != other for one, other in itertools.pairwise(kinds)) / max(1, len(kinds) - 1)
