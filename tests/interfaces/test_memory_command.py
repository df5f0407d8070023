"""`recalld memory …`: other names of four commands (supervisor/interfaces/cli/main.py)."""

from __future__ import annotations

import pytest

from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import COMMAND_LINE, run_command
from recalld.supervisor.interfaces.cli.parser import Group


@pytest.mark.feature("003.31")
def test_memory_group_has_four_commands_by_other_names(capsys):
    commands = COMMAND_LINE.commands
    group, index = commands["memory"], commands["index"]
    assert isinstance(group, Group)
    assert isinstance(index, Group)
    others = {**{name: commands[name] for name in ("status", "search", "prune")}, "index": index.commands["rebuild"]}
    assert list(group.commands) == list(others)
    for name, other in others.items():
        assert (group.commands[name].help, group.commands[name].params) == (other.help, other.params)
    for argv in (["--help"], ["memory", "--help"]):
        run_command(Call(argv, {"RECALLD_LANGUAGE": "en"}))
    everything, help_of_group = capsys.readouterr().out.split("Usage: recalld memory")
    assert "  memory  " not in everything
    assert all(f"  {name} " in help_of_group for name in group.commands)
