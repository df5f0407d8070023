"""`recalld memory …`: other names of four commands (supervisor/interfaces/cli/memory)."""

from __future__ import annotations

import pytest

from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import run_command
from tests.world import message


@pytest.mark.feature("003.31")
@pytest.mark.parametrize(
    ("words", "other"),
    [
        ("memory status --json", "status --json"),
        (
            "memory search 花生 --limit 1 --json --session telegram:group:家",
            "search 花生 --limit 1 --json --session telegram:group:家",
        ),
        ("memory prune --recent-days 5 --summary-days 180 --keep-longterm --dry-run", "prune --dry-run"),
    ],
)
def test_memory_command_does_what_the_command_of_its_own_does(world, words, other, capsys):
    world.fill([message("m-may-000001", "2025-05-10T09:00", "花生过敏，点外卖备注一下。")])

    def answered(line: str) -> tuple[int, str, str]:
        code = run_command(Call(["-w", str(world.root), "--now", "2026-01-31T02:00:00Z", *line.split()]))
        return code, *capsys.readouterr()

    answer = answered(words)
    assert answer == answered(other)
    assert answer[1] or answer[2]


def test_list_of_commands_does_not_show_the_memory_group(capsys):
    for argv in (["--help"], ["memory", "--help"]):
        run_command(Call(argv, {"RECALLD_LANGUAGE": "en"}))
    everything, group = capsys.readouterr().out.split("Usage: recalld memory")
    assert "  memory  " not in everything
    assert all(f"  {name} " in group for name in ("index", "status", "search", "prune"))
