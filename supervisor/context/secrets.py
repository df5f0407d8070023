"""
Which secrets of a memory a turn shows (`privacy.reveal`): those that the user asks for, not those that are only next to them.

A question asks for a secret if it has the right word: for a secret with a label ("the wifi password is …") this label, for any
other secret a word of `_ASKING`; password, PIN and code are one word. Where the question says whose or what's secret it means,
only one whose sentence has such a word is shown, and of these the one that shares the most words: the password of the bank is
not shown with that of the wifi, nor for one that nobody told. Where it says only "password", none is shown; where it says only
"card number", the secret that is the only one of the hits. A group sees none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.parse import MOST_CHARS
from recalld.supervisor.text.redact import Secret, find_secrets, hidden
from recalld.supervisor.text.snippet import snippet_span
from recalld.supervisor.text.tokenizer import tokens
from recalld.supervisor.text.word_frequency import rarity_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recalld.supervisor.context.render import Language
    from recalld.supervisor.context.request import Asked
    from recalld.supervisor.index.hit import Hit
    from recalld.supervisor.protocol.config_keys import Privacy

#: Characters of each hit in which secrets are compared, and of a secret's sentence before it.
_COMPARED_CHARS: Final = 2_000
_SENTENCE_CHARS: Final = 200
#: Characters of one text that are searched for secrets, so that a message of megabytes does not delay a turn, and those at its
#: edges that are dropped, since half a secret does not look like one.
_MOST_CHARS: Final = 100_000
_EDGE_CHARS: Final = 4_000
#: Tokens that mean the same label in a question and next to a secret: who told a passcode asks for the PIN.
_SAME: Final = {
    **dict.fromkeys(("passwd", "passphras", "passcod", "pwd", "pw", "pass", "pin", "code", "combin", "combo"), "password"),
    **dict.fromkeys(("密码", "口令", "暗号", "码", "账号密码", "登录密码"), "password"),
    **dict.fromkeys(("passwort", "kennwort", "contrasena", "senha", "パス"), "password"),
    **dict.fromkeys(("密钥", "apikey", "api_key", "api-key"), "key"),
    "令牌": "token",
}
#: Tokens that ask for a secret without a label: a key, an account, a card, an address.
_ASKING: Final = frozenset(
    """
    password key token secret login credenti account card iban number email mail address url link hash commit id
    wifi contact reach otp verif
    登录 凭据 账号 帐号 账户 帐户 卡号 银行卡 信用卡 号码 单号 编号 工号 证号 身份证 护照
    邮箱 邮件 地址 链接 网址 私钥 钥匙 验证码 联系 联系方式
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
#: Words that ask only for a secret with the same word in its label: how a door is opened does not ask for a key.
_CODES: Final = frozenset(
    """
    cvv cvc puk seed phrase mnemon open unlock
    助记 提取 取件 门禁 开门 打开 开
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)

#: Words of the above that do not say whose or what's secret is asked for, and the least rarity of one that does.
_NAMES_NOTHING: Final = frozenset(
    """
    password key token secret login credenti account card number link address id phrase open unlock contact reach
    登录 凭据 账号 帐号 账户 帐户 卡号 号码 编号 地址 链接 验证码 打开 开 联系 联系方式
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
_NAMES: Final = 0.3


def redact_history(asked: Asked, most: int, language: Language, privacy: Privacy) -> Asked:
    """Return the input with the last *most* messages before it; their secrets are hidden if a turn shows no secrets at all."""
    if _reveals(asked, privacy):
        return asked

    def hide(text: str) -> str:
        return hidden(text, language, privacy.forms)

    return replace(asked, before=tuple(replace(one, text=_hidden(one.text, (), hide)) for one in asked.before[-most:]))


def redactor(
    asked: Asked, terms: Sequence[str], hits: Sequence[Hit], language: Language, privacy: Privacy
) -> Callable[[str], str]:
    """
    Return the function that hides the secrets of a text among *hits*; *terms* are the words that were searched for.

    Of a text with more than 100,000 characters it returns the part around *terms*.
    """
    may_reveal = _reveals(asked, privacy)
    if may_reveal and privacy.redact == "off":
        return str
    words = _words(" ".join([asked.question[:MOST_CHARS], *terms]))
    names = _names(words)
    most, known = 0, 0
    if is_asking := may_reveal and bool(words & (_ASKING | _CODES)):
        texts = [hit.unit.text[:_COMPARED_CHARS] for hit in hits]
        found = {text[one.start : one.end]: _shared(one, words) for text in texts for one in find_secrets(text, privacy.forms)}
        most, known = max((0, *found.values())), sum(shared >= 0 for shared in found.values())

    def hide(text: str) -> str:
        def may_show(secret: Secret) -> bool:
            if not is_asking:
                return False
            own = _own(secret)
            # the name may stand in the sentence before: "The router is in the hall. password: …"
            named = own if not names or _names(own) else own | _around(text[:_COMPARED_CHARS], privacy)
            # a key without a sentence is a whole message; "password" asks for none of these, nor for the only one there is
            is_named = bool(named & names) or ("password" not in words and (not own if names else known <= 1))
            return is_named and _shared(secret, words) >= most

        return hidden(text, language, privacy.forms, may_show)

    return lambda text: _hidden(text, terms, hide)


def _names(words: frozenset[str]) -> frozenset[str]:
    """Return those of the words that say whose or what's secret it is."""
    return frozenset(word for word in words - _NAMES_NOTHING if rarity_asked(word) >= _NAMES)


def _around(text: str, privacy: Privacy) -> frozenset[str]:
    """Return the words of a text with one secret, which are all about it; none of one with several."""
    return _words(text) if len(find_secrets(text, privacy.forms)) == 1 else frozenset()


def _hidden(text: str, terms: Sequence[str], hide: Callable[[str], str]) -> str:
    if len(text) <= _MOST_CHARS:
        return hide(text)
    start, end = snippet_span(text, _MOST_CHARS, terms)
    part = hide(text[start:end])
    return part[_EDGE_CHARS if start else 0 : len(part) - (_EDGE_CHARS if end < len(text) else 0)]


def _reveals(asked: Asked, privacy: Privacy) -> bool:
    return privacy.reveal and asked.chat.is_direct


def _words(text: str) -> frozenset[str]:
    return frozenset(_SAME.get(token, token) for token in tokens(text))


def _shared(secret: Secret, words: frozenset[str]) -> int:
    """Return how many of the question's *words* the secret's sentence has; -1 if the question does not ask for it."""
    label, own = _words(secret.label), _own(secret)
    is_asked = bool(words & (label & (_ASKING | _CODES) or _ASKING))
    # a secret without words is a whole message, which is found by the messages around it
    return len(own & words) if is_asked and (own & words or not own) else -1


def _own(secret: Secret) -> frozenset[str]:
    """Return the words of the secret's sentence."""
    return _words(f"{secret.before[-_SENTENCE_CHARS:]} {secret.label}")
