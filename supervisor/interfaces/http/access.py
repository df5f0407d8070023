"""
Who may ask over HTTP: whoever has the token of the workspace; a browser has a cookie for it, which opens the page alone.

The token is in `.recalld/token`, mode 0600. A cookie and the token of its forms are made from it by HMAC, so that nothing is
kept of a browser, a restart ends no session, and a new token ends all. Every comparison takes the same time, whatever differs.

A browser sends the cookie to each port of this machine. So what changes something wants the token of the forms, too: the page's
scripts keep it where no other port gets it. A browser without scripts has it in its pages (docs/decisions/0125).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from ...protocol.paths import WorkspacePaths
    from ...storage.disk import Stat
    from ...storage.files import Files

#: Bytes of a token, and of what distinguishes one cookie from another.
_BYTES: Final = 32
_NONCE_BYTES: Final = 9
#: Seconds that a cookie is good for, and the first letter of one whose form token the page's scripts keep.
_COOKIE_S: Final = 12 * 3600
_KEPT: Final = "k"
#: The rights that others must not have on the file.
_OTHERS: Final = 0o077


class Access:
    """The token of the workspace at *paths*, and the cookies and forms that were made with it."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files = files
        self._path = paths.token
        self._seen: Stat | None = None
        self._token = ""

    def token(self) -> str:
        """Return the token; a new one is made where there is none, or where others could read it."""
        if not (token := self._found()):
            self._files.remove(self._path)
            self._files.make_folder(self._path.parent)
            token = secrets.token_urlsafe(_BYTES)
            self._files.replace(self._path, f"{token}\n".encode(), None)
        return token

    def _found(self) -> str:
        """Return the token; "" where there is none, or where others could read it."""
        stat = self._files.disk.stat(self._path)
        if stat is None or stat != self._seen:
            version = self._files.read_stable(self._path)
            is_own = version is not None and not version.stat.mode & _OTHERS
            self._token = version.data.decode("ascii", "replace").strip() if version and is_own else ""
            self._seen = version.stat if version else None
        return self._token

    def is_token(self, given: str) -> bool:
        """Return whether this is the token."""
        return is_equal(given, self.token())

    def new_cookie(self, now: datetime, *, is_kept: bool) -> str:
        """Return a value that `is_cookie` accepts for twelve hours; *is_kept*: scripts keep its form token, no page has it."""
        nonce = f"{_KEPT if is_kept else 'p'}{now.timestamp():.0f}-{secrets.token_urlsafe(_NONCE_BYTES)}"
        return f"{nonce}.{self._signed('visit', nonce)}"

    def is_cookie(self, given: str, now: datetime) -> bool:
        """True if the value is that of a cookie that was made with this token in the last twelve hours."""
        nonce, _, signature = given.partition(".")
        is_ours = is_equal(signature, self._signed("visit", nonce))
        return is_ours and abs(now.timestamp() - int(nonce[1:].partition("-")[0])) < _COOKIE_S

    def is_kept(self, cookie: str) -> bool:
        """True if the page's scripts keep the form token of this cookie."""
        return cookie.startswith(_KEPT)

    def form_token(self, cookie: str) -> str:
        """Return what each request carries that changes something: another site can't know it."""
        return self._signed("form", cookie)

    def is_form_token(self, given: str, cookie: str) -> bool:
        """True if this is the token of a form that was made for the browser with this cookie."""
        return is_equal(given, self.form_token(cookie))

    def _signed(self, purpose: str, text: str) -> str:
        return hmac.new(self.token().encode(), f"{purpose}:{text}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def is_equal(given: str, wanted: str) -> bool:
    """Compare in a time that depends on neither: both are hashed first, so that the length shows nothing either."""
    digests = (hashlib.sha256(text.encode("utf-8", "replace")).digest() for text in (given, wanted))
    return hmac.compare_digest(*digests) and bool(given)
