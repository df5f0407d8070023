"""A terminal of a user of the booted machine, and what the pages say that they type into it."""

import re
import subprocess
from pathlib import Path
from typing import Self

from tests.booted.machine import Person
from tests.process.command import Ended
from tests.test_examples import agrees, blocks, commands

ROOT = Path(__file__).resolve().parents[2]
#: A line that no command prints: it ends what a command has printed, with its exit code.
_END = "-- end of the command:"


class Terminal:
    """A login shell of this user that stays open: folder and variables are kept from one command to the next."""

    def __init__(self, person: Person, **environ: str) -> None:
        self.home = f"/home/{person.name}"
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels", "UV_OFFLINE": "1", "UV_FIND_LINKS": "/wheels"}
        told = [f"--setenv={name}={value}" for name, value in ({"LANG": "C.UTF-8"} | offline | environ).items()]
        self._shell = subprocess.Popen(
            person.machine.command(*person.session(*told), "bash", "--login"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._shell.communicate(timeout=60)

    def run(self, command: str) -> Ended:
        """What the command prints, on both outputs, the home folder as the pages have it."""
        assert self._shell.stdin
        assert self._shell.stdout
        self._shell.stdin.write(f"{{ {command}\n}} </dev/null 2>&1\nprintf '\\n%s%d\\n' '{_END}' $?\n")
        self._shell.stdin.flush()
        printed = ""
        for line in self._shell.stdout:
            if line.startswith(_END):
                return Ended(int(line.removeprefix(_END)), printed.removesuffix("\n").replace(self.home, "/home/me"), "")
            printed += line
        raise AssertionError((command, printed))

    def ok(self, command: str) -> str:
        """What the command prints, which has to succeed."""
        done = self.run(command)
        assert done.code == 0, (command, done.out)
        return done.out


def page(name: str) -> str:
    """The text of README.md, or of another page."""
    return (ROOT / name).read_text(encoding="utf-8")


def typed(text: str, begin: str) -> list[str]:
    """The lines of the page's one `sh` block that begins so."""
    (found,) = [block.text for block in blocks(text) if block.kind == "sh" and block.text.startswith(begin)]
    return re.sub(r"\s+# .*", "", found, flags=re.MULTILINE).splitlines()


def follow(text: str, terminal: Terminal) -> list[tuple[str, str, str]]:
    """Type the commands and run the program of the page; return what printed something else than the page says."""
    known, wrong = blocks(text), []
    for block, after in zip(known, [*known[1:], None], strict=True):
        if block.kind == "console":
            wrong += [
                (command, said, printed)
                for command, said in commands(block.text)
                if not agrees(said, printed := terminal.run(command).out)
            ]
        elif block.kind == "python":
            assert after
            printed = terminal.ok(f"python - <<'END'\n{block.text}END")
            wrong += [(block.text, after.text, printed)] if not agrees(after.text, printed) else []
    return wrong
