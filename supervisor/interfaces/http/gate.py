"""
What every request passes before a handler runs: Host and Origin, token or cookie, kind and size of its body.

A page of another site can make a browser send requests here, and a name that is bound to this address (DNS rebinding) makes
them look like its own. So the Host has to be an address of this service, and an Origin the same as the Host. No answer carries
a CORS header, and a body has to be JSON where no form is expected.

A browser sends the cookie to every port of this machine, so that it opens what can send no header alone: the pages and their
stream of changes.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from ...storage.texts import Text, msgid
from .site import JSON, PROXY, Site, media_type

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: The most bytes of the headers.
MOST_HEAD: Final = 16_384
#: The most bytes of a body; that of a request that saves the whole long-term file may have more.
MOST_BODY: Final = 1 << 20
MOST_LONG_TERM: Final = 8 << 20
#: The most bytes of what goes through the proxy: pictures and documents are in it.
MOST_MODEL: Final = 64 << 20
#: Paths that need no token: they show nothing of the memory.
OPEN_PATHS: Final = frozenset({"/healthz", "/session"})
#: Where the files of the page are: a browser keeps them, and asks each time whether they are the same.
STATIC: Final = "/static/"
#: Where the long-term file is saved as a whole.
LONG_TERM_PATHS: Final = frozenset({"/api/memory/long-term", "/api/replace_long_term", "/long-term"})
#: The names of this machine to itself.
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
#: Where programs ask: these want a header.
FOR_PROGRAMS: Final = ("/api/", "/mcp", PROXY, "/openapi.json")
#: What a request without the token is told.
NO_TOKEN: Final = msgid(
    "this needs the token of the workspace: run `recalld open`, or send the header Authorization: Bearer TOKEN."
)
_HEADERS: Final = {
    # what a browser may load into a page and send from it: from this service alone, and no script within a page
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # with "no-referrer" a browser sends the forms of the page with `Origin: null`
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC_HEADERS: Final = {**_HEADERS, "Cache-Control": "no-cache"}


class Gate:
    """Passes on to *app* what may be asked of *site*; *answer_error* makes the response to what a request raised."""

    def __init__(
        self, app: ASGIApp, site: Site, answer_error: Callable[[Request, Exception], Awaitable[Response]], *, is_remote: bool
    ) -> None:
        self._app, self._site, self._answer_error = app, site, answer_error
        self._is_remote = is_remote

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, begun = Request(scope), False

        async def send_guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in (_STATIC_HEADERS if request.url.path.startswith(STATIC) else _HEADERS).items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(request)
            await self._app(scope, _limited(_most_body(request.url.path), receive), send_guarded)
        except ClientDisconnect:
            pass
        except Exception as error:  # noqa: BLE001 - a bug fails this request alone
            if not begun:
                await (await self._answer_error(request, error))(scope, receive, send_guarded)

    def _check(self, request: Request) -> None:
        self._check_place(request)
        path, headers = request.url.path, request.headers
        if path not in OPEN_PATHS and not path.startswith(STATIC) and not self._is_known(request):
            raise HTTPException(401, Text(NO_TOKEN), {"WWW-Authenticate": "Bearer"})
        has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        if has_body and media_type(request) != JSON and path.startswith("/api/"):
            raise HTTPException(415, Text("the body must have the type application/json."))
        if int(headers.get("content-length") or 0) > (most := _most_body(path)):
            raise _too_large(most)

    def _is_known(self, request: Request) -> bool:
        """True if it has the token, or the cookie where that is enough; both are compared, so that the time is the same."""
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":  # Anthropic's clients have a header of their own for their key
            given = request.headers.get("x-api-key", "") if request.url.path.startswith(PROXY) else ""
        by_token = self._site.access.is_token(given.strip())
        by_cookie = self._site.has_cookie(request, in_header=request.url.path.startswith(FOR_PROGRAMS))
        return by_token or by_cookie

    def _check_place(self, request: Request) -> None:
        headers = request.headers
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        is_odd = request.scope["http_version"] not in ("1.0", "1.1") or len(hosts) != 1
        if is_odd or ("transfer-encoding" in headers and "content-length" in headers):
            raise HTTPException(400, Text("this is no valid HTTP request."))
        if sum(len(name) + len(value) for name, value in headers.raw) > MOST_HEAD:
            raise HTTPException(431, Text("the headers are too large; the most are {bytes} bytes.", bytes=MOST_HEAD))
        if not self.is_own(hosts[0]):
            raise HTTPException(
                403,
                Text("the Host of this request is no address of this service; use the one that `recalld open` prints."),
            )
        origins_here = {f"{scheme}://{hosts[0].lower()}" for scheme in ("http", "https")}
        is_opened = headers.get("sec-fetch-mode") == "navigate" and request.method in ("GET", "HEAD")
        is_foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site") and not is_opened
        if any(origin.lower() not in origins_here for origin in origins) or is_foreign:
            raise HTTPException(
                403, Text("this request comes from a page of another site, which may not ask for anything here.")
            )

    def is_own(self, host: str) -> bool:
        """
        Return whether the Host names this service: this machine, and the port.

        Where other machines may ask, every IP address and the machine's own name count, with any port: a container has
        another port outside, and DNS rebinding needs a name that is neither.
        """
        name, port = _split(host.lower())
        configured = f"[{self._site.host}]" if ":" in self._site.host else self._site.host.lower()
        if port == str(self._site.port) and name in {*_LOOPBACK, configured}:
            return True
        return self._is_remote and (name in {*_LOOPBACK, socket.gethostname().lower()} or _is_ip(name.strip("[]")))


def _most_body(path: str) -> int:
    return MOST_LONG_TERM if path in LONG_TERM_PATHS else MOST_MODEL if path.startswith(PROXY) else MOST_BODY


def _too_large(most: int) -> HTTPException:
    """Return the refusal of a body that is too large; the rest of it is not read."""
    return HTTPException(413, Text("the body is too large; the most are {bytes} bytes.", bytes=most), {"Connection": "close"})


def _limited(most: int, receive: Receive) -> Receive:
    left = most

    async def receive_limited() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise _too_large(most)
        return message

    return receive_limited


def _split(host: str) -> tuple[str, str]:
    """
    Return the name and the port of a Host.

    >>> _split("[::1]:8377"), _split("localhost")
    (('[::1]', '8377'), ('localhost', '80'))
    """
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and not host.endswith("]") else (host, "80")


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
