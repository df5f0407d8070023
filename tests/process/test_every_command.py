"""Each command answers `--json`, in a scene of the golden corpus, which has the keys that it keeps for good."""

import re
from pathlib import Path
from typing import Final

from recalld.supervisor.interfaces.cli.main import COMMAND_LINE, HIDDEN
from recalld.supervisor.interfaces.cli.parser import Group

SCENES: Final = Path(__file__).parents[1] / "golden/corpus/en"
#: What prints a script for a shell, serves a client or a hook, or needs a supervisor with a port (tests/http/test_command.py).
WITHOUT_JSON: Final = {"pool key", "mcp", "open"}
#: What needs a Redis, and is asked for in tests/pool.
OF_REDIS: Final = {"pool status"}
#: What needs systemd, and is asked for in script/test-systemd.
OF_SYSTEMD: Final = {"service restart", "service uninstall", "service status"}


def leaves(group: Group, before: str = "") -> set[str]:
    return {
        leaf
        for name, one in group.commands.items()
        if name not in HIDDEN
        for leaf in (leaves(one, f"{before}{name} ") if isinstance(one, Group) else {before + name})
    }


def test_every_command_answers_json_in_a_scene_of_the_golden_corpus():
    scenes = "".join(path.read_text(encoding="utf-8") for path in SCENES.glob("*.txt"))
    asked = {
        name
        for name in leaves(COMMAND_LINE)
        if re.search(rf"^\$ .*\brecalld (-w \S+ )?{name}\b[^;]* --json", scenes, re.MULTILINE)
    }
    assert leaves(COMMAND_LINE) - asked == WITHOUT_JSON | OF_REDIS | OF_SYSTEMD
