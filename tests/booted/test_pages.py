"""
The commands of the how-tos that need systemd or root, run on the booted machine in the order of their page.

Not those of docker, of which `script/test-container` makes the image, nor what is installed from Debian: the machine has no network.
"""

import re
from pathlib import Path

import pytest

from tests.booted.machine import Machine, Person, booted
from tests.test_examples import BOOTED, HOW_TOS, LANGUAGES, shell_blocks

pytestmark = booted("script/test-systemd")
HOW_TO = Path(__file__).parent.parent.parent / "docs/how-to"
ELSEWHERE = re.compile(r"^(?:docker|sudo apt-get)\b", re.MULTILINE)


def make_workspaces_of_pages(machine: Machine, me: Person) -> None:
    """The workspaces that a page has made before its services, those of this user and those of the user recalld."""
    for where in (["-w", "memories/anna"], ["-w", "memories/bo"], []):
        assert me.run("recalld", *where, "init").code == 0
    machine.run("useradd", "--create-home", "recalld")  # it is there when the page of the other language is next
    machine.do("install", "--directory", "--owner=recalld", "/srv/recalld")
    machine.do("runuser", "--user", "recalld", "--", "recalld", "-w", "/srv/recalld/anna", "init")


@pytest.mark.parametrize("ending", LANGUAGES.values(), ids=LANGUAGES.keys())
def test_how_to_commands_of_services_succeed(machine, me, ending):
    me.root = f"/home/{me.name}/memory"
    me.ok("init")
    machine.do("loginctl", "enable-linger", me.name)
    make_workspaces_of_pages(machine, me)
    shown = [block for name in HOW_TOS for block in shell_blocks(HOW_TO / f"{name}{ending}.md")]
    blocks = [block for block in shown if BOOTED.search(block) and not ELSEWHERE.search(block)]
    assert blocks
    for block in sorted(blocks, key=lambda block: "sudo" in block):  # who has a service of their own has none of the system
        if "sudo" in block:
            for service in ("", "anna", "bo"):
                me.recalld("service", "uninstall", *(("--name", service) if service else ()))
            me.ok("init")  # a page before this one has moved the workspace away
        for line in block.splitlines():
            command = re.sub(r"/home/me\b", f"/home/{me.name}", re.sub(r"--system me\b", f"--system {me.name}", line))
            if "--follow" in command:
                command = f"timeout 5 {command}\ntest $? = 124"
            run = machine.run if command.startswith("sudo ") else me.run
            done = run("bash", "-c", command.removeprefix("sudo "), stdin="sk-secret\n")
            assert done.code == 0, (line, done)
    machine.do("recalld", "service", "uninstall", "--system", me.name)
    machine.do("recalld", "service", "uninstall", "--system", "recalld", "--name", "anna")
