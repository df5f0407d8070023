"""Each way to install recalld that README shows, typed from it by a new user of a clean Debian: script/test-install."""

from __future__ import annotations

import os
import re
from importlib.metadata import version
from typing import NamedTuple

import pytest

from tests.booted.machine import Machine
from tests.installed.terminal import Terminal, page, typed

PID = os.environ.get("RECALLD_TEST_MACHINE", "")
pytestmark = [
    pytest.mark.booted,
    pytest.mark.skipif(not PID, reason="needs a machine: script/test-install"),
    pytest.mark.timeout(600),
]
README = page("README.md")


class Way(NamedTuple):
    """How the lines of README begin, what is there before them, and what makes the next terminals find the command."""

    begin: str
    before: str = ":"
    found: str = ":"

    @property
    def update(self) -> str:
        """What README says brings an installation up to date."""
        said = re.findall(rf"`({self.begin} [^`]+)`", README)
        return str(said[0]) if said else typed(README, self.begin)[1]


WAYS = {
    "venv": Way("python3 -m venv", found=f"echo '{typed(README, 'python3 -m venv')[-1]}' >> ~/.profile"),
    "pipx": Way("pipx"),
    "uv": Way("uv", before="python3 -m venv ~/uv && ~/uv/bin/pip install --quiet uv && PATH=$HOME/uv/bin:$PATH"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_installed_command_is_found_and_remembers(way):
    me = Machine(PID).person()
    with Terminal(me) as terminal:
        terminal.ok(f"cp -r /clone ~/recalld && cd ~/recalld && {way.before}")
        assert terminal.run("recalld --version").code == 127
        for line in typed(README, way.begin):
            print(line, terminal.ok(line), sep="\n")
        terminal.ok(way.found)
    with Terminal(me) as terminal:
        assert terminal.ok("recalld --version") == f"recalld {version('recalld')}\n"
        terminal.ok("recalld -w ~/memory init")
        terminal.ok("recalld -w ~/memory append --role user --text 'The boiler is serviced in May.'")
        terminal.ok("recalld -w ~/memory append --role user --text '锅炉每年五月检修。'")
        assert "serviced in May" in terminal.ok("recalld -w ~/memory inject --query 'when is the boiler serviced?'")
        for locale in ("C", "zh_CN.UTF-8"):  # the second is one that a clean Debian lacks
            assert "锅炉每年五月检修。" in terminal.ok(f"LC_ALL={locale} recalld -w ~/memory search 锅炉")
        assert terminal.ok("recalld -w ~/memory doctor").count("\n") == 1
        terminal.ok("recalld -w ~/memory service install --linger")
        terminal.ok(f"cd ~/recalld && {way.before} && {way.update} && recalld -w ~/memory service install")
        assert "锅炉每年五月检修。" in terminal.ok("recalld -w ~/memory inject --query 锅炉什么时候检修？")
        print(terminal.ok("systemctl --user cat recalld | grep ExecStart; recalld service status"))
        assert terminal.ok("recalld -w ~/memory doctor").count("\n") == 1
