"""Two machines, and between them git and rsync as the page has them: what is said, ended and forgotten travels."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.importing.test_sources import NOW, forget, now_of
from tests.test_examples import blocks
from tests.world import WITHOUT_MODEL, World, message

PAGE = Path(__file__).parents[2] / "docs/how-to/several-machines.md"


def run(home: Path, *lines: str) -> None:
    """Run these lines of the page where *home* is the home of the laptop, with the desk beside it."""
    script = "\n".join(lines).replace("desk:", f"{home.parent}/desk/")
    environ = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    environ |= {f"GIT_{who}_{what}": "me" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(["sh", "-euc", script], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("tool", ["git", "rsync"])
def test_synchroniser_of_the_page_brings_what_a_source_needs_and_no_key(tmp_path, tool):
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    (lines,) = (block.text.splitlines() for block in blocks(PAGE.read_text()) if f"\n{tool} " in block.text)
    home, copy = tmp_path / "laptop", tmp_path / "desk/Sync/laptop"
    laptop = World(home / "memory", NOW, WITHOUT_MODEL)
    take = f'[[sources.take]]\nname = "laptop"\nfrom = "recalld"\npath = "{copy}"\nforgets = true\n'
    desk = World(tmp_path / "desk/memory", NOW, WITHOUT_MODEL + take)
    copy.parent.mkdir()

    def meet() -> None:
        laptop.archive(everything=True)
        if tool == "rsync":
            run(home, *lines)
        elif copy.exists():
            run(home, lines[0], *lines[-3:], f"git -C {copy} pull --quiet")
        else:
            run(home, f"git init --quiet --bare {tmp_path}/desk/laptop.git", *lines)
            run(home, f"umask 077; git clone --quiet --branch main {tmp_path}/desk/laptop.git {copy}")
        now_of(desk, "laptop")

    laptop.write([message("a1", "2026-01-20T09:00", "Dr. Huber rief an."), message("a2", "2026-01-21T09:00", "我对花生过敏")])
    laptop.intake()
    laptop.ws.long_term.append("web-chat", "住在杭州", NOW)
    laptop.put("memory/garden.md", b"Roses.\n")
    meet()
    assert desk.archived_texts() == ["Dr. Huber rief an.", "我对花生过敏"]
    assert (desk.root / "memory/from/laptop/garden.md").read_text() == "Roses.\n"

    forget(laptop, "a1")
    laptop.ws.long_term.end(laptop.ws.long_term.read().lines[0].ref, NOW)
    meet()
    assert desk.archived_texts() == ["我对花生过敏"]
    (line,) = desk.ws.long_term.read().lines
    assert line.text == "2026-01-31|web-chat@laptop|~~住在杭州~~（至 2026-01-31）"
    assert {path.name for path in copy.iterdir()} - {".git"} == {"memory", "memory.md", "history.json", ".recalld"}
    assert [path.name for path in (copy / ".recalld").iterdir()] == ["forgotten.jsonl"], "no keys, and no index"
