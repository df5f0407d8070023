"""Redaction of secrets: keys, passwords, card numbers and addresses are kept out of file names and of what a model gets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Patterns of keys and passwords. The words around them stay; what can't be distinguished from prose is not matched. A pattern
#: that is tried at many places of one long word has a limited length, since a pasted file would otherwise take minutes.
_SECRETS: Final = re.compile(
    r"""
      \b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abps]|hf|npm|pypi|AKIA|ASIA|AIza)[-_]?[A-Za-z0-9_\-]{12,}   # vendor keys
    | \beyJ[A-Za-z0-9_\-]{8,2000}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*  # JWT
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----[\s\S]*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    | (?:password|passwd|passphrase|pwd|secret|token|api[_ -]?key|密码|口令|密钥)["']?
      \s*(?:[:=：]|\bis\b|是|为|(?=\s\S*\d))\s*["']?[^\s，。；、！？）】」』]+  # in Chinese no blank follows
    | ://[^/\s:@]+:[^/\s:@]+@  # user:password@
    | \b[0-9a-f]{32,}\b  # long hex
    | \b(?=[A-Za-z0-9+/_-]{24,}?\b)(?=[^\s0-9]{0,99}[0-9])(?=[^\sa-z]{0,99}[a-z])[A-Za-z0-9+/_-]{24,}={0,2}  # long base64
    | \b\d(?:[ -]?\d){12,18}\b  # card numbers
    | [\w.+-]{1,64}@[\w-]+\.[\w.-]+  # mail addresses
    """,
    re.VERBOSE | re.IGNORECASE,
)


def redacted(text: str, mark: str = " ", patterns: Iterable[str] = ()) -> str:
    """
    Return the text with every secret replaced by *mark*; *patterns* are further ones from the configuration.

    >>> redacted("登录 password: hunter2-demo 即可", "…")
    '登录 … 即可'
    """
    text = _SECRETS.sub(mark, text)
    for pattern in patterns:
        text = re.sub(pattern, lambda match: mark if match[0] else "", text)
    return text
