"""What a handler of HTTP is given: the present workspace, who asks, operations, forms, and what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from starlette.concurrency import run_in_threadpool

from ...operations.operation import Caller
from ...storage.errors import InternalError, SupervisorError
from ...storage.noting import acting
from ...storage.texts import Text
from ..language import spoken_language
from ..locate import page_address
from .problem import Refused, of_error
from .reading import form_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from ...operations.operation import Operation
    from ...storage.clock import Clock
    from ...text.language import Language
    from ...workspace import Workspace
    from .access import Access
    from .changes import Changes

Q = TypeVar("Q")
A = TypeVar("A")
#: Where the proxy in front of a model server is.
PROXY: Final = "/v1/"
#: The cookie in which the page keeps the language that its reader chose.
LANGUAGE_COOKIE: Final = "recalld_language"
#: The header and the field that carry the token of a form.
FORM_HEADER, FORM_FIELD = "x-form-token", "form_token"


class Answers(Protocol):
    """What performs operations for all interfaces of a supervisor."""

    @property
    def workspace(self) -> Workspace:
        """The present workspace."""
        ...

    def perform(self, operation: Operation[Q, A], request: Q, caller: Caller) -> A:
        """Return the answer of an operation; those that change files run one after another."""
        ...


class Site:
    """The workspace that is served at *host* and *port*: *answers* performs operations, *clock* is the supervisor's."""

    def __init__(self, answers: Answers, access: Access, changes: Changes, clock: Clock, host: str, port: int) -> None:
        self.answers, self.access, self.changes = answers, access, changes
        self.host, self.port = host, port
        self.clock = clock
        #: Cookies of one host are sent to each of its ports, so that the name tells them apart.
        self.cookie_name = f"recalld_{port}"

    @property
    def workspace(self) -> Workspace:
        """The present workspace; a changed configuration makes another."""
        return self.answers.workspace

    @property
    def page_address(self) -> str:
        """The address of the page."""
        return page_address(self.host, self.port)

    # ── who asks ─────────────────────────────────────────────────────────────

    def language(self, request: Request) -> Language:
        """Return the language of the reader: of the cookie, of recalld.toml, of the browser, of the locale, else English."""
        chosen = request.cookies.get(LANGUAGE_COOKIE)
        setting = chosen if chosen in ("en", "zh") else self.workspace.config.language
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

    async def perform(self, request: Request, operation: Operation[Q, A], typed: Q, caller: Caller | None = None) -> A:
        """Return the answer of the operation; those that change files run one after another, with those of the socket."""
        client = "page" if self.cookie(request) else request.headers.get("user-agent", "").partition(" ")[0]

        def answer() -> A:
            with acting("http", client):
                return self.answers.perform(operation, typed, caller or self.caller(request))

        return await self.run(answer)

    async def run(self, function: Callable[..., A], *arguments: Any) -> A:
        """Return what the function returns; it runs in a thread, since it waits for files or locks."""
        return await run_in_threadpool(function, *arguments)

    def told(self, error: Exception, language: Language) -> tuple[int, str, dict[str, str], dict[str, Any]]:
        """Return what is answered to an error, as `of_error` does; a bug becomes an event."""
        ws = self.workspace
        if not isinstance(error, (Refused, SupervisorError, OSError)):
            ws.events.report("http", [InternalError.of("a request over HTTP", error)])
        return of_error(error, language, str(ws.paths.root))

    # ── forms ────────────────────────────────────────────────────────────────

    def form_token(self, request: Request) -> str:
        """Return the token that each form has to carry, in FORM_FIELD or FORM_HEADER; "" where the page's scripts keep it."""
        cookie = self.cookie(request)
        return "" if self.access.is_kept(cookie) else self.access.form_token(cookie)

    async def form(self, request: Request) -> dict[str, str]:
        """Return the fields of a form; Refused (403) without its token, BadRequest for a field that is wrong."""
        fields = form_fields(await request.body())
        given = request.headers.get(FORM_HEADER) or fields.pop(FORM_FIELD, "")
        if not await self.run(self.access.is_form_token, given, self.cookie(request)):
            raise Refused(403, Text("this form is no longer valid; load the page again, and send it once more."))
        return fields
