"""
How secrets look: forms that are unmistakable, commands that take one, numbers of cards, and what looks random.

What only looks random is a secret unless the text says what else it is: commits, digests, ids, order numbers and parts of an
address or a path are not secrets. `secret_labels.py` finds secrets next to a word for them, `secret_changes.py` those told
apart from it. Pure.

Each search begins with a letter or a sign of its own and looks at a limited number of characters around it, so that the work
grows with the text and no faster, whatever is pasted.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.secret_changes import changed
from recalld.supervisor.text.secret_labels import Found, beginnings, changes, in_columns, labelled
from recalld.supervisor.text.secret_openings import openings, pairs

if TYPE_CHECKING:
    from collections.abc import Iterator


#: Keys whose prefix names who issued them, and other forms that nothing else has. Each begins with a letter or a sign, which
#: makes the search fast; `_in_word` checks afterwards that no letter or digit is before it.
_UNMISTAKABLE: Final = lazy_re(
    r"""
      (?P<plain>(?:sk|pk|rk)[-_][A-Za-z0-9_-]{12,})                                   # OpenAI, Anthropic, Stripe
    | (?:gh[pousr]|github_pat)_[A-Za-z0-9_]{16,} | gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{16,}
    | xox[abeoprs]-[A-Za-z0-9-]{10,} | xapp-\d-[A-Za-z0-9-]{10,} | (?:hf|npm)_[A-Za-z0-9]{16,} | pypi-[A-Za-z0-9_-]{16,}
    | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,} | AIza[A-Za-z0-9_-]{30,} | ya29\.[A-Za-z0-9_-]{20,} | GOCSPX-[A-Za-z0-9_-]{16,}
    | LTAI[A-Za-z0-9]{12,24} | AKID[A-Za-z0-9]{16,} | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | key-[0-9a-f]{32}
    | (?:AC|SK)[0-9a-f]{32} | sq0[a-z]{3}-[A-Za-z0-9_-]{20,} | shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32} | do[opr]_v1_[0-9a-f]{40,}
    | hv[bs]\.[A-Za-z0-9_-]{20,} | dapi[0-9a-f]{32} | ntn_[A-Za-z0-9]{30,} | secret_[A-Za-z0-9]{40,} | lin_api_[A-Za-z0-9]{30,}
    | PMAK-[0-9a-f-]{30,} | NRAK-[A-Z0-9]{20,} | ATATT[A-Za-z0-9_=-]{30,}
    | dp\.pt\.[A-Za-z0-9]{30,} | FlyV1[ ][A-Za-z0-9_,/+=-]{30,}
    | tskey-[a-z]{2,10}-[A-Za-z0-9-]{16,} | AGE-SECRET-KEY-1[A-Z0-9]{30,} | r8_[A-Za-z0-9]{30,} | gsk_[A-Za-z0-9]{30,}
    | eyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*                # JWT
    | -----BEGIN[ ][A-Z ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----
      [\s\S]*?(?:-----END[ ][A-Z ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----|\Z)
    | hooks\.slack\.com/services/[A-Za-z0-9/]{20,} | discord(?:app)?\.com/api/webhooks/\d{10,}/[A-Za-z0-9_-]{30,}
    | \$(?:2[aby]|5|6|y|argon2id?)\$[A-Za-z0-9./+=,$-]{20,}                       # a password's hash
    | ://[^/\s:@]{0,64}:[^/\s:@]{1,128}@                                         # user:password@
    | [Bb](?:earer\s{1,9}[A-Za-z0-9._~+/=-]{22,}|asic\s{1,3}[A-Za-z0-9+/]{16,}={0,2}(?![A-Za-z0-9]))
    | (?:SharedAccessKey|AccountKey|PrivateKey|PresharedKey)\s{0,3}=\s{0,3}[A-Za-z0-9+/]{40,}={0,2}
    | 助记词[是为:：]{0,2}\s{0,3}(?:[\u4e00-\u9fff][ \n]){5,24}[\u4e00-\u9fff]
    """,
    re.VERBOSE,
)
_BEGINNINGS: Final = tuple(
    """
    sk- sk_ pk- pk_ rk- rk_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- xox xapp- hf_ npm_ pypi- AKIA
    ASIA ABIA ACCA AIza ya29. GOCSPX- LTAI AKID SG. key- AC SK sq0 shp doo_ dop_ dor_ hvs. hvb. dapi ntn_ secret_
    lin_api_ PMAK- NRAK- ATATT dp.pt. FlyV1 tskey- AGE-SECRET r8_ gsk_ eyJ -----BEGIN hooks.slack discord $2 $5$ $6$ $y$
    $argon2 :// Bearer bearer Basic basic SharedAccessKey AccountKey PrivateKey PresharedKey 助记词
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
_TELEGRAM: Final = lazy_re(r":AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])")
_MAIL: Final = lazy_re(r"@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w@])")
_MAIL_NAME: Final = lazy_re(r"[\w.+-]{1,64}\Z")

# ── Commands that take a secret ──────────────────────────────────────────────

#: An argument, unless it is already hidden.
_ARGUMENT: Final = r"""(?!…|\[hidden\]|\[已隐去\])(?P<secret>"[^"\n]{1,200}"|'[^'\n]{1,200}'|[^\s'"\-<$&|;][^\s'"]{0,200})"""
#: Words that begin with p are options with one hyphen too few: -pretty, -port.
_NO_FLAG: Final = r"(?!(?:retty|rint|ort|rotocol|rogress|refix|ath|ipe|arallel|roxy|rofile|lugin|lain)\b)"
#: What follows the name of a command, up to the secret.
_COMMANDS: Final = {
    "mysql": rf"\s-p{_NO_FLAG}",
    "mariadb": rf"\s-p{_NO_FLAG}",
    "curl": r"\s(?:-u|--user)[ =]?['\"]?(?!https?:)[^\s:'\"]{1,64}:",
    "wget": r"\s--(?:http-|ftp-)?password[ =]",
    "sshpass": r"\s-p\s?",
    "redis-cli": r"\s-a\s",
    "docker login": r"\s(?:-p|--password)[ =]",
    "mongo": r"\s-p\s",
    "ldap": r"\s-w\s",
    "ssh-keygen": r"\s-N\s",
    "smbclient": r"\s-U\s['\"]?[^\s%'\"]{1,64}%",
    "7z": rf"\s-p{_NO_FLAG}",
    "unzip": r"\s-P\s",
    "zip": r"\s(?:-P|--password)[ =](?=\S+[^\S\n]+[^\s|;&])",
    "openssl": r"\spass:",
    "htpasswd": r"\s-[a-zA-Z]{0,4}b[a-zA-Z]{0,4}\s\S{1,80}\s\S{1,64}\s",
    "nmcli": r"\s(?:password|psk)\s",
    "psk=": r"",
    "identified by": r"\s",
    "net use": r"\s/user:\S{1,64}\s",
}
_NAMES: Final = lazy_re("|".join(map(re.escape, _COMMANDS)))
_PIPED: Final = lazy_re(
    r"echo\s(?:-n\s)?['\"]?(?:[\w.-]{1,32}:)?(?P<secret>[^\s'\"|]{1,100})['\"]?\s?\|\s?"
    r"(?:sudo\s(?:-\w\s)?)?(?:-S\b|chpasswd|passwd|docker login|cryptsetup|sudo -S)"
)

# ── Numbers ──────────────────────────────────────────────────────────────────

_NUMBER: Final = lazy_re(r"(?<![A-Za-z0-9_])[0-9](?:[ \xa0\u2009\u202f\u3000.-]?[0-9]){12,}(?:[ \xa0-]?[xX](?![A-Za-z0-9]))?")
_CARD_WORD: Final = lazy_re(
    r"\b(?:credit|debit|bank|visa|mastercard|amex|my|company|joint)?[ -]?card(?:\s(?:number|no\.?))?\b"
    r"|visa|mastercard|amex|信用卡|银行卡|銀行卡|借记卡|储蓄卡|卡号|卡號|号码是"
)
_IDENTITY_WORD: Final = lazy_re(r"身份证|身份證|证件号|identity (?:card|number)")
#: Words before a number as long as a card's that is another number.
_OTHER_NUMBER: Final = lazy_re(
    r"order|track|isbn|issn|parcel|shipment|invoice|ticket|serial|barcode|\bean\b|\bimei\b|timestamp|epoch|transaction|case"
    r"|reference|\bid\b|phone|\btel\b|doi|version|sku|booking"
    r"|订单|单号|運單|运单|快递|流水|发票|编号|条码|条形码|序列号|电话|手机|时间戳|版本|书号|学号|工单|凭证号"
)
_NEAR: Final = 40
_CARD_NAMES: Final = ("card", "visa", "amex", "卡", "mastercard")
_LINES: Final = lazy_re(r"[^0-9\n]{0,20}\n?[^0-9\n]{0,3}(?P<card>[0-9](?:(?:[ \xa0-]|[ -]?\n ?)?[0-9]){12,18})(?![0-9])")
_GROUPED: Final = lazy_re(
    r"[0-9]{4}(?P<sep>[ \xa0\u2009\u202f\u3000.-])[0-9]{4}(?P=sep)[0-9]{4}(?P=sep)[0-9]{4}(?:(?P=sep)[0-9]{1,3}(?![0-9]))?"
)
#: The numbers of a card or a citizen in a run of several numbers.
_PART: Final = lazy_re(rf"(?<![0-9])(?=(?P<part>(?:[0-9]{{13,19}}[xX]?|{_GROUPED.pattern})(?![0-9])))")
_GROUPED_AMEX: Final = lazy_re(r"[0-9]{4}([ \xa0.-])[0-9]{6}\1[0-9]{5}")
_CITIZEN: Final = lazy_re(r"[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dX]")
_CITIZEN_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
#: A social security number of the USA.
_SSN: Final = lazy_re(r"(?<![\w.-])(?!000|666|9)\d{3}(?P<sep>[ -]?)(?!00)\d\d(?P=sep)(?!0000)\d{4}(?![\w-])(?!\.\d)")
_SSN_WORD: Final = lazy_re(r"\bssns?\b|social[ -]security|社会安全号?码?|社会保障号?码?|社安号|社保号")
_SSN_NAMES: Final = ("ssn", "social", "社")

# ── What looks random ────────────────────────────────────────────────────────

_LONG_WORD: Final = lazy_re(r"[A-Za-z0-9+/_-]{24,}={0,2}")
#: Words before a random word that say that it is not a secret.
_NO_SECRET: Final = lazy_re(
    r"(?:\b(?:\w*id|commit|sha-?\d*|md5|hash|digest|checksum|etag|rev|revision"
    r"|integrity|fingerprint|tree|blob|ssh-\w+|ecdsa-\S+"
    r"|public key|base64|cursor|nonce|boundary)|编号|哈希|校验[和值]|指纹|提交|公钥)[\W_]{0,6}(?:is|was|是|为)?[\W_]{0,3}\Z"
)
_RANDOM: Final = 0.42


def found_secrets(text: str) -> Iterator[Found]:
    """Yield the secrets of the text, those of each kind in order; two kinds may find the same one."""
    lower = text.lower()
    if len(lower) != len(text):  # the small form of İ is longer
        lower = "".join(char.lower()[0] for char in text)
    yield from _unmistakable(text)
    yield from _mails(text)
    yield from labelled(text, lower)
    yield from in_columns(text, lower)
    yield from openings(lower)
    yield from pairs(text, lower)
    yield from changed(text, lower)
    yield from _commands(text, lower)
    yield from _cards(text, lower)
    yield from _persons(text, lower)
    yield from _random(text, lower)


def _unmistakable(text: str) -> Iterator[Found]:
    end = 0
    for start in beginnings(text, _BEGINNINGS):
        match = _UNMISTAKABLE.match(text, start) if start >= end else None
        if match is None:
            continue
        end = match.end()
        is_word = match["plain"] and not (match[0].startswith("sk-proj") or any(map(str.isdigit, match[0])))
        if not is_word and (not _in_word(text, match.start()) or match[0][0] in "-:$助"):
            yield Found(*match.span())
    for match in _TELEGRAM.finditer(text):
        digits = text[max(0, match.start() - 12) : match.start()]
        count = len(digits) - len(digits.rstrip("0123456789"))
        if count >= 8:
            yield Found(match.start() - count, match.end())


def _in_word(text: str, at: int) -> bool:
    """Return whether an ASCII letter, a digit or a hyphen is right before *at*."""
    before = text[at - 1 : at] if at else ""
    return before.isascii() and (before.isalnum() or before == "_")


def _mails(text: str) -> Iterator[Found]:
    """Yield the mail addresses; git@github.com is not one."""
    for match in _MAIL.finditer(text):
        name = _MAIL_NAME.search(text, max(0, match.start() - 64), match.start())
        if name and name[0] != "git":
            yield Found(name.start(), match.end())


def _commands(text: str, lower: str) -> Iterator[Found]:
    for match in _NAMES.finditer(lower):
        if not lower[match.start() - 1 : match.start()].isalpha() and (given := _option(match[0]).match(text, match.end())):
            yield Found(*given.span("secret"))
    for match in _PIPED.finditer(text):
        yield Found(*match.span("secret"))


@cache
def _option(name: str) -> re.Pattern[str]:
    """Return the pattern of what follows the command up to its secret, compiled at first use: most texts have no command."""
    return re.compile(rf"[^\n|;&]{{0,200}}?{_COMMANDS[name]}{_ARGUMENT}")


def _cards(text: str, lower: str) -> Iterator[Found]:
    for match in _NUMBER.finditer(text):
        before = lower[max(0, match.start() - _NEAR) : match.start()]
        for start, end in ((0, len(match[0])), *(one.span("part") for one in _PART.finditer(match[0]))):
            if _is_card(match[0][start:end], before):
                yield Found(match.start() + start, match.start() + end)
                break
    for start in beginnings(lower, _CARD_NAMES):
        over_lines = _LINES.match(text, start)
        if over_lines and "\n" in over_lines["card"] and not _OTHER_NUMBER.search(lower, start, over_lines.start("card")):
            yield Found(*over_lines.span("card"))


def _persons(text: str, lower: str) -> Iterator[Found]:
    """Yield the social security numbers: after a word for one or, if written with hyphens, shortly before it."""
    for start in beginnings(lower, _SSN_NAMES):
        word = _SSN_WORD.match(lower, start)
        if word is None:
            continue
        for match in _SSN.finditer(text, max(0, start - _NEAR), word.end() + _NEAR):
            between = lower[word.end() : match.start()]
            if match["sep"] == "-" or (match.start() >= word.end() and not _OTHER_NUMBER.search(between)):
                yield Found(*match.span())


def _is_card(number: str, before: str) -> bool:
    """Return whether the digits are the number of a card or a citizen; *before* is the text before them."""
    digits = re.sub(r"[^0-9xX]", "", number).upper()
    if len(digits) == 18 and (_IDENTITY_WORD.search(before) or _is_citizen(digits)):
        return True
    other = max((one.end() for one in _OTHER_NUMBER.finditer(before)), default=0)
    named = max((one.end() for one in _CARD_WORD.finditer(before)), default=0)
    if not 13 <= len(digits) <= 19 or digits[-1] == "X" or other > named:
        return False
    grouped = bool(_GROUPED.fullmatch(number) or _GROUPED_AMEX.fullmatch(number))
    if "." in number and not grouped:
        return False
    return named > 0 or (digits[0] in "3456" and (grouped or (len(digits) > 13 and _luhn(digits))))


def _luhn(digits: str) -> bool:
    """Return whether the last digit is the check digit of the others, as on every bank card (ISO/IEC 7812)."""
    doubled = (sum(divmod(int(digit) * (1 + n % 2), 10)) for n, digit in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0


def _is_citizen(digits: str) -> bool:
    """Return whether this is an identity number of China: a region, a birthday and the check digit (GB 11643)."""
    total = (
        sum(int(digit) * weight for digit, weight in zip(digits[:17], _CITIZEN_WEIGHTS, strict=True))
        if "X" not in digits[:17]
        else -1
    )
    return bool(_CITIZEN.fullmatch(digits)) and digits[17] == "10X98765432"[total % 11]


def _random(text: str, lower: str) -> Iterator[Found]:
    for match in _LONG_WORD.finditer(text):
        if _looks_random(match[0]) and not _is_said_to_be_other(text, lower, match.start()):
            yield Found(*match.span())


def _looks_random(word: str) -> bool:
    """Return whether the word has digits, capitals and small letters, mixed as if at random."""
    beginning = word[:200]
    has_all = all(sum(map(kind, beginning)) > 1 for kind in (str.isdigit, str.isupper, str.islower))
    return has_all and changes(beginning) >= _RANDOM


def _is_said_to_be_other(text: str, lower: str, start: int) -> bool:
    """Return whether the word is a part of an address or a path, or the text calls it an id, a digest or a public key."""
    before = lower[max(0, start - _NEAR) : start]
    in_path = before[-1:] in {"/", "\\", ".", "~", "@", ":"} and before[-2:-1] not in {"", " "} and not before.endswith("::")
    whole = text[max(0, start - 300) : start]
    address = whole.rfind("://")
    in_address = address >= 0 and not re.search(r"\s", whole[address:])
    return in_path or in_address or bool(_NO_SECRET.search(before))
