"""What means the same is found, by the model that comes with recalld, in a supervisor alone, among what who asks may see."""

import shutil
import time

import pytest

from recalld.supervisor.host.jobs import VectorMaker, make_vectors
from recalld.supervisor.interfaces.wording import beside_hits
from recalld.supervisor.protocol.inbox import Chat
from recalld.supervisor.recall import embedders
from recalld.supervisor.recall.audience import ALONE, Audience
from recalld.supervisor.recall.embedders import IDLE_S, InProcess
from recalld.supervisor.recall.meaning import vectors_made
from recalld.supervisor.storage.clock import within
from recalld.supervisor.storage.control import UNLIMITED
from tests.patience import PATIENCE_S
from tests.recall.said import CAR, LEAK, OTHER_WORDS, QUESTION, SAID, by_meaning, filled, supervise, texts
from tests.world import WITHOUT_MODEL, World, at, message


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    world = supervise(filled(World(tmp_path_factory.mktemp("settled"), at("2026-01-31T10:00"), WITHOUT_MODEL)))
    assert make_vectors(world.ws, world.clock) == (1, "")
    assert vectors_made(world.ws.config, world.files, world.ws.paths) == len(SAID) - 1  # small talk has none
    return world


@pytest.fixture
def ready(settled, tmp_path):
    return supervise(settled.copied(tmp_path))


@pytest.fixture
def unloaded(monkeypatch):
    monkeypatch.setattr(embedders, "_LOADED", {})


def vectors(world):
    return sorted((world.root / ".recalld/vectors").glob("*.vectors"))


def asleep(monkeypatch):
    monkeypatch.setattr(InProcess, "used_s", time.monotonic() - IDLE_S - 1)


# ── what is found ────────────────────────────────────────────────────────────


@pytest.mark.feature("001.8")
@pytest.mark.parametrize(("question", "text"), [("那部汽车怎么样", CAR), ("does water drip through the hut's ceiling", LEAK)])
def test_meaning_finds_what_has_no_word_in_common(ready, question, text):
    found = ready.search(question)
    assert found.how == "hybrid"
    assert text in texts(found)[:2]
    assert any("meaning" in hit.because for hit in found.hits if hit.unit.text == text)
    assert text in ready.inject(question, found).memory


@pytest.mark.parametrize(
    ("question", "is_noted"), [(OTHER_WORDS, True), ("hut ceiling dripping water", True), (QUESTION, False), ("茉莉花", False)]
)
def test_a_search_says_that_no_hit_has_a_word_of_the_question(ready, question, is_noted):
    found = ready.search(question)
    assert found.hits
    assert ("no memory has a word of this" in beside_hits(found)) == is_noted


def test_search_finds_a_misspelt_word_beside_what_means_the_same(ready):
    found = ready.search("does the shedd leek")
    assert LEAK in texts(found)
    assert any("words: " in reason for hit in found.hits if hit.unit.text == LEAK for reason in hit.because)


def test_a_search_is_by_words_alone_while_no_passage_has_a_vector(tmp_path):
    world = supervise(filled(World(tmp_path, at("2026-01-31T10:00"))))
    model, store = world.ws.meaning.embedder
    model.load()
    world.ws.meaning._prove(model, store)
    assert world.search(QUESTION).how == "bm25"


def test_meaning_finds_memories_in_another_language(ready):
    assert LEAK in texts(ready.search("小屋的屋顶漏水"))[:2]
    assert LEAK not in texts(ready.reopen(WITHOUT_MODEL + '[recall]\nbackend = "bm25"\n').search("小屋的屋顶漏水"))


def test_meaning_adds_at_most_its_share_of_the_best_score_by_words(ready):
    found = {hit.unit.text: hit for hit in ready.search(QUESTION).hits}
    words = {hit.unit.text: hit for hit in ready.reopen(WITHOUT_MODEL).search(QUESTION).hits}
    best = max(hit.score for hit in words.values())
    assert words.keys() <= found.keys()
    assert all(hit.parts.meaning <= 0.7 * best + 0.001 for hit in found.values())
    assert "meaning" in found[CAR].because


def test_meaning_is_nothing_where_the_setting_is_zero(ready):
    assert supervise(ready.reopen(WITHOUT_MODEL + "[recall]\nmeaning = 0.0\n")).ws.meaning is None


def test_meaning_finds_a_message_that_no_file_holds_yet(ready):
    ready.write([*SAID, message("new", "2026-01-31T08:00", "汽车送去保养了，后天取。")])
    make_vectors(ready.ws, ready.clock)
    assert "汽车送去保养了，后天取。" in texts(ready.search("轿车在哪儿"))


@pytest.mark.parametrize("question", ["what were we discussing last time", "上次聊到哪了？", "what was our first chat about"])
def test_who_asks_for_the_last_or_the_first_talk_gets_its_days(ready, question):
    days = {"2026-01-05"} if "first" in question else {"2026-01-29", "2026-01-31"}
    early, today = message("early", "2026-01-05T08:00", "我养了一只猫。"), message("new", "2026-01-31T08:00", "Hi, cat.")
    ready.write([early, *SAID, today])
    ready.ws.meaning.is_wanted = True
    make_vectors(ready.ws, ready.clock)
    assert str(ready.search(question).hits[0].unit.day) in days
    assert "2026-01-29" in {str(hit.unit.day) for hit in ready.search("what did we talk about on 29 January?").hits}


@pytest.mark.parametrize(
    "question", ["好的，谢谢！", "42", "你好", "how are you today?", "哈哈笑死了", "yes, sounds good to me"]
)
def test_small_talk_and_numbers_find_nothing_by_meaning(ready, question):
    ready.ws.meaning.is_wanted = True
    make_vectors(ready.ws, ready.clock)
    assert ready.ws.searcher.for_input(question, ready.clock(), (), ALONE).hits == ()


# ── who may see it ───────────────────────────────────────────────────────────

GROUP = Audience(chat=Chat("group", "family"))


def in_group(text, identity, minute):
    return {**message(identity, f"2026-01-30T09:{minute:02}", text), "chat": "group", "session": "family"}


def found_in_group(world, more):
    said = [
        "周六去奶奶家吃饭。", "阳台的灯坏了。", "The plumber comes on Friday.", "孩子的运动会在五月。", "冰箱里还有饺子。", "记得浇花。",
    ]  # fmt: skip
    world.reopen(WITHOUT_MODEL)
    world.fill([*more, *(in_group(text, f"g{n}", n) for n, text in enumerate(said))])
    make_vectors(supervise(world).ws, world.clock)
    found = world.ws.searcher.search("谁来修水管", world.clock(), audience=GROUP)
    return [(hit.unit.text, hit.score) for hit in found.hits]


def test_a_group_finds_by_meaning_among_what_it_may_see(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    alone = found_in_group(World(tmp_path / "a", at("2026-01-31T10:00"), WITHOUT_MODEL), [])
    beside = found_in_group(World(tmp_path / "b", at("2026-01-31T10:00"), WITHOUT_MODEL), SAID)
    assert "The plumber comes on Friday." in dict(alone)
    assert alone == beside  # neither the texts nor the middle of what is hidden has a say


# ── when the model is there ──────────────────────────────────────────────────


def test_a_command_never_loads_the_model(settled, tmp_path, unloaded):
    world = settled.copied(tmp_path)
    assert make_vectors(world.ws, world.clock) == (0, "")
    assert world.search(QUESTION).how == "bm25"
    assert embedders._LOADED == {}


def test_a_search_before_the_model_is_loaded_has_the_words_and_wakes_it(ready, unloaded):
    woken = []
    ready.ws.meaning.wake = lambda: woken.append("woken")
    assert ready.search(QUESTION).how == "bm25"
    assert woken == ["woken"]
    assert ready.events.of("backend_failed") == []
    make_vectors(ready.ws, ready.clock)
    assert ready.search(QUESTION).how == "hybrid"


def test_a_model_in_the_process_that_is_late_is_asked_again_at_once(ready):
    meaning = ready.ws.meaning
    meaning.ask(QUESTION, within(0.0))
    meaning._thread.join(PATIENCE_S)
    assert meaning.fault == ""
    assert meaning.ask(QUESTION, within(PATIENCE_S)) is not None


def test_the_model_is_given_back_when_nobody_has_asked_for_long(ready, monkeypatch):
    assert ready.search(QUESTION).how == "hybrid"
    monkeypatch.setattr(embedders, "_LOADED", dict(embedders._LOADED))
    ready.ws.meaning.rest()
    assert embedders._LOADED
    asleep(monkeypatch)
    ready.ws.meaning.rest()
    assert embedders._LOADED == {}


# ── how vectors are made ─────────────────────────────────────────────────────


def test_a_deadline_ends_the_making_and_the_next_call_goes_on(ready):
    shutil.rmtree(ready.root / ".recalld/vectors")
    supervise(ready)
    assert make_vectors(ready.ws, ready.clock, UNLIMITED, within(0.0))[1] == ""
    assert by_meaning(ready.search(OTHER_WORDS)) == []
    make_vectors(ready.ws, ready.clock)
    assert CAR in texts(ready.search(OTHER_WORDS))


def test_the_maker_rests_three_times_as_long_as_it_works(ready, monkeypatch):
    shutil.rmtree(ready.root / ".recalld/vectors")
    readings_s = [10.0, 12.0, 13.0]  # it begins, it ends, it is woken a second later
    maker = VectorMaker(supervise(ready).ws, ready.clock, now=lambda: readings_s.pop(0))
    monkeypatch.setattr("recalld.supervisor.host.jobs._MOMENT_S", 0.0)
    assert maker.step(UNLIMITED) == 6.0
    made = vectors(ready)
    assert maker.step(UNLIMITED) == 5.0  # woken before its time, it goes on resting
    assert vectors(ready) == made


def test_a_supervisor_loads_the_model_though_no_vector_lacks(ready, unloaded):
    world = supervise(ready)
    world.ws.meaning.is_wanted = True
    VectorMaker(world.ws, world.clock).step(UNLIMITED)
    assert world.search(QUESTION).how == "hybrid"


def test_a_supervisor_of_an_empty_memory_loads_no_model(tmp_path, unloaded):
    world = supervise(World(tmp_path, at("2026-01-31T10:00"), WITHOUT_MODEL))
    world.ws.meaning.is_wanted = True
    VectorMaker(world.ws, world.clock).step(UNLIMITED)
    assert embedders._LOADED == {}
