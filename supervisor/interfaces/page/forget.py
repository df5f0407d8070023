"""Forget: what taking words back would do, place by place, and the button that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recalld.supervisor.interfaces.page.views import View, own_address
from recalld.supervisor.operations.forget import ForgetRequest
from recalld.supervisor.operations.forget import forget as operation
from recalld.supervisor.storage.errors import BadRequest

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from recalld.supervisor.interfaces.http.site import Site


async def forget(site: Site, request: Request) -> Response:
    """Show what would go; do it where the form says so, and only what it has shown."""
    view = await View.of(site, request)
    if request.method == "GET":
        return await _shown(view, view.query("by"), view.query("value"), view.query("back"))
    form = await site.form(request)
    by, value, back = form.get("by", ""), form.get("value", ""), form.get("back", "")
    try:
        done = await view.ask(operation, ForgetRequest(by=by, value=value, yes=True, shown=form.get("shown", "")))
    except BadRequest as error:
        if error.field != "shown":
            raise
        return await _shown(view, by, value, back, has_changed=True)
    return await view.show("forgotten.html", _place(by), done=done, back=own_address(back))


async def _shown(view: View, by: str, value: str, back: str, *, has_changed: bool = False) -> Response:
    shown = await view.ask(operation, ForgetRequest(by=by, value=value))
    return await view.show(
        "forget.html",
        _place(by),
        412 if has_changed else 200,
        by=by,
        value=value,
        back=own_address(back),
        shown=shown,
        has_changed=has_changed,
    )


def _place(by: str) -> str:
    """Return the place in the navigation: where the words were found."""
    return "memory" if by == "line" else "days"
