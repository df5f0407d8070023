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

from recalld.supervisor.context.belonging import NAMES_NOTHING, agree, asked_belonging, said, told_belonging, words_of
from recalld.supervisor.query.parse import MOST_CHARS
from recalld.supervisor.text.redact import Secret, find_secrets, hidden
from recalld.supervisor.text.snippet import snippet_span
from recalld.supervisor.text.word_frequency import rarity_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recalld.supervisor.context.request import Asked
    from recalld.supervisor.index.hit import Hit
    from recalld.supervisor.protocol.config_keys import Privacy
    from recalld.supervisor.text.language import Language

#: Characters of each hit in which secrets are compared, and of a secret's sentence before it.
_COMPARED_CHARS: Final = 2_000
_SENTENCE_CHARS: Final = 200
#: Characters of one text that are searched for secrets, so that a message of megabytes does not delay a turn, and those at its
#: edges that are dropped, since half a secret does not look like one.
_MOST_CHARS: Final = 100_000
_EDGE_CHARS: Final = 4_000
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

#: The least rarity of a word that says whose or what's secret is asked for.
_NAMES: Final = 0.3
#: Words that ask for a password, too.
_LOGIN: Final = frozenset({"login", "登录"})


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
    question = _Question(asked.question[:MOST_CHARS], terms)
    is_asking = may_reveal and bool(question.words & (_ASKING | _CODES))
    worths: dict[str, int] = {}
    for text in (hit.unit.text[:_COMPARED_CHARS] for hit in hits if is_asking):
        secrets = find_secrets(text, privacy.forms)
        worths |= {text[one.start : one.end]: question.worth(one, text, is_alone=len(secrets) == 1) for one in secrets}
    most, known = max((0, *worths.values())), sum(worth >= 0 for worth in worths.values())

    def hide(text: str) -> str:
        is_alone = is_asking and len(find_secrets(text[:_COMPARED_CHARS], privacy.forms)) == 1

        def may_show(secret: Secret) -> bool:
            is_named = is_asking and question.names_it(secret, text, is_alone=is_alone, is_only=known <= 1)
            return is_named and question.worth(secret, text, is_alone=is_alone) >= most

        return hidden(text, language, privacy.forms, may_show)

    return lambda text: _hidden(text, terms, hide)


class _Question:
    """What a question asks of secrets: its *words*, and whose secret it means; *terms* were searched for, too."""

    def __init__(self, text: str, terms: Sequence[str]) -> None:
        self._said, self._belonging = said(text), asked_belonging(text)
        self.words = words_of(" ".join([text, *terms]))
        self._asking = self.words | {"password"} if self.words & _LOGIN else self.words
        names = _names(self.words) | self._belonging.words
        self._names = names - {"home"} or names  # the lock at home is not the wifi at home

    def worth(self, secret: Secret, text: str, *, is_alone: bool) -> int:
        """
        Return how much it asks for a secret of the *text*: by each word that both have, a little by its being the user's.

        -1: it does not ask for it. *is_alone*: the text has no other secret, so that all of it tells of this one.
        """
        own, label = _own(secret), words_of(secret.label)
        is_asked = bool(self._asking & (label & (_ASKING | _CODES) or _ASKING))
        # a secret without words is a whole message, which is found by the messages around it
        if not is_asked or (own and not own & self.words):
            return -1
        told = told_belonging(text, secret)
        near = said(text[:_COMPARED_CHARS] if is_alone else f"{secret.before[-_SENTENCE_CHARS:]} {secret.label}")
        if not agree(self._belonging, told, self._said, near):
            return -1
        return 2 * len(own & self.words) + (not (told.people or told.is_theirs))

    def names_it(self, secret: Secret, text: str, *, is_alone: bool, is_only: bool) -> bool:
        """Return whether it names the secret of the *text*; *is_only*: none of the others is asked for."""
        own, named = _own(secret), self._names
        # the name may stand in the sentence before: "The router is in the hall. password: …"
        words = own | words_of(text[:_COMPARED_CHARS]) if named and not _names(own) and is_alone else own
        # a key without a sentence is a whole message; "password" asks for none of these, nor for the only one there is
        return bool(words & named) or ("password" not in self.words and (not own if named else is_only))


def _names(words: frozenset[str]) -> frozenset[str]:
    """Return those of the words that say whose or what's secret it is."""
    return frozenset(word for word in words - NAMES_NOTHING if rarity_asked(word) >= _NAMES)


def _hidden(text: str, terms: Sequence[str], hide: Callable[[str], str]) -> str:
    if len(text) <= _MOST_CHARS:
        return hide(text)
    start, end = snippet_span(text, _MOST_CHARS, terms)
    part = hide(text[start:end])
    return part[_EDGE_CHARS if start else 0 : len(part) - (_EDGE_CHARS if end < len(text) else 0)]


def _reveals(asked: Asked, privacy: Privacy) -> bool:
    return privacy.reveal and asked.chat.is_direct


def _own(secret: Secret) -> frozenset[str]:
    """Return the words of the secret's sentence."""
    return words_of(f"{secret.before[-_SENTENCE_CHARS:]} {secret.label}")
