"""
docs/reference/rest.md, made from the description of the service.

    python -m tests.rest_page > docs/reference/rest.md
"""

from __future__ import annotations

import sys
from typing import Any, Final

from recalld.supervisor.interfaces.http.openapi import DEFINITIONS, REFUSED, WHO, description

_INTRODUCTION: Final = """# REST

This page is generated from the source: `python -m tests.rest_page > docs/reference/rest.md`.

With `[serve] port` a running supervisor answers over HTTP on 127.0.0.1 ([cli.md](cli.md#http)), with the token of the workspace:
`Authorization: Bearer TOKEN`. Bodies and answers are JSON; `/openapi.json` describes them for programs."""
_OPERATIONS: Final = """
## Every operation

`POST /api/NAME` performs the operation of that name, with its request as the body; what has to be given is in bold. The
parameters `session` and `chat` of the address say which conversation reads the answer, if it is not the owner alone
([who listens](api.md#who-listens)). The answers are those of [Python](api.md), in camelCase.

| request | body | answer |
|---|---|---|"""


def main() -> None:
    """Print docs/reference/rest.md."""
    text = description()
    definitions = text["components"]["schemas"]
    print(_INTRODUCTION)
    print("\n## Refusals\n\n| status | when |\n|---|---|")
    print("\n".join(f"| {status} | {why} |" for status, why in REFUSED.items()))
    print(
        "\n## The memory of CountBot\n\nPaths, bodies and texts are those of CountBot.\n\n"
        "| request | body | answer |\n|---|---|---|"
    )
    rows = [(path, method, route) for path, methods in text["paths"].items() for method, route in methods.items()]
    theirs = [row for row in rows if row[0].startswith(("/api/memory/", "/api/chat/"))]
    print("\n".join(_row(*row, definitions) for row in theirs))
    print(_OPERATIONS)
    sys.stdout.write("".join(f"{_row(*row, definitions)}\n" for row in rows if row not in theirs))


def _row(path: str, method: str, route: dict[str, Any], definitions: dict[str, Any]) -> str:
    body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    answer = route["responses"]["200"]["content"]["application/json"]["schema"]
    answer = definitions.get(answer.get("$ref", "").removeprefix(DEFINITIONS), answer)
    query = [
        parameter["name"] for parameter in route.get("parameters", ()) if parameter["in"] == "query" and parameter not in WHO
    ]
    address = f"`{method.upper()} {path}{'?' + '='.join([*query, '']) if query else ''}`"
    summary = route["summary"].removeprefix("Return ").removesuffix(".")
    given = f": {_fields(answer)}" if answer.get("properties") else ""
    return f"| {address} | {_fields(body)} | {summary[0].upper()}{summary[1:]}{given} |"


def _fields(kind: dict[str, Any]) -> str:
    needed = kind.get("required", ()) if kind.get("additionalProperties") is False else ()
    names = (f"**`{name}`**" if name in needed else f"`{name}`" for name in kind.get("properties", ()))
    return ", ".join(names) or "–"


if __name__ == "__main__":
    main()
