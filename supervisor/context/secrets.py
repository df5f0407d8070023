"""
Which secrets of a memory a turn shows (`privacy.reveal`): those that the user asks for, not those that are only next to them.

A question asks for a secret if it has a word of its label ("the wifi password is …"), or another word for a password and one of
its sentence ("wifi code"); the label of a key is who issues it, "OpenAI key". Of several that it asks for, those are
shown whose sentence shares the most words with it: the password of the bank is not shown beside that of the wifi. If it says
what it asks for, and no sentence has a word of that ("the password of my laptop"), the best hit alone shows its own. A mail
address is none in a direct chat, where `ssh user@host` looks like one. A group sees none. The history block is made here, too,
since it is without secrets where a turn shows none.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from ..index.hit import Hit
from ..protocol.config import Config
from ..protocol.config_keys import Privacy
from ..protocol.parts import readable
from ..query.parse import MOST_CHARS
from ..text.language import Language, language_of
from ..text.redact import HIDDEN, MAIL_WORDS, Secret, find_secrets, redacted, said_again
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
    "password passwd passphras passcod pwd pw pass pin code combin login 密码 口令 暗号 登录 门禁码 パスワード".split()  # noqa: SIM905
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
    contact = None if privacy.personal else MAIL_WORDS
    texts = [hit.unit.text[:_COMPARED_CHARS] for hit in hits]
    secrets = [
        {text[it.start : it.end]: _shared(it, question, contact) for it in find_secrets(text, privacy.forms)} for text in texts
    ]
    most = max((len(words) for values in secrets for words in values.values()), default=0)
    best = [{value for value, words in values.items() if len(words) == most > 0} for values in secrets]
    if {*terms} - _PASSWORD and not any(words - _PASSWORD for values in secrets for words in values.values()):
        best = [next(filter(None, best), set())]
    hidden = set[str]().union(*secrets).difference(*best)
    forms = [*privacy.forms, *said_again(hidden)]

    def hide(text: str) -> str:
        def may_show(secret: Secret) -> bool:
            if secret.label == contact:
                return may_reveal
            return len(_shared(secret, question, contact)) >= max(most, 1) and text[secret.start : secret.end] not in hidden

        return redacted(text, HIDDEN[language], forms, may_show)

    return lambda text: _beginning(text, hide)


def _shared(secret: Secret, question: set[str], contact: str | None) -> set[str]:
    """Return the words of the question that the secret's sentence has; none if the question does not ask for it."""
    label, sentence = {*tokens(secret.label.lower())}, {*tokens(secret.before[-_SENTENCE_CHARS:].lower())}
    is_called_otherwise = question & _PASSWORD and label & _PASSWORD and question & sentence
    is_asked = secret.label != contact and (question & label or is_called_otherwise)
    return question & (label | sentence) if is_asked else set()


def _beginning(text: str, hide: Callable[[str], str]) -> str:
    return hide(text) if len(text) <= _MOST_CHARS else hide(text[:_MOST_CHARS])[:-_EDGE_CHARS]


def _reveals(request: Asked, privacy: Privacy) -> bool:
    return privacy.reveal and request.chat.is_direct
