"""Two machines, and between them git and rsync as the page has them: what is said, edited, ended and forgotten travels."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.importing.test_sources import NOW, forget, now_of, texts
from tests.test_examples import blocks
from tests.world import WITHOUT_MODEL, World, message

PAGE = Path(__file__).parents[2] / "docs/how-to/several-machines.md"


def machine(home: Path, other: str) -> World:
    """The workspace of a machine, which has a copy of the other one as a source."""
    take = f'[[sources.take]]\nname = "{other}"\nfrom = "recalld"\npath = "{home}/Sync/{other}"\nforgets = true\n'
    (home / "Sync").mkdir(parents=True)
    return World(home / "memory", NOW, WITHOUT_MODEL + take)


def say(world: World, *messages: dict[str, object]) -> None:
    world.append(*messages)
    world.intake()
    world.archive(everything=True)


class Synchroniser:
    """Brings the workspace of one machine to the other, by the commands of the page."""

    def __init__(self, tool: str, laptop: Path, desk: Path) -> None:
        (self.lines,) = (block.text.splitlines() for block in blocks(PAGE.read_text()) if f"\n{tool} " in block.text)
        self.tool, self.names, self.laptop, self.desk = tool, (laptop.name, desk.name), laptop, desk

    def bring(self) -> None:
        if self.tool == "rsync":
            self._run(*self.lines)
        elif (self.laptop / "memory/.git").exists():
            self._run(self.lines[0], *self.lines[-3:])
            self._run("git -C ~/Sync/laptop pull --quiet", home=self.desk)
        else:
            self._run(f"git init --quiet --bare {self.desk}/laptop.git", *self.lines)
            self._run("umask 077; git clone --quiet --branch main ~/laptop.git ~/Sync/laptop", home=self.desk)

    def _run(self, *lines: str, home: Path | None = None) -> None:
        script = "\n".join(lines).replace("desk:", f"{self.desk}/").replace("Sync/laptop", f"Sync/{self.names[0]}")
        environ = {"HOME": str(home or self.laptop), "PATH": "/usr/local/bin:/usr/bin:/bin"}
        environ |= {f"GIT_{who}_{what}": "me" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        done = subprocess.run(["sh", "-euc", script], env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("tool", ["git", "rsync"])
def test_two_machines_with_a_synchroniser_of_the_page_agree(tmp_path, tool):
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    laptop, desk = machine(tmp_path / "laptop", "desk"), machine(tmp_path / "desk", "laptop")
    ways = [Synchroniser(tool, tmp_path / a, tmp_path / b) for a, b in (("laptop", "desk"), ("desk", "laptop"))]

    def meet() -> None:
        for way in ways * 2:
            way.bring()
            for world, name in ((laptop, "desk"), (desk, "laptop")):
                now_of(world, name)

    say(laptop, message("a1", "2026-01-20T09:00", "Dr. Huber rief an."), message("a2", "2026-01-21T09:00", "am Freitag"))
    say(desk, message("b1", "2026-01-22T09:00", "我对花生过敏"))
    laptop.ws.long_term.append("web-chat", "住在杭州", NOW)
    desk.put("memory/garden.md", b"Roses.\n")
    meet()
    assert texts(laptop) == texts(desk) == sorted(["Dr. Huber rief an.", "am Freitag", "我对花生过敏"])
    assert (laptop.root / "memory/from/desk/garden.md").read_text() == "Roses.\n"

    say(desk, message("a2", "2026-01-21T09:00", "am Samstag"))
    forget(desk, "a1")
    laptop.ws.long_term.end(laptop.ws.long_term.read().lines[0].ref, NOW)
    meet()
    assert texts(laptop) == texts(desk) == sorted(["am Freitag", "am Samstag", "我对花生过敏"])
    assert [line.text for line in desk.ws.long_term.read().lines] == [
        "2026-01-31|web-chat@laptop|~~住在杭州~~（至 2026-01-31）"
    ]
    copies = {path.name for way in ways for path in (way.desk / "Sync" / way.names[0]).iterdir()}
    assert copies - {".git"} == {"memory", "memory.md", "history.json", ".recalld"}, "no keys, and no index"
