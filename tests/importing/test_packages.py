"""The reader of another package: the example of the how-to, built as a wheel, installed with pip, and run; and readers that fail."""

import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import run_command
from tests.process.command import Command
from tests.test_examples import LANGUAGES, ROOT, blocks
from tests.world import World

#: A log of the how-to's program.
DIARY: Final = "2026-01-11T09:00:00Z\tThe boiler is serviced in March.\n2026-01-12T18:30:00Z\t锅炉保养公司是顺达。\n"
#: What a reader may do wrong.
RUDE: Final = {
    "raises": 'def read(source):\n    raise RuntimeError("a secret of the file")\n',
    "raises later": 'def read(source):\n    yield {"id": "1", "role": "user", "content": "花生"}\n    raise KeyError("x")\n',
    "returns a number": "def read(source):\n    return 5\n",
    "is missing": "",
    "does not load": "import recalld_nothing\n",
    "is no function": "read = 5\n",
}


def wheel(folder: Path, module: str, project: str) -> Path:
    """A package of one module, whose pyproject.toml is *project*."""
    about = tomllib.loads(project)["project"]
    name, version = about["name"].replace("-", "_"), about["version"]
    info, points = f"{name}-{version}.dist-info", about["entry-points"]["recalld.importers"]
    path = folder / f"{name}-{version}-py3-none-any.whl"
    files = {
        f"{name}.py": module,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[recalld.importers]\n" + "".join(f"{key} = {points[key]}\n" for key in points),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in files.items():
            archive.writestr(place, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{place},,\n" for place in (*files, f"{info}/RECORD")))
    return path


def example(language: str) -> tuple[str, str]:
    """The module and the pyproject.toml of the how-to."""
    page = (ROOT / f"docs/how-to/import-what-you-have{LANGUAGES[language]}.md").read_text(encoding="utf-8")
    (module,) = (block.text for block in blocks(page) if block.kind == "py")
    (project,) = (block.text for block in blocks(page) if block.kind == "toml")
    return module, project


@pytest.fixture
def diary(tmp_path) -> Path:
    path = tmp_path / "log" / "diary.nd"
    path.parent.mkdir()
    path.write_text(DIARY, encoding="utf-8")
    return path


@pytest.fixture
def package(tmp_path, monkeypatch) -> Iterator[Callable[[str], None]]:
    """Makes a package of this module one of this process."""

    def unpack(module: str) -> None:
        with zipfile.ZipFile(wheel(tmp_path, module, example("en")[1])) as archive:
            archive.extractall(tmp_path / "site")

    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield unpack
    sys.modules.pop("recalld_notedown", None)


def imports(world: World, path: Path, language: str = "en") -> int:
    return run_command(Call(["-w", str(world.root), "import", str(path)], {"RECALLD_LANGUAGE": language}))


@pytest.mark.parametrize("language", LANGUAGES)
def test_reader_of_the_how_to_is_installed_and_imports_its_log(tmp_path, diary, language):
    words = ("install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", "--target", str(tmp_path / "site"))
    subprocess.run([sys.executable, "-m", "pip", *words, str(wheel(tmp_path, *example(language)))], check=True)
    command = Command.made(tmp_path / "memory", RECALLD_ARCHIVE_TIMEZONE="UTC", PYTHONPATH=str(tmp_path / "site"))
    done = command("import", str(diary), PYTHONUTF8="1")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:2] == ["messages       2", "added          2"]
    assert "  Notedown" in done.out.splitlines()
    assert "added          0" in command("import", str(diary.parent), PYTHONUTF8="1").out.splitlines()
    assert "JSON lines, Notedown" in command("import", PYTHONUTF8="1").out
    (day,) = (tmp_path / "memory" / "memory").glob("2026-01-12-*.md")
    assert "锅炉保养公司是顺达。" in day.read_text(encoding="utf-8")
    assert '"channel": "Notedown"' in day.read_text(encoding="utf-8")


@pytest.mark.parametrize(("language", "word"), [("en", "failed"), ("zh", "出错")])
@pytest.mark.parametrize("name", RUDE)
def test_reader_that_fails_is_one_sentence_and_adds_nothing(world, package, diary, capsys, name, language, word):
    package(RUDE[name])
    assert imports(world, diary, language) == 65
    (sentence,) = capsys.readouterr().err.splitlines()
    assert all(part in sentence for part in ("Notedown", "recalld-notedown", str(diary), word))
    assert "secret" not in sentence
    assert world.history() == []


def test_reader_is_not_asked_about_what_recalld_reads_itself(world, package, tmp_path):
    package(RUDE["raises"])
    path = tmp_path / "talk.jsonl"
    path.write_text('{"role": "user", "content": "锅炉三月保养。"}\n', encoding="utf-8")
    assert imports(world, path) == 0


def test_reader_may_yield_rubbish_which_is_counted(world, package, diary, capsys):
    package('def read(source):\n    yield {"role": "user", "content": "花生"}\n    yield 5\n    yield {"role": 5}\n')
    assert imports(world, diary) == 65
    told = capsys.readouterr()
    assert "Entries that could not be read: 2" in told.err
    assert told.out.splitlines()[1].split() == ["added", "1"]
