"""
`recalld gateway`: the operations of all workspaces of several fleets over HTTP, each below `/w/NAME`, with its own token.

It holds no state and opens no workspace: a request is passed to the socket of its owner, who answers an `append` when it is
durable. Which workspaces there are is what the folders say. A refusal shows nothing of a workspace, and takes the same time.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from recalld.supervisor.interfaces.http.access import Access, is_equal
from recalld.supervisor.interfaces.http.changes import Changes
from recalld.supervisor.interfaces.http.gate import OPEN_PATHS, Gate, too_large
from recalld.supervisor.interfaces.http.json_body import json_object
from recalld.supervisor.interfaces.http.memory_routes import query
from recalld.supervisor.interfaces.http.openapi import description
from recalld.supervisor.interfaces.http.problem import RETRY_AFTER, Refused, of_error, problem
from recalld.supervisor.interfaces.http.server import Server, be_quiet, bound, uvicorn_config
from recalld.supervisor.interfaces.locate import MAX_REQUEST
from recalld.supervisor.interfaces.socket_client import SupervisorClient
from recalld.supervisor.operations.table import NAMES
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import SupervisorError
from recalld.supervisor.storage.files import Files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from recalld.supervisor.interfaces.http.server import Place
    from recalld.supervisor.text.language import Language

#: Where a workspace is.
_BELOW: Final = "/w/"
#: Seconds until the owner must have taken a request: it may have to open the workspace.
_TAKE_S: Final = 10.0
#: What a token is compared with where there is no workspace of the name, so that it takes as long.
_NOBODYS: Final = secrets.token_urlsafe(32)


class Gateway:
    """The workspaces directly below *roots*, at *host* and *port*; the first of two with one name counts."""

    def __init__(self, roots: Sequence[Path], host: str, port: int) -> None:
        self._roots = roots
        self.host, self.port = host, port
        self._files = Files(RealDisk())

    def root_of(self, path: str) -> Path | None:
        """Return the folder of the workspace that the path of a request names; None if there is none."""
        name = path.removeprefix(_BELOW).partition("/")[0] if path.startswith(_BELOW) else ""
        if not name or name.startswith(".") or "\0" in name:
            return None
        for root in (parent / name for parent in self._roots):
            with contextlib.suppress(OSError, ValueError):  # a name that no folder can have, or a folder of another user's
                stats = [self._files.disk.stat(one) for one in WorkspacePaths(root).made_with]
                if any(stats) and not root.is_symlink():
                    return root
        return None

    def is_known(self, path: str, token: str) -> bool:
        """Return whether the token is that of the workspace; Refused (404) if there is none of the name."""
        root = self.root_of(path)
        wanted = Access(self._files, WorkspacePaths(root)).token() if root else _NOBODYS
        found = is_equal(token, wanted)
        if root is None:
            raise Refused(404, Text("http.no_path"))
        return found

    async def answer(self, request: Request) -> Response:
        """Pass an operation on to the owner of its workspace; Refused (503) where it is away."""
        who = query(request, "session", "chat")
        body = await request.body()
        if len(body) > MAX_REQUEST // 2:  # in the line to the owner a character may take twice its bytes
            raise too_large(request)
        root = await run_in_threadpool(self.root_of, request.scope["path"])
        caller = {**who, "language": _language(request)}
        client = SupervisorClient(str(root), caller, _TAKE_S)
        found = await run_in_threadpool(client.ask, request.path_params["operation"], json_object(request, body))
        if found is None:
            raise Refused(503, Text("http.owner_away"), {"Retry-After": str(RETRY_AFTER)})
        if "answer" in found:
            return JSONResponse(found["answer"])
        error = found["error"]
        headers = {"Retry-After": str(RETRY_AFTER)} if error["httpStatus"] == 503 else {}
        sentence = str(error["sentence"]).replace(f"{root}/", "").replace(str(root), ".")
        return problem(error["httpStatus"], sentence, headers, code=error["code"], field=error["field"])


def _language(request: Request) -> Language:
    return "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"


class _GatewayGate(Gate):
    """What every request passes: as for one workspace, but the token is that of the workspace in the path."""

    def __init__(self, app: Any, gateway: Gateway, *, is_remote: bool) -> None:
        super().__init__(app, gateway, _answer_error, is_remote=is_remote)  # type: ignore[arg-type]
        self._gateway = gateway

    def _is_known(self, request: Request) -> bool:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        return self._gateway.is_known(request.scope["path"], given.strip() if kind.lower() == "bearer" else "")


async def _answer_error(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):  # the router's
        error = Refused(
            error.status_code, Text("http.no_method" if error.status_code == 405 else "http.no_path"), error.headers
        )
    status, sentence, headers, more = of_error(error, _language(request), "")
    return problem(status, sentence, headers, **more)


def gateway_app(gateway: Gateway, *, is_remote: bool) -> Any:
    """Return the application of the gateway."""

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def describe(request: Request) -> Response:
        query(request)
        return JSONResponse(await run_in_threadpool(description))

    operations = f"{_BELOW}{{name}}/api/{{operation}}"
    routes = [
        *(Route(path, health) for path in sorted(OPEN_PATHS - {"/session"})),
        Route(f"{_BELOW}{{name}}/openapi.json", describe),
        Route(operations, _checked(gateway), methods=["POST"]),
    ]
    handlers: Any = dict.fromkeys((HTTPException, Refused, SupervisorError, Exception), _answer_error)
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return _GatewayGate(app, gateway, is_remote=is_remote)


def _checked(gateway: Gateway) -> Any:
    async def answer(request: Request) -> Response:
        if request.path_params["operation"] not in NAMES:
            raise Refused(404, Text("http.no_path"))
        return await gateway.answer(request)

    return answer


class GatewayThread:
    """Serves the gateway at *place* in a thread until it is ended; OSError if the port can't be had."""

    def __init__(self, roots: Sequence[Path], place: Place) -> None:
        be_quiet()
        self._line = bound(place)
        self.port = self._line.getsockname()[1]
        app = gateway_app(Gateway(roots, place.host, self.port), is_remote=place.is_remote)
        self._server = Server(uvicorn_config(app), Changes())
        self._thread = threading.Thread(target=self._serve, name="gateway", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """End it; requests that run have a moment to be answered."""
        self._server.stop()
        self._thread.join(3.0)

    def _serve(self) -> None:
        with self._line:
            asyncio.run(self._server.serve([self._line]))
