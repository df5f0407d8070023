"""`api`: evaluates each line of standard input with the names of `recalld`, and prints it with what it returns or raises."""

from __future__ import annotations

import ast
import asyncio
import dataclasses
import inspect
import json
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import recalld
from recalld import SupervisorError


def present() -> datetime:
    return datetime.fromisoformat(os.environ["RECALLD_NOW"])


def shown(value: Any) -> str:
    """Return a text as it is, what has fields as an object a line, anything else as Python writes it."""
    if isinstance(value, str):
        return value or "''"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if not one.name.startswith("_")}
        return type(value).__name__ + "\n" + "\n".join(f"  {name}={one!r}" for name, one in fields.items())
    if isinstance(value, (dict, list)):
        try:
            return json.dumps(value, ensure_ascii=False)
        except TypeError:
            return repr(value)
    return repr(value)


def main() -> None:
    names: dict[str, Any] = {name: getattr(recalld, name) for name in recalld.__all__}
    names |= {"Path": Path, "present": present, "environ": os.environ, "asyncio": asyncio, "recalld": recalld}
    for raw in sys.stdin:
        print(f">>> {raw}", end="")
        line = raw.rstrip("\n").replace("\\n", "\n") if raw.startswith("class ") else raw.rstrip("\n")
        try:
            if isinstance(ast.parse(line).body[0], ast.Expr):
                value = eval(line, names)  # noqa: S307 - the lines of a scene
                if inspect.isawaitable(value):
                    value = asyncio.run(value)  # type: ignore[arg-type]
                if value is not None:
                    print(shown(value))
            else:
                exec(line, names)  # noqa: S102
        except SupervisorError as error:
            print(f"{type(error).__name__} {error.exit_code}: {error}")
        except Exception as error:
            print(f"{type(error).__name__}: {error}")


main()
