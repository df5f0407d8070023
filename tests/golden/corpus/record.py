"""
The golden corpus: what recalld answers to some 600 command lines and calls, recorded and compared (README.md).

    python -m tests.golden.corpus.record             compare: print a diff, and end with 1 where there is one
    python -m tests.golden.corpus.record --update    record

It starts the commands of its own Python's folder, each as a fork of a process that has them loaded, or those of the folder that `--bin`
names, so that any two commits can be compared.
"""

import argparse
import difflib
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.golden.corpus.model_server import ModelServer
from tests.golden.corpus.scene import Block, differences, differing, parsed, rendered
from tests.golden.corpus.stage import HERE, MADE, Stage, World
from tests.process.prepared import address

#: Scenes that are played beside a supervisor, too: it answers most of their commands.
SERVED = ("commands", "groups", "odd", "read", "write")
#: Scenes with few sentences for people, which others have in both languages.
WITHOUT_LANGUAGE = ("files", "model")
#: The scenes that take longest, which begin first.
LONGEST = ("broken", "model", "read", "usage")


def recorded(commands: Path, scenes: list[str], *, is_plain: bool) -> dict[Path, str]:
    """Return the text of each file of the corpus as it is now; *is_plain*: each command is started anew."""
    jobs = [(scene, "en") for scene in scenes]
    jobs += [(scene, "zh") for scene in scenes if scene not in WITHOUT_LANGUAGE]
    jobs += [(scene, "supervisor") for scene in scenes if scene in SERVED]
    top = Path(tempfile.mkdtemp(prefix="recalld-corpus-"))
    try:
        with ModelServer() as model, ThreadPoolExecutor(2) as pool:
            world = World(top, commands, model.address, "" if is_plain else address()[1:].decode())
            world.make_programs()
            list(pool.map(world.make_workspace, MADE))
            jobs.sort(key=lambda job: job[0] not in LONGEST)
            played = dict(zip(jobs, pool.map(lambda job: _played(*job, world), jobs), strict=True))
    finally:
        shutil.rmtree(top, ignore_errors=True)
    texts = {HERE / variant / f"{scene}.txt": "" for scene in scenes for variant in ("zh", "supervisor")}
    for (scene, variant), blocks in played.items():
        base = played[scene, "en"]
        text = rendered(base) if variant == "en" else (differing if variant == "zh" else differences)(base, blocks)
        texts[HERE / variant / f"{scene}.txt"] = text
    return dict(sorted(texts.items()))


def _played(scene: str, variant: str, world: World) -> list[Block]:
    return Stage(scene, variant, world).play(parsed((HERE / "en" / f"{scene}.txt").read_text(encoding="utf-8")))


def compare(texts: dict[Path, str]) -> int:
    """Print how the texts differ from those that are recorded, and return the exit code."""
    is_same = True
    for path, text in texts.items():
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        name = str(path.relative_to(HERE))
        for line in difflib.unified_diff(before.splitlines(), text.splitlines(), name, name, lineterm=""):
            print(line)
            is_same = False
    return 0 if is_same else 1


def write(texts: dict[Path, str]) -> int:
    """Record the texts, and return the exit code."""
    for path, text in texts.items():
        if text:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode())
        else:
            path.unlink(missing_ok=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Record what recalld answers, or compare it with what is recorded.")
    parser.add_argument("--bin", type=Path, help="the folder of another `recalld` and `python`")
    parser.add_argument("--update", action="store_true", help="record")
    parser.add_argument(
        "--plain", action="store_true", help="start each command anew, as with --bin, which takes three times as long"
    )
    parser.add_argument("scenes", nargs="*", help="files of en/, without .txt; all if none is named")
    options: Any = parser.parse_args()
    scenes = options.scenes or sorted(path.stem for path in (HERE / "en").glob("*.txt"))
    here = Path(sys.executable).parent
    texts = recorded((options.bin or here).absolute(), scenes, is_plain=options.plain or options.bin)
    return write(texts) if options.update else compare(texts)


if __name__ == "__main__":
    sys.exit(main())
