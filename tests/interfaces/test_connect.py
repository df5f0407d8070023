"""
`connect` and `disconnect` on odd settings files: what is put in, that everything else stays, and that it goes again.

What the command says is a scene of the golden corpus.
"""

import dataclasses
import json
import re
import tomllib
from pathlib import Path

import pytest

from recalld.supervisor.interfaces.connect.clients import CLIENTS
from recalld.supervisor.interfaces.connect.settings import Machine, changed_lines, client_names
from recalld.supervisor.protocol import connections
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import BadFile, BadRequest, NoPermission
from recalld.supervisor.storage.files import Files

#: Settings in JSON as people and clients leave them.
JSON = {
    "one line": '{"model": "x"}',
    "one line without blanks": '{"model":"x","tools":["a","b"]}\n',
    "tabs": '{\n\t"model": "x"\n}\n',
    "CRLF": '{\r\n  "model": "x"\r\n}\r\n',
    "a mark in a string": '{\n  "note": "// no comment {, }"\n}\n',
    "Chinese": '{\n  "备注": "花生过敏"\n}\n',
    "numbers": '{"a": 1.5, "b": 12345678901234567890}',
    "no line break at the end": '{\n  "model": "x"\n}',
    "another's hook": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}',
    "another's server": '{"mcpServers": {"github": {"command": "gh-mcp"}}}\n',
    "deep": '{"a": ' * 60 + "1" + "}" * 60,
    "empty file": "",
    "half an emoji": '{\n  "备注": "cut \\ud83d"\n}\n',
    "spread": '{\n\n  "model"\n  :\n  "x"\n\n}\n',
}
TOML = {
    "empty": "",
    "plain": 'model = "gpt"\n',
    "no line break": 'model = "gpt"',
    "CRLF": 'model = "gpt"\r\n[tui]\r\ntheme = "dark"\r\n',
    "comments": '# 我的\nmodel = "gpt" # 旧的\n\n[projects."/srv/shop"]\ntrust_level = "trusted"\n',
    "another's server": '[mcp_servers.github]\ncommand = "gh-mcp"\n\n[mcp_servers.github.env]\nA = "1"\n',
    "hooks": '[hooks.state]\n"a:stop:0:0" = { trusted_hash = "x" }\n',
}
MARKDOWN = {"empty": "", "plain": "# 说明\n\n用中文回答。\n", "no line break": "Answer briefly.", "CRLF": "a\r\nb\r\n"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


def machine(home: Path, workspace: str = "memory", project: Path | None = None, **environ: str) -> Machine:
    root = home / workspace
    root.mkdir(exist_ok=True)
    return Machine(Files(RealDisk()), WorkspacePaths(root), environ, home, "## Memory\n\nAsk recalld.\n", project)


def json_files(of: Machine, client: str) -> list[Path]:
    return [one.wanted.path for one in of.changes(client) if one.wanted.form == "json"]


def connect(of: Machine, client: str) -> None:
    of.apply(of.changes(client))


def disconnect(of: Machine, client: str) -> None:
    of.apply(of.removals(client))


def written(path: Path, text: str | bytes) -> bytes:
    data = text if isinstance(text, bytes) else text.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return data


def settings(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


def without_state(found: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in found.items() if not name.startswith("memory/.recalld")}


#: Those that are not written in the form that the clients themselves write.
OTHER_FORMS = ("empty file", "spread")


@pytest.mark.parametrize("name", JSON)
@pytest.mark.parametrize("client", CLIENTS)
def test_connect_and_disconnect_leave_json_settings_as_they_were(home, client, name):
    of = machine(home)
    for path in json_files(of, client):
        written(path, JSON[name])
    before = without_state(settings(home))
    connect(of, client)
    for path in json_files(of, client):
        assert str(of.paths.root) in path.read_text()
        assert list(json.loads(path.read_text()))[: len(json.loads(JSON[name] or "{}"))] == list(json.loads(JSON[name] or "{}"))
    assert [one.kind for one in of.changes(client)] == ["there"] * len(of.changes(client))
    disconnect(of, client)
    after = without_state(settings(home))
    if name in OTHER_FORMS:
        before = {path: json.loads(data or b"{}") for path, data in before.items()}
        after = {path: json.loads(data) for path, data in after.items()}
    assert after == before


@pytest.mark.parametrize("last", ['"KEY": "sk-1234"', '"env": {"KEY": "sk-1234"}', '"keys": ["a", "sk-1234"]', '"env": {}'])
@pytest.mark.parametrize("client", CLIENTS)
def test_connect_shows_no_line_of_the_client_that_gets_a_comma(home, client, last):
    of = machine(home)
    for path in json_files(of, client):
        written(path, f'{{"mcpServers": {{"a": {{"command": "b", "env": {{"KEY": "sk-1234"}}}}}}, "model": "x", {last}}}')
    for step in (of.changes, of.removals):
        changes = step(client)
        shown = [line for change in changes for line in changed_lines(change)]
        assert any("recalld" in line for line in shown)
        assert not any("sk-1234" in line or '"env"' in line or '"model"' in line for line in shown)
        of.apply(changes)


@pytest.mark.parametrize("client", CLIENTS)
def test_connect_shows_no_value_that_a_person_put_into_its_entry(home, client):
    of = machine(home)
    connect(of, client)
    for change in of.changes(client):
        if "server" in change.wanted.what:
            text = change.file.read_text()
            env = '"env": {"KEY": "sk-1234"}, "command"' if change.wanted.form == "json" else 'env = {KEY = "sk-1234"}\ncommand'
            written(change.file, text.replace('"command"' if change.wanted.form == "json" else "command", env, 1))
    shown = [line for change in of.removals(client) for line in changed_lines(change)]
    assert any("KEY" in line or "env" in line for line in shown)
    assert not any("sk-1234" in line or line == "+ {}" for line in shown)


@pytest.mark.parametrize("name", TOML)
def test_connect_and_disconnect_leave_toml_settings_as_they_were(home, name):
    of = machine(home)
    path = home / ".codex" / "config.toml"
    before = written(path, TOML[name])
    connect(of, "codex")
    found = tomllib.loads(path.read_text())
    assert found["mcp_servers"]["recalld"]["args"] == ["-w", str(of.paths.root), "mcp"]
    del found["mcp_servers"]["recalld"]
    rest = {key: value for key, value in found.items() if value}
    assert rest == tomllib.loads(before.decode())
    disconnect(of, "codex")
    assert path.read_bytes() == before + b"\n" * (name == "no line break")


@pytest.mark.parametrize("name", MARKDOWN)
def test_connect_and_disconnect_leave_a_prompt_as_it_was(home, name):
    of = machine(home)
    path = home / ".claude" / "CLAUDE.md"
    before = written(path, MARKDOWN[name])
    connect(of, "claude-code")
    assert path.read_bytes().startswith(before)
    assert b"Ask recalld." in path.read_bytes()
    disconnect(of, "claude-code")
    assert path.read_bytes() == before + b"\n" * (name == "no line break")


@pytest.mark.parametrize("workspace", ["memory", "old"])
@pytest.mark.parametrize("client", CLIENTS)
def test_disconnect_deletes_what_connect_has_made_or_brought_up_to_date(home, client, workspace):
    connect(machine(home, workspace), client)
    of = machine(home)
    assert {one.kind for one in of.changes(client)} == ({"update", "there"} if workspace == "old" else {"there"})
    connect(of, client)
    assert not [name for name, data in settings(home).items() if name[0] == "." and str(home / "old").encode() in data]
    assert len([name for name in settings(home) if "connections.json" not in name]) == len(of.changes(client))
    for path in json_files(of, client):
        path.write_text(json.dumps(json.loads(path.read_text())))  # a client writes it again
    disconnect(of, client)
    assert [name for name in settings(home) if "connections.json" not in name] == []


def test_disconnect_takes_its_hook_out_of_a_group_that_a_person_made(home):
    of = machine(home)
    connect(of, "claude-code")
    path = home / ".claude" / "settings.json"
    changed = json.loads(path.read_text())
    changed["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": "say done"})
    written(path, json.dumps(changed))
    disconnect(of, "claude-code")
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}


FOREIGN = (
    (".claude.json", "claude-code", '{"mcpServers": {"recalld": {"command": "/my/tool", "args": ["serve"]}}}'),
    (".codex/config.toml", "codex", '[mcp_servers]\nrecalld = { command = "mine", args = [] }\n'),
    (".claude/settings.json", "claude-code", '{"disableAllHooks": true}'),
)


@pytest.mark.parametrize(("name", "client", "text"), FOREIGN)
def test_settings_with_a_foreign_server_or_without_hooks_are_left(home, name, client, text):
    of = machine(home)
    before = written(home / name, text)
    with pytest.raises(BadFile, match=r"not one that recalld wrote|every hook"):
        of.changes(client)
    disconnect(of, client)
    assert (home / name).read_bytes() == before


NO_SETTINGS = (
    *("no json", "[1]", '"text"', "{", '{"a"}', '{"a": }', '{"a": 1 "b": 2}', '{"a": 1,, "b": 2}', "{} {}", '{"a": 1}}'),
    *('{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": {"Stop": "x"}}', '{"hooks": 5}', '{"a": 1, "a": 2}'),
    *('{"a": "b', '{"a": ' * 200, "\x00", '{"hooks": {"Stop": [], "Stop": []}}', '{"备注": "x"}'.encode("gbk")),
    *('{"a": 1, // old\n}', '{"a": 1,}', "{a: 1}", '{"a": 1e400}'),  # the clients read no comments either
)
NO_TOML = ("model = ", "mcp_servers = { x = { command = 'y' } }\n", "[mcp_servers]\nrecalld = 5\n[[mcp_servers]]\n")


@pytest.mark.parametrize(
    ("client", "name", "text"),
    [
        *(("claude-code", ".claude/settings.json", text) for text in NO_SETTINGS),
        *(("codex", ".codex/config.toml", text) for text in NO_TOML),
    ],
)
def test_connect_leaves_settings_that_it_can_not_change(home, client, name, text):
    written(home / name, text)
    before = settings(home)
    with pytest.raises(BadFile):
        machine(home).changes(client)
    assert settings(home) == before


@pytest.mark.parametrize(
    ("place", "error"),
    [
        (Path.mkdir, BadFile),
        (lambda place: place.symlink_to("none.json"), BadFile),
        (lambda place: (place.write_text("{}"), place.chmod(0o444)), NoPermission),
    ],
    ids=["a folder", "a dead link", "a read-only file"],
)
def test_connect_refuses_what_it_can_not_write(home, place, error):
    (home / ".claude").mkdir()
    place(home / ".claude" / "settings.json")
    with pytest.raises(error):
        machine(home).changes("claude-code")


def test_connect_follows_a_link_and_keeps_it_with_the_files_mode(home):
    of = machine(home)
    real = home / "dotfiles" / "settings.json"
    written(real, '{"model": "x"}\n')
    real.chmod(0o640)
    link = home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    connect(of, "claude-code")
    assert link.is_symlink()
    assert "hook claude-code" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    disconnect(of, "claude-code")
    assert json.loads(real.read_text()) == {"model": "x"}


@pytest.mark.parametrize(
    ("client", "link", "target"),
    [
        ("claude-code", "CLAUDE.local.md", ".bashrc"),
        ("claude-code", ".claude", ".claude"),
        ("codex", ".codex/hooks.json", ".codex/hooks.json"),
        ("codex", "AGENTS.md", "notes/AGENTS.md"),
    ],
)
def test_connect_in_a_project_refuses_a_file_outside_it(home, tmp_path, client, link, target):
    (home / target).parent.mkdir(parents=True, exist_ok=True)
    (home / target).write_text("{}") if "." in target[1:] or target == ".bashrc" else (home / target).mkdir()
    project = tmp_path / "shop"
    (project / link).parent.mkdir(parents=True)
    (project / link).symlink_to(home / target)
    before = settings(home)
    with pytest.raises(BadFile, match=f"{re.escape(str(home / target))}.*, outside the project"):
        machine(home, project=project).changes(client)
    assert without_state(settings(home)) == before


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "我的 店"
    made.mkdir()
    return made


def test_disconnect_in_a_project_mends_what_was_written_outside(home, project):
    (home / ".bashrc").write_text("alias x=y\n<!-- recalld -->\n## Memory\n<!-- /recalld -->\n")
    (project / "CLAUDE.local.md").symlink_to(home / ".bashrc")
    disconnect(machine(home, project=project), "claude-code")
    assert (home / ".bashrc").read_text() == "alias x=y\n"


def test_connect_writes_a_paragraph_that_clients_share_once(home, project):
    (project / "AGENTS.md").write_text("# 说明\n")
    (project / "CLAUDE.local.md").symlink_to("AGENTS.md")
    of, clients = machine(home, project=project), ("claude-code", "codex")
    of.apply([one for client in clients for one in of.changes(client)])
    assert (project / "AGENTS.md").read_text().count("<!-- recalld -->") == 1
    of.apply([one for client in clients for one in of.removals(client)])
    assert (project / "AGENTS.md").read_text() == "# 说明\n"
    assert of.known() == ()


def test_connect_finds_clients_by_their_folder_or_their_command(home, tmp_path):
    (home / ".codex").mkdir()
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert machine(home, PATH=str(program.parent)).installed() == ["claude-code", "codex"]


def test_client_names_refuses_an_unknown_client():
    assert client_names(["Claude", "codex", "codex"], ()) == ["claude-code", "codex"]
    with pytest.raises(BadRequest, match="claude-code, codex; to connect vim"):
        client_names(["vim"], ())


def test_each_client_has_a_hook_and_is_known_to_doctor():
    assert tuple(CLIENTS) == connections.CLIENTS


def test_no_file_is_written_where_a_later_one_has_no_bytes(home):
    of = machine(home)
    changes = of.changes("claude-code")
    before = settings(home)
    odd = dataclasses.replace(changes[-1], text="\udce9")
    with pytest.raises(BadFile, match="UTF-8"):
        of.apply([*changes[:-1], odd])
    assert settings(home) == before
