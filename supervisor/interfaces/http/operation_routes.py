"""
Every operation over HTTP, made from the table of operations: `POST /api/NAME` with the typed request as JSON.

The conversation that reads the answer, if it is not the owner alone, is in the parameters `session` and `chat`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

from recalld.supervisor.interfaces.http.json_body import json_object
from recalld.supervisor.interfaces.http.memory_routes import query
from recalld.supervisor.operations.codec import from_json, to_json
from recalld.supervisor.operations.table import NAMES, find

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from recalld.supervisor.interfaces.http.site import Site


def operation_routes(site: Site) -> list[BaseRoute]:
    """Return a route for each operation, and one for the description of all."""

    async def describe(request: Request) -> Response:
        from recalld.supervisor.interfaces.http.openapi import description

        query(request)
        return JSONResponse(await site.run(description))

    routes = [Route(f"/api/{name}", partial(_answer, site, name), methods=["POST"]) for name in NAMES]
    return [Route("/openapi.json", describe), *routes]


async def _answer(site: Site, name: str, request: Request) -> Response:
    who = query(request, "session", "chat")
    given = json_object(request, await request.body())
    operation = await site.run(find, name)
    asked = await site.run(from_json, operation, given)
    caller = await site.run(partial(site.caller, request, **who))
    answer = await site.perform(request, operation, asked, caller)
    return JSONResponse(await site.run(to_json, answer))
