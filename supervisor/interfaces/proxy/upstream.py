"""
The model server behind the proxy: a request is sent as the client made it, and the answer comes in the pieces that it sends.

Only the headers of a connection are each side's own. The client's key is recalld's token, and stays here; the server gets the
key from the variable that `llm.api_key_env` names, in the header in which the client sent its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...protocol.llm import NO_KEY, find_key, is_local, without_credentials
from ...storage.texts import Text
from ..http.problem import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...protocol.config import Config

#: Seconds until the server must have taken the connection; for its answer it has `llm.timeout`.
_CONNECT_S: Final = 10.0
#: Headers of one connection (RFC 9110, 7.6.1), and those that are made anew.
_OF_CONNECTION: Final = frozenset(
    [
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"),
        *("transfer-encoding", "upgrade"),
    ]
)
_NOT_SENT: Final = _OF_CONNECTION | {"host", "content-length", "expect", "authorization", "x-api-key", "cookie", "origin"}
_NOT_RETURNED: Final = _OF_CONNECTION | {"set-cookie"}
#: Headers for recalld begin so.
_OURS: Final = b"x-recalld-"


class Upstream:
    """A client of the model server, in the event loop of the service; it keeps its connections."""

    def __init__(self) -> None:
        self._clients: dict[bool, Any] = {}

    async def send(self, config: Config, method: str, path: str, headers: list[tuple[bytes, bytes]], body: bytes) -> Any:
        """
        Return the response, whose body has not been read; it is closed by who reads it.

        Refused (502) if the server can't be reached, (504) if it does not answer within `llm.timeout`.
        """
        import httpx2

        where, within = config.serve.upstream, config.llm.timeout.total_seconds()
        timeout = {"connect": min(_CONNECT_S, within), "read": within, "write": within, "pool": within}
        address = f"{base_of(where)}{path}"
        request = httpx2.Request(method, address, headers=headers, content=body, extensions={"timeout": timeout})
        try:
            return await self._client(where).send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise _refusal(error, without_credentials(where), int(within)) from None

    def load(self, where: str) -> None:
        """Load the library, and the certificates that it trusts: half a second that the first request would wait."""
        self._client(where)

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    def _client(self, where: str) -> Any:
        import httpx2

        is_here = is_local(where)
        if client := self._clients.get(is_here):
            return client
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        made = httpx2.AsyncClient(trust_env=not is_here, limits=limits)
        return self._clients.setdefault(is_here, made)  # `load` may have made one meanwhile, in its thread


def base_of(upstream: str) -> str:
    """
    Return the address to which the path below /v1 is added.

    >>> base_of("http://127.0.0.1:11434"), base_of("https://api.example.org/openai/v1/")
    ('http://127.0.0.1:11434/v1', 'https://api.example.org/openai/v1')
    """
    base = upstream.rstrip("/")
    return base if "/" in base.partition("://")[2] else f"{base}/v1"


def sent_headers(
    headers: Iterable[tuple[bytes, bytes]], config: Config, environ: Mapping[str, str], *, is_read: bool
) -> list[tuple[bytes, bytes]]:
    """Return the headers for the server, in their order; an answer that *is_read* here has to come uncompressed."""
    given = [*headers]
    key_in = next((name for name, _ in given if name in (b"authorization", b"x-api-key")), b"")
    found = [(name, value) for name, value in _passed(given, _NOT_SENT) if not name.startswith(_OURS)]
    if is_read:
        found = [*(header for header in found if header[0] != b"accept-encoding"), (b"accept-encoding", b"identity")]
    key = find_key(config.llm.api_key_env, environ)
    if key != NO_KEY:
        found.append((b"x-api-key", key.encode()) if key_in == b"x-api-key" else (b"authorization", f"Bearer {key}".encode()))
    return found


def returned_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers for the client, in their order; a cookie of the server would be one of recalld's own page."""
    return _passed([(name.lower(), value) for name, value in headers], _NOT_RETURNED)


def _passed(headers: list[tuple[bytes, bytes]], stay: frozenset[str]) -> list[tuple[bytes, bytes]]:
    """Return the headers but those that *stay*, and those that a header `Connection` names (RFC 9110, 7.6.1)."""
    named = b",".join(value for name, value in headers if name == b"connection").decode("latin-1").lower()
    left_out = stay | {name.strip() for name in named.split(",")}
    return [(name, value) for name, value in headers if name.decode("latin-1") not in left_out]


def _refusal(error: Exception, where: str, seconds: int) -> Refused:
    """Return what the client is told when the server did not answer."""
    import httpx2

    match error:
        case httpx2.ConnectTimeout():
            why = Text(
                "the model server at {where} does not take the connection; start it, or set `upstream` below `[serve]` in recalld.toml.",
                where=where,
            )
            return Refused(504, why)
        case httpx2.ReadTimeout() | httpx2.WriteTimeout():
            why = Text(
                "the model server at {where} has not answered within {seconds} s; try again, or raise `llm.timeout` in recalld.toml.",
                where=where,
                seconds=seconds,
            )
            return Refused(504, why)
        case httpx2.RemoteProtocolError() | httpx2.ReadError() | httpx2.WriteError():
            why = Text(
                "the model server at {where} has closed the connection without an answer; it may not take this request, or it was started again: ask again, and look into its log.",
                where=where,
            )
            return Refused(502, why)
    why = Text(
        "the model server at {where} can't be reached ({kind}); start it, or set `upstream` below `[serve]` in recalld.toml.",
        where=where,
        kind=type(error).__name__,
    )
    return Refused(502, why)
