"""
`recalld gateway`: what programs ask of all workspaces of several fleets over HTTP, each below `/w/NAME`, with its own token.

It holds no state and opens no workspace: a request is passed to the socket of its owner, who answers it by the routes of one
workspace, an `append` when it is durable. Which workspaces there are is what the folders say. A refusal shows nothing of a
workspace: a name that there is not takes the same steps, and gets the same words, as a token that is another's.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import threading
from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from recalld.supervisor.interfaces.http.access import Access, is_equal
from recalld.supervisor.interfaces.http.changes import Changes
from recalld.supervisor.interfaces.http.gate import OPEN_PATHS, Gate
from recalld.supervisor.interfaces.http.problem import PROBLEM, RETRY_AFTER, Refused, of_error, problem
from recalld.supervisor.interfaces.http.server import Server, be_quiet, bound, uvicorn_config
from recalld.supervisor.interfaces.locate import HTTP
from recalld.supervisor.interfaces.socket_client import SupervisorClient
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.catalogue import Text, render
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import SupervisorError
from recalld.supervisor.storage.files import Files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from recalld.supervisor.interfaces.http.server import Place
    from recalld.supervisor.storage.disk import Disk
    from recalld.supervisor.text.language import Language

#: Where a workspace is.
_BELOW: Final = "/w/"
#: Seconds until the owner must have taken a request: it may have to open the workspace.
_TAKE_S: Final = 10.0
#: Seconds to wait for the thread at the end.
_JOIN_S: Final = 3.0
#: The most bytes of a body: in the line to the owner it takes four thirds.
_MOST_BODY: Final = 512 << 10
#: The headers that the owner reads, and those of its answer that the server of this process makes itself.
_PASSED: Final = ("accept", "accept-language", "content-type", "if-match")
_OF_MCP: Final = "mcp-"
_OWN: Final = frozenset({"content-length", "connection", "transfer-encoding"})


class _Unknown(Refused):
    """The refusal of a token that does not open the workspace of the path, or of a name that no workspace has."""

    def __init__(self, status: int) -> None:
        super().__init__(status, Text("http.not_opened"), {"WWW-Authenticate": "Bearer"})


class Gateway:
    """The workspaces directly below *roots* on *disk*, at *host* and *port*; the first of two with one name counts."""

    def __init__(self, roots: Sequence[Path], host: str, port: int, disk: Disk | None = None) -> None:
        self._roots = roots
        self.host, self.port = host, port
        self._files = Files(disk or RealDisk())
        #: A folder with a token that nobody knows: it is compared with where there is no workspace of the name.
        self._nobodys = tempfile.TemporaryDirectory(prefix="recalld-gateway-")
        self._nobody = Path(self._nobodys.name)
        self._access(self._nobody).token()
        self._making = ThreadPoolExecutor(1, "tokens")

    def close(self) -> None:
        """Delete what is there while it runs."""
        self._making.shutdown()
        self._nobodys.cleanup()

    def check(self, path: str, token: str) -> None:
        """Raise Refused (401, or 404 if there is no workspace of the name) unless the token opens the workspace of the path."""
        root = self._root_of(path)
        access = self._access(root or self._nobody)
        found = access.found()
        wanted = found or self._access(self._nobody).found()
        if not found:
            self._making.submit(access.token)  # later: it takes longer, which would show that there is this workspace
        if not is_equal(token, wanted) or root is None:
            raise _Unknown(404 if root is None else 401)

    def _access(self, root: Path) -> Access:
        return Access(self._files, WorkspacePaths(root))

    def _root_of(self, path: str) -> Path | None:
        """Return the folder of the workspace that the path of a request names; None if there is none."""
        name = path.removeprefix(_BELOW).partition("/")[0] if path.startswith(_BELOW) else ""
        if not name or name.startswith(".") or "\0" in name:
            return None
        found = [root for parent in self._roots if self._is_made(root := parent / name)]
        return found[0] if found else None

    def _is_made(self, root: Path) -> bool:
        with contextlib.suppress(OSError, ValueError):  # a name that no folder can have, or a folder of another user's
            stats = [self._files.disk.stat(one) for one in WorkspacePaths(root).made_with]
            return any(stats) and not root.is_symlink()
        return False

    async def pass_on(self, request: Request) -> Response:
        """Return the answer of the owner of the workspace; Refused (503) where it is away."""
        root = self._root_of(request.scope["path"])
        headers = [(name, value) for name, value in request.headers.items() if name in _PASSED or name.startswith(_OF_MCP)]
        asked = {
            "method": request.method,
            "path": inner_path(request),
            "query": request.scope["query_string"].decode("latin-1"),
            "headers": headers,
            "body": b64encode(await request.body()).decode("ascii"),
        }
        client = SupervisorClient(str(root), {}, _TAKE_S)
        found = await run_in_threadpool(client.ask, HTTP, asked)
        if found is None or "answer" not in found:
            raise Refused(503, Text("http.owner_away"), {"Retry-After": str(RETRY_AFTER)})
        answer = found["answer"]
        given = {name: value for name, value in answer["headers"] if name not in _OWN}
        return Response(b64decode(answer["body"]), answer["status"], given)


def inner_path(request: Request) -> str:
    """Return the path of a request within its workspace."""
    path: str = request.scope["path"]
    return f"/{path.removeprefix(_BELOW).partition('/')[2]}" if path.startswith(_BELOW) else path


def _language(request: Request) -> Language:
    return "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"


class _GatewayGate(Gate):
    """What every request passes: as for one workspace, but the token is that of the workspace in the path."""

    def __init__(self, app: Any, gateway: Gateway, *, is_remote: bool) -> None:
        super().__init__(app, gateway, _answer_error, is_remote=is_remote)  # type: ignore[arg-type]
        self._gateway = gateway

    def path_of(self, request: Request) -> str:
        """Return the path of the request within its workspace."""
        return inner_path(request)

    def most_body(self, _: Request) -> int:
        """Return the most bytes that its body may have."""
        return _MOST_BODY

    def _is_known(self, request: Request) -> bool:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        self._gateway.check(request.scope["path"], given.strip() if kind.lower() == "bearer" else "")
        return True


async def _answer_error(request: Request, error: Exception) -> Response:
    if isinstance(error, _Unknown):  # its body is the same for both statuses
        body = {"type": "about:blank", "detail": render(error.sentence, _language(request))}
        return Response(json.dumps(body, ensure_ascii=False), error.status, error.headers, PROBLEM)
    if isinstance(error, HTTPException):  # the router's
        error = Refused(
            error.status_code, Text("http.no_method" if error.status_code == 405 else "http.no_path_of_gateway"), error.headers
        )
    status, sentence, headers, more = of_error(error, _language(request), "")
    return problem(status, sentence, headers, **more)


def gateway_app(gateway: Gateway, *, is_remote: bool) -> Any:
    """Return the application of the gateway."""

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    routes = [
        *(Route(path, health) for path in sorted(OPEN_PATHS - {"/session"})),
        Route(f"{_BELOW}{{path:path}}", gateway.pass_on, methods=["GET", "POST", "PUT"]),
    ]
    handlers: Any = dict.fromkeys((HTTPException, Refused, SupervisorError, Exception), _answer_error)
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return _GatewayGate(app, gateway, is_remote=is_remote)


class GatewayThread:
    """Serves the gateway at *place* in a thread until it is ended; OSError if the port can't be had."""

    def __init__(self, roots: Sequence[Path], place: Place) -> None:
        be_quiet()
        self._line = bound(place)
        self.port = self._line.getsockname()[1]
        self._gateway = Gateway(roots, place.host, self.port)
        app = gateway_app(self._gateway, is_remote=place.is_remote)
        self._server = Server(uvicorn_config(app), Changes())
        self._thread = threading.Thread(target=self._serve, name="gateway", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """End it; requests that run have a moment to be answered."""
        self._server.stop()
        self._thread.join(_JOIN_S)
        self._gateway.close()

    def _serve(self) -> None:
        with self._line:
            asyncio.run(self._server.serve([self._line]))
