"""Each way to install recalld that the page shows, typed from it by a new user of a clean Debian: script/test-install."""

from importlib.metadata import version
from typing import NamedTuple

import pytest

from tests.booted.machine import PID, Machine
from tests.installed.terminal import Terminal, page, typed

INSTALL = page("docs/how-to/install.md")


class Way(NamedTuple):
    """How the lines of the page begin, what comes before and after them, and what the page says of an update and of the end."""

    begin: str
    update: str
    removal: str
    before: str = ":"
    after: str = ":"


VENV = typed(INSTALL, "python3 -m venv")
WAYS = {
    "venv": Way("python3 -m venv", VENV[1], "rm -r ~/recalld-env", after=f"echo '{VENV[2]}' >> ~/.profile"),
    "pipx": Way("pipx", "pipx install --force .", "pipx uninstall recalld"),
    "uv": Way(
        "uv",
        "uv tool install --reinstall .",
        "uv tool uninstall recalld",
        before="python3 -m venv ~/uv && ~/uv/bin/pip install --quiet uv && PATH=$HOME/uv/bin:$PATH",
    ),
}


@pytest.mark.booted
@pytest.mark.skipif(not PID, reason="needs a machine: script/test-install")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_installed_command_is_found_and_remembers(way):
    me = Machine(PID).person()
    with Terminal(me) as terminal:
        terminal.ok(f"cp -r /clone ~/recalld && cd ~/recalld && {way.before}")
        assert terminal.run("recalld --version").code == 127
        for line in typed(INSTALL, way.begin):
            print(line, terminal.ok(line), sep="\n")
        terminal.ok(way.after)
    with Terminal(me) as terminal:
        assert terminal.ok("recalld --version") == f"recalld {version('recalld')}\n"
        terminal.ok("recalld -w ~/memory init")
        terminal.ok("recalld -w ~/memory append --role user --text 'The boiler is serviced in May.'")
        terminal.ok("recalld -w ~/memory append --role user --text '锅炉每年五月检修。'")
        assert "serviced in May" in terminal.ok("recalld -w ~/memory inject --query 'when is the boiler serviced?'")
        for locale in ("C", "zh_CN.UTF-8"):  # the second is one that a clean Debian lacks
            assert "锅炉每年五月检修。" in terminal.ok(f"LC_ALL={locale} recalld -w ~/memory search 锅炉")
        assert terminal.ok("recalld -w ~/memory doctor").count("\n") == 1
        terminal.ok("recalld -w ~/memory service install")
    with Terminal(me) as terminal:
        terminal.ok(f"cd ~/recalld && {way.before} && {way.update} && recalld -w ~/memory service install")
        assert "锅炉每年五月检修。" in terminal.ok("recalld -w ~/memory inject --query 锅炉什么时候检修？")
        assert terminal.ok("recalld -w ~/memory doctor").count("\n") == 1
        terminal.ok(f"recalld service uninstall && {way.removal}")
        assert terminal.run("hash -r; recalld --version").code == 127
        assert "锅炉每年五月检修。" in terminal.ok("cat ~/memory/history.json")


@pytest.mark.parametrize("name", ["install.md", "install.zh-CN.md"])
def test_both_pages_have_the_same_lines_for_each_way(name):
    text = page(f"docs/how-to/{name}")
    for way in WAYS.values():
        assert typed(text, way.begin) == typed(INSTALL, way.begin)
        assert f"`{way.removal}`" in text
        assert f"`{way.update}`" in text or way.update in typed(text, way.begin)
