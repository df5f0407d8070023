"""What HTTP answers where there is no answer: `application/problem+json` (RFC 9457), with one sentence that says what to do."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from ...operations.codec import to_json
from ...storage.errors import InternalError
from ...storage.os_errors import as_supervisor_error
from ...storage.texts import Text, render
from ...text.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...text.language import Language

#: The type of the body of every error.
PROBLEM: Final = "application/problem+json"
#: Seconds after which a client may try again what was refused for now.
RETRY_AFTER: Final = 5


class Refused(Exception):
    """A request that HTTP itself refuses: a *status*, a sentence, headers, and the *field* that is wrong."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None, field: str = "") -> None:
        super().__init__(str(sentence))
        self.status, self.sentence, self.field = status, sentence, field
        self.headers = dict(headers or {})


@record(kw_only=True)
class Problem:
    """
    A refusal: *detail* is one sentence that says what was wrong and what to do, *field* the parameter or field that is wrong.

    With 412: *content* is the text that is there now, *yours* the text that was sent.
    """

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str | None = None
    field: str | None = None
    content: str | None = None
    yours: str | None = None


def problem(status: int, sentence: str, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    """Return the answer with that status, and the other fields of its `Problem`; one that is None is left out."""
    body = to_json(Problem(title=HTTPStatus(status).phrase, status=status, detail=sentence, **more))
    return Response(json.dumps(body, ensure_ascii=False), status, dict(headers or {}), PROBLEM)


def of_error(error: Exception, language: Language, root: str) -> tuple[int, str, dict[str, str], dict[str, Any]]:
    """
    Return the status, the sentence, the headers and further fields for what a request raised.

    The sentence names files by their path from the workspace at *root*, never by that on the machine.
    """
    if isinstance(error, Refused):
        return error.status, render(error.sentence, language), error.headers, {"field": error.field or None}
    error = as_supervisor_error(error, "a request", root)
    if isinstance(error, InternalError):
        return 500, render(Text("this failed; the event `error` in log.jsonl says where."), language), {}, {}
    sentence = error.in_language(language).replace(f"{root}/", "").replace(root, ".")
    headers = {"Retry-After": str(RETRY_AFTER)} if error.http_status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    more: dict[str, Any] = {"code": error.code, "field": getattr(error, "field", None)}
    return error.http_status, sentence, headers, more
