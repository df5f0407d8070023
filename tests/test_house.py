"""The house stays easy to read: sizes of modules and functions, names of tests, no references to documents that a reader does not have."""

import ast
import re
from pathlib import Path
from typing import Final, NamedTuple

ROOT = Path(__file__).parent.parent
PRODUCT = [path for name in ("recalld", "supervisor", "worker", "prompts") for path in (ROOT / name).rglob("*.py")]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
#: Codes such as "A27." or "4H, 7" at the start of a docstring, and files that are not in the repository.
ABSENT = re.compile(r'"""(4[A-H], ?\d+|[ABCDHS]\d{1,2})\b|\bholes\.md\b')


def test_modules_are_at_most_400_lines():
    assert [path.name for path in PRODUCT if path.read_text(encoding="utf-8").count("\n") > 400] == []


class Room(NamedTuple):
    """What belongs together, the lines with docstrings that it may have (*most*), and how many it is to have in the end (*goal*)."""

    paths: str
    most: int
    goal: int


#: A file is in the room with the longest of its paths. Whoever makes a room smaller lowers its limit in the same commit
#: (`python -m tests.test_house` prints today's sizes); one that wants more lines takes them from another, in the same commit.
ROOMS: Final = (
    Room("supervisor/text", most=2_296, goal=2_300),
    Room("supervisor/storage", most=2_104, goal=1_900),
    Room("supervisor/protocol", most=4_456, goal=4_100),
    Room("supervisor/archive", most=3_880, goal=3_900),
    Room("supervisor/extracts", most=721, goal=950),
    Room("supervisor/summaries", most=1_832, goal=1_850),
    Room("supervisor/query supervisor/index supervisor/recall supervisor/context", most=8_398, goal=8_000),
    Room("supervisor/longterm", most=987, goal=950),
    Room("supervisor/conversation supervisor/replies", most=2_381, goal=2_300),
    Room("supervisor/pool worker/crew.py", most=1_347, goal=1_400),
    Room(
        "supervisor/forgetting supervisor/operations/forget.py supervisor/operations/undo.py supervisor/operations/prune.py",
        most=1_169,
        goal=950,
    ),
    Room("supervisor/host", most=2_188, goal=2_200),
    Room("supervisor/checks", most=2_096, goal=2_100),
    Room("supervisor/importing", most=2_123, goal=1_400),
    Room("supervisor/operations", most=1_795, goal=1_800),
    Room("supervisor/interfaces/cli", most=2_599, goal=2_600),
    Room("supervisor/interfaces/http supervisor/interfaces/page", most=1_936, goal=2_000),
    Room("supervisor/interfaces/tools supervisor/interfaces/mcp.py supervisor/interfaces/llamaindex", most=1_945, goal=1_900),
    Room("supervisor/interfaces/connect supervisor/interfaces/hooks supervisor/interfaces/proxy", most=1_898, goal=1_900),
    Room("supervisor/interfaces", most=1_493, goal=1_500),
    Room(
        "worker prompts recalld supervisor/__init__.py supervisor/events.py supervisor/workspace.py",
        most=2_121,
        goal=2_000,
    ),
)
#: All rooms together, lines and modules, and the lines of the tests.
ALL: Final = Room("all", most=49_765, goal=48_000)
MODULES: Final = Room("modules", most=249, goal=270)
OF_TESTS: Final = Room("tests", most=48_000, goal=48_000)


def _lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def _is_below(path: Path, prefix: str) -> bool:
    return path.is_relative_to(ROOT / prefix)


def _room_of(path: Path) -> Room:
    fitting = {prefix: room for room in ROOMS for prefix in room.paths.split() if _is_below(path, prefix)}
    assert fitting, f"{path.relative_to(ROOT)} is in no room of ROOMS"
    return fitting[max(fitting, key=len)]


def _sizes() -> list[tuple[Room, int]]:
    lines = {path: _lines(path) for path in PRODUCT}
    homes = {path: _room_of(path) for path in PRODUCT}
    rooms = [(room, sum(lines[path] for path in PRODUCT if homes[path] is room)) for room in ROOMS]
    return [*rooms, (ALL, sum(lines.values())), (MODULES, len(PRODUCT)), (OF_TESTS, sum(map(_lines, TESTS)))]


def test_rooms_and_the_house_hold_their_size():
    too_large = [
        f"{room.paths}: {size:,}, {size - room.most:,} over the limit of {room.most:,}; its goal is {room.goal:,}"
        for room, size in _sizes()
        if size > room.most
    ]
    assert too_large == []


def test_rooms_name_only_existing_files():
    prefixes = [prefix for room in ROOMS for prefix in room.paths.split()]
    assert [prefix for prefix in prefixes if not any(_is_below(path, prefix) for path in PRODUCT)] == []


def test_functions_have_at_most_40_lines_below_their_docstring():
    longer = []
    for path in PRODUCT:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                own = node.body[1:] if ast.get_docstring(node) else node.body
                if own and (own[-1].end_lineno or 0) - own[0].lineno >= 40:
                    longer.append(f"{path.name}: {node.name}")
    assert longer == []


def test_names_of_tests_are_at_most_70_characters():
    names = [name for path in TESTS for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))]
    assert names
    assert [name for name in names if len(name) > 70] == []


def test_sources_cite_no_absent_documents():
    others = [path for path in [*PRODUCT, *TESTS] if path != Path(__file__)]
    assert [path.name for path in others if ABSENT.search(path.read_text(encoding="utf-8"))] == []


if __name__ == "__main__":
    for room, size in _sizes():
        print(f"{size:7,}  limit {room.most:7,}  goal {room.goal:7,}  {room.paths}")
