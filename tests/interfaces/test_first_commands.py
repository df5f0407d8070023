"""What a new user types first: a workspace by its path, a message with a password, a command that has left or has another name."""

import json
from pathlib import Path

import pytest

from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import COMMAND_LINE, LEFT, run_command
from recalld.supervisor.interfaces.cli.parser import Group
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.storage.texts import render


def test_init_makes_the_workspace_at_the_path_that_is_given(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_command(Call(["init", "记忆", "--json"])) == 0
    assert json.loads(capsys.readouterr().out)["workspace"] == str(tmp_path / "记忆")
    assert (tmp_path / "记忆" / "recalld.toml").exists()


def test_init_in_a_chinese_locale_keeps_its_language_for_a_service(tmp_path: Path, capsys):
    for n, (environ, key) in enumerate((({"LANG": "zh_CN.UTF-8"}, True), ({"LANG": "de_DE.UTF-8"}, False))):
        root = ["-w", str(tmp_path / str(n))]
        assert run_command(Call([*root, "init"], environ)) == 0
        assert ('\nlanguage = "zh"\n' in (tmp_path / str(n) / "recalld.toml").read_text("utf-8")) is key
        capsys.readouterr()
        run_command(Call([*root, "init"], {}))
        assert ("已经是" in capsys.readouterr().out) is key


def test_read_of_a_line_that_is_not_there_says_so(tmp_path: Path, capsys):
    root = ["-w", str(tmp_path)]
    run_command(Call([*root, "init"], {}))
    assert run_command(Call([*root, "read", "99"], {})) == 0
    run_command(Call([*root, "write", "花生"], {}))
    capsys.readouterr()
    assert run_command(Call([*root, "read", "99"], {})) == BadRequest.exit_code
    assert capsys.readouterr().err == "recalld: read: there is no line 99; without a number the last ones are shown.\n"
    assert run_command(Call([*root, "read", "--start", "1", "--end", "99"], {})) == 0, "a span ends with the file"


def test_run_says_that_it_makes_a_workspace_and_commands_how_to(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for said in (f"recalld: there was no workspace at {tmp_path}/my w; a new one was made.\n", ""):
        assert run_command(Call(["-w", "my w", "run", "--until-settled", "--no-worker"])) == 0
        assert capsys.readouterr().err == said
    for command in (["status"], ["doctor"], ["append", "--role", "user", "--text", "好"]):
        assert run_command(Call(["-w", "old w", *command])) == BadRequest.exit_code
        assert f"make it with `recalld init -w '{tmp_path}/old w'`" in capsys.readouterr().err


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
