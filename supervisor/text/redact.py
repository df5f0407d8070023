"""
Find and hide secrets: keys, passwords, card numbers and mail addresses.

The caller decides which of them are hidden: in names of files and in what a model gets all of them, in a memory block those
that nobody asked for (`context/secrets.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: What is written in place of a secret, for people and models.
HIDDEN: Final = {"zh": "[已隐去]", "en": "[hidden]"}
#: What is matched as if it were written otherwise: full-width letters, digits and signs as ASCII, characters without width not
#: at all. The punctuation of Chinese stays.
_FOLDED: Final = {
    **{code: code - 0xFEE0 for code in range(0xFF02, 0xFF5F) if chr(code) not in "（），：；？"},
    **dict.fromkeys([0xAD, 0x180E, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF, *range(0xE0000, 0xE0080)]),
}
_IS_FOLDED: Final = re.compile("[" + "".join(map(chr, _FOLDED)) + "]")
#: Patterns of keys and passwords. The words around them stay; what can't be distinguished from prose is not matched. A pattern
#: that is tried at many places of one long word has a limited length, since a pasted file would otherwise take minutes.
_SECRETS: Final = re.compile(
    r"""
      (?P<file>(?a:\b)attachments/[0-9a-f]{32}\.[a-z0-9]{1,5}(?a:\b))  # the name of a picture: long hex, and no secret
    | (?a:\b)(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abps]|hf|npm|pypi|AKIA|ASIA|AIza)[-_]?[A-Za-z0-9_\-]{12,}  # vendors
    | (?a:\b)eyJ[A-Za-z0-9_\-]{8,2000}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*  # JWT
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----[\s\S]*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    | (?a:\b)bearer\s{1,9}[A-Za-z0-9._~+/=-]{22,}
    | (?=[ackmopstv口密暗パ비校驗验])  # of the first letters of a label, to be quick
      (?:(?P<label>pass(?:word|wd|phrase|code|wort)|kennwort|contraseña|mot[ ]de[ ]passe|senha|pwd|secret|token|api[_ -]?key
          |口令|密(?:[码碼]|[钥鑰])|パスワード|暗証番号|비밀번호|[验驗][证證][码碼]|校验码|verification[ ]code)
        | (?P<short>(?a:\b)(?:pass|pw|pin|otp)码?)(?=\s{0,9}(?:[:=：是]|\d{4})))
      [\\"'`*_]{0,3}
      (?:\s?[(（](?P<note>[^()（）\n]{1,40})[)）])?
      (?: \s*+(?:[:=：は]|\b(?:is|was|ist|est|es)\b(?:\s(?:now|still|currently|set\sto|changed\sto)\b)?)
        | \s*+(?:还|就|现在|目前|仍|应该)?是(?!什么|多少|啥)
        | \s*+为(?!什么|何)
        | [^，。；！？\n]{0,20}?(?:改|设|換|换|变|更新|重置|设置)(?:成|为)了?
        | (?<!secret)(?<!token)\s(?:for|of|to|on|in)(?P<of>(?:\s[^\s.;:!?：]{1,30}){1,5}?)(?:\s(?:is|was)\b|\s?[:=：])
        | \s(?:was|has\sbeen|is)?\s?(?:changed|set|reset)\sto\b
        | (?=\s\S*\d) | (?<=码)(?=\d{4})
      )
      \s*+[:=：]?[*_`]{0,3}\s*+
      (?: \\?"[^"\n]{1,200}" | '[^'\n]{1,200}' | “[^”\n]{1,200}” | ‘[^’\n]{1,200}’ | 「[^」\n]{1,200}」 | 『[^』\n]{1,200}』
        | ["']?[^\s，。；、！？）】」』]+ )  # in Chinese no blank follows
    | ://[^/\s:@]+:[^/\s:@]+@  # user:password@
    | (?a:\b)[0-9a-f]{32,}(?a:\b)  # long hex
    | (?a:\b)(?=[A-Za-z0-9+/_-]{24,}?(?a:\b))(?=[^\s0-9]{0,99}[0-9])(?=[^\sa-z]{0,99}[a-z])[A-Za-z0-9+/_-]{24,}={0,2}  # base64
    | (?a:\b)\d(?:[ \xa0\u2009\u202f\u3000-]?\d){12,18}(?a:\b)  # card numbers
    | (?a:\b)\d{4}(?:\.\d{4}){3}(?:\.\d{1,3})?(?a:\b) | (?a:\b)\d{4}\.\d{6}\.\d{5}(?a:\b)
    | (?a:\b)\d(?:[ \xa0-]?\d){16}[ \xa0-]?X(?a:\b)  # identity numbers of China
    | [\w.+-]{1,64}@[\w-]+\.[\w.-]+  # mail addresses
    """,
    re.VERBOSE | re.IGNORECASE,
)

#: The end of a sentence; a point ends one only before a blank, since addresses and numbers have points.
_SENTENCE_END: Final = re.compile(r"[\n。！？；!?;]|\.(?=\s)")


@dataclass(frozen=True, slots=True)
class Secret:
    """
    A secret at *start* to *end* of a text.

    *label* is the word for it that is hidden with it, "password" of "password: hunter2-demo", "" if it has none. *before* is
    the sentence up to the secret, from the end of the secret before it on, and what stands behind the label: "the password for
    the wifi is …" is about the wifi.
    """

    start: int
    end: int
    label: str
    before: str


def find_secrets(text: str, patterns: Iterable[str] = ()) -> list[Secret]:
    """
    Return the secrets of the text in order; *patterns* are further ones from the configuration.

    >>> [(secret.label, secret.before) for secret in find_secrets("周五部署。wifi 的密码是 hunter2-demo")]
    [('密码', 'wifi 的')]
    """
    matches = _matches(text)
    for pattern in patterns:
        matches += [(*match.span(), "", "") for match in re.finditer(pattern, text) if match[0]]
    found: list[Secret] = []
    for start, end, label, of in sorted(matches):
        if found and start < found[-1].end:  # two patterns overlap: one secret
            last = found.pop()
            found.append(Secret(last.start, max(last.end, end), last.label or label, last.before))
            continue
        before = text[found[-1].end if found else 0 : start]
        found.append(Secret(start, end, label, _SENTENCE_END.split(before)[-1] + of))
    return found


def _matches(text: str) -> list[tuple[int, int, str, str]]:
    """Return of each match in the folded text its start and end in *text*, the label, and what the label is followed by."""
    folded = text.translate(_FOLDED) if _IS_FOLDED.search(text) else text
    places: Sequence[int] = range(len(text))
    if len(folded) < len(text):
        places = [at for at, char in enumerate(text) if _FOLDED.get(ord(char), 0) is not None]
    return [
        (
            places[match.start()],
            places[match.end() - 1] + 1,
            match["label"] or match["short"] or "",
            match["note"] or match["of"] or "",
        )
        for match in _SECRETS.finditer(folded)
        if not match["file"]
    ]


def redacted(
    text: str, mark: str = " ", patterns: Iterable[str] = (), may_show: Callable[[Secret], bool] = lambda _: False
) -> str:
    """
    Return the text with every secret replaced by *mark*, except those that *may_show* allows; *patterns* as in `find_secrets`.

    >>> redacted("登录 password: hunter2-demo 即可", "…")
    '登录 … 即可'
    """
    parts, at = [], 0
    for secret in find_secrets(text, patterns):
        if not may_show(secret):
            parts += [text[at : secret.start], mark]
            at = secret.end
    return "".join([*parts, text[at:]])
