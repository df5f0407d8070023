"""
Which secrets of a memory a turn shows (`privacy.reveal`): those that the user asks for, not those that are only next to them.

A question asks for a secret if it has a word of its label ("the wifi password is …"), or another word for a password ("wifi
code"); the label of a key is who issues it, "OpenAI key". If it says what for, a word of that has to stand before the secret:
the password of the bank is not shown for that of the wifi, and an old one of the wifi is beside the new one. A mail
address is none in a direct chat, where `ssh user@host` looks like one. A group sees none. The history block is made here, too,
since it is without secrets where a turn shows none.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from ..index.hit import Hit
from ..protocol.config import Config
from ..protocol.config_keys import Privacy
from ..protocol.parts import readable
from ..query.parse import MOST_CHARS
from ..text.language import Language, language_of
from ..text.redact import HIDDEN, MAIL_WORDS, Secret, find_secrets, redacted, said_again, without_secrets
from ..text.tokenizer import tokens
from .history_window import Window, WindowLimits, window
from .request import Asked

#: Characters of each hit in which secrets are compared, and of a secret's sentence before it.
_COMPARED_CHARS: Final = 2_000
_SENTENCE_CHARS: Final = 200
#: Characters of one text that are read at most: no block has room for more, and a message of megabytes must not delay a turn;
#: and those at its end that are dropped then, since half a secret does not look like one.
_MOST_CHARS: Final = 100_000
_EDGE_CHARS: Final = 4_000
#: For each message of the history block so many are read: results of tools are not shown, and no message is shown twice.
_LOOKED_AT: Final = 3
#: Words for a password, as tokens.
_PASSWORD: Final = frozenset(
    "password passwd passphras passcod pwd pw pass pin code combin login 密码 口令 暗号 登录 码 门禁码 パスワード".split()  # noqa: SIM905
)


def oldest_shown(request: Asked, config: Config) -> datetime | None:
    """Return the time of the oldest message that the history of a turn shows; None if it shows all of them."""
    shown = history_block(request, config.context.history_tokens, config).messages
    place = next((n for n, message in enumerate(request.before) if shown and message.id == shown[0].id), 0)
    return request.before[place].created_at if place else None


def history_block(request: Asked, tokens: int, config: Config) -> Window:
    """Return the history block in so many *tokens*, without secrets."""
    limits = WindowLimits(
        tokens=tokens,
        least=config.context.min_messages,
        most=config.context.max_messages,
        message_chars=config.context.message_chars,
        zone=config.archive.zone,
        language=turn_language(request, config),
    )
    shown = replace(request, before=tuple(readable(message) for message in request.before[-_LOOKED_AT * limits.most :]))
    without_secrets = _redacted(shown, limits.most, turn_language(request, config), config.privacy)
    return window(without_secrets.before, limits, len(request.before) - len(shown.before))


def turn_language(request: Asked, config: Config) -> Language:
    """Return the language of the texts around what is quoted."""
    return config.language if config.language != "auto" else language_of(request.question[:MOST_CHARS])


def _redacted(request: Asked, most: int, language: Language, privacy: Privacy) -> Asked:
    """Return the input with the last *most* messages before it; their secrets are hidden if a turn shows no secrets at all."""
    if _reveals(request, privacy):
        return request

    def hide(text: str) -> str:
        return _beginning(text, lambda part: redacted(part, HIDDEN[language], privacy.forms))

    return replace(request, before=tuple(replace(message, text=hide(message.text)) for message in request.before[-most:]))


def redactor(
    request: Asked, terms: Sequence[str], hits: Sequence[Hit], language: Language, privacy: Privacy
) -> Callable[[str], str]:
    """
    Return the function that hides the secrets of a text among *hits*; *terms* are the words that were searched for.

    Of a text with more than 100,000 characters it returns the beginning.
    """
    may_reveal = _reveals(request, privacy)
    if may_reveal and privacy.redact == "off":
        return str
    question = {*tokens(request.question[:MOST_CHARS].lower()), *terms} if may_reveal else set[str]()
    subject = {*(terms or question)} - _PASSWORD if may_reveal else set[str]()
    wish = _Wish(question, subject, MAIL_WORDS if may_reveal and not privacy.personal else None)
    texts = [hit.unit.text[:_COMPARED_CHARS] for hit in hits]
    values: dict[bool, set[str]] = {True: set(), False: set()}
    for text in texts:
        for secret, is_wanted in wish.secrets(text, privacy.forms):
            values[is_wanted].add(text[secret.start : secret.end])
    forms = [*privacy.forms, *said_again(values[False] - values[True])]

    def hide(text: str) -> str:
        secrets = [(text[secret.start : secret.end], secret, is_wanted) for secret, is_wanted in wish.secrets(text, forms)]
        shown = values[True] | {value for value, _, is_wanted in secrets if is_wanted}
        return without_secrets(text, (secret for value, secret, _ in secrets if value not in shown), HIDDEN[language])

    return lambda text: _beginning(text, hide)


class _Wish(NamedTuple):
    """The words of a question, those of what it asks a secret for, and the label of what is no secret in a direct chat."""

    question: set[str]
    subject: set[str]
    contact: str | None

    def secrets(self, text: str, forms: Iterable[str]) -> Iterator[tuple[Secret, bool]]:
        """
        Yield the secrets of the text, and whether the question asks for each; none is asked for without its words.

        What is a secret by what stands beside it alone (`Secret.is_code`) is asked for by a word of what it is for.
        """
        end = 0
        pairs = {word[n : n + 2] for word in self.subject if not word.isascii() for n in range(len(word) - 1)} - _PASSWORD
        for secret in find_secrets(text, forms):
            label = {*tokens(secret.label.lower())}
            before = f"{text[max(end, secret.start - _SENTENCE_CHARS) : secret.start]} {secret.label}".lower()
            is_called = self.question & label or (self.question & _PASSWORD and label & _PASSWORD)
            is_named = (
                self.subject & {*tokens(before)}
                or any(pair in before for pair in pairs)
                or any(word in secret.label for word in self.subject if len(word) == 1)
            )
            is_asked = is_named if secret.is_code else is_called and (is_named or not self.subject)
            yield secret, bool(secret.label == self.contact or is_asked)
            end = secret.end


def _beginning(text: str, hide: Callable[[str], str]) -> str:
    return hide(text) if len(text) <= _MOST_CHARS else hide(text[:_MOST_CHARS])[:-_EDGE_CHARS]


def _reveals(request: Asked, privacy: Privacy) -> bool:
    return privacy.reveal and request.chat.is_direct
