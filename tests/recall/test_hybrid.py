"""The backend `hybrid`: what means the same is found, what nobody spoke of is not, and a server that fails costs nothing."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.recall.hybrid import Hybrid
from recalld.supervisor.recall.meaning import FOREIGN, calibrate, parse_calibration, products
from recalld.supervisor.recall.vectors import VectorStore
from tests.loopback import free_port
from tests.recall.vectors import FAULTS, SIZE, Server
from tests.world import WITHOUT_MODEL, World, at, message

CAR = "上个月买了一辆轿车，花了十二万。"
SAID = [
    message(str(n), f"2026-01-29T{9 + n // 4:02}:{n % 4}0", text)
    for n, text in enumerate(
        [
            CAR,
            "轿车的保险下个月到期。",
            "上个月买了一个书架，花了三百。",
            "孩子发烧了，医生说多喝水，买药花了八十。",
            "密码是 hunter2-demo，别忘了。",
            "周末去爬山，带上登山杖。",
            "妈妈做的红烧肉最好吃。",
            "The roof of the shed leaks again.",
            "Grandma knits a scarf for every winter.",
            "阳台上的茉莉花开了。",
            "路由器换成了新的，信号好多了。",
            "哈哈好的",
        ]
    )
]
#: Shares words with what was said; shares none.
QUESTION, OTHER_WORDS = "买汽车花了多少", "那部汽车怎么样"


@pytest.fixture
def server():
    with Server() as found:
        yield found


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("settled"), at("2026-01-31T10:00"), WITHOUT_MODEL)
    world.write(SAID)
    world.settle()
    world.refresh()
    return world


@pytest.fixture
def filled(settled, tmp_path, server):
    world = settled.copied(tmp_path).reopen(hybrid(server.url))
    world.refresh()
    return world


@pytest.fixture
def ready(filled, server):
    filled.precompute_vectors()
    server.asked.clear()
    return filled


def hybrid(url, more=""):
    section = f'[embeddings]\nbase_url = "{url}"\nmodel = "bge-test"\n{more}'
    return f'{WITHOUT_MODEL}[recall]\nbackend = "hybrid"\ntimeout_ms = 60000\n{section}'


def texts(found):
    return [hit.unit.text for hit in found.hits]


def files(world):
    return sorted((world.root / ".recalld/vectors").glob("*.f16"))


def by_words(world):
    before = world.toml
    found = world.reopen(WITHOUT_MODEL).search(QUESTION).hits
    world.reopen(before)
    return found


# ── what is found ────────────────────────────────────────────────────────────


@pytest.mark.feature("001.8")
def test_hybrid_finds_what_means_the_same_without_a_word_in_common(ready):
    found = ready.search(OTHER_WORDS)
    assert found.how == "hybrid"
    assert set(texts(found)[:2]) == {CAR, "轿车的保险下个月到期。"}
    assert "meaning" in found.hits[0].because
    assert CAR in ready.inject(OTHER_WORDS, found).memory
    assert ready.reopen(WITHOUT_MODEL).search(OTHER_WORDS).how == "bm25"


def test_hybrid_raises_what_means_the_same_and_loses_no_hit_of_the_words(ready):
    found = ready.search(QUESTION)
    assert (found.how, found.hits[0].unit.text) == ("hybrid", CAR)
    assert "meaning" in found.hits[0].because
    assert {hit.unit.text for hit in by_words(ready)} <= set(texts(found))


@pytest.mark.parametrize(
    "question", ["潮汐的成因", "Who composed the Brandenburg concertos?", "怎么给微波炉除味", "好的，谢谢！", "42", "你好"]
)
def test_hybrid_finds_nothing_for_what_nobody_spoke_of(ready, question):
    assert ready.search(question).hits == ()


@pytest.mark.parametrize("question", FOREIGN[::9])
def test_hybrid_finds_nothing_for_foreign_questions(ready, question):
    by_meaning = [hit for hit in ready.search(question).hits if hit.because == ("meaning",)]
    assert by_meaning == []


def test_hybrid_finds_a_message_that_no_file_holds_yet(ready):
    new = "汽车送去保养了，后天取。"
    ready.write([message("new", "2026-01-31T08:00", new)])
    ready.precompute_vectors()
    assert new in texts(ready.search("轿车在哪儿"))


def test_hybrid_finds_a_text_where_it_is_now(ready, server):
    ready.note("2026-01-30-note.md", f"- {CAR}\n")
    ready.refresh()
    where = {hit.unit.path for hit in ready.search(OTHER_WORDS).hits if hit.unit.text == CAR}
    assert "memory/2026-01-30-note.md" in where
    assert server.asked == [[OTHER_WORDS]]


def test_hybrid_finds_no_text_that_has_gone(ready):
    ready.note("2026-01-30-note.md", "- 又换了一部汽车，白色的。\n")
    ready.refresh()
    ready.precompute_vectors()
    assert "又换了一部汽车，白色的。" in texts(ready.search("轿车的颜色"))
    (ready.root / "memory/2026-01-30-note.md").unlink()
    ready.refresh()
    assert "又换了一部汽车，白色的。" not in texts(ready.search("轿车的颜色"))


@pytest.mark.parametrize(("originals", "found"), [("fallback", True), ("always", True), ("never", False)])
def test_hybrid_searches_originals_as_configured(ready, originals, found):
    """What a summary covers is found by meaning where it is by words."""
    index = ready.ws.index
    tiers = {"fallback": (("dated",), ("original",)), "always": (None,), "never": (("summary",),)}[originals]
    unit = next(hit.unit for hit in ready.search(CAR).hits if hit.unit.text == CAR)
    assert bool(index.same([unit.unit], tiers, 9)) is found


# ── what is sent ─────────────────────────────────────────────────────────────


def test_precompute_vectors_embeds_each_text_once_and_never_in_a_turn(filled, server):
    filled.search(QUESTION)
    assert server.asked == []
    filled.precompute_vectors()
    made = [text for batch in server.asked for text in batch]
    assert sorted(made) == sorted([*FOREIGN, *(one["text"] for one in SAID[:-1] if "密码" not in one["text"]), "…，别忘了。"])
    server.asked.clear()
    assert filled.precompute_vectors() == 0
    filled.reopen().precompute_vectors()
    filled.search(QUESTION)
    assert server.asked == [[FOREIGN[0]], [QUESTION]]  # the model is tried once a process: is it the one that it was?


def test_embeddings_put_the_prefixes_before_questions_and_texts(filled, server):
    filled.reopen(hybrid(server.url, 'question_prefix = "query: "\ntext_prefix = "passage: "\n'))
    filled.precompute_vectors()
    filled.search(QUESTION)
    made = [text for batch in server.asked for text in batch]
    assert made[0] == f"query: {FOREIGN[0]}"
    assert f"passage: {CAR}" in made
    assert made[-1] == f"query: {QUESTION}"


def test_embeddings_send_no_secret_unless_redaction_is_off(filled, server):
    filled.precompute_vectors()
    filled.search("我的密码是 hunter2-demo 花了多少")
    assert "hunter2" not in str(server.asked)
    filled.reopen(f'{filled.toml}[privacy]\nredact = "off"\n')
    assert filled.precompute_vectors() == 1  # other texts, other vectors
    assert "hunter2" in str(server.asked)


def test_embeddings_send_the_key_to_the_server_and_to_no_event(filled, server):
    from recalld.supervisor.recall.rerank import backend_of

    ws = filled.ws
    ws.reranker.__init__(lambda: backend_of(ws.config, {"OPENAI_API_KEY": "sk-demo-123"}, ws.files, ws.paths))
    filled.precompute_vectors()
    assert server.headers[0]["authorization"] == "Bearer sk-demo-123"
    server.act = "bad key"
    filled.search(QUESTION)
    assert "sk-demo" not in str(filled.events.all)
    assert "401" in filled.events.of("backend_failed")[0]["why"]


# ── the vectors on disk ──────────────────────────────────────────────────────


def test_vectors_are_private_and_half_floats(ready):
    (file,) = files(ready)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.stat().st_size == 32 + (len(SAID) - 1) * (8 + 2 * SIZE)


@pytest.mark.parametrize("harm", ["delete", "truncate", "empty", "rubbish", "one bit", "link", "no calibration", "calibration"])
def test_vectors_that_are_deleted_or_damaged_are_made_again(ready, harm, tmp_path):
    (file,) = files(ready)
    note = next(file.parent.glob("*.npz"))
    match harm:
        case "delete":
            shutil.rmtree(file.parent)
        case "truncate":
            file.write_bytes(file.read_bytes()[:-7])
        case "empty":
            file.write_bytes(b"")
        case "rubbish":
            file.write_bytes(os.urandom(20_000))
        case "one bit":
            data = bytearray(file.read_bytes())
            data[-1] ^= 1
            file.write_bytes(data)
        case "link":
            file.rename(tmp_path / "elsewhere")
            file.symlink_to(tmp_path / "elsewhere")
        case "no calibration":
            note.unlink()
        case "calibration":
            note.write_bytes(note.read_bytes()[:-100])
    assert texts(ready.search(QUESTION))  # by the words
    ready.reopen()
    assert texts(ready.search(QUESTION))
    ready.precompute_vectors()
    assert CAR in texts(ready.search(OTHER_WORDS))


def test_vectors_that_are_deleted_are_made_again_by_the_same_process(ready):
    shutil.rmtree(ready.root / ".recalld/vectors")
    assert ready.search(OTHER_WORDS).how == "bm25"
    assert ready.precompute_vectors() == 1
    assert CAR in texts(ready.search(OTHER_WORDS))


def test_vectors_of_another_length_are_made_again_by_the_same_process(ready, server):
    server.act = "other length"
    ready.note("2026-01-30-note.md", "买了电钢琴，花了六千。\n")
    ready.refresh()
    ready.precompute_vectors()
    assert "made again" in ready.events.of("backend_failed")[0]["why"]
    assert ready.precompute_vectors() == 2
    (file,) = files(ready)
    assert file.stat().st_size == 32 + len(SAID) * (8 + 2 * 7)


def test_vectors_that_are_cut_off_while_they_are_open_end_no_process(ready):
    assert CAR in texts(ready.search(OTHER_WORDS))
    (file,) = files(ready)
    os.truncate(file, 100)
    assert ready.search(OTHER_WORDS).how == "bm25"
    ready.reopen().precompute_vectors()
    assert CAR in texts(ready.search(OTHER_WORDS))


def test_vectors_follow_no_link(filled, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (filled.root / ".recalld/vectors").symlink_to(tmp_path / "elsewhere")
    filled.precompute_vectors()
    assert filled.search(QUESTION).how == "bm25"
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("act", ["another model", "other length"])
def test_vectors_of_another_model_behind_the_same_name_are_made_again(ready, server, act):
    server.act = act
    ready.reopen().precompute_vectors()
    assert ready.search(OTHER_WORDS).how == "bm25"
    assert "made again" in ready.events.of("backend_failed")[0]["why"]
    ready.precompute_vectors()
    assert ready.search(QUESTION).how in {"hybrid", "bm25"}
    assert "length" not in str(ready.events.all[-1])
    (file,) = files(ready)
    assert file.stat().st_size == 32 + (len(SAID) - 1) * (8 + 2 * (7 if act == "other length" else SIZE))


def test_vectors_of_a_former_model_go_once_the_new_ones_are_there(ready, server):
    (before,) = files(ready)
    ready.reopen(ready.toml.replace("bge-test", "bge-other"))
    server.act = "fault"
    ready.precompute_vectors()
    assert files(ready) == [before]
    server.act = "well"
    ready.precompute_vectors()
    (after,) = files(ready)
    assert after.name[:16] != before.name[:16]


def test_vectors_of_texts_that_have_gone_are_dropped_in_time(ready):
    before = files(ready)[0].stat().st_size
    ready.note("2026-01-30-note.md", "".join(f"- 第 {n} 次去了第 {n} 家店。\n" for n in range(30)))
    ready.refresh()
    ready.precompute_vectors()
    assert sum(file.stat().st_size for file in files(ready)) > 2 * before
    (ready.root / "memory/2026-01-30-note.md").unlink()
    ready.refresh()
    ready.precompute_vectors()
    assert [file.stat().st_size for file in files(ready)] == [before]


def test_vectors_take_no_more_than_configured(filled, server):
    filled.reopen(hybrid(server.url, 'cache_bytes = "1MB"\n'))
    for n in range(70):
        text = "".join(f"- {n} 号店的第 {m} 样东西是 {n}-{m}。\n" for m in range(40))
        filled.note(f"2025-{1 + n // 28:02}-{1 + n % 28:02}-note.md", text)
    filled.refresh()
    filled.precompute_vectors()
    assert 900_000 < sum(file.stat().st_size for file in files(filled)) < 1_100_000


def test_vectors_may_be_made_by_two_processes_at_once(filled, server):
    other = type(filled).process(filled.root, filled.clock, filled.events, filled.ws.config, filled.disk, "other")
    threads = [threading.Thread(target=one.precompute_vectors) for one in (filled, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in (filled, other):
        assert CAR in texts(one.search(OTHER_WORDS))


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=9, unique=True), min_size=1, max_size=12))
def test_vector_store_has_each_text_once_and_the_last_vector_of_it(tmp_path_factory, batches):
    from recalld.supervisor.storage.disk import RealDisk
    from recalld.supervisor.storage.files import Files

    folder = tmp_path_factory.mktemp("store")
    store = VectorStore(Files(RealDisk()), folder / "vectors", folder / "lock", "bge")
    last = {}
    for n, names in enumerate(batches):
        store.add(names, np.full((len(names), 3), n, np.float32))
        last |= dict.fromkeys(names, n)
    found = {}
    for segment in VectorStore(Files(RealDisk()), folder / "vectors", folder / "lock", "bge").segments():
        found |= dict(zip(segment.names.tolist(), segment.bits.view(np.float16)[:, 0].tolist(), strict=True))
    assert found == last
    assert store.lacking([*last]) == []
    sizes = [len(segment.names) for segment in store.segments()]
    assert sizes == sorted({*sizes}, reverse=True)  # each is larger than the next, so that they stay few
    keep = [*last][: len(last) // 2]
    store.keep(keep)
    assert set(keep) <= {name for segment in store.segments() for name in segment.names.tolist()}


# ── what goes wrong changes nothing but what is found by meaning ─────────────


@pytest.mark.parametrize("fault", FAULTS)
def test_hybrid_has_what_the_words_find_when_the_server_fails(ready, server, fault):
    words = by_words(ready)
    ready.reopen(hybrid(server.url).replace("60000", "1000" if fault in {"hang", "drip"} else "60000"))
    ready.ws.reranker.backend()
    server.act = fault
    found = ready.search(QUESTION)
    assert found.hits == words
    assert found.how == "bm25"
    (event,) = ready.events.of("backend_failed")
    assert event["backend"] == "hybrid"
    assert QUESTION not in str(event)
    assert ready.inject(QUESTION, found).memory.startswith("## Memory\n")


def test_hybrid_has_what_the_words_find_when_the_server_is_away(ready):
    words = by_words(ready)
    url = f"http://127.0.0.1:{free_port()}/v1"
    # the same vectors, as if the server had gone
    ready.ws.reranker.backend()._embeddings._url = f"{url}/embeddings"
    assert ready.search(QUESTION).hits == words
    assert "could not be asked" in ready.events.of("backend_failed")[0]["why"]


def test_hybrid_reports_missing_vectors_once_until_they_are_made(filled):
    for _ in range(3):
        assert filled.search(QUESTION).how == "bm25"
    (event,) = filled.events.of("backend_failed")
    assert "`recalld index rebuild` makes them" in event["why"]
    assert QUESTION not in str(event)
    filled.reopen().precompute_vectors()
    filled.events.all.clear()
    assert filled.search(QUESTION).how == "hybrid"


def test_hybrid_reports_a_failing_server_once_and_retries_after_a_rest(ready, server):
    server.act = "fault"
    for _ in range(3):
        ready.search(QUESTION)
    assert len(ready.events.of("backend_failed")) == 1
    assert server.asked.count([QUESTION]) == 1
    server.act = "well"
    ready.ws.reranker._rested = replace(ready.ws.reranker._rested, ends_at=0.0)
    assert ready.search(QUESTION).how == "hybrid"
    assert len(ready.events.of("backend_back")) == 1


def test_embeddings_sort_answers_that_arrive_in_another_order(filled, server):
    server.act = "shuffled"
    filled.precompute_vectors()
    assert filled.search(QUESTION).hits[0].unit.text == CAR


@pytest.mark.parametrize("fault", ["fault", "garbage", "refuses all", "too few", "not a number", "bad key"])
def test_precompute_vectors_retries_texts_that_failed(ready, server, fault):
    ready.note("2026-01-30-note.md", "买了电钢琴，花了六千。\n")
    ready.refresh()
    server.act = fault
    assert ready.precompute_vectors() == 0
    assert len(ready.events.of("backend_failed")) == 1
    server.act = "well"
    assert ready.precompute_vectors() == 1
    assert len(ready.events.of("backend_back")) == 1


def test_precompute_vectors_skips_only_the_text_that_the_server_refuses(ready, server):
    lines = "- 买了电钢琴，花了六千。\n- 不要买二手的。\n- 买琴凳。\n"
    (ready.root / "memory/2026-01-30-note.md").write_text(lines, encoding="utf-8")
    ready.refresh()
    server.act = "picky"
    assert ready.precompute_vectors() == 1
    server.asked.clear()
    server.act = "well"
    assert ready.reopen().precompute_vectors() == 2  # both files are looked at, and nothing lacks
    assert server.asked == [[FOREIGN[0]]]


@pytest.mark.parametrize("lines", ["", 'base_url = "http://127.0.0.1:9/v1"\n', 'model = "bge-test"\n'])
def test_hybrid_has_what_the_words_find_without_server_or_model(filled, lines):
    filled.reopen(f'{WITHOUT_MODEL}[recall]\nbackend = "hybrid"\n[embeddings]\n{lines}')
    for _ in range(2):
        assert filled.search(QUESTION).how == "bm25"
    (event,) = filled.events.of("backend_failed")
    assert "embeddings.base_url" in event["why"]
    assert filled.precompute_vectors() == 0


# ── near, and nearer than by chance ──────────────────────────────────────────


@given(st.integers(1, 700), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_products_are_those_of_half_floats(rows, size, seed):
    chance = np.random.default_rng(seed)
    vectors = chance.normal(0, 0.1, (rows, size)).astype(np.float16)
    asked = chance.normal(0, 1, size).astype(np.float32)
    found = products(vectors.view(np.int16), asked)
    assert np.allclose(found, vectors.astype(np.float32) @ asked, atol=1e-4)


def test_products_know_zero_small_and_negative_numbers():
    numbers = np.array([[0.0], [-0.0], [6e-8], [-6e-8], [6e-5], [1.0], [-65504.0]], np.float16)
    assert products(numbers.view(np.int16), np.ones(1, np.float32)).tolist() == numbers[:, 0].astype(np.float32).tolist()


def test_calibration_is_the_same_after_it_was_written(ready):
    backend = ready.ws.reranker.backend()
    assert isinstance(backend, Hybrid)
    segments = backend._store.segments()
    made = calibrate(segments, backend._foreign)
    read = parse_calibration(made.to_bytes())
    assert np.array_equal(made.gates, read.gates)
    assert np.array_equal(
        made.nearness("问", backend._foreign[0], segments[0]), read.nearness("问", backend._foreign[0], segments[0])
    )


def test_calibration_of_refused_texts_alone_lets_nothing_pass(ready):
    backend = ready.ws.reranker.backend()
    (segment,) = backend._store.segments()
    nothing = replace(segment, bits=np.zeros_like(segment.bits))
    assert (calibrate([nothing], backend._foreign).nearness("问", backend._foreign[0], nothing) <= 0).all()


def test_foreign_questions_are_as_many_chinese_ones_as_others():
    chinese = [question for question in FOREIGN if any("\u4e00" <= char <= "\u9fff" for char in question)]
    assert len(FOREIGN) == len(set(FOREIGN)) == 2 * len(chinese) >= 80
