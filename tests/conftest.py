"""Fixtures of all suites; the workspace itself is in world.py."""

import gc
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from tests.llm.server import Server
from tests.world import World, at

# a shell lets what it starts in the background ignore SIGINT, nohup SIGHUP, and every process of a test would inherit that
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# how long an example takes, or is made, says nothing on a machine that others use too; a property is asked the same examples in
# each run, so that what one finds is found where it was written, and script/prove looks for new ones
settings.register_profile(
    "recalld", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, max_examples=50
)
settings.register_profile("new", settings.get_profile("recalld"), derandomize=False, max_examples=100)
settings.load_profile("recalld")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden; review the difference")


def pytest_configure(config: pytest.Config) -> None:
    """Leave the proofs out where neither files nor marks are named; nothing of what is loaded is garbage."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS and not config.option.markexpr:
        config.option.markexpr = "not proof"
    gc.disable()


def pytest_collection_finish() -> None:
    """Let the collector of garbage look at what the tests make, and no more at the thousands of tests themselves."""
    gc.freeze()
    gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Load no module of which all tests, or none, are proofs, where the others are wanted: loading all takes seconds."""
    if config.option.markexpr not in {"proof", "not proof"} or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    has_proofs, is_proof = "mark.proof" in text, re.search(r"^pytestmark = \[?\s*pytest\.mark\.proof\b", text, re.MULTILINE)
    return (not has_proofs if config.option.markexpr == "proof" else bool(is_proof)) or None


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A workspace in Shanghai at ten in the morning of 31 January 2026, with a model and no history yet."""
    return World(tmp_path, at("2026-01-31T10:00"))


@pytest.fixture
def server() -> Iterator[Server]:
    """A model's server, which answers as its script says."""
    with Server() as running:
        yield running


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, bytes], None]:
    """Compare with a file below tests/golden, or rewrite it with --update-golden."""
    folder = Path(__file__).parent / "golden"

    def compare(name: str, data: bytes) -> None:
        path = folder / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        assert path.read_bytes() == data, f"tests/golden/{name} differs; see it with --update-golden and git diff"

    return compare


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """The folder of a name, which one of the processes of this run fills, and all read."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def folder_of(name: str, fill: Callable[[Path], object]) -> Path:
        folder, is_filled = shared / name, shared / f"{name}.filled"
        with FileLock(shared / f"{name}.lock"):
            if not is_filled.exists():
                shutil.rmtree(folder, ignore_errors=True)  # where *fill* failed, it fails again for who asks next
                folder.mkdir()
                fill(folder)
                is_filled.touch()
        return folder

    return folder_of
