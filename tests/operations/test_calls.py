"""Operations are named as text, which mypy does not read: each call in the product has arguments that its operation takes."""

import ast
from collections.abc import Iterator
from pathlib import Path

import recalld
from recalld.supervisor.operations.operation import NAMES, find, parameters

PRODUCT = Path(recalld.__path__[0]) / "supervisor"


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Each call that names an operation, such as `call.perform("get", path=…)`."""
    for path in PRODUCT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("perform", "ask"):
                names = [part.value for part in node.args if isinstance(part, ast.Constant) and part.value in NAMES]
                yield from ((str(name), node) for name in names)


def test_calls_of_operations_have_the_arguments_that_these_take():
    wrong, count = [], 0
    for name, call in calls():
        known, given = parameters(find(name)), {keyword.arg for keyword in call.keywords}
        is_whole = None not in given and not any(isinstance(part, ast.Dict) for part in call.args)
        needed = {key for key, parameter in known.items() if parameter.is_required and is_whole}
        wrong += [(name, call.lineno, *odd) for odd in [given - {None} - known.keys(), needed - given] if odd]
        count += 1
    assert (wrong, count > 40) == ([], True)


def test_parameters_of_operations_are_of_kinds_that_can_be_checked():
    kinds = {parameter.kind for name in NAMES for parameter in parameters(find(name)).values()}
    assert kinds
    assert [kind for kind in kinds if "Annotated" in str(kind) or "|" in str(kind)] == []
