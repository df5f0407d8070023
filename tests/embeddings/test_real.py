"""
Hybrid recall with a real, small model: script/test-embeddings sets it up.

Shown are the wire, and the worth: 40 questions of our own over workspace/ that share no word with their answer. The figures are in docs/explanation/benchmarks.md.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.supervisor.host.jobs import make_vectors
from recalld.supervisor.recall import embedders
from recalld.supervisor.recall.embedders import E5
from recalld.supervisor.text.tokenizer import tokens
from recalld.supervisor.workspace import Workspace
from tests.loopback import free_port
from tests.process.command import until
from tests.world import WITHOUT_MODEL, World, at

PYTHON = os.environ.get("RECALLD_TEST_EMBEDDINGS", "")
REAL = pytest.mark.skipif(not PYTHON, reason="needs a model: script/test-embeddings")
ROOT = Path(__file__).parents[2]
SAID = json.loads((ROOT / "workspace/history.json").read_text(encoding="utf-8"))
TEXTS = {one["id"]: one["text"] for one in SAID}
QUESTIONS = [
    json.loads(line) for line in (ROOT / "bench/questions/paraphrases.questions.jsonl").read_text(encoding="utf-8").splitlines()
]


def filed(folder: Path) -> World:
    """The example workspace, each message of it in a dated file."""
    world = World(folder, at("2026-10-29T09:00"), WITHOUT_MODEL)
    world.write(SAID)
    world.settle()
    return world


@pytest.fixture
def port() -> Iterator[int]:
    """The port of the server, which is a process."""
    found = free_port()
    with subprocess.Popen(
        [PYTHON, Path(__file__).with_name("server.py"), str(found)], stdout=subprocess.DEVNULL, text=True
    ) as process:
        with socket.socket() as line:
            until(lambda: line.connect_ex(("127.0.0.1", found)) == 0, process)
        yield found
        process.kill()


def is_found(world, question):
    """Whether an answer is among the hits."""
    return any(hit.unit.message in question["evidence"][0] for hit in world.search(question["question"]).hits)


def test_paraphrases_share_no_word_with_their_answers():
    assert len(QUESTIONS) == 40
    shared = {
        one["qid"]: {*tokens(one["question"])} & {*tokens(TEXTS[gold])} for one in QUESTIONS for gold in one["evidence"][0]
    }
    assert {qid: words for qid, words in shared.items() if words} == {}


@REAL
@pytest.mark.embeddings
@pytest.mark.timeout(600)
def test_hybrid_finds_most_paraphrases_that_the_words_do_not(port, tmp_path):
    world = filed(tmp_path)
    section = f'[embeddings]\nbase_url = "http://127.0.0.1:{port}/v1"\nmodel = "e5"\n'
    prefixes = 'question_prefix = "query: "\ntext_prefix = "passage: "\n'
    world.reopen(f'{WITHOUT_MODEL}[recall]\nbackend = "hybrid"\ntimeout_ms = 10000\n{section}{prefixes}')
    world.refresh()
    make_vectors(world.ws, world.clock)
    by_meaning = sum(is_found(world, one) for one in QUESTIONS)
    by_words = sum(is_found(world.reopen(WITHOUT_MODEL), one) for one in QUESTIONS)
    assert by_meaning >= 26, by_meaning
    assert by_words <= 12, by_words


# ── without a server ─────────────────────────────────────────────────────────


@pytest.fixture
def extra(monkeypatch):
    """The package of `recalld[meaning]`, as pip has installed it beside the server's Python."""
    packages = next(Path(PYTHON).parents[1].glob("lib/python*/site-packages"))
    monkeypatch.setattr("sys.path", [*sys.path, str(packages)])
    monkeypatch.setattr(embedders, "_LOADED", {})


@REAL
@pytest.mark.embeddings
@pytest.mark.timeout(600)
def test_the_extra_finds_most_paraphrases_in_both_languages(extra, tmp_path):
    world = filed(tmp_path).reopen(f"{WITHOUT_MODEL}[recall]\ntimeout_ms = 10000\n")
    world.ws = Workspace(world.root, world.ws.config, world.files, world.events, lasting=True)
    world.refresh()
    assert E5.fault() is None
    assert make_vectors(world.ws, world.clock)[1] == ""
    found = {language: sum(is_found(world, one) for one in QUESTIONS if language in one["qid"]) for language in ("en", "zh")}
    assert min(found.values()) >= 14, found
    assert world.search("煤球的芯片尾号是多少？").how == "hybrid"
