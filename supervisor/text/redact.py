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
    from collections.abc import Callable, Iterable

#: What is written in place of a secret, for people and models.
HIDDEN: Final = {"zh": "[已隐去]", "en": "[hidden]"}
#: Patterns of keys and passwords. The words around them stay; what can't be distinguished from prose is not matched. A pattern
#: that is tried at many places of one long word has a limited length, since a pasted file would otherwise take minutes.
_SECRETS: Final = re.compile(
    r"""
      \b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abps]|hf|npm|pypi|AKIA|ASIA|AIza)[-_]?[A-Za-z0-9_\-]{12,}   # vendor keys
    | \beyJ[A-Za-z0-9_\-]{8,2000}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*  # JWT
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----[\s\S]*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    | (?P<label>password|passwd|passphrase|pwd|secret|token|api[_ -]?key|密码|口令|密钥)["']?
      \s*(?:[:=：]|\bis\b|是|为|(?=\s\S*\d))\s*["']?[^\s，。；、！？）】」』]+  # in Chinese no blank follows
    | ://[^/\s:@]+:[^/\s:@]+@  # user:password@
    | \b[0-9a-f]{32,}\b  # long hex
    | \b(?=[A-Za-z0-9+/_-]{24,}?\b)(?=[^\s0-9]{0,99}[0-9])(?=[^\sa-z]{0,99}[a-z])[A-Za-z0-9+/_-]{24,}={0,2}  # long base64
    | \b\d(?:[ -]?\d){12,18}\b  # card numbers
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
    the sentence up to the secret, from the end of the secret before it on.
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
    matches = [(*match.span(), match["label"] or "") for match in _SECRETS.finditer(text)]
    for pattern in patterns:
        matches += [(*match.span(), "") for match in re.finditer(pattern, text) if match[0]]
    found: list[Secret] = []
    for start, end, label in sorted(matches):
        if found and start < found[-1].end:  # two patterns overlap: one secret
            last = found.pop()
            found.append(Secret(last.start, max(last.end, end), last.label or label, last.before))
            continue
        before = text[found[-1].end if found else 0 : start]
        found.append(Secret(start, end, label, _SENTENCE_END.split(before)[-1]))
    return found


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
