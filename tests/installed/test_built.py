"""The wheel and the sdist that `script/release` makes, each installed in an environment of its own and used; and its notes."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSION = version("recalld")


def run(*words: object, cwd: Path) -> str:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("RECALLD_", "PYTHON"))}
    environ = {**kept, "HOME": str(cwd), "RECALLD_LANGUAGE": "en"}
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=environ, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in {".pyc", ".pyo"})
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    run(ROOT / "script/release", "--try", folder, cwd=folder)
    return folder


@pytest.mark.proof
@pytest.mark.parametrize("name", [f"recalld-{VERSION}-py3-none-any.whl", f"recalld-{VERSION}.tar.gz"])
def test_built_package_has_every_file_and_remembers(built, tmp_path, name):
    venv.create(home := tmp_path / "venv")
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))  # not recalld itself: a .pth in there is not read
    pip = (sys.executable, "-m", "pip", "--python", home / "bin/python")
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", built / name, cwd=tmp_path)
    run(*pip, "check", cwd=tmp_path)
    for folder in ("supervisor", "worker", "prompts"):
        assert files(site / "recalld" / folder) == files(ROOT / folder)
    recalld = home / "bin/recalld"
    assert run(recalld, "--version", cwd=tmp_path) == f"recalld {VERSION}\n"
    run(recalld, "-w", "memory", "init", cwd=tmp_path)
    run(recalld, "-w", "memory", "append", "--role", "user", "--text", "锅炉每年五月检修。", cwd=tmp_path)
    assert "锅炉每年五月检修。" in run(recalld, "-w", "memory", "search", "锅炉", cwd=tmp_path)
    run(recalld, "-w", "memory", "write", "The spare key is with Mrs Miller.", cwd=tmp_path)
    assert "with Mrs Miller." in run(recalld, "-w", "memory", "read", cwd=tmp_path)


@pytest.mark.proof
def test_notes_of_a_release_are_the_section_of_its_version(built):
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = changelog.partition(f"\n## [{VERSION}]")[2].partition("\n")[2].partition("\n## ")[0]
    assert section.strip()
    assert (built / "NOTES.md").read_text(encoding="utf-8").strip() == section.strip()


def test_release_refuses_a_changelog_that_is_not_ready(tmp_path):
    (tmp_path / "script").mkdir()
    shutil.copy(ROOT / "script/release", tmp_path / "script")
    (tmp_path / "pyproject.toml").write_text('version = "1.2.3"\n')
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@localhost")
    run(*git, "init", "--quiet", cwd=tmp_path)
    for changelog, reason in (
        ("## [Unreleased]\n\n* New.\n\n## [1.2.3] - 2026-11-29\n", "[Unreleased]; move them below [1.2.3]"),
        ("## [Unreleased]\n\n## [1.2.2] - 2026-11-28\n", "has no '## [1.2.3] - DATE'"),
    ):
        (tmp_path / "CHANGELOG.md").write_text(changelog)
        for expected in ("not committed", reason):
            done = subprocess.run([tmp_path / "script/release"], check=False, capture_output=True, text=True)
            assert (done.returncode, expected in done.stderr) == (65, True)
            run(*git, "add", ".", cwd=tmp_path)
            run(*git, "commit", "--quiet", "--allow-empty", "--message", "x", cwd=tmp_path)
