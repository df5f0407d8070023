"""
What a handler of HTTP is given: the present workspace, who asks, operations, and what the request has.

Who has the token of the workspace may ask (`.recalld/token`, mode 0600). A browser has a cookie for it. Cookies and the tokens
of forms are made from it by HMAC, so that nothing is kept of a browser, a restart ends no session, and a new token ends all. A
browser sends the cookie to each port of this machine. So what changes something wants the token of the forms, too: the page's
scripts keep it where no other port gets it. A browser without scripts has it in its pages (docs/decisions/0125).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from ...operations.codec import refuse_unknown
from ...operations.operation import Caller, Operation, find
from ...protocol.paths import WorkspacePaths
from ...storage.clock import Clock
from ...storage.control import acting
from ...storage.disk import Stat
from ...storage.errors import BadRequest
from ...storage.files import Files
from ...storage.texts import Text
from ...text.language import Language
from ...text.lazy_re import lazy_re
from ...workspace import Workspace
from ..wording import spoken_language

if TYPE_CHECKING:
    from starlette.requests import Request

A = TypeVar("A")
#: Where the proxy in front of a model server is.
PROXY: Final = "/v1/"
#: The header that carries the token of a form.
FORM_HEADER: Final = "x-form-token"


class Performer(Protocol):
    """What performs operations for all interfaces of a supervisor."""

    @property
    def workspace(self) -> Workspace:
        """The present workspace."""
        ...

    def perform(self, operation: Operation[A], arguments: Mapping[str, Any], caller: Caller) -> A:
        """Return the answer of an operation."""
        ...


class Site:
    """The workspace that is served at *host* and *port*: *answers* performs operations, *clock* is the supervisor's."""

    def __init__(self, answers: Performer, access: Access, clock: Clock, host: str, port: int) -> None:
        self.answers, self.access, self.clock = answers, access, clock
        self.host, self.port = host, port
        #: Set when the service ends, so that no stream of changes goes on.
        self.ended = asyncio.Event()
        #: Cookies of one host are sent to each of its ports, so that the name tells them apart.
        self.cookie_name = f"recalld_{port}"

    @property
    def workspace(self) -> Workspace:
        """The present workspace; a changed configuration makes another."""
        return self.answers.workspace

    # ── who asks ─────────────────────────────────────────────────────────────

    def language(self, request: Request) -> Language:
        """Return the language of the reader: that of recalld.toml, of the browser, of the locale, else English."""
        setting = self.workspace.config.language
        accepted = request.headers.get("accept-language", "").lower()
        if request.url.path.startswith(PROXY) or not accepted:  # below /v1 a program speaks for its own user
            return spoken_language(setting, self.workspace.environ)
        return spoken_language(setting, {"LANG": accepted})

    def caller(self, request: Request, session: str = "", chat: str = "") -> Caller:
        """Return the owner, or the conversation that reads the answer."""
        language = self.language(request)
        return Caller(session=session, chat=chat, language=language, interface="http", clock=self.clock, keep_fresh=False)

    def cookie(self, request: Request) -> str:
        """Return the cookie that the browser got for the token, "" for none."""
        return request.cookies.get(self.cookie_name, "")

    def has_cookie(self, request: Request, *, in_header: bool = False) -> bool:
        """True if the browser has a cookie that is good now; *in_header*: and scripts that send the form token they keep."""
        cookie, given = self.cookie(request), request.headers.get(FORM_HEADER, "")
        is_sent = self.access.is_kept(cookie) and self.access.is_form_token(given, cookie)
        return self.access.is_cookie(cookie, self.clock()) and (is_sent or not in_header)

    # ── doing ────────────────────────────────────────────────────────────────

    async def perform(self, request: Request, name: str, arguments: Mapping[str, Any], caller: Caller | None = None) -> Any:
        """Return the answer of the operation."""
        client = "page" if self.cookie(request) else request.headers.get("user-agent", "").partition(" ")[0]

        def answer() -> Any:
            with acting("http", client):
                return self.answers.perform(find(name), arguments, caller or self.caller(request))

        return await self.run(answer)

    async def ask(self, request: Request, name: str, /, **arguments: Any) -> Any:
        """Return the answer of the operation of this *name*, for the owner."""
        return await self.perform(request, name, arguments)

    async def run(self, function: Callable[..., A], *arguments: Any) -> A:
        """Return what the function returns; it runs in a thread, since it waits for files or locks."""
        return await run_in_threadpool(function, *arguments)


# ── token, cookies, forms ───────────────────────────────────────────────────────

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
        if not (token := self._kept()):
            self._files.remove(self._path)
            self._files.make_folder(self._path.parent)
            token = secrets.token_urlsafe(_BYTES)
            self._files.replace(self._path, f"{token}\n".encode(), None)
        return token

    def _kept(self) -> str:
        """Return the token; "" where there is none, or where others could read it."""
        stat = self._files.disk.stat(self._path)
        if stat is None or stat != self._seen:
            version = self._files.read_stable(self._path)
            is_own = version is not None and not version.stat.mode & _OTHERS
            self._token = version.data.decode("ascii", "replace").strip() if version and is_own else ""
            self._seen = version.stat if version else None
        return self._token

    def is_token(self, given: str) -> bool:
        """True if this is the token."""
        return _is_equal(given, self.token())

    def new_cookie(self, now: datetime, *, is_kept: bool) -> str:
        """Return a value that `is_cookie` accepts for twelve hours; *is_kept*: scripts keep its form token, no page has it."""
        nonce = f"{_KEPT if is_kept else 'p'}{now.timestamp():.0f}-{secrets.token_urlsafe(_NONCE_BYTES)}"
        return f"{nonce}.{self._signed('visit', nonce)}"

    def is_cookie(self, given: str, now: datetime) -> bool:
        """True if the value is that of a cookie that was made with this token in the last twelve hours."""
        nonce, _, signature = given.partition(".")
        is_ours = _is_equal(signature, self._signed("visit", nonce))
        return is_ours and abs(now.timestamp() - int(nonce[1:].partition("-")[0])) < _COOKIE_S

    def is_kept(self, cookie: str) -> bool:
        """True if the page's scripts keep the form token of this cookie."""
        return cookie.startswith(_KEPT)

    def form_token(self, cookie: str) -> str:
        """Return what each request carries that changes something: another site can't know it."""
        return self._signed("form", cookie)

    def is_form_token(self, given: str, cookie: str) -> bool:
        """True if this is the token of a form that was made for the browser with this cookie."""
        return _is_equal(given, self.form_token(cookie))

    def _signed(self, purpose: str, text: str) -> str:
        return hmac.new(self.token().encode(), f"{purpose}:{text}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def _is_equal(given: str, wanted: str) -> bool:
    """Compare in a time that depends on neither: both are hashed first, so that the length shows nothing either."""
    digests = (hashlib.sha256(text.encode("utf-8", "replace")).digest() for text in (given, wanted))
    return hmac.compare_digest(*digests) and bool(given)


# ── what a request has ──────────────────────────────────────────────────────────

#: The type of a body for programs.
JSON: Final = "application/json"
#: The most fields of a form.
_MOST_FIELDS: Final = 100
#: What no text of a person has: NUL, and half an emoji, which UTF-8 can't encode.
_UNWRITABLE: Final = lazy_re("[\0\ud800-\udfff]")


def media_type(request: Request) -> str:
    """Return the type of the body, "" where the request names none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def query(request: Request, *names: str) -> dict[str, str]:
    """Return the parameters of the address; BadRequest for one that is not among *names*, or is there twice."""
    pairs = request.query_params.multi_items()
    refuse_unknown([name for name, _ in pairs], names)
    return _once(pairs)


async def form_fields(request: Request) -> dict[str, str]:
    """Return the fields of an urlencoded body; BadRequest, which names the field, if one is there twice or can't be stored."""
    body = await request.body()
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise BadRequest("form", Text("this is no form.")) from None
    fields = _once(pairs)
    _refuse_unwritable(fields)
    return fields


async def json_object(request: Request) -> dict[str, Any]:
    """
    Return the object in the body, {} for none; HTTPException (415) for another kind of body.

    BadRequest if it is no JSON object, has a key twice, a number that JSON does not have, or a text that can't be stored.
    """
    body = await request.body()
    if not body:
        return {}
    if media_type(request) != JSON:
        raise HTTPException(415, Text("the body must have the type application/json."))
    try:
        parsed = json.loads(body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadRequest("body", Text("this is no JSON.")) from None
    if not isinstance(parsed, dict):
        raise BadRequest("body", Text("a JSON object is expected"))
    _refuse_unwritable(parsed)
    return parsed


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    once: dict[str, Any] = {}
    for name, value in pairs:
        if name in once:
            raise BadRequest(_beginning(name), Text("this field is there twice; give it once."))
        once[name] = value
    return once


def _refuse_unwritable(fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if _is_unwritable([name, value]):
            raise BadRequest(_beginning(name), Text("a text must not have the character NUL or half an emoji; leave it out."))


def _is_unwritable(value: Any) -> bool:
    if isinstance(value, str):
        return bool(_UNWRITABLE.search(value))
    if isinstance(value, dict):
        return any(_is_unwritable(part) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(map(_is_unwritable, value))


def _beginning(name: str) -> str:
    return name[:40].encode("utf-8", "replace").decode()


def _no_number(_: str) -> float:
    raise ValueError
