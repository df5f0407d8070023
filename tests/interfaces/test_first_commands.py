"""What a new user types first: a workspace by its path, a message with a password, a command that has left or has another name."""

from pathlib import Path

import pytest

from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import COMMAND_LINE, LEFT, run_command
from recalld.supervisor.interfaces.cli.parser import Group
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.storage.texts import render


@pytest.mark.parametrize("name", ["memory", "inbox.d/new", ".recalld", "MEMORY.md"])
def test_service_and_backups_begin_no_memory_in_an_assistants_folder(tmp_path: Path, capsys, name):
    """Below the mount point of its disk an assistant may have made a folder: empty backups would push out the good ones."""
    (tmp_path / "ws" / name).mkdir(parents=True)
    place = ["-w", str(tmp_path / "ws")]
    for words in (
        ["backup", "nightly", str(tmp_path / "backups"), "--keep", "3"],
        ["fsck", "--report"],
        ["service", "install"],
    ):
        assert run_command(Call([*place, *words])) == 74
    assert not (tmp_path / "backups").exists()
    assert "has no workspace" in capsys.readouterr().err
    assert run_command(Call([*place, "search", "tea"])) == 0


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("words", LEFT)
def test_command_that_has_left_says_what_does_its_work_now(tmp_path: Path, capsys, words, language):
    command = ["-w", str(tmp_path), *words.split(), "--json"]
    assert run_command(Call(command, {"RECALLD_LANGUAGE": language})) == BadRequest.exit_code
    assert capsys.readouterr().err == f"recalld: {render(LEFT[words], language)}\n"
    assert list(tmp_path.iterdir()) == []


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
